//! The handle of the pool of counting images.

use crate::conversion;
use crate::errors::to_python;
use crate::questions::{Images, PyQuestionBatch};
use crate::templates::PyTemplates;
use crate::world::PyWorld;
use clevrhope_core::split::CountingPool;
use clevrhope_core::vocab::Vocabulary;
use pyo3::prelude::*;
use std::sync::Arc;

/// The pool of sets of six images in which 0, 1, ... 5 of five objects have a value of a type.
///
/// A scene's index is `(set * values of the type + value) * images + objects with the value`.
///
/// Args:
///     world: the world of the images.
///     value: (type, value); the type determines the pool, and its questions count objects with the value.
///
/// Raises:
///     SplitError: the type does not have this value, or has only one value.
#[pyclass(name = "CountingPool", module = "clevrhope._core", frozen)]
pub struct PyCountingPool {
    vocab: Arc<Vocabulary>,
    value: u8,
    pool: CountingPool,
    positions: Vec<(f64, f64)>,
}

#[pymethods]
impl PyCountingPool {
    #[new]
    #[pyo3(signature = (world, *, value))]
    fn new(world: &PyWorld, value: (String, String)) -> PyResult<Self> {
        let vocab = world.vocab.clone();
        let (kind, value) = conversion::value(&vocab, &value)?;
        let pool = CountingPool::new(&vocab, kind).map_err(to_python)?;
        let positions = CountingPool::positions(&world.world).into_iter().map(|[x, y]| (x, y)).collect();
        Ok(Self { vocab, value, pool, positions })
    }

    /// `counting_<type>`, the name that `sample_scenes` takes for this pool.
    #[getter]
    fn name(&self) -> String {
        self.pool.name()
    }

    /// Number of images in a set: 6.
    #[getter]
    fn images(&self) -> usize {
        self.pool.images()
    }

    /// X and y of the five objects, in Blender units; the same in every image.
    #[getter]
    fn positions(&self) -> Vec<(f64, f64)> {
        self.positions.clone()
    }

    /// The questions of `n` sets from set `first` on: the same question about each of a set's images, in order.
    ///
    /// Raises:
    ///     SplitError: no template asks only for a count, or the pool has no room for so many sets.
    #[pyo3(signature = (templates, *, seed, first, n))]
    fn questions(
        &self,
        py: Python<'_>,
        templates: &PyTemplates,
        seed: u64,
        first: u64,
        n: u64,
    ) -> PyResult<PyQuestionBatch> {
        conversion::same_vocabulary(&self.vocab, &templates.vocab)?;
        let (templates, sets) = (templates.templates.clone(), first..first.saturating_add(n));
        let made = py.detach(|| self.pool.questions(&templates, seed, self.value, sets));
        let images = Images::OfPool(self.pool.name().into());
        Ok(PyQuestionBatch::of_images(self.vocab.clone(), templates, images, made.map_err(to_python)?))
    }

    fn __repr__(&self) -> String {
        format!("<CountingPool {} of sets of {} images>", self.pool.name(), self.pool.images())
    }
}
