//! What turns use and what that costs.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of one turn, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Input tokens that no cache served.
    #[serde(default)]
    pub input_tokens: u64,
    /// Input tokens served from the provider's cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Output tokens.
    #[serde(default)]
    pub output_tokens: u64,
    /// Input tokens that were written to the provider's cache, which some charge more for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Nothing.
    pub const NONE: Self = Self {
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
        cache_write_tokens: 0,
    };

    /// The tokens that a budget counts: uncached input and output (D4).
    #[must_use]
    pub fn counted(self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_write_tokens)
            .saturating_add(self.output_tokens)
    }

    /// What it costs, in millionths of a dollar, rounded up.
    #[must_use]
    pub fn cost_micros(self, price: Price) -> u64 {
        let product = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        // Each product fits; their sum may not.
        let total = product(self.input_tokens, price.input)
            .saturating_add(product(self.cached_input_tokens, price.cached_input))
            .saturating_add(product(
                self.cache_write_tokens,
                price.cache_write.unwrap_or(price.input),
            ))
            .saturating_add(product(self.output_tokens, price.output));
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self
            .cached_input_tokens
            .saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
    }
}

/// How it is known what a turn used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageSource {
    /// Whoever answered said it, or it was counted.
    #[default]
    Reported,
    /// It is estimated from the text.
    Estimated,
}

/// Prices in millionths of a dollar per million tokens, so $3 per million is `3_000_000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Uncached input.
    pub input: u64,
    /// Input from the provider's cache.
    pub cached_input: u64,
    /// Output.
    pub output: u64,
    /// Input that goes into the provider's cache; as uncached input when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// What a run has left, for one turn. `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Allowance {
    /// Tokens that count ([`Usage::counted`]).
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    #[serde(default)]
    pub cost_micros: Option<u64>,
}

impl Allowance {
    /// Whether this much is more than what is left. Without a price only tokens can be judged.
    #[must_use]
    pub fn is_passed_by(self, usage: Usage, price: Option<Price>) -> bool {
        let tokens = self.tokens.is_some_and(|left| usage.counted() > left);
        let cost = match (self.cost_micros, price) {
            (Some(left), Some(price)) => usage.cost_micros(price) > left,
            _ => false,
        };
        tokens || cost
    }
}

impl Price {
    /// Costs nothing, and that is known.
    pub const FREE: Self = Self {
        input: 0,
        cached_input: 0,
        output: 0,
        cache_write: None,
    };

    /// Whether any part of it is higher than the other's.
    #[must_use]
    pub fn is_dearer_than(self, other: Self) -> bool {
        let write = |price: Self| price.cache_write.unwrap_or(price.input);
        self.input > other.input
            || self.cached_input > other.cached_input
            || self.output > other.output
            || write(self) > write(other)
    }
}

impl fmt::Display for Price {
    /// As a person reads it: `$3/$15 per million tokens in/out`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = |micros: u64| {
            let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        write!(
            f,
            "${}/${} per million tokens in/out",
            dollars(self.input),
            dollars(self.output)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// D4: cost is never rounded down, so a budget can't be passed by many small turns.
    #[test]
    fn cost_is_rounded_up_and_saturates() {
        let price = Price {
            input: 3_000_000,
            cached_input: 300_000,
            output: 15_000_000,
            cache_write: None,
        };
        let usage = Usage {
            input_tokens: 1_000,
            cached_input_tokens: 1,
            output_tokens: 10,
            cache_write_tokens: 0,
        };
        // 3,000 + 0.3 + 150 micros.
        assert_eq!(usage.cost_micros(price), 3_151);
        assert_eq!(usage.counted(), 1_010);
        let all = Usage {
            input_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cache_write_tokens: 0,
        };
        let dear = Price {
            input: u64::MAX,
            cached_input: u64::MAX,
            output: u64::MAX,
            cache_write: None,
        };
        assert_eq!(all.cost_micros(dear), u64::MAX);
        assert_eq!(all.cost_micros(Price::FREE), 0);
    }

    #[test]
    fn usage_adds_up() {
        let mut total = Usage::NONE;
        for _ in 0..3 {
            total += Usage {
                input_tokens: 1,
                cached_input_tokens: 2,
                output_tokens: 3,
                cache_write_tokens: 0,
            };
        }
        assert_eq!(total.input_tokens, 3);
        assert_eq!(total.cached_input_tokens, 6);
        assert_eq!(total.output_tokens, 9);
    }
}
