//! The handle of the native renderer, and the PNG encoder.

use crate::choice::Choice;
use crate::conversion;
use crate::errors::{raise, to_python};
use clevrhope_core::png_file;
use clevrhope_core::render::fast::{self, Effort, far_ground::Patches};
use clevrhope_core::render::passes::passes;
use clevrhope_core::render::reference::path_trace;
use clevrhope_core::render::stage::{Stage, Studio};
use clevrhope_core::scene::SceneError;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The object, depth and normal of each pixel, and the number of pixels of each object.
type Annotations<'py> =
    (Bound<'py, PyArray2<u8>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray3<f32>>, Bound<'py, PyArray1<u32>>);

/// A look, ready to render placed objects without Blender.
///
/// Args:
///     look: a look file.
///     file: its name, for messages.
///
/// Raises:
///     SceneError: a shape or material that the native renderer has no formula for.
#[pyclass(name = "NativeStudio", module = "clevrhope._core", frozen)]
pub struct PyNativeStudio {
    studio: Studio,
    patches: Patches,
}

impl PyNativeStudio {
    /// The result of `make` for a placement's stage; runs without the GIL.
    fn with_stage<T: Send>(
        &self,
        py: Python<'_>,
        placement: &[u8],
        [width, height]: [u32; 2],
        make: impl Fn(&Stage<'_>) -> T + Send + Sync,
    ) -> PyResult<T> {
        let made = py.detach(|| -> Result<T, SceneError> {
            let placement = Studio::placement(placement)?;
            Ok(make(&self.studio.stage(&placement, width, height)?))
        });
        made.map_err(to_python)
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

    /// The image of a placement, (height, width, 3) uint8 sRGB.
    ///
    /// Args:
    ///     placement: JSON, `{"camera", "lights", "things"}` as images/placement.py has them.
    ///     width: pixels.
    ///     height: pixels.
    ///     quality: draft, standard or high.
    ///
    /// Raises:
    ///     SceneError: a name that the look does not know, or more objects than the renderer holds.
    ///     ValueError: another quality.
    #[pyo3(signature = (placement, *, width, height, quality))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        quality: Choice<Effort>,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let render = |stage: &Stage<'_>| fast::render(stage, &self.patches, quality.0);
        let bytes = self.with_stage(py, placement, [width, height], render)?;
        PyArray1::from_vec(py, bytes).reshape([height as usize, width as usize, 3])
    }

    /// The image of a placement by plain path tracing: slow, and the reference for `render`.
    ///
    /// Args:
    ///     placement: as for `render`.
    ///     width: pixels.
    ///     height: pixels.
    ///     samples: paths per pixel; a square number spreads them most evenly.
    ///
    /// Raises:
    ///     SceneError: as `render`.
    #[pyo3(signature = (placement, *, width, height, samples))]
    fn path_trace<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        samples: u32,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let bytes = self.with_stage(py, placement, [width, height], |stage| path_trace(stage, samples))?;
        PyArray1::from_vec(py, bytes).reshape([height as usize, width as usize, 3])
    }

    /// What each pixel of a placement's image shows at its centre: mask, depth, normal, pixels alone.
    ///
    /// The mask, (height, width), has the number of the pixel's thing, from 0 on, or 255. The depth,
    /// (height, width), is along the camera's axis in Blender units, the ground's too, and 0 for nothing. The
    /// normal, (height, width, 3), is the thing's in the world, of length 1, and 0 where there is none. Last
    /// comes, for each thing, how many pixels it would have alone on the ground.
    ///
    /// Raises:
    ///     SceneError: as `render`.
    #[pyo3(signature = (placement, *, width, height))]
    fn passes<'py>(&self, py: Python<'py>, placement: &[u8], width: u32, height: u32) -> PyResult<Annotations<'py>> {
        let found = self.with_stage(py, placement, [width, height], passes)?;
        let [rows, columns] = [height as usize, width as usize];
        Ok((
            PyArray1::from_vec(py, found.mask).reshape([rows, columns])?,
            PyArray1::from_vec(py, found.depth).reshape([rows, columns])?,
            PyArray1::from_vec(py, found.normal.into_flattened()).reshape([rows, columns, 3])?,
            PyArray1::from_vec(py, found.alone_px),
        ))
    }

    fn __repr__(&self) -> String {
        let [shapes, materials] = self.studio.names().map(|names| names.join(", "));
        format!("<NativeStudio with shapes {shapes}; materials {materials}>")
    }
}

/// The PNG file of (height, width, 3) uint8 sRGB pixels that lie in one piece.
///
/// Raises:
///     ValueError: another shape, or no pixels.
#[pyfunction]
pub fn encode_png<'py>(py: Python<'py>, pixels: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyBytes>> {
    let &[height, width, 3] = pixels.shape() else {
        return Err(PyValueError::new_err(format!("expected shape (height, width, 3), not {:?}", pixels.shape())));
    };
    let bytes = conversion::row_by_row(&pixels)?;
    let file = py.detach(|| png_file::encode_png(bytes, [width as u32, height as u32]));
    Ok(PyBytes::new(py, &file.map_err(raise::<PyValueError>)?))
}
