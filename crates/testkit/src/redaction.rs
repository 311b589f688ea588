//! The one place that makes output comparable: what differs from run to run gets a name.

use std::path::{Path, PathBuf};

use regex::Regex;

/// Names for the paths of a test, and for what no two runs share.
#[derive(Debug, Clone)]
pub(crate) struct Redaction {
    /// Longest first, so that a folder in a folder keeps its own name.
    paths: Vec<(String, String)>,
}

/// Patterns of what no two runs share. The order counts: a digest holds no id, a moment is no time.
const PATTERNS: [(&str, &str); 5] = [
    (
        r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
        "[MOMENT]",
    ),
    (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        "[RUN]",
    ),
    (r"\b[0-9a-f]{64}\b", "[DIGEST]"),
    (r"\b\d+(\.\d+)? ?(ns|µs|ms|s)\b", "[TIME]"),
    (r#""(\w+_ms|at)": ?\d+(\.\d+)?"#, r#""$1":"[TIME]""#),
];

impl Redaction {
    /// Redacts these paths, each by its name.
    pub(crate) fn new<'a>(paths: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Self {
        let mut paths: Vec<(String, String)> = paths
            .into_iter()
            .flat_map(|(path, name)| {
                let canonical: Option<PathBuf> = path.canonicalize().ok();
                let both = std::iter::once(path.to_owned()).chain(canonical);
                both.map(move |path| (path.to_string_lossy().into_owned(), format!("[{name}]")))
            })
            .collect();
        paths.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        paths.dedup();
        Self { paths }
    }

    /// The text as every run would print it.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in &self.paths {
            text = text.replace(path, name);
        }
        for (pattern, name) in PATTERNS {
            // Compiled for each call: a snapshot is taken a few times in a test.
            let pattern = Regex::new(pattern).unwrap();
            text = pattern.replace_all(&text, name).into_owned();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_gets_a_name() {
        let redaction =
            Redaction::new([(Path::new("/t/x"), "TMP"), (Path::new("/t/x/home"), "HOME")]);
        let digest = "0123456789abcdef".repeat(4);
        let text = format!(
            "/t/x/home/a /t/x/b 01920000-0000-7000-8000-0123456789ab {digest} 3.5 ms 12s \
             2026-01-02T03:04:05.678Z {{\"wall_ms\": 17}} 30 turns"
        );
        assert_eq!(
            redaction.apply(&text),
            "[HOME]/a [TMP]/b [RUN] [DIGEST] [TIME] [TIME] [MOMENT] {\"wall_ms\":\"[TIME]\"} \
             30 turns"
        );
    }
}
