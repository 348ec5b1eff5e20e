//! Handles of questions over several images: their phrasings, the stream of a split, and its questions.

use crate::choice::Choice;
use crate::conversion::{self, TokenRows, Values};
use crate::errors::{TemplateError, VocabularyError, raise, to_python};
use crate::interrupt::in_pieces;
use crate::programs::PyProgramTokens;
use crate::questions::FIRST_WINDOWS;
use crate::splits::PyPoolScan;
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

/// The sentences of questions over several images.
///
/// Args:
///     content: a JSON object of templates and their phrasings.
///     vocabulary: whose values the questions name.
///     file: its name, for messages.
///
/// Raises:
///     TemplateError: not such an object; names the file, the template and the phrasing.
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

    /// Every token that a question can hold, without the special ones.
    #[getter]
    fn words(&self) -> Vec<String> {
        self.phrasings.words(&self.vocab)
    }

    /// Most tokens of a question's row.
    #[getter]
    fn question_width(&self) -> usize {
        self.phrasings.width()
    }

    /// Most tokens of a program's row.
    #[getter]
    fn program_width(&self) -> usize {
        PROGRAM_WIDTH
    }

    /// The functions that programs of the questions use.
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

/// A split of questions over several images: window after window of 250 eligible scenes of a pool.
///
/// Args:
///     scan: of the pool.
///     phrasings: made with the same vocabulary.
///     split: the name that decides the questions together with seed, pool and pair.
///     pair: the held-out values, if any.
///     scenes: which scenes are eligible: "any", or those "without" or "with" an object of these values.
///     places: where the values are, from pair of questions to pair of questions in turn: "nowhere", mentioned in
///         the "question", or shown in a "distractor" alone.
///     implied: whether questions that do not mention the values do not ask for them by likenesses either.
///     distractors: "edited" ones contradict a part of what the question describes; "random" ones are any.
///     half: which half of all texts (0 or 1) the split has; None for all.
///     paraphrased: whether each question has the phrasing that is last in its list, which it has nowhere else.
///     match_objects: whether scenes are thinned until all numbers of objects are equally frequent.
///
/// Raises:
///     SplitError: a world that is too poor for a template.
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
        scan, phrasings, *, split, pair, scenes, places, implied, distractors, half, paraphrased, match_objects
    ))]
    #[allow(clippy::too_many_arguments)] // All but two are keyword arguments.
    fn new(
        scan: &PyPoolScan,
        phrasings: &PyPhrasings,
        split: String,
        pair: Option<Values>,
        scenes: Choice<SceneRule>,
        places: Vec<Choice<PairPlace>>,
        implied: bool,
        distractors: Choice<DistractorChoice>,
        half: Option<u8>,
        paraphrased: bool,
        match_objects: bool,
    ) -> PyResult<Self> {
        conversion::same_vocabulary(&scan.vocab, &phrasings.vocab)?;
        let (vocab, scan) = (scan.vocab.clone(), scan.scan.clone());
        let holdout = pair.map(|pair| conversion::holdout(&vocab, &pair)).transpose()?;
        let rule = SetRule {
            name: split.clone(),
            scenes: scenes.0,
            places: places.iter().map(|place| place.0).collect(),
            implied,
            distractors: distractors.0,
            half,
            paraphrased,
            match_objects,
        };
        let (pool, phrasings) = (scan.pool().into(), phrasings.phrasings.clone());
        let stream = SetStream::new(scan, phrasings.clone(), rule, holdout).map_err(to_python)?;
        let (attempts, skipped) = Default::default();
        Ok(Self { phrasings, vocab, pool, name: split, state: Mutex::new(State { stream, attempts, skipped }) })
    }

    /// The questions of the next windows, two and two with the same text and different answers.
    ///
    /// After an error or Ctrl-C the stream cannot be used any more.
    ///
    /// Raises:
    ///     SplitError: no more eligible scenes, or no questions on them.
    fn next(&self, py: Python<'_>, n_windows: usize) -> PyResult<PySetQuestions> {
        let mut state = self.state(py);
        let State { stream, attempts, skipped } = &mut *state;
        while stream.scenes.waiting_windows() < n_windows {
            py.detach(|| stream.scenes.look_further()).map_err(to_python)?;
            py.check_signals()?;
        }
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

    /// By template: how many attempts at pairs there were so far.
    #[getter]
    fn attempts(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        Self::by_template(&self.state(py).attempts)
    }

    /// By template: how many pairs there should be so far but are not, since no attempt succeeded.
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

/// Questions about sets of scenes of one pool, in order.
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

    /// The questions from `start` up to `stop`, which are shared, not copied.
    ///
    /// Raises:
    ///     IndexError: a range beyond them.
    fn take(&self, start: usize, stop: usize) -> PyResult<Self> {
        if start > stop || stop > self.range.len() {
            return Err(PyIndexError::new_err(format!("questions {start} to {stop}, of {}", self.range.len())));
        }
        let range = self.range.start + start..self.range.start + stop;
        let (phrasings, vocab, pool) = (self.phrasings.clone(), self.vocab.clone(), self.pool.clone());
        Ok(Self { phrasings, vocab, pool, questions: self.questions.clone(), range })
    }

    /// (N, 5) each question's scenes, by their indices in the pool, padded with -1.
    #[getter]
    fn image_idxs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let mut rows = conversion::matrix_of(-1, self.range.len(), MAX_IMAGES)?;
        for (question, row) in self.rows().iter().zip(rows.chunks_exact_mut(MAX_IMAGES)) {
            row.iter_mut().zip(question.indices()).for_each(|(to, &index)| *to = index as i32);
        }
        conversion::to_matrix(py, rows, MAX_IMAGES)
    }

    /// (N,) numbers of `Vocabulary.set_answers`.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| self.vocab.answer_index(question.answer).map_or(-1, i32::from))
    }

    /// (N,) numbers of templates.
    #[getter]
    fn templates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |question| question.meaning.template() as i32)
    }

    /// (N,) numbers of structures: single, edge, chain, V.
    #[getter]
    fn structures<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.meaning.structure() as i8)
    }

    /// (N,) the place of each question's source image.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.source as i8)
    }

    /// (N,) 1 where the answer is lost or changes without the last leaf, 0 where it stays, -1 where there is none.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.cut)
    }

    /// (N,) where the held-out values are: 0 nowhere, 1 in the question, 2 in distractors alone.
    #[getter]
    fn pair_places<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |question| question.place as i8)
    }

    /// (N, R) for each property of `covr_property_names`: 1 where a question has it.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let of = |question: &SetQuestion| described(question).properties().map(i8::from).collect();
        let rows: Vec<Vec<i8>> = py.detach(|| self.rows().par_iter().map(of).collect());
        conversion::to_matrix(py, rows.concat(), property_names().len())
    }

    /// (N,) masks of the terms that each question names or has as its answer, a bit each of `covr_term_names`.
    ///
    /// Raises:
    ///     VocabularyError: more terms than a mask of 64 bits has room for.
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

    /// (N, width) rows of words by number in `names`, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     TemplateError: a word that is not in `names`, or a question that needs more room.
    fn question_tokens<'py>(&self, py: Python<'py>, names: Vec<String>, width: usize) -> PyResult<TokenRows<'py>> {
        let words = QuestionVocabulary::new(names.iter().map(String::as_str)).map_err(to_python)?;
        let encode = |_, question: &SetQuestion, row: &mut [i32]| {
            words.encode_into(&question.text(&self.phrasings), row).map_err(to_python)
        };
        conversion::token_rows(py, self.rows(), width, encode)
    }

    /// (N, width) rows of functions in prefix order, padded with 0; and (N,) the number of tokens of each.
    ///
    /// Raises:
    ///     ProgramError: a program that needs more room, or a function that has no token.
    fn program_tokens<'py>(&self, py: Python<'py>, tokens: &PyProgramTokens, width: usize) -> PyResult<TokenRows<'py>> {
        let encode = |_, question: &SetQuestion, row: &mut [i32]| {
            tokens.tokens.encode_into(&question.program, row).map_err(to_python)
        };
        conversion::token_rows(py, self.rows(), width, encode)
    }

    /// Each question as a JSON object in one line, with COVR's form of its program.
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
