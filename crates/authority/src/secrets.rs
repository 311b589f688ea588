//! Which files hold secrets (G9). One table for the gate, the file tools and the boundary's masks.

use std::path::Path;

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
    /// Runs of path components that belong to it wherever they lie: a folder, or a file in one.
    paths: &'static [&'static str],
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
        paths: &[".ssh"],
    },
    SecretClass {
        id: "cloud",
        what: "cloud credentials",
        files: &[],
        paths: &[
            ".aws",
            ".azure",
            ".config/gcloud",
            ".kube",
            ".docker/config.json",
            ".config/doctl",
            ".terraform.d/credentials.tfrc.json",
            ".oci",
            ".config/rclone",
            ".fly",
            ".vault-token",
        ],
    },
    SecretClass {
        id: "keyring",
        what: "keyring or password store",
        files: &[],
        paths: &[
            ".gnupg",
            ".password-store",
            ".local/share/keyrings",
            ".local/share/kwalletd",
            ".config/op",
            ".config/Bitwarden CLI",
        ],
    },
    SecretClass {
        id: "forge",
        what: "code forge or package registry token",
        files: &[".git-credentials", ".pypirc"],
        paths: &[
            ".config/git/credentials",
            ".config/gh/hosts.yml",
            ".config/glab-cli",
            ".config/hub",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".gem/credentials",
            ".composer/auth.json",
            ".m2/settings.xml",
            ".gradle/gradle.properties",
        ],
    },
    SecretClass {
        id: "agent_auth",
        what: "credentials of a coding agent",
        files: &[],
        paths: &[
            ".pi/agent/auth.json",
            ".claude/.credentials.json",
            ".codex/auth.json",
            ".gemini/oauth_creds.json",
            ".config/deputize/auth.json",
            ".config/opencode/auth.json",
            ".local/share/opencode/auth.json",
            ".config/goose/secrets.yaml",
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

fn classify(path: &Path) -> Option<&'static SecretClass> {
    let parts: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
        .collect();
    let name = parts.last()?.as_str();
    SECRET_CLASSES.iter().find(|class| {
        class.files.contains(&name)
            || (class.id == "env_file" && is_env_file(name))
            || (class.id == "key_store" && has_key_store_extension(name))
            || class.paths.iter().any(|run| contains_run(&parts, run))
    })
}

/// `.env`, `.env.local`, `prod.env`; but not `.env.example` and kin, which carry no values.
fn is_env_file(name: &str) -> bool {
    const TEMPLATES: [&str; 6] = [
        "example", "sample", "template", "dist", "defaults", "schema",
    ];
    let is_variant = name
        .strip_prefix(".env.")
        .is_some_and(|rest| !rest.is_empty())
        || name
            .strip_suffix(".env")
            .is_some_and(|stem| !stem.is_empty());
    is_variant
        && !name
            .split(['.', '-', '_'])
            .any(|part| TEMPLATES.contains(&part))
}

fn has_key_store_extension(name: &str) -> bool {
    [".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".ppk"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn contains_run(parts: &[String], run: &str) -> bool {
    let run: Vec<String> = run.split('/').map(str::to_lowercase).collect();
    parts
        .windows(run.len())
        .any(|window| window == run.as_slice())
}

impl SecretClass {
    /// The words of a refusal.
    #[must_use]
    pub fn reason(&self, shown_path: &str) -> String {
        format!("`{}` is a secret ({})", escape(shown_path), self.what)
    }
}

#[cfg(test)]
mod tests {
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
}
