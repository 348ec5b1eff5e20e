//! The audit's reader for questions that ask for unseen combinations of values.

use crate::audit::{WordEntry, words_of};
use crate::conversion::{self, Values};
use crate::errors::{VocabularyError, raise};
use crate::findings::{Counted, counted};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::AbsentReader;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Finds finished questions that ask for unseen combinations of values, independently of the code that made them.
///
/// Args:
///     vocabulary: the questions' vocabulary.
///     question_tokens: question tokens by number.
///     program_tokens: program tokens by number.
///     types: the two attribute types of the combinations.
///     seen: the pairs of values of these types that objects had.
///     words: (text, number of the value that it names or None, whether it names a value, whether it ends a noun
///         phrase); values of the first type have the first numbers, and values of the second type follow.
///
/// Raises:
///     VocabularyError: a type or value is not in the vocabulary, or there are too many values.
#[pyclass(name = "AbsentReader", module = "clevrhope._core", frozen)]
pub struct PyAbsentReader {
    reader: AbsentReader,
    types: (String, String),
    n_seen: usize,
}

#[pymethods]
impl PyAbsentReader {
    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, types, seen, words))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        types: (String, String),
        seen: Values,
        words: Vec<WordEntry>,
    ) -> PyResult<Self> {
        let both = [types.0.as_str(), types.1.as_str()];
        let words = words_of(words);
        let reader = AbsentReader::new(&vocabulary.0, &program_tokens, &question_tokens, &words, both, &seen);
        Ok(Self { reader: reader.map_err(raise::<VocabularyError>)?, types, n_seen: seen.len() })
    }

    /// The questions that ask for a value, or for a combination of two values, that no object had.
    ///
    /// Returns rows with one violation each, in the order of the rows, at most `most` of each kind; and the total
    /// number of violations of each kind. `questions` (N, Q) and `programs` (N, P) are rows of tokens.
    ///
    /// Raises:
    ///     ValueError: rows have no tokens, or there are not as many questions as programs.
    fn violations(
        &self,
        py: Python<'_>,
        questions: PyReadonlyArray2<'_, i32>,
        programs: PyReadonlyArray2<'_, i32>,
        most: usize,
    ) -> PyResult<Counted> {
        if questions.shape()[0] != programs.shape()[0] || questions.shape()[1] == 0 || programs.shape()[1] == 0 {
            return Err(PyValueError::new_err(
                "expected as many rows of question tokens as of program tokens, none of them empty",
            ));
        }
        let widths = [questions.shape()[1], programs.shape()[1]];
        let (questions, programs) = (conversion::row_by_row(&questions)?, conversion::row_by_row(&programs)?);
        let found = py.detach(|| self.reader.read_rows(questions, programs, widths, most));
        Ok(counted(&found))
    }

    fn __repr__(&self) -> String {
        format!("<AbsentReader of {} and {}, {} combinations seen>", self.types.0, self.types.1, self.n_seen)
    }
}
