//! Measures a command in a boundary that stands already, beside a plain spawn of the same.

mod measuring;
#[path = "measuring/scene.rs"]
mod scene;
#[path = "measuring/standing.rs"]
mod standing;

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use deputize_authority::preflight::ExecRequest;
use deputize_boundary::plan::Sealed;
use deputize_boundary::{BoundaryPlan, CommandEnd, CommandSpec};
use deputize_runs::{Execution, plan_command};
use measuring::{Failure, Side};
use scene::Scene;

/// The command that does nothing: all of the time is ours.
const COMMAND: &str = "true";

/// Runs before the first that counts.
const WARM_UP: usize = 3;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let scene = Scene::new()?;
    let argv = vec![OsString::from(COMMAND)];
    let execution = Execution {
        request: ExecRequest {
            argv: argv.clone(),
            ..ExecRequest::default()
        },
        ..Execution::default()
    };
    let grant = plan_command(&scene.look, &execution)?;
    let (mut boundary, plan) = standing::start(&scene.look, &grant)?;
    let spec = CommandSpec::new(
        &argv,
        seal(grant.workspace().path())?,
        Some(program(&plan)?),
        Vec::new(),
    );
    let (nothing, sink) = (File::open("/dev/null")?, File::create("/dev/null")?);
    let mut plain = Vec::new();
    let mut second = Vec::new();
    for round in 0..rounds + WARM_UP {
        let begun = Instant::now();
        let status = Command::new(COMMAND)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        let spawned = begun.elapsed();
        if !status.success() {
            return Err(format!("`{COMMAND}` ended with {status}").into());
        }
        let begun = Instant::now();
        let command = boundary.run(&spec, [nothing.as_fd(), sink.as_fd(), sink.as_fd()])?;
        let (end, _) = boundary.await_end(command)?;
        let ran = begun.elapsed();
        if end != CommandEnd::Exited(0) {
            return Err(format!("`{COMMAND}` in the boundary: {end:?}").into());
        }
        if round >= WARM_UP {
            plain.push(spawned.as_secs_f64() * 1e3);
            second.push(ran.as_secs_f64() * 1e3);
        }
    }
    boundary.stop()?;
    let side = |name: &str, samples, beside| Side {
        name: name.to_owned(),
        samples,
        unit: "ms",
        beside,
    };
    Ok(vec![
        side("plain spawn", plain, None),
        side("in a boundary that stands", second, Some("plain spawn")),
    ])
}

/// The file that the boundary's own PATH leads to.
fn program(plan: &BoundaryPlan) -> Result<Sealed, Failure> {
    let path = plan.environment.iter().find(|(name, _)| name == "PATH");
    let folders = path.map_or("", |(_, folders)| folders.as_str()).split(':');
    let file = folders
        .map(|folder| Path::new(folder).join(COMMAND))
        .find(|path| path.is_file())
        .ok_or("there is no such program in the boundary")?;
    seal(&file)
}

fn seal(path: &Path) -> Result<Sealed, Failure> {
    let path = fs::canonicalize(path)?;
    let meta = fs::metadata(&path)?;
    Ok(Sealed {
        path,
        device: meta.dev(),
        inode: meta.ino(),
    })
}
