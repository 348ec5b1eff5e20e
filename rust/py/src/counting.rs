//! A value in, the questions that count it in sets of six images out.

use crate::convert;
use crate::errors::to_python;
use crate::questions::{Images, PyQuestionBatch};
use crate::templates::PyTemplates;
use crate::world::PyWorld;
use clevrhope_core::split::CountingPool;
use clevrhope_core::vocab::Vocabulary;
use pyo3::prelude::*;
use std::sync::Arc;

/// The pool of counting images of a value's type, and the questions that count the value.
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
        let (kind, value) = convert::value(&vocab, &value)?;
        let pool = CountingPool::new(&vocab, kind).map_err(to_python)?;
        let positions = CountingPool::positions(&world.world).into_iter().map(|[x, y]| (x, y)).collect();
        Ok(Self { vocab, value, pool, positions })
    }

    #[getter]
    fn name(&self) -> String {
        self.pool.name()
    }

    #[getter]
    fn images(&self) -> usize {
        self.pool.images()
    }

    #[getter]
    fn positions(&self) -> Vec<(f64, f64)> {
        self.positions.clone()
    }

    #[pyo3(signature = (templates, *, seed, first, n))]
    fn questions(
        &self,
        py: Python<'_>,
        templates: &PyTemplates,
        seed: u64,
        first: u64,
        n: u64,
    ) -> PyResult<PyQuestionBatch> {
        convert::same_vocabulary(&self.vocab, &templates.vocab)?;
        let (templates, sets) = (templates.templates.clone(), first..first.saturating_add(n));
        let made = py.detach(|| self.pool.questions(&templates, seed, self.value, sets));
        let images = Images::OfPool(self.pool.name().into());
        Ok(PyQuestionBatch::new(self.vocab.clone(), templates, images, made.map_err(to_python)?))
    }
}
