//! Rules about calls: commands, paths, hosts and tools (G6).
//!
//! A rule matches what a call does: the words of a command as they are after quotes and variables, the
//! place where a path lands, the host that is talked to. It never matches the text of a line.

use std::fmt;
use std::path::Path;

use crate::{Covers as _, Place, Preset, Root, RuleKind, Tool};

/// One rule about calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRule {
    /// What it does.
    pub kind: RuleKind,
    /// What it is about.
    pub subject: Subject,
    /// For children of this preset only.
    pub preset: Option<Preset>,
    /// In this workspace and those in it only.
    pub workdir: Option<Root>,
    /// Why, in the person's words.
    pub reason: Option<String>,
    /// Lines that it speaks about.
    pub matches: Vec<String>,
    /// Lines that it doesn't speak about.
    pub spares: Vec<String>,
    /// Where it stands.
    pub place: Place,
}

/// What a rule about calls is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A program and, where named, its sub-command, with whatever arguments.
    Command(Vec<String>),
    /// A command with these arguments and no others.
    Exact(Vec<String>),
    /// Paths that a pattern covers, for these uses; for every use when there is none.
    Path(PathPattern, Vec<Use>),
    /// A host, or with `*.` in front every host below it.
    Host(String),
    /// A tool.
    Tool(Tool),
}

/// What a path is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is read, run, or linked to.
    Read,
    /// It is made or changed.
    Write,
    /// It is removed.
    Delete,
}

impl Use {
    /// Every use.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Delete];

    /// The name that rules use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Workspace,
    Home,
    Machine,
}

/// A pattern of paths: names with `*` and `?`, and `**` for any number of folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    anchor: Anchor,
    names: Vec<String>,
}

impl PathPattern {
    /// Reads a pattern; `None` when it is empty or holds `.`, `..` or an empty name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let (anchor, rest) = match (text.strip_prefix("~/"), text.strip_prefix('/')) {
            (Some(rest), _) => (Anchor::Home, rest),
            (_, Some(rest)) => (Anchor::Machine, rest),
            _ => (Anchor::Workspace, text),
        };
        let names: Vec<String> = rest.split('/').map(str::to_owned).collect();
        let plain = |name: &String| !matches!(name.as_str(), "" | "." | ".." | "~");
        (names.len() <= 32 && rest.len() <= 1024 && names.iter().all(plain)).then(|| Self {
            text: text.to_owned(),
            anchor,
            names,
        })
    }

    /// Whether it covers a path. Names of the path that are patterns themselves count as whatever they
    /// may match.
    #[must_use]
    pub fn covers(&self, path: &str, roots: &[String], home: &str) -> bool {
        self.below(path, roots, home)
            .any(|rest| glob(&self.names, &rest))
    }

    /// Whether it covers a path and everything that may lie below it.
    #[must_use]
    pub fn covers_tree(&self, path: &str, roots: &[String], home: &str) -> bool {
        self.names.last().is_some_and(|last| last == "**") && self.covers(path, roots, home)
    }

    /// Whether something that it covers may lie below a path.
    #[must_use]
    pub fn reaches_below(&self, path: &str, roots: &[String], home: &str) -> bool {
        self.below(path, roots, home)
            .any(|rest| (0..=self.names.len()).any(|end| glob(&self.names[..end], &rest)))
            || self
                .bases(roots, home)
                .any(|base| inside(&base, path).is_some())
    }

    fn bases<'a>(
        &'a self,
        roots: &'a [String],
        home: &'a str,
    ) -> impl Iterator<Item = String> + 'a {
        let workspaces = roots.iter().filter(|_| self.anchor == Anchor::Workspace);
        let one = match self.anchor {
            Anchor::Workspace => None,
            Anchor::Home => Some(home.to_owned()),
            Anchor::Machine => Some("/".to_owned()),
        };
        workspaces.cloned().chain(one)
    }

    /// The names of a path below where the pattern begins.
    fn below<'a>(
        &'a self,
        path: &'a str,
        roots: &'a [String],
        home: &'a str,
    ) -> impl Iterator<Item = Vec<&'a str>> + 'a {
        self.bases(roots, home).filter_map(move |base| {
            let rest = inside(path, &base)?;
            Some(rest.split('/').filter(|name| !name.is_empty()).collect())
        })
    }
}

fn inside<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether names match a pattern of names, without recursion.
fn glob(pattern: &[String], names: &[&str]) -> bool {
    // Which beginnings of the pattern match the names so far.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    let skip = |reached: &mut Vec<bool>| {
        for at in 0..pattern.len() {
            if reached[at] && pattern[at] == "**" {
                reached[at + 1] = true;
            }
        }
    };
    skip(&mut reached);
    for name in names {
        let mut next = vec![false; pattern.len() + 1];
        for (at, part) in pattern.iter().enumerate() {
            if !reached[at] {
                continue;
            }
            if part == "**" {
                next[at] = true;
            } else if one_name(part, name) {
                next[at + 1] = true;
            }
        }
        reached = next;
        skip(&mut reached);
    }
    reached.last().copied().unwrap_or(false)
}

fn one_name(pattern: &str, name: &str) -> bool {
    // Some file systems don't tell upper case from lower case.
    let lower = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let (pattern, name) = (lower(pattern), lower(name));
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    let skip = |reached: &mut Vec<bool>| {
        for at in 0..pattern.len() {
            if reached[at] && pattern[at] == '*' {
                reached[at + 1] = true;
            }
        }
    };
    skip(&mut reached);
    for c in name {
        let mut next = vec![false; pattern.len() + 1];
        for (at, part) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match part {
                '*' => next[at] = true,
                '?' => next[at + 1] = true,
                part if *part == c => next[at + 1] = true,
                _ => {}
            }
        }
        reached = next;
        skip(&mut reached);
    }
    reached.last().copied().unwrap_or(false)
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(words) => write!(f, "command {}", words.join(" ")),
            Self::Exact(words) => write!(f, "exact {}", words.join(" ")),
            Self::Path(pattern, uses) => {
                write!(f, "path {}", pattern.text)?;
                let names: Vec<&str> = uses.iter().map(|used| used.name()).collect();
                match names.is_empty() {
                    true => Ok(()),
                    false => write!(f, " for {}", names.join(", ")),
                }
            }
            Self::Host(host) => write!(f, "host {host}"),
            Self::Tool(tool) => write!(f, "tool {tool}"),
        }
    }
}

impl Subject {
    /// Whether it is about a host.
    #[must_use]
    pub fn is_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_lowercase();
        match self {
            Self::Host(named) => match named.strip_prefix('*') {
                Some(end) => host.ends_with(end) && host.len() > end.len(),
                None => host == *named,
            },
            _ => false,
        }
    }
}

impl CallRule {
    /// Whether it holds for a child of a preset (`None`: for nobody's child) in these workspaces.
    #[must_use]
    pub fn holds(&self, preset: Option<Preset>, workspaces: &[String]) -> bool {
        let here = |root: &Root| {
            workspaces
                .iter()
                .any(|workspace| Root::new(Path::new(workspace)).is_some_and(|it| root.covers(&it)))
        };
        self.workdir.as_ref().is_none_or(here)
            && self.preset.is_none_or(|named| preset == Some(named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G6: a pattern covers what it says and no name that merely looks alike.
    #[test]
    fn patterns_cover_what_they_say() {
        let roots = ["/w".to_owned()];
        for (pattern, path, covers) in [
            ("migrations/**", "/w/migrations/1.sql", true),
            ("migrations/**", "/w/migrations", true),
            ("migrations/**", "/w/migrations2/1.sql", false),
            ("migrations/**", "/x/migrations/1.sql", false),
            ("*.lock", "/w/Cargo.lock", true),
            ("*.lock", "/w/a/Cargo.lock", false),
            ("**/*.lock", "/w/a/b/Cargo.lock", true),
            ("**/*.lock", "/w/Cargo.lock", true),
            ("SRC/?.rs", "/w/src/a.rs", true),
            ("src/?.rs", "/w/src/ab.rs", false),
            ("~/notes/**", "/home/u/notes/a", true),
            ("~/notes/**", "/w/notes/a", false),
            ("/etc/hosts", "/etc/hosts", true),
            ("/**", "/etc/hosts", true),
        ] {
            let pattern_of = PathPattern::new(pattern).unwrap();
            assert_eq!(
                pattern_of.covers(path, &roots, "/home/u"),
                covers,
                "{pattern} {path}"
            );
        }
        for bad in ["", "a//b", "../x", "a/./b", "/", "~/"] {
            assert_eq!(PathPattern::new(bad), None, "{bad}");
        }
    }

    /// G6: removing a folder removes what a rule below it protects.
    #[test]
    fn a_tree_reaches_what_lies_below() {
        let roots = ["/w".to_owned()];
        for (pattern, path, reaches) in [
            ("db/migrations/**", "/w/db", true),
            ("db/migrations/**", "/w", true),
            ("db/migrations/**", "/", true),
            ("db/migrations/**", "/w/src", false),
            ("**/keep", "/w/src", true),
        ] {
            let pattern_of = PathPattern::new(pattern).unwrap();
            assert_eq!(
                pattern_of.reaches_below(path, &roots, "/home/u"),
                reaches,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn hosts_are_compared_at_dots() {
        let below = Subject::Host("*.example.com".into());
        assert!(below.is_host("a.EXAMPLE.com."));
        for other in ["example.com", "badexample.com", "example.com.evil"] {
            assert!(!below.is_host(other), "{other}");
        }
        assert!(Subject::Host("example.com".into()).is_host("example.com"));
    }
}
