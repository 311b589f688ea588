//! What a response that is no answer means: again, or never.

use std::time::Duration;

use deputize_model::{KeySource, ModelError};
use serde_json::Value;

use crate::limits::{BACK_OFF, BUSY_TRIES, FAILED_TRIES, REASON_CHARACTERS, RETRY_AFTER};

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait that long, and send it again.
    Again(Duration),
    /// It is over.
    Over(ModelError),
}

/// A response that is no answer.
pub(crate) struct Answered<'a> {
    pub(crate) status: u16,
    /// The `retry-after` header.
    pub(crate) retry_after: Option<&'a str>,
    /// The beginning of its body.
    pub(crate) body: &'a [u8],
    /// How often the request was sent.
    pub(crate) tries: u32,
}

/// Decides about a response that is no answer.
pub(crate) fn next(answered: &Answered<'_>, key: &KeySource) -> Next {
    let status = answered.status;
    let reason = reason(answered);
    let spent = ["insufficient_quota", "billing", "credit balance"];
    let body = String::from_utf8_lossy(answered.body);
    match status {
        401 | 403 => Next::Over(ModelError::Denied {
            reason,
            fix: fix(key),
        }),
        402 => Next::Over(no_credit(reason)),
        429 if spent.iter().any(|word| body.contains(word)) => Next::Over(no_credit(reason)),
        429 | 503 | 529 => again(answered, BUSY_TRIES, reason),
        500 | 502 | 504 => again(answered, FAILED_TRIES, reason),
        300..=399 => Next::Over(ModelError::Refused {
            reason: format!("{reason}: redirects are not followed"),
        }),
        _ => Next::Over(ModelError::Refused { reason }),
    }
}

/// Decides about a connection that didn't come about.
pub(crate) fn unreachable(why: &str, tries: u32) -> Next {
    if tries < FAILED_TRIES {
        return Next::Again(back_off(tries));
    }
    Next::Over(ModelError::Unavailable {
        reason: why.to_owned(),
    })
}

/// Decides about a stream that said that the provider is busy before it said anything else.
pub(crate) fn busy(reason: String, tries: u32) -> Next {
    if tries < BUSY_TRIES {
        return Next::Again(back_off(tries));
    }
    Next::Over(ModelError::Unavailable { reason })
}

fn again(answered: &Answered<'_>, most: u32, reason: String) -> Next {
    let asked = answered.retry_after.map(str::trim);
    let seconds = asked.and_then(|asked| asked.parse::<u64>().ok());
    let wait = seconds.map_or_else(|| back_off(answered.tries), Duration::from_secs);
    if answered.tries >= most {
        let tries = answered.tries;
        let reason = format!("{reason}, after {tries} tries");
        return Next::Over(ModelError::Unavailable { reason });
    }
    if wait > RETRY_AFTER {
        let (asked, most) = (wait.as_secs(), RETRY_AFTER.as_secs());
        let reason = format!("{reason}; it asks to wait {asked} s, more than {most} s");
        return Next::Over(ModelError::Unavailable { reason });
    }
    Next::Again(wait)
}

fn back_off(tries: u32) -> Duration {
    let doubled = 1_u32
        .checked_shl(tries.saturating_sub(1))
        .unwrap_or(u32::MAX);
    BACK_OFF.saturating_mul(doubled).min(RETRY_AFTER)
}

fn no_credit(reason: String) -> ModelError {
    ModelError::Denied {
        reason,
        fix: "add credit to the account, or name another model".to_owned(),
    }
}

fn fix(key: &KeySource) -> String {
    let store = format!("store a valid key with `deputize auth set {}`", key.account);
    match key.variables.first() {
        Some(variable) => format!("{store}, or set {variable}"),
        None => store,
    }
}

/// The status, and what the provider says about it.
fn reason(answered: &Answered<'_>) -> String {
    let status = answered.status;
    let parsed: Option<Value> = serde_json::from_slice(answered.body).ok();
    let message = parsed.as_ref().and_then(|value| {
        // Some wrap the error in a list.
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error")?;
        error.as_str().or_else(|| error.get("message")?.as_str())
    });
    let text = match message {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(answered.body).into_owned(),
    };
    let short: String = text.trim().chars().take(REASON_CHARACTERS).collect();
    if short.is_empty() {
        format!("HTTP {status}")
    } else {
        format!("HTTP {status}: {short}")
    }
}

#[cfg(test)]
mod tests {
    use deputize_model::KeyNeed;

    use super::*;

    fn key() -> KeySource {
        KeySource {
            variables: vec!["X_KEY".to_owned()],
            account: "x".to_owned(),
            need: KeyNeed::Always,
        }
    }

    fn judged(status: u16, retry_after: Option<&str>, body: &str, tries: u32) -> Next {
        let answered = Answered {
            status,
            retry_after,
            body: body.as_bytes(),
            tries,
        };
        next(&answered, &key())
    }

    fn told(next: Next) -> String {
        match next {
            Next::Again(wait) => format!("again in {} ms", wait.as_millis()),
            Next::Over(error) => format!("{}: {error}", error.code()),
        }
    }

    /// N3: waits and tries are bounded, and a provider's wish is granted within bounds.
    #[test]
    fn retries_are_bounded() {
        assert_eq!(told(judged(429, Some("7"), "", 1)), "again in 7000 ms");
        assert_eq!(told(judged(529, None, "", 1)), "again in 500 ms");
        assert_eq!(told(judged(503, None, "", 3)), "again in 2000 ms");
        assert!(told(judged(429, Some("7"), "", 4)).starts_with("model_unavailable"));
        let long = told(judged(429, Some("3600"), "", 1));
        assert!(long.contains("asks to wait 3600 s"), "{long}");
        assert_eq!(told(judged(500, None, "", 2)), "again in 1000 ms");
        assert!(told(judged(500, None, "oops", 3)).contains("HTTP 500: oops, after 3 tries"));
        assert_eq!(told(unreachable("x", 1)), "again in 500 ms");
        assert!(told(unreachable("x", 3)).starts_with("model_unavailable"));
    }

    /// N3: what a person can mend is told with the way to mend it, and isn't tried again.
    #[test]
    fn a_refused_credential_names_the_fix() {
        for status in [401, 403] {
            let body = r#"{"error": {"message": "invalid key"}}"#;
            let said = told(judged(status, None, body, 1));
            assert!(
                said.starts_with("model_denied") && said.contains("invalid key"),
                "{said}"
            );
            assert!(
                said.contains("`deputize auth set x`") && said.contains("X_KEY"),
                "{said}"
            );
        }
        let quota = r#"{"error": {"code": "insufficient_quota"}}"#;
        assert!(told(judged(429, Some("1"), quota, 1)).starts_with("model_denied"));
        assert!(told(judged(307, None, "", 1)).contains("not followed"));
        assert!(told(judged(400, None, "{\"error\":\"bad\"}", 1)).contains("HTTP 400: bad"));
        let long = told(judged(404, None, &"x".repeat(100_000), 1));
        assert!(long.len() < 600, "{}", long.len());
    }
}
