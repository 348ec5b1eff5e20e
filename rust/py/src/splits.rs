//! Handles of a pool's scenes, and of the pool of one-object images.

use crate::choice::Choice;
use crate::conversion::{self, Values};
use crate::errors::to_python;
use crate::interrupt::{find_windows, in_pieces};
use crate::questions::{Images, PyQuestionBatch};
use crate::scenes::{FIRST_PIECE, PySceneBatch};
use crate::templates::PyTemplates;
use crate::world::PyWorld;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::message::shown;
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::split::{EligibleScenes, MinimalKind, MinimalPool, PoolScenes, SceneRule};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::Arc;

/// The scenes of a pool that splits ask about, each placed once for all splits of the pool.
#[pyclass(name = "PoolScenes", module = "clevrhope._core", frozen)]
pub struct PyPoolScenes {
    pub inner: Arc<PoolScenes>,
    pub vocab: Arc<Vocabulary>,
}

#[pymethods]
impl PyPoolScenes {
    #[new]
    #[pyo3(signature = (world, *, seed, pool))]
    fn new(world: &PyWorld, seed: u64, pool: &str) -> Self {
        Self { inner: Arc::new(PoolScenes::new(world.world.clone(), seed, pool)), vocab: world.vocab.clone() }
    }

    /// The number of placed scenes that are kept.
    #[getter]
    fn n_kept(&self) -> usize {
        self.inner.n_kept()
    }

    /// The pool's scenes at (N,) indices, in this order; scenes that are kept are not made again.
    ///
    /// Raises:
    ///     SceneError: a scene could not meet the constraints.
    fn scenes(&self, py: Python<'_>, indices: PyReadonlyArray1<'_, u64>) -> PyResult<PySceneBatch> {
        let indices = indices.as_array().to_vec();
        let mut scenes = Vec::with_capacity(indices.len());
        in_pieces(py, indices.len(), FIRST_PIECE, |piece| {
            let placed = self.inner.scenes(&indices[piece]).map_err(to_python)?;
            scenes.extend(placed.iter().map(|each| each.scene.clone()));
            Ok(())
        })?;
        Ok(PySceneBatch::new(self.vocab.clone(), scenes))
    }

    /// The indices of the first `n` scenes that a split with this rule may ask about, (n,) uint64, in the split's order.
    /// None of them is placed.
    ///
    /// Args:
    ///     held_out: the held-out values, if any.
    ///     scenes: "any", or those "without" or "with" an object that has these values.
    ///     split: the split's name, for messages.
    ///     n: the number of scenes.
    ///
    /// Raises:
    ///     SplitError: hardly any scene of some number of objects is eligible.
    #[pyo3(signature = (held_out, *, scenes, split, n))]
    fn eligible<'py>(
        &self,
        py: Python<'py>,
        held_out: Option<Values>,
        scenes: Choice<SceneRule>,
        split: &str,
        n: usize,
    ) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let holdout = held_out.map(|values| conversion::holdout(&self.vocab, &values)).transpose()?;
        let mut eligible = EligibleScenes::new(self.inner.clone(), split, scenes.0, holdout);
        let n_windows = n.div_ceil(WINDOW);
        find_windows(py, &mut eligible, n_windows)?;
        let mut indices = eligible.skip_windows(n_windows);
        indices.truncate(n);
        Ok(PyArray1::from_vec(py, indices))
    }

    fn __repr__(&self) -> String {
        let (pool, seed, n_kept) = (shown(self.inner.pool()), self.inner.seed(), self.inner.n_kept());
        format!("<PoolScenes of pool {pool}, seed {seed}, {n_kept} scenes kept>")
    }
}

/// The pool of one-object images for a pair's attribute types, and the questions about it.
///
/// A scene's index is `place * corners + corner`; its place is `(grid * n_combinations + combination) * copies + copy`.
/// With a single value in `held_out`, this is the pool of the value's type.
///
/// Args:
///     world: the world of the images.
///     held_out: the held-out values, which determine the pool's types; `has_held_out` and `questions` use the values.
///     shared: whether all pairs show all objects at the same places. A scene's index is then `shared place * number of
///         objects + object`, and the shared place of a group depends on its copy and grid.
///
/// Raises:
///     SplitError: the values are not of different types, a type has only one value, or shared places have a palette.
#[pyclass(name = "MinimalPool", module = "clevrhope._core", frozen)]
pub struct PyMinimalPool {
    vocab: Arc<Vocabulary>,
    holdout: Holdout,
    pool: MinimalPool,
}

#[pymethods]
impl PyMinimalPool {
    #[new]
    #[pyo3(signature = (world, *, held_out, shared = false))]
    fn new(world: &PyWorld, held_out: Values, shared: bool) -> PyResult<Self> {
        let vocab = world.vocab.clone();
        let holdout = conversion::value_or_pair(&vocab, &held_out)?;
        let mut pool = MinimalPool::new(&vocab, &holdout, world.world.palette()).map_err(to_python)?;
        if shared {
            pool = pool.shared(&vocab).map_err(to_python)?;
        }
        Ok(Self { vocab, holdout, pool })
    }

    /// `minimal_<type>_<type>`, the name that `sample_scenes` takes for this pool; `minimal` for shared places.
    ///
    /// In a world with a palette, `-<palette>` is appended.
    #[getter]
    fn name(&self) -> String {
        self.pool.name()
    }

    /// Number of places in the pool, each with `corners` images.
    ///
    /// If places are shared, several of these numbers are one place, with all of its images.
    #[getter]
    fn n_places(&self) -> u64 {
        self.pool.n_places()
    }

    /// Number of grids, each of which has two values of each type.
    #[getter]
    fn n_grids(&self) -> usize {
        self.pool.n_grids()
    }

    /// Number of combinations of the other types' values.
    #[getter]
    fn n_combinations(&self) -> usize {
        self.pool.n_combinations()
    }

    /// Number of places for each grid and combination, as many as in the paper.
    #[getter]
    fn copies(&self) -> usize {
        self.pool.copies()
    }

    /// Number of images of a place: 4 for a pair, 2 for a single value.
    #[getter]
    fn corners(&self) -> usize {
        self.pool.corners()
    }

    /// Whether a place's grid holds the held-out values.
    fn has_held_out(&self, place: u64) -> bool {
        place < self.pool.n_places() && self.pool.held_corner(place, &self.holdout).is_some()
    }

    /// The questions of a minimal set ("iid" or "ood") about (N,) places, group by group.
    ///
    /// Raises:
    ///     SplitError: no template asks only for existence.
    ///     IndexError: the pool has no such place.
    #[pyo3(signature = (templates, *, seed, kind, places))]
    fn questions(
        &self,
        py: Python<'_>,
        templates: &PyTemplates,
        seed: u64,
        kind: Choice<MinimalKind>,
        places: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<PyQuestionBatch> {
        conversion::same_vocabulary(&self.vocab, &templates.vocab)?;
        let places = conversion::numbers(&places, "places", self.pool.n_places())?;
        let templates = templates.templates.clone();
        let made = py.detach(|| self.pool.questions(&templates, seed, &self.holdout, kind.0, &places));
        let images = Images::OfPool(self.pool.name().into());
        Ok(PyQuestionBatch::of_images(self.vocab.clone(), templates, images, made.map_err(to_python)?))
    }

    fn __repr__(&self) -> String {
        let (name, places, corners) = (self.pool.name(), self.pool.n_places(), self.pool.corners());
        match self.pool.n_shared_places() {
            Some(shared) => format!("<MinimalPool {name} of {shared} places that all pairs share>"),
            None => format!("<MinimalPool {name} of {places} places, {corners} images each>"),
        }
    }
}
