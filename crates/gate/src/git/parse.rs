//! Reading the arguments of `git`.

use super::{GitLook, GitOutput, Side};
use crate::arguments::{Arguments, CallError};
use crate::parse::{at_least_one, text, within};
use crate::{Call, Limits};

#[derive(Clone, Copy)]
enum Op {
    Status,
    Diff,
    Log,
    Show,
    Blame,
}

pub(crate) fn parse(arguments: &mut Arguments<'_>) -> Result<Call, CallError> {
    let ops = [
        ("status", Op::Status),
        ("diff", Op::Diff),
        ("log", Op::Log),
        ("show", Op::Show),
        ("blame", Op::Blame),
    ];
    let expected = "`status`, `diff`, `log`, `show` or `blame`";
    let op = arguments
        .word("op", &ops, expected)?
        .ok_or(CallError::Missing { name: "op" })?;
    let look = match op {
        Op::Status => GitLook::Status {
            paths: paths(arguments)?,
        },
        Op::Diff => GitLook::Diff {
            rev: arguments.text("rev")?,
            side: arguments.switch("staged", Side::Staged, Side::Work)?,
            output: output(arguments, GitOutput::Patch)?,
            context: arguments.number("context")?,
            paths: paths(arguments)?,
        },
        Op::Log => GitLook::Log {
            rev: arguments.text("rev")?,
            limit: arguments.number("limit")?,
            output: output(arguments, GitOutput::Summary)?,
            paths: paths(arguments)?,
        },
        Op::Show => GitLook::Show {
            rev: arguments.text("rev")?,
            path: arguments.text("path")?,
            output: output(arguments, GitOutput::Patch)?,
        },
        Op::Blame => GitLook::Blame {
            path: arguments.needed_text("path")?,
            rev: arguments.text("rev")?,
            start: arguments.number("start")?,
            end: arguments.number("end")?,
        },
    };
    Ok(Call::Git(look))
}

/// `paths`, or the one `path`.
fn paths(arguments: &mut Arguments<'_>) -> Result<Vec<String>, CallError> {
    let many = arguments.texts("paths")?;
    match (arguments.text("path")?, many) {
        (Some(_), Some(_)) => Err(CallError::Conflict("path", "paths")),
        (Some(one), None) => Ok(vec![one]),
        (None, many) => Ok(many.unwrap_or_default()),
    }
}

fn output(arguments: &mut Arguments<'_>, otherwise: GitOutput) -> Result<GitOutput, CallError> {
    let words = [
        ("summary", GitOutput::Summary),
        ("names", GitOutput::Names),
        ("stat", GitOutput::Stat),
        ("patch", GitOutput::Patch),
    ];
    let expected = "`summary`, `names`, `stat` or `patch`";
    Ok(arguments
        .word("output", &words, expected)?
        .unwrap_or(otherwise))
}

impl GitLook {
    /// Holds the look to its limits, however it was made.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        if self.paths().len() > Limits::GIT_PATHS {
            return Err(CallError::too_many("paths", Limits::GIT_PATHS));
        }
        if let Some(rev) = self.rev() {
            revision(rev)?;
        }
        match self {
            Self::Status { .. } => Ok(()),
            Self::Diff {
                output, context, ..
            } => {
                if *output == GitOutput::Summary {
                    let expected = "`names`, `stat` or `patch` for a diff";
                    return Err(CallError::Malformed {
                        name: "output",
                        expected,
                    });
                }
                match context {
                    Some(lines) if *lines > Limits::CONTEXT => {
                        Err(CallError::too_large("context", Limits::CONTEXT, "lines"))
                    }
                    _ => Ok(()),
                }
            }
            Self::Log { limit, .. } => within("limit", *limit, Limits::COMMITS, "commits"),
            Self::Show { .. } => one_revision(self.rev()),
            Self::Blame { start, end, .. } => {
                one_revision(self.rev())?;
                at_least_one("start", *start)?;
                at_least_one("end", *end)?;
                if end.is_some_and(|end| end < start.unwrap_or(1)) {
                    return Err(CallError::Malformed {
                        name: "end",
                        expected: "no line before `start`",
                    });
                }
                Ok(())
            }
        }
    }
}

/// A revision must not look like an option, and must not name a path: paths are judged, and have
/// an argument of their own.
fn revision(rev: &str) -> Result<(), CallError> {
    text("rev", rev, Limits::REVISION)?;
    if rev.starts_with('-') || rev.contains(char::is_control) {
        return Err(CallError::Malformed {
            name: "rev",
            expected: "a revision, such as `HEAD~2`, `main` or `v1.0..main`",
        });
    }
    if rev.contains(':') {
        return Err(CallError::Malformed {
            name: "rev",
            expected: "a revision without a path: name the file as `path`",
        });
    }
    Ok(())
}

fn one_revision(rev: Option<&str>) -> Result<(), CallError> {
    match rev {
        Some(rev) if rev.contains("..") || rev.starts_with('^') => Err(CallError::Malformed {
            name: "rev",
            expected: "one revision, not a range",
        }),
        _ => Ok(()),
    }
}
