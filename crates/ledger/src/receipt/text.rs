//! The receipt for people: four short sections that fit any width.

use std::fmt::Write as _;

use super::{Enforced, Enforcer, Granted, Limit, ProbeOutcome, Receipt, Used};

/// The narrowest text that is laid out; anything less is treated as this.
const MIN_WIDTH: usize = 20;

/// Where the text beside a label begins.
const LABEL_COLUMNS: usize = 18;

/// Below this width labels stand above their text.
const NARROW: usize = 50;

/// How many items of a list are shown; JSON has them all.
const MAX_SHOWN: usize = 12;

impl Receipt {
    /// The receipt as plain text of at most `width` columns (20 at least).
    ///
    /// Whatever could mislead a terminal is escaped. A word that is longer than a line is broken.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let mut page = Page {
            width: width.max(MIN_WIDTH),
            out: String::new(),
        };
        page.heading("asked");
        let asked = &self.asked;
        page.item("preset", &asked.preset);
        page.item("agent", &asked.agent);
        page.item("context", &asked.context);
        page.item("model", &asked.model);
        page.item("workdir", &asked.workdir);
        page.item("budget", &limits(&asked.budget));
        page.heading("granted");
        granted(&mut page, &self.granted);
        page.heading("enforced by");
        enforced(&mut page, &self.enforced);
        page.heading("used");
        used(&mut page, &self.used);
        if let Some(head) = self.ledger {
            page.item("ledger head", &head.to_string());
        }
        page.out
    }
}

fn granted(page: &mut Page, granted: &Granted) {
    page.item("tools", &list(&granted.tools));
    page.item("read", &list(&granted.read));
    page.item("write", &list_or_nothing(&granted.write));
    page.item("hosts", &list_or_nothing(&granted.hosts));
    page.item("env", &list(&granted.env));
    page.item("resources", &granted.resources);
    page.item("trust", &granted.trust);
    page.item("budget", &limits(&granted.budget));
    let steps: Vec<String> = granted
        .narrowed
        .iter()
        .map(|step| format!("{} ({})", step.by, step.axes.join(", ")))
        .collect();
    page.item("narrowed by", &list(&steps));
    page.item("grant", &granted.digest);
}

fn enforced(page: &mut Page, enforced: &Enforced) {
    let level = match enforced.level.as_str() {
        "none" | "" => "none: NOT ISOLATED",
        level => level,
    };
    page.item("boundary", level);
    for promise in &enforced.promises {
        let by = match promise.by {
            Enforcer::Kernel => "kernel",
            Enforcer::Host => "host",
            Enforcer::Advice => "advice only",
            Enforcer::Nobody => "not promised",
        };
        let said = match promise.mechanism.as_str() {
            "" => by.to_owned(),
            mechanism => format!("{by}: {mechanism}"),
        };
        page.item(&promise.promise, &said);
    }
    let probes: Vec<String> = enforced
        .self_test
        .iter()
        .map(|probe| {
            let outcome = match probe.outcome {
                ProbeOutcome::Stopped => "stopped",
                ProbeOutcome::WentThrough => "WENT THROUGH",
                ProbeOutcome::NotTried => "not tried",
            };
            format!("{} {outcome}", probe.tried)
        })
        .collect();
    page.item("self-test", &list(&probes));
}

fn used(page: &mut Page, used: &Used) {
    let tokens = used.tokens;
    page.item(
        "calls",
        &format!(
            "{} turns, {} tool calls ({} refused), {} commands",
            used.turns, used.tool_calls, used.refused, used.commands
        ),
    );
    page.item(
        "tokens",
        &format!(
            "{} in, {} cached, {} out",
            tokens.input, tokens.cached, tokens.output
        ),
    );
    let cost = match used.cost_micros {
        Some(micros) => format!("${}.{:06}", micros / 1_000_000, micros % 1_000_000),
        None => "no price known".to_owned(),
    };
    page.item("cost", &cost);
    page.item(
        "time",
        &format!("{}.{:03} s", used.wall_ms / 1000, used.wall_ms % 1000),
    );
    page.item("files changed", &used.changed_files.to_string());
    page.item("output", &format!("{} bytes", used.output_bytes));
}

fn limits(limits: &[Limit]) -> String {
    let each: Vec<String> = limits
        .iter()
        .map(|limit| format!("{} {}", limit.dimension, limit.limit))
        .collect();
    each.join(", ")
}

fn list(items: &[String]) -> String {
    let mut shown = items
        .iter()
        .take(MAX_SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if items.len() > MAX_SHOWN {
        // Writing to a String can't fail.
        let _ = write!(shown, ", and {} more", items.len() - MAX_SHOWN);
    }
    shown
}

fn list_or_nothing(items: &[String]) -> String {
    if items.is_empty() {
        "nothing".to_owned()
    } else {
        list(items)
    }
}

struct Page {
    width: usize,
    out: String,
}

impl Page {
    fn heading(&mut self, title: &str) {
        self.out.push_str(title);
        self.out.push('\n');
    }

    /// A label and its text, wrapped below itself; nothing at all when there is no text.
    fn item(&mut self, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let (label, text) = (format!("  {}", plain(label)), plain(text));
        let longest_word = text.split(' ').map(|word| word.chars().count()).max();
        // A hash is of use in one piece: where it fits only below its label, that is its place.
        let is_stacked = self.width < NARROW
            || label.chars().count() >= LABEL_COLUMNS
            || longest_word > Some(self.width - LABEL_COLUMNS);
        let columns = if is_stacked { 4 } else { LABEL_COLUMNS };
        let mut lead = label;
        if is_stacked {
            self.push_line(&lead);
            lead.clear();
        }
        for part in wrap(&text, self.width - columns) {
            self.push_line(&format!("{lead:columns$}{part}"));
            lead.clear();
        }
    }

    fn push_line(&mut self, line: &str) {
        self.out.extend(line.chars().take(self.width));
        self.out.push('\n');
    }
}

/// Breaks a text into lines of at most `room` characters, at spaces where there are any.
fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut filled = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word: Vec<char> = word.chars().collect();
        if filled > 0 && filled + 1 + word.len() > room {
            lines.push(std::mem::take(&mut line));
            filled = 0;
        }
        if filled > 0 {
            line.push(' ');
            filled += 1;
        }
        while word.len() > room {
            lines.push(word.drain(..room).collect());
        }
        filled += word.len();
        line.extend(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Escapes what isn't printable; quotes and backslashes stay.
fn plain(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let keep = matches!(character, '"' | '\'' | '\\');
            let mut escaped = character.escape_debug();
            if keep {
                escaped.next();
            }
            escaped
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::Digest;

    fn sample() -> Receipt {
        Receipt {
            run: "0198".to_owned(),
            asked: Asked {
                preset: "read-only".to_owned(),
                model: "scout".to_owned(),
                workdir: "/work/a\u{1b}[31m\u{202e}b".to_owned(),
                ..Asked::default()
            },
            granted: Granted {
                digest: Digest::of(b"grant").to_string(),
                tools: ["read", "ls", "find", "grep"].map(str::to_owned).into(),
                read: vec!["/work/a".to_owned()],
                budget: vec![Limit {
                    dimension: "turns".to_owned(),
                    limit: 30,
                }],
                narrowed: vec![Narrowing {
                    by: "preset".to_owned(),
                    axes: vec!["write".to_owned(), "tools".to_owned()],
                }],
                ..Granted::default()
            },
            enforced: Enforced {
                level: "landlock+seccomp".to_owned(),
                promises: vec![
                    Enforcement {
                        promise: "write".to_owned(),
                        by: Enforcer::Kernel,
                        mechanism: "Landlock".to_owned(),
                    },
                    Enforcement {
                        promise: "memory".to_owned(),
                        by: Enforcer::Nobody,
                        mechanism: String::new(),
                    },
                ],
                self_test: vec![Probe {
                    tried: "write outside".to_owned(),
                    outcome: ProbeOutcome::Stopped,
                }],
            },
            used: Used {
                turns: 3,
                tool_calls: 5,
                refused: 1,
                wall_ms: 1234,
                cost_micros: Some(1_050_000),
                ..Used::default()
            },
            ledger: Some(Head {
                seq: 9,
                hash: Digest::of(b"head"),
            }),
        }
    }

    /// X2: asked, granted, enforced by, used, in that order.
    #[test]
    fn a_receipt_reads_so() {
        insta::assert_snapshot!(sample().text(80), @r#"
        asked
          preset          read-only
          model           scout
          workdir         /work/a\u{1b}[31m\u{202e}b
        granted
          tools           read, ls, find, grep
          read            /work/a
          write           nothing
          hosts           nothing
          budget          turns 30
          narrowed by     preset (write, tools)
          grant
            3492ad65d05a973fef8c825521eeb41ae64625a672a8aeeeabc696e16d62a020
        enforced by
          boundary        landlock+seccomp
          write           kernel: Landlock
          memory          not promised
          self-test       write outside stopped
        used
          calls           3 turns, 5 tool calls (1 refused), 0 commands
          tokens          0 in, 0 cached, 0 out
          cost            $1.050000
          time            1.234 s
          files changed   0
          output          0 bytes
          ledger head
            9:9f2e6d33a3717ee826353a404ba4618d1aeeb6879ad7936bce8ed5f46814924d
        "#);
    }

    #[test]
    fn it_fits_every_width_and_hides_nothing() {
        for width in 20..120 {
            let text = sample().text(width);
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert!(letters(&text).contains(&letters(&Digest::of(b"grant").to_string())));
            assert!(!text.contains(['\u{1b}', '\u{202e}']));
        }
    }

    /// S12: without a boundary the receipt says so, loudly.
    #[test]
    fn no_boundary_is_said() {
        let mut receipt = sample();
        receipt.enforced.level = "none".to_owned();
        assert!(receipt.text(80).contains("none: NOT ISOLATED"));
    }

    #[test]
    fn json_reads_back() {
        let json = serde_json::to_string(&sample()).unwrap();
        assert_eq!(serde_json::from_str::<Receipt>(&json).unwrap(), sample());
    }
}
