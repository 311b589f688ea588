//! From a tool name and JSON arguments to a [`Call`].

use deputize_authority::{EnvName, Tool, Untrusted};
use serde_json::Value;

use crate::arguments::{Arguments, CallError};
use crate::{
    Call, Case, DEFAULT_SEARCH, GrepOptions, GrepOutput, Launch, Limits, Syntax, edits, git,
};

impl Call {
    /// Reads a call. `null` arguments count as absent.
    ///
    /// # Errors
    /// When the tool is unknown or not available, or an argument is unknown, missing, of another
    /// type or above a limit.
    pub fn parse(tool: &str, arguments: &Value) -> Result<Self, CallError> {
        let tool: Tool = tool
            .parse()
            .map_err(|_| CallError::UnknownTool(Untrusted::new(tool)))?;
        Self::of(tool, arguments)
    }

    pub(crate) fn of(tool: Tool, arguments: &Value) -> Result<Self, CallError> {
        let mut arguments = Arguments::of(tool, arguments)?;
        let call = match tool {
            Tool::Read => Self::Read {
                path: arguments.needed_text("path")?,
                offset: arguments.number("offset")?,
                limit: arguments.number("limit")?,
            },
            Tool::Ls => Self::Ls {
                path: arguments.text("path")?,
            },
            Tool::Find => Self::Find {
                pattern: arguments.needed_text("pattern")?,
                path: arguments.text("path")?,
                limit: arguments.number("limit")?,
            },
            Tool::Grep => grep(&mut arguments)?,
            Tool::Write => Self::Write {
                path: arguments.needed_text_of(edits::PATH)?,
                content: arguments.needed_text("content")?,
            },
            Tool::Edit => edits::parse(&mut arguments)?,
            Tool::Bash => Self::Bash {
                command: arguments.needed_text("command")?,
                timeout_seconds: arguments.number("timeout_seconds")?,
            },
            Tool::Git => git::parse(&mut arguments)?,
            Tool::Exec => exec(&mut arguments)?,
        };
        arguments.done()?;
        call.check()?;
        Ok(call)
    }

    /// Holds the call to its limits, however it was made.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        match self {
            Self::Read { offset, limit, .. } => {
                at_least_one("offset", *offset)?;
                within("limit", *limit, Limits::LINES, "lines")
            }
            Self::Ls { .. } => Ok(()),
            Self::Find { pattern, limit, .. } => {
                text("pattern", pattern, Limits::GLOB)?;
                within("limit", *limit, Limits::RESULTS, "results")
            }
            Self::Grep {
                pattern,
                glob,
                options,
                ..
            } => {
                text("pattern", pattern, Limits::PATTERN)?;
                glob.as_deref()
                    .map_or(Ok(()), |glob| text("glob", glob, Limits::GLOB))?;
                if options.context > Limits::CONTEXT {
                    return Err(CallError::too_large("context", Limits::CONTEXT, "lines"));
                }
                within("limit", options.limit, Limits::RESULTS, "results")
            }
            Self::Rank { terms, limit, .. } => {
                if terms.is_empty() {
                    return Err(CallError::Empty { name: "terms" });
                }
                if terms.len() > Limits::TERMS {
                    return Err(CallError::too_many("terms", Limits::TERMS));
                }
                for term in terms {
                    text("terms", term, Limits::TERM)?;
                }
                within("limit", *limit, Limits::RESULTS, "results")
            }
            Self::Write { content, .. } => longest("content", content, Limits::CONTENT),
            Self::Edit { edits, .. } => edits::check(edits),
            Self::Bash {
                command,
                timeout_seconds,
            } => {
                text("command", command, Limits::COMMAND)?;
                let most = Limits::COMMAND_SECONDS_MOST;
                within("timeout_seconds", *timeout_seconds, most, "seconds")
            }
            Self::Git(look) => look.check(),
            Self::Exec(launch) => launch.check(),
        }
    }
}

fn grep(arguments: &mut Arguments<'_>) -> Result<Call, CallError> {
    let pattern = arguments.text("pattern")?;
    let terms = arguments.texts("terms")?;
    let path = arguments.text("path")?;
    let limit = arguments.number("limit")?;
    match (pattern, terms) {
        (Some(_), Some(_)) => Err(CallError::Conflict("pattern", "terms")),
        (None, None) => Err(CallError::Missing { name: "pattern" }),
        (None, Some(terms)) => Ok(Call::Rank { terms, path, limit }),
        (Some(pattern), None) => Ok(Call::Grep {
            pattern,
            path,
            glob: arguments.text("glob")?,
            options: GrepOptions {
                case: arguments
                    .word(
                        "case",
                        &[
                            ("smart", Case::Smart),
                            ("sensitive", Case::Sensitive),
                            ("insensitive", Case::Insensitive),
                        ],
                        "`smart`, `sensitive` or `insensitive`",
                    )?
                    .unwrap_or_default(),
                syntax: arguments.switch("literal", Syntax::Literal, Syntax::Regex)?,
                context: arguments.number("context")?.unwrap_or(0),
                limit,
            },
            output: arguments
                .word(
                    "output",
                    &[
                        ("lines", GrepOutput::Lines),
                        ("files", GrepOutput::Files),
                        ("count", GrepOutput::Count),
                    ],
                    "`lines`, `files` or `count`",
                )?
                .unwrap_or_default(),
        }),
    }
}

fn exec(arguments: &mut Arguments<'_>) -> Result<Call, CallError> {
    let argv = arguments
        .texts("argv")?
        .ok_or(CallError::Missing { name: "argv" })?;
    let cwd = arguments.text("cwd")?.unwrap_or_else(|| ".".to_owned());
    let env = arguments.texts("env")?.unwrap_or_default();
    let launch = Launch::new(
        argv.into_iter().map(Into::into).collect(),
        cwd.into(),
        env.into_iter().map(EnvName).collect(),
        DEFAULT_SEARCH.iter().map(Into::into).collect(),
    )?;
    Ok(Call::Exec(launch))
}

/// Some text, not too long.
pub(crate) fn text(name: &'static str, text: &str, limit: usize) -> Result<(), CallError> {
    if text.is_empty() {
        return Err(CallError::Empty { name });
    }
    longest(name, text, limit)
}

/// Text that may be empty, not too long.
pub(crate) fn longest(name: &'static str, text: &str, limit: usize) -> Result<(), CallError> {
    if text.len() > limit {
        Err(CallError::too_long(name, limit))
    } else if text.contains('\0') {
        Err(CallError::Nul { name })
    } else {
        Ok(())
    }
}

pub(crate) fn at_least_one(name: &'static str, number: Option<u64>) -> Result<(), CallError> {
    match number {
        Some(0) => Err(CallError::Malformed {
            name,
            expected: "at least 1",
        }),
        _ => Ok(()),
    }
}

pub(crate) fn within(
    name: &'static str,
    number: Option<u64>,
    limit: u64,
    unit: &'static str,
) -> Result<(), CallError> {
    at_least_one(name, number)?;
    match number {
        Some(number) if number > limit => Err(CallError::too_large(name, limit, unit)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
