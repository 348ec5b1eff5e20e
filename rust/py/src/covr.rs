//! Handles of questions over several images: their phrasings, the stream of a split, and its questions.

use crate::choice::Choice;
use crate::conversion::{self, TokenRows, Values};
use crate::errors::{TemplateError, VocabularyError, raise, to_python};
use crate::interrupt::in_pieces;
use crate::programs::PyProgramTokens;
use crate::questions::FIRST_WINDOWS;
use crate::splits::{PyPoolScenes, find_windows};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::covr::json::SetPlace;
use clevrhope_core::covr::properties::{Question, Terms, property_names};
use clevrhope_core::covr::{
    DistractorChoice, PROGRAM_WIDTH, PairPlace, Phrasings, SetQuestion, SetQuestions, SetRule, SetStream, Template,
    functions,
};
use clevrhope_core::message::shown;
use clevrhope_core::question::tokens::QuestionVocabulary;
use clevrhope_core::scene::MAX_IMAGES;
use clevrhope_core::split::SceneRule;
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The phrasings of questions over several images.
///
/// Args:
///     content: a JSON object of templates and their phrasings.
///     vocabulary: the vocabulary of the values that questions name.
///     file: the file's name, for messages.
///
/// Raises:
///     TemplateError: the content is not such an object; names the file, the template and the phrasing.
#[pyclass(name = "Phrasings", module = "clevrhope._core", frozen)]
pub struct PyPhrasings {
    phrasings: Arc<Phrasings>,
    vocab: Arc<Vocabulary>,
}

#[pymethods]
impl PyPhrasings {
    #[new]
    #[pyo3(signature = (content, vocabulary, *, file))]
    fn new(content: &[u8], vocabulary: &PyVocabulary, file: &str) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let phrasings = Phrasings::read(content, file, &vocab).map_err(raise::<TemplateError>)?;
        Ok(Self { phrasings: Arc::new(phrasings), vocab })
    }

    /// Every token that can occur in a question, without the special tokens.
    #[getter]
    fn words(&self) -> Vec<String> {
        self.phrasings.words(&self.vocab)
    }

    /// Maximum number of tokens of a question, the width of its row.
    #[getter]
    fn question_width(&self) -> usize {
        self.phrasings.width()
    }

    /// Maximum number of tokens of a program, the width of its row.
    #[getter]
    fn program_width(&self) -> usize {
        PROGRAM_WIDTH
    }

    /// The functions that the questions' programs use.
    #[getter]
    fn functions(&self) -> Vec<String> {
        functions().map(|function| function.to_string()).collect()
    }

    /// A hash of the content.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.phrasings.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("<Phrasings {}>", conversion::short(self.phrasings.fingerprint()))
    }
}

/// The questions over several images of a split, made in windows of 250 eligible scenes of a pool.
///
/// Args:
///     pool_scenes: the scenes of the pool.
///     phrasings: phrasings with the same vocabulary.
///     split: the split's name, a part of the key of the draws.
///     held_out: the held-out values, if any.
///     scenes: which scenes are eligible: "any", or those "without" or "with" an object that has these values.
///     places: where the values occur; pairs of questions take these in turn: "nowhere", mentioned in the
///         "question", or shown only in a "distractor".
///     implied: whether questions that do not mention the values must not imply them by likenesses either.
///     distractors: "edited" ones contradict a part of the question's description; "random" ones are any scenes
///         without what the question describes.
///     half: the half of all programs (0 or 1) that the split has; None for all.
///     paraphrased: whether each question has the last phrasing in its list, which no other split uses.
///
/// Raises:
///     SplitError: the world is too poor for a template.
#[pyclass(name = "SetStream", module = "clevrhope._core", frozen)]
pub struct PySetStream {
    phrasings: Arc<Phrasings>,
    vocab: Arc<Vocabulary>,
    pool: Arc<str>,
    name: String,
    state: Mutex<State>,
}

struct State {
    stream: SetStream,
    attempts: [u64; Template::ALL.len()],
    skipped: [u64; Template::ALL.len()],
}

impl PySetStream {
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn by_template(counts: &[u64]) -> BTreeMap<&'static str, u64> {
        Template::ALL.into_iter().map(Template::name).zip(counts.iter().copied()).collect()
    }
}

#[pymethods]
impl PySetStream {
    #[new]
    #[pyo3(signature = (
        pool_scenes, phrasings, *, split, held_out, scenes, places, implied, distractors, half, paraphrased
    ))]
    #[allow(clippy::too_many_arguments)] // All but two are keyword arguments.
    fn new(
        pool_scenes: &PyPoolScenes,
        phrasings: &PyPhrasings,
        split: String,
        held_out: Option<Values>,
        scenes: Choice<SceneRule>,
        places: Vec<Choice<PairPlace>>,
        implied: bool,
        distractors: Choice<DistractorChoice>,
        half: Option<u8>,
        paraphrased: bool,
    ) -> PyResult<Self> {
        conversion::same_vocabulary(&pool_scenes.vocab, &phrasings.vocab)?;
        let (vocab, pool_scenes) = (pool_scenes.vocab.clone(), pool_scenes.inner.clone());
        let holdout = held_out.map(|values| conversion::holdout(&vocab, &values)).transpose()?;
        let rule = SetRule {
            name: split.clone(),
            scenes: scenes.0,
            places: places.iter().map(|place| place.0).collect(),
            implied,
            distractors: distractors.0,
            half,
            paraphrased,
        };
        let (pool, phrasings) = (pool_scenes.pool().into(), phrasings.phrasings.clone());
        let stream = SetStream::new(pool_scenes, phrasings.clone(), rule, holdout).map_err(to_python)?;
        let (attempts, skipped) = Default::default();
        Ok(Self { phrasings, vocab, pool, name: split, state: Mutex::new(State { stream, attempts, skipped }) })
    }

    /// The questions of the next windows, in pairs with the same text and different answers.
    ///
    /// The stream cannot be used after an error or Ctrl-C.
    ///
    /// Raises:
    ///     SplitError: no more scenes are eligible, or they give no questions.
    fn next(&self, py: Python<'_>, n_windows: usize) -> PyResult<PySetQuestions> {
        let mut state = self.state(py);
        let State { stream, attempts, skipped } = &mut *state;
        find_windows(py, &mut stream.scenes, n_windows)?;
        let mut made = SetQuestions::default();
        in_pieces(py, n_windows, FIRST_WINDOWS, |piece| {
            made.add(stream.ask(piece.len()).map_err(to_python)?);
            Ok(())
        })?;
        for (all, more) in [(attempts, made.attempts), (skipped, made.skipped)] {
            all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        }
        let range = 0..made.questions.len();
        Ok(PySetQuestions {
            phrasings: self.phrasings.clone(),
            vocab: self.vocab.clone(),
            pool: self.pool.clone(),
            questions: Arc::new(made.questions),
            range,
        })
    }

    /// The number of attempts at pairs so far, by template.
    #[getter]
    fn attempts(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        Self::by_template(&self.state(py).attempts)
    }

    /// The number of pairs that were skipped so far because no attempt succeeded, by template.
    #[getter]
    fn skipped(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        Self::by_template(&self.state(py).skipped)
    }

    fn __repr__(&self) -> String {
        format!("<SetStream of split {}, pool {}>", shown(&self.name), shown(&self.pool))
    }
}

/// A question in the form from which its properties are computed.
fn described(question: &SetQuestion) -> Question<'_> {
    Question { program: &question.program, template: question.meaning.template(), answer: question.answer }
}

/// A batch of questions about sets of scenes of one pool, in order.
#[pyclass(name = "SetQuestions", module = "clevrhope._core", frozen)]
pub struct PySetQuestions {
    phrasings: Arc<Phrasings>,
    vocab: Arc<Vocabulary>,
    pool: Arc<str>,
    questions: Arc<Vec<SetQuestion>>,
    range: Range<usize>,
}

impl PySetQuestions {
    fn rows(&self) -> &[SetQuestion] {
        &self.questions[self.range.clone()]
    }

    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        of: impl Fn(&SetQuestion) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.rows().iter().map(of))
    }
}

#[pymethods]
impl PySetQuestions {
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
        let (phrasings, vocab, pool) = (self.phrasings.clone(), self.vocab.clone(), self.pool.clone());
        Ok(Self { phrasings, vocab, pool, questions: self.questions.clone(), range })
    }

    /// (N, 5) the pool indices of each question's scenes, padded with -1.
    #[getter]
    fn image_idxs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let mut rows = conversion::matrix_of(-1, self.range.len(), MAX_IMAGES)?;
        for (question, row) in self.rows().iter().zip(rows.chunks_exact_mut(MAX_IMAGES)) {
            row.iter_mut().zip(question.indices()).for_each(|(to, &index)| *to = index as i32);
        }
        conversion::to_matrix(py, rows, MAX_IMAGES)
    }

    /// (N,) the answers, as indices into `Vocabulary.set_answers`.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| self.vocab.answer_index(question.answer).map_or(-1, i32::from))
    }

    /// (N,) the templates, as indices into `covr_template_names()`.
    #[getter]
    fn templates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| question.meaning.template() as i32)
    }

    /// (N,) the structure of each question: 0 single, 1 edge, 2 chain, 3 V.
    #[getter]
    fn structures<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.meaning.structure() as i8)
    }

    /// (N,) the place of each question's source image in its set.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.source as i8)
    }

    /// (N,) 1 if the last leaf matters, 0 if not, -1 if there is no leaf; see `AuditSetFindings.cut`.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.cut)
    }

    /// (N,) where the held-out values occur: 0 nowhere, 1 in the question, 2 only in distractors.
    #[getter]
    fn pair_places<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.place as i8)
    }

    /// (N, R) for each property of `covr_property_names`, 1 if the question has it and 0 if not.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let of = |question: &SetQuestion| described(question).properties().map(i8::from).collect();
        let rows: Vec<Vec<i8>> = py.detach(|| self.rows().par_iter().map(of).collect());
        conversion::to_matrix(py, rows.concat(), property_names().len())
    }

    /// (N,) masks with a bit for each term of `covr_term_names` that the question names or that is its answer.
    ///
    /// Raises:
    ///     VocabularyError: there are more terms than a mask of 64 bits has room for.
    #[getter]
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let terms = Terms::new(&self.vocab).map_err(raise::<VocabularyError>)?;
        Ok(self.column(py, |question| terms.mask(&described(question))))
    }

    /// The questions in English.
    #[getter]
    fn texts(&self) -> Vec<String> {
        self.rows().iter().map(|question| question.text(&self.phrasings)).collect()
    }

    /// (N, width) question tokens as indices into `names`, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     TemplateError: a word is not in `names`, or a question has more than `width` tokens.
    fn question_tokens<'py>(&self, py: Python<'py>, names: Vec<String>, width: usize) -> PyResult<TokenRows<'py>> {
        let words = QuestionVocabulary::new(names.iter().map(String::as_str)).map_err(to_python)?;
        let encode = |_, question: &SetQuestion, row: &mut [i32]| {
            words.encode_into(&question.text(&self.phrasings), row).map_err(to_python)
        };
        conversion::token_rows(py, self.rows(), width, encode)
    }

    /// (N, width) program tokens in prefix order, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     ProgramError: a program has more than `width` tokens, or a function has no token.
    fn program_tokens<'py>(&self, py: Python<'py>, tokens: &PyProgramTokens, width: usize) -> PyResult<TokenRows<'py>> {
        let encode = |_, question: &SetQuestion, row: &mut [i32]| {
            tokens.tokens.encode_into(&question.program, row).map_err(to_python)
        };
        conversion::token_rows(py, self.rows(), width, encode)
    }

    /// Each question as a JSON object in one line, with its program in COVR's form.
    ///
    /// `question_index` counts from `start_index`.
    #[pyo3(signature = (*, split, start_index = 0))]
    fn json_rows<'py>(&self, py: Python<'py>, split: &str, start_index: u64) -> Vec<Bound<'py, PyBytes>> {
        let row = |(number, question): (usize, &SetQuestion)| {
            let place = SetPlace { split, pool: &self.pool, question_index: start_index + number as u64 };
            let mut json = Vec::with_capacity(2048);
            question.write_json(place, &self.phrasings, &self.vocab, &mut json);
            json
        };
        let rows: Vec<Vec<u8>> = py.detach(|| self.rows().par_iter().enumerate().map(row).collect());
        conversion::json_rows(py, &rows)
    }

    fn __repr__(&self) -> String {
        let first = self.rows().first().map(|question| question.text(&self.phrasings));
        let first = first.map_or_else(String::new, |text| format!(", the first \"{}\"", shown(&text)));
        format!("<SetQuestions: {} questions over several images{first}>", self.range.len())
    }
}
