//! Array rows in, HDF5 chunks as bytes out, and back.

use clevrhope_core::chunk::{self, ChunkError, Cut};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

#[pyfunction]
#[pyo3(signature = (chunks, *, item_size, chunk_size))]
pub fn inflate_chunks(
    py: Python<'_>,
    chunks: Vec<PyBackedBytes>,
    item_size: usize,
    chunk_size: usize,
) -> PyResult<Bound<'_, PyArray1<u8>>> {
    let bytes = py.detach(|| chunk::inflate_chunks(&chunks, item_size, chunk_size));
    let bytes = bytes.map_err(|error: ChunkError| PyValueError::new_err(error.to_string()))?;
    Ok(PyArray1::from_vec(py, bytes))
}

#[pyfunction]
#[pyo3(signature = (rows, *, item_size, chunk_rows, level))]
pub fn deflate_chunks<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, u8>,
    item_size: usize,
    chunk_rows: usize,
    level: i32,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let cut = Cut { item: item_size, row: rows.shape()[1], rows: chunk_rows, level };
    let bytes = rows.as_slice()?;
    let chunks = py.detach(|| chunk::deflate_chunks(bytes, cut));
    let chunks = chunks.map_err(|error: ChunkError| PyValueError::new_err(error.to_string()))?;
    Ok(chunks.iter().map(|chunk| PyBytes::new(py, chunk)).collect())
}
