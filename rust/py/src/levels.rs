//! The order in which modular networks run the program nodes of a batch.

use crate::conversion;
use crate::errors::ProgramError;
use clevrhope_core::program::{self, NodePlan, levels};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
/// Tokens, rows, operands, starts, roots.
type Plan<'py> = (Numbers<'py>, Numbers<'py>, Bound<'py, PyArray2<i64>>, Numbers<'py>, Numbers<'py>);

/// The number of inputs of each program token of a vocab.json, by number; -1 for the special tokens.
///
/// Raises:
///     ProgramError: the function in a name is unknown.
#[pyfunction]
pub fn program_arities<'py>(py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyArray1<i8>>> {
    let arities = levels::arities(names.iter().map(String::as_str)).map_err(ProgramError::new_err)?;
    Ok(PyArray1::from_vec(py, arities))
}

/// The nodes of (B, P) programs, tokens in prefix order, sorted by level, number of inputs, token and row.
///
/// A node's level is 0 if it takes no input, otherwise one more than the highest level of its inputs. Types are not
/// checked; a row that is not a tree between <START> and <END> has no nodes.
///
/// Args:
///     rows: rows of program tokens, as in a question HDF5.
///     arities: the number of inputs of each token, as from `program_arities`.
///
/// Returns:
///     The nodes' (N,) tokens, (N,) rows and (N, 2) operands, which are earlier nodes or -1; the start of each
///     level, followed by N; and (B,) the node that gives each row's answer, -1 if the row is not a program.
///
/// Raises:
///     ValueError: rows are not contiguous, or have no columns.
#[pyfunction]
pub fn plan_levels<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'_, i64>,
    arities: PyReadonlyArray1<'_, i8>,
) -> PyResult<Plan<'py>> {
    plan(py, &rows, &arities, program::plan_levels)
}

/// Like `plan_levels`, but in runs of nodes with one token, which wait for others with it: few, large runs.
///
/// Returns:
///     As for `plan_levels`, with the start of each run instead of each level.
#[pyfunction]
pub fn plan_runs<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'_, i64>,
    arities: PyReadonlyArray1<'_, i8>,
) -> PyResult<Plan<'py>> {
    plan(py, &rows, &arities, program::plan_runs)
}

fn plan<'py>(
    py: Python<'py>,
    rows: &PyReadonlyArray2<'_, i64>,
    arities: &PyReadonlyArray1<'_, i8>,
    how: fn(&[i64], usize, &[i8]) -> NodePlan,
) -> PyResult<Plan<'py>> {
    let (rows, width) = conversion::rows(rows)?;
    let arities = arities.as_slice()?;
    let plan = py.detach(|| how(rows, width, arities));
    let list = |numbers| PyArray1::from_vec(py, numbers);
    let operands = conversion::to_matrix(py, plan.operands.into_flattened(), 2)?;
    Ok((list(plan.tokens), list(plan.rows), operands, list(plan.starts), list(plan.roots)))
}
