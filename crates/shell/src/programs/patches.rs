//! Patches: which files the text of one makes, changes and removes.

use crate::effect::Role;
use crate::machine::{Machine, State};
use crate::rules;
use crate::value::{Field, Out};

/// How many folders are taken off the names in a patch.
pub(super) enum Strip {
    /// So many.
    Some(usize),
    /// All, as `patch` does when nobody says how many; whole names count too.
    All,
}

/// Notes the files that a patch is about, as far as its text is known.
pub(super) fn applied(
    machine: &mut Machine<'_>,
    patch: &Out,
    strip: &Strip,
    folder: Option<&Field>,
    state: &State,
) {
    let Out::Known(text) = patch else {
        return;
    };
    let mut steps = 0;
    for line in text.lines() {
        let (name, is_whole) = if let Some(name) = line.strip_prefix("+++ ") {
            (name, false)
        } else if let Some(name) = line.strip_prefix("--- ") {
            (name, false)
        } else if let Some(name) = line
            .strip_prefix("rename to ")
            .or_else(|| line.strip_prefix("rename from "))
            .or_else(|| line.strip_prefix("copy to "))
        {
            (name, true)
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            (names.rsplit(' ').next().unwrap_or_default(), false)
        } else if let Some(name) = line
            .strip_prefix("Index: ")
            .or_else(|| line.strip_prefix("*** "))
        {
            (name, false)
        } else {
            // A link leads wherever its content says.
            if line.starts_with("new file mode 120000") || line.starts_with("new mode 120000") {
                machine.act(&rules::place::WRITE_UNKNOWN);
            }
            continue;
        };
        steps += 1;
        if steps > 256 {
            machine.partial("a longer patch than is followed");
            return;
        }
        // A time stands behind a tab; a name with odd letters is quoted.
        let name = name.split('\t').next().unwrap_or_default().trim();
        let name = match name
            .strip_prefix('"')
            .and_then(|name| name.strip_suffix('"'))
        {
            Some(name) => crate::word::ansi_c(name),
            None => name.to_owned(),
        };
        if name.is_empty() || name == "/dev/null" {
            continue;
        }
        let count = match strip {
            Strip::Some(count) if !is_whole => *count,
            Strip::All if !is_whole => {
                written(
                    machine,
                    name.rsplit('/').next().unwrap_or_default(),
                    folder,
                    state,
                );
                0
            }
            _ => 0,
        };
        let rest = name.splitn(count + 1, '/').nth(count).unwrap_or(&name);
        written(machine, rest, folder, state);
    }
}

fn written(machine: &mut Machine<'_>, name: &str, folder: Option<&Field>, state: &State) {
    let mut path = Field::default();
    if let Some(folder) = folder {
        folder
            .parts
            .iter()
            .cloned()
            .for_each(|part| path.push(part));
        Field::lit("/")
            .parts
            .into_iter()
            .for_each(|part| path.push(part));
    }
    Field::lit(name)
        .parts
        .into_iter()
        .for_each(|part| path.push(part));
    machine.path(Role::Write, &path, state);
}
