//! Stops a render that is under way in other threads.

use std::sync::atomic::{AtomicBool, Ordering};

/// Tells the threads of a render to stop. A render that was stopped gives no image.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The result of a piece of work; None, without the work, if it is to stop.
    pub fn unless_set<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        (!self.0.load(Ordering::Relaxed)).then(work)
    }
}
