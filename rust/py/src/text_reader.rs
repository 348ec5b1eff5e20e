//! The audit's text parser, and its check of balanced windows.

use crate::audit::{PyAuditScenes, rows_of};
use crate::errors::{TemplateError, raise};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{
    Agreement, Names, ProgramReader, QuestionColumns, TextParser, WindowSearch, check_balance, parse_rows,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Each row's flags, and digests of the words.
type Columns<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u64>>);

/// Reads questions' words backwards through their templates, with code of its own.
///
/// Args:
///     vocabulary: of the questions.
///     question_tokens: tokens of questions by number, as in vocab.json.
///     program_tokens: tokens of programs by number.
///     answers: answers by number.
///     templates: template files by name without suffix, in the order in which families are numbered.
///     synonyms: the JSON object of words for values.
///
/// Raises:
///     TemplateError: not a template file, or a phrasing that cannot be read backwards; names the place.
#[pyclass(name = "TextReader", module = "clevrhope._core", frozen)]
pub struct PyTextReader {
    parser: TextParser,
    programs: ProgramReader,
}

#[pymethods]
impl PyTextReader {
    /// Flag of `read`: no template says this.
    #[classattr]
    const UNREAD: u8 = 1;
    /// Flag of `read`: the words do not mean the program.
    #[classattr]
    const OTHER_PROGRAM: u8 = 2;
    /// Flag of `read`: the words mean the program, but in another family.
    #[classattr]
    const OTHER_FAMILY: u8 = 4;
    /// Flag of `read`: what the words mean has another answer.
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

    /// The numbers of the answers that each family can have.
    #[getter]
    fn answers_by_family(&self) -> Vec<Vec<i32>> {
        (0..self.parser.n_families()).map(|family| self.parser.answers(family).to_vec()).collect()
    }

    /// Compares the words of rows (N, Q) with their programs (N, P), families and answers (N,). Uses all cores.
    ///
    /// Returns the flags of each row (N,), and numbers (N,) that are equal for rows of equal words. `scene_idxs`
    /// (N,) are places among `scenes`, or -1 for a scene that is not there: its row is read without answers.
    ///
    /// Raises:
    ///     ValueError: columns of different lengths.
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

/// Whether a split's questions (N,), in order, can have come from balanced windows of `window` scenes.
///
/// Args:
///     families: (N,) of the questions.
///     answers: (N,) their numbers.
///     images: (N,) the questions' scenes.
///     answers_by_family: the numbers of the answers that each family can have.
///     window: scenes of a window.
///     unseen: how many scenes of a window may have given no question.
///
/// Returns:
///     The number of windows and None; or None and the first row that breaks the rule, however windows are laid.
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
