//! What the person's own git configuration names in the work tree: git runs it or obeys it there,
//! whatever it is called.
//!
//! The configuration is the base's, which no child wrote; it is read as text, and git is never asked.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Component, Path};

use deputize_authority::git_config;

use crate::beneath::Anchor;
use crate::copy::BaseFolder;
use crate::entry::What;
use crate::rel_path::RelPath;

/// More than any configuration that a person wrote has.
const CONFIG_BYTES: u64 = 1 << 20;

/// Most files of one repository's configuration, included ones too.
const FILES: usize = 16;

/// The places that are named, by the repository that names them.
pub(crate) struct Named<'a> {
    base: &'a Anchor,
    /// The folder: a configuration may name places below it in full.
    of: &'a BaseFolder,
    known: HashMap<RelPath, Vec<RelPath>>,
}

impl<'a> Named<'a> {
    pub(crate) fn new(base: &'a Anchor, of: &'a BaseFolder) -> Self {
        Self {
            base,
            of,
            known: HashMap::new(),
        }
    }

    /// Whether a repository of the person's names the path, or a folder that it lies in.
    pub(crate) fn names(&mut self, path: &RelPath) -> bool {
        let mut folder = path.folder();
        while let Some(repository) = folder {
            let places = match self.known.get(&repository) {
                Some(places) => places,
                None => {
                    let found = self.places(&repository);
                    self.known.entry(repository.clone()).or_insert(found)
                }
            };
            if places
                .iter()
                .any(|place| path == place || path.lies_in(place))
            {
                return true;
            }
            folder = repository.folder();
        }
        false
    }

    /// What the configuration of the repository in a folder names; nothing where there is none.
    fn places(&self, repository: &RelPath) -> Vec<RelPath> {
        let git = join(repository, ".git");
        let mut files: Vec<RelPath> = ["config", "config.worktree"]
            .iter()
            .map(|name| join(&git, name))
            .collect();
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(file) = files.get(at).cloned().filter(|_| at < FILES) {
            at += 1;
            let Some(text) = self.text(&file) else {
                continue;
            };
            for (key, word) in git_config::named(&text) {
                // An included file is named from where the including one lies; the rest from the top.
                let from = match key.as_str() {
                    "path" => file.folder().unwrap_or_default(),
                    _ => repository.clone(),
                };
                let found = self.place(&from, &word);
                let Some(found) = found.filter(|place| place != repository) else {
                    continue;
                };
                if key == "path" {
                    files.push(found.clone());
                }
                places.push(found);
            }
        }
        // What the person's configuration for all repositories names lies in each of them.
        let general = self.of.named.iter();
        let general = general.filter_map(|word| self.place(repository, word));
        places.extend(general.filter(|place| place != repository));
        places
    }

    fn text(&self, file: &RelPath) -> Option<String> {
        let seen = self.base.look(file).ok().flatten()?;
        if seen.what != What::File {
            return None;
        }
        let mut bytes = Vec::new();
        let opened = self.base.file(file).ok()?;
        opened.take(CONFIG_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A word as a place in the workspace, `.` and `..` resolved by name; `None` for one outside, and
    /// for the workspace itself.
    fn place(&self, from: &RelPath, word: &str) -> Option<RelPath> {
        let word = Path::new(word);
        let (mut place, word) = match word.strip_prefix(&self.of.path) {
            Ok(below) => (RelPath::top(), below),
            Err(_) if word.is_absolute() => return None,
            Err(_) => (from.clone(), word),
        };
        for part in word.components() {
            match part {
                Component::Normal(name) => place = place.join(name),
                Component::ParentDir => place = place.folder()?,
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        (!place.is_top()).then_some(place)
    }
}

fn join(folder: &RelPath, name: &str) -> RelPath {
    folder.join(std::ffi::OsStr::new(name))
}
