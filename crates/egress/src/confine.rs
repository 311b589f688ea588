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

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use deputize_model::Plain;

    use super::*;

    /// What a relay says that it is held to, it is held to: the same attempts succeed before.
    #[test]
    fn what_is_said_to_hold_holds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (own, other) = (listen(), listen());
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{}", port(&own));
        let base = BaseUrl::parse(&url, Plain::Loopback).unwrap();
        let attempts = || {
            let connects = |listener| TcpStream::connect((Ipv4Addr::LOCALHOST, port(listener)));
            [
                std::fs::write(&file, "x").is_ok(),
                std::fs::read(&file).is_ok(),
                connects(&other).is_ok(),
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok(),
                std::fs::read("/etc/hosts").is_ok() || !Path::new("/etc/hosts").exists(),
                connects(&own).is_ok(),
            ]
        };
        assert_eq!(attempts(), [true; 6]);
        // Landlock holds a thread, and the test's own goes on.
        std::thread::scope(|scope| {
            let confined = scope.spawn(|| {
                let Held { held, lacking } = confine(&base).unwrap();
                assert_eq!(held.len() + lacking.len(), 5);
                let says = |word: &str| held.iter().any(|held| held.contains(word));
                let (files, tcp) = (!says("files"), !says("TCP"));
                assert_eq!(attempts(), [files, files, tcp, tcp, true, true]);
            });
            confined.join().unwrap();
        });
        assert_eq!(attempts(), [true; 6]);
    }
}
