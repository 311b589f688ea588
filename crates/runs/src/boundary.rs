//! Which boundary a grant gets here: the strongest that this machine can build and that holds what
//! the grant needs. What was asked and not had is a refusal or a recorded level, never a silence.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use deputize_authority::preflight::FolderFact;
use deputize_authority::{Grant, Level, Refusal, escape};
use deputize_boundary::plan::{CopyPlace, Sealed, compile};
use deputize_boundary::{
    Boundary, BoundaryError, BoundaryPlan, HostFacts, Outside, PinnedProgram, Placeholders,
    Purpose, Step,
};

use crate::RunError;
use crate::error::Doing as _;

/// A boundary that stands, and the plan that it was built from.
#[derive(Debug)]
pub struct Chosen {
    /// The boundary.
    pub boundary: Boundary,
    /// Its plan: level, promises, environment.
    pub plan: BoundaryPlan,
    /// Why it isn't the strongest level, where it isn't.
    pub weaker: Option<Weaker>,
}

/// Why a boundary is weaker than the strongest level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weaker {
    /// What failed.
    pub why: String,
    /// What to do about it on this machine.
    pub fix: String,
}

/// Things outside that the self-test must not reach: a file and a listening port.
#[derive(Debug)]
pub struct Probe {
    canary: PathBuf,
    listener: Option<TcpListener>,
}

impl Probe {
    /// Puts them up; the file goes into `folder`.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn new(folder: &Path) -> Result<Self, RunError> {
        let canary = folder.join("canary");
        std::fs::write(&canary, "nothing grants this file\n").doing("write", &canary)?;
        // Without a loopback interface there is nothing to reach, and it isn't tried.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        Ok(Self { canary, listener })
    }

    /// The file.
    #[must_use]
    pub fn canary(&self) -> &Path {
        &self.canary
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.listener
            .as_ref()?
            .local_addr()
            .ok()
            .map(|address| address.port())
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // It says nothing to anybody; a leftover is only untidy.
        let _ = std::fs::remove_file(&self.canary);
    }
}

/// Plans the boundary that a grant would get, without starting one.
///
/// # Errors
/// The refusal that a start would meet, as far as settings tell without trying.
pub fn choose_dry(grant: &Grant, host: &HostFacts) -> Result<BoundaryPlan, Refusal> {
    let level = if host.namespaces_refused.is_none() {
        Level::Full
    } else {
        Level::LandlockSeccomp
    };
    compile(grant, host, level, &CopyPlace::Planned)
}

/// What a boundary shows beside what its grant names by path.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Where the copy lies that the grant's writes go to.
    pub(crate) copy: CopyPlace,
    /// Further roots, as they were when they were granted.
    pub(crate) seals: Vec<Sealed>,
}

impl Site {
    /// Without a copy, with the roots that a request named.
    pub(crate) fn of<'f>(facts: impl IntoIterator<Item = &'f FolderFact>) -> Self {
        let identities = facts.into_iter().filter_map(FolderFact::identity);
        let seals = identities.map(|(path, device, inode)| Sealed {
            path: path.to_owned(),
            device,
            inode,
        });
        Self {
            copy: CopyPlace::Planned,
            seals: seals.collect(),
        }
    }
}

/// Starts the boundary of a grant. Must be called on the main thread.
pub(crate) fn start(
    program: &PinnedProgram,
    grant: &Grant,
    host: &HostFacts,
    site: &Site,
    probe: &Probe,
    placeholders: Option<&Placeholders>,
    purpose: Purpose,
) -> Result<Chosen, RunError> {
    let attempt = |host: &HostFacts, level| -> Result<(Boundary, BoundaryPlan), RunError> {
        let mut plan = compile(grant, host, level, &site.copy)?;
        plan.seals.clone_from(&site.seals);
        let outside = Outside {
            purpose,
            canary: Some(&probe.canary),
            port: probe.port(),
            placeholders,
        };
        let boundary = Boundary::start(program, grant, &plan, &outside)?;
        Ok((boundary, plan))
    };
    let refused = if host.namespaces_refused.is_none() {
        match attempt(host, Level::Full) {
            Ok((boundary, plan)) => {
                return Ok(Chosen {
                    boundary,
                    plan,
                    weaker: None,
                });
            }
            Err(RunError::Boundary(error)) if error.namespaces_refused() => Some(error),
            Err(error) => return Err(error),
        }
    } else {
        None
    };
    let host = host.clone().without_namespaces(refused.as_ref());
    let fix = host
        .namespaces_refused
        .as_ref()
        .map_or("", |refusal| refusal.fix());
    let (boundary, plan) =
        attempt(&host, Level::LandlockSeccomp).map_err(|error| unreachable_folder(error, grant))?;
    let why = refused.map_or(
        "the settings of this machine refuse namespaces".to_owned(),
        |error| error.to_string(),
    );
    let weaker = Some(Weaker {
        why,
        fix: fix.to_owned(),
    });
    Ok(Chosen {
        boundary,
        plan,
        weaker,
    })
}

/// At the lesser level root gives up being root and owns nothing any more.
fn unreachable_folder(error: RunError, grant: &Grant) -> RunError {
    let RunError::Boundary(BoundaryError::Step {
        step: Step::Workspace,
        ..
    }) = &error
    else {
        return error;
    };
    let path = escape(&grant.workspace().path().to_string_lossy());
    RunError::Refused(Refusal::new(
        "workdir_private",
        "workdir",
        format!(
            "`{path}` can be entered by its owner only, and without namespaces root works as nobody"
        ),
        "run it as an ordinary user, or let others enter the folder and those above it",
    ))
}
