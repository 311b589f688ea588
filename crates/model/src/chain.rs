//! Models in an order: when one can't be used, the next takes over (D6).

use std::sync::atomic::{AtomicUsize, Ordering};

use deputize_authority::Refusal;

use crate::{
    ModelClient, ModelLabel, ModelName, Price, ReadyFuture, TurnFuture, TurnRequest, Watch,
};

/// A model and those that take over from it, each after the one before it.
///
/// # Invariants
/// - One never takes over in the middle of an answer: only where a turn came to nothing because the
///   model, or its account, was out of reach.
/// - Each time is told: `model_substituted`, with both prices. There is no way back.
pub struct Chain {
    first: Box<dyn ModelClient>,
    rest: Vec<Box<dyn ModelClient>>,
    /// Which of them answers; 0 is the first.
    at: AtomicUsize,
}

impl Chain {
    /// A model, and those that take over.
    #[must_use]
    pub fn new(first: Box<dyn ModelClient>, rest: Vec<Box<dyn ModelClient>>) -> Self {
        Self {
            first,
            rest,
            at: AtomicUsize::new(0),
        }
    }

    fn current(&self) -> (usize, &dyn ModelClient) {
        let at = self.at.load(Ordering::Relaxed);
        let taken_over = at.checked_sub(1).and_then(|index| self.rest.get(index));
        (at, taken_over.unwrap_or(&self.first).as_ref())
    }

    /// Lets the next one take over, if there is one.
    fn substitute(&self, at: usize, why: &str, watch: &dyn Watch) -> Option<()> {
        let (_, before) = self.current();
        let next = self.rest.get(at)?;
        let shown = |client: &dyn ModelClient| {
            let price = client.price();
            let price = price.map_or("unknown price".to_owned(), |price| price.to_string());
            format!("{} ({price})", client.name())
        };
        let told = format!(
            "{} takes over from {}: {why}",
            shown(next.as_ref()),
            shown(before)
        );
        self.at.store(at + 1, Ordering::Relaxed);
        watch.notice("model_substituted", told);
        Some(())
    }
}

impl ModelClient for Chain {
    fn name(&self) -> &ModelName {
        self.current().1.name()
    }

    fn label(&self) -> ModelLabel {
        self.current().1.label()
    }

    fn price(&self) -> Option<Price> {
        self.current().1.price()
    }

    fn ready<'a>(&'a self, watch: &'a dyn Watch) -> ReadyFuture<'a> {
        Box::pin(async move {
            let mut said: Option<Refusal> = None;
            loop {
                let (at, client) = self.current();
                let Err(refusal) = client.ready(watch).await else {
                    return Ok(());
                };
                let why = refusal.reason.clone();
                // What was asked for first is what a person can mend best.
                let first = said.get_or_insert(refusal);
                if self.substitute(at, &why, watch).is_none() {
                    return Err(first.clone());
                }
            }
        })
    }

    fn turn<'a>(&'a self, request: &'a TurnRequest, watch: &'a dyn Watch) -> TurnFuture<'a> {
        Box::pin(async move {
            loop {
                let (at, client) = self.current();
                match client.turn(request, watch).await {
                    Ok(mut turn) => {
                        turn.price = turn.price.or(client.price());
                        return Ok(turn);
                    }
                    Err(error) if error.is_of_this_model() => {
                        let why = error.to_string();
                        if self.substitute(at, &why, watch).is_none() {
                            return Err(error);
                        }
                    }
                    Err(error) => return Err(error),
                }
            }
        })
    }
}
