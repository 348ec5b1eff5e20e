//! The handle of a split as a stream of questions, about single images or about sets of them.

use crate::choice::Choice;
use crate::conversion::{self, Values};
use crate::covr::{PyPhrasings, SetRows};
use crate::errors::to_python;
use crate::interrupt::{find_windows, in_pieces};
use crate::questions::{FIRST_WINDOWS, Images, PyQuestionBatch};
use crate::splits::PyPoolScenes;
use crate::templates::PyTemplates;
use clevrhope_core::covr::{DistractorChoice, PairPlace, Phrasings, SetQuestions, SetRule, SetStream, Template};
use clevrhope_core::message::shown;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::search::{QuestionRule, SearchStats};
use clevrhope_core::split::{EligibleScenes, SceneRule, SplitError, SplitRule, SplitStream, Windows};
use clevrhope_core::vocab::Vocabulary;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The clock of benchmarks.
#[allow(clippy::disallowed_methods)] // Results do not depend on it.
fn nanoseconds() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed().as_nanos() as u64
}

/// The stream of one kind of questions, and the questions that it has made but not handed over.
trait Stream: Send {
    fn scenes(&mut self) -> &mut EligibleScenes;
    /// Makes the questions of the next windows.
    fn ask(&mut self, n_windows: usize) -> Result<(), SplitError>;
    /// Hands over the questions made.
    fn batch(&mut self) -> PyQuestionBatch;
    /// Has each attempt timed from now on.
    fn time_attempts(&mut self) {}
    /// Hands over the nanoseconds of the attempts.
    fn attempt_ns(&mut self) -> Vec<u64> {
        Vec::new()
    }
    /// Counts so far.
    fn work(&self) -> BTreeMap<&'static str, u64>;
    /// Pairs that were skipped so far because no attempt succeeded, by template.
    fn skipped(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

struct ImageStream {
    stream: SplitStream,
    templates: Arc<TemplateSet>,
    vocab: Arc<Vocabulary>,
    pool: Arc<str>,
    made: Windows,
    n_scenes: usize,
    stats: SearchStats,
}

impl Stream for ImageStream {
    fn scenes(&mut self) -> &mut EligibleScenes {
        &mut self.stream.scenes
    }

    fn ask(&mut self, n_windows: usize) -> Result<(), SplitError> {
        let windows = self.stream.ask(n_windows)?;
        self.n_scenes += windows.scenes;
        self.stats.add(windows.stats);
        self.made.questions.extend(windows.questions);
        self.made.attempt_ns.extend(windows.attempt_ns);
        Ok(())
    }

    fn batch(&mut self) -> PyQuestionBatch {
        let questions = std::mem::take(&mut self.made.questions);
        let images = Images::OfPool(self.pool.clone());
        PyQuestionBatch::of_images(self.vocab.clone(), self.templates.clone(), images, questions)
    }

    fn time_attempts(&mut self) {
        self.stream.time_attempts(nanoseconds);
    }

    fn attempt_ns(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.made.attempt_ns)
    }

    fn work(&self) -> BTreeMap<&'static str, u64> {
        let SearchStats { attempts, states, options, found, exhausted } = self.stats;
        BTreeMap::from([
            ("scenes", self.n_scenes as u64),
            ("attempts", attempts),
            ("states", states),
            ("options", options),
            ("found", found),
            ("exhausted", exhausted),
        ])
    }
}

struct SetsStream {
    stream: SetStream,
    phrasings: Arc<Phrasings>,
    vocab: Arc<Vocabulary>,
    pool: Arc<str>,
    made: SetQuestions,
}

impl Stream for SetsStream {
    fn scenes(&mut self) -> &mut EligibleScenes {
        &mut self.stream.scenes
    }

    fn ask(&mut self, n_windows: usize) -> Result<(), SplitError> {
        self.made.add(self.stream.ask(n_windows)?);
        Ok(())
    }

    fn batch(&mut self) -> PyQuestionBatch {
        let questions = std::mem::take(&mut self.made.questions);
        let n = questions.len();
        let (phrasings, vocab, pool) = (self.phrasings.clone(), self.vocab.clone(), self.pool.clone());
        PyQuestionBatch::new(Arc::new(SetRows { phrasings, vocab, pool, questions }), n)
    }

    fn work(&self) -> BTreeMap<&'static str, u64> {
        let SetQuestions { attempts, skipped, .. } = &self.made;
        BTreeMap::from([("attempts", attempts.iter().sum()), ("skipped", skipped.iter().sum())])
    }

    fn skipped(&self) -> BTreeMap<&'static str, u64> {
        Template::ALL.into_iter().map(Template::name).zip(self.made.skipped).collect()
    }
}

/// The questions of a split, made in windows of 250 eligible scenes of a pool.
#[pyclass(name = "QuestionStream", module = "clevrhope._core", frozen)]
pub struct PyQuestionStream {
    split: String,
    pool: Arc<str>,
    stream: Mutex<Box<dyn Stream>>,
}

impl PyQuestionStream {
    fn stream(&self, py: Python<'_>) -> MutexGuard<'_, Box<dyn Stream>> {
        self.stream.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks about the next windows, piece by piece.
    fn ask(py: Python<'_>, stream: &mut dyn Stream, n_windows: usize) -> PyResult<()> {
        find_windows(py, stream.scenes(), n_windows)?;
        in_pieces(py, n_windows, FIRST_WINDOWS, |piece| stream.ask(piece.len()).map_err(to_python))
    }
}

#[pymethods]
impl PyQuestionStream {
    /// The questions of a split about single images.
    ///
    /// Args:
    ///     pool_scenes: the scenes of the pool.
    ///     templates: templates with the same vocabulary.
    ///     split: the split's name, a part of the key of the draws.
    ///     held_out: the held-out values, if any.
    ///     scenes: which scenes are eligible: "any", or those "without" or "with" an object that has these values.
    ///     questions: which questions are asked: "any", those "without" a mention of the values, those that do not
    ///         imply them by likenesses either ("unimplied"), or those "with" a mention.
    ///     questions_per_scene: the number of questions wanted about each scene; some scenes give fewer.
    ///     in_chains: whether only a chain of filters mentions the values, not a description that passes through a
    ///         union or an intersection.
    ///
    /// Raises:
    ///     SplitError: questions must mention the values, but no template can.
    #[staticmethod]
    #[pyo3(signature = (
        pool_scenes, templates, *, split, held_out, scenes, questions, questions_per_scene, in_chains = false
    ))]
    #[allow(clippy::too_many_arguments)] // All but two are keyword arguments.
    fn about_images(
        pool_scenes: &PyPoolScenes,
        templates: &PyTemplates,
        split: String,
        held_out: Option<Values>,
        scenes: Choice<SceneRule>,
        questions: Choice<QuestionRule>,
        questions_per_scene: u32,
        in_chains: bool,
    ) -> PyResult<Self> {
        conversion::same_vocabulary(&pool_scenes.vocab, &templates.vocab)?;
        let (vocab, templates) = (pool_scenes.vocab.clone(), templates.templates.clone());
        let holdout = held_out.map(|values| conversion::holdout(&vocab, &values)).transpose()?;
        let holdout = holdout.map(|holdout| if in_chains { holdout.in_chains() } else { holdout });
        let rule =
            SplitRule { name: split.clone(), scenes: scenes.0, questions: questions.0, per_scene: questions_per_scene };
        let stream = SplitStream::new(pool_scenes.inner.clone(), templates.clone(), rule, holdout);
        let (stream, pool): (_, Arc<str>) = (stream.map_err(to_python)?, pool_scenes.inner.pool().into());
        let (made, n_scenes, stats) = Default::default();
        let stream = ImageStream { stream, templates, vocab, pool: pool.clone(), made, n_scenes, stats };
        Ok(Self { split, pool, stream: Mutex::new(Box::new(stream)) })
    }

    /// The questions of a split about sets of images, in pairs with the same text and different answers.
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
    #[staticmethod]
    #[pyo3(signature = (
        pool_scenes, phrasings, *, split, held_out, scenes, places, implied, distractors, half, paraphrased
    ))]
    #[allow(clippy::too_many_arguments)] // All but two are keyword arguments.
    fn about_sets(
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
        let (vocab, phrasings) = (pool_scenes.vocab.clone(), phrasings.phrasings.clone());
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
        let stream = SetStream::new(pool_scenes.inner.clone(), phrasings.clone(), rule, holdout);
        let (stream, pool): (_, Arc<str>) = (stream.map_err(to_python)?, pool_scenes.inner.pool().into());
        let stream = SetsStream { stream, phrasings, vocab, pool: pool.clone(), made: SetQuestions::default() };
        Ok(Self { split, pool, stream: Mutex::new(Box::new(stream)) })
    }

    /// The questions of the next windows. The stream cannot be used after an error or Ctrl-C.
    ///
    /// Raises:
    ///     SplitError: hardly any scene of some number of objects is eligible, or they give no questions; says which
    ///         predicate starves the split.
    ///     SceneError: a scene could not meet the constraints.
    fn next(&self, py: Python<'_>, n_windows: usize) -> PyResult<PyQuestionBatch> {
        let mut stream = self.stream(py);
        Self::ask(py, stream.as_mut(), n_windows)?;
        Ok(stream.batch())
    }

    /// Nanoseconds for each attempt at a question about an image in the next windows, whether kept or not; for
    /// benchmarks.
    fn time_attempts<'py>(&self, py: Python<'py>, n_windows: usize) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let mut stream = self.stream(py);
        stream.time_attempts();
        Self::ask(py, stream.as_mut(), n_windows)?;
        Ok(PyArray1::from_vec(py, stream.attempt_ns()))
    }

    /// Finds and places the scenes of the next windows, so that `next` only has to make questions about them.
    ///
    /// Raises:
    ///     SplitError: hardly any scene of some number of objects is eligible.
    ///     SceneError: a scene could not meet the constraints.
    fn prepare(&self, py: Python<'_>, n_windows: usize) -> PyResult<()> {
        let mut stream = self.stream(py);
        let scenes = stream.scenes();
        find_windows(py, scenes, n_windows)?;
        in_pieces(py, n_windows, 1, |mut windows| {
            windows.try_for_each(|window| scenes.place_window(window)).map_err(to_python)
        })
    }

    /// Counts so far: scenes (with questions made about them), attempts, states, options, found, exhausted; about sets
    /// of images, attempts at pairs and those skipped.
    #[getter]
    fn work(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        self.stream(py).work()
    }

    /// The pairs of questions about sets that were skipped so far because no attempt succeeded, by template.
    #[getter]
    fn skipped(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        self.stream(py).skipped()
    }

    fn __repr__(&self) -> String {
        format!("<QuestionStream of split {}, pool {}>", shown(&self.split), shown(&self.pool))
    }
}
