//! What this machine can enforce, proven by trying it (B8).

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use deputize_authority::{
    Bounds, Grant, Layer, Level, Preset, Root, Set, Workspace, WorkspaceMode,
};
use serde::Serialize;

use crate::command::{CommandEnd, CommandSpec};
use crate::error::BoundaryError;
use crate::host::{self, HostFacts};
use crate::launch::Purpose;
use crate::plan::{self, CopyPlace, PromiseState, Sealed};
use crate::selftest::SelfTest;
use crate::supervise::{Boundary, Outside, PinnedProgram};

/// One thing that a boundary is made of.
#[derive(Debug, Clone, Serialize)]
pub struct Feature {
    /// Stable name.
    pub name: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// What was found.
    pub detail: String,
    /// What to do when it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// A boundary that was started on trial.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// The level that was tried.
    pub level: Level,
    /// Whether it stood and its self-test held.
    pub holds: bool,
    /// What the self-test of the worker saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<SelfTest>,
    /// What the self-test of a command saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<SelfTest>,
    /// The promises of `deputize exec` at this level.
    pub promises: Vec<PromiseState>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What `deputize doctor` says.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The strongest level that held on trial.
    pub level: Level,
    /// The user that was tried as.
    pub uid: u32,
    /// What there is to build with.
    pub features: Vec<Feature>,
    /// The levels, strongest first, as tried.
    pub trials: Vec<Trial>,
    /// The toolchains that commands will see, by name.
    pub toolchains: Vec<String>,
}

/// Tries both levels in `scratch`, an empty folder of the caller's; `canary` is a file outside it and
/// `port` a loopback port where the caller listens.
pub fn examine(
    program: &PinnedProgram,
    host: &HostFacts,
    scratch: &Path,
    canary: &Path,
    port: Option<u16>,
) -> Report {
    let trials: Vec<Trial> = [Level::Full, Level::LandlockSeccomp]
        .into_iter()
        .map(|level| attempt(program, host, scratch, canary, port, level))
        .collect();
    let level = trials
        .iter()
        .find(|trial| trial.holds)
        .map_or(Level::None, |trial| trial.level);
    Report {
        level,
        uid: host.uid,
        features: features(host, &trials),
        toolchains: host
            .toolchains
            .iter()
            .map(|toolchain| toolchain.name.clone())
            .collect(),
        trials,
    }
}

fn attempt(
    program: &PinnedProgram,
    host: &HostFacts,
    scratch: &Path,
    canary: &Path,
    port: Option<u16>,
    level: Level,
) -> Trial {
    let failed = |failure: String| Trial {
        level,
        holds: false,
        worker: None,
        command: None,
        promises: Vec::new(),
        failure: Some(failure),
    };
    let Some(grant) = trial_grant(scratch) else {
        return failed("the trial folder can't be used".to_owned());
    };
    let plan = match plan::compile(&grant, host, level, &CopyPlace::Planned) {
        Ok(plan) => plan,
        Err(refusal) => return failed(refusal.to_string()),
    };
    let tried = (|| {
        let outside = Outside {
            purpose: Purpose::Serve,
            canary: Some(canary),
            port,
            placeholders: None,
        };
        let mut boundary = Boundary::start(program, &grant, &plan, &outside)?;
        let (_socket, worker) = boundary.open_worker()?;
        let command = run_nothing(&mut boundary, &plan.workspace)?;
        boundary.stop()?;
        Ok::<_, BoundaryError>((worker, command))
    })();
    match tried {
        Ok((worker, (end, command))) => {
            let ran = end == CommandEnd::Exited(0);
            let holds = ran && worker.holds() && command.as_ref().is_some_and(SelfTest::holds);
            Trial {
                level,
                holds,
                worker: Some(worker),
                command,
                promises: plan.promises,
                failure: (!ran).then(|| format!("`true` ended with {end:?}")),
            }
        }
        Err(error) => failed(error.to_string()),
    }
}

fn run_nothing(
    boundary: &mut Boundary,
    folder: &Sealed,
) -> Result<(CommandEnd, Option<SelfTest>), BoundaryError> {
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|source| BoundaryError::Supervisor {
            doing: "open /dev/null",
            source,
        })?;
    let program = sealed(Path::new("/bin/true")).or_else(|| sealed(Path::new("/usr/bin/true")));
    let spec = CommandSpec::new(
        &[OsString::from("true")],
        folder.clone(),
        program,
        Vec::new(),
    );
    let command = boundary.run(&spec, [null.as_fd(), null.as_fd(), null.as_fd()])?;
    boundary.await_end(command)
}

fn sealed(path: &Path) -> Option<Sealed> {
    let meta = std::fs::metadata(path).ok()?;
    Some(Sealed {
        path: path.to_owned(),
        device: meta.dev(),
        inode: meta.ino(),
    })
}

fn trial_grant(scratch: &Path) -> Option<Grant> {
    let meta = std::fs::metadata(scratch).ok()?;
    let root = Root::new(scratch)?;
    let workspace = Workspace {
        root: root.clone(),
        device: meta.dev(),
        inode: meta.ino(),
        mode: WorkspaceMode::Direct,
    };
    let request = Bounds {
        read: Set::only([root]),
        write: Set::none(),
        ..Bounds::ANY
    };
    let grant = Grant::of_principal(Preset::Exec, workspace, Bounds::ANY)
        .attenuate(Layer::Preset, &Preset::Exec.bounds())
        .attenuate(Layer::Request, &request);
    Some(grant)
}

fn features(host: &HostFacts, trials: &[Trial]) -> Vec<Feature> {
    let full = trials.iter().find(|trial| trial.level == Level::Full);
    let stood = full.is_some_and(|trial| trial.worker.is_some());
    let namespaces = Feature {
        name: "namespaces",
        available: stood,
        detail: match full.and_then(|trial| trial.failure.clone()) {
            Some(failure) => failure,
            None => "user, mount, pid, net, ipc, uts, cgroup".to_owned(),
        },
        fix: (!stood).then(|| host::explain_refusal().fix().to_owned()),
    };
    let landlock = Feature {
        name: "landlock",
        available: host.landlock_abi > 0,
        detail: format!("ABI {}", host.landlock_abi),
        fix: (host.landlock_abi == 0).then(|| {
            "add `landlock` to the kernel's lsm= list, or use Linux 5.13 or newer".to_owned()
        }),
    };
    let seccomp = Feature {
        name: "seccomp",
        available: host.seccomp,
        detail: if host.seccomp {
            "filters can be loaded"
        } else {
            "no filters"
        }
        .to_owned(),
        fix: (!host.seccomp).then(|| "use a kernel built with CONFIG_SECCOMP_FILTER".to_owned()),
    };
    let identity = Feature {
        name: "spare_identity",
        available: !host.kernel_root || stood,
        detail: if host.kernel_root {
            format!(
                "commands run as kernel uid {}, never as root",
                host.spare_id
            )
        } else {
            format!("not needed: commands run as your own uid {}", host.uid)
        },
        fix: None,
    };
    let cgroup = Feature {
        name: "cgroup",
        available: host.cgroup_delegated,
        detail: "memory can be limited with it; this version samples memory four times a second \
                 instead, and a burst between two samples passes"
            .to_owned(),
        fix: None,
    };
    vec![namespaces, landlock, seccomp, identity, cgroup]
}
