//! Token rows and scenes in, what the audit reads in them out, as columns.

use crate::errors::VocabularyError;
use crate::scenes::PySceneGraphs;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{ProgramReader, Rows, Word, WordReader, read_rows};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

/// Reads finished questions apart from what made them.
#[pyclass(name = "AuditReader", module = "clevrhope._core", frozen)]
pub struct PyAuditReader {
    programs: ProgramReader,
    words: Option<WordReader>,
}

/// Whether programs and words mention the held-out values, and the answers' numbers.
type Columns<'py> = (Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<i32>>);

#[pymethods]
impl PyAuditReader {
    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, answers, pair, words))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        answers: Vec<String>,
        pair: Vec<(String, String)>,
        words: Vec<(String, Option<usize>, bool, bool)>,
    ) -> PyResult<Self> {
        let refused = |error: clevrhope_core::audit::AuditError| VocabularyError::new_err(error.to_string());
        let programs = ProgramReader::new(&vocabulary.0, &program_tokens, &answers, &pair).map_err(refused)?;
        let words: Vec<Word> = words
            .into_iter()
            .map(|(text, held_out, is_value, is_noun)| Word { text, held_out, is_value, is_noun })
            .collect();
        let reader = WordReader::new(&question_tokens, &words, pair.len()).map_err(refused)?;
        Ok(Self { programs, words: (!pair.is_empty()).then_some(reader) })
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        questions: PyReadonlyArray2<'py, i32>,
        programs: PyReadonlyArray2<'py, i32>,
        scenes: &PySceneGraphs,
        scene_idxs: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Columns<'py>> {
        let rows = Rows {
            questions: questions.as_slice()?,
            question_width: questions.shape()[1],
            programs: programs.as_slice()?,
            program_width: programs.shape()[1],
            scenes: scene_idxs.as_slice()?,
        };
        if rows.question_width == 0 || rows.program_width == 0 {
            return Err(PyValueError::new_err("rows of tokens have no width"));
        }
        let findings = py.detach(|| {
            let views: Vec<_> = scenes.0.graphs.iter().map(|graph| graph.view()).collect();
            read_rows(&self.programs, self.words.as_ref(), rows, &views)
        });
        let findings = findings.map_err(|error| PyIndexError::new_err(error.to_string()))?;
        Ok((
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.by_program)),
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.by_words)),
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.answer)),
        ))
    }
}
