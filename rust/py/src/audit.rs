//! Token rows and scenes in, what the audit reads in them out, as columns.

use crate::convert;
use crate::errors::{SceneError, VocabularyError};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::Vocabulary;
use clevrhope_core::audit::{
    FinishedScenes, ProgramReader, QuestionFileReader, QuestionRow, Rows, Word, WordReader, needed_rows, read_rows,
};
use clevrhope_core::vocab::N_TYPES;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads finished questions apart from what made them.
#[pyclass(name = "AuditReader", module = "clevrhope._core", frozen)]
pub struct PyAuditReader {
    programs: ProgramReader,
    words: Option<WordReader>,
    spoken: QuestionFileReader,
}

/// The scenes of finished files.
#[pyclass(name = "AuditScenes", module = "clevrhope._core", frozen)]
pub struct PyAuditScenes {
    vocab: Arc<Vocabulary>,
    pub scenes: FinishedScenes,
}

#[pymethods]
impl PyAuditScenes {
    #[staticmethod]
    fn read(py: Python<'_>, vocabulary: &PyVocabulary, paths: Vec<PathBuf>) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let scenes = py.detach(|| FinishedScenes::read(&paths, &vocab));
        Ok(Self { scenes: scenes.map_err(|error| SceneError::new_err(error.to_string()))?, vocab })
    }

    fn __len__(&self) -> usize {
        self.scenes.0.len()
    }

    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.scenes.0.iter().map(|scene| scene.index))
    }

    #[getter]
    fn filenames(&self) -> Vec<&str> {
        self.scenes.0.iter().map(|scene| scene.filename.as_str()).collect()
    }

    #[getter]
    fn looks<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.scenes.0.iter().map(|scene| scene.look))
    }

    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_iter(py, self.scenes.0.iter().map(|scene| scene.place))
    }

    #[getter]
    fn cameras<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        convert::to_matrix(py, self.scenes.0.iter().flat_map(|scene| scene.camera).collect(), 3)
    }

    #[getter]
    fn behind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        convert::to_matrix(py, self.scenes.0.iter().flat_map(|scene| scene.behind).collect(), 3)
    }

    #[getter]
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        convert::to_matrix(py, self.scenes.0.iter().flat_map(|scene| scene.left).collect(), 3)
    }

    #[getter]
    fn misrelated(&self) -> Vec<(usize, String)> {
        let wrong = self.scenes.0.iter().enumerate();
        wrong.filter_map(|(number, scene)| Some((number, scene.wrong_relation.clone()?))).collect()
    }

    #[getter]
    fn n_objects<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_iter(py, self.scenes.attributes().map(|objects| objects.len() as u8))
    }

    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let values: Vec<u8> = self.scenes.attributes().flatten().flatten().copied().collect();
        convert::to_matrix(py, values, N_TYPES)
    }

    fn holding<'py>(&self, py: Python<'py>, values: Vec<(String, String)>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let holding = self.scenes.holding(&self.vocab, &values);
        Ok(PyArray1::from_vec(py, holding.map_err(|error| VocabularyError::new_err(error.to_string()))?))
    }
}

/// Rows of tokens and how many there are in each, of words and of programs; answers, image indices, families;
/// names of images.
type Said<'py> = (
    (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray1<i32>>),
    (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray1<i32>>),
    (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>),
    Vec<String>,
);

/// Whether programs and words mention the held-out values, or imply them, and the answers' numbers.
type Columns<'py> =
    (Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<i32>>);

#[pymethods]
impl PyAuditReader {
    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, answers, pair, words))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        answers: Vec<String>,
        pair: Vec<(String, String)>,
        words: Vec<(String, Option<usize>, bool, bool)>,
    ) -> PyResult<Self> {
        let refused = |error: clevrhope_core::audit::AuditError| VocabularyError::new_err(error.to_string());
        let programs = ProgramReader::new(&vocabulary.0, &program_tokens, &answers, &pair).map_err(refused)?;
        let words: Vec<Word> = words
            .into_iter()
            .map(|(text, held_out, is_value, is_noun)| Word { text, held_out, is_value, is_noun })
            .collect();
        let spoken = QuestionFileReader::new(&question_tokens, &program_tokens, &answers);
        let reader = WordReader::new(&question_tokens, &words, pair.len()).map_err(refused)?;
        Ok(Self { programs, words: (!pair.is_empty()).then_some(reader), spoken })
    }

    fn say<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<PyBackedBytes>,
        question_width: usize,
        program_width: usize,
    ) -> PyResult<Said<'py>> {
        let read = |(row, json): (usize, &PyBackedBytes)| self.spoken.read(json, row);
        let said: Result<Vec<QuestionRow>, _> = py.detach(|| rows.par_iter().enumerate().map(read).collect());
        let said = said.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let matrix = |of: fn(&QuestionRow) -> &[i32], width: usize| {
            let mut tokens = convert::matrix_of(0, said.len(), width)?;
            for (to, from) in tokens.chunks_exact_mut(width.max(1)).zip(&said) {
                to.iter_mut().zip(of(from)).for_each(|(to, &token)| *to = token);
            }
            let lengths = PyArray1::from_iter(py, said.iter().map(|row| of(row).len() as i32));
            Ok::<_, PyErr>((convert::to_matrix(py, tokens, width)?, lengths))
        };
        Ok((
            matrix(|row| &row.question, question_width)?,
            matrix(|row| &row.program, program_width)?,
            (
                PyArray1::from_iter(py, said.iter().map(|row| row.answer)),
                PyArray1::from_iter(py, said.iter().map(|row| row.image_index)),
                PyArray1::from_iter(py, said.iter().map(|row| row.family)),
            ),
            said.iter().map(|row| row.image_filename.clone()).collect(),
        ))
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        questions: PyReadonlyArray2<'py, i32>,
        programs: PyReadonlyArray2<'py, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Columns<'py>> {
        let rows = Rows {
            questions: questions.as_slice()?,
            question_width: questions.shape()[1],
            programs: programs.as_slice()?,
            program_width: programs.shape()[1],
            scenes: scene_idxs.as_slice()?,
        };
        if rows.question_width == 0 || rows.program_width == 0 {
            return Err(PyValueError::new_err("rows of tokens have no width"));
        }
        let findings = py.detach(|| read_rows(&self.programs, self.words.as_ref(), rows, &scenes.scenes));
        let findings = findings.map_err(|error| PyIndexError::new_err(error.to_string()))?;
        Ok((
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.by_program)),
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.by_words)),
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.implied)),
            PyArray1::from_iter(py, findings.iter().map(|finding| finding.answer)),
        ))
    }

    fn relations_needed<'py>(
        &self,
        py: Python<'py>,
        programs: PyReadonlyArray2<'py, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray1<'py, i64>,
        width: usize,
    ) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let (rows, row_width, scene_of_row) = (programs.as_slice()?, programs.shape()[1], scene_idxs.as_slice()?);
        convert::check_width(width)?;
        let needed = py.detach(|| needed_rows(&self.programs, rows, row_width, scene_of_row, &scenes.scenes, width));
        convert::to_matrix(py, needed.map_err(|error| PyIndexError::new_err(error.to_string()))?, width)
    }
}
