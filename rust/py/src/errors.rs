//! The engine's errors in, the exceptions of `clevrhope.errors` out.

use clevrhope_core::{Error, split};
use pyo3::prelude::*;

pyo3::import_exception!(clevrhope.errors, ProgramError);
pyo3::import_exception!(clevrhope.errors, SceneError);
pyo3::import_exception!(clevrhope.errors, SplitError);
pyo3::import_exception!(clevrhope.errors, TemplateError);
pyo3::import_exception!(clevrhope.errors, VocabularyError);

/// The Python exception of an error: one class a domain, the message as it is.
pub fn to_python(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let message = error.to_string();
    match error {
        Error::Vocab(_) => VocabularyError::new_err(message),
        Error::Scene(_) => SceneError::new_err(message),
        Error::Template(_) | Error::QuestionTokens(_) => TemplateError::new_err(message),
        Error::Split(split::SplitError::Scene(_)) => SceneError::new_err(message),
        Error::Split(_) => SplitError::new_err(message),
        Error::Program(_) | Error::Tokens(_) | Error::Encode(_) | Error::Batch(_) => ProgramError::new_err(message),
    }
}
