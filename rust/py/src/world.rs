//! Properties, look and constraints in, a world handle out: everything that decides a scene but its place.

use crate::convert;
use crate::errors::to_python;
use crate::interrupt::Interruptible;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::scene::clevr::read_clevr;
use clevrhope_core::scene::{Asset, ClevrImport, Palette, Pool, SceneConfig, SceneError, World};
use clevrhope_core::split;
use clevrhope_core::vocab::{RELATION_NAMES, Vocabulary};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

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

    #[pyo3(signature = (data, *, name, file))]
    fn with_palette(&self, data: &[u8], name: &str, file: &str) -> PyResult<Self> {
        let palette = Palette::from_json(&self.vocab, name, data, file).map_err(to_python)?;
        Ok(Self { world: Arc::new(self.world.with_palette(palette)), vocab: self.vocab.clone() })
    }

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

    #[getter]
    fn clevr(&self) -> Option<(&str, usize, u64)> {
        let import = self.world.import()?;
        Some((import.scenes().digest(), import.scenes().len(), import.reach()))
    }

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

    #[getter]
    fn palette_json(&self) -> Option<String> {
        self.world.palette().map(|palette| palette.to_json(&self.vocab).to_string())
    }

    #[pyo3(signature = (pair, *, diversity, mode, seed))]
    fn seen_palette(&self, pair: Vec<(String, String)>, diversity: usize, mode: &str, seed: u64) -> PyResult<String> {
        let (holdout, mode) = (convert::holdout(&self.vocab, &pair)?, convert::diversity_mode(mode)?);
        let name = holdout.describe(&self.vocab);
        let palette = split::seen_palette(&self.vocab, &holdout, diversity, mode, seed, &name).map_err(to_python)?;
        Ok(palette.to_json(&self.vocab).to_string())
    }

    fn check_seen(&self, pair: Vec<(String, String)>) -> PyResult<()> {
        let holdout = convert::holdout(&self.vocab, &pair)?;
        match self.world.palette() {
            Some(palette) => split::check_seen(&self.vocab, &holdout, palette).map_err(to_python),
            None => Ok(()),
        }
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        self.world.fingerprint()
    }

    #[getter]
    fn config_json(&self) -> PyResult<String> {
        convert::json_text(self.world.config())
    }

    #[getter]
    fn vocabulary(&self) -> PyVocabulary {
        PyVocabulary(self.vocab.clone())
    }

    #[getter]
    fn attribute_types(&self) -> Vec<(&str, Vec<&str>)> {
        crate::vocabulary::attribute_types(&self.vocab)
    }

    #[getter]
    fn relations(&self) -> Vec<&str> {
        RELATION_NAMES.to_vec()
    }

    #[getter]
    fn answers(&self) -> Vec<String> {
        self.vocab.answer_texts()
    }
}
