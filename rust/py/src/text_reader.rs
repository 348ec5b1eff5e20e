//! The audit's text parser, and its check of balanced windows.

use crate::audit::rows_of;
use crate::audit_scenes::PyAuditScenes;
use crate::conversion::{self, TokenRows};
use crate::errors::{TemplateError, raise};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{
    Agreement, Names, ProgramReader, QuestionColumns, Reading, TextParser, WindowSearch, check_balance, number_words,
    parse_rows, read_texts,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

/// Families; programs and their lengths; numbers of meanings.
type Meanings<'py> = (Bound<'py, PyArray1<i32>>, TokenRows<'py>, Bound<'py, PyArray1<i32>>);

/// Each row's flags, and digests of the words.
type Columns<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u64>>);

/// Parses the words of questions back to programs with the templates, independently of the code that made them.
///
/// Args:
///     vocabulary: the questions' vocabulary.
///     question_tokens: question tokens by number, as in vocab.json.
///     program_tokens: program tokens by number.
///     answers: answers by number.
///     templates: template files as (name without suffix, content), in the order in which families are numbered.
///     synonyms: a JSON object with the synonyms of values, relations and "thing".
///
/// Raises:
///     TemplateError: a file is not a template file, or a phrasing cannot be parsed; names the place.
#[pyclass(name = "TextReader", module = "clevrhope._core", frozen)]
pub struct PyTextReader {
    parser: TextParser,
    programs: ProgramReader,
}

#[pymethods]
impl PyTextReader {
    /// Flag of `read`: no template produces this text.
    #[classattr]
    const UNREAD: u8 = 1;
    /// Flag of `read`: the words do not mean the program.
    #[classattr]
    const OTHER_PROGRAM: u8 = 2;
    /// Flag of `read`: the words mean the program, but in another family.
    #[classattr]
    const OTHER_FAMILY: u8 = 4;
    /// Flag of `read`: the program that the words mean has another answer.
    #[classattr]
    const OTHER_ANSWER: u8 = 8;
    /// Flag of `read`: the words mean several programs.
    #[classattr]
    const SEVERAL: u8 = 16;
    /// Flag of `read`: these programs have different answers on this image.
    #[classattr]
    const AMBIGUOUS: u8 = 32;

    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, answers, templates, synonyms))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        answers: Vec<String>,
        templates: Vec<(String, Vec<u8>)>,
        synonyms: &[u8],
    ) -> PyResult<Self> {
        let names = Names::new(&question_tokens, &program_tokens, &answers);
        let parser = TextParser::new(&names, &templates, synonyms);
        let programs = ProgramReader::new(&vocabulary.0, &program_tokens, &answers, &[]);
        Ok(Self { parser: parser.map_err(raise::<TemplateError>)?, programs: programs.map_err(raise::<PyValueError>)? })
    }

    /// For each family, the numbers of the answers that it can have.
    #[getter]
    fn answers_by_family(&self) -> Vec<Vec<i32>> {
        (0..self.parser.n_families()).map(|family| self.parser.answers(family).to_vec()).collect()
    }

    /// Compares the words of questions (N, Q) with their programs (N, P), families and answers (N,). Uses all cores.
    ///
    /// Returns (N,) flags, and (N,) digests that are equal for rows with the same words. `scene_idxs` (N,) are indices
    /// into `scenes`, or -1 if there is no scene; then the row's answer is not compared.
    ///
    /// Raises:
    ///     ValueError: columns have different lengths.
    #[expect(clippy::too_many_arguments)]
    fn read<'py>(
        &self,
        py: Python<'py>,
        questions: PyReadonlyArray2<'py, i32>,
        programs: PyReadonlyArray2<'py, i32>,
        families: PyReadonlyArray1<'py, i32>,
        answers: PyReadonlyArray1<'py, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Columns<'py>> {
        let lengths = [questions.shape()[0], programs.shape()[0], families.len(), answers.len()];
        if lengths.iter().any(|&n| n != lengths[0]) || scene_idxs.len() != lengths[0] {
            return Err(PyValueError::new_err(format!("columns of different lengths, {lengths:?}")));
        }
        let (families, answers) = (families.as_slice()?, answers.as_slice()?);
        let rows = rows_of(&questions, &programs, &scene_idxs)?;
        let view = |scene: usize| scenes.scenes.view(scene);
        let parsed = py.detach(|| parse_rows(&self.parser, &self.programs, rows, families, answers, view));
        Ok((
            PyArray1::from_iter(py, parsed.iter().map(|(agreement, _)| Self::flags(*agreement))),
            PyArray1::from_iter(py, parsed.iter().map(|(_, digest)| *digest)),
        ))
    }

    /// Reads questions (N, Q) back to programs. Uses all cores.
    ///
    /// Returns:
    ///     (N,) families, -1 for a text that no template gives; (N, P) programs, cut or padded with 0, which are
    ///     `<START> <END>` for such a text, and (N,) how many tokens there are; (N,) how many meanings a text has, of
    ///     which the first is taken.
    ///
    /// Raises:
    ///     ValueError: `program_width` is below 2.
    fn meanings<'py>(
        &self,
        py: Python<'py>,
        questions: PyReadonlyArray2<'py, i32>,
        program_width: usize,
    ) -> PyResult<Meanings<'py>> {
        let (rows, width) = (conversion::row_by_row(&questions)?, questions.shape()[1]);
        let read = py.detach(|| read_texts(&self.parser, rows, width));
        let programs = conversion::token_rows(py, &read, program_width, |_, (reading, _), row| {
            conversion::marked(reading.as_ref().map_or(&[], |reading| &reading.program), row)
        })?;
        let family = |(reading, _): &(Option<Reading>, _)| reading.as_ref().map_or(-1, |found| i32::from(found.family));
        let families = PyArray1::from_iter(py, read.iter().map(family));
        Ok((families, programs, PyArray1::from_iter(py, read.iter().map(|(_, n)| *n as i32))))
    }

    fn __repr__(&self) -> String {
        format!("<TextReader of {} question families>", self.parser.n_families())
    }
}

impl PyTextReader {
    fn flags(found: Agreement) -> u8 {
        let flags = [
            (found.is_unread, Self::UNREAD),
            (found.is_other_program, Self::OTHER_PROGRAM),
            (found.is_other_family, Self::OTHER_FAMILY),
            (found.is_other_answer, Self::OTHER_ANSWER),
            (found.has_several, Self::SEVERAL),
            (found.is_ambiguous, Self::AMBIGUOUS),
        ];
        flags.into_iter().filter(|(is_so, _)| *is_so).map(|(_, flag)| flag).sum()
    }
}

/// Checks whether the questions of a split, in order, can come from balanced windows of `window` scenes.
///
/// Args:
///     families: (N,) the questions' families.
///     answers: (N,) the numbers of their answers.
///     images: (N,) the numbers of their images.
///     answers_by_family: for each family, the numbers of the answers that it can have.
///     window: the number of scenes in a window.
///     unseen: the maximum number of scenes in a window that have no question.
///
/// Returns:
///     The number of windows and None; or, if the rule allows no such windows, None and the last row at which the
///     search failed.
#[pyfunction]
#[pyo3(signature = (families, answers, images, answers_by_family, *, window, unseen))]
pub fn find_windows(
    py: Python<'_>,
    families: PyReadonlyArray1<'_, i32>,
    answers: PyReadonlyArray1<'_, i32>,
    images: PyReadonlyArray1<'_, i32>,
    answers_by_family: Vec<Vec<i32>>,
    window: usize,
    unseen: usize,
) -> PyResult<(Option<usize>, Option<usize>)> {
    let columns =
        QuestionColumns { families: families.as_slice()?, answers: answers.as_slice()?, images: images.as_slice()? };
    Ok(match py.detach(|| check_balance(columns, &answers_by_family, window.max(1), unseen)) {
        WindowSearch::Found(n) => (Some(n), None),
        WindowSearch::Refused(row) => (None, Some(row)),
    })
}

/// Splits texts into words, as CLEVR's code does, and numbers these. Uses all cores.
///
/// Args:
///     texts: the texts.
///     words: the words that have numbers; others get the next numbers, in the order in which they first occur.
///
/// Returns:
///     (N, Q) tokens, `<START>`, words and `<END>`, padded with 0, where Q is that of the longest text, and (N,) how many
///     there are; and the new words.
#[pyfunction]
pub fn number_texts<'py>(
    py: Python<'py>,
    texts: Vec<PyBackedStr>,
    words: Vec<String>,
) -> PyResult<(TokenRows<'py>, Vec<String>)> {
    let (rows, new) = py.detach(|| number_words(&texts, &words));
    let width = rows.iter().map(Vec::len).max().unwrap_or(0) + 2;
    Ok((conversion::token_rows(py, &rows, width, |_, words, row| conversion::marked(words, row))?, new))
}
