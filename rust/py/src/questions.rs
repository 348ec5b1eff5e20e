//! The handle of questions, which returns them as columns, rows of tokens and JSON.

use crate::choice::Choice;
use crate::conversion::{self, TokenRows, Values};
use crate::errors::to_python;
use crate::interrupt::in_pieces;
use crate::programs::PyProgramTokens;
use crate::scenes::PySceneBatch;
use crate::templates::PyTemplates;
use clevrhope_core::message::shown;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::json::{Place, write_question};
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::QuestionVocabulary;
use clevrhope_core::scene::image_filename;
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The number of windows in the first piece: some milliseconds of work.
pub const FIRST_WINDOWS: usize = 2;

/// A batch of questions about scenes of one pool, in order.
#[pyclass(name = "QuestionBatch", module = "clevrhope._core", frozen)]
pub struct PyQuestionBatch {
    vocab: Arc<Vocabulary>,
    templates: Arc<TemplateSet>,
    images: Images,
    questions: Arc<Vec<Question>>,
    range: Range<usize>,
}

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

impl PyQuestionBatch {
    pub fn new(vocab: Arc<Vocabulary>, templates: Arc<TemplateSet>, images: Images, questions: Vec<Question>) -> Self {
        let range = 0..questions.len();
        Self { vocab, templates, images, questions: Arc::new(questions), range }
    }

    fn rows(&self) -> &[Question] {
        &self.questions[self.range.clone()]
    }

    fn column<'py, T: numpy::Element>(&self, py: Python<'py>, of: impl Fn(&Question) -> T) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.rows().iter().map(of))
    }

    fn write(&self, py: Python<'_>, split: &str, first: u64) -> Vec<Vec<u8>> {
        let row = |(number, question): (usize, &Question)| {
            let filename = self.images.filename(question.scene);
            let place = Place { split, question_index: first + number as u64, image_filename: &filename };
            let mut json = Vec::with_capacity(1024);
            write_question(question, place, &self.templates, &self.vocab, &mut json);
            json
        };
        py.detach(|| self.rows().par_iter().enumerate().map(row).collect())
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
        let (vocab, templates) = (self.vocab.clone(), self.templates.clone());
        Ok(Self { vocab, templates, images: self.images.clone(), questions: self.questions.clone(), range })
    }

    /// (N,) the pool index of each question's scene.
    #[getter]
    fn image_idxs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |question| question.scene as i64)
    }

    /// (N,) the answers, as indices into `Vocabulary.answers`.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| self.vocab.answer_index(question.answer).map_or(-1, i32::from))
    }

    /// (N,) the global index of each question's family.
    #[getter]
    fn question_families<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| i32::from(question.family))
    }

    /// (N, width) for each `relate` of the program, 1 if the answer needs it and 0 if not; padded with -1.
    ///
    /// Raises:
    ///     ValueError: a question has more relations than `width`.
    #[pyo3(signature = (width = 3))]
    fn relation_needed<'py>(&self, py: Python<'py>, width: usize) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let mut needed = conversion::matrix_of(-1, self.range.len(), width)?;
        for (question, row) in self.rows().iter().zip(needed.chunks_exact_mut(width.max(1))) {
            let count = usize::from(question.n_relations);
            if count > row.len() {
                let text = shown(&question.text);
                let message = format!("\"{text}\" has {count} relations, the row has room for {}", row.len());
                return Err(PyValueError::new_err(message));
            }
            (0..count).for_each(|i| row[i] = (question.relation_needed >> i & 1) as i8);
        }
        conversion::to_matrix(py, needed, width)
    }

    /// The questions in English.
    #[getter]
    fn texts(&self) -> Vec<&str> {
        self.rows().iter().map(|question| question.text.as_str()).collect()
    }

    /// (N, width) question tokens as indices into `names`, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     TemplateError: a word is not in `names`, or a question has more than `width` tokens.
    fn question_tokens<'py>(&self, py: Python<'py>, names: Vec<String>, width: usize) -> PyResult<TokenRows<'py>> {
        let words = QuestionVocabulary::new(names.iter().map(String::as_str)).map_err(to_python)?;
        let encode =
            |_, question: &Question, row: &mut [i32]| words.encode_into(&question.text, row).map_err(to_python);
        conversion::token_rows(py, self.rows(), width, encode)
    }

    /// (N, width) program tokens in prefix order, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     ProgramError: a program has more than `width` tokens, or a function has no token.
    fn program_tokens<'py>(&self, py: Python<'py>, tokens: &PyProgramTokens, width: usize) -> PyResult<TokenRows<'py>> {
        let encode = |_, question: &Question, row: &mut [i32]| {
            tokens.tokens.encode_into(&question.program, row).map_err(to_python)
        };
        conversion::token_rows(py, self.rows(), width, encode)
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
        tokens: &PyProgramTokens,
        width: usize,
    ) -> PyResult<TokenRows<'py>> {
        let encode = |_, question: &Question, row: &mut [i32]| match question.program.in_clevr() {
            Some(program) if program != question.program => tokens.tokens.encode_into(&program, row).map_err(to_python),
            _ => Ok(0),
        };
        conversion::token_rows(py, self.rows(), width, encode)
    }

    /// Each question as a JSON object in one line: CLEVR's keys, and its template, index and needed relations.
    ///
    /// `question_index` counts from `start_index`.
    #[pyo3(signature = (*, split, start_index = 0))]
    fn json_rows<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> Vec<Bound<'py, PyBytes>> {
        conversion::json_rows(py, &self.write(py, split, start_index))
    }

    /// `json_rows` as a JSON list.
    #[pyo3(signature = (*, split, start_index = 0))]
    fn to_json<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> Bound<'py, PyBytes> {
        conversion::json_list(py, &self.write(py, split, start_index))
    }

    fn __repr__(&self) -> String {
        let first = self.rows().first().map(|question| format!(", the first \"{}\"", shown(&question.text)));
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
    Ok(PyQuestionBatch::new(vocab.clone(), templates.clone(), Images::Listed(Arc::new(names)), made))
}
