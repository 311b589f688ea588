//! What files hold that the line itself wrote, and whether they still do.

use super::{Machine, State};
use crate::effect::{Certainty, Effect, Role, What};
use crate::place::{self, Place, Target};
use crate::value::{Out, Taint};

impl Machine<'_> {
    /// Notes that a file's content is known from now on.
    pub(crate) fn hold(&mut self, path: &str) {
        self.held.insert(path.to_owned(), self.effects.len());
    }

    /// Notes that files may have changed that nobody names: a branch was switched, a patch applied.
    pub(crate) fn turn(&mut self) {
        // What was noted just before is no longer sure, either.
        self.turned = self.effects.len() + 1;
    }

    /// What this line itself wrote to a file, unless something may have written to it since.
    pub(crate) fn content(&self, path: &Option<String>, state: &State) -> Out {
        let known = path
            .as_ref()
            .and_then(|path| Some((path, state.files.get(path)?)));
        match known {
            Some((path, Out::Known(_))) if !self.is_held(path) => Out::Unknown(Taint::NONE),
            Some((_, out)) => out.clone(),
            None => Out::Unknown(Taint::NONE),
        }
    }

    /// Whether a file still holds what is known of it.
    pub(super) fn is_held(&self, path: &str) -> bool {
        // Names of process substitutions.
        if path.starts_with("/dev/") {
            return true;
        }
        let Some(since) = self.held.get(path).copied() else {
            return false;
        };
        let later = self.effects.get(since..).unwrap_or_default();
        self.turned <= since && !later.iter().any(|effect| changes(effect, path))
    }

    /// Looks for danger in what a file held before something else may have been written to it.
    pub(crate) fn suspect_file(&mut self, path: &Option<String>, state: &State) {
        let text = path.as_ref().and_then(|path| match state.files.get(path)? {
            Out::Known(text) => Some(text.clone()),
            Out::Unknown(_) => None,
        });
        if let Some(text) = text {
            self.suspect(&text, state);
        }
    }
}

/// Whether an effect changes what lies at a path.
fn changes(effect: &Effect, path: &str) -> bool {
    let What::Path { role, target } = &effect.what else {
        return false;
    };
    matches!(
        role,
        Role::Write | Role::Delete | Role::DeleteTree | Role::Away
    ) && effect.certainty == Certainty::Followed
        && reaches(target, path)
}

fn reaches(target: &Target, path: &str) -> bool {
    let Some(changed) = target.path.as_deref() else {
        return matches!(target.place, Place::Inside | Place::Unknown | Place::Whole);
    };
    let changed = match target.pattern {
        true => changed.rsplit_once('/').map_or("/", |(folder, _)| folder),
        false => changed,
    };
    place::below(path, changed).is_some()
}
