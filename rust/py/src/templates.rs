//! The handle of a folder of question templates.

use crate::conversion::{self, Values};
use crate::errors::to_python;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::vocab::{TYPE_NAMES, Vocabulary};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The question families of a folder of templates.
///
/// Args:
///     files: template files as (name without folder or suffix, content).
///     order: names of files; families are numbered in this order of files, and the other files follow by name.
///     synonyms: a JSON object with the synonyms of values, relations and "thing".
///     vocabulary: the vocabulary of the values that templates name.
///     synonyms_file: the name of the synonyms' file, for messages.
///
/// Raises:
///     TemplateError: a file is not in CLEVR's template format; names the file, the template and the place in it.
#[pyclass(name = "Templates", module = "clevrhope._core", frozen)]
#[derive(Clone)]
pub struct PyTemplates {
    pub vocab: Arc<Vocabulary>,
    pub templates: Arc<TemplateSet>,
}

#[pymethods]
impl PyTemplates {
    #[new]
    #[pyo3(signature = (files, order, synonyms, vocabulary, *, synonyms_file = "synonyms.json"))]
    fn new(
        files: Vec<(String, Vec<u8>)>,
        order: Vec<String>,
        synonyms: &[u8],
        vocabulary: &PyVocabulary,
        synonyms_file: &str,
    ) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let templates =
            TemplateSet::from_files(&vocab, &files, &order, (synonyms_file, synonyms)).map_err(to_python)?;
        Ok(Self { vocab, templates: Arc::new(templates) })
    }

    /// Number of question families.
    #[getter]
    fn n_families(&self) -> usize {
        self.templates.families().len()
    }

    /// File name, index in the file, and global index of each family, by global index.
    #[getter]
    fn families(&self) -> Vec<(String, u32, u32)> {
        let families = self.templates.families().iter();
        families.map(|family| (format!("{}.json", family.file), family.index_in_file, family.index)).collect()
    }

    /// Every token that can occur in a question, sorted, without the special tokens.
    #[getter]
    fn words(&self) -> Vec<String> {
        self.templates.words()
    }

    /// Names of the functions that programs can use, in the catalogue's order.
    #[getter]
    fn functions(&self) -> Vec<String> {
        self.templates.functions().iter().map(ToString::to_string).collect()
    }

    /// For each attribute type of one value, the number of families that ask for its values or compare them, and that
    /// no question has.
    #[getter]
    fn not_asked(&self) -> BTreeMap<&'static str, usize> {
        let families = self.templates.families().iter();
        let mut counts = BTreeMap::new();
        for kind in families.filter_map(|family| family.asks_of_one_value(&self.vocab)) {
            *counts.entry(TYPE_NAMES[usize::from(kind)]).or_default() += 1;
        }
        counts
    }

    /// 64 hexadecimal digits; template sets with the same fingerprint give the same questions.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.templates.fingerprint()
    }

    /// Maximum number of tokens of a question, including <START> and <END>.
    #[getter]
    fn question_width(&self) -> usize {
        self.templates.question_width()
    }

    /// Maximum number of tokens of a program, including <START> and <END>.
    #[getter]
    fn program_width(&self) -> usize {
        self.templates.program_width()
    }

    /// Global indices of the families that can name all these values for one set of objects.
    fn families_that_can_mention(&self, held_out: Values) -> PyResult<Vec<usize>> {
        let holdout = conversion::holdout(&self.vocab, &held_out)?;
        let plans = self.templates.plans(&self.vocab);
        Ok((0..plans.len()).filter(|&family| plans[family].can_mention(&holdout)).collect())
    }

    fn __repr__(&self) -> String {
        let fingerprint = conversion::short(self.templates.fingerprint());
        format!("<Templates of {} question families, fingerprint {fingerprint}...>", self.n_families())
    }
}
