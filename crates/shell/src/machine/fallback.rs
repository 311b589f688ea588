//! Text that can't be parsed as a whole is still looked through for plain danger.

use super::{Machine, State};
use crate::glob;
use crate::limits::{MAX_BYTES, MAX_PIECES};

/// Programs that a pattern in the place of a command is held against: those that do harm.
const HARMFUL: &[&str] = &[
    "rm", "dd", "shred", "mkfs", "sh", "bash", "cat", "mv", "cp", "tee", "chmod", "chown", "find",
    "curl", "wget", "nc", "truncate", "unlink", "rmdir", "kill", "sudo", "git", "python3", "perl",
    "wipefs", "ln",
];

/// Folders in which programs lie.
const FOLDERS: &[&str] = &["/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"];

/// The harmful programs that a pattern may match.
pub(crate) fn candidates(pattern: &str) -> impl Iterator<Item = &'static str> {
    let parts: Vec<String> = pattern.split('/').map(str::to_owned).collect();
    let folder = FOLDERS.iter().any(|folder| {
        let folder: Vec<&str> = folder.split('/').collect();
        folder.len() + 1 == parts.len()
            && folder
                .iter()
                .zip(&parts)
                .all(|(name, part)| glob::matches(part, name))
    });
    let relative = parts.len() == 1;
    let last = parts.last().cloned().unwrap_or_default();
    HARMFUL
        .iter()
        .copied()
        .filter(move |name| (folder || relative) && glob::matches(&last, name))
}

impl Machine<'_> {
    /// Walks the pieces of a text that isn't parsed: lines first, then what separators make of them.
    /// Bash runs the lines before the one that it can't read.
    pub(super) fn pieces(&mut self, text: &str, state: &State) {
        let mut left = MAX_PIECES;
        let text = text.get(..floor(text, 4 * MAX_BYTES)).unwrap_or_default();
        let many = text.len() > 4_096;
        let mut inside = state.clone();
        for line in text.split(['\n', '\0']) {
            if left == 0 || self.is_out() {
                return;
            }
            let line = line.trim();
            // In a long text only what names a harmful program is worth a look.
            if line.is_empty()
                || many && !names_harm(line)
                || self.piece(line, &mut inside, &mut left)
            {
                continue;
            }
            for piece in line.split([';', '|', '&', '(', ')', '`', '{', '}']) {
                let piece = piece.trim().trim_start_matches('$');
                if many && !names_harm(piece) {
                    continue;
                }
                for quoted in [piece, piece.trim_matches(['"', '\''])] {
                    if left == 0 || self.is_out() || self.piece(quoted, &mut inside, &mut left) {
                        break;
                    }
                }
            }
        }
    }

    fn is_out(&self) -> bool {
        self.fuel == 0 || self.is_denied()
    }

    /// Walks one piece if it parses.
    fn piece(&mut self, piece: &str, state: &mut State, left: &mut usize) -> bool {
        *left = left.saturating_sub(1);
        // The beginning of a long piece is enough to show plain danger.
        let whole = piece.len() <= 4_096;
        let piece = piece.get(..floor(piece, 4_096)).unwrap_or_default();
        if piece.len() < 3 {
            return true;
        }
        let Ok(checked) = super::prescan::check(piece) else {
            return false;
        };
        self.parsed += piece.len() + 16;
        if self.parsed > crate::limits::MAX_PARSED {
            return false;
        }
        let Some(nodes) = checked.parse() else {
            return false;
        };
        let outermost = std::mem::replace(&mut self.outermost, false);
        self.possibly(|machine| {
            for node in &nodes {
                machine.node(node, state);
            }
        });
        self.outermost = outermost;
        whole
    }
}

fn names_harm(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| HARMFUL.contains(&word) || word.starts_with("mkfs"))
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
