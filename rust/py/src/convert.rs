//! numpy arrays and Python values in, the engine's types out, and back: the only place that converts.

use crate::errors::ProgramError;
use clevrhope_core::program::question_file::QuestionRecord;
use clevrhope_core::program::{BatchError, ILL_FORMED, INVALID, IllFormed, Output, Program, Step};
use clevrhope_core::vocab::{Answer, Vocabulary};
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

/// An answer's number in Python: -1 where a program has none, -2 where tokens are no program.
pub fn answer_number(number: u16) -> i32 {
    match number {
        INVALID => -1,
        ILL_FORMED => -2,
        number => i32::from(number),
    }
}

/// What is to become of rows of tokens that are no program.
pub fn ill_formed(mark: bool) -> IllFormed {
    if mark { IllFormed::Mark } else { IllFormed::Refuse }
}

/// An error about a row, which was `first` rows further in what the caller gave.
pub fn shifted(error: BatchError, first: usize) -> BatchError {
    match error {
        BatchError::Token(mut token) => {
            token.row += first;
            BatchError::Token(token)
        }
        other => other,
    }
}

/// An answer as a bool, an int or a str.
pub fn answer<'py>(py: Python<'py>, answer: Answer, vocab: &Vocabulary) -> PyResult<Bound<'py, PyAny>> {
    Ok(match answer {
        Answer::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Answer::Integer(number) => number.into_pyobject(py)?.into_any(),
        Answer::Value(..) => vocab.answer_text(answer).into_pyobject(py)?.into_any(),
    })
}

/// A step that was run: function, value, inputs, type, output.
///
/// A set's output is a list of object numbers, an object's its number, None where there is none.
pub fn traced<'py>(
    py: Python<'py>,
    step: &Step,
    output: Option<Output>,
    vocab: &Vocabulary,
) -> PyResult<Bound<'py, PyTuple>> {
    let output = match output {
        Some(Output::Set(objects)) => {
            objects.into_iter().map(u32::from).collect::<Vec<_>>().into_pyobject(py)?.into_any()
        }
        Some(Output::Object(object)) => object.into_pyobject(py)?.into_any(),
        Some(Output::Answer(value)) => answer(py, value, vocab)?,
        None => py.None().into_bound(py),
    };
    let inputs = PyTuple::new(py, step.sources())?;
    let kind = step.function.signature().output.to_string();
    (step.function.to_string(), step.argument_name(vocab), inputs, kind, output).into_pyobject(py)
}

/// The programs of a question file, which all have one.
pub fn programs(questions: Vec<QuestionRecord>, file: &str) -> PyResult<Vec<Program>> {
    let program = |(number, question): (usize, QuestionRecord)| {
        let missing = || ProgramError::new_err(format!("{file}.questions[{number}]: no \"program\" to execute"));
        question.program.ok_or_else(missing)
    };
    questions.into_iter().enumerate().map(program).collect()
}

/// Numbers of things, copied; `name` names the array in messages, `available` is how many things there are.
pub fn numbers(array: &PyReadonlyArray1<'_, u32>, name: &str, available: usize) -> PyResult<Vec<u32>> {
    let numbers = array.as_array().to_vec();
    match numbers.iter().position(|&number| number as usize >= available) {
        Some(place) => Err(PyIndexError::new_err(format!("{name}[{place}] is {}, of {available}", numbers[place]))),
        None => Ok(numbers),
    }
}

/// Two arrays of numbers as pairs.
pub fn pairs(first: Vec<u32>, second: Vec<u32>) -> PyResult<Vec<(u32, u32)>> {
    same_length(first.len(), second.len())?;
    Ok(first.into_iter().zip(second).collect())
}

/// Refuses arrays that should go together and do not.
pub fn same_length(first: usize, second: usize) -> PyResult<()> {
    let message = || PyValueError::new_err(format!("arrays of {first} and of {second} entries; expected as many"));
    if first == second { Ok(()) } else { Err(message()) }
}

/// The rows of a matrix end to end, and their width.
pub fn rows<'a>(array: &'a PyReadonlyArray2<'_, i32>) -> PyResult<(&'a [i32], usize)> {
    let width = array.as_array().ncols();
    if width == 0 {
        return Err(PyValueError::new_err("rows of no tokens; expected at least one column"));
    }
    Ok((array.as_slice()?, width))
}

/// Rows of a width end to end, as a matrix.
pub fn to_matrix<'py, T: numpy::Element>(
    py: Python<'py>,
    values: Vec<T>,
    width: usize,
) -> PyResult<Bound<'py, PyArray2<T>>> {
    let n_rows = values.len() / width.max(1);
    numpy::PyArray1::from_vec(py, values).reshape([n_rows, width])
}

/// JSON rows as a JSON list, a row a line.
pub fn json_list(rows: &[Vec<u8>]) -> Vec<u8> {
    [b"[".as_slice(), &rows.join(b",\n".as_slice()), b"]"].concat()
}

/// A setting as JSON.
pub fn json_text(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(unwritten)
}

/// What cannot be written as JSON; nothing that the engine makes.
pub fn unwritten(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
