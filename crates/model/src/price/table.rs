//! The table of prices: dated, shipped, and the person's own to change.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::config::{ConfigError, MAX_CONFIG_BYTES, at};
use crate::{Endpoint, ModelName, Price};

/// The table that ships.
const SHIPPED: &str = include_str!("prices.toml");

/// The highest price that is taken, in dollars per million tokens: more is a misplaced point.
const MOST: f64 = 100_000.0;

/// What tokens of models cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    as_of: String,
    models: BTreeMap<String, Price>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    as_of: String,
    #[serde(default)]
    #[expect(dead_code, reason = "for people who read the file")]
    source: Vec<String>,
    #[serde(default)]
    models: BTreeMap<String, Row>,
}

/// Dollars per million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    input: f64,
    output: f64,
    cached_input: Option<f64>,
    cache_write: Option<f64>,
}

impl Prices {
    /// The table that ships, with the person's own rows over it.
    ///
    /// # Errors
    /// When the person's table, in the form of the shipped one, can't be read.
    pub fn with(own: Option<&str>) -> Result<Self, ConfigError> {
        let mut prices = Self::parse(SHIPPED)?;
        if let Some(own) = own {
            let own = Self::parse(own)?;
            prices.models.extend(own.models);
            if !own.as_of.is_empty() {
                prices.as_of = own.as_of;
            }
        }
        Ok(prices)
    }

    fn parse(text: &str) -> Result<Self, ConfigError> {
        if text.len() > MAX_CONFIG_BYTES {
            return Err(ConfigError::TooLarge);
        }
        let table: Table = toml::from_str(text).map_err(|error| at(text, &error))?;
        let mut models = BTreeMap::new();
        for (name, row) in table.models {
            let _: ModelName = name.parse()?;
            let price = row.price().ok_or_else(|| ConfigError::Form {
                line: text
                    .lines()
                    .position(|line| line.contains(&name))
                    .unwrap_or(0)
                    + 1,
                column: 1,
                what: format!("`{name}` has a price that is none"),
            })?;
            models.insert(name, price);
        }
        Ok(Self {
            as_of: table.as_of,
            models,
        })
    }

    /// When the table was last held against its sources.
    #[must_use]
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// What a model costs; `None` where nobody knows. A name with a date behind it is the same model.
    #[must_use]
    pub fn of(&self, provider: &str, model: &str) -> Option<Price> {
        let provider = if provider == "openai-chat" {
            "openai"
        } else {
            provider
        };
        let full = format!("{provider}:{model}");
        if let Some(price) = self.models.get(&full) {
            return Some(*price);
        }
        let rows = self.models.iter();
        let dated = rows.filter(|(name, _)| full.strip_prefix(name.as_str()).is_some_and(is_date));
        dated.map(|(_, price)| *price).next()
    }

    /// What an endpoint's model costs. What answers on this machine costs nothing.
    #[must_use]
    pub fn of_endpoint(&self, endpoint: &Endpoint, provider: &str) -> Option<Price> {
        let local = endpoint.wire == crate::wire::Wire::Ollama && endpoint.base.is_loopback();
        let known = self.of(provider, &endpoint.model);
        known.or(local.then_some(Price::FREE))
    }
}

/// Whether the end of a name is a version's date: `-20250929`, `-2025-08-07`, `-latest`.
fn is_date(suffix: &str) -> bool {
    let Some(rest) = suffix.strip_prefix('-') else {
        return false;
    };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let only = rest
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    rest == "latest" || (digits == 8 && only)
}

impl Row {
    fn price(&self) -> Option<Price> {
        Some(Price {
            input: micros(self.input)?,
            output: micros(self.output)?,
            cached_input: micros(self.cached_input.unwrap_or(self.input))?,
            cache_write: match self.cache_write {
                Some(write) => Some(micros(write)?),
                None => None,
            },
        })
    }
}

fn micros(dollars: f64) -> Option<u64> {
    if !(0.0..=MOST).contains(&dollars) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between zero and the most, which fits"
    )]
    Some((dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N4: prices are a dated table that a person can change.
    #[test]
    fn the_shipped_table_is_dated_and_can_be_changed() {
        let prices = Prices::with(None).unwrap();
        assert!(
            is_date(&format!("-{}", prices.as_of())),
            "{}",
            prices.as_of()
        );
        let sonnet = prices
            .of("anthropic", "claude-sonnet-4-5-20250929")
            .unwrap();
        assert_eq!((sonnet.input, sonnet.output), (3_000_000, 15_000_000));
        assert_eq!(
            prices.of("openai-chat", "gpt-5"),
            prices.of("openai", "gpt-5")
        );
        assert_eq!(prices.of("openai", "gpt-5-pro"), None);
        assert_eq!(prices.of("work", "gpt-5"), None);
        let own = "[models.\"work:gpt-5\"]\ninput = 1\noutput = 2.5\n";
        let prices = Prices::with(Some(own)).unwrap();
        let work = prices.of("work", "gpt-5").unwrap();
        assert_eq!((work.cached_input, work.output), (1_000_000, 2_500_000));
        assert_eq!(prices.of("anthropic", "claude-sonnet-4-5"), Some(sonnet));
        for bad in [
            "[models.\"a:b\"]\ninput = -1\noutput = 1\n",
            "[models.\"a:b\"]\ninput = 1\n",
            "[models.x]\ninput = 1\noutput = 1\n",
        ] {
            assert!(Prices::with(Some(bad)).is_err(), "{bad}");
        }
    }
}
