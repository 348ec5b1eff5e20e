//! Cuts long work into short pieces, between which Ctrl-C takes effect.

use pyo3::prelude::*;
use std::io::{self, Read};
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a piece may take at most, roughly: half of what a person notices.
const PIECE: Duration = Duration::from_millis(50);

/// Runs `work` on consecutive ranges that cover `0..n`, without the GIL, until one fails.
///
/// Pieces grow while they are quick, so that small calls stay one call. Results must not depend on
/// where the pieces end: the clock decides that.
///
/// # Errors
/// What `work` gives, or `KeyboardInterrupt` (or what another signal's handler raises).
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
        #[allow(clippy::disallowed_methods)] // Pieces are joined, so their sizes do not show.
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

/// A file that stops being read at Ctrl-C: it looks for signals at each read, which should be of many bytes.
pub struct Interruptible<R> {
    file: R,
    interrupt: Option<PyErr>,
}

impl<R: Read> Interruptible<R> {
    pub fn new(file: R) -> Self {
        Self { file, interrupt: None }
    }

    /// Errors with what stopped the reading, if something did: `KeyboardInterrupt`, say.
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
