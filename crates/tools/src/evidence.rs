//! Checks what a result claims about files (D2).

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use deputize_authority::SecretRules;
use deputize_gate::{Kind, resolve};
use serde::{Deserialize, Serialize};

use crate::beneath::{Lost, Roots};
use crate::limits::{CHECKED_FILE_BYTES, QUOTE_BYTES, QUOTE_REACH};
use crate::text::{line, shown_path};

/// One piece of evidence as a child gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// What stands there; several lines may be quoted.
    pub quote: Option<String>,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimCheck {
    /// It is true of the file now.
    Holds {
        /// The path, relative to the workspace.
        path: String,
        /// The line; the right one where the claim was a little off or named none.
        line: Option<u64>,
        /// The line that was claimed, where another one is right.
        claimed: Option<u64>,
    },
    /// It isn't.
    Missing {
        /// Stable snake_case identifier.
        code: String,
        /// Why, in one sentence without a final stop.
        why: String,
    },
}

/// Why a claim doesn't hold: code and sentence.
type Untrue = (&'static str, String);

/// Checks one claim against the workspace.
pub(crate) fn check(
    claim: &Claim,
    roots: &Roots,
    workspace: &Path,
    secrets: &SecretRules,
) -> ClaimCheck {
    match holds(claim, roots, workspace, secrets) {
        Ok((path, line)) => ClaimCheck::Holds {
            path,
            line,
            claimed: claim.line.filter(|_| line != claim.line),
        },
        Err((code, why)) => ClaimCheck::Missing {
            code: code.to_owned(),
            why,
        },
    }
}

fn holds(
    claim: &Claim,
    roots: &Roots,
    workspace: &Path,
    secrets: &SecretRules,
) -> Result<(String, Option<u64>), Untrue> {
    let path =
        resolve(&claim.path, workspace, None).map_err(|error| ("bad_path", error.to_string()))?;
    let place = roots.find(&path).map_err(|lost| match lost {
        Lost::Missing { .. } => ("not_found", "there is no such file".to_owned()),
        Lost::Escapes => outside(),
        other => ("not_readable", other.to_string()),
    })?;
    // The path as it was written counts too: a link in the workspace is evidence of its target only.
    if !path.starts_with(workspace) || !place.canonical().starts_with(workspace) {
        return Err(outside());
    }
    let is_secret = |path: &Path| secrets.denied(path).is_some();
    if is_secret(&path) || is_secret(place.canonical()) {
        return Err(("secret", "the file is a secret".to_owned()));
    }
    let shown = shown_path(&path, workspace);
    if claim.line.is_none() && claim.quote.is_none() {
        return Ok((shown, None));
    }
    if place.kind() != Kind::File {
        return Err(("not_a_file", format!("it is {}", place.kind().name())));
    }
    if place.size() > CHECKED_FILE_BYTES {
        return Err(("too_large", "the file is too large to check".to_owned()));
    }
    let quote = Quote::of(claim.quote.as_deref().unwrap_or_default())?;
    let file = place
        .file()
        .map_err(|lost| ("not_readable", lost.to_string()))?;
    let line = find_line(file, claim.line, &quote)?;
    Ok((shown, Some(line)))
}

fn outside() -> Untrue {
    ("outside", "the path lies outside the workspace".to_owned())
}

/// A quote by its lines, each without the spaces around it.
struct Quote<'a>(Vec<&'a str>);

impl<'a> Quote<'a> {
    fn of(text: &'a str) -> Result<Self, Untrue> {
        if text.len() > QUOTE_BYTES {
            return Err((
                "quote_too_long",
                "the quote is too long to check".to_owned(),
            ));
        }
        let lines = text.trim().lines().map(str::trim).collect();
        Ok(Self(lines))
    }

    /// Whether the quote stands in these lines, beginning with the first of them.
    fn begins(&self, lines: &[String]) -> bool {
        lines.len() >= self.0.len()
            && self
                .0
                .iter()
                .zip(lines)
                .all(|(quoted, line)| line.contains(quoted))
    }

    /// Lines that it takes to compare, at least one.
    fn height(&self) -> usize {
        self.0.len().max(1)
    }
}

/// The line at which a quote begins: the claimed one, or else the nearest within reach of it;
/// without a claimed line, the first in the file. An empty quote stands on every line.
fn find_line(file: File, claimed: Option<u64>, quote: &Quote<'_>) -> Result<u64, Untrue> {
    let unreadable = |error: std::io::Error| ("not_readable", error.to_string());
    let mut reader = BufReader::new(file.take(CHECKED_FILE_BYTES));
    let mut window: Vec<String> = Vec::new();
    let mut bytes = Vec::new();
    let (mut first, mut read) = (1_u64, 0_u64);
    let mut nearest: Option<u64> = None;
    let mut elsewhere: Option<u64> = None;
    loop {
        bytes.clear();
        let is_end = reader.read_until(b'\n', &mut bytes).map_err(unreadable)? == 0;
        if !is_end {
            read += 1;
            window.push(line(&bytes).into_owned());
        }
        if window.len() == quote.height() {
            if quote.begins(&window) {
                match claimed {
                    None => return Ok(first),
                    Some(line) if line.abs_diff(first) > QUOTE_REACH => {
                        elsewhere.get_or_insert(first);
                    }
                    Some(line) => {
                        let is_nearer =
                            nearest.is_none_or(|at| line.abs_diff(first) < line.abs_diff(at));
                        if is_nearer {
                            nearest = Some(first);
                        }
                    }
                }
            }
            window.remove(0);
            first += 1;
        }
        if is_end {
            break;
        }
    }
    match (claimed, nearest, elsewhere) {
        (Some(line), ..) if line == 0 || line > read => Err((
            "no_such_line",
            format!("the file has {read} lines, and line {line} is none of them"),
        )),
        (_, Some(line), _) => Ok(line),
        (Some(_), None, Some(line)) => Err((
            "quote_elsewhere",
            format!("the quote stands on line {line}, not near the claimed one"),
        )),
        _ => Err(("quote_not_found", "the quote is not in the file".to_owned())),
    }
}
