//! What turns use and what that costs.

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
}

impl Usage {
    /// Nothing.
    pub const NONE: Self = Self {
        input_tokens: 0,
        cached_input_tokens: 0,
        output_tokens: 0,
    };

    /// The tokens that a budget counts: uncached input and output (D4).
    #[must_use]
    pub fn counted(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// What it costs, in millionths of a dollar, rounded up.
    #[must_use]
    pub fn cost_micros(self, price: Price) -> u64 {
        let product = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        // Each product fits; their sum may not.
        let total = product(self.input_tokens, price.input)
            .saturating_add(product(self.cached_input_tokens, price.cached_input))
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
    }
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
}

impl Price {
    /// Costs nothing, and that is known.
    pub const FREE: Self = Self {
        input: 0,
        cached_input: 0,
        output: 0,
    };
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
        };
        let usage = Usage {
            input_tokens: 1_000,
            cached_input_tokens: 1,
            output_tokens: 10,
        };
        // 3,000 + 0.3 + 150 micros.
        assert_eq!(usage.cost_micros(price), 3_151);
        assert_eq!(usage.counted(), 1_010);
        let all = Usage {
            input_tokens: u64::MAX,
            cached_input_tokens: u64::MAX,
            output_tokens: u64::MAX,
        };
        let dear = Price {
            input: u64::MAX,
            cached_input: u64::MAX,
            output: u64::MAX,
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
            };
        }
        assert_eq!(total.input_tokens, 3);
        assert_eq!(total.cached_input_tokens, 6);
        assert_eq!(total.output_tokens, 9);
    }
}
