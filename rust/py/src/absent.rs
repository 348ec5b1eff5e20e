//! Token rows in, which of them ask for what was not seen out, as columns.

use crate::errors::VocabularyError;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{AbsentReader, Word};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Reads finished questions for combinations that were not seen, apart from what made them.
#[pyclass(name = "AbsentReader", module = "clevrhope._core", frozen)]
pub struct PyAbsentReader(AbsentReader);

#[pymethods]
impl PyAbsentReader {
    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, types, seen, words))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        types: (String, String),
        seen: Vec<(String, String)>,
        words: Vec<(String, Option<usize>, bool, bool)>,
    ) -> PyResult<Self> {
        let words: Vec<Word> = words
            .into_iter()
            .map(|(text, held_out, is_value, is_noun)| Word { text, held_out, is_value, is_noun })
            .collect();
        let types = [types.0.as_str(), types.1.as_str()];
        let reader = AbsentReader::new(&vocabulary.0, &program_tokens, &question_tokens, &words, types, &seen);
        reader.map(Self).map_err(|error| VocabularyError::new_err(error.to_string()))
    }

    #[allow(clippy::type_complexity)] // Two columns of truths.
    fn read<'py>(
        &self,
        py: Python<'py>,
        questions: PyReadonlyArray2<'py, i32>,
        programs: PyReadonlyArray2<'py, i32>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>)> {
        if questions.shape()[0] != programs.shape()[0] || questions.shape()[1] == 0 || programs.shape()[1] == 0 {
            return Err(PyValueError::new_err("rows of words and of programs are not as many, or have no width"));
        }
        let widths = [questions.shape()[1], programs.shape()[1]];
        let (questions, programs) = (questions.as_slice()?, programs.as_slice()?);
        let found = py.detach(|| self.0.read_rows(questions, programs, widths));
        Ok((
            PyArray1::from_iter(py, found.iter().map(|(by_program, _)| *by_program)),
            PyArray1::from_iter(py, found.iter().map(|(_, by_words)| *by_words)),
        ))
    }
}
