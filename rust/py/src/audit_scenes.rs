//! The audit's reader of finished scenes.

use crate::conversion::{self, Values};
use crate::errors::{SceneError, VocabularyError, raise};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::Vocabulary;
use clevrhope_core::audit::FinishedScenes;
use clevrhope_core::vocab::N_TYPES;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The S scenes of finished files, in the files' order, read independently of the code that made them.
#[pyclass(name = "AuditScenes", module = "clevrhope._core", frozen)]
pub struct PyAuditScenes {
    vocab: Arc<Vocabulary>,
    pub scenes: FinishedScenes,
}

#[pymethods]
impl PyAuditScenes {
    /// Reads CLEVR scene files; uses all cores.
    ///
    /// Raises:
    ///     SceneError: a file cannot be read or is not a scene file; says where.
    #[staticmethod]
    fn read(py: Python<'_>, vocabulary: &PyVocabulary, paths: Vec<PathBuf>) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let scenes = py.detach(|| FinishedScenes::read(&paths, &vocab));
        Ok(Self { scenes: scenes.map_err(raise::<SceneError>)?, vocab })
    }

    fn __len__(&self) -> usize {
        self.scenes.0.len()
    }

    /// (S,) the `image_index` of each scene.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.scenes.0.iter().map(|scene| scene.index))
    }

    /// The `image_filename` of each scene.
    #[getter]
    fn filenames(&self) -> Vec<&str> {
        self.scenes.0.iter().map(|scene| scene.filename.as_str()).collect()
    }

    /// (S,) digests of the objects, their positions and rotations; independent of camera and lights.
    #[getter]
    fn looks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.scenes.0.iter().map(|scene| scene.look))
    }

    /// (S,) digests of only the positions (x and y) and rotations.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.scenes.0.iter().map(|scene| scene.place))
    }

    /// (S, 3) the cameras' positions; NaN for a scene without one.
    #[getter]
    fn cameras<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        conversion::to_matrix(py, self.scenes.0.iter().flat_map(|scene| scene.camera).collect(), 3)
    }

    /// (S, 3) the direction "behind" of each scene; NaN for a scene without directions.
    #[getter]
    fn behind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        conversion::to_matrix(py, self.scenes.0.iter().flat_map(|scene| scene.behind).collect(), 3)
    }

    /// (S, 3) the direction "left" of each scene; NaN for a scene without directions.
    #[getter]
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        conversion::to_matrix(py, self.scenes.0.iter().flat_map(|scene| scene.left).collect(), 3)
    }

    /// The scenes whose relationships contradict their positions and directions, as (index, what is wrong).
    #[getter]
    fn misrelated(&self) -> Vec<(usize, String)> {
        let wrong = self.scenes.0.iter().enumerate();
        wrong.filter_map(|(number, scene)| Some((number, scene.wrong_relation.clone()?))).collect()
    }

    /// (S,) the number of objects of each scene.
    #[getter]
    fn n_objects<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_iter(py, self.scenes.attributes().map(|objects| objects.len() as u8))
    }

    /// (O, 4) the numbers of size, color, material and shape of each object, scene by scene.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let values: Vec<u8> = self.scenes.attributes().flatten().flatten().copied().collect();
        conversion::to_matrix(py, values, N_TYPES)
    }

    /// (S,) whether one object has all these values.
    ///
    /// Raises:
    ///     VocabularyError: a value is not in the vocabulary.
    fn holding<'py>(&self, py: Python<'py>, values: Values) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let holding = self.scenes.holding(&self.vocab, &values);
        Ok(PyArray1::from_vec(py, holding.map_err(raise::<VocabularyError>)?))
    }

    fn __repr__(&self) -> String {
        format!("<AuditScenes: {}, {} of them misrelated>", self.scenes.0.len(), self.misrelated().len())
    }
}
