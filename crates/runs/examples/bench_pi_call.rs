//! Measures a child in Pi from the call of Pi's agent to the child's first model request: natively, and
//! by Pi's own example of a subagent, whose children are further Pis.
//!
//! The call is made when the scripted provider has sent the last byte of it; the request is there when
//! the provider has its last byte. CPU is that of Pi and of all that it starts, until its agent has the
//! child's answer and has ended its turn.

mod measuring;
#[path = "measuring/pi.rs"]
mod pi;

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use deputize_testkit::{Provider, Reply, descendants};
use measuring::{Failure, Side};
use pi::{Asking, Hands, Pi, saying};

/// Requests of a round: the call, the child's turn, and the last word of Pi's agent.
const REQUESTS: usize = 3;

/// What the sides about CPU are called further.
const CPU: &str = ": CPU until Pi has the answer";

/// The anchor among them.
const ANCHOR_CPU: &str = "Pi's own example: CPU until Pi has the answer";

fn main() -> ExitCode {
    measuring::main(measure)
}

fn measure(rounds: usize) -> Result<Vec<Side>, Failure> {
    let mut taken = Vec::new();
    for hands in Hands::ALL {
        let replies = (0..=rounds).flat_map(|round| replies(hands, round));
        taken.push(Taken {
            hands,
            pi: Pi::start(hands, Provider::playing(replies))?,
            first: Vec::new(),
            cpu: Vec::new(),
        });
    }
    // The first round warms up.
    for round in 0..=rounds {
        for side in &mut taken {
            side.round(round)?;
        }
    }
    let first = taken.iter().map(|side| Side {
        name: side.hands.name().to_owned(),
        samples: side.first.clone(),
        unit: "ms",
        beside: side.hands.beside(Hands::ANCHOR),
    });
    let cpu = taken.iter().map(|side| Side {
        name: format!("{}{CPU}", side.hands.name()),
        samples: side.cpu.clone(),
        unit: "ms",
        beside: side.hands.beside(ANCHOR_CPU),
    });
    let sides = first.chain(cpu).collect();
    for side in taken {
        side.pi.end()?;
    }
    Ok(sides)
}

fn task(round: usize) -> String {
    format!("Find the weight limit, for the {round}th time.")
}

fn replies(hands: Hands, round: usize) -> [Reply; REQUESTS] {
    let serial = round * REQUESTS;
    [
        hands.handing(serial, &[task(round)]),
        saying(serial + 1, "It is 31,500 g."),
        saying(serial + 2, "The child says 31,500 g."),
    ]
}

/// What a side took so far.
struct Taken {
    hands: Hands,
    pi: Pi,
    first: Vec<f64>,
    cpu: Vec<f64>,
}

impl Taken {
    fn round(&mut self, round: usize) -> Result<(), Failure> {
        let before = processor(self.pi.id())?;
        self.pi.prompt("What is the weight limit?")?;
        self.pi.settle()?;
        let cpu = processor(self.pi.id())?.saturating_sub(before);
        let asked = self.pi.asked((round + 1) * REQUESTS)?;
        let call = asked.get(round * REQUESTS).and_then(|call| call.answered);
        let child = asked.get(round * REQUESTS + 1);
        let child = child.filter(|child| Asking::of(child, &task(round)) == Asking::First);
        let (call, child) = call
            .zip(child)
            .ok_or("the child didn't come as the second")?;
        if asked.len() != (round + 1) * REQUESTS {
            return Err("a model was asked more often than it should".into());
        }
        if round > 0 {
            let first = child.came.saturating_duration_since(call);
            self.first.push(milliseconds(first));
            self.cpu.push(milliseconds(cpu));
        }
        Ok(())
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// CPU time of a process and of all that descends or descended from it, in steps of 10 ms.
fn processor(id: u32) -> Result<Duration, Failure> {
    let below = descendants(id).into_iter().filter_map(ticks);
    let ticks = ticks(id).ok_or("Pi is gone")? + below.sum::<u64>();
    let second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(ticks * 1_000 / second))
}

/// Its own, and that of the children it has waited for.
fn ticks(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // User and system are fields 14 and 15, those of its children 16 and 17; field 3 follows the name.
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}
