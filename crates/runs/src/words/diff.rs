//! Changes of a copy as text: lists, and lines as patches have them. Everything of it was written by a
//! child, so everything passes the escaper.

use deputize_authority::Untrusted;
use deputize_workspace::{
    Body, Change, ChangeKind, Conflict, DiffLine, Disposition, Hunk, Manifest, Sign, What,
};

use super::repository::Repositories;
use super::text::{cut, wrap};

/// Lines of one file that are shown; a person who wants more asks for that file's copy.
const FILE_LINES: usize = 2_000;

/// Characters of a line that are shown; longer ones are data, not text for reading.
const LINE_CHARS: usize = 2_000;

/// Entries of a list that are named before a question.
const LISTED: usize = 40;

/// How changes are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// In colours.
    On,
    /// Plain.
    Off,
}

impl Colours {
    fn paint(self, colour: &str, text: &str) -> String {
        match self {
            Self::On => format!("\u{1b}[{colour}m{text}\u{1b}[0m"),
            Self::Off => text.to_owned(),
        }
    }
}

/// One change, with its lines.
pub fn change(change: &Change, body: &Body, colours: Colours) -> String {
    let path = change.path.shown();
    let mut out = colours.paint("1", &format!("{} {path}", word(change)));
    out.push('\n');
    match &change.disposition {
        Disposition::Apply => {}
        Disposition::Skip => out.push_str("  ignored by your ignore rules: left out\n"),
        Disposition::Hold(why) => {
            let held = format!("  held back: {}\n", deputize_authority::escape(why));
            out.push_str(&colours.paint("33", &held));
        }
        Disposition::Refuse(why) => {
            let refused = format!("  never applied: {}\n", deputize_authority::escape(why));
            out.push_str(&colours.paint("31", &refused));
        }
    }
    if let Some(modes) = modes(change) {
        out.push_str(&modes);
    }
    match body {
        Body::Text { hunks, .. } => {
            out.push_str(&format!("--- a/{path}\n+++ b/{path}\n"));
            out.push_str(&lines(hunks, colours));
        }
        Body::Link { old, new } => {
            for (sign, target, colour) in [('-', old, "31"), ('+', new, "32")] {
                if let Some(target) = target {
                    let line = format!("{sign}link to {}", target.preview(LINE_CHARS));
                    out.push_str(&format!("{}\n", colours.paint(colour, &line)));
                }
            }
        }
        Body::Binary => out.push_str("  not shown: it is no text, or too long\n"),
        Body::OldIsGone => {
            out.push_str("  not shown: you changed it since, and what it was isn't kept\n");
        }
        Body::Nothing => {}
    }
    out
}

fn lines(hunks: &[Hunk], colours: Colours) -> String {
    let mut out = String::new();
    let mut shown = 0;
    for hunk in hunks {
        let (old, new) = (hunk.old, hunk.new);
        let head = format!("@@ -{},{} +{},{} @@", old.0, old.1, new.0, new.1);
        out.push_str(&format!("{}\n", colours.paint("36", &head)));
        for line in &hunk.lines {
            shown += 1;
            if shown > FILE_LINES {
                out.push_str(&format!(
                    "  … more than {FILE_LINES} lines: the rest is left out\n"
                ));
                return out;
            }
            out.push_str(&one_line(line, colours));
        }
    }
    out
}

fn one_line(line: &DiffLine, colours: Colours) -> String {
    // A tab is no harm, and a line that holds one reads as its author wrote it.
    let text: Vec<String> = line
        .text
        .raw()
        .split('\t')
        .map(|part| Untrusted::new(part).preview(LINE_CHARS))
        .collect();
    let text = text.join("\t");
    let painted = match line.sign {
        Sign::Same => format!(" {text}"),
        Sign::Added => colours.paint("32", &format!("+{text}")),
        Sign::Removed => colours.paint("31", &format!("-{text}")),
    };
    match line.is_unended {
        true => format!("{painted}\n\\ No newline at end of file\n"),
        false => format!("{painted}\n"),
    }
}

/// Every change in a line, with its number of lines where that is known.
pub fn stat(manifest: &Manifest, counts: &[(usize, usize)], width: usize) -> String {
    let mut out = String::new();
    for (change, (added, removed)) in manifest.changes.iter().zip(counts) {
        let sign = sign(change.kind);
        let lines = match (added, removed) {
            (0, 0) => String::new(),
            (added, removed) => format!("  +{added} -{removed}"),
        };
        let why = match &change.disposition {
            Disposition::Apply => String::new(),
            Disposition::Skip => "  (ignored)".to_owned(),
            Disposition::Hold(why) => format!("  (held back: {})", deputize_authority::escape(why)),
            Disposition::Refuse(why) => {
                format!("  (never applied: {})", deputize_authority::escape(why))
            }
        };
        let line = format!("{sign} {}{lines}{why}", change.path.shown());
        out.push_str(&format!("{}\n", cut(&line, width)));
    }
    out
}

/// How many of each kind there are, in one line.
pub fn sums(manifest: &Manifest) -> String {
    let count = |wanted: fn(&Disposition) -> bool| {
        let changes = manifest.changes.iter();
        changes.filter(|change| wanted(&change.disposition)).count()
    };
    let parts = [
        (count(|what| *what == Disposition::Apply), "to apply"),
        (
            count(|what| matches!(what, Disposition::Hold(_))),
            "held back",
        ),
        (
            count(|what| matches!(what, Disposition::Refuse(_))),
            "never applied",
        ),
        (count(|what| *what == Disposition::Skip), "ignored"),
    ];
    let told: Vec<String> = parts
        .iter()
        .enumerate()
        .filter(|(index, (count, _))| *index == 0 || *count > 0)
        .map(|(_, (count, what))| format!("{count} {what}"))
        .collect();
    told.join(", ")
}

/// What is held back, refused and in conflict, with its reason, before a question.
pub fn exceptions(manifest: &Manifest, conflicts: &[Conflict], width: usize) -> String {
    let mut lines = Vec::new();
    let mut repositories = Repositories::default();
    for change in &manifest.changes {
        let (what, why) = match &change.disposition {
            Disposition::Hold(_) if repositories.take(&change.path.shown()) => continue,
            Disposition::Hold(why) => ("held back", why),
            Disposition::Refuse(why) => ("never applied", why),
            Disposition::Apply | Disposition::Skip => continue,
        };
        lines.push(format!(
            "{what}: {} ({})",
            change.path.shown(),
            deputize_authority::escape(why)
        ));
    }
    lines.extend(
        repositories
            .lines()
            .map(|line| format!("held back: {line}")),
    );
    lines.extend(
        conflicts
            .iter()
            .map(|conflict| format!("conflict: {} ({})", conflict.path.shown(), conflict.why)),
    );
    let mut out = String::new();
    for line in lines.iter().take(LISTED) {
        out.push_str(&wrap(line, width, "  "));
    }
    if lines.len() > LISTED {
        out.push_str(&format!("  … and {} more\n", lines.len() - LISTED));
    }
    out
}

/// Changes without their lines, for a question.
pub fn listed(manifest: &Manifest, width: usize) -> String {
    let applied = |change: &&Change| change.disposition == Disposition::Apply;
    let mut out = String::new();
    for change in manifest.changes.iter().filter(applied).take(LISTED) {
        let line = format!("  {} {}", sign(change.kind), change.path.shown());
        out.push_str(&format!("{}\n", cut(&line, width)));
    }
    let all = manifest.changes.iter().filter(applied).count();
    if all > LISTED {
        out.push_str(&format!("  … and {} more\n", all - LISTED));
    }
    out
}

fn sign(kind: ChangeKind) -> char {
    match kind {
        ChangeKind::Created => '+',
        ChangeKind::Modified => '~',
        ChangeKind::Deleted => '-',
    }
}

fn word(change: &Change) -> String {
    let state = change.new.as_ref().or(change.old.as_ref());
    let what = state.map_or("entry", |state| state.what.name());
    match change.kind {
        ChangeKind::Created => format!("new {what}:"),
        ChangeKind::Modified => format!("changed {what}:"),
        ChangeKind::Deleted => format!("deleted {what}:"),
    }
}

/// Permissions, where they changed; the executable bit of a new file.
fn modes(change: &Change) -> Option<String> {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) if old.mode != new.mode && new.what != What::Link => Some(format!(
            "  permissions {:03o} -> {:03o}\n",
            old.mode, new.mode
        )),
        (None, Some(new)) if new.is_executable() => Some("  executable\n".to_owned()),
        _ => None,
    }
}
