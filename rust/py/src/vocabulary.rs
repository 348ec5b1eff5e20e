//! The handle of a vocabulary.

use crate::errors::to_python;
use clevrhope_core::article;
use clevrhope_core::vocab::Vocabulary;
use pyo3::prelude::*;
use std::sync::Arc;

/// The attribute types of a world with their values, and its answers.
///
/// Args:
///     properties: a properties file in CLEVR's format.
///     file: its name, for messages.
///     largest_count: the largest integer answer.
///
/// Raises:
///     VocabularyError: the file is not JSON, or not a usable vocabulary; says where.
#[pyclass(name = "Vocabulary", module = "clevrhope._core", frozen)]
pub struct PyVocabulary(pub Arc<Vocabulary>);

/// Whether the article of these words is "an", by the sound of the first.
#[pyfunction]
pub fn takes_an(words: &str) -> bool {
    article::takes_an(words)
}

/// Each attribute type with its values.
pub fn attribute_types(vocab: &Vocabulary) -> Vec<(&str, Vec<&str>)> {
    vocab.types().iter().map(|kind| (kind.name, kind.values.iter().map(String::as_str).collect())).collect()
}

#[pymethods]
impl PyVocabulary {
    #[new]
    #[pyo3(signature = (properties, *, file, largest_count = 10))]
    fn new(properties: &[u8], file: &str, largest_count: u8) -> PyResult<Self> {
        let vocab = Vocabulary::from_properties_json(properties, file, largest_count).map_err(to_python)?;
        Ok(Self(Arc::new(vocab)))
    }

    /// Each attribute type with its values, in the order of their numbers.
    #[getter]
    fn attribute_types(&self) -> Vec<(&str, Vec<&str>)> {
        attribute_types(&self.0)
    }

    /// All answers as CLEVR spells them, in the order of their numbers: yes, no, integers, values.
    #[getter]
    fn answers(&self) -> Vec<String> {
        self.0.answer_texts()
    }

    /// All answers to questions over several images: those in `answers`, then the relations.
    #[getter]
    fn set_answers(&self) -> Vec<String> {
        self.0.answer_texts_of_sets()
    }

    fn __repr__(&self) -> String {
        let types: Vec<String> =
            self.0.types().iter().map(|kind| format!("{} {}", kind.name, kind.values.len())).collect();
        format!("<Vocabulary with values of each type: {}>", types.join(", "))
    }
}
