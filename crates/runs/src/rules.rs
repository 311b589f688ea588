//! Reads the person's rules (S4): the file in their configuration, and one that they typed.
//!
//! A project's file is never looked for. A file that everybody may write, or that belongs to somebody
//! else, is no word of this person's: nothing starts by it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use deputize_authority::{MAX_RULES_BYTES, Refusal, Rules, escape};

use crate::{Look, RunError};

/// Whether a file must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Optional,
    Required,
}

impl Look {
    /// The rules that hold: the person's own, and those of a file that they typed.
    ///
    /// # Errors
    /// `rules_unreadable`, `rules_unsafe` or `rules_invalid`, with the place.
    pub fn rules(&self, typed: Option<&Path>) -> Result<Rules, RunError> {
        // Its own are understood before a typed file is opened: their fault is the one to mend first.
        let mut rules = self.understood(None)?;
        if typed.is_some() {
            rules = rules.and(self.understood(typed)?);
        }
        Ok(rules)
    }

    fn understood(&self, typed: Option<&Path>) -> Result<Rules, RunError> {
        Ok(match self.rules_text(typed)? {
            Some(file) => Rules::parse(&file.shown, &file.text)?,
            None => Rules::default(),
        })
    }

    /// The text of a file of rules: one that was typed, else the person's own, if there is one.
    ///
    /// # Errors
    /// `rules_unreadable` or `rules_unsafe`.
    pub fn rules_text(&self, typed: Option<&Path>) -> Result<Option<RulesText>, RunError> {
        Ok(match typed {
            Some(file) => read(&self.caller.join(file), Presence::Required)?,
            None => match self.rules_file() {
                Some(file) => read(&file, Presence::Optional)?,
                None => None,
            },
        })
    }
}

/// Opens what somebody named to be read. A pipe in its place doesn't hold the program up: it is for the
/// caller to look at what was opened.
///
/// # Errors
/// Those of the file system.
pub fn open_unwaiting(path: &Path) -> io::Result<File> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)
}

/// A file of rules that was read.
#[derive(Debug)]
pub struct RulesText {
    /// Its name, as messages show it.
    pub shown: String,
    /// What is in it.
    pub text: String,
}

fn read(path: &Path, presence: Presence) -> Result<Option<RulesText>, Refusal> {
    let shown = path.to_string_lossy();
    let unreadable = |error: &io::Error| {
        Refusal::new(
            "rules_unreadable",
            "rules",
            format!("the rules in `{}` can't be read: {error}", escape(&shown)),
            "correct the path or its rights; without its rules nothing is started",
        )
    };
    let file = match open_unwaiting(path) {
        Ok(file) => file,
        Err(error)
            if error.kind() == ErrorKind::NotFound
                && presence == Presence::Optional
                && !leads_nowhere(path) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&error)),
    };
    refuse_others(&file, &shown)?;
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_RULES_BYTES).unwrap_or(u64::MAX);
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| unreadable(&io::Error::new(ErrorKind::InvalidData, "it is not UTF-8")))?;
    Ok(Some(RulesText {
        shown: shown.into_owned(),
        text,
    }))
}

/// Whether a path isn't found because of a link, its own or of a folder before it: nobody can tell
/// what the rules behind it say.
fn leads_nowhere(path: &Path) -> bool {
    for part in path.ancestors() {
        match part.symlink_metadata() {
            // A link to a folder that is there hides nothing.
            Ok(_) => return part == path || part.metadata().is_err(),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return true,
        }
    }
    false
}

/// Refuses what isn't this person's own file, or root's.
fn refuse_others(file: &File, shown: &str) -> Result<(), Refusal> {
    const OTHERS_WRITE: u32 = 0o002;
    let user = rustix::process::geteuid().as_raw();
    let fault = match file.metadata() {
        Err(error) => error.to_string(),
        Ok(meta) if !meta.is_file() => "it is no file".to_owned(),
        Ok(meta) if meta.uid() != user && meta.uid() != 0 => {
            "it belongs to somebody else".to_owned()
        }
        Ok(meta) if meta.mode() & OTHERS_WRITE != 0 => "everybody may write it".to_owned(),
        Ok(_) => return Ok(()),
    };
    Err(Refusal::new(
        "rules_unsafe",
        "rules",
        format!("the rules in `{}` are not taken: {fault}", escape(shown)),
        "make it a file of your own that others can't write; nothing was started",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    const DENY: &str = "[[deny]]\neffects = [\"shell\"]\n";

    fn code(look: &Look, typed: Option<&Path>) -> String {
        look.rules(typed).unwrap_err().refusal().code
    }

    /// S4: the person's own file and the typed one add up; a file in the project is never read.
    #[test]
    fn only_the_persons_files_are_read() {
        let base = tempfile::tempdir().unwrap();
        let project = base.path().join("project");
        for folder in [
            "config/deputize",
            "project/.config/deputize",
            "project/.deputize",
        ] {
            fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        for planted in [
            ".config/deputize/rules.toml",
            ".deputize/rules.toml",
            "rules.toml",
        ] {
            fs::write(project.join(planted), "not even TOML").unwrap();
        }
        let config = base.path().join("config");
        let look = Look::of(
            vec![("XDG_CONFIG_HOME".into(), config.clone().into())],
            project.clone(),
        );
        assert_eq!(look.rules(None).unwrap(), Rules::default(), "none is there");
        let own = config.join("deputize/rules.toml");
        fs::write(&own, DENY).unwrap();
        assert_eq!(
            look.rules(None).unwrap(),
            Rules::parse(&own.to_string_lossy(), DENY).unwrap()
        );
        assert_eq!(
            code(&look, Some(Path::new("absent.toml"))),
            "rules_unreadable"
        );
        assert_eq!(code(&look, Some(Path::new("rules.toml"))), "rules_invalid");
        // A relative folder for configuration would be the project's.
        let look = Look::of(vec![("XDG_CONFIG_HOME".into(), ".config".into())], project);
        assert_eq!(look.rules(None).unwrap(), Rules::default());
    }

    /// S4: rules that a link hides are not the same as none, whether the file or its folder is the link.
    #[test]
    fn a_link_that_leads_nowhere_is_not_the_absence_of_rules() {
        use std::os::unix::fs::symlink;
        for linked in ["deputize/rules.toml", "deputize"] {
            let base = tempfile::tempdir().unwrap();
            let at = base.path().join(linked);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(base.path().join("away"), &at).unwrap();
            let config = vec![("XDG_CONFIG_HOME".into(), base.path().into())];
            let look = Look::of(config, base.path().to_owned());
            assert_eq!(code(&look, None), "rules_unreadable", "{linked}");
        }
        // A folder behind a link that simply holds no rules is fine.
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("real")).unwrap();
        symlink("real", base.path().join("deputize")).unwrap();
        let config = vec![("XDG_CONFIG_HOME".into(), base.path().into())];
        let look = Look::of(config, base.path().to_owned());
        assert_eq!(look.rules(None).unwrap(), Rules::default());
    }

    /// S4: what others can write says nothing in this person's name, and what can't be read as a
    /// file doesn't hold the program up.
    #[test]
    fn files_that_are_not_the_persons_own_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let look = Look::of(Vec::new(), base.path().to_owned());
        let file = base.path().join("r.toml");
        fs::write(&file, DENY).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(code(&look, Some(&file)), "rules_unsafe");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(look.rules(Some(&file)).is_ok());
        assert_eq!(code(&look, Some(base.path())), "rules_unsafe");
        let pipe = base.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        assert_eq!(code(&look, Some(&pipe)), "rules_unsafe");
        fs::write(&file, b"\xff").unwrap();
        assert_eq!(code(&look, Some(&file)), "rules_unreadable");
        fs::write(&file, "#".repeat(MAX_RULES_BYTES + 1)).unwrap();
        assert_eq!(code(&look, Some(&file)), "rules_invalid");
    }
}
