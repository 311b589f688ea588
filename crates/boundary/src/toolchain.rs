//! Toolchains in a home folder (B9): found by what stands in PATH or where they always lie, shown
//! read-only inside, their caches on an overlay.
//!
//! The table is data. A row never names a file with credentials.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A toolchain that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// Its name, for the card and the receipt.
    pub name: String,
    /// Folders and files to show read-only.
    pub roots: Vec<PathBuf>,
    /// Caches that builds write to.
    pub caches: Vec<PathBuf>,
    /// The folder that a variable moved it to: its programs write beside their files there, as they
    /// would in a home.
    pub moved_to: Option<PathBuf>,
    /// Environment variables that it needs.
    pub environment: Vec<(String, String)>,
}

struct Row {
    name: &'static str,
    /// Present when this exists, relative to home.
    marker: &'static str,
    roots: &'static [&'static str],
    caches: &'static [&'static str],
    /// A variable that says where it lies instead, and the folder below home that it replaces.
    moved_by: Option<(&'static str, &'static str)>,
}

const TABLE: &[Row] = &[
    Row {
        name: "rustup",
        marker: ".rustup",
        roots: &[".rustup/toolchains", ".rustup/settings.toml"],
        caches: &[],
        moved_by: Some(("RUSTUP_HOME", ".rustup")),
    },
    Row {
        name: "cargo",
        marker: ".cargo",
        roots: &[".cargo/bin", ".cargo/config.toml", ".cargo/env"],
        caches: &[".cargo/registry", ".cargo/git"],
        moved_by: Some(("CARGO_HOME", ".cargo")),
    },
    Row {
        name: "nvm",
        marker: ".nvm/versions",
        roots: &[".nvm/versions"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "fnm",
        marker: ".local/share/fnm",
        roots: &[".local/share/fnm"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "volta",
        marker: ".volta",
        roots: &[".volta/bin", ".volta/tools"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "npm",
        marker: ".npm/_cacache",
        roots: &[],
        caches: &[".npm/_cacache"],
        moved_by: None,
    },
    Row {
        name: "bun",
        marker: ".bun",
        roots: &[".bun/bin"],
        caches: &[".bun/install/cache"],
        moved_by: None,
    },
    Row {
        name: "deno",
        marker: ".deno",
        roots: &[".deno/bin"],
        caches: &[".cache/deno"],
        moved_by: None,
    },
    Row {
        name: "pyenv",
        marker: ".pyenv/versions",
        roots: &[".pyenv"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "uv",
        marker: ".local/share/uv",
        roots: &[".local/share/uv/python", ".local/share/uv/tools"],
        caches: &[".cache/uv"],
        moved_by: None,
    },
    Row {
        name: "pip",
        marker: ".cache/pip",
        roots: &[],
        caches: &[".cache/pip"],
        moved_by: None,
    },
    Row {
        name: "python user site",
        marker: ".local/lib",
        roots: &[".local/lib"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "go",
        marker: "go",
        roots: &["go/bin"],
        caches: &["go/pkg"],
        moved_by: Some(("GOPATH", "go")),
    },
    Row {
        name: "go build cache",
        marker: ".cache/go-build",
        roots: &[],
        caches: &[".cache/go-build"],
        moved_by: None,
    },
    Row {
        name: "asdf",
        marker: ".asdf",
        roots: &[".asdf"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "mise",
        marker: ".local/share/mise",
        roots: &[".local/share/mise"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "sdkman",
        marker: ".sdkman/candidates",
        roots: &[".sdkman/candidates"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "rbenv",
        marker: ".rbenv",
        roots: &[".rbenv"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "nix profile",
        marker: ".nix-profile",
        roots: &[".nix-profile"],
        caches: &[],
        moved_by: None,
    },
    Row {
        name: "local bin",
        marker: ".local/bin",
        roots: &[".local/bin"],
        caches: &[],
        moved_by: None,
    },
];

/// Finds the toolchains below a home folder. `exists` says whether a path is there.
///
/// A PATH entry in the home folder that no row covers is a toolchain of its own.
pub(crate) fn detect(
    home: Option<&Path>,
    path: &[PathBuf],
    variable: &dyn Fn(&str) -> Option<String>,
    exists: &dyn Fn(&Path) -> bool,
) -> Vec<Toolchain> {
    let Some(home) = home else { return Vec::new() };
    let mut found: Vec<Toolchain> = TABLE
        .iter()
        .filter_map(|row| {
            let moved = row
                .moved_by
                .and_then(|(name, below)| Some((name, below, PathBuf::from(variable(name)?))))
                .filter(|(_, _, to)| to.is_absolute());
            let place = |relative: &str| match &moved {
                Some((_, below, to)) => match relative.strip_prefix(below) {
                    Some(rest) => to.join(rest.trim_start_matches('/')),
                    None => home.join(relative),
                },
                None => home.join(relative),
            };
            if !exists(&place(row.marker)) {
                return None;
            }
            let present = |paths: &[&str]| -> Vec<PathBuf> {
                paths
                    .iter()
                    .map(|path| place(path))
                    .filter(|path| exists(path))
                    .collect()
            };
            let environment = moved
                .iter()
                .map(|(name, _, to)| ((*name).to_owned(), to.to_string_lossy().into_owned()))
                .collect();
            let toolchain = Toolchain {
                name: row.name.to_owned(),
                roots: present(row.roots),
                caches: present(row.caches),
                moved_to: moved.as_ref().map(|(_, _, to)| to.clone()),
                environment,
            };
            (!toolchain.roots.is_empty() || !toolchain.caches.is_empty()).then_some(toolchain)
        })
        .collect();
    for entry in path {
        let covered = found
            .iter()
            .any(|known| known.roots.iter().any(|root| entry.starts_with(root)));
        let in_home = entry.starts_with(home) && entry != home;
        if in_home && !covered && exists(entry) {
            found.push(Toolchain {
                name: "PATH entry".to_owned(),
                roots: vec![entry.clone()],
                caches: Vec::new(),
                moved_to: None,
                environment: Vec::new(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_markers_and_path_entries_follow() {
        let there = [
            "/home/u/.rustup",
            "/home/u/.rustup/toolchains",
            "/home/u/.cargo",
            "/home/u/.cargo/bin",
            "/home/u/.cargo/registry",
            "/home/u/tools/bin",
        ];
        let found = detect(
            Some(Path::new("/home/u")),
            &[
                PathBuf::from("/usr/bin"),
                "/home/u/.cargo/bin".into(),
                "/home/u/tools/bin".into(),
            ],
            &|_| None,
            &|path| there.iter().any(|known| Path::new(known) == path),
        );
        let names: Vec<&str> = found
            .iter()
            .map(|toolchain| toolchain.name.as_str())
            .collect();
        assert_eq!(names, ["rustup", "cargo", "PATH entry"]);
        assert_eq!(found[1].roots, [PathBuf::from("/home/u/.cargo/bin")]);
        assert_eq!(found[1].caches, [PathBuf::from("/home/u/.cargo/registry")]);
    }

    #[test]
    fn a_variable_moves_a_toolchain() {
        let found = detect(
            Some(Path::new("/home/u")),
            &[],
            &|name| (name == "CARGO_HOME").then(|| "/data/cargo".to_owned()),
            &|path| path.starts_with("/data/cargo"),
        );
        assert_eq!(found[0].caches[0], PathBuf::from("/data/cargo/registry"));
        assert_eq!(
            found[0].environment,
            [("CARGO_HOME".to_owned(), "/data/cargo".to_owned())]
        );
    }

    #[test]
    fn no_row_shows_a_file_with_credentials() {
        let rules = deputize_authority::SecretRules::allowing(deputize_authority::Set::none());
        for row in TABLE {
            for path in row.roots.iter().chain(row.caches) {
                assert!(rules.denied(Path::new(path)).is_none(), "{path}");
            }
        }
    }
}
