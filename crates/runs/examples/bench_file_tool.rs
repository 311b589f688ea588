//! Measures a `read` of 4 KB: facts from the worker, verdict, and the tool in the worker; beside two
//! bare round trips, which are what the machine takes for waking the other side.

mod measuring;
#[path = "measuring/scene.rs"]
mod scene;
#[path = "measuring/standing.rs"]
mod standing;

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use deputize_authority::Promise;
use deputize_authority::preflight::{self, RunRequest};
use deputize_gate::{Call, Context, Sealed, Verdict, admit, decide, queries};
use deputize_tools::{Request, Response};
use measuring::{Failure, Side};
use scene::{FILE, Scene};
use serde_json::json;

/// Calls of a round; its figure is their mean.
const CALLS: u32 = 200;

/// Bytes of a bare message.
const MESSAGE: usize = 1024;

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let scene = Scene::new()?;
    let request = RunRequest {
        prompt: b"Look at the file.".to_vec(),
        preset: "read-only".to_owned(),
        ..RunRequest::default()
    };
    let granted = preflight::child(&request, &scene.look.surroundings(None))?;
    let (mut boundary, plan) = standing::start(&scene.look, &granted.grant)?;
    let (socket, _) = boundary.open_worker()?;
    let held: Vec<Promise> = plan.held().collect();
    let mut line = Line {
        socket: socket.into(),
        context: Context {
            grant: &granted.grant,
            mode: granted.grant.mode(),
            home: scene.look.home.as_deref(),
            boundary: plan.level,
            held: &held,
            approved: &[],
            agreed: &[],
            rules: &[],
        },
    };
    let (mut near, far) = UnixStream::pair()?;
    let echo = thread::spawn(move || echo(far));
    let (mut bare, mut whole, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    // The first round warms up.
    for round in 0..=rounds {
        let (mut passed, mut judged, mut ran) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for _ in 0..CALLS {
            let begun = Instant::now();
            for _ in 0..2 {
                near.write_all(&[0; MESSAGE])?;
                near.read_exact(&mut [0; MESSAGE])?;
            }
            passed += begun.elapsed();
            let begun = Instant::now();
            let sealed = line.judge()?;
            judged += begun.elapsed();
            let begun = Instant::now();
            line.run(sealed)?;
            ran += begun.elapsed();
        }
        if round > 0 {
            let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(CALLS);
            bare.push(each(passed));
            whole.push(each(judged + ran));
            alone.push(each(ran));
        }
    }
    drop((line, near));
    boundary.stop()?;
    echo.join()
        .map_err(|_| "the other side of the bare round trips failed")??;
    let side = |name: &str, samples, beside| Side {
        name: name.to_owned(),
        samples,
        unit: "µs",
        beside,
    };
    Ok(vec![
        side("two bare round trips", bare, None),
        side(
            "read 4 KB: facts, verdict, run",
            whole,
            Some("two bare round trips"),
        ),
        side("of it the run", alone, None),
    ])
}

/// Sends back what comes, until the other side is gone.
fn echo(mut far: UnixStream) -> std::io::Result<()> {
    let mut message = [0; MESSAGE];
    loop {
        match far.read_exact(&mut message) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        far.write_all(&message)?;
    }
}

/// The gate on this side, the worker on the other.
struct Line<'a> {
    socket: UnixStream,
    context: Context<'a>,
}

impl Line<'_> {
    /// From the model's arguments to a sealed call.
    fn judge(&mut self) -> Result<Sealed<Call>, Failure> {
        let call = admit("read", &json!({ "path": FILE }), &self.context)
            .map_err(|denied| denied.reason)?;
        let asked = Request::Facts(queries(&call, &self.context));
        let Response::Facts(facts) = self.ask(&asked)? else {
            return Err("the worker gave no facts".into());
        };
        match decide(call, &facts, &self.context) {
            Verdict::Allow(allowed) => Ok(allowed.sealed),
            verdict => Err(format!("the call isn't allowed: {}", verdict.rule().id).into()),
        }
    }

    fn run(&mut self, sealed: Sealed<Call>) -> Result<(), Failure> {
        match self.ask(&Request::Run(Box::new(sealed)))? {
            Response::Output(output) if output.text.raw().len() >= 4096 => Ok(()),
            other => Err(format!("the worker didn't read the file: {other:?}").into()),
        }
    }

    /// One frame each way: four bytes of length, little-endian, then JSON.
    fn ask(&mut self, request: &Request) -> Result<Response, Failure> {
        let bytes = request.encode();
        let mut frame = u32::try_from(bytes.len())?.to_le_bytes().to_vec();
        frame.extend_from_slice(&bytes);
        self.socket.write_all(&frame)?;
        let mut length = [0; 4];
        self.socket.read_exact(&mut length)?;
        let mut answer = vec![0; usize::try_from(u32::from_le_bytes(length))?];
        self.socket.read_exact(&mut answer)?;
        Ok(Response::decode(&answer)?)
    }
}
