//! What a person sees while a run goes on: a live line on a terminal, plain lines in a pipe.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use deputize_agent::{Activity, Silence, Snapshot};
use deputize_runs::Event;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::output::{columns, error_line};
use crate::show::cut;

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A line that is drawn over again.
    Live,
    /// A line per thing that happens.
    Plain,
    /// Nothing.
    Quiet,
}

impl Style {
    /// Live on a terminal; with `--json` or `--quiet` nothing but the result.
    pub(crate) fn of(quiet: bool, json: bool) -> Self {
        if quiet || json {
            Self::Quiet
        } else if std::io::stderr().is_terminal() {
            Self::Live
        } else {
            Self::Plain
        }
    }
}

/// Shows events until the run has ended.
pub(crate) async fn show(mut events: UnboundedReceiver<Event>, style: Style) {
    let mut line = Line {
        style,
        preset: String::new(),
        frame: 0,
        drawn: false,
        waiting: Vec::new(),
    };
    while let Some(event) = events.recv().await {
        line.take(&event);
    }
    // A question that is still open is being taken back.
    let _free = hold();
    line.catch_up();
    line.clear();
}

/// Held while a person is asked: nothing is drawn over a question, and nothing is printed into it.
static SCREEN: Mutex<()> = Mutex::new(());

/// Keeps everything else away until the guard is dropped.
pub(crate) fn hold() -> MutexGuard<'static, ()> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Line {
    style: Style,
    preset: String,
    frame: usize,
    drawn: bool,
    /// What happened while a person was asked, to be printed afterwards.
    waiting: Vec<String>,
}

const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

impl Line {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Started {
                run,
                preset,
                workdir,
                model,
                label,
            } => {
                self.preset.clone_from(preset);
                let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
                let short = run.get(run.len().saturating_sub(8)..).unwrap_or(run);
                self.say(&format!(
                    "run {short} · {preset} · {model}{label} · {workdir}"
                ));
            }
            Event::Boundary { level, weaker } => {
                self.say(&format!("boundary {level}"));
                if let Some(weaker) = weaker {
                    self.say(&format!("  weaker than it could be: {weaker}"));
                }
            }
            Event::Call {
                call,
                tool,
                preview,
                verdict,
                rule,
            } => {
                let rule = if verdict.starts_with("allow") {
                    String::new()
                } else {
                    format!(" by {rule}")
                };
                self.say(&format!("#{call} {tool} {preview}: {verdict}{rule}"));
            }
            Event::Notice { message, .. } => self.say(message),
            Event::Status(snapshot) => self.draw(snapshot),
            // The result says it.
            Event::Ended { .. } => {}
        }
    }

    /// Prints something that stays, cut to the terminal's width.
    fn say(&mut self, text: &str) {
        match self.style {
            Style::Quiet => {}
            Style::Plain => error_line(text),
            Style::Live => {
                self.waiting.push(text.to_owned());
                if let Ok(_free) = SCREEN.try_lock() {
                    self.catch_up();
                } else {
                    self.drawn = false;
                }
            }
        }
    }

    /// Prints what waited; the caller holds the screen.
    fn catch_up(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        self.clear();
        let most = columns(&std::io::stderr()).unwrap_or(80);
        for text in self.waiting.drain(..) {
            error_line(&cut(&text, most));
        }
    }

    fn draw(&mut self, snapshot: &Snapshot) {
        if self.style != Style::Live {
            return;
        }
        let Ok(_free) = SCREEN.try_lock() else {
            self.drawn = false;
            return;
        };
        self.catch_up();
        self.frame = (self.frame + 1) % SPINNER.len();
        let most = columns(&std::io::stderr()).unwrap_or(80);
        // One column is left free: some terminals wrap when the last one is written.
        let text = cut(&self.text(snapshot), most.saturating_sub(1));
        let mut err = std::io::stderr().lock();
        // A terminal that is gone needs no status.
        let _ = write!(err, "\r\u{1b}[2K{text}").and_then(|()| err.flush());
        self.drawn = true;
    }

    fn text(&self, snapshot: &Snapshot) -> String {
        let doing = match &snapshot.activity {
            Activity::Starting => "starting".to_owned(),
            Activity::Thinking => "thinking".to_owned(),
            Activity::Deciding { tool } | Activity::Running { tool } => {
                deputize_authority::escape(tool)
            }
            Activity::WaitingForApproval { tool } => {
                format!("{} waits for approval", deputize_authority::escape(tool))
            }
            Activity::Closing => "writing the result".to_owned(),
            Activity::Proving => "running the check".to_owned(),
            Activity::Checking => "checking evidence".to_owned(),
            Activity::Done => "done".to_owned(),
        };
        let silence = match snapshot.silence {
            Silence::Awake if snapshot.silent_ms < 3_000 => String::new(),
            Silence::Awake => format!(" · silent {} s", snapshot.silent_ms / 1_000),
            Silence::Slow => format!(" · SLOW, silent {} s", snapshot.silent_ms / 1_000),
            Silence::Stalled => format!(" · STALLED, silent {} s", snapshot.silent_ms / 1_000),
        };
        format!(
            "{} {} · {doing} · {snapshot}{silence}",
            SPINNER[self.frame], self.preset
        )
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut err = std::io::stderr().lock();
            // As above.
            let _ = write!(err, "\r\u{1b}[2K").and_then(|()| err.flush());
        }
    }
}
