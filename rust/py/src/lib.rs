//! The binding: converts arguments, runs the core without the GIL, wraps results, maps errors.

use pyo3::prelude::*;

/// The native module `clevrhope._core`.
#[pymodule]
fn _core(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
