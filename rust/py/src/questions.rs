//! Questions of the engine in, a handle that gives them as columns, token rows and JSON out.

use crate::convert;
use crate::errors::to_python;
use crate::interrupt::in_pieces;
use crate::programs::PyProgramTokens;
use crate::scenes::PySceneBatch;
use crate::templates::PyTemplates;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::json::{Place, write_question};
use clevrhope_core::question::tokens::QuestionVocabulary;
use clevrhope_core::scene::image_filename;
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Windows in the first piece: some milliseconds' work.
pub const FIRST_WINDOWS: usize = 2;

/// Questions on scenes, in order.
#[pyclass(name = "QuestionBatch", module = "clevrhope._core", frozen)]
pub struct PyQuestionBatch {
    vocab: Arc<Vocabulary>,
    templates: Arc<TemplateSet>,
    images: Images,
    questions: Arc<Vec<Question>>,
    range: Range<usize>,
}

/// Rows of tokens, and how many there are in each.
type TokenMatrix<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray1<i32>>);

/// What the images of scenes are called, by the scenes' indices.
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

    fn write(&self, split: &str, first: u64) -> Vec<Vec<u8>> {
        let row = |(number, question): (usize, &Question)| {
            let filename = self.images.filename(question.scene);
            let place = Place { split, question_index: first + number as u64, image_filename: &filename };
            let mut json = Vec::with_capacity(1024);
            write_question(question, place, &self.templates, &self.vocab, &mut json);
            json
        };
        self.rows().par_iter().enumerate().map(row).collect()
    }
}

#[pymethods]
impl PyQuestionBatch {
    fn __len__(&self) -> usize {
        self.range.len()
    }

    fn take(&self, start: usize, stop: usize) -> PyResult<Self> {
        if start > stop || stop > self.range.len() {
            return Err(PyIndexError::new_err(format!("questions {start} to {stop}, of {}", self.range.len())));
        }
        let range = self.range.start + start..self.range.start + stop;
        let (vocab, templates) = (self.vocab.clone(), self.templates.clone());
        Ok(Self { vocab, templates, images: self.images.clone(), questions: self.questions.clone(), range })
    }

    #[getter]
    fn image_idxs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |question| question.scene as i64)
    }

    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| self.vocab.answer_index(question.answer).map_or(-1, i32::from))
    }

    #[getter]
    fn question_families<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| i32::from(question.family))
    }

    #[pyo3(signature = (width = 3))]
    fn relation_needed<'py>(&self, py: Python<'py>, width: usize) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let mut needed = convert::matrix_of(-1, self.range.len(), width)?;
        for (question, row) in self.rows().iter().zip(needed.chunks_exact_mut(width.max(1))) {
            convert::relations_into(question, row)?;
        }
        convert::to_matrix(py, needed, width)
    }

    #[getter]
    fn texts(&self) -> Vec<&str> {
        self.rows().iter().map(|question| question.text.as_str()).collect()
    }

    fn question_tokens<'py>(&self, py: Python<'py>, names: Vec<String>, width: usize) -> PyResult<TokenMatrix<'py>> {
        let words = QuestionVocabulary::new(names.iter().map(String::as_str)).map_err(to_python)?;
        let encode = |question: &Question, row: &mut [i32]| words.encode_into(&question.text, row);
        let (rows, lengths) = convert::token_rows(py, self.rows(), width, encode)?;
        Ok((convert::to_matrix(py, rows, width)?, PyArray1::from_vec(py, lengths)))
    }

    fn program_tokens<'py>(
        &self,
        py: Python<'py>,
        tokens: &PyProgramTokens,
        width: usize,
    ) -> PyResult<TokenMatrix<'py>> {
        let encode = |question: &Question, row: &mut [i32]| tokens.tokens.encode_into(&question.program, row);
        let (rows, lengths) = convert::token_rows(py, self.rows(), width, encode)?;
        Ok((convert::to_matrix(py, rows, width)?, PyArray1::from_vec(py, lengths)))
    }

    #[pyo3(signature = (*, split, start_index = 0))]
    fn json_rows<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> Vec<Bound<'py, PyBytes>> {
        let rows = py.detach(|| self.write(split, start_index));
        rows.iter().map(|row| PyBytes::new(py, row)).collect()
    }

    #[pyo3(signature = (*, split, start_index = 0))]
    fn to_json<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> Bound<'py, PyBytes> {
        let rows = py.detach(|| convert::json_list(&self.write(split, start_index)));
        PyBytes::new(py, &rows)
    }
}

/// Questions on scenes from anywhere.
#[pyfunction]
#[pyo3(signature = (scenes, templates, *, seed, pair, questions, questions_per_scene))]
pub fn instantiate_questions(
    py: Python<'_>,
    scenes: &PySceneBatch,
    templates: &PyTemplates,
    seed: u64,
    pair: Option<Vec<(String, String)>>,
    questions: &str,
    questions_per_scene: u32,
) -> PyResult<PyQuestionBatch> {
    convert::same_vocabulary(&scenes.vocab, &templates.vocab)?;
    let (vocab, templates) = (scenes.vocab.clone(), templates.templates.clone());
    let holdout = pair.map(|pair| convert::holdout(&vocab, &pair)).transpose()?;
    let (rule, plans, graphs) = (convert::question_rule(questions)?, templates.plans(&vocab), scenes.graphs(py).0);
    let generator =
        QuestionGenerator::new(&vocab, &templates, &plans, rule, holdout.as_ref(), seed, questions_per_scene);
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
