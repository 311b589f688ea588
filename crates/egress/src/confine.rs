//! What a relay gives up once it has read its key and the trust roots.

use std::path::Path;

use deputize_model::BaseUrl;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, LandlockStatus, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

/// What the resolver of the system's library reads.
const RESOLVER: [&str; 12] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/ld.so.cache",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/lib",
    "/lib64",
    "/usr/lib",
];

/// Where names are asked for.
const DNS_PORT: u16 = 53;

/// The first interface that knows TCP, and the first that knows scopes.
const TCP_SINCE: ABI = ABI::V4;
const SCOPES_SINCE: ABI = ABI::V6;

/// What holds, and what this kernel can't hold.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) held: Vec<String>,
    pub(crate) lacking: Vec<String>,
}

/// Makes this process unreadable for others. It comes before the key is read.
pub(crate) fn hide() -> Result<(), String> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("its memory can't be hidden: {error}"))
}

/// Confines this process, which must be single-threaded still.
pub(crate) fn confine(base: &BaseUrl) -> Result<Held, String> {
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| format!("no_new_privs can't be set: {error}"))?;
    let mut held = Held::default();
    held.held.push("memory: not dumpable".to_owned());
    held.held.push("privileges: no_new_privs".to_owned());
    let abi = landlock(base).map_err(|error| format!("Landlock: {error}"))?;
    let rows = [
        (
            ABI::V1,
            "files: no writes, reads only for name resolution".to_owned(),
        ),
        (
            TCP_SINCE,
            format!("TCP: connects only to ports {} and {DNS_PORT}", base.port),
        ),
        (
            SCOPES_SINCE,
            "signals and abstract sockets: its own only".to_owned(),
        ),
    ];
    for (since, promise) in rows {
        if abi >= since {
            held.held.push(promise);
        } else {
            held.lacking.push(promise);
        }
    }
    Ok(held)
}

/// Enforces what the kernel knows; returns the interface that it has.
fn landlock(base: &BaseUrl) -> Result<ABI, RulesetError> {
    let newest = SCOPES_SINCE;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?
        .handle_access(AccessNet::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?;
    for path in RESOLVER {
        let path = Path::new(path);
        let Ok(opened) = PathFd::new(path) else {
            continue;
        };
        let rights = if path.is_dir() {
            AccessFs::ReadFile | AccessFs::ReadDir
        } else {
            AccessFs::ReadFile.into()
        };
        rules = rules.add_rule(PathBeneath::new(opened, rights))?;
    }
    for port in [base.port, DNS_PORT] {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    let status = rules.restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => ABI::Unsupported,
    })
}
