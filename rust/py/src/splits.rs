//! Pools and rules in, questions out: window by window of a pool's scenes, and of the one-object sets.

use crate::convert;
use crate::errors::to_python;
use crate::interrupt::in_pieces;
use crate::questions::{FIRST_WINDOWS, Images, PyQuestionBatch};
use crate::scenes::{FIRST_PIECE, PySceneBatch};
use crate::templates::PyTemplates;
use crate::world::PyWorld;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::question::search::SearchStats;
use clevrhope_core::split::{MinimalPool, PoolScan, SplitRule, SplitStream, Windows, scan};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Instant;

/// The stopwatch of benchmarks.
#[allow(clippy::disallowed_methods)] // Nothing is decided by it.
fn nanoseconds() -> u64 {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGAN.elapsed().as_nanos() as u64
}

/// The scenes of a pool as programs see them, shared by all splits over the pool.
#[pyclass(name = "PoolScan", module = "clevrhope._core", frozen)]
pub struct PyPoolScan {
    scan: Arc<PoolScan>,
    vocab: Arc<Vocabulary>,
}

#[pymethods]
impl PyPoolScan {
    #[new]
    #[pyo3(signature = (world, *, seed, pool))]
    fn new(world: &PyWorld, seed: u64, pool: &str) -> Self {
        Self { scan: Arc::new(PoolScan::new(world.world.clone(), seed, pool)), vocab: world.vocab.clone() }
    }

    #[getter]
    fn scanned(&self) -> u64 {
        self.scan.scanned()
    }

    fn scenes(&self, py: Python<'_>, indices: PyReadonlyArray1<'_, u64>) -> PyResult<PySceneBatch> {
        let indices = indices.as_array().to_vec();
        let mut scenes = Vec::with_capacity(indices.len());
        in_pieces(py, indices.len(), FIRST_PIECE, |piece| {
            scenes.extend(self.scan.scenes(&indices[piece]).map_err(to_python)?);
            Ok(())
        })?;
        Ok(PySceneBatch::new(self.vocab.clone(), scenes))
    }

    fn look_at(&self, py: Python<'_>, n_scenes: u64) -> PyResult<()> {
        in_pieces(py, n_scenes.div_ceil(scan::CHUNK) as usize, 1, |mut chunks| {
            chunks.try_for_each(|chunk| self.scan.chunk(chunk as u64).map(drop)).map_err(to_python)
        })
    }
}

/// A split of a pool, window after window.
#[pyclass(name = "SplitStream", module = "clevrhope._core", frozen)]
pub struct PySplitStream {
    scan: Arc<PoolScan>,
    templates: PyTemplates,
    vocab: Arc<Vocabulary>,
    state: Mutex<State>,
}

struct State {
    stream: SplitStream,
    n_scenes: usize,
    work: SearchStats,
}

impl PySplitStream {
    /// Asks about the next windows piece by piece; `keep` is given each piece.
    fn ask(&self, py: Python<'_>, n_windows: usize, mut keep: impl FnMut(Windows) + Send) -> PyResult<()> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let State { stream, n_scenes, work } = &mut *state;
        self.look(py, stream, n_windows)?;
        in_pieces(py, n_windows, FIRST_WINDOWS, |piece| {
            let windows = stream.ask(piece.len()).map_err(to_python)?;
            *n_scenes += windows.scenes;
            work.add(windows.stats);
            keep(windows);
            Ok(())
        })
    }

    /// Looks at scenes until so many windows are whole.
    fn look(&self, py: Python<'_>, stream: &mut SplitStream, n_windows: usize) -> PyResult<()> {
        while stream.waiting_windows() < n_windows {
            py.detach(|| stream.look_further()).map_err(to_python)?;
            py.check_signals()?;
        }
        Ok(())
    }
}

#[pymethods]
impl PySplitStream {
    #[new]
    #[pyo3(signature = (scan, templates, *, split, pair, scenes, questions, questions_per_scene, match_objects = false))]
    #[allow(clippy::too_many_arguments)] // All but two have names.
    fn new(
        scan: &PyPoolScan,
        templates: &PyTemplates,
        split: String,
        pair: Option<Vec<(String, String)>>,
        scenes: &str,
        questions: &str,
        questions_per_scene: u32,
        match_objects: bool,
    ) -> PyResult<Self> {
        convert::same_vocabulary(&scan.vocab, &templates.vocab)?;
        let (vocab, scan) = (scan.vocab.clone(), scan.scan.clone());
        let holdout = pair.map(|pair| convert::holdout(&vocab, &pair)).transpose()?;
        let (scenes, questions) = (convert::scene_rule(scenes)?, convert::question_rule(questions)?);
        let rule = SplitRule { name: split, scenes, questions, per_scene: questions_per_scene, match_objects };
        let stream = SplitStream::new(scan.clone(), templates.templates.clone(), rule, holdout).map_err(to_python)?;
        let state = Mutex::new(State { stream, n_scenes: 0, work: SearchStats::default() });
        Ok(Self { scan, templates: templates.clone(), vocab, state })
    }

    fn next(&self, py: Python<'_>, n_windows: usize) -> PyResult<PyQuestionBatch> {
        let mut questions = Vec::new();
        self.ask(py, n_windows, |windows| questions.extend(windows.questions))?;
        let images = Images::OfPool(self.scan.pool().into());
        Ok(PyQuestionBatch::new(self.vocab.clone(), self.templates.templates.clone(), images, questions))
    }

    fn time_attempts<'py>(&self, py: Python<'py>, n_windows: usize) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).stream.time_attempts(nanoseconds);
        let mut attempt_ns = Vec::new();
        self.ask(py, n_windows, |windows| attempt_ns.extend(windows.attempt_ns))?;
        Ok(PyArray1::from_vec(py, attempt_ns))
    }

    fn prepare(&self, py: Python<'_>, n_windows: usize) -> PyResult<()> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        self.look(py, &mut state.stream, n_windows)
    }

    fn skip<'py>(&self, py: Python<'py>, n_windows: usize) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        self.look(py, &mut state.stream, n_windows)?;
        Ok(PyArray1::from_vec(py, state.stream.skip_windows(n_windows).map_err(to_python)?))
    }

    #[getter]
    fn usable_families(&self, py: Python<'_>) -> Vec<u16> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).stream.usable_families()
    }

    #[getter]
    fn work(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        let state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        convert::work(state.work, state.n_scenes, state.stream.scanned())
    }
}

/// The pool of one-object images of a pair's types, and the questions that tell them apart.
#[pyclass(name = "MinimalPool", module = "clevrhope._core", frozen)]
pub struct PyMinimalPool {
    vocab: Arc<Vocabulary>,
    holdout: Holdout,
    pool: MinimalPool,
}

#[pymethods]
impl PyMinimalPool {
    #[new]
    #[pyo3(signature = (world, *, pair))]
    fn new(world: &PyWorld, pair: Vec<(String, String)>) -> PyResult<Self> {
        let vocab = world.vocab.clone();
        let holdout = convert::asked_for(&vocab, &pair)?;
        let pool = match world.world.palette() {
            Some(palette) => MinimalPool::within(&vocab, &holdout, palette),
            None => MinimalPool::new(&vocab, &holdout),
        };
        Ok(Self { vocab, holdout, pool: pool.map_err(to_python)? })
    }

    #[getter]
    fn name(&self) -> String {
        self.pool.name()
    }

    #[getter]
    fn n_places(&self) -> u64 {
        self.pool.n_places()
    }

    #[getter]
    fn n_grids(&self) -> usize {
        self.pool.n_grids()
    }

    #[getter]
    fn n_combinations(&self) -> usize {
        self.pool.n_combinations()
    }

    #[getter]
    fn copies(&self) -> usize {
        self.pool.copies()
    }

    #[getter]
    fn corners(&self) -> usize {
        self.pool.corners()
    }

    fn has_pair(&self, place: u64) -> bool {
        place < self.pool.n_places() && self.pool.held_corner(place, &self.holdout).is_some()
    }

    fn has_unseen(&self, place: u64) -> bool {
        place < self.pool.n_places() && self.pool.unseen_corner(place, &self.holdout).is_some()
    }

    #[pyo3(signature = (templates, *, seed, kind, places))]
    fn questions(
        &self,
        py: Python<'_>,
        templates: &PyTemplates,
        seed: u64,
        kind: &str,
        places: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<PyQuestionBatch> {
        convert::same_vocabulary(&self.vocab, &templates.vocab)?;
        let kind = convert::minimal_kind(kind)?;
        let places = convert::places(&places, self.pool.n_places())?;
        let templates = templates.templates.clone();
        let made = py.detach(|| self.pool.questions(&templates, seed, &self.holdout, kind, &places));
        let images = Images::OfPool(self.pool.name().into());
        Ok(PyQuestionBatch::new(self.vocab.clone(), templates, images, made.map_err(to_python)?))
    }
}
