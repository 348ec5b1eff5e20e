//! The handle of the native renderer, and the PNG encoder.

use crate::choice::Choice;
use crate::conversion;
use crate::errors::{raise, to_python};
use crate::interrupt::stoppable;
use clevrhope_core::png_file;
use clevrhope_core::render::fast::{self, Effort, far_ground::Patches};
use clevrhope_core::render::passes::passes;
use clevrhope_core::render::reference::path_trace;
use clevrhope_core::render::stage::{Stage, Studio};
use clevrhope_core::render::stop::Stop;
use clevrhope_core::scene::SceneError;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The object, depth and normal of each pixel, and the number of pixels of each object.
type Annotations<'py> =
    (Bound<'py, PyArray2<u8>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray3<f32>>, Bound<'py, PyArray1<u32>>);

/// Ends the renders that it was given to, from any thread.
#[pyclass(name = "RenderStop", module = "clevrhope._core", frozen)]
#[derive(Default)]
pub struct PyRenderStop(Stop);

#[pymethods]
impl PyRenderStop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Has them end with KeyboardInterrupt within some 50 ms; those that begin from now on end at once.
    fn set(&self) {
        self.0.set();
    }

    fn __repr__(&self) -> &'static str {
        if self.0.unless_set(|| ()).is_some() { "<RenderStop>" } else { "<RenderStop, set>" }
    }
}

/// The native renderer with a look, ready to render placed objects without Blender.
///
/// Args:
///     look: a look file.
///     file: its name, for messages.
///
/// Raises:
///     SceneError: the native renderer has no formula for a shape or material of the look.
#[pyclass(name = "NativeStudio", module = "clevrhope._core", frozen)]
pub struct PyNativeStudio {
    studio: Studio,
    patches: Patches,
}

impl PyNativeStudio {
    /// The result of `make` for a placement's stage; runs without the GIL, and stops at Ctrl-C.
    fn with_stage<T: Send>(
        &self,
        py: Python<'_>,
        placement: &[u8],
        [width, height]: [u32; 2],
        stop: Option<&Bound<'_, PyRenderStop>>,
        make: impl Fn(&Stage<'_>, &Stop) -> Option<T> + Send + Sync,
    ) -> PyResult<T> {
        let own = Stop::default();
        stoppable(py, stop.map_or(&own, |given| &given.get().0), |stop| -> Result<Option<T>, SceneError> {
            let placement = Studio::placement(placement)?;
            Ok(make(&self.studio.stage(&placement, width, height)?, stop))
        })
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
    ///     placement: JSON, `{"camera", "lights", "things"}` as in images/placement.py.
    ///     width: the width in pixels.
    ///     height: the height in pixels.
    ///     quality: "draft", "standard" or "high".
    ///     stop: ends the render from another thread, where Ctrl-C does not arrive.
    ///
    /// Raises:
    ///     SceneError: the look does not have a name, or there are more objects than the renderer can hold.
    ///     ValueError: the quality is unknown.
    #[pyo3(signature = (placement, *, width, height, quality, stop=None))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        quality: Choice<Effort>,
        stop: Option<&Bound<'py, PyRenderStop>>,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let render = |stage: &Stage<'_>, stop: &Stop| fast::render(stage, &self.patches, quality.0, stop);
        let bytes = self.with_stage(py, placement, [width, height], stop, render)?;
        PyArray1::from_vec(py, bytes).reshape([height as usize, width as usize, 3])
    }

    /// The image of a placement by plain path tracing: slow, and the reference for `render`.
    ///
    /// Args:
    ///     placement: as for `render`.
    ///     width: the width in pixels.
    ///     height: the height in pixels.
    ///     samples: paths per pixel; a square number spreads them most evenly.
    ///
    /// Raises:
    ///     SceneError: as for `render`.
    #[pyo3(signature = (placement, *, width, height, samples))]
    fn path_trace<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        samples: u32,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let trace = |stage: &Stage<'_>, stop: &Stop| path_trace(stage, samples, stop);
        let bytes = self.with_stage(py, placement, [width, height], None, trace)?;
        PyArray1::from_vec(py, bytes).reshape([height as usize, width as usize, 3])
    }

    /// Annotations of a placement's image at the centre of each pixel: mask, depth and normal, and objects' sizes.
    ///
    /// The mask (height, width) has the number of the pixel's object, counted from 0, or 255 if there is none. The
    /// depth (height, width) is along the camera's axis in Blender units, for the ground too; 0 if the pixel shows
    /// nothing. The normal (height, width, 3) is the object's unit normal in world coordinates, 0 if there is none.
    /// The last array has, for each object, the number of pixels that it would have alone on the ground.
    ///
    /// Raises:
    ///     SceneError: as for `render`.
    #[pyo3(signature = (placement, *, width, height, stop=None))]
    fn passes<'py>(
        &self,
        py: Python<'py>,
        placement: &[u8],
        width: u32,
        height: u32,
        stop: Option<&Bound<'py, PyRenderStop>>,
    ) -> PyResult<Annotations<'py>> {
        let found = self.with_stage(py, placement, [width, height], stop, passes)?;
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

/// The PNG file of a contiguous (height, width, 3) array of uint8 sRGB pixels.
///
/// Raises:
///     ValueError: the array has another shape or no pixels, or is not contiguous.
#[pyfunction]
pub fn encode_png<'py>(py: Python<'py>, pixels: PyReadonlyArray3<'py, u8>) -> PyResult<Bound<'py, PyBytes>> {
    let &[height, width, 3] = pixels.shape() else {
        return Err(PyValueError::new_err(format!("expected shape (height, width, 3), not {:?}", pixels.shape())));
    };
    let bytes = conversion::row_by_row(&pixels)?;
    let file = py.detach(|| png_file::encode_png(bytes, [width as u32, height as u32]));
    Ok(PyBytes::new(py, &file.map_err(raise::<PyValueError>)?))
}
