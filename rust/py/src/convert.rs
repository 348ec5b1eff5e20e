//! numpy arrays and Python values in, the engine's types out, and back: the only place that converts.

use crate::errors::{ProgramError, SplitError, VocabularyError, to_python};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::message::shown;
use clevrhope_core::program::question_file::QuestionRecord;
use clevrhope_core::program::{BatchError, ILL_FORMED, INVALID, IllFormed, Output, Program, Step};
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::search::{QuestionRule, SearchStats};
use clevrhope_core::split::{self, DiversityMode, MinimalKind, SceneRule};
use clevrhope_core::vocab::{Answer, Vocabulary};
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// Refuses handles that were made with different vocabularies.
pub fn same_vocabulary(first: &Arc<Vocabulary>, second: &Arc<Vocabulary>) -> PyResult<()> {
    let message = || VocabularyError::new_err("handles of two vocabularies; make both with the same one");
    if Arc::ptr_eq(first, second) || first == second { Ok(()) } else { Err(message()) }
}

/// The rows of a matrix end to end, and their width.
pub fn rows<'a, T: numpy::Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<(&'a [T], usize)> {
    let width = array.as_array().ncols();
    if width == 0 {
        return Err(PyValueError::new_err("rows of no tokens; expected at least one column"));
    }
    Ok((array.as_slice()?, width))
}

/// Places of a pool of so many, copied.
pub fn places(array: &PyReadonlyArray1<'_, u64>, n_places: u64) -> PyResult<Vec<u64>> {
    let places = array.as_array().to_vec();
    match places.iter().find(|&&place| place >= n_places) {
        Some(place) => Err(PyIndexError::new_err(format!("place {place} of {n_places}"))),
        None => Ok(places),
    }
}

/// The numbers of an attribute type and of a value of it.
pub fn value(vocab: &Vocabulary, (kind, value): &(String, String)) -> PyResult<(usize, u8)> {
    let number = vocab.type_index(kind).map_err(to_python)?;
    match vocab.value(number, value) {
        Some(value) => Ok((number, value as u8)),
        None => Err(SplitError::new_err(format!("\"{}\" is no {kind}", shown(value)))),
    }
}

/// A single (attribute type, value), or the conjunction of several.
pub fn asked_for(vocab: &Vocabulary, values: &[(String, String)]) -> PyResult<Holdout> {
    let [only] = values else { return holdout(vocab, values) };
    value(vocab, only)?;
    Holdout::of_one(vocab, &only.1).map_err(|error| to_python(split::SplitError::from(error)))
}

/// The conjunction of (attribute type, value) pairs.
pub fn holdout(vocab: &Vocabulary, pair: &[(String, String)]) -> PyResult<Holdout> {
    for (kind, value) in pair {
        let number = vocab.type_index(kind).map_err(to_python)?;
        if vocab.value(number, value).is_none() {
            return Err(SplitError::new_err(format!("held-out pair: \"{}\" is no {kind}", shown(value))));
        }
    }
    let values: Vec<&str> = pair.iter().map(|(_, value)| value.as_str()).collect();
    Holdout::new(vocab, &values).map_err(|error| to_python(split::SplitError::from(error)))
}

/// A predicate on scenes by name.
pub fn scene_rule(name: &str) -> PyResult<SceneRule> {
    Ok(match name {
        "any" => SceneRule::Any,
        "without" => SceneRule::Without,
        "with" => SceneRule::With,
        other => return Err(unknown("scenes", other, "any, without, with")),
    })
}

/// A predicate on questions by name.
pub fn question_rule(name: &str) -> PyResult<QuestionRule> {
    Ok(match name {
        "any" => QuestionRule::Any,
        "without" => QuestionRule::Without,
        "unimplied" => QuestionRule::Unimplied,
        "with" => QuestionRule::With,
        other => return Err(unknown("questions", other, "any, without, unimplied, with")),
    })
}

/// One of the two minimal sets by name.
pub fn minimal_kind(name: &str) -> PyResult<MinimalKind> {
    Ok(match name {
        "iid" => MinimalKind::Iid,
        "ood" => MinimalKind::Ood,
        other => return Err(unknown("kind", other, "iid, ood")),
    })
}

/// How a lower diversity is chosen, by name.
pub fn diversity_mode(name: &str) -> PyResult<DiversityMode> {
    Ok(match name {
        "nested" => DiversityMode::Nested,
        "grid" => DiversityMode::Grid,
        other => return Err(unknown("mode", other, "nested, grid")),
    })
}

fn unknown(argument: &str, value: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{argument}: \"{}\"; known: {known}", shown(value)))
}

/// What a stream has done so far, by name.
pub fn work(work: SearchStats, n_scenes: usize, n_scanned: u64) -> BTreeMap<&'static str, u64> {
    let SearchStats { attempts, states, options, found, exhausted } = work;
    let scenes = [("scenes", n_scenes as u64), ("scanned", n_scanned)];
    let search = [("attempts", attempts), ("states", states), ("options", options), ("found", found)];
    scenes.into_iter().chain(search).chain([("exhausted", exhausted)]).collect()
}

/// Most columns of a matrix that is made here: far more than any question or program has tokens.
const MOST_COLUMNS: usize = 1 << 16;

/// Refuses widths that no matrix made here has.
pub fn check_width(width: usize) -> PyResult<()> {
    let message = || PyValueError::new_err(format!("a width of {width}; expected at most {MOST_COLUMNS}"));
    if width <= MOST_COLUMNS { Ok(()) } else { Err(message()) }
}

/// So many rows of a value, end to end.
pub fn matrix_of<T: Clone>(value: T, n_rows: usize, width: usize) -> PyResult<Vec<T>> {
    check_width(width)?;
    Ok(vec![value; n_rows * width])
}

/// Rows of tokens end to end, and each row's number of tokens, made on all cores.
pub fn token_rows<T: Sync, E: Into<clevrhope_core::Error> + Send>(
    py: Python<'_>,
    items: &[T],
    width: usize,
    encode: impl Fn(&T, &mut [i32]) -> Result<usize, E> + Sync + Send,
) -> PyResult<(Vec<i32>, Vec<i32>)> {
    let mut rows = matrix_of(0, items.len(), width)?;
    if width == 0 && !items.is_empty() {
        return Err(PyValueError::new_err("rows of no tokens; expected at least one column"));
    }
    let lengths = rows.par_chunks_exact_mut(width.max(1)).zip(items).map(|(row, item)| encode(item, row));
    let lengths = lengths.map(|length| length.map(|length| length as i32));
    let lengths = py.detach(|| lengths.collect::<Result<Vec<_>, E>>()).map_err(to_python)?;
    Ok((rows, lengths))
}

/// For each relation of a question whether its answer needs it, in a row that is -1 all through.
pub fn relations_into(question: &Question, row: &mut [i8]) -> PyResult<()> {
    let count = usize::from(question.n_relations);
    if count > row.len() {
        let message =
            format!("\"{}\" has {count} relations, the row has room for {}", shown(&question.text), row.len());
        return Err(PyValueError::new_err(message));
    }
    (0..count).for_each(|i| row[i] = (question.relation_needed >> i & 1) as i8);
    Ok(())
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
