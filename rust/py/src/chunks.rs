//! Packs rows of an array as HDF5 chunks, and unpacks them.

use crate::conversion;
use crate::errors::raise;
use clevrhope_core::chunk::{self, Cut};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// Unpacks chunks made by `deflate_chunks`, each to `chunk_size` bytes, and joins them. Uses all cores.
///
/// Raises:
///     ValueError: a chunk is cut off, or has another size.
#[pyfunction]
#[pyo3(signature = (chunks, *, item_size, chunk_size))]
pub fn inflate_chunks(
    py: Python<'_>,
    chunks: Vec<PyBackedBytes>,
    item_size: usize,
    chunk_size: usize,
) -> PyResult<Bound<'_, PyArray1<u8>>> {
    let bytes = py.detach(|| chunk::inflate_chunks(&chunks, item_size, chunk_size));
    Ok(PyArray1::from_vec(py, bytes.map_err(raise::<PyValueError>)?))
}

/// Packs rows of bytes (N, row size) as HDF5 chunks of `chunk_rows`: shuffled by `item_size`, then deflated.
///
/// The last chunk is filled up with zeros. Uses all cores; the bytes depend only on the input.
///
/// Raises:
///     ValueError: the level is not within 1 to 12, or a row is not a whole number of items.
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
    let bytes = conversion::row_by_row(&rows)?;
    let chunks = py.detach(|| chunk::deflate_chunks(bytes, cut));
    Ok(chunks.map_err(raise::<PyValueError>)?.iter().map(|chunk| PyBytes::new(py, chunk)).collect())
}
