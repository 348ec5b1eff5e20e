//! Converts numpy arrays and Python values to the engine's types and back.

use crate::errors::{SplitError, VocabularyError, to_python};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::message::shown;
use clevrhope_core::program::{ILL_FORMED, INVALID, Output, Step};
use clevrhope_core::scene::SceneSet;
use clevrhope_core::split;
use clevrhope_core::vocab::{Answer, Vocabulary};
use numpy::ndarray::Dimension;
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyTuple};
use rayon::prelude::*;
use std::fmt::Display;
use std::sync::Arc;

/// Values, each as (attribute type, value).
pub type Values = Vec<(String, String)>;

/// Rows of tokens, and the number of tokens in each.
pub type TokenRows<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray1<i32>>);

/// Replaces an answer's number if the program has no answer on the scene.
pub const NO_ANSWER: i32 = -1;
/// Replaces an answer's number if the tokens are not a program.
pub const NO_PROGRAM: i32 = -2;

/// An answer's number in Python.
pub fn answer_number(number: u16) -> i32 {
    match number {
        INVALID => NO_ANSWER,
        ILL_FORMED => NO_PROGRAM,
        number => i32::from(number),
    }
}

/// An answer as a bool, an int or a str.
pub fn answer<'py>(py: Python<'py>, answer: Answer, vocab: &Vocabulary) -> PyResult<Bound<'py, PyAny>> {
    Ok(match answer {
        Answer::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Answer::Integer(number) => number.into_pyobject(py)?.into_any(),
        Answer::Value(..) | Answer::Relation(_) => vocab.answer_text(answer).into_pyobject(py)?.into_any(),
    })
}

/// An executed step: function, value, inputs, type, output.
///
/// The output for a set or groups is a list of objects, for images a list of numbers, and None if there is no output.
/// An object is its number, or in a set of scenes the number of its image and its number there.
pub fn traced<'py>(
    py: Python<'py>,
    step: &Step,
    output: Option<Output>,
    set: Option<&SceneSet<'_>>,
    vocab: &Vocabulary,
) -> PyResult<Bound<'py, PyTuple>> {
    let object = |number: u8| match set {
        None => Ok(number.into_pyobject(py)?.into_any()),
        Some(set) => Ok::<_, PyErr>(set.place(number.into()).into_pyobject(py)?.into_any()),
    };
    let output = match output {
        Some(Output::Set(objects)) => {
            objects.into_iter().map(object).collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?.into_any()
        }
        Some(Output::Object(number)) => object(number)?,
        Some(Output::Images(images)) => {
            images.into_iter().map(u32::from).collect::<Vec<_>>().into_pyobject(py)?.into_any()
        }
        Some(Output::Answer(value)) => answer(py, value, vocab)?,
        None => py.None().into_bound(py),
    };
    let inputs = PyTuple::new(py, step.sources())?;
    let kind = step.function.signature().output.to_string();
    (step.function.to_string(), step.argument_name(vocab), inputs, kind, output).into_pyobject(py)
}

/// Copies an array of numbers, which must be below `available`; `name` names the array in messages.
pub fn numbers<T>(array: &PyReadonlyArray1<'_, T>, name: &str, available: u64) -> PyResult<Vec<T>>
where
    T: numpy::Element + Copy + Display + Into<u64>,
{
    let numbers = array.as_array().to_vec();
    match numbers.iter().position(|&number| number.into() >= available) {
        Some(place) => Err(PyIndexError::new_err(format!("{name}[{place}] is {}, of {available}", numbers[place]))),
        None => Ok(numbers),
    }
}

/// The indices of scenes as question files hold them.
pub fn image_idxs(indices: impl Iterator<Item = u64>) -> PyResult<Vec<i32>> {
    let fits = |index: u64| i32::try_from(index).map_err(|_| index);
    indices.map(fits).collect::<Result<_, _>>().map_err(|index| {
        PyValueError::new_err(format!("scene {index}: question files hold indices up to {}", i32::MAX))
    })
}

/// Refuses arrays of different lengths.
pub fn same_length(first: usize, second: usize) -> PyResult<()> {
    let message = || PyValueError::new_err(format!("arrays of {first} and of {second} entries; expected as many"));
    if first == second { Ok(()) } else { Err(message()) }
}

/// Refuses handles that were made with different vocabularies.
pub fn same_vocabulary(first: &Arc<Vocabulary>, second: &Arc<Vocabulary>) -> PyResult<()> {
    let message = || VocabularyError::new_err("handles of two vocabularies; make both with the same one");
    if Arc::ptr_eq(first, second) || first == second { Ok(()) } else { Err(message()) }
}

/// The rows of a matrix, end to end, and their width.
pub fn rows<'a, T: numpy::Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<(&'a [T], usize)> {
    let width = array.as_array().ncols();
    if width == 0 {
        return Err(no_columns());
    }
    Ok((row_by_row(array)?, width))
}

/// The numbers of an array, row by row.
pub fn row_by_row<'a, T: numpy::Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err(
            "an array that is not stored row by row; pass numpy.ascontiguousarray of it",
        ));
    }
    Ok(array.as_slice()?)
}

fn no_columns() -> PyErr {
    PyValueError::new_err("rows of no tokens; expected at least one column")
}

/// The numbers of an attribute type and of one of its values.
pub fn value(vocab: &Vocabulary, (kind, value): &(String, String)) -> PyResult<(usize, u8)> {
    let number = vocab.type_index(kind).map_err(to_python)?;
    match vocab.value(number, value) {
        Some(value) => Ok((number, value as u8)),
        None => Err(SplitError::new_err(format!("\"{}\" is not a value of {kind}", shown(value)))),
    }
}

/// A single (attribute type, value), or the conjunction of several.
pub fn value_or_pair(vocab: &Vocabulary, values: &[(String, String)]) -> PyResult<Holdout> {
    let [only] = values else { return holdout(vocab, values) };
    value(vocab, only)?;
    Holdout::of_one(vocab, &only.1).map_err(|error| to_python(split::SplitError::from(error)))
}

/// The conjunction of (attribute type, value) pairs.
pub fn holdout(vocab: &Vocabulary, held_out: &[(String, String)]) -> PyResult<Holdout> {
    held_out.iter().try_for_each(|each| value(vocab, each).map(drop))?;
    let values: Vec<&str> = held_out.iter().map(|(_, value)| value.as_str()).collect();
    Holdout::new(vocab, &values).map_err(|error| to_python(split::SplitError::from(error)))
}

/// Maximum number of columns of a matrix that is made here, far more than any question or program has tokens.
const MOST_COLUMNS: usize = 1 << 16;

/// Refuses widths above `MOST_COLUMNS`.
pub fn check_width(width: usize) -> PyResult<()> {
    let message = || PyValueError::new_err(format!("a width of {width}; expected at most {MOST_COLUMNS}"));
    if width <= MOST_COLUMNS { Ok(()) } else { Err(message()) }
}

/// `n_rows` rows filled with a value, end to end.
pub fn matrix_of<T: Clone>(value: T, n_rows: usize, width: usize) -> PyResult<Vec<T>> {
    check_width(width)?;
    Ok(vec![value; n_rows * width])
}

/// Encodes each item, given with its number, into a row of a matrix, and counts its tokens; uses all cores.
pub fn token_rows<'py, T: Sync>(
    py: Python<'py>,
    items: &[T],
    width: usize,
    encode: impl Fn(usize, &T, &mut [i32]) -> PyResult<usize> + Sync + Send,
) -> PyResult<TokenRows<'py>> {
    let mut rows = matrix_of(0, items.len(), width)?;
    if width == 0 && !items.is_empty() {
        return Err(no_columns());
    }
    let lengths: Vec<PyResult<usize>> = py.detach(|| {
        let rows = rows.par_chunks_exact_mut(width.max(1)).zip(items).enumerate();
        rows.map(|(number, (row, item))| encode(number, item, row)).collect()
    });
    // If several rows have faults, the first is raised, regardless of the distribution of rows over threads.
    let lengths = lengths.into_iter().map(|length| Ok(length? as i32)).collect::<PyResult<_>>()?;
    Ok((to_matrix(py, rows, width)?, PyArray1::from_vec(py, lengths)))
}

/// Writes `<START>`, tokens and `<END>` into a row; returns how many there are.
///
/// Raises:
///     ValueError: the row is too short.
pub fn marked(tokens: &[i32], row: &mut [i32]) -> PyResult<usize> {
    const START: i32 = 1;
    const END: i32 = 2;
    let n = tokens.len() + 2;
    if n > row.len() {
        return Err(PyValueError::new_err(format!("{n} tokens, for a row of {}", row.len())));
    }
    row[0] = START;
    row[1..n - 1].copy_from_slice(tokens);
    row[n - 1] = END;
    Ok(n)
}

/// A matrix of rows of a width, given end to end.
pub fn to_matrix<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    width: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let n_rows = values.len() / width.max(1);
    PyArray1::from_vec(py, values).reshape([n_rows, width])
}

/// Each row of JSON as bytes.
pub fn json_rows<'py>(py: Python<'py>, rows: &[Vec<u8>]) -> Vec<Bound<'py, PyBytes>> {
    rows.iter().map(|row| PyBytes::new(py, row)).collect()
}

/// JSON rows as a JSON list, one row per line.
pub fn json_list<'py>(py: Python<'py>, rows: &[Vec<u8>]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &[b"[".as_slice(), &rows.join(b",\n".as_slice()), b"]"].concat())
}

/// The first characters of a fingerprint, for a repr.
pub fn short(fingerprint: &str) -> &str {
    &fingerprint[..8.min(fingerprint.len())]
}
