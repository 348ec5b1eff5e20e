//! Handles of scenes and of their graphs, and the functions that make scenes.

use crate::conversion;
use crate::errors::{SceneError, raise, to_python};
use crate::interrupt::in_pieces;
use crate::vocabulary::PyVocabulary;
use crate::world::PyWorld;
use clevrhope_core::program::SceneTable;
use clevrhope_core::scene::set::MAX_IMAGES;
use clevrhope_core::scene::{Pool, Scene, SceneGraph, SceneSet, json};
use clevrhope_core::split::{CountingPool, MinimalPool};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{Borrowed, CastError};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// The number of scenes in the first piece of a batch: a few milliseconds of work.
pub const FIRST_PIECE: usize = 32;

/// A batch of scenes with all their data.
#[pyclass(name = "SceneBatch", module = "clevrhope._core", frozen)]
pub struct PySceneBatch {
    pub vocab: Arc<Vocabulary>,
    pub scenes: Vec<Arc<Scene>>,
    graphs: OnceLock<Arc<Graphs>>,
}

/// The scenes' values and relations, on which programs are executed.
pub struct Graphs {
    pub vocab: Arc<Vocabulary>,
    pub graphs: Vec<SceneGraph>,
    pub table: SceneTable,
}

impl Graphs {
    fn new(vocab: Arc<Vocabulary>, graphs: Vec<SceneGraph>) -> Arc<Self> {
        let views: Vec<_> = graphs.iter().map(SceneGraph::view).collect();
        let table = SceneTable::new(&vocab, &views);
        Arc::new(Self { vocab, graphs, table })
    }
}

impl PySceneBatch {
    pub fn new(vocab: Arc<Vocabulary>, scenes: impl IntoIterator<Item = impl Into<Arc<Scene>>>) -> Self {
        Self { vocab, scenes: scenes.into_iter().map(Into::into).collect(), graphs: OnceLock::new() }
    }

    fn rows(&self, py: Python<'_>) -> PyResult<Vec<Vec<u8>>> {
        let row = |scene: &Arc<Scene>| {
            let mut json = Vec::new();
            json::write_scene(scene, &self.vocab, &mut json).map(|()| json)
        };
        py.detach(|| self.scenes.par_iter().map(row).collect::<Result<_, _>>()).map_err(raise::<PyValueError>)
    }
}

#[pymethods]
impl PySceneBatch {
    /// Reads a CLEVR scene file, a list of scenes, or one scene; `file` names it in messages.
    ///
    /// Raises:
    ///     SceneError: the data has none of these forms; names the scene and the place in it.
    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file))]
    fn from_json(py: Python<'_>, vocabulary: &PyVocabulary, data: &[u8], file: &str) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let scenes = py.detach(|| json::read_scenes(data, file, &vocab)).map_err(to_python)?;
        Ok(Self::new(vocab, scenes))
    }

    /// The values that the scenes may name.
    #[getter]
    fn vocabulary(&self) -> PyVocabulary {
        PyVocabulary(self.vocab.clone())
    }

    fn __len__(&self) -> usize {
        self.scenes.len()
    }

    /// (N,) each scene's index in its pool; `image_index` in its file.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.scenes.iter().map(|scene| scene.index))
    }

    /// (N,) the number of objects of each scene.
    #[getter]
    fn n_objects<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_iter(py, self.scenes.iter().map(|scene| scene.n_objects() as u8))
    }

    /// The scene graphs, on which programs are executed; made once.
    #[getter]
    pub fn graphs(&self, py: Python<'_>) -> PySceneGraphs {
        let graph = |scene: &Arc<Scene>| scene.graph(&self.vocab);
        let make = || Graphs::new(self.vocab.clone(), self.scenes.iter().map(graph).collect());
        PySceneGraphs(py.detach(|| self.graphs.get_or_init(make).clone()))
    }

    /// The scenes at (M,) positions, in this order.
    ///
    /// Raises:
    ///     IndexError: a position is not within the batch.
    fn take(&self, positions: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let positions = conversion::numbers(&positions, "positions", self.scenes.len() as u64)?;
        let scenes = positions.into_iter().map(|position| self.scenes[position as usize].clone());
        Ok(Self::new(self.vocab.clone(), scenes))
    }

    /// Each scene as a JSON object in one line: CLEVR's keys, and keys for data that CLEVR's files lack.
    fn json_rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        Ok(conversion::json_rows(py, &self.rows(py)?))
    }

    /// `json_rows` as a JSON list.
    fn to_json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(conversion::json_list(py, &self.rows(py)?))
    }

    fn __repr__(&self) -> String {
        let ends = match (self.scenes.first(), self.scenes.last()) {
            (Some(first), Some(last)) => format!(", indices {} to {}", first.index, last.index),
            _ => String::new(),
        };
        format!("<SceneBatch of {} scenes{ends}>", self.scenes.len())
    }
}

/// Scene graphs, on which programs are executed: attribute values and relations.
#[pyclass(name = "SceneGraphs", module = "clevrhope._core", frozen)]
pub struct PySceneGraphs(pub Arc<Graphs>);

impl PySceneGraphs {
    pub fn get(&self, number: usize) -> PyResult<&SceneGraph> {
        let graphs = &self.0.graphs;
        graphs.get(number).ok_or_else(|| PyIndexError::new_err(format!("scene {number} of {}", graphs.len())))
    }
}

#[pymethods]
impl PySceneGraphs {
    /// Reads scenes as `SceneBatch.from_json` does, but needs only attribute values and relations.
    ///
    /// In scenes without `relationships`, these are computed from `3d_coords` and `directions`.
    ///
    /// Raises:
    ///     SceneError: the data has none of these forms; names the scene and the place in it.
    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file))]
    fn from_json(py: Python<'_>, vocabulary: &PyVocabulary, data: &[u8], file: &str) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let graphs = py.detach(|| json::read_graphs(data, file, &vocab)).map_err(to_python)?;
        Ok(Self(Graphs::new(vocab, graphs)))
    }

    /// The scenes of several handles with the same vocabulary, in order.
    ///
    /// Raises:
    ///     VocabularyError: the handles have different vocabularies.
    #[staticmethod]
    fn joined(vocabulary: &PyVocabulary, handles: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        handles.iter().try_for_each(|handle| conversion::same_vocabulary(&vocabulary.0, &handle.0.vocab))?;
        let graphs = handles.iter().flat_map(|handle| handle.0.graphs.iter().cloned()).collect();
        Ok(Self(Graphs::new(vocabulary.0.clone(), graphs)))
    }

    fn __len__(&self) -> usize {
        self.0.graphs.len()
    }

    /// (N,) the number of objects of each scene.
    #[getter]
    fn n_objects<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_iter(py, self.0.graphs.iter().map(|graph| graph.n_objects() as u8))
    }

    fn __repr__(&self) -> String {
        let n_objects: usize = self.0.graphs.iter().map(SceneGraph::n_objects).sum();
        format!("<SceneGraphs of {} scenes, {n_objects} objects in all>", self.0.graphs.len())
    }
}

/// Sets of one to five distinct scenes with at most 64 objects in all, the inputs of programs over several images.
///
/// Args:
///     scenes: the scenes from which the sets are made.
///     scene_idxs: (N, W) for each set, indices into `scenes`, padded with -1.
///
/// Raises:
///     SceneError: a row is not such a set; names the row.
#[pyclass(name = "SceneSets", module = "clevrhope._core", frozen)]
pub struct PySceneSets {
    pub graphs: Arc<Graphs>,
    pub rows: Vec<[i32; MAX_IMAGES]>,
}

impl PySceneSets {
    pub fn get(&self, number: usize) -> PyResult<SceneSet<'_>> {
        let missing = || PyIndexError::new_err(format!("set {number} of {}", self.rows.len()));
        let row = self.rows.get(number).ok_or_else(missing)?;
        SceneSet::of_row(&self.graphs.graphs, row).map_err(raise::<SceneError>)
    }
}

#[pymethods]
impl PySceneSets {
    #[new]
    fn new(scenes: &PySceneGraphs, scene_idxs: PyReadonlyArray2<'_, i32>) -> PyResult<Self> {
        let graphs = scenes.0.clone();
        let (rows, width) = conversion::rows(&scene_idxs)?;
        let checked = |(number, row): (usize, &[i32])| {
            let fault = |error| SceneError::new_err(format!("scene_idxs[{number}]: {error}"));
            let set = SceneSet::of_row(&graphs.graphs, row).map_err(fault)?;
            let mut checked = [-1; MAX_IMAGES];
            checked[..set.n_images()].copy_from_slice(&row[..set.n_images()]);
            Ok(checked)
        };
        let rows = rows.chunks_exact(width).enumerate().map(checked).collect::<PyResult<_>>()?;
        Ok(Self { graphs, rows })
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __repr__(&self) -> String {
        let n_images = self.rows.as_flattened().iter().filter(|&&number| number != -1).count();
        format!("<SceneSets: {}, {n_images} images in all>", self.rows.len())
    }
}

/// The inputs of programs: single scenes, or sets of scenes.
pub enum ScenesOrSets<'a> {
    Scenes(&'a PySceneGraphs),
    Sets(&'a PySceneSets),
}

// A derived implementation would count references in each call.
impl<'a, 'py> FromPyObject<'a, 'py> for ScenesOrSets<'a> {
    type Error = CastError<'a, 'py>;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, Self::Error> {
        match object.cast::<PySceneGraphs>() {
            Ok(scenes) => Ok(Self::Scenes(scenes.get())),
            Err(_) => Ok(Self::Sets(object.cast::<PySceneSets>()?.get())),
        }
    }
}

impl ScenesOrSets<'_> {
    pub fn vocab(&self) -> &Arc<Vocabulary> {
        match self {
            Self::Scenes(scenes) => &scenes.0.vocab,
            Self::Sets(sets) => &sets.graphs.vocab,
        }
    }
}

/// The scenes at (N,) indices of a pool; each depends only on the world, the seed, the pool and its index.
///
/// The pools `minimal_<type>_<type>` and `minimal` are those of `MinimalPool`, `counting_<type>` those of
/// `CountingPool`.
///
/// Raises:
///     SceneError: a scene could not meet the constraints; says which of them failed, and how often.
#[pyfunction]
#[pyo3(signature = (world, *, seed, pool, indices))]
pub fn sample_scenes(
    py: Python<'_>,
    world: &PyWorld,
    seed: u64,
    pool: &str,
    indices: PyReadonlyArray1<'_, u64>,
) -> PyResult<PySceneBatch> {
    let indices = indices.as_array().to_vec();
    let minimal = MinimalPool::named(&world.world, pool).transpose().map_err(to_python)?;
    let counting = CountingPool::named(&world.world, pool).transpose().map_err(to_python)?;
    let pool = Pool::new(&world.world, seed, pool);
    let mut scenes = Vec::with_capacity(indices.len());
    in_pieces(py, indices.len(), FIRST_PIECE, |piece| {
        scenes.extend(match (&minimal, &counting) {
            (Some(minimal), _) => minimal.scenes_at(&world.world, seed, &indices[piece]).map_err(to_python)?,
            (_, Some(counting)) => counting.scenes_at(&world.world, seed, &indices[piece]).map_err(to_python)?,
            _ => pool.scenes(indices[piece].iter().copied()).map_err(to_python)?,
        });
        Ok(())
    })?;
    Ok(PySceneBatch::new(world.vocab.clone(), scenes))
}

/// (N, height, width) the object in each pixel, as visibility is computed: i + 1 for object i, 0 for none.
///
/// Raises:
///     SceneError: a scene has no camera position.
#[pyfunction]
pub fn object_ids<'py>(py: Python<'py>, world: &PyWorld, scenes: &PySceneBatch) -> PyResult<Bound<'py, PyArray3<u8>>> {
    conversion::same_vocabulary(&world.vocab, &scenes.vocab)?;
    let (width, height) = (world.world.config().width as usize, world.world.config().height as usize);
    let raster = |scene: &Arc<Scene>| world.world.object_ids(scene);
    let rasters: Option<Vec<_>> = py.detach(|| scenes.scenes.par_iter().map(raster).collect());
    let rasters = rasters.ok_or_else(|| SceneError::new_err("a scene does not say where its camera stands"))?;
    PyArray1::from_vec(py, rasters.concat()).reshape([rasters.len(), height, width])
}
