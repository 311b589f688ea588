//! The expression of `find`: what must be true of a name before an action takes it.

use crate::glob;
use crate::value::Field;

/// Tests and options of `find` that take no argument.
const BARE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-delete",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-true",
    "-false",
    "-prune",
    "-quit",
    "-follow",
    "-daystart",
    "-noleaf",
    "-nogroup",
    "-nouser",
    "-warn",
    "-nowarn",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
];

/// Names that git keeps in its folder. Those of objects are told by their letters.
const GIT_NAMES: &[&str] = &[
    "objects",
    "refs",
    "HEAD",
    "packed-refs",
    "index",
    "config",
    "hooks",
    "logs",
    "heads",
    "tags",
    "remotes",
    "origin",
    "main",
    "master",
    "info",
    "exclude",
    "pack",
    "description",
    "branches",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "COMMIT_EDITMSG",
    "shallow",
    "modules",
    "worktrees",
    "pre-commit.sample",
    "commit-msg.sample",
    "pre-commit",
    "commit-msg",
    "pre-push",
    "pack-0123456789abcdef0123456789abcdef01234567.pack",
    "pack-0123456789abcdef0123456789abcdef01234567.idx",
    "pack-0123456789abcdef0123456789abcdef01234567.rev",
];

/// Paths that git keeps in its folder.
const GIT_PATHS: &[&str] = &[
    "objects/ab/0123456789abcdef0123456789abcdef012345",
    "objects/pack/pack-0123456789abcdef0123456789abcdef01234567.pack",
    "objects/pack/pack-0123456789abcdef0123456789abcdef01234567.idx",
    "refs/heads/main",
    "logs/refs/heads/main",
    "HEAD",
    "index",
    "packed-refs",
    "config",
    "hooks/pre-commit.sample",
    "info/exclude",
];

/// A pattern that a name or a path must match.
#[derive(Debug, Clone)]
pub(super) struct Narrow {
    pub(super) text: String,
    is_path: bool,
    any_case: bool,
}

impl Narrow {
    fn matches(&self, name: &str) -> bool {
        match self.any_case {
            true => glob::matches(&self.text.to_lowercase(), &name.to_lowercase()),
            false => glob::matches(&self.text, name),
        }
    }

    /// Something of git's own that it matches, below a root that holds git's folder.
    fn in_git(&self, root: &str) -> Option<&'static str> {
        if self.is_path {
            let root = root.trim_end_matches('/');
            return GIT_PATHS
                .iter()
                .find(|path| self.matches(&format!("{root}/.git/{path}")))
                .copied();
        }
        if let Some(name) = GIT_NAMES.iter().find(|name| self.matches(name)) {
            return Some(name);
        }
        // An object's file, and the folder that it lies in.
        let hex = |c: char| c.is_ascii_hexdigit() || "*?[]!^-".contains(c);
        (self.text.chars().all(hex)
            && (self.text.contains('*') || matches!(self.text.chars().count(), 2 | 38)))
        .then_some("objects")
    }
}

/// What is known of the names that come to some point of an expression.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    /// Each name matches one of these; `None`: it may be any.
    pub(super) narrow: Option<Vec<Narrow>>,
    /// Some other test leaves names out.
    pub(super) bounded: bool,
    /// A regular expression that each name matches.
    pub(super) regex: Option<String>,
    /// Nothing of git's own comes here.
    no_git: bool,
    /// Nothing comes here at all.
    never: bool,
}

impl Reach {
    /// Both are true of a name.
    fn and(mut self, more: Self) -> Self {
        // Of two patterns the one that says more of the name itself counts.
        let harmless = |narrow: &[Narrow]| {
            narrow.iter().all(|one| {
                let name = one.text.rsplit('/').next().unwrap_or_default();
                one.in_git(".").is_none() && !glob::is_wide(name)
            })
        };
        self.narrow = match (self.narrow, more.narrow) {
            (Some(one), Some(other)) if !harmless(&one) && harmless(&other) => Some(other),
            (one, other) => one.or(other),
        };
        self.bounded |= more.bounded;
        self.regex = self.regex.or(more.regex);
        self.no_git |= more.no_git;
        self.never |= more.never;
        self
    }

    /// One of the two is true of a name.
    fn or(mut self, more: Self) -> Self {
        if self.never || more.never {
            return if self.never { more } else { self };
        }
        // What is bounded by something else is bounded as a whole, but by no pattern.
        let bounds = |reach: &Self| reach.bounded || reach.narrow.is_some();
        self.bounded = bounds(&self) && bounds(&more);
        self.narrow = match (self.narrow, more.narrow) {
            (Some(mut one), Some(other)) => {
                one.extend(other);
                Some(one)
            }
            _ => None,
        };
        self.regex = self.regex.or(more.regex);
        self.no_git &= more.no_git;
        self
    }

    /// Something of git's own that comes here from a root which holds git's folder.
    pub(super) fn in_git(&self, root: &str) -> Option<&'static str> {
        if self.no_git {
            return None;
        }
        self.narrow
            .as_deref()?
            .iter()
            .find_map(|one| one.in_git(root))
    }
}

/// What `fd` finds: names with this in them. Hidden ones, git's own among them, only when they are asked for.
pub(super) fn named(pattern: Option<&str>, hidden: bool) -> Reach {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let Some(pattern) = pattern else {
        return Reach::default();
    };
    // It is a regular expression.
    let fixed = pattern.chars().filter(char::is_ascii_alphanumeric).count();
    let text = match pattern.chars().all(plain) || fixed > 1 && !pattern.contains('|') {
        true => format!("*{pattern}*"),
        false => "*".to_owned(),
    };
    reach_of(text, hidden, hidden.then(|| pattern.to_lowercase()))
}

/// What `fd -e` finds.
pub(super) fn ending(end: &str, hidden: bool) -> Reach {
    reach_of(format!("*.{}", end.trim_start_matches('.')), hidden, None)
}

fn reach_of(text: String, hidden: bool, regex: Option<String>) -> Reach {
    Reach {
        narrow: (!glob::is_wide(&text)).then(|| {
            vec![Narrow {
                text,
                is_path: false,
                any_case: true,
            }]
        }),
        no_git: !hidden,
        regex,
        ..Reach::default()
    }
}

/// An expression, taken apart.
#[derive(Debug, Default)]
pub(super) struct Expression {
    /// For each action its place and what comes to it.
    pub(super) actions: Vec<(usize, Reach)>,
    /// What is true of the names for which the whole is true.
    pub(super) whole: Reach,
    /// Something in it isn't understood.
    pub(super) is_doubtful: bool,
}

/// What a part of an expression says: of the names for which it is true, and of those for which it is false.
#[derive(Default)]
struct Said {
    yes: Reach,
    no: Reach,
}

struct Reader<'a> {
    words: &'a [Field],
    at: usize,
    depth: usize,
    /// Folders come after what they hold, and nothing is left out.
    upwards: bool,
    found: Expression,
}

/// Takes an expression apart.
pub(super) fn read(words: &[Field]) -> Expression {
    let mut reader = Reader {
        words,
        at: 0,
        depth: 0,
        upwards: words
            .iter()
            .any(|word| matches!(word.known().as_deref(), Some("-depth" | "-d"))),
        found: Expression::default(),
    };
    let said = reader.list(&Reach::default());
    if reader.at < words.len() {
        // A bracket too many: nothing is known of what follows, and each action takes everything.
        reader.found.is_doubtful = true;
        for at in reader.at..words.len() {
            reader.found.actions.push((at, Reach::default()));
        }
    }
    reader.found.whole = said.yes;
    reader.found
}

impl Reader<'_> {
    fn peek(&self) -> Option<String> {
        // Only words that are known join or end parts; another is a test that isn't known.
        let word = self.words.get(self.at)?;
        Some(
            word.known()
                .map_or_else(|| "…".to_owned(), |text| text.into_owned()),
        )
    }

    fn list(&mut self, before: &Reach) -> Said {
        let mut said = self.either(before);
        while self.peek().as_deref() == Some(",") {
            self.at += 1;
            said = self.either(before);
        }
        said
    }

    fn either(&mut self, before: &Reach) -> Said {
        let mut said = self.all(before);
        while matches!(self.peek().as_deref(), Some("-o" | "-or")) {
            self.at += 1;
            let more = self.all(&before.clone().and(said.no.clone()));
            said = Said {
                // What the first part is false for is known of what the second one is true for.
                yes: said.yes.or(said.no.clone().and(more.yes)),
                no: said.no.and(more.no),
            };
        }
        said
    }

    fn all(&mut self, before: &Reach) -> Said {
        let mut said: Option<Said> = None;
        loop {
            match self.peek().as_deref() {
                None | Some("-o" | "-or" | "," | ")") => return said.unwrap_or_default(),
                Some("-a" | "-and") => self.at += 1,
                Some(_) => {
                    let so_far = said
                        .as_ref()
                        .map(|said| said.yes.clone())
                        .unwrap_or_default();
                    let more = self.one(&before.clone().and(so_far));
                    said = Some(match said {
                        None => more,
                        Some(said) => Said {
                            yes: said.yes.and(more.yes),
                            no: said.no.or(more.no),
                        },
                    });
                }
            }
        }
    }

    fn one(&mut self, before: &Reach) -> Said {
        let Some(text) = self.peek() else {
            return Said::default();
        };
        let at = self.at;
        self.at += 1;
        match text.as_str() {
            "!" | "-not" => {
                let mut negated = true;
                while matches!(self.peek().as_deref(), Some("!" | "-not")) {
                    negated = !negated;
                    self.at += 1;
                }
                let said = self.one(before);
                return match negated {
                    true => Said {
                        yes: said.no,
                        no: said.yes,
                    },
                    false => said,
                };
            }
            "(" => {
                self.depth += 1;
                if self.depth > 32 {
                    self.found.is_doubtful = true;
                    self.at = self.words.len();
                    return Said::default();
                }
                let said = self.list(before);
                if self.peek().as_deref() == Some(")") {
                    self.at += 1;
                }
                self.depth -= 1;
                return said;
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                self.found.actions.push((at, before.clone()));
                let ends = |word: &Field| matches!(word.known().as_deref(), Some(";" | "+"));
                let end = self.words[self.at..].iter().position(ends);
                self.at = end.map_or(self.words.len(), |end| self.at + end + 1);
                return Said::default();
            }
            "-delete" | "-print" | "-print0" | "-ls" | "-prune" => {
                if text != "-prune" {
                    self.found.actions.push((at, before.clone()));
                }
                // These are true whatever the name is: nothing comes to what is tried otherwise.
                return Said {
                    yes: Reach::default(),
                    no: Reach {
                        never: text != "-delete",
                        ..Reach::default()
                    },
                };
            }
            "-fprint" | "-fprint0" | "-fls" | "-printf" => {
                self.found.actions.push((at, before.clone()));
                self.at += 1;
                return Said::default();
            }
            "-fprintf" => {
                self.found.actions.push((at, before.clone()));
                self.at += 2;
                return Said::default();
            }
            "-files0-from" => {
                self.found.actions.push((at, before.clone()));
                self.at += 1;
                return Said::default();
            }
            _ => {}
        }
        if !text.starts_with('-') {
            return Said::default();
        }
        if BARE.contains(&text.as_str()) {
            return Said {
                yes: Reach {
                    bounded: text == "-empty",
                    ..Reach::default()
                },
                no: Reach::default(),
            };
        }
        let value = self.words.get(self.at).and_then(Field::known);
        self.at += 1;
        self.test(&text, value.as_deref(), at)
    }

    /// A test with one argument.
    fn test(&mut self, name: &str, value: Option<&str>, at: usize) -> Said {
        let mut said = Said::default();
        match (name, value) {
            (
                "-name" | "-iname" | "-path" | "-wholename" | "-ipath" | "-iwholename",
                Some(value),
            ) => {
                let is_path = !name.ends_with("-name") && name != "-iname";
                let narrow = Narrow {
                    text: value.to_owned(),
                    is_path,
                    any_case: name.starts_with("-i"),
                };
                // Whether what isn't matched leaves git's folder out.
                said.no.no_git = match is_path {
                    false => value == ".git" && self.prunes(at),
                    true => {
                        let plain = value.trim_end_matches('*').trim_end_matches('/');
                        (plain == ".git" || plain.ends_with("/.git"))
                            && (value.ends_with('*') || self.prunes(at))
                    }
                };
                let is_wide = glob::is_wide(value) && !value.contains(['~', '#']);
                said.yes.narrow = (!is_wide).then(|| vec![narrow]);
            }
            ("-regex" | "-iregex", Some(value)) => {
                said.yes.regex = Some(value.to_lowercase());
                // One letter more than any name has.
                let fixed = value.chars().filter(char::is_ascii_alphanumeric).count();
                said.yes.bounded = fixed > 1 && !value.starts_with("[^");
            }
            (
                "-mtime" | "-mmin" | "-atime" | "-amin" | "-ctime" | "-cmin" | "-size" | "-newer"
                | "-user" | "-perm",
                _,
            ) => {
                said.yes.bounded = true;
                said.no.bounded = true;
            }
            _ => {}
        }
        said
    }

    /// Whether the words behind a test with its argument keep `find` out of what it matched.
    fn prunes(&self, at: usize) -> bool {
        if self.upwards {
            return false;
        }
        // It stands close behind.
        self.words[at..]
            .iter()
            .take(16)
            .map_while(|word| {
                word.known()
                    .filter(|text| !matches!(text.as_ref(), "-o" | "-or" | "," | ")"))
            })
            .any(|text| text == "-prune")
    }
}
