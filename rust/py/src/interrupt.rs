//! Long work in, the same work in short pieces out, between which Ctrl-C takes effect.

use pyo3::prelude::*;
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
