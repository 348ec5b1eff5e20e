//! A properties file in, a vocabulary handle out.

use crate::errors::to_python;
use clevrhope_core::vocab::{RELATION_NAMES, Vocabulary};
use pyo3::prelude::*;
use std::sync::Arc;

/// Attribute types with their values, relations and answers.
#[pyclass(name = "Vocabulary", module = "clevrhope._core", frozen)]
pub struct PyVocabulary(pub Arc<Vocabulary>);

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

    #[getter]
    fn attribute_types(&self) -> Vec<(&str, Vec<&str>)> {
        attribute_types(&self.0)
    }

    #[getter]
    fn relations(&self) -> Vec<&str> {
        RELATION_NAMES.to_vec()
    }

    #[getter]
    fn answers(&self) -> Vec<String> {
        self.0.answer_texts()
    }
}
