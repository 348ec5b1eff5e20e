//! A look in, a studio that renders placed objects out.

use crate::errors::to_python;
use clevrhope_core::render::fast::{self, Effort, far::Patches};
use clevrhope_core::render::stage::Studio;
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pyclass(name = "NativeStudio", module = "clevrhope._core", frozen)]
pub struct PyNativeStudio {
    studio: Studio,
    patches: Patches,
}

#[pymethods]
impl PyNativeStudio {
    #[new]
    #[pyo3(signature = (look, *, file))]
    fn new(look: &[u8], file: &str) -> PyResult<Self> {
        let studio = Studio::from_json(look, file).map_err(to_python)?;
        let patches = Patches::new(studio.ground());
        Ok(Self { studio, patches })
    }

    #[pyo3(signature = (placement, *, width, height, quality))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        quality: &str,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let effort = Effort::named(quality).ok_or_else(|| {
            PyValueError::new_err(format!("quality: \"{quality}\" should be draft, standard or high"))
        })?;
        let bytes = py
            .detach(|| -> Result<Vec<u8>, clevrhope_core::scene::SceneError> {
                let placement = Studio::placement(placement)?;
                let stage = self.studio.stage(&placement, width, height)?;
                Ok(fast::render(&stage, &self.patches, effort))
            })
            .map_err(to_python)?;
        PyArray1::from_vec(py, bytes).reshape([height as usize, width as usize, 3])
    }
}
