//! Resource limits of a command.

use deputize_authority::Level;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{At as _, BoundaryError, Step};
use crate::plan::Limits;

pub(super) fn apply(limits: &Limits, level: Level) -> Result<(), BoundaryError> {
    let mut rows = vec![
        (Resource::Core, 0, "core"),
        (Resource::Fsize, limits.file_bytes, "file size"),
        (Resource::Nofile, limits.open_files, "open files"),
    ];
    if level == Level::Full {
        // Counted per user namespace; without one it would count all processes of the user.
        rows.push((Resource::Nproc, limits.pids, "processes"));
    }
    for (resource, wanted, what) in rows {
        let ceiling = getrlimit(resource).maximum;
        let value = Some(ceiling.map_or(wanted, |ceiling| ceiling.min(wanted)));
        setrlimit(
            resource,
            Rlimit {
                current: value,
                maximum: value,
            },
        )
        .at(Step::Limits, what)?;
    }
    Ok(())
}
