//! Runs that belong together: the steps of a chain.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deputize_runs::RunId;

/// The chains of this server.
#[derive(Clone, Default)]
pub(crate) struct Groups(Arc<Mutex<Vec<Arc<Mutex<Chain>>>>>);

/// A chain, as far as it has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    /// The steps that began.
    pub(crate) runs: Vec<RunId>,
    /// All steps.
    pub(crate) steps: usize,
    /// Whether no further step comes.
    pub(crate) over: bool,
    /// Why a step wasn't begun, in words.
    pub(crate) refused: Option<deputize_authority::Refusal>,
}

/// Chains that are remembered.
const MOST: usize = 64;

impl Groups {
    pub(crate) fn begin(&self, steps: usize) -> Arc<Mutex<Chain>> {
        let chain = Arc::new(Mutex::new(Chain {
            steps,
            ..Chain::default()
        }));
        let mut chains = lock(&self.0);
        if chains.len() >= MOST {
            chains.remove(0);
        }
        chains.push(Arc::clone(&chain));
        chain
    }

    /// The chain that a run is a step of.
    pub(crate) fn of(&self, run: &RunId) -> Option<Chain> {
        let chains = lock(&self.0);
        let mut found = chains.iter().map(|chain| lock(chain).clone());
        found.rfind(|chain| chain.runs.contains(run))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
