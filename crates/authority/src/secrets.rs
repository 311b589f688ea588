//! Which files hold secrets (G9). One table for the gate, the file tools and the boundary's masks.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use crate::{Set, escape};

/// A class of secret files, with the id that a rule can name to allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretClass {
    /// Stable id.
    pub id: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// Names of files that belong to it wherever they lie.
    files: &'static [&'static str],
    /// Runs of path components that belong to it wherever they lie: a folder, or a file in one. Each
    /// begins with a dot, and most paths hold no such component.
    paths: &'static [&'static [&'static str]],
}

/// The table.
pub const SECRET_CLASSES: &[SecretClass] = &[
    SecretClass {
        id: "env_file",
        what: "environment file with credentials",
        // Variants (`.env.local`) are matched by `is_env_file`, which spares templates.
        files: &[
            ".env",
            ".netrc",
            "_netrc",
            ".pgpass",
            ".htpasswd",
            ".my.cnf",
        ],
        paths: &[],
    },
    SecretClass {
        id: "ssh",
        what: "SSH keys and configuration",
        files: &[
            "id_rsa",
            "id_dsa",
            "id_ecdsa",
            "id_ed25519",
            "id_ecdsa_sk",
            "id_ed25519_sk",
        ],
        paths: &[&[".ssh"]],
    },
    SecretClass {
        id: "cloud",
        what: "cloud credentials",
        files: &[],
        paths: &[
            &[".aws"],
            &[".azure"],
            &[".config", "gcloud"],
            &[".kube"],
            &[".docker", "config.json"],
            &[".config", "doctl"],
            &[".terraform.d", "credentials.tfrc.json"],
            &[".oci"],
            &[".config", "rclone"],
            &[".fly"],
            &[".vault-token"],
        ],
    },
    SecretClass {
        id: "keyring",
        what: "keyring or password store",
        files: &[],
        paths: &[
            &[".gnupg"],
            &[".password-store"],
            &[".local", "share", "keyrings"],
            &[".local", "share", "kwalletd"],
            &[".config", "op"],
            &[".config", "Bitwarden CLI"],
        ],
    },
    SecretClass {
        id: "forge",
        what: "code forge or package registry token",
        files: &[".git-credentials", ".pypirc"],
        paths: &[
            &[".config", "git", "credentials"],
            &[".config", "gh", "hosts.yml"],
            &[".config", "glab-cli"],
            &[".config", "hub"],
            &[".cargo", "credentials"],
            &[".cargo", "credentials.toml"],
            &[".gem", "credentials"],
            &[".composer", "auth.json"],
            &[".m2", "settings.xml"],
            &[".gradle", "gradle.properties"],
        ],
    },
    SecretClass {
        id: "agent_auth",
        what: "credentials of a coding agent",
        files: &[],
        paths: &[
            &[".pi", "agent", "auth.json"],
            &[".claude", ".credentials.json"],
            &[".codex", "auth.json"],
            &[".gemini", "oauth_creds.json"],
            &[".config", "deputize", "auth.json"],
            &[".config", "opencode", "auth.json"],
            &[".local", "share", "opencode", "auth.json"],
            &[".config", "goose", "secrets.yaml"],
            &[".local", "share", "uv", "credentials"],
        ],
    },
    SecretClass {
        id: "key_store",
        what: "private key store",
        // By extension; see `has_key_store_extension`.
        files: &[],
        paths: &[],
    },
];

/// Decides whether a path names a secret, given the classes that a rule allows.
#[derive(Debug, Clone)]
pub struct SecretRules {
    allowed: Set<String>,
}

impl SecretRules {
    /// Rules that deny every class but the allowed ones.
    #[must_use]
    pub fn allowing(allowed: Set<String>) -> Self {
        Self { allowed }
    }

    /// The class of a path, if it is a secret that isn't allowed.
    ///
    /// Only the path's own components are looked at, so absolute and relative paths both do. Names
    /// are compared without case.
    #[must_use]
    pub fn denied(&self, path: &Path) -> Option<&'static SecretClass> {
        let class = classify(path)?;
        (!self.allowed.permits(&class.id.to_owned())).then_some(class)
    }
}

/// Walks ask this for every entry, so a path of ASCII, which nearly every one is, is compared as it
/// stands. Others are folded first: a character outside ASCII may be an upper case of one inside.
fn classify(path: &Path) -> Option<&'static SecretClass> {
    if path.as_os_str().as_bytes().is_ascii() {
        return classify_folded(path);
    }
    classify_folded(Path::new(&path.to_string_lossy().to_lowercase()))
}

/// Names decide but for what lies from a component on that begins with a dot, and few paths have one.
fn classify_folded(path: &Path) -> Option<&'static SecretClass> {
    let name = bytes(path.components().next_back()?);
    let first = dotted_ends(path).next();
    let ends = || first.into_iter().flat_map(dotted_ends);
    SECRET_CLASSES.iter().find(|class| {
        class.files.iter().any(|file| is(name, file))
            || (class.id == "env_file" && is_env_file(name))
            || (class.id == "key_store" && has_key_store_extension(name))
            || ends().any(|end| class.paths.iter().any(|run| begins_with(end, run)))
    })
}

/// `.env`, `.env.local`, `prod.env`; but not `.env.example` and kin, which carry no values.
fn is_env_file(name: &[u8]) -> bool {
    const TEMPLATES: [&str; 6] = [
        "example", "sample", "template", "dist", "defaults", "schema",
    ];
    let (prefix, suffix) = (".env.", ".env");
    let longer = |than: &str| name.len() > than.len();
    let is_variant = (longer(prefix) && is(&name[..prefix.len()], prefix))
        || (longer(suffix) && ends_with(name, suffix));
    is_variant
        && !name
            .split(|byte| matches!(byte, b'.' | b'-' | b'_'))
            .any(|part| TEMPLATES.iter().any(|template| is(part, template)))
}

fn has_key_store_extension(name: &[u8]) -> bool {
    KEY_STORE_ENDS.iter().any(|end| ends_with(name, end))
}

/// Ends of the names of key stores.
const KEY_STORE_ENDS: [&str; 6] = [".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".ppk"];

/// The ends of a path that start with a component that begins with a dot.
fn dotted_ends(path: &Path) -> impl Iterator<Item = &Path> {
    let path = path.as_os_str().as_bytes();
    let starts = |at: usize| path[at] == b'.' && (at == 0 || path[at - 1] == b'/');
    let ends = (0..path.len()).filter(move |at| starts(*at));
    ends.map(|at| Path::new(OsStr::from_bytes(&path[at..])))
}

fn begins_with(end: &Path, run: &[&str]) -> bool {
    // Most ends differ in their first bytes.
    let head = run.first().and_then(|first| {
        end.as_os_str()
            .as_bytes()
            .get(..first.len())
            .zip(Some(*first))
    });
    if !head.is_some_and(|(head, first)| is(head, first)) {
        return false;
    }
    let mut parts = end.components();
    run.iter()
        .all(|wanted| parts.next().is_some_and(|part| is(bytes(part), wanted)))
}

fn bytes(part: Component<'_>) -> &[u8] {
    part.as_os_str().as_bytes()
}

fn is(part: &[u8], wanted: &str) -> bool {
    part.eq_ignore_ascii_case(wanted.as_bytes())
}

fn ends_with(name: &[u8], end: &str) -> bool {
    let start = name.len().checked_sub(end.len());
    start.is_some_and(|start| is(&name[start..], end))
}

impl SecretRules {
    /// Globs (`**` for any folders, case aside) that cover every path that these rules deny, and
    /// templates of environment files too: for programs that leave paths out by glob.
    pub fn globs(&self) -> impl Iterator<Item = String> + '_ {
        SECRET_CLASSES
            .iter()
            .filter(|class| !self.allowed.permits(&class.id.to_owned()))
            .flat_map(SecretClass::globs)
    }
}

impl SecretClass {
    fn globs(&self) -> Vec<String> {
        let mut globs: Vec<String> = self.files.iter().map(|name| format!("**/{name}")).collect();
        match self.id {
            "env_file" => globs.extend(["**/.env.*".to_owned(), "**/*.env".to_owned()]),
            "key_store" => globs.extend(KEY_STORE_ENDS.map(|end| format!("**/*{end}"))),
            _ => {}
        }
        for run in self.paths {
            let run = run.join("/");
            globs.extend([format!("**/{run}"), format!("**/{run}/**")]);
        }
        globs
    }

    /// The words of a refusal.
    #[must_use]
    pub fn reason(&self, shown_path: &str) -> String {
        format!("`{}` is a secret ({})", escape(shown_path), self.what)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    fn class(path: &str) -> Option<&'static str> {
        SecretRules::allowing(Set::none())
            .denied(Path::new(path))
            .map(|class| class.id)
    }

    #[test]
    fn secrets_are_found_wherever_they_lie() {
        for (path, id) in [
            (".env", "env_file"),
            ("app/.env.local", "env_file"),
            ("deploy/prod.env", "env_file"),
            ("/home/u/.ssh/config", "ssh"),
            ("backup/id_ed25519", "ssh"),
            ("/home/u/.aws/credentials", "cloud"),
            ("/home/u/.config/gh/hosts.yml", "forge"),
            ("/home/u/.pi/agent/auth.json", "agent_auth"),
            ("a/B.P12", "key_store"),
            ("x/.ENV", "env_file"),
        ] {
            assert_eq!(class(path), Some(id), "{path}");
        }
    }

    #[test]
    fn templates_and_source_are_not_secrets() {
        for path in [
            ".env.example",
            ".env.sample",
            "src/secrets.rs",
            "src/env.rs",
            ".envrc",
            "id_rsa.pub",
            "docs/ssh.md",
            "environment",
            ".env.d.ts.example",
            "example.env",
        ] {
            assert_eq!(class(path), None, "{path}");
        }
    }

    #[test]
    fn a_rule_can_allow_one_class() {
        let rules = SecretRules::allowing(Set::only(["env_file".to_owned()]));
        assert!(rules.denied(Path::new(".env")).is_none());
        assert!(rules.denied(Path::new(".ssh/id_rsa")).is_some());
    }

    #[test]
    fn runs_begin_with_a_dot() {
        let mut runs = SECRET_CLASSES.iter().flat_map(|class| class.paths);
        assert!(runs.all(|run| run[0].starts_with('.')));
    }

    #[test]
    fn a_case_outside_ascii_hides_nothing() {
        // The Kelvin sign's lower case is an ordinary k.
        assert_eq!(class("home/.\u{212a}ube/config"), Some("cloud"));
        assert_eq!(class("józef/.SSH/config"), Some("ssh"));
    }

    /// The plain way: everything in lower case, then compared.
    fn plainly(path: &Path) -> Option<&'static str> {
        let parts: Vec<String> = path
            .components()
            .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
            .collect();
        let name = parts.last()?.as_str();
        let is_env_file = || {
            let stem = name.strip_suffix(".env").or(name.strip_prefix(".env."));
            let mut words = name.split(['.', '-', '_']);
            stem.is_some_and(|stem| !stem.is_empty())
                && !words.any(|word| {
                    "example sample template dist defaults schema"
                        .split(' ')
                        .any(|template| word == template)
                })
        };
        let is_key_store = || {
            ["p12", "pfx", "kdbx", "jks", "keystore", "ppk"]
                .iter()
                .any(|end| name.ends_with(&format!(".{end}")))
        };
        let holds = |run: &&[&str]| {
            let run: Vec<String> = run.iter().map(|part| part.to_lowercase()).collect();
            parts.windows(run.len()).any(|window| window == run)
        };
        let class = SECRET_CLASSES.iter().find(|class| {
            class.files.contains(&name)
                || (class.id == "env_file" && is_env_file())
                || (class.id == "key_store" && is_key_store())
                || class.paths.iter().any(&holds)
        });
        class.map(|class| class.id)
    }

    /// Components that are in the table, nearly in it, or anything.
    fn component() -> impl Strategy<Value = Vec<u8>> {
        let mut known: Vec<&str> = vec![
            ".env.",
            "a.env",
            ".env.dist",
            ".env.x-Sample",
            "x.p12",
            ".ppk",
            "..",
            ".",
            "src",
            "é",
        ];
        for class in SECRET_CLASSES {
            known.extend(class.files);
            known.extend(class.paths.iter().copied().flatten());
        }
        let known = prop::sample::select(known);
        let cased = (known, any::<u64>()).prop_map(|(name, upper)| {
            let flip = |(index, letter): (usize, char)| match (letter, upper >> (index % 64) & 3) {
                (_, 0) => letter.to_ascii_uppercase(),
                ('k', 1) => '\u{212a}',
                _ => letter,
            };
            name.chars().enumerate().map(flip).collect::<String>()
        });
        let cased = cased.prop_map(String::into_bytes);
        let joined = (cased.clone(), prop::collection::vec(any::<u8>(), 0..3))
            .prop_map(|(name, more)| [name, more].concat());
        prop_oneof![6 => cased, 2 => joined, 1 => prop::collection::vec(any::<u8>(), 0..6)]
    }

    proptest! {
        /// G9: the quick comparison finds what the plain one finds.
        #[test]
        fn quick_and_plain_agree(parts in prop::collection::vec(component(), 0..6)) {
            let path = OsString::from_vec(parts.join(&b'/'));
            let quick = classify(Path::new(&path)).map(|class| class.id);
            prop_assert_eq!(quick, plainly(Path::new(&path)));
        }
    }
}
