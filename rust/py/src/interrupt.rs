//! Cuts long work into short pieces, between which Ctrl-C takes effect.

use crate::errors::to_python;
use clevrhope_core::Error;
use clevrhope_core::render::stop::Stop;
use clevrhope_core::split::EligibleScenes;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::io::{self, Read};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The approximate maximum duration of a piece: half of what a person notices.
const PIECE: Duration = Duration::from_millis(50);

/// Runs `work` on consecutive ranges that cover `0..n`, without the GIL, until one fails.
///
/// Pieces grow while they are quick, so that small calls remain a single piece. The clock decides where pieces end, so
/// results must not depend on it.
///
/// # Errors
/// The error of `work`, or `KeyboardInterrupt` (or the exception of another signal's handler).
pub fn in_pieces(
    py: Python<'_>,
    n: usize,
    first_piece: usize,
    mut work: impl FnMut(Range<usize>) -> PyResult<()> + Send,
) -> PyResult<()> {
    let (mut start, mut size) = (0, first_piece.max(1));
    while start < n {
        let piece = start..n.min(start.saturating_add(size));
        start = piece.end;
        #[allow(clippy::disallowed_methods)] // The results of pieces are joined, so they do not depend on the clock.
        let began = Instant::now();
        py.detach(|| work(piece))?;
        py.check_signals()?;
        let took = began.elapsed();
        size = match (took * 2 < PIECE, took > PIECE) {
            (true, _) => size.saturating_mul(2),
            (_, true) => (size / 2).max(1),
            _ => size,
        };
    }
    Ok(())
}

/// Runs `work` without the GIL in another thread, and has it stop at Ctrl-C.
///
/// Only after that, or when somebody else sets `stop`, may it return None.
///
/// # Errors
/// The error of `work`, or `KeyboardInterrupt` (or the exception of another signal's handler).
pub fn stoppable<T: Send, E: Into<Error> + Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce(&Stop) -> Result<Option<T>, E> + Send,
) -> PyResult<T> {
    let (is_done, done) = (Mutex::new(false), Condvar::new());
    let lock = || is_done.lock().unwrap_or_else(PoisonError::into_inner);
    let mut signal = None;
    let made = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let made = work(stop);
            *lock() = true;
            done.notify_one();
            made
        });
        while !worker.is_finished() {
            py.detach(|| drop(done.wait_timeout_while(lock(), PIECE, |is_done| !*is_done)));
            if let Err(exception) = py.check_signals() {
                signal = Some(exception);
                stop.set();
            }
        }
        worker.join()
    });
    signal.map_or(Ok(()), Err)?;
    let made = made.unwrap_or_else(|panic| resume_unwind(panic)).map_err(to_python)?;
    made.ok_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// Finds the scenes of `n_windows` windows, a window at a time.
pub fn find_windows(py: Python<'_>, scenes: &mut EligibleScenes, n_windows: usize) -> PyResult<()> {
    while scenes.waiting_windows() < n_windows {
        py.detach(|| scenes.find_window()).map_err(to_python)?;
        py.check_signals()?;
    }
    Ok(())
}

/// A file whose reading stops at Ctrl-C: it checks for signals at each read, so reads should be of many bytes.
pub struct Interruptible<R> {
    file: R,
    interrupt: Option<PyErr>,
}

impl<R: Read> Interruptible<R> {
    pub fn new(file: R) -> Self {
        Self { file, interrupt: None }
    }

    /// Fails with the exception that stopped the reading, such as `KeyboardInterrupt`, if there was one.
    pub fn check(self) -> PyResult<()> {
        self.interrupt.map_or(Ok(()), Err)
    }
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Err(interrupt) = Python::attach(|py| py.check_signals()) {
            self.interrupt = Some(interrupt);
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
