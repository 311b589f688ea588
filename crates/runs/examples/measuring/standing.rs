//! A boundary that stands, started once, on the main thread.

use deputize_authority::Grant;
use deputize_boundary::{Boundary, BoundaryPlan, Outside, PinnedProgram, Purpose};
use deputize_runs::{Look, Probe, choose_dry};

use crate::measuring::Failure;

pub(crate) fn start(look: &Look, grant: &Grant) -> Result<(Boundary, BoundaryPlan), Failure> {
    let plan = choose_dry(grant, &look.host())?;
    let folder = tempfile::tempdir()?;
    let probe = Probe::new(folder.path())?;
    let outside = Outside {
        purpose: Purpose::Serve,
        canary: Some(probe.canary()),
        port: probe.port(),
        placeholders: None,
    };
    let boundary = Boundary::start(&PinnedProgram::open()?, grant, &plan, &outside)?;
    Ok((boundary, plan))
}
