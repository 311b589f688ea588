//! Processes are started from the main thread only.
//!
//! The kernel ends a child whose forking *thread* ends, and a thread of a pool may end. So the main
//! thread does nothing but this, and everything else runs beside it.

use std::sync::mpsc;
use std::thread;

use crate::RunError;

type Job = Box<dyn FnOnce() + Send>;

/// Hands work to the main thread. Cheap to copy.
#[derive(Clone)]
pub struct Spawner(mpsc::Sender<Job>);

impl Spawner {
    /// Runs `work` on the main thread and waits for its outcome. Blocks; a start takes milliseconds.
    ///
    /// # Errors
    /// When the main thread is gone.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RunError> {
        let (tell, told) = mpsc::sync_channel(1);
        let job: Job = Box::new(move || {
            // The one who asked may have given up; the outcome is dropped then, and ends itself.
            let _ = tell.send(work());
        });
        self.0.send(job).map_err(|_| RunError::Ending)?;
        told.recv().map_err(|_| RunError::Ending)
    }
}

/// Runs `work` on a thread beside, while this one, which must be the main thread, starts processes
/// for it. Returns what `work` returns.
pub fn on_main_thread<T: Send>(work: impl FnOnce(Spawner) -> T + Send) -> T {
    let (sender, jobs) = mpsc::channel::<Job>();
    let spawner = Spawner(sender);
    thread::scope(|scope| {
        let beside = scope.spawn(move || work(spawner));
        // Ends when the last spawner is dropped, at the latest with `work`.
        for job in jobs {
            job();
        }
        match beside.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_on_the_thread_that_called() {
        let here = thread::current().id();
        let (there, beside) = on_main_thread(|spawner| {
            (
                spawner.run(|| thread::current().id()).unwrap(),
                thread::current().id(),
            )
        });
        assert_eq!(there, here);
        assert_ne!(beside, here);
    }
}
