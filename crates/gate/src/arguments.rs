//! Reading the arguments of a tool call: types, limits, and nothing that isn't asked for.

use deputize_authority::{Tool, Untrusted};
use serde_json::{Map, Value};

use crate::rule::{self, Rule};

/// Characters of a foreign name that an error repeats.
const SHOWN_NAME: usize = 60;

/// Why a tool name and its arguments are not a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing answers to the name.
    #[error("no tool is named `{}`", .0.preview(SHOWN_NAME))]
    UnknownTool(Untrusted),
    /// The arguments are not a JSON object.
    #[error("the arguments of `{0}` must be a JSON object")]
    NotAnObject(Tool),
    /// An argument that the tool doesn't have.
    #[error("`{tool}` has no argument `{}`", name.preview(SHOWN_NAME))]
    UnknownArgument {
        /// The tool.
        tool: Tool,
        /// The argument's name.
        name: Untrusted,
    },
    /// A needed argument that isn't there.
    #[error("the argument `{name}` is missing")]
    Missing {
        /// The argument's name.
        name: &'static str,
    },
    /// An argument of another type or shape.
    #[error("the argument `{name}` must be {expected}")]
    Malformed {
        /// The argument's name.
        name: &'static str,
        /// What it has to be.
        expected: &'static str,
    },
    /// An argument without content.
    #[error("the argument `{name}` is empty")]
    Empty {
        /// The argument's name.
        name: &'static str,
    },
    /// An argument with a NUL character, which no path or program argument can hold.
    #[error("the argument `{name}` holds a NUL character")]
    Nul {
        /// The argument's name.
        name: &'static str,
    },
    /// An argument above a limit.
    #[error("the argument `{name}` is too large: at most {limit} {unit}")]
    TooLarge {
        /// The argument's name.
        name: &'static str,
        /// The limit.
        limit: u64,
        /// What the limit counts.
        unit: &'static str,
    },
    /// Two arguments that exclude each other.
    #[error("`{0}` and `{1}` can't be given together")]
    Conflict(&'static str, &'static str),
}

impl CallError {
    pub(crate) fn too_long(name: &'static str, limit: usize) -> Self {
        Self::too_large(name, limit as u64, "bytes")
    }

    pub(crate) fn too_many(name: &'static str, limit: usize) -> Self {
        Self::too_large(name, limit as u64, "items")
    }

    pub(crate) fn too_large(name: &'static str, limit: u64, unit: &'static str) -> Self {
        Self::TooLarge { name, limit, unit }
    }

    /// The rule that the denial of such a call names.
    #[must_use]
    pub fn rule(&self) -> &'static Rule {
        match self {
            Self::UnknownTool(_) => &rule::TOOL_UNKNOWN,
            Self::UnknownArgument { .. } => &rule::ARGUMENTS_UNKNOWN,
            Self::TooLarge { .. } => &rule::ARGUMENTS_LIMIT,
            Self::NotAnObject(_)
            | Self::Missing { .. }
            | Self::Malformed { .. }
            | Self::Empty { .. }
            | Self::Nul { .. }
            | Self::Conflict(..) => &rule::ARGUMENTS_INVALID,
        }
    }
}

/// The arguments of one call; each is taken once, and what is left over is unknown.
pub(crate) struct Arguments<'a> {
    tool: Tool,
    fields: &'a Map<String, Value>,
    taken: Vec<&'static str>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn of(tool: Tool, arguments: &'a Value) -> Result<Self, CallError> {
        let fields = arguments.as_object().ok_or(CallError::NotAnObject(tool))?;
        Ok(Self {
            tool,
            fields,
            taken: Vec::new(),
        })
    }

    /// The value of an argument; `null` counts as absent, as models send it.
    fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.taken.push(name);
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, CallError> {
        let expected = "a string";
        self.take(name)
            .map(|value| match value {
                Value::String(text) => Ok(text.clone()),
                _ => Err(CallError::Malformed { name, expected }),
            })
            .transpose()
    }

    pub(crate) fn needed_text(&mut self, name: &'static str) -> Result<String, CallError> {
        self.text(name)?.ok_or(CallError::Missing { name })
    }

    /// The text of an argument that goes by several names, the documented one first.
    pub(crate) fn text_of(&mut self, names: &[&'static str]) -> Result<Option<String>, CallError> {
        let mut found: Option<(&'static str, String)> = None;
        for name in names {
            match (self.text(name)?, &found) {
                (Some(_), Some((other, _))) => return Err(CallError::Conflict(other, name)),
                (Some(text), None) => found = Some((name, text)),
                (None, _) => {}
            }
        }
        Ok(found.map(|(_, text)| text))
    }

    pub(crate) fn needed_text_of(&mut self, names: &[&'static str]) -> Result<String, CallError> {
        let name = names.first().copied().unwrap_or_default();
        self.text_of(names)?.ok_or(CallError::Missing { name })
    }

    /// Whether one of these arguments is there.
    pub(crate) fn has_any(&self, names: &[&str]) -> bool {
        names
            .iter()
            .any(|name| self.fields.get(*name).is_some_and(|value| !value.is_null()))
    }

    /// The fields of one item of a list.
    pub(crate) fn inner(&self, name: &'static str, item: &'a Value) -> Result<Self, CallError> {
        let expected = "a list of objects";
        let fields = item
            .as_object()
            .ok_or(CallError::Malformed { name, expected })?;
        Ok(Self {
            tool: self.tool,
            fields,
            taken: Vec::new(),
        })
    }

    /// The items of a list, as they are.
    pub(crate) fn list(&mut self, name: &'static str) -> Result<Option<&'a [Value]>, CallError> {
        let expected = "a list";
        self.take(name)
            .map(|value| match value {
                Value::Array(items) => Ok(items.as_slice()),
                _ => Err(CallError::Malformed { name, expected }),
            })
            .transpose()
    }

    pub(crate) fn texts(&mut self, name: &'static str) -> Result<Option<Vec<String>>, CallError> {
        let malformed = || CallError::Malformed {
            name,
            expected: "a list of strings",
        };
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        value
            .as_array()
            .ok_or_else(malformed)?
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(malformed))
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }

    /// A whole number of at least 0; `3.0` counts as 3.
    pub(crate) fn number(&mut self, name: &'static str) -> Result<Option<u64>, CallError> {
        let expected = "a whole number that isn't negative";
        self.take(name)
            .map(|value| whole(value).ok_or(CallError::Malformed { name, expected }))
            .transpose()
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
        expected: &'static str,
    ) -> Result<Option<T>, CallError> {
        self.take(name)
            .map(|value| {
                words
                    .iter()
                    .find(|(word, _)| value.as_str() == Some(word))
                    .map(|(_, meaning)| *meaning)
                    .ok_or(CallError::Malformed { name, expected })
            })
            .transpose()
    }

    /// A yes or no, given its two meanings.
    pub(crate) fn switch<T>(&mut self, name: &'static str, on: T, off: T) -> Result<T, CallError> {
        match self.take(name) {
            None | Some(Value::Bool(false)) => Ok(off),
            Some(Value::Bool(true)) => Ok(on),
            Some(_) => Err(CallError::Malformed {
                name,
                expected: "true or false",
            }),
        }
    }

    /// Ends the reading: whatever wasn't taken is an argument that the tool doesn't have.
    pub(crate) fn done(self) -> Result<(), CallError> {
        match self
            .fields
            .keys()
            .find(|key| !self.taken.contains(&key.as_str()))
        {
            None => Ok(()),
            Some(key) => Err(CallError::UnknownArgument {
                tool: self.tool,
                name: Untrusted::new(key.as_str()),
            }),
        }
    }
}

fn whole(value: &Value) -> Option<u64> {
    /// The largest float below which every whole number is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // In this range the cast is exact.
        (float.fract() == 0.0 && (0.0..EXACT).contains(&float)).then_some(float as u64)
    })
}
