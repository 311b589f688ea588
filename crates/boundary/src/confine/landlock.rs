//! Landlock: the same view once more, held by another part of the kernel.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus,
    Scope,
};

use deputize_authority::Bounds;

use crate::error::{BoundaryError, Step};
use crate::plan::{Access, Tcp};

/// A ruleset that is made and not enforced yet.
pub(crate) struct Rules(RulesetCreated);

impl Rules {
    /// Makes the rules of a command.
    pub(crate) fn command(access: &Access) -> Result<Self, BoundaryError> {
        let abi = abi(access.abi);
        let everything = AccessFs::from_all(abi);
        let read = AccessFs::from_read(abi);
        let mut rules = begin(abi, access.tcp)?;
        for (paths, rights) in [(&access.read, read), (&access.write, everything)] {
            for path in paths {
                rules = add(rules, path, rights, abi)?;
            }
        }
        if access.tcp == Tcp::PrivateLoopback {
            // The view holds nothing but what was granted: its folders may be listed.
            rules = add(rules, Path::new("/"), AccessFs::ReadDir.into(), abi)?;
        }
        Ok(Self(rules))
    }

    /// Adds a `/proc` that was mounted after the rules were made: rules follow inodes, not names.
    pub(crate) fn with_proc(self, access: &Access) -> Result<Self, BoundaryError> {
        let abi = abi(access.abi);
        add(self.0, Path::new("/proc"), AccessFs::from_all(abi), abi).map(Self)
    }

    /// Makes the rules of the worker: it reads some roots, changes files in some of them, and does
    /// nothing else.
    pub(crate) fn worker(access: &Access, bounds: &Bounds) -> Result<Self, BoundaryError> {
        let abi = abi(access.abi);
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        // Files and folders only: no device, pipe, socket or link is ever made by a file tool.
        let change = AccessFs::WriteFile
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir;
        let change = (read | change | AccessFs::Truncate) & AccessFs::from_all(abi);
        let mut rules = begin(abi, Tcp::Refused)?;
        for (roots, rights) in [(&bounds.read, read), (&bounds.write, change)] {
            for root in roots.items() {
                rules = add(rules, root.path(), rights, abi)?;
            }
        }
        Ok(Self(rules))
    }

    /// A copy for a child that enforces it on its own.
    pub(crate) fn again(&self) -> Result<Self, BoundaryError> {
        self.0
            .try_clone()
            .map(Self)
            .map_err(|error| failed("copy the rules", &error))
    }

    /// Enforces the rules on this process. Anything less than full enforcement is an error.
    pub(crate) fn enforce(self) -> Result<(), BoundaryError> {
        let status = self
            .0
            .restrict_self()
            .map_err(|error| failed("restrict", &error))?;
        if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs {
            Ok(())
        } else {
            Err(failed("restrict", &format!("only {:?}", status.ruleset)))
        }
    }
}

fn begin(abi: ABI, tcp: Tcp) -> Result<RulesetCreated, BoundaryError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))
        .map_err(|error| failed("handle file access", &error))?;
    let network = AccessNet::from_all(abi);
    if tcp == Tcp::Refused && !network.is_empty() {
        rules = rules
            .handle_access(network)
            .map_err(|error| failed("handle TCP", &error))?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        rules = rules
            .scope(scopes)
            .map_err(|error| failed("scope", &error))?;
    }
    rules
        .create()
        .map_err(|error| failed("create a ruleset", &error))
}

/// Adds a rule for a path; one that isn't there needs none.
fn add(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, BoundaryError> {
    let Ok(meta) = std::fs::metadata(path) else {
        return Ok(rules);
    };
    let rights = if meta.is_dir() {
        rights
    } else {
        rights & AccessFs::from_file(abi)
    };
    let opened = PathFd::new(path).map_err(|error| failed(path.display(), &error))?;
    rules
        .add_rule(PathBeneath::new(opened, rights))
        .map_err(|error| failed(path.display(), &error))
}

fn abi(number: u32) -> ABI {
    i32::try_from(number).map_or(ABI::Unsupported, ABI::from)
}

fn failed(what: impl std::fmt::Display, error: &impl std::fmt::Display) -> BoundaryError {
    BoundaryError::Step {
        step: Step::Landlock,
        errno: None,
        detail: format!("{what}: {error}"),
    }
}
