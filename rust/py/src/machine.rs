//! The engine's version, and the vector instructions that it uses.

use clevrhope_core::machine;
use pyo3::prelude::*;

/// The version of the engine, which is the package's when both come from one wheel.
#[pyfunction]
pub fn engine_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The vector instructions that the renderer uses beyond those that its build requires: "AVX2" or "none".
///
/// The images are the same with and without them.
#[pyfunction]
pub fn vector_instructions() -> &'static str {
    machine::vector_instructions()
}
