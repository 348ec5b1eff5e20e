//! Rows of program tokens in, the nodes of a batch in the order in which they are run out, as numpy arrays.

use crate::convert;
use crate::errors::ProgramError;
use clevrhope_core::program::{self, NodePlan, levels};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
/// Tokens, rows, operands, starts, roots.
type Plan<'py> = (Numbers<'py>, Numbers<'py>, Bound<'py, PyArray2<i64>>, Numbers<'py>, Numbers<'py>);

/// How many inputs each token of a `vocab.json` takes; -1 for special ones.
#[pyfunction]
pub fn program_arities<'py>(py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyArray1<i8>>> {
    let arities = levels::arities(names.iter().map(String::as_str)).map_err(ProgramError::new_err)?;
    Ok(PyArray1::from_vec(py, arities))
}

/// The nodes of rows of prefix tokens, level by level.
#[pyfunction]
pub fn plan_levels<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'_, i64>,
    arities: PyReadonlyArray1<'_, i8>,
) -> PyResult<Plan<'py>> {
    plan(py, &rows, &arities, program::plan_levels)
}

/// The nodes of rows of prefix tokens, token by token.
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
    let (rows, width) = convert::rows(rows)?;
    let arities = arities.as_slice()?;
    let plan = py.detach(|| how(rows, width, arities));
    let list = |numbers| PyArray1::from_vec(py, numbers);
    let operands = convert::to_matrix(py, plan.operands.into_flattened(), 2)?;
    Ok((list(plan.tokens), list(plan.rows), operands, list(plan.starts), list(plan.roots)))
}
