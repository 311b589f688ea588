//! Budget accounting (D4): reserve before, settle after.
//!
//! A meter never promises more than there is: what is spent and what is reserved stay together
//! within every limit at the moment of each reservation. Reserving is all or nothing over every
//! dimension, and settling gives back what wasn't used; so a pool that a tree of runs shares can be
//! a second meter, asked first and settled alongside.
//!
//! Clocks can't be reserved; `clock` keeps them.

use std::fmt;

use deputize_authority::{Budget, Dimension};
use deputize_model::{Price, Usage};
use serde::Serialize;

/// An amount per dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts([u64; Dimension::ALL.len()]);

impl Amounts {
    /// Nothing in every dimension.
    pub const NONE: Self = Self([0; Dimension::ALL.len()]);

    /// These amounts with one replaced.
    #[must_use]
    pub const fn with(mut self, dimension: Dimension, amount: u64) -> Self {
        self.0[dimension as usize] = amount;
        self
    }

    /// The amount in one dimension.
    #[must_use]
    pub fn get(&self, dimension: Dimension) -> u64 {
        self.0[dimension as usize]
    }

    /// The sum in every dimension.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own = own.saturating_add(more);
        }
        self
    }

    fn minus(mut self, other: &Self) -> Self {
        for (own, less) in self.0.iter_mut().zip(other.0) {
            *own = own.saturating_sub(less);
        }
        self
    }
}

/// A dimension that has no room for what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{dimension}: {used} of {limit} used, {asked} more asked")]
pub struct Exhausted {
    /// The dimension.
    pub dimension: Dimension,
    /// Its limit.
    pub limit: u64,
    /// What is spent or reserved.
    pub used: u64,
    /// What was asked.
    pub asked: u64,
}

/// Proof that an amount was set aside. It is given back to the meter with [`Meter::settle`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is reserved and never settled is lost to the run"]
pub struct Reservation(Amounts);

/// How much of one dimension is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gauge {
    /// The dimension.
    pub dimension: Dimension,
    /// What is spent; reservations don't count.
    pub used: u64,
    /// The limit; `None` where there is none.
    pub limit: Option<u64>,
}

/// What a run has spent and set aside, against its limits.
#[derive(Debug)]
pub struct Meter {
    budget: Budget,
    price: Option<Price>,
    spent: Amounts,
    reserved: Amounts,
    /// The dearest turn so far, where whoever answers says what each cost.
    dearest: Option<u64>,
}

impl Meter {
    /// Starts at zero.
    ///
    /// Cost leads where a price is known: tokens are then counted but not limited. Where no price is
    /// known, tokens lead. A price of nothing bounds nothing, so tokens lead there too, and they
    /// lead wherever the cost has no limit. What is only reported after each turn limits beside them
    /// ([`Meter::hear_cost`]).
    #[must_use]
    pub fn new(budget: Budget, price: Option<Price>) -> Self {
        Self {
            budget,
            price,
            spent: Amounts::NONE,
            reserved: Amounts::NONE,
            dearest: None,
        }
    }

    /// Hears what a turn cost, from whoever answered it: from now on cost is limited beside tokens, and
    /// the next turn is expected to cost what the dearest one did.
    pub fn hear_cost(&mut self, micros: u64) {
        self.dearest = self.dearest.max(Some(micros));
    }

    /// What a turn with this usage may cost, in millionths of a dollar: zero where nobody knows.
    #[must_use]
    pub fn expected_cost(&self, usage: Usage) -> u64 {
        let dearest = self.dearest.unwrap_or(0);
        self.price.map_or(dearest, |price| usage.cost_micros(price))
    }

    /// Whether anybody knows what turns cost.
    #[must_use]
    pub fn knows_cost(&self) -> bool {
        self.price.is_some() || self.dearest.is_some()
    }

    /// The limit that is in force for a dimension.
    #[must_use]
    pub fn limit(&self, dimension: Dimension) -> Option<u64> {
        let cost_leads = self.budget.cost_micros.is_some()
            && self.price.is_some_and(|price| price != Price::FREE);
        match dimension {
            Dimension::CostMicros if !cost_leads && self.dearest.is_none() => None,
            Dimension::Tokens if cost_leads => None,
            _ => self.budget.limit(dimension),
        }
    }

    /// What is spent in a dimension.
    #[must_use]
    pub fn used(&self, dimension: Dimension) -> u64 {
        self.spent.get(dimension)
    }

    /// What can still be reserved in a dimension; `None` where there is no limit.
    #[must_use]
    pub fn remaining(&self, dimension: Dimension) -> Option<u64> {
        let taken = self.spent.plus(&self.reserved).get(dimension);
        self.limit(dimension)
            .map(|limit| limit.saturating_sub(taken))
    }

    /// Whether there is room for an amount.
    ///
    /// # Errors
    /// The first dimension, in the order of [`Dimension::ALL`], that has none.
    pub fn fits(&self, ask: &Amounts) -> Result<(), Exhausted> {
        let taken = self.spent.plus(&self.reserved);
        for dimension in Dimension::ALL {
            let (used, asked) = (taken.get(dimension), ask.get(dimension));
            match self.limit(dimension) {
                Some(limit) if asked > 0 && used.saturating_add(asked) > limit => {
                    return Err(Exhausted {
                        dimension,
                        limit,
                        used,
                        asked,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Sets an amount aside: in every dimension, or in none.
    ///
    /// # Errors
    /// As [`Meter::fits`]; nothing is reserved then.
    pub fn reserve(&mut self, ask: Amounts) -> Result<Reservation, Exhausted> {
        self.fits(&ask)?;
        self.reserved = self.reserved.plus(&ask);
        Ok(Reservation(ask))
    }

    /// Turns a reservation into what was really used, and gives the rest back.
    ///
    /// More than was reserved can have been used (an estimate was low); it counts in full, and the
    /// next reservation finds less room.
    pub fn settle(&mut self, reservation: Reservation, used: &Amounts) {
        self.reserved = self.reserved.minus(&reservation.0);
        self.spent = self.spent.plus(used);
    }

    /// Raises limits by the given amounts. Dimensions without a limit stay so.
    pub fn extend(&mut self, more: &Budget) {
        for dimension in Dimension::ALL {
            if let (Some(limit), Some(more)) = (self.budget.limit(dimension), more.limit(dimension))
            {
                let limit = Some(limit.saturating_add(more));
                self.budget = self.budget.with(dimension, limit);
            }
        }
    }

    /// The limits, as they stand now.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The price that turns tokens into cost.
    #[must_use]
    pub fn price(&self) -> Option<Price> {
        self.price
    }

    /// The gauge of one dimension.
    #[must_use]
    pub fn gauge(&self, dimension: Dimension) -> Gauge {
        Gauge {
            dimension,
            used: self.used(dimension),
            limit: self.limit(dimension),
        }
    }
}

impl Gauge {
    /// Whether so much is used that the child is told to come to an end: four fifths.
    #[must_use]
    pub fn is_nearly_used_up(&self) -> bool {
        self.limit
            .is_some_and(|limit| limit > 0 && u128::from(self.used) * 5 >= u128::from(limit) * 4)
    }
}

impl fmt::Display for Gauge {
    /// As a status line shows it: `turns 3/30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = |micros: u64| {
            let cents = micros.div_ceil(10_000);
            format!("${}.{:02}", cents / 100, cents % 100)
        };
        let (label, show): (&str, &dyn Fn(u64) -> String) = match self.dimension {
            Dimension::ToolCalls => ("calls ", &|count| count.to_string()),
            Dimension::CostMicros => ("", &dollars),
            Dimension::WallSeconds => ("", &|seconds| format!("{seconds} s")),
            Dimension::IdleSeconds => ("idle ", &|seconds| format!("{seconds} s")),
            Dimension::OutputBytes => ("output ", &|bytes| format!("{} KiB", bytes.div_ceil(1024))),
            Dimension::ChangedFiles => ("files ", &|count| count.to_string()),
            Dimension::Turns => ("turns ", &|count| count.to_string()),
            Dimension::Commands => ("commands ", &|count| count.to_string()),
            Dimension::Tokens => ("tokens ", &|count| count.to_string()),
        };
        write!(f, "{label}{}", show(self.used))?;
        match self.limit {
            Some(limit) => write!(f, "/{}", show(limit)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRICE: Price = Price {
        input: 1_000_000,
        cached_input: 0,
        output: 1_000_000,
        cache_write: None,
    };

    fn budget() -> Budget {
        Budget {
            turns: Some(3),
            cost_micros: Some(100),
            tokens: Some(1000),
            ..Budget::UNLIMITED
        }
    }

    /// D4, N5: without a price cost isn't limited until somebody says what a turn cost; then it is, beside
    /// tokens, and each turn is expected to cost what the dearest one did.
    #[test]
    fn d4_a_reported_cost_limits_from_then_on() {
        let mut meter = Meter::new(budget(), None);
        assert_eq!(meter.limit(Dimension::CostMicros), None);
        assert!(!meter.knows_cost());
        let turn = |meter: &Meter| {
            let cost = meter.expected_cost(Usage::NONE);
            Amounts::NONE.with(Dimension::CostMicros, cost)
        };
        for cost in [30, 10] {
            let reservation = meter.reserve(turn(&meter)).unwrap();
            meter.hear_cost(cost);
            meter.settle(
                reservation,
                &Amounts::NONE.with(Dimension::CostMicros, cost),
            );
        }
        assert_eq!(meter.limit(Dimension::CostMicros), Some(100));
        assert_eq!(meter.limit(Dimension::Tokens), Some(1000));
        assert_eq!(meter.expected_cost(Usage::NONE), 30);
        let _two = [(); 2].map(|()| meter.reserve(turn(&meter)).unwrap());
        let refused = meter.reserve(turn(&meter)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cost_micros: 100 of 100 used, 30 more asked"
        );
        // A price that is known says more than what was reported.
        let mut meter = Meter::new(budget(), Some(PRICE));
        meter.hear_cost(30);
        assert_eq!(meter.expected_cost(Usage::NONE), 0);
    }

    #[test]
    fn a_reservation_is_all_or_nothing() {
        let mut meter = Meter::new(budget(), None);
        let ask = Amounts::NONE
            .with(Dimension::Turns, 1)
            .with(Dimension::Tokens, 1001);
        let refused = meter.reserve(ask).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "tokens: 0 of 1000 used, 1001 more asked"
        );
        assert_eq!(meter.remaining(Dimension::Turns), Some(3));
    }

    #[test]
    fn what_was_not_used_is_given_back() {
        let mut meter = Meter::new(budget(), None);
        let reservation = meter
            .reserve(Amounts::NONE.with(Dimension::Tokens, 900))
            .unwrap();
        assert_eq!(meter.remaining(Dimension::Tokens), Some(100));
        meter.settle(reservation, &Amounts::NONE.with(Dimension::Tokens, 50));
        assert_eq!(meter.remaining(Dimension::Tokens), Some(950));
    }

    /// D4: cost leads where a price is known, else tokens.
    #[test]
    fn one_of_cost_and_tokens_leads() {
        let leads = |budget, price| {
            let meter = Meter::new(budget, price);
            (
                meter.limit(Dimension::CostMicros),
                meter.limit(Dimension::Tokens),
            )
        };
        assert_eq!(leads(budget(), Some(PRICE)), (Some(100), None));
        assert_eq!(leads(budget(), None), (None, Some(1000)));
        assert_eq!(leads(budget(), Some(Price::FREE)), (None, Some(1000)));
        let no_cost = Budget {
            cost_micros: None,
            ..budget()
        };
        assert_eq!(leads(no_cost, Some(PRICE)), (None, Some(1000)));
    }

    #[test]
    fn extending_adds_to_limits_and_makes_none() {
        let mut meter = Meter::new(budget(), None);
        meter.extend(&Budget {
            turns: Some(2),
            commands: Some(9),
            ..Budget::UNLIMITED
        });
        assert_eq!(meter.limit(Dimension::Turns), Some(5));
        assert_eq!(meter.limit(Dimension::Commands), None);
    }

    #[test]
    fn four_fifths_is_nearly_used_up_but_no_budget_is_not() {
        let gauge = |used, limit| Gauge {
            dimension: Dimension::Turns,
            used,
            limit,
        };
        assert!(!gauge(23, Some(30)).is_nearly_used_up());
        assert!(gauge(24, Some(30)).is_nearly_used_up());
        assert!(!gauge(0, Some(0)).is_nearly_used_up());
        assert!(!gauge(u64::MAX, None).is_nearly_used_up());
        assert!(gauge(u64::MAX, Some(u64::MAX)).is_nearly_used_up());
    }

    proptest! {
        /// D4: whatever is asked, settled and overshot, a reservation never goes past a limit.
        #[test]
        fn reserving_never_passes_a_limit(
            steps in prop::collection::vec((0_u64..5, 0_u64..600, 0_u64..900, any::<bool>()), 0..60),
        ) {
            let mut meter = Meter::new(budget(), None);
            let mut held = Vec::new();
            for (turns, tokens, used, settles) in steps {
                let ask = Amounts::NONE.with(Dimension::Turns, turns).with(Dimension::Tokens, tokens);
                let before = meter.spent.plus(&meter.reserved);
                if let Ok(reservation) = meter.reserve(ask) {
                    for dimension in [Dimension::Turns, Dimension::Tokens] {
                        let after = before.plus(&ask).get(dimension);
                        prop_assert!(ask.get(dimension) == 0 || Some(after) <= meter.limit(dimension));
                    }
                    held.push(reservation);
                }
                if settles && let Some(reservation) = held.pop() {
                    meter.settle(reservation, &Amounts::NONE.with(Dimension::Tokens, used));
                }
            }
            for reservation in held {
                meter.settle(reservation, &Amounts::NONE);
            }
            prop_assert_eq!(meter.reserved, Amounts::NONE);
        }
    }
}
