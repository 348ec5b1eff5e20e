//! Program files or tokens in, answers out: handles of programs and tokens, execution of one and of many.

use crate::convert;
use crate::errors::{ProgramError, to_python};
use crate::interrupt::in_pieces;
use crate::scenes::PySceneGraphs;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::program::{self, Program, ProgramTable, ProgramVocabulary};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::Arc;

/// Pairs of program and scene in the first piece of a batch: a few milliseconds' work.
const FIRST_PIECE: usize = 1 << 16;

/// Checked programs, in order.
#[pyclass(name = "Programs", module = "clevrhope._core", frozen)]
pub struct PyPrograms {
    vocab: Arc<Vocabulary>,
    programs: Vec<Program>,
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
    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file))]
    fn from_json(vocabulary: &PyVocabulary, data: &[u8], file: &str) -> PyResult<Self> {
        let program = Program::from_json(data, &vocabulary.0, file).map_err(to_python)?;
        Ok(Self::new(vocabulary.0.clone(), vec![program]))
    }

    #[staticmethod]
    #[pyo3(signature = (vocabulary, data, *, file))]
    fn from_questions<'py>(
        py: Python<'py>,
        vocabulary: &PyVocabulary,
        data: &[u8],
        file: &str,
    ) -> PyResult<(Self, Bound<'py, PyArray1<u64>>)> {
        let vocab = vocabulary.0.clone();
        let questions = py.detach(|| program::question_file::read_questions(data, &vocab, file)).map_err(to_python)?;
        let images: Vec<u64> = questions.iter().map(|question| question.image_index).collect();
        let programs = convert::programs(questions, file)?;
        Ok((Self::new(vocab, programs), PyArray1::from_vec(py, images)))
    }

    #[staticmethod]
    fn from_tokens(py: Python<'_>, tokens: &PyProgramTokens, rows: PyReadonlyArray2<'_, i32>) -> PyResult<Self> {
        let (rows, width) = convert::rows(&rows)?;
        let decoded = py.detach(|| {
            let rows = rows.chunks_exact(width).enumerate();
            rows.map(|(number, row)| tokens.tokens.decode(row, number)).collect::<Result<Vec<_>, _>>()
        });
        Ok(Self::new(tokens.vocab.clone(), decoded.map_err(to_python)?))
    }

    fn __len__(&self) -> usize {
        self.programs.len()
    }

    fn to_json<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut json = Vec::new();
        self.get(number)?.write_json(&self.vocab, &mut json);
        Ok(PyBytes::new(py, &json))
    }

    fn to_tokens<'py>(
        &self,
        py: Python<'py>,
        tokens: &PyProgramTokens,
        width: usize,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        let mut rows = convert::matrix_of(0, self.programs.len(), width)?;
        if width == 0 && !self.programs.is_empty() {
            return Err(PyValueError::new_err("rows of no tokens; expected at least one column"));
        }
        for (number, (program, row)) in self.programs.iter().zip(rows.chunks_exact_mut(width.max(1))).enumerate() {
            let fault = |error| ProgramError::new_err(format!("programs[{number}]: {error}"));
            tokens.tokens.encode_into(program, row).map_err(fault)?;
        }
        convert::to_matrix(py, rows, width)
    }
}

/// The tokens that rows of an HDF5 file hold, by number.
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

    #[getter]
    fn names(&self) -> Vec<String> {
        self.tokens.names().to_vec()
    }
}

/// The answer of one program on one scene.
#[pyfunction]
pub fn execute<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    program: usize,
    scenes: &PySceneGraphs,
    scene: usize,
) -> PyResult<Bound<'py, PyAny>> {
    convert::same_vocabulary(&programs.vocab, &scenes.0.vocab)?;
    let graph = scenes.get(scene)?;
    let answer = program::execute(programs.get(program)?, graph.view(), &programs.vocab);
    convert::answer(py, answer.map_err(|error| ProgramError::new_err(error.to_string()))?, &programs.vocab)
}

/// Each step of one program on one scene: function, argument, inputs, type, output.
#[pyfunction]
pub fn trace<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    program: usize,
    scenes: &PySceneGraphs,
    scene: usize,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    convert::same_vocabulary(&programs.vocab, &scenes.0.vocab)?;
    let graph = scenes.get(scene)?;
    let program = programs.get(program)?;
    let outputs = program::trace(program, graph.view(), &programs.vocab).into_iter().map(Some);
    let steps = program.steps.iter().zip(outputs.chain(std::iter::repeat_with(|| None)));
    steps.map(|(step, output)| convert::traced(py, step, output, &programs.vocab)).collect()
}

/// The answer numbers of pairs of program and scene.
#[pyfunction]
pub fn execute_batch<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    scenes: &PySceneGraphs,
    program_idxs: PyReadonlyArray1<'py, u32>,
    scene_idxs: PyReadonlyArray1<'py, u32>,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    convert::same_vocabulary(&programs.vocab, &scenes.0.vocab)?;
    let program_idxs = convert::numbers(&program_idxs, "program_idxs", programs.table.n_programs())?;
    let scene_idxs = convert::numbers(&scene_idxs, "scene_idxs", scenes.0.table.n_scenes())?;
    let pairs = convert::pairs(program_idxs, scene_idxs)?;
    let mut answers = Vec::with_capacity(pairs.len());
    in_pieces(py, pairs.len(), FIRST_PIECE, |piece| {
        let made = program::execute_batch(&programs.table, &scenes.0.table, &pairs[piece], &programs.vocab);
        answers.extend(made.map_err(to_python)?.into_iter().map(convert::answer_number));
        Ok(())
    })?;
    Ok(PyArray1::from_vec(py, answers))
}

/// The answer numbers of rows of tokens, each on a scene.
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
    convert::same_vocabulary(&tokens.vocab, &scenes.0.vocab)?;
    let (rows, width) = convert::rows(&rows)?;
    let scene_idxs = convert::numbers(&scene_idxs, "scene_idxs", scenes.0.table.n_scenes())?;
    convert::same_length(rows.len() / width, scene_idxs.len())?;
    let (ill_formed, table) = (convert::ill_formed(mark_ill_formed), &scenes.0.table);
    let mut answers = Vec::with_capacity(scene_idxs.len());
    in_pieces(py, scene_idxs.len(), FIRST_PIECE, |piece| {
        let (first, rows) = (piece.start, &rows[piece.start * width..piece.end * width]);
        let (tokens, vocab) = (&tokens.tokens, &tokens.vocab);
        let made = program::execute_tokens(tokens, rows, width, table, &scene_idxs[piece], vocab, ill_formed);
        let made = made.map_err(|error| to_python(convert::shifted(error, first)))?;
        answers.extend(made.into_iter().map(convert::answer_number));
        Ok(())
    })?;
    Ok(PyArray1::from_vec(py, answers))
}
