//! Handles of programs and of their tokens, and functions that execute programs.

use crate::conversion;
use crate::errors::{ProgramError, SceneError, to_python};
use crate::interrupt::in_pieces;
use crate::scenes::{PySceneBatch, PySceneGraphs, ScenesOrSets};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::program::question_file::{QuestionRecord, read_questions};
use clevrhope_core::program::steps::{self, Asked};
use clevrhope_core::program::{
    self, BatchError, Fault, Function, IllFormed, Program, ProgramTable, ProgramVocabulary, Type,
};
use clevrhope_core::scene::{SceneGraph, SceneSet};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rayon::prelude::*;
use std::sync::Arc;

/// The number of pairs of program and scene in the first piece of a batch: a few milliseconds of work.
const FIRST_PIECE: usize = 1 << 16;
/// The same for programs whose steps are written.
const FIRST_PIECE_OF_STEPS: usize = 1 << 9;

/// Programs that have been checked, in order.
#[pyclass(name = "Programs", module = "clevrhope._core", frozen)]
pub struct PyPrograms {
    pub vocab: Arc<Vocabulary>,
    pub programs: Vec<Program>,
    table: ProgramTable,
}

impl PyPrograms {
    pub fn new(vocab: Arc<Vocabulary>, programs: Vec<Program>) -> Self {
        let table = ProgramTable::new(&vocab, &programs);
        Self { vocab, programs, table }
    }

    fn get(&self, number: usize) -> PyResult<&Program> {
        let missing = || PyIndexError::new_err(format!("program {number} of {}", self.programs.len()));
        self.programs.get(number).ok_or_else(missing)
    }
}

#[pymethods]
impl PyPrograms {
    /// Reads one program, a list of nodes in either of CLEVR's spellings.
    ///
    /// With `any_ending`, it may end in objects, groups or images as well as in an answer.
    ///
    /// Raises:
    ///     ProgramError: the data is not a program; names the node.
    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file, any_ending = false))]
    fn from_json(vocabulary: &PyVocabulary, data: &[u8], file: &str, any_ending: bool) -> PyResult<Self> {
        let read = if any_ending { Program::any_from_json } else { Program::from_json };
        let program = read(data, &vocabulary.0, file).map_err(to_python)?;
        Ok(Self::new(vocabulary.0.clone(), vec![program]))
    }

    /// Reads one program over several images, a list of nodes as in COVR's files.
    ///
    /// With `any_ending`, it may end in objects, groups or images as well as in an answer.
    ///
    /// Raises:
    ///     ProgramError: the data is not such a program; names the node.
    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file, any_ending = false))]
    fn from_covr_json(vocabulary: &PyVocabulary, data: &[u8], file: &str, any_ending: bool) -> PyResult<Self> {
        let read = if any_ending { Program::any_from_covr_json } else { Program::from_covr_json };
        let program = read(data, &vocabulary.0, file).map_err(to_python)?;
        Ok(Self::new(vocabulary.0.clone(), vec![program]))
    }

    /// Reads the programs of a question file, and (N,) the `image_index` of each.
    ///
    /// Raises:
    ///     ProgramError: the data is not a question file, or a question lacks a program; names the question and node.
    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file))]
    fn from_questions<'py>(
        py: Python<'py>,
        vocabulary: &PyVocabulary,
        data: &[u8],
        file: &str,
    ) -> PyResult<(Self, Bound<'py, PyArray1<u64>>)> {
        let vocab = vocabulary.0.clone();
        let questions = py.detach(|| read_questions(data, &vocab, file)).map_err(to_python)?;
        let images = PyArray1::from_iter(py, questions.iter().map(|question| question.image_index));
        let program = |(number, question): (usize, QuestionRecord)| {
            let missing = || ProgramError::new_err(format!("{file}.questions[{number}]: no \"program\" to execute"));
            question.program.ok_or_else(missing)
        };
        let programs = questions.into_iter().enumerate().map(program).collect::<PyResult<_>>()?;
        Ok((Self::new(vocab, programs), images))
    }

    /// Reads (N, P) rows of program tokens in prefix order, as in a question HDF5.
    ///
    /// With `any_ending`, programs may end in objects, groups or images as well as in an answer.
    ///
    /// Raises:
    ///     ProgramError: a row is not a program; names the row and the position in it.
    #[staticmethod]
    #[pyo3(signature = (tokens, rows, *, any_ending = false))]
    fn from_tokens(
        py: Python<'_>,
        tokens: &PyProgramTokens,
        rows: PyReadonlyArray2<'_, i32>,
        any_ending: bool,
    ) -> PyResult<Self> {
        let (rows, width) = conversion::rows(&rows)?;
        let decode = if any_ending { ProgramVocabulary::decode_any } else { ProgramVocabulary::decode };
        let decoded = py.detach(|| {
            let rows = rows.chunks_exact(width).enumerate();
            rows.map(|(number, row)| decode(&tokens.tokens, row, number)).collect::<Result<Vec<_>, _>>()
        });
        Ok(Self::new(tokens.vocab.clone(), decoded.map_err(to_python)?))
    }

    fn __len__(&self) -> usize {
        self.programs.len()
    }

    /// One program as a list of nodes in the published spelling.
    ///
    /// Raises:
    ///     IndexError: there is no program with this number.
    fn to_json<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut json = Vec::new();
        self.get(number)?.write_json(&self.vocab, &mut json);
        Ok(PyBytes::new(py, &json))
    }

    /// One program in the form of COVR's files.
    ///
    /// Raises:
    ///     IndexError: there is no program with this number.
    ///     ProgramError: COVR has no operation for a function of the program.
    fn to_covr_json<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut json = Vec::new();
        let fault = |fault| ProgramError::new_err(format!("programs[{number}]: {fault}"));
        self.get(number)?.write_covr_json(&self.vocab, &mut json).map_err(fault)?;
        Ok(PyBytes::new(py, &json))
    }

    /// (N, width) program tokens in prefix order, padded with 0.
    ///
    /// Raises:
    ///     ProgramError: a program has more than `width` tokens, or a function has no token.
    fn to_tokens<'py>(
        &self,
        py: Python<'py>,
        tokens: &PyProgramTokens,
        width: usize,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let encode = |number: usize, program: &Program, row: &mut [i32]| {
            let fault = |error| ProgramError::new_err(format!("programs[{number}]: {error}"));
            tokens.tokens.encode_into(program, row).map_err(fault)
        };
        Ok(conversion::token_rows(py, &self.programs, width, encode)?.0)
    }

    fn __repr__(&self) -> String {
        let n_steps: usize = self.programs.iter().map(|program| program.steps.len()).sum();
        format!("<Programs: {}, {n_steps} steps in all>", self.programs.len())
    }
}

/// The program tokens of a question HDF5, by number.
///
/// Args:
///     vocabulary: the programs' vocabulary.
///     names: the tokens of a vocab.json by number; by default, those of every dataset with this vocabulary.
///
/// Raises:
///     ProgramError: a name is not a function, with a value of its type if it takes one.
#[pyclass(name = "ProgramTokens", module = "clevrhope._core", frozen)]
pub struct PyProgramTokens {
    vocab: Arc<Vocabulary>,
    pub tokens: ProgramVocabulary,
}

#[pymethods]
impl PyProgramTokens {
    #[new]
    #[pyo3(signature = (vocabulary, names = None))]
    fn new(vocabulary: &PyVocabulary, names: Option<Vec<String>>) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let tokens = match names {
            None => ProgramVocabulary::new(&vocab),
            Some(names) => ProgramVocabulary::from_names(&vocab, names.iter().map(String::as_str))
                .map_err(ProgramError::new_err)?,
        };
        Ok(Self { vocab, tokens })
    }

    /// These tokens with the same numbers, followed by the missing tokens of some functions.
    ///
    /// New tokens are in the order of `functions`, and for each function in the order of its values.
    ///
    /// Raises:
    ///     ProgramError: a function is unknown.
    fn extended(&self, functions: Vec<String>) -> PyResult<Self> {
        let functions = functions.iter().map(|name| Function::from_name(name)).collect::<Result<Vec<_>, _>>();
        let tokens = self.tokens.extended(&self.vocab, functions.map_err(ProgramError::new_err)?);
        Ok(Self { vocab: self.vocab.clone(), tokens })
    }

    /// Token names by number, including the special tokens.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.tokens.names().to_vec()
    }

    fn __repr__(&self) -> String {
        let names = self.tokens.names();
        format!("<ProgramTokens: {}, the last \"{}\">", names.len(), names.last().map_or("", String::as_str))
    }
}

/// The answer of one program on one scene, or on one set of scenes; None if it has none there.
///
/// Raises:
///     ProgramError: the program ends in objects, groups or images.
///     IndexError: there is no program, scene or set with this number.
#[pyfunction]
pub fn execute<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    program: usize,
    scenes: ScenesOrSets<'_>,
    scene: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let vocab = &programs.vocab;
    conversion::same_vocabulary(vocab, scenes.vocab())?;
    let program = programs.get(program)?;
    program.check_ending("program").map_err(|error| no_answer(&error.fault))?;
    let answer = match &scenes {
        ScenesOrSets::Scenes(scenes) => program::execute(program, scenes.get(scene)?.view(), vocab),
        ScenesOrSets::Sets(sets) => program::execute_on_set(program, &sets.get(scene)?, vocab),
    };
    answer.ok().map(|answer| conversion::answer(py, answer, vocab)).transpose()
}

/// The error for a program that gives no answer, which says what to call instead.
fn no_answer(fault: &Fault) -> PyErr {
    let instead = match fault {
        Fault::NoAnswer { output: Type::Images, .. } => "clevrhope.trace(program, scene) shows the images",
        _ => "clevrhope.find(program, scene) returns the objects",
    };
    ProgramError::new_err(format!("program: {fault}; {instead}"))
}

/// Function, value, inputs, type and output of each step; output is None from the first step that fails.
///
/// On a set, an object is (image, object): the image's number in the set and the object's in the image.
///
/// Raises:
///     IndexError: there is no program, scene or set with this number.
#[pyfunction]
pub fn trace<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    program: usize,
    scenes: ScenesOrSets<'_>,
    scene: usize,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let vocab = &programs.vocab;
    conversion::same_vocabulary(vocab, scenes.vocab())?;
    let program = programs.get(program)?;
    let (outputs, set) = match &scenes {
        ScenesOrSets::Scenes(scenes) => (program::trace(program, scenes.get(scene)?.view(), vocab), None),
        ScenesOrSets::Sets(sets) => {
            let set = sets.get(scene)?;
            (program::trace_on_set(program, &set, vocab), Some(set))
        }
    };
    let outputs = outputs.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    let steps = program.steps.iter().zip(outputs);
    steps.map(|(step, output)| conversion::traced(py, step, output, set.as_ref(), vocab)).collect()
}

/// The steps of N programs in sentences, each program on the scenes of a row of (N, W) positions, padded with -1.
///
/// Each is a JSON list with `text`, `function`, `node`, `objects` and `value` of every sentence; it is empty if the
/// program has no answer there. `width` and `height` are the size of the images in pixels.
///
/// Raises:
///     SceneError: a row is not a set of scenes; names the row.
///     ValueError: there are not as many rows as programs.
#[pyfunction]
#[pyo3(signature = (programs, scenes, rows, *, width, height))]
pub fn write_steps<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    scenes: &PySceneBatch,
    rows: PyReadonlyArray2<'py, i32>,
    width: u32,
    height: u32,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let PyPrograms { vocab, programs, .. } = programs;
    conversion::same_vocabulary(vocab, &scenes.vocab)?;
    let (rows, columns) = conversion::rows(&rows)?;
    conversion::same_length(programs.len(), rows.len() / columns)?;
    let graphs: Vec<SceneGraph> = py.detach(|| scenes.scenes.par_iter().map(|scene| scene.graph(vocab)).collect());
    let write = |number: usize| {
        let row = &rows[number * columns..(number + 1) * columns];
        let set =
            SceneSet::of_row(&graphs, row).map_err(|error| SceneError::new_err(format!("rows[{number}]: {error}")))?;
        let asked_scenes: Vec<_> = row[..set.n_images()].iter().map(|&place| &*scenes.scenes[place as usize]).collect();
        let asked = Asked { set: &set, scenes: &asked_scenes, size: [width, height], vocab };
        let sentences = steps::sentences(&programs[number], &asked).unwrap_or_default();
        Ok(steps::to_json(&programs[number], &asked, &sentences))
    };
    let mut written = Vec::with_capacity(programs.len());
    in_pieces(py, programs.len(), FIRST_PIECE_OF_STEPS, |piece| {
        written.extend(piece.into_par_iter().map(write).collect::<PyResult<Vec<_>>>()?);
        Ok(())
    })?;
    Ok(conversion::json_rows(py, &written))
}

/// (N,) answer numbers of (N,) programs, each on a scene or set of scenes; `NO_ANSWER` if it has none there.
///
/// Raises:
///     IndexError: there is no program, scene or set with a number.
///     ValueError: the two arrays differ in length.
#[pyfunction]
pub fn execute_batch<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    scenes: ScenesOrSets<'_>,
    program_idxs: PyReadonlyArray1<'py, u32>,
    scene_idxs: PyReadonlyArray1<'py, u32>,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let PyPrograms { vocab, programs, table } = programs;
    conversion::same_vocabulary(vocab, scenes.vocab())?;
    let graphs = match &scenes {
        ScenesOrSets::Scenes(scenes) => &scenes.0,
        ScenesOrSets::Sets(sets) => &sets.graphs,
    };
    let sets = if let ScenesOrSets::Sets(sets) = &scenes { Some(&sets.rows) } else { None };
    let n_scenes = sets.map_or(graphs.graphs.len(), Vec::len);
    let program_idxs = conversion::numbers(&program_idxs, "program_idxs", programs.len() as u64)?;
    let scene_idxs = conversion::numbers(&scene_idxs, "scene_idxs", n_scenes as u64)?;
    conversion::same_length(program_idxs.len(), scene_idxs.len())?;
    let pairs: Vec<(u32, u32)> = program_idxs.into_iter().zip(scene_idxs).collect();
    let mut answers = Vec::with_capacity(pairs.len());
    in_pieces(py, pairs.len(), FIRST_PIECE, |piece| {
        let made = match sets {
            None => program::execute_batch(table, &graphs.table, &pairs[piece], vocab),
            Some(sets) => program::execute_sets(programs, &graphs.graphs, sets, &pairs[piece], vocab),
        };
        answers.extend(made.map_err(to_python)?.into_iter().map(conversion::answer_number));
        Ok(())
    })?;
    Ok(PyArray1::from_vec(py, answers))
}

/// (N,) answer numbers of (N, P) rows of program tokens, each on a scene; `NO_ANSWER` if it has none there.
///
/// Raises:
///     ProgramError: a row is not a program, unless `mark_ill_formed`, which gives it `NO_PROGRAM`.
///     IndexError: there is no scene with a number.
///     ValueError: rows are not contiguous, or not as many as scene indices.
#[pyfunction]
#[pyo3(signature = (tokens, rows, scenes, scene_idxs, *, mark_ill_formed = false))]
pub fn execute_tokens<'py>(
    py: Python<'py>,
    tokens: &PyProgramTokens,
    rows: PyReadonlyArray2<'py, i32>,
    scenes: &PySceneGraphs,
    scene_idxs: PyReadonlyArray1<'py, u32>,
    mark_ill_formed: bool,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    conversion::same_vocabulary(&tokens.vocab, &scenes.0.vocab)?;
    let (rows, width) = conversion::rows(&rows)?;
    let scene_idxs = conversion::numbers(&scene_idxs, "scene_idxs", scenes.0.table.n_scenes() as u64)?;
    conversion::same_length(rows.len() / width, scene_idxs.len())?;
    let (ill_formed, table) = (if mark_ill_formed { IllFormed::Mark } else { IllFormed::Refuse }, &scenes.0.table);
    let mut answers = Vec::with_capacity(scene_idxs.len());
    in_pieces(py, scene_idxs.len(), FIRST_PIECE, |piece| {
        let (first, rows) = (piece.start, &rows[piece.start * width..piece.end * width]);
        let (tokens, vocab) = (&tokens.tokens, &tokens.vocab);
        let mut made = program::execute_tokens(tokens, rows, width, table, &scene_idxs[piece], vocab, ill_formed);
        if let Err(BatchError::Token(error)) = &mut made {
            error.row += first;
        }
        let made = made.map_err(to_python)?;
        answers.extend(made.into_iter().map(conversion::answer_number));
        Ok(())
    })?;
    Ok(PyArray1::from_vec(py, answers))
}
