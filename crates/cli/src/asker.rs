//! Questions about single calls, on the run's own terminal (S9).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deputize_authority::{Channel, Scope};
use deputize_runs::words::call_question;
use deputize_runs::{AnswerFuture, Asker, CallAnswer, CallQuestion};
use tokio::sync::oneshot;

use crate::output::error_width;
use crate::question::{Reply, ask_line};
use crate::status;

/// Rings, and takes the live line away.
const ATTENTION: &str = "\u{7}\r\u{1b}[2K";

/// Asks the person who sits before the run.
pub(crate) struct Terminal;

impl Asker for Terminal {
    fn ask(&self, question: CallQuestion) -> AnswerFuture<'_> {
        Box::pin(async move {
            let withdrawn = Arc::new(AtomicBool::new(false));
            let (tell, told) = oneshot::channel();
            let taken_back = Withdraw(Arc::clone(&withdrawn));
            // A thread of its own: it may wait for a person while everything else ends.
            std::thread::spawn(move || {
                // Who gave the question up needs no answer.
                let _ = tell.send(put(&question, &withdrawn));
            });
            let answer = told.await.unwrap_or(CallAnswer::Nobody);
            drop(taken_back);
            answer
        })
    }
}

/// Takes the question back when nobody waits for its answer any more.
struct Withdraw(Arc<AtomicBool>);

impl Drop for Withdraw {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn put(question: &CallQuestion, withdrawn: &AtomicBool) -> CallAnswer {
    let _held = status::hold();
    let text = format!("{ATTENTION}{}", call_question(question, error_width()));
    let prompt = match question.longest {
        Scope::Once => "Run it? [y]es, this time, [N]o:",
        Scope::Run | Scope::Preset => "Run it? [y]es, [r] yes for this call in this run, [N]o:",
    };
    match ask_line(&text, prompt, withdrawn) {
        Reply::Line(line) => read(&line),
        Reply::Ended | Reply::Withdrawn => CallAnswer::Nobody,
    }
}

/// Anything but a yes is a no.
fn read(line: &str) -> CallAnswer {
    match line.to_ascii_lowercase().as_str() {
        "y" | "yes" => CallAnswer::Yes(Channel::Terminal, Scope::Once),
        "r" => CallAnswer::Yes(Channel::Terminal, Scope::Run),
        _ => CallAnswer::No(Channel::Terminal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S9: the default is No; a yes says how far it reaches.
    #[test]
    fn only_yes_is_yes() {
        let yes = |scope| CallAnswer::Yes(Channel::Terminal, scope);
        for (line, answer) in [
            ("y", yes(Scope::Once)),
            ("YES", yes(Scope::Once)),
            ("r", yes(Scope::Run)),
            ("", CallAnswer::No(Channel::Terminal)),
            ("n", CallAnswer::No(Channel::Terminal)),
            ("yy", CallAnswer::No(Channel::Terminal)),
            ("yes please", CallAnswer::No(Channel::Terminal)),
        ] {
            assert_eq!(read(line), answer, "{line}");
        }
    }
}
