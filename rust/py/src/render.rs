//! A look in, a studio that renders placed objects out.

use crate::errors::to_python;
use clevrhope_core::message::shown;
use clevrhope_core::png_file;
use clevrhope_core::render::fast::{self, Effort, far::Patches};
use clevrhope_core::render::passes::passes;
use clevrhope_core::render::reference::path_trace;
use clevrhope_core::render::stage::{Stage, Studio};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Objects, depths and normals by pixel, and pixels by object.
type Annotations<'py> =
    (Bound<'py, PyArray2<u8>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray3<f32>>, Bound<'py, PyArray1<u32>>);

#[pyclass(name = "NativeStudio", module = "clevrhope._core", frozen)]
pub struct PyNativeStudio {
    studio: Studio,
    patches: Patches,
}

impl PyNativeStudio {
    /// What `render` makes of a placement.
    fn image<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        [width, height]: [u32; 2],
        render: impl Fn(&Stage<'_>) -> Vec<u8> + Send + Sync,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let bytes = py
            .detach(|| -> Result<Vec<u8>, clevrhope_core::scene::SceneError> {
                let placement = Studio::placement(placement)?;
                Ok(render(&self.studio.stage(&placement, width, height)?))
            })
            .map_err(to_python)?;
        PyArray1::from_vec(py, bytes).reshape([height as usize, width as usize, 3])
    }
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
            PyValueError::new_err(format!("quality: \"{}\" should be draft, standard or high", shown(quality)))
        })?;
        self.image(py, placement, [width, height], |stage| fast::render(stage, &self.patches, effort))
    }

    #[pyo3(signature = (placement, *, width, height, samples))]
    fn path_trace<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        samples: u32,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        self.image(py, placement, [width, height], |stage| path_trace(stage, samples))
    }

    #[pyo3(signature = (placement, *, width, height))]
    fn passes<'py>(&self, py: Python<'py>, placement: &[u8], width: u32, height: u32) -> PyResult<Annotations<'py>> {
        let found = py
            .detach(|| -> Result<_, clevrhope_core::scene::SceneError> {
                let placement = Studio::placement(placement)?;
                Ok(passes(&self.studio.stage(&placement, width, height)?))
            })
            .map_err(to_python)?;
        let [rows, columns] = [height as usize, width as usize];
        Ok((
            PyArray1::from_vec(py, found.mask).reshape([rows, columns])?,
            PyArray1::from_vec(py, found.depth).reshape([rows, columns])?,
            PyArray1::from_vec(py, found.normal.into_flattened()).reshape([rows, columns, 3])?,
            PyArray1::from_vec(py, found.alone_px),
        ))
    }
}

#[pyfunction]
pub fn encode_png<'py>(py: Python<'py>, pixels: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyBytes>> {
    let &[height, width, 3] = pixels.shape() else {
        return Err(PyValueError::new_err(format!("{:?} is no shape (height, width, 3)", pixels.shape())));
    };
    let bytes = pixels.as_slice()?;
    let file = py.detach(|| png_file::encode_png(bytes, [width as u32, height as u32]));
    Ok(PyBytes::new(py, &file.map_err(|error| PyValueError::new_err(error.to_string()))?))
}
