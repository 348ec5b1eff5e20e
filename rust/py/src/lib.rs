//! The binding: converts arguments, runs the core without the GIL, wraps results, maps errors.

mod errors;
mod vocabulary;

use pyo3::prelude::*;

/// The native module `clevrhope._core`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::vocabulary::PyVocabulary;
}
