//! The handle of questions, which returns them as columns, rows of tokens and JSON.

use crate::choice::Choice;
use crate::conversion::{self, TokenRows, Values};
use crate::errors::to_python;
use crate::interrupt::in_pieces;
use crate::programs::PyProgramTokens;
use crate::scenes::PySceneBatch;
use crate::templates::PyTemplates;
use clevrhope_core::message::shown;
use clevrhope_core::program::Program;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::json::{Place, write_question};
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::QuestionVocabulary;
use clevrhope_core::scene::image_filename;
use clevrhope_core::vocab::Vocabulary;
use numpy::PyArray1;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The number of windows in the first piece: some milliseconds of work.
pub const FIRST_WINDOWS: usize = 2;

/// The names of the scenes' images, by the scenes' indices.
#[derive(Clone)]
pub enum Images {
    OfPool(Arc<str>),
    Listed(Arc<BTreeMap<u64, String>>),
}

impl Images {
    fn filename(&self, scene: u64) -> Cow<'_, str> {
        match self {
            Self::OfPool(pool) => image_filename(pool, scene).into(),
            Self::Listed(names) => names.get(&scene).map_or("", String::as_str).into(),
        }
    }
}

/// Questions of one kind, and what a file of them says about each.
pub trait QuestionRows: Send + Sync {
    /// The columns that `column` knows, by their names in question files.
    fn columns(&self) -> &'static [&'static str];
    /// A column's numbers for a range of rows.
    fn column<'py>(&self, py: Python<'py>, name: &str, rows: Range<usize>) -> PyResult<Bound<'py, PyAny>>;
    fn text(&self, row: usize) -> Cow<'_, str>;
    fn program(&self, row: usize) -> &Program;
    /// Appends a row as a JSON object.
    fn write_json(&self, row: usize, split: &str, index: u64, json: &mut Vec<u8>);
}

/// A column of numbers, one for each row.
pub fn numbers<'py, R, T: numpy::Element>(py: Python<'py>, rows: &[R], of: impl Fn(&R) -> T) -> Bound<'py, PyAny> {
    PyArray1::from_iter(py, rows.iter().map(of)).into_any()
}

/// The error for a column that a kind of questions does not have.
pub fn no_column(name: &str, known: &[&str]) -> PyErr {
    PyKeyError::new_err(format!("no column \"{}\"; known: {}", shown(name), known.join(", ")))
}

/// Number of relations in a row of `relation_needed`.
const RELATIONS: usize = 3;

/// Questions about single images.
struct ImageQuestions {
    vocab: Arc<Vocabulary>,
    templates: Arc<TemplateSet>,
    images: Images,
    questions: Vec<Question>,
}

impl QuestionRows for ImageQuestions {
    fn columns(&self) -> &'static [&'static str] {
        &["answers", "image_idxs", "question_families", "relation_needed"]
    }

    fn column<'py>(&self, py: Python<'py>, name: &str, rows: Range<usize>) -> PyResult<Bound<'py, PyAny>> {
        let rows = &self.questions[rows];
        Ok(match name {
            "answers" => numbers(py, rows, |row| self.vocab.answer_index(row.answer).map_or(-1, i32::from)),
            "image_idxs" => {
                PyArray1::from_vec(py, conversion::image_idxs(rows.iter().map(|row| row.scene))?).into_any()
            }
            "question_families" => numbers(py, rows, |row| i32::from(row.family)),
            "relation_needed" => {
                let mut needed = conversion::matrix_of(-1, rows.len(), RELATIONS)?;
                for (question, needed) in rows.iter().zip(needed.chunks_exact_mut(RELATIONS)) {
                    let count = usize::from(question.n_relations);
                    if count > RELATIONS {
                        let text = shown(&question.text);
                        let message = format!("\"{text}\" has {count} relations, the row has room for {RELATIONS}");
                        return Err(PyValueError::new_err(message));
                    }
                    (0..count).for_each(|i| needed[i] = (question.relation_needed >> i & 1) as i8);
                }
                conversion::to_matrix(py, needed, RELATIONS)?.into_any()
            }
            _ => return Err(no_column(name, self.columns())),
        })
    }

    fn text(&self, row: usize) -> Cow<'_, str> {
        self.questions[row].text.as_str().into()
    }

    fn program(&self, row: usize) -> &Program {
        &self.questions[row].program
    }

    fn write_json(&self, row: usize, split: &str, index: u64, json: &mut Vec<u8>) {
        let question = &self.questions[row];
        let filename = self.images.filename(question.scene);
        let place = Place { split, question_index: index, image_filename: &filename };
        write_question(question, place, &self.templates, &self.vocab, json);
    }
}

/// A batch of questions in order: about scenes of one pool, or about sets of them.
#[pyclass(name = "QuestionBatch", module = "clevrhope._core", frozen)]
pub struct PyQuestionBatch {
    questions: Arc<dyn QuestionRows>,
    range: Range<usize>,
}

impl PyQuestionBatch {
    pub fn new(questions: Arc<dyn QuestionRows>, n: usize) -> Self {
        Self { questions, range: 0..n }
    }

    pub fn of_images(
        vocab: Arc<Vocabulary>,
        templates: Arc<TemplateSet>,
        images: Images,
        questions: Vec<Question>,
    ) -> Self {
        let n = questions.len();
        Self::new(Arc::new(ImageQuestions { vocab, templates, images, questions }), n)
    }

    /// Encodes each question into a row of tokens.
    fn token_rows<'py>(
        &self,
        py: Python<'py>,
        width: usize,
        encode: impl Fn(usize, &mut [i32]) -> PyResult<usize> + Sync + Send,
    ) -> PyResult<TokenRows<'py>> {
        let rows: Vec<usize> = self.range.clone().collect();
        conversion::token_rows(py, &rows, width, |_, &row, tokens: &mut [i32]| encode(row, tokens))
    }

    fn write(&self, py: Python<'_>, split: &str, first: u64) -> PyResult<Vec<Vec<u8>>> {
        if first.checked_add(self.range.len() as u64).is_none() {
            return Err(PyValueError::new_err(format!("start_index {first}: indices of 64 bits do not go so far")));
        }
        let row = |row: usize| {
            let mut json = Vec::with_capacity(1024);
            self.questions.write_json(row, split, first + (row - self.range.start) as u64, &mut json);
            json
        };
        Ok(py.detach(|| self.range.clone().into_par_iter().map(row).collect()))
    }
}

#[pymethods]
impl PyQuestionBatch {
    fn __len__(&self) -> usize {
        self.range.len()
    }

    /// The questions from `start` up to, but not including, `stop`; they are shared, not copied.
    ///
    /// Raises:
    ///     IndexError: the range is not within the batch.
    fn take(&self, start: usize, stop: usize) -> PyResult<Self> {
        if start > stop || stop > self.range.len() {
            return Err(PyIndexError::new_err(format!("questions {start} to {stop}, of {}", self.range.len())));
        }
        let range = self.range.start + start..self.range.start + stop;
        Ok(Self { questions: self.questions.clone(), range })
    }

    /// The names of the columns that this kind of questions has, apart from tokens.
    #[getter]
    fn columns(&self) -> Vec<&'static str> {
        self.questions.columns().to_vec()
    }

    /// A column as in question files, but with answers as indices into `Vocabulary.answers`.
    ///
    /// For questions about sets of images, answers are indices into `Vocabulary.set_answers`, and `image_idxs` is
    /// (N, 5), padded with -1.
    ///
    /// Raises:
    ///     KeyError: this kind of questions has no such column.
    ///     ValueError: a question has more relations than a row has room for.
    ///     VocabularyError: there are more terms than a mask of 64 bits has room for.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.questions.column(py, name, self.range.clone())
    }

    /// The questions in English.
    #[getter]
    fn texts(&self) -> Vec<Cow<'_, str>> {
        self.range.clone().map(|row| self.questions.text(row)).collect()
    }

    /// (N, width) question tokens as indices into `names`, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     TemplateError: a word is not in `names`, or a question has more than `width` tokens.
    fn question_tokens<'py>(&self, py: Python<'py>, names: Vec<String>, width: usize) -> PyResult<TokenRows<'py>> {
        let words = QuestionVocabulary::new(names.iter().map(String::as_str)).map_err(to_python)?;
        self.token_rows(py, width, |row, tokens| {
            words.encode_into(&self.questions.text(row), tokens).map_err(to_python)
        })
    }

    /// (N, width) program tokens in prefix order, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     ProgramError: a program has more than `width` tokens, or a function has no token.
    fn program_tokens<'py>(&self, py: Python<'py>, names: &PyProgramTokens, width: usize) -> PyResult<TokenRows<'py>> {
        self.token_rows(py, width, |row, tokens| {
            names.tokens.encode_into(self.questions.program(row), tokens).map_err(to_python)
        })
    }

    /// (N, width) tokens as in `program_tokens`, for equivalent programs that use only CLEVR's functions.
    ///
    /// A row is all zeros if the program itself uses only CLEVR's functions, or has no such equivalent.
    ///
    /// Raises:
    ///     ProgramError: a program has more than `width` tokens, or a function has no token.
    fn clevr_program_tokens<'py>(
        &self,
        py: Python<'py>,
        names: &PyProgramTokens,
        width: usize,
    ) -> PyResult<TokenRows<'py>> {
        self.token_rows(py, width, |row, tokens| {
            let own = self.questions.program(row);
            match own.in_clevr() {
                Some(program) if program != *own => names.tokens.encode_into(&program, tokens).map_err(to_python),
                _ => Ok(0),
            }
        })
    }

    /// Each question as a JSON object in one line: CLEVR's keys, and those of its kind.
    ///
    /// `question_index` counts from `start_index`.
    ///
    /// Raises:
    ///     ValueError: an index does not fit 64 bits.
    #[pyo3(signature = (*, split, start_index = 0))]
    fn json_rows<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        Ok(conversion::json_rows(py, &self.write(py, split, start_index)?))
    }

    /// `json_rows` as a JSON list.
    #[pyo3(signature = (*, split, start_index = 0))]
    fn to_json<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> PyResult<Bound<'py, PyBytes>> {
        Ok(conversion::json_list(py, &self.write(py, split, start_index)?))
    }

    fn __repr__(&self) -> String {
        let first =
            self.range.clone().next().map(|row| format!(", the first \"{}\"", shown(&self.questions.text(row))));
        format!("<QuestionBatch of {} questions{}>", self.range.len(), first.unwrap_or_default())
    }
}

/// Questions about any scenes, balanced over windows of 250 scenes.
///
/// Raises:
///     SplitError: the held-out values are not of different types.
///     VocabularyError: templates and scenes have different vocabularies.
#[pyfunction]
#[pyo3(signature = (scenes, templates, *, seed, held_out, questions, questions_per_scene))]
pub fn instantiate_questions(
    py: Python<'_>,
    scenes: &PySceneBatch,
    templates: &PyTemplates,
    seed: u64,
    held_out: Option<Values>,
    questions: Choice<QuestionRule>,
    questions_per_scene: u32,
) -> PyResult<PyQuestionBatch> {
    conversion::same_vocabulary(&scenes.vocab, &templates.vocab)?;
    let (vocab, templates) = (scenes.vocab.clone(), templates.templates.clone());
    let holdout = held_out.map(|values| conversion::holdout(&vocab, &values)).transpose()?;
    let (plans, graphs) = (templates.plans(&vocab), scenes.graphs(py).0);
    let generator =
        QuestionGenerator::new(&vocab, &templates, &plans, questions.0, holdout.as_ref(), seed, questions_per_scene);
    let views: Vec<_> =
        scenes.scenes.iter().zip(&graphs.graphs).map(|(scene, graph)| (scene.index, graph.view())).collect();
    let mut made = Vec::new();
    in_pieces(py, views.len().div_ceil(WINDOW), FIRST_WINDOWS, |windows| {
        made.extend(generator.generate(&views[windows.start * WINDOW..views.len().min(windows.end * WINDOW)]));
        Ok(())
    })?;
    let names = scenes.scenes.iter().map(|scene| (scene.index, scene.image_filename())).collect();
    Ok(PyQuestionBatch::of_images(vocab.clone(), templates.clone(), Images::Listed(Arc::new(names)), made))
}
