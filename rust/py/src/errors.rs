//! Maps the engine's errors to the exceptions of `clevrhope.errors`.

use clevrhope_core::{Error, split};
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use std::fmt::Display;

pyo3::import_exception!(clevrhope.errors, ProgramError);
pyo3::import_exception!(clevrhope.errors, SceneError);
pyo3::import_exception!(clevrhope.errors, SplitError);
pyo3::import_exception!(clevrhope.errors, TemplateError);
pyo3::import_exception!(clevrhope.errors, VocabularyError);

/// An exception of the class `E` with an error's message.
pub fn raise<E: PyTypeInfo>(error: impl Display) -> PyErr {
    PyErr::new::<E, _>(error.to_string())
}

/// The Python exception of an error: one class per domain, with the same message.
pub fn to_python(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    match error {
        Error::Vocab(_) => raise::<VocabularyError>(error),
        Error::Scene(_) | Error::Split(split::SplitError::Scene(_)) => raise::<SceneError>(error),
        Error::Template(_) | Error::Suite(_) | Error::QuestionTokens(_) => raise::<TemplateError>(error),
        Error::Split(_) => raise::<SplitError>(error),
        Error::Program(_) | Error::Tokens(_) | Error::Encode(_) | Error::Batch(_) => raise::<ProgramError>(error),
    }
}
