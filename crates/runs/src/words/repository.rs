//! What git keeps for itself, told as one thing: a commit is a dozen files that nobody reads.

use std::collections::BTreeMap;

/// What git runs, or reads programs from: always named by itself.
const RUN: &[&str] = &["/hooks", "/config", "/modules", "/info/attributes"];

/// Changes inside repositories, by the path of each `.git`.
#[derive(Debug, Default)]
pub struct Repositories {
    counts: BTreeMap<String, usize>,
    is_direct: bool,
}

impl Repositories {
    /// For changes that are in the folder itself.
    #[must_use]
    pub fn in_folder() -> Self {
        Self {
            is_direct: true,
            ..Self::default()
        }
    }

    /// Counts a path, as it is shown, that lies inside a `.git` and names nothing that git would run;
    /// says whether it did.
    pub fn take(&mut self, path: &str) -> bool {
        let Some(repository) = inside(path) else {
            return false;
        };
        let rest = path
            .get(repository.len()..)
            .unwrap_or_default()
            .to_lowercase();
        if RUN.iter().any(|run| rest.contains(run)) {
            return false;
        }
        *self.counts.entry(repository.to_owned()).or_default() += 1;
        true
    }

    /// A line for each.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.counts.iter().map(|(path, count)| {
            let files = if *count == 1 { "path" } else { "paths" };
            let stay = if self.is_direct {
                ""
            } else {
                ": commits stay in the copy"
            };
            format!("{path} (the repository itself, {count} {files}{stay})")
        })
    }
}

/// The path of the `.git` that something lies in.
fn inside(path: &str) -> Option<&str> {
    const NAME: &str = ".git";
    let mut from = 0;
    loop {
        let at = from + path.get(from..)?.find(NAME)?;
        let end = at + NAME.len();
        let begins = at == 0 || path.as_bytes().get(at - 1) == Some(&b'/');
        if begins && path.as_bytes().get(end) == Some(&b'/') {
            return path.get(..end);
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_a_repository_is_taken() {
        let mut all = Repositories::default();
        for path in [".git/HEAD", ".git/objects/aa/bb", "sub/.git/index"] {
            assert!(all.take(path), "{path}");
        }
        for path in [
            ".git",
            ".gitignore",
            "x.git/HEAD",
            ".github/a",
            "a.git",
            "src/.gitx/y",
            "v/.git/hooks/post-checkout",
            ".git/Config",
        ] {
            assert!(!all.take(path), "{path}");
        }
        let lines: Vec<String> = all.lines().collect();
        assert_eq!(
            lines,
            [
                ".git (the repository itself, 2 paths: commits stay in the copy)",
                "sub/.git (the repository itself, 1 path: commits stay in the copy)",
            ]
        );
    }
}
