//! The handle of a world: everything that determines a scene except its seed, pool and index.

use crate::choice::Choice;
use crate::conversion::{self, Values};
use crate::errors::{raise, to_python};
use crate::interrupt::Interruptible;
use crate::vocabulary::{PyVocabulary, attribute_types};
use clevrhope_core::scene::clevr::read_clevr;
use clevrhope_core::scene::{Asset, ClevrImport, Palette, Pool, SceneConfig, SceneError, World};
use clevrhope_core::split::{self, DiversityMode};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that determines a scene except its seed, pool and index: vocabulary, look and constraints.
///
/// Args:
///     properties: a properties file in CLEVR's format.
///     look: a look file.
///     config: constraints as JSON; omitted ones have their defaults.
///     properties_file: the name of the properties file, for messages.
///     look_file: the name of the look file, for messages.
///     config_file: the name of the constraints' file, for messages.
///
/// Raises:
///     VocabularyError: the properties are not a usable vocabulary.
///     SceneError: a constraint is impossible, or an asset is not in the look.
#[pyclass(name = "World", module = "clevrhope._core", frozen)]
pub struct PyWorld {
    pub world: Arc<World>,
    pub vocab: Arc<Vocabulary>,
}

#[pymethods]
impl PyWorld {
    #[new]
    #[pyo3(signature = (properties, look, config, *, properties_file, look_file, config_file = "constraints"))]
    fn new(
        properties: &[u8],
        look: &[u8],
        config: &str,
        properties_file: &str,
        look_file: &str,
        config_file: &str,
    ) -> PyResult<Self> {
        let config = SceneConfig::from_json(config.as_bytes(), config_file).map_err(to_python)?;
        let properties = Asset { file: properties_file, bytes: properties };
        let look = Asset { file: look_file, bytes: look };
        let world = World::new(properties, look, config).map_err(to_python)?;
        Ok(Self { vocab: Arc::new(world.vocab().clone()), world: Arc::new(world) })
    }

    /// The same world, restricted to the objects of a palette.
    ///
    /// For each object, a row of the palette and a combination in that row are drawn uniformly. Values of types that
    /// the palette does not mention are drawn uniformly, too.
    ///
    /// Args:
    ///     data: JSON: either value -> values of another type that may occur with it, as in CoGenT's files, or
    ///         `{"types": [...], "rows": [[[value, ...], ...], ...]}`.
    ///     name: the palette's name, a part of the names of this world's minimal pools.
    ///     file: the name of the palette's file, for messages.
    ///
    /// Raises:
    ///     SceneError: values are unknown, combinations have different types, or nothing is allowed; says where.
    #[pyo3(signature = (data, *, name, file))]
    fn with_palette(&self, data: &[u8], name: &str, file: &str) -> PyResult<Self> {
        let palette = Palette::from_json(&self.vocab, name, data, file).map_err(to_python)?;
        Ok(Self { world: Arc::new(self.world.with_palette(palette)), vocab: self.vocab.clone() })
    }

    /// The same world with CLEVR's train scenes at a share of the indices of its pool `train`.
    ///
    /// Among the indices that have scenes of one number of objects, one in each 1 / `share`, drawn at random, has the
    /// next of CLEVR's scenes of that number in a seeded permutation; after the last of these, the pool has only its own
    /// scenes of that number. Other pools do not change.
    ///
    /// Args:
    ///     path: a `CLEVR_train_scenes.json` as published.
    ///     share: above 0, up to 1.
    ///
    /// Raises:
    ///     SceneError: the world's directions are not CLEVR's, the file cannot be read, its scenes are not those of
    ///         CLEVR's train split, or the share is out of range; says which scene, and where in it.
    #[pyo3(signature = (path, *, share))]
    fn with_clevr(&self, py: Python<'_>, path: PathBuf, share: f64) -> PyResult<Self> {
        let file = path.display().to_string();
        let unread = |error| to_python(SceneError::Import(format!("{file}: cannot be read ({error})")));
        let mut input = Interruptible::new(File::open(&path).map_err(unread)?);
        let scenes = py.detach(|| read_clevr(&mut input, &file, &self.world));
        input.check()?;
        let import = ClevrImport::new(Arc::new(scenes.map_err(to_python)?), share).map_err(to_python)?;
        Ok(Self { world: Arc::new(self.world.with_import(import)), vocab: self.vocab.clone() })
    }

    /// Digest of the CLEVR scenes, and how many of them have each number of objects, from 0 on; or None.
    #[getter]
    fn clevr(&self) -> Option<(&str, Vec<usize>)> {
        let import = self.world.import()?;
        Some((import.scenes().digest(), import.scenes().by_n_objects()))
    }

    /// (N,) the number of objects of the scene at each pool index.
    #[pyo3(signature = (indices, *, seed, pool))]
    fn n_objects<'py>(
        &self,
        py: Python<'py>,
        indices: PyReadonlyArray1<'_, u64>,
        seed: u64,
        pool: &str,
    ) -> Bound<'py, PyArray1<u32>> {
        let pool = Pool::new(&self.world, seed, pool);
        PyArray1::from_iter(py, indices.as_array().iter().map(|&index| pool.n_objects(index)))
    }

    /// (N,) the published index of the CLEVR scene at each pool index; -1 if the scene is the pool's own.
    #[pyo3(signature = (indices, *, seed, pool))]
    fn clevr_indices<'py>(
        &self,
        py: Python<'py>,
        indices: PyReadonlyArray1<'_, u64>,
        seed: u64,
        pool: &str,
    ) -> Bound<'py, PyArray1<i64>> {
        let pool = Pool::new(&self.world, seed, pool);
        let published = |&index: &u64| pool.published_index(index).map_or(-1, i64::from);
        PyArray1::from_iter(py, indices.as_array().iter().map(published))
    }

    /// The palette's types and rows as JSON; None if all combinations can occur.
    #[getter]
    fn palette_json(&self) -> Option<String> {
        self.world.palette().map(|palette| palette.to_json(&self.vocab).to_string())
    }

    /// The palette, as JSON, of a train set of this diversity: `diversity` - 1 combinations of the pair's types.
    ///
    /// Raises:
    ///     SplitError: these are not a pair of values, or its types cannot have this diversity; says why.
    #[pyo3(signature = (held_out, *, diversity, mode, seed))]
    fn seen_palette(
        &self,
        held_out: Values,
        diversity: usize,
        mode: Choice<DiversityMode>,
        seed: u64,
    ) -> PyResult<String> {
        let holdout = conversion::holdout(&self.vocab, &held_out)?;
        let name = holdout.describe(&self.vocab);
        let palette = split::seen_palette(&self.vocab, &holdout, diversity, mode.0, seed, &name).map_err(to_python)?;
        Ok(palette.to_json(&self.vocab).to_string())
    }

    /// Checks that the pair can be held out of a train set that shows this world's palette.
    ///
    /// Raises:
    ///     SplitError: the palette has other types, contains the pair, or lacks combinations that its values need.
    fn check_seen(&self, held_out: Values) -> PyResult<()> {
        let holdout = conversion::holdout(&self.vocab, &held_out)?;
        match self.world.palette() {
            Some(palette) => split::check_seen(&self.vocab, &holdout, palette).map_err(to_python),
            None => Ok(()),
        }
    }

    /// 64 hexadecimal digits, the same for files with the same content.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.world.fingerprint()
    }

    /// All constraints, including defaults, as JSON.
    #[getter]
    fn config_json(&self) -> PyResult<String> {
        serde_json::to_string(self.world.config()).map_err(raise::<PyValueError>)
    }

    /// The vocabulary of the world's scenes.
    #[getter]
    fn vocabulary(&self) -> PyVocabulary {
        PyVocabulary(self.vocab.clone())
    }

    /// The vocabulary's attribute types, each with its values.
    #[getter]
    fn attribute_types(&self) -> Vec<(&str, Vec<&str>)> {
        attribute_types(&self.vocab)
    }

    /// The vocabulary's answers.
    #[getter]
    fn answers(&self) -> Vec<String> {
        self.vocab.answer_texts()
    }

    fn __repr__(&self) -> String {
        let config = self.world.config();
        let palette = self.world.palette().map(|palette| format!(", palette {}", palette.name())).unwrap_or_default();
        let clevr = if self.world.import().is_some() { ", with CLEVR's scenes" } else { "" };
        format!(
            "<World of {} to {} objects on {} x {} pixels{palette}{clevr}, fingerprint {}...>",
            config.min_objects,
            config.max_objects,
            config.width,
            config.height,
            conversion::short(self.world.fingerprint())
        )
    }
}
