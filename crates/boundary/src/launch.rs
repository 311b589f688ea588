//! What travels to `__init`: a sealed memfd with the grant and the plan, and fixed descriptors.

use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;

use deputize_authority::Grant;
use serde::{Deserialize, Serialize};

use crate::error::{At as _, BoundaryError, Step};
use crate::plan::BoundaryPlan;
use crate::selftest::Targets;

/// Descriptor numbers in `__init`, right after start.
pub(crate) const CONTROL_FD: i32 = 3;
/// The sealed launch description.
pub(crate) const LAUNCH_FD: i32 = 4;
/// Its other end is open in the supervisor as long as that lives.
pub(crate) const LIVENESS_FD: i32 = 5;
/// The record of placeholders; only where some may be made.
pub(crate) const RECORD_FD: i32 = 6;

/// Largest launch description and command, in bytes: arguments may be long (`ARG_MAX` is 2 MiB),
/// nothing legitimate is longer.
pub(crate) const SEALED_BYTES: u64 = 8 << 20;

/// The launch description.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Launch {
    /// The grant, as [`Grant::seal`] wrote it; the plan holds its digest.
    pub(crate) grant: String,
    pub(crate) plan: BoundaryPlan,
    pub(crate) targets: Targets,
    pub(crate) purpose: Purpose,
}

/// What a boundary is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Workers and commands, as they are asked for.
    Serve,
    /// One command: init itself becomes its mini-init, which saves a fork and a set of namespaces.
    OneCommand,
}

impl Launch {
    pub(crate) fn unsealed_grant(&self) -> Result<Grant, BoundaryError> {
        Grant::unseal(self.grant.as_bytes(), &self.plan.grant).map_err(|error| {
            BoundaryError::Step {
                step: Step::ReadLaunch,
                errno: None,
                detail: error.to_string(),
            }
        })
    }
}

/// Writes a value into a memfd and seals it: whoever gets the descriptor can read, not change it.
pub(crate) fn seal(value: &impl Serialize) -> Result<OwnedFd, BoundaryError> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let doing = "write a sealed description";
    let bytes = serde_json::to_vec(value).map_err(|error| BoundaryError::Supervisor {
        doing,
        source: error.into(),
    })?;
    let failed = |source| BoundaryError::Supervisor { doing, source };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memfd =
        rustix::fs::memfd_create("deputize-sealed", flags).map_err(|error| failed(error.into()))?;
    let mut file = std::fs::File::from(memfd);
    file.write_all(&bytes).map_err(failed)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).map_err(|error| failed(error.into()))?;
    file.rewind().map_err(failed)?;
    Ok(file.into())
}

/// Reads a sealed value back; bytes that could still change are refused.
pub(crate) fn unseal<T: for<'de> Deserialize<'de>>(fd: OwnedFd) -> Result<T, BoundaryError> {
    use rustix::fs::SealFlags;
    let step = Step::ReadLaunch;
    let seals = rustix::fs::fcntl_get_seals(&fd).at(step, "seals")?;
    if !seals.contains(SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK) {
        return Err(BoundaryError::Step {
            step,
            errno: None,
            detail: "it is not sealed".to_owned(),
        });
    }
    let mut file = std::fs::File::from(fd);
    file.rewind().at(step, "rewind")?;
    let mut bytes = Vec::new();
    file.take(SEALED_BYTES)
        .read_to_end(&mut bytes)
        .at(step, "read")?;
    serde_json::from_slice(&bytes).map_err(|error| BoundaryError::Step {
        step,
        errno: None,
        detail: error.to_string(),
    })
}
