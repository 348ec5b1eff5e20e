//! The audit's reader of finished questions, about one image or a set of images.

use crate::audit_scenes::PyAuditScenes;
use crate::audit_sets::{PyAuditSetFindings, PyAuditSetRows};
use crate::conversion::{self, TokenRows, Values};
use crate::errors::{VocabularyError, raise};
use crate::findings::PyAuditFindings;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{
    self, Labels, MOST_IMAGES, Names, ProgramReader, QuestionRow, Rows, SetRow, TEMPLATES, Word, WordReader,
    needed_rows, read_rows, read_set_rows,
};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use rayon::prelude::*;

/// The text, the number of the value that it names, whether it names a value, and whether it is a noun.
pub type WordEntry = (String, Option<usize>, bool, bool);

/// Converts words for values and objects to the engine's type.
pub fn words_of(words: Vec<WordEntry>) -> Vec<Word> {
    let word = |(text, held_out, is_value, is_noun)| Word { text, held_out, is_value, is_noun };
    words.into_iter().map(word).collect()
}

/// Rows of question and program tokens, each with the index of its scene.
pub fn rows_of<'a>(
    questions: &'a PyReadonlyArray2<'_, i32>,
    programs: &'a PyReadonlyArray2<'_, i32>,
    scene_idxs: &'a PyReadonlyArray1<'_, i64>,
) -> PyResult<Rows<'a>> {
    Ok(Rows {
        questions: conversion::row_by_row(questions)?,
        question_width: questions.shape()[1],
        programs: conversion::row_by_row(programs)?,
        program_width: programs.shape()[1],
        scenes: scene_idxs.as_slice()?,
        scenes_width: 1,
    })
}

/// Reads finished questions about one image or a set of one to five, independently of the code that made them.
///
/// Args:
///     vocabulary: the questions' vocabulary.
///     question_tokens: question tokens by number, as in vocab.json.
///     program_tokens: program tokens by number.
///     answers: answers by number.
///     held_out: the held-out values; empty if nothing is held out.
///     words: the words for values and for objects of any kind, as (text of one or more words, index in `held_out` of
///         the value that it names or None, whether it names a value, whether it is a noun).
///     in_chains: whether only a chain of filters mentions the values, and in words only a noun phrase.
///
/// Raises:
///     VocabularyError: held-out values are not in the vocabulary, or more than four.
#[pyclass(name = "AuditReader", module = "clevrhope._core", frozen)]
pub struct PyAuditReader {
    programs: ProgramReader,
    words: Option<WordReader>,
    names: Names,
    held_out: Values,
}

/// Question tokens; program tokens; answers, image indices and families; image filenames.
type Encoded<'py> = (
    TokenRows<'py>,
    TokenRows<'py>,
    (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>),
    Vec<String>,
);

#[pymethods]
impl PyAuditReader {
    /// Replaces an answer's number if a function has no output, such as `unique` on a set without exactly one object.
    #[classattr]
    const NO_ANSWER: i32 = audit::NO_ANSWER;
    /// Replaces an answer's number if the tokens are not a program.
    #[classattr]
    const NO_PROGRAM: i32 = audit::NO_PROGRAM;
    /// Replaces an answer's number if the program's output is not among the answers.
    #[classattr]
    const UNKNOWN_ANSWER: i32 = audit::UNKNOWN_ANSWER;
    /// Replaces an answer's number if there is no scene.
    #[classattr]
    const NO_SCENE: i32 = audit::NO_SCENE;
    /// The names of the templates of questions about sets of images, by their numbers in findings.
    #[classattr]
    const TEMPLATES: [&'static str; TEMPLATES.len()] = TEMPLATES;
    /// Fills a row of `relations_needed` if the program has no answer, no scene, or too many relations.
    #[classattr]
    const UNANSWERED: i8 = audit::UNANSWERED;

    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, answers, held_out, words, in_chains = false))]
    #[allow(clippy::too_many_arguments)] // All but one are keyword arguments.
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        answers: Vec<String>,
        held_out: Values,
        words: Vec<WordEntry>,
        in_chains: bool,
    ) -> PyResult<Self> {
        let programs = ProgramReader::new(&vocabulary.0, &program_tokens, &answers, &held_out);
        let mut programs = programs.map_err(raise::<VocabularyError>)?;
        if in_chains {
            programs = programs.in_chains();
        }
        let names = Names::new(&question_tokens, &program_tokens, &answers);
        let words =
            WordReader::new(&question_tokens, &words_of(words), held_out.len()).map_err(raise::<VocabularyError>)?;
        Ok(Self { programs, words: (!held_out.is_empty()).then_some(words), names, held_out })
    }

    /// Encodes rows of a question file, which are JSON objects, as numbers; -1 replaces missing ones. Uses all cores.
    ///
    /// Returns:
    ///     (N, question_width) question tokens, cut or padded with 0, and (N,) how many there are; the program
    ///     tokens in the same form; (N,) answers, image indices and families; and the names of the images.
    ///
    /// Raises:
    ///     ValueError: a row is not a question; says which.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<PyBackedBytes>,
        question_width: usize,
        program_width: usize,
    ) -> PyResult<Encoded<'py>> {
        let read = |(row, json): (usize, &PyBackedBytes)| QuestionRow::read(json, row, &self.names);
        let encoded: Result<Vec<QuestionRow>, _> = py.detach(|| rows.par_iter().enumerate().map(read).collect());
        let encoded = encoded.map_err(raise::<PyValueError>)?;
        let matrix = |of: fn(&QuestionRow) -> &[i32], width: usize| {
            let mut tokens = conversion::matrix_of(0, encoded.len(), width)?;
            for (to, from) in tokens.chunks_exact_mut(width.max(1)).zip(&encoded) {
                to.iter_mut().zip(of(from)).for_each(|(to, &token)| *to = token);
            }
            let lengths = PyArray1::from_iter(py, encoded.iter().map(|row| of(row).len() as i32));
            Ok::<_, PyErr>((conversion::to_matrix(py, tokens, width)?, lengths))
        };
        Ok((
            matrix(|row| &row.question, question_width)?,
            matrix(|row| &row.program, program_width)?,
            (
                PyArray1::from_iter(py, encoded.iter().map(|row| row.answer)),
                PyArray1::from_iter(py, encoded.iter().map(|row| row.image_index)),
                PyArray1::from_iter(py, encoded.iter().map(|row| row.family)),
            ),
            encoded.iter().map(|row| row.image_filename.clone()).collect(),
        ))
    }

    /// Finds what questions (N, Q) and programs (N, P) mention, and their answers. Uses all cores.
    ///
    /// `scene_idxs` (N,) are indices into `scenes`, or -1 if there is no scene.
    ///
    /// Raises:
    ///     IndexError: there is no scene with an index, or arrays have different lengths.
    ///     ValueError: rows have no tokens.
    fn read(
        &self,
        py: Python<'_>,
        questions: PyReadonlyArray2<'_, i32>,
        programs: PyReadonlyArray2<'_, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<PyAuditFindings> {
        let rows = rows_of(&questions, &programs, &scene_idxs)?;
        if rows.question_width == 0 || rows.program_width == 0 {
            return Err(PyValueError::new_err("rows of no tokens; expected at least one column"));
        }
        let findings = py.detach(|| read_rows(&self.programs, self.words.as_ref(), rows, &scenes.scenes));
        findings.map(PyAuditFindings).map_err(raise::<PyIndexError>)
    }

    /// (N, width) for each relation of programs (N, P), 1 if the answer needs it and 0 if not; padded with -1.
    ///
    /// A relation is needed if the program has another answer, or none, with the whole scene in the relation's place.
    /// A row is filled with `UNANSWERED` if the program has no answer, no scene, or more than `width` relations.
    /// Uses all cores.
    ///
    /// Raises:
    ///     IndexError: arrays have different lengths.
    fn relations_needed<'py>(
        &self,
        py: Python<'py>,
        programs: PyReadonlyArray2<'py, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray1<'py, i64>,
        width: usize,
    ) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let (rows, row_width, scene_of_row) =
            (conversion::row_by_row(&programs)?, programs.shape()[1], scene_idxs.as_slice()?);
        conversion::check_width(width)?;
        let needed = py.detach(|| needed_rows(&self.programs, rows, row_width, scene_of_row, &scenes.scenes, width));
        conversion::to_matrix(py, needed.map_err(raise::<PyIndexError>)?, width)
    }

    /// Encodes rows of a question file about sets of images, which are JSON objects, as numbers. Uses all cores.
    ///
    /// Args:
    ///     rows: N rows.
    ///     split: the name of the split that they should be in.
    ///     templates: the names of templates by number.
    ///     structures: the names of structures by number.
    ///
    /// Raises:
    ///     ValueError: a row is not a question; says which.
    fn encode_sets(
        &self,
        py: Python<'_>,
        rows: Vec<PyBackedBytes>,
        split: String,
        templates: Vec<String>,
        structures: Vec<String>,
    ) -> PyResult<PyAuditSetRows> {
        let labels = Labels { split, templates, structures };
        let read = |(row, json): (usize, &PyBackedBytes)| SetRow::read(json, row, &self.names, &labels);
        let encoded: Result<Vec<SetRow>, _> = py.detach(|| rows.par_iter().enumerate().map(read).collect());
        encoded.map(PyAuditSetRows).map_err(raise::<PyValueError>)
    }

    /// Finds what questions (N, Q) and programs (N, P) about sets of images mention and describe, and their answers.
    ///
    /// `scene_idxs` (N, 5) are indices into `scenes`, padded with -1; programs whose row begins with -1 are not
    /// executed. Uses all cores.
    ///
    /// Raises:
    ///     IndexError: there is no scene with an index, or arrays have different lengths.
    ///     ValueError: rows have no tokens, or not five scenes.
    fn read_sets(
        &self,
        py: Python<'_>,
        questions: PyReadonlyArray2<'_, i32>,
        programs: PyReadonlyArray2<'_, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray2<'_, i64>,
    ) -> PyResult<PyAuditSetFindings> {
        if scene_idxs.shape()[1] != MOST_IMAGES {
            return Err(PyValueError::new_err(format!(
                "rows of {} scenes; expected {MOST_IMAGES}",
                scene_idxs.shape()[1]
            )));
        }
        let (questions, question_width) = conversion::rows(&questions)?;
        let (programs, program_width) = conversion::rows(&programs)?;
        let (scenes_width, idxs) = (MOST_IMAGES, conversion::row_by_row(&scene_idxs)?);
        let rows = Rows { questions, question_width, programs, program_width, scenes: idxs, scenes_width };
        let found = py.detach(|| read_set_rows(&self.programs, self.words.as_ref(), rows, &scenes.scenes));
        found.map(PyAuditSetFindings).map_err(raise::<PyIndexError>)
    }

    fn __repr__(&self) -> String {
        let values: Vec<&str> = self.held_out.iter().map(|(_, value)| value.as_str()).collect();
        let held_out = if values.is_empty() { "nothing".to_owned() } else { values.join(" ") };
        format!("<AuditReader with {held_out} held out>")
    }
}
