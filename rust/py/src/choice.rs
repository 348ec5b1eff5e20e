//! Python's arguments for the engine's enums: names, as in `quality="draft"`.

use clevrhope_core::covr::{DistractorChoice, PairPlace};
use clevrhope_core::message::shown;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::render::fast::Effort;
use clevrhope_core::split::{DiversityMode, MinimalKind, SceneRule};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An argument that must be one of a few names.
pub struct Choice<T>(pub T);

/// Values that have names in Python.
pub trait Named: Copy + 'static {
    /// The name of the argument, for messages.
    const ARGUMENT: &'static str;
    const NAMES: &'static [(&'static str, Self)];
}

impl Named for SceneRule {
    const ARGUMENT: &'static str = "scenes";
    const NAMES: &'static [(&'static str, Self)] =
        &[("any", Self::Any), ("without", Self::Without), ("with", Self::With)];
}

impl Named for QuestionRule {
    const ARGUMENT: &'static str = "questions";
    const NAMES: &'static [(&'static str, Self)] =
        &[("any", Self::Any), ("without", Self::Without), ("unimplied", Self::Unimplied), ("with", Self::With)];
}

impl Named for PairPlace {
    const ARGUMENT: &'static str = "places";
    const NAMES: &'static [(&'static str, Self)] =
        &[("nowhere", Self::Nowhere), ("question", Self::Mentioned), ("distractor", Self::Distractor)];
}

impl Named for DistractorChoice {
    const ARGUMENT: &'static str = "distractors";
    const NAMES: &'static [(&'static str, Self)] = &[("edited", Self::Edited), ("random", Self::Random)];
}

impl Named for MinimalKind {
    const ARGUMENT: &'static str = "kind";
    const NAMES: &'static [(&'static str, Self)] = &[("iid", Self::Iid), ("ood", Self::Ood)];
}

impl Named for DiversityMode {
    const ARGUMENT: &'static str = "mode";
    const NAMES: &'static [(&'static str, Self)] = &[("nested", Self::Nested), ("grid", Self::Grid)];
}

impl Named for Effort {
    const ARGUMENT: &'static str = "quality";
    const NAMES: &'static [(&'static str, Self)] =
        &[("draft", Self::DRAFT), ("standard", Self::STANDARD), ("high", Self::HIGH)];
}

impl<'a, 'py, T: Named> FromPyObject<'a, 'py> for Choice<T> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let name: &str = given.extract()?;
        match T::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => Ok(Self(*value)),
            None => {
                let known: Vec<&str> = T::NAMES.iter().map(|(known, _)| *known).collect();
                let (argument, name, known) = (T::ARGUMENT, shown(name), known.join(", "));
                Err(PyValueError::new_err(format!("{argument}: unknown value \"{name}\"; known: {known}")))
            }
        }
    }
}
