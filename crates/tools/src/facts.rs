//! Answers the gate's questions, by the same way that tools take to files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use deputize_gate::{Fact, Identity, Kind, Outcome, PathFact, ProgramFact, Query};

use crate::beneath::{Lost, Roots};

/// Answers one question. `everything` is asked for programs only, and only looked at.
pub(crate) fn answer(query: Query, roots: &Roots, everything: &Roots) -> Fact {
    match query {
        Query::Path { path } => Fact::Path(path_fact(path, roots)),
        Query::Program { name, cwd, search } => {
            let found = program(&name, &cwd, &search, everything);
            let (canonical, device, inode) = match found {
                Some(found) => (Some(found.canonical), found.device, found.inode),
                None => (None, 0, 0),
            };
            Fact::Program(ProgramFact {
                asked: name,
                canonical,
                device,
                inode,
            })
        }
    }
}

fn path_fact(asked: PathBuf, roots: &Roots) -> PathFact {
    let unknown = |asked, outcome, canonical| PathFact {
        asked,
        outcome,
        canonical,
        rest: PathBuf::new(),
        kind: Kind::Missing,
        device: 0,
        inode: 0,
        links: 0,
        size: 0,
    };
    match roots.find(&asked) {
        Ok(found) => {
            let identity = found.identity();
            PathFact {
                asked,
                outcome: Outcome::Resolved,
                kind: found.kind(),
                device: identity.device,
                inode: identity.inode,
                links: found.links(),
                size: found.size(),
                rest: PathBuf::new(),
                canonical: Some(identity.canonical),
            }
        }
        Err(Lost::Missing { deepest, rest }) => {
            // Whoever makes something there needs to know which folder that was.
            let folder = roots.find(&deepest).ok().map(|found| found.identity());
            let (device, inode) = folder.map_or((0, 0), |found| (found.device, found.inode));
            PathFact {
                device,
                inode,
                rest,
                ..unknown(asked, Outcome::Missing, Some(deepest))
            }
        }
        Err(Lost::Escapes) => unknown(asked, Outcome::Escapes, None),
        Err(Lost::Loop) => unknown(asked, Outcome::Loop, None),
        Err(Lost::Denied) => unknown(asked, Outcome::Denied, None),
        Err(Lost::Changed | Lost::Failed(_)) => unknown(asked, Outcome::Failed, None),
    }
}

/// The executable file that a name stands for, as `execvp` would find it.
fn program(name: &OsStr, cwd: &Path, search: &[PathBuf], everything: &Roots) -> Option<Identity> {
    let look = |path: PathBuf| {
        // `follow` walks `..` behind symlinks as the kernel does.
        let canonical = everything.follow(&path).ok()?;
        let found = everything.find(&canonical).ok()?;
        found.is_executable().then(|| found.identity())
    };
    if name.as_bytes().contains(&b'/') {
        return look(cwd.join(name));
    }
    search
        .iter()
        .find_map(|folder| look(cwd.join(folder).join(name)))
}
