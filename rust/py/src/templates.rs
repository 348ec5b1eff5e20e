//! Template files in, a handle of question families out.

use crate::convert;
use crate::errors::to_python;
use crate::world::PyWorld;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::vocab::Vocabulary;
use pyo3::prelude::*;
use std::sync::Arc;

/// The families of a folder of templates, ready to be searched.
#[pyclass(name = "Templates", module = "clevrhope._core", frozen)]
#[derive(Clone)]
pub struct PyTemplates {
    pub vocab: Arc<Vocabulary>,
    pub templates: Arc<TemplateSet>,
}

#[pymethods]
impl PyTemplates {
    #[new]
    #[pyo3(signature = (files, order, synonyms, world, *, synonyms_file = "synonyms.json"))]
    fn new(
        files: Vec<(String, Vec<u8>)>,
        order: Vec<String>,
        synonyms: &[u8],
        world: &PyWorld,
        synonyms_file: &str,
    ) -> PyResult<Self> {
        let vocab = world.vocab.clone();
        let templates =
            TemplateSet::from_files(&vocab, &files, &order, (synonyms_file, synonyms)).map_err(to_python)?;
        Ok(Self { vocab, templates: Arc::new(templates) })
    }

    #[getter]
    fn n_families(&self) -> usize {
        self.templates.families().len()
    }

    #[getter]
    fn families(&self) -> Vec<(String, u32, u32)> {
        let families = self.templates.families().iter();
        families.map(|family| (format!("{}.json", family.file), family.index_in_file, family.index)).collect()
    }

    #[getter]
    fn words(&self) -> Vec<String> {
        self.templates.words()
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        self.templates.fingerprint()
    }

    #[getter]
    fn question_width(&self) -> usize {
        self.templates.question_width()
    }

    #[getter]
    fn program_width(&self) -> usize {
        self.templates.program_width()
    }

    fn families_that_can_mention(&self, pair: Vec<(String, String)>) -> PyResult<Vec<usize>> {
        let holdout = convert::holdout(&self.vocab, &pair)?;
        let plans = self.templates.plans(&self.vocab);
        Ok((0..plans.len()).filter(|&family| plans[family].can_mention(&holdout)).collect())
    }
}
