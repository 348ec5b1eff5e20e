//! The audit's reader of finished questions about sets of images.

use crate::audit::{PyAuditScenes, WordEntry, words_of};
use crate::conversion::{self, TokenRows, Values};
use crate::errors::{VocabularyError, raise};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{
    Labels, MOST_IMAGES, Names, ProgramReader, Rows, SetFinding, SetRow, TEMPLATES, WordReader, read_set_rows,
};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use rayon::prelude::*;

/// Reads finished questions about sets of one to five images, independently of the code that made them.
///
/// Args:
///     vocabulary: the questions' vocabulary.
///     question_tokens: question tokens by number, as in covr/vocab.json.
///     program_tokens: program tokens by number.
///     answers: answers by number.
///     held_out: the held-out values; empty if nothing is held out.
///     words: as for `AuditReader`.
///
/// Raises:
///     VocabularyError: held-out values are not in the vocabulary, or more than four.
#[pyclass(name = "AuditSetReader", module = "clevrhope._core", frozen)]
pub struct PyAuditSetReader {
    programs: ProgramReader,
    words: Option<WordReader>,
    names: Names,
}

#[pymethods]
impl PyAuditSetReader {
    /// The names of the templates, by their numbers in findings.
    #[classattr]
    const TEMPLATES: [&'static str; TEMPLATES.len()] = TEMPLATES;

    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, answers, held_out, words))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        answers: Vec<String>,
        held_out: Values,
        words: Vec<WordEntry>,
    ) -> PyResult<Self> {
        let programs = ProgramReader::new(&vocabulary.0, &program_tokens, &answers, &held_out);
        let words = WordReader::new(&question_tokens, &words_of(words), held_out.len());
        Ok(Self {
            programs: programs.map_err(raise::<VocabularyError>)?,
            words: Some(words.map_err(raise::<VocabularyError>)?).filter(|_| !held_out.is_empty()),
            names: Names::new(&question_tokens, &program_tokens, &answers),
        })
    }

    /// Encodes rows of a question file, which are JSON objects, as numbers. Uses all cores.
    ///
    /// Args:
    ///     rows: N rows.
    ///     split: the name of the split that they should be in.
    ///     templates: the names of templates by number.
    ///     structures: the names of structures by number.
    ///
    /// Raises:
    ///     ValueError: a row is not a question; says which.
    fn encode(
        &self,
        py: Python<'_>,
        rows: Vec<PyBackedBytes>,
        split: String,
        templates: Vec<String>,
        structures: Vec<String>,
    ) -> PyResult<PyAuditSetRows> {
        let labels = Labels { split, templates, structures };
        let read = |(row, json): (usize, &PyBackedBytes)| SetRow::read(json, row, &self.names, &labels);
        let encoded: Result<Vec<SetRow>, _> = py.detach(|| rows.par_iter().enumerate().map(read).collect());
        encoded.map(PyAuditSetRows).map_err(raise::<PyValueError>)
    }

    /// Finds what questions (N, Q) and programs (N, P) mention and describe, and their answers. Uses all cores.
    ///
    /// `scene_idxs` (N, 5) are indices into `scenes`, padded with -1; programs whose row begins with -1 are not
    /// executed.
    ///
    /// Raises:
    ///     IndexError: there is no scene with an index, or arrays have different lengths.
    ///     ValueError: rows have no tokens, or not five scenes.
    fn read(
        &self,
        py: Python<'_>,
        questions: PyReadonlyArray2<'_, i32>,
        programs: PyReadonlyArray2<'_, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray2<'_, i64>,
    ) -> PyResult<PyAuditSetFindings> {
        if scene_idxs.shape()[1] != MOST_IMAGES {
            return Err(PyValueError::new_err(format!(
                "rows of {} scenes; expected {MOST_IMAGES}",
                scene_idxs.shape()[1]
            )));
        }
        let (questions, question_width) = conversion::rows(&questions)?;
        let (programs, program_width) = conversion::rows(&programs)?;
        let (scenes_width, idxs) = (MOST_IMAGES, conversion::row_by_row(&scene_idxs)?);
        let rows = Rows { questions, question_width, programs, program_width, scenes: idxs, scenes_width };
        let found = py.detach(|| read_set_rows(&self.programs, self.words.as_ref(), rows, &scenes.scenes));
        found.map(PyAuditSetFindings).map_err(raise::<PyIndexError>)
    }

    fn __repr__(&self) -> String {
        format!("<AuditSetReader with {} held out>", if self.words.is_some() { "a pair" } else { "nothing" })
    }
}

/// N rows of a question file about sets of images, encoded as numbers; -1 replaces missing ones.
#[pyclass(name = "AuditSetRows", module = "clevrhope._core", frozen)]
pub struct PyAuditSetRows(Vec<SetRow>);

impl PyAuditSetRows {
    fn tokens<'py>(&self, py: Python<'py>, of: fn(&SetRow) -> &[i32], width: usize) -> PyResult<TokenRows<'py>> {
        let mut tokens = conversion::matrix_of(0, self.0.len(), width)?;
        for (to, from) in tokens.chunks_exact_mut(width.max(1)).zip(&self.0) {
            to.iter_mut().zip(of(from)).for_each(|(to, &token)| *to = token);
        }
        let lengths = PyArray1::from_iter(py, self.0.iter().map(|row| of(row).len() as i32));
        Ok((conversion::to_matrix(py, tokens, width)?, lengths))
    }
}

#[pymethods]
impl PyAuditSetRows {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// (N, width) question tokens, cut or padded with 0; and (N,) the number of tokens of each question.
    fn questions<'py>(&self, py: Python<'py>, width: usize) -> PyResult<TokenRows<'py>> {
        self.tokens(py, |row| &row.question, width)
    }

    /// (N, width) program tokens, cut or padded with 0; and (N,) the number of tokens of each program.
    fn programs<'py>(&self, py: Python<'py>, width: usize) -> PyResult<TokenRows<'py>> {
        self.tokens(py, |row| &row.program, width)
    }

    /// (N,) the answers' numbers.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_iter(py, self.0.iter().map(|row| row.answer))
    }

    /// (N, 5) indices of scenes in their pool, padded with -1.
    #[getter]
    fn image_idxs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        conversion::to_matrix(py, self.0.iter().flat_map(|row| row.images).collect(), MOST_IMAGES)
    }

    /// (N, 7) number of images, source, template, structure, phrasing, 0 for the right split, and question index.
    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let numbers = |row: &SetRow| {
            [row.n_images as i64, row.source, row.template, row.structure, row.phrasing, row.split, row.index]
        };
        conversion::to_matrix(py, self.0.iter().flat_map(numbers).collect(), 7)
    }

    /// (N,) whether the row's image names are those of its scenes; `scene_idxs` (N, 5) are indices into `scenes`.
    ///
    /// Raises:
    ///     IndexError: there is no scene with an index.
    fn are_named<'py>(
        &self,
        py: Python<'py>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray2<'_, i64>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let (places, width) = conversion::rows(&scene_idxs)?;
        let name = |&place: &i64| {
            let scene = usize::try_from(place).ok().and_then(|place| scenes.scenes.0.get(place));
            scene.map(|scene| scene.filename.as_str()).ok_or_else(|| PyIndexError::new_err(format!("no scene {place}")))
        };
        let is_named = |(row, places): (&SetRow, &[i64])| {
            let names: PyResult<Vec<&str>> = places.iter().filter(|&&place| place != -1).map(name).collect();
            Ok::<_, PyErr>(row.filenames == names?)
        };
        let named: PyResult<Vec<bool>> = self.0.iter().zip(places.chunks_exact(width)).map(is_named).collect();
        Ok(PyArray1::from_vec(py, named?))
    }

    fn __repr__(&self) -> String {
        format!("<AuditSetRows: {}>", self.0.len())
    }
}

/// What N questions about sets of images mention and describe, and their answers.
#[pyclass(name = "AuditSetFindings", module = "clevrhope._core", frozen)]
pub struct PyAuditSetFindings(Vec<SetFinding>);

impl PyAuditSetFindings {
    fn column<'py, T: numpy::Element>(&self, py: Python<'py>, of: fn(&SetFinding) -> T) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.0.iter().map(of))
    }
}

#[pymethods]
impl PyAuditSetFindings {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// (N,) the answers' numbers; without an answer, a negative constant of `AuditReader`, such as `NO_ANSWER`.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |found| found.asked.answer)
    }

    /// (N,) whether the program mentions all held-out values.
    #[getter]
    fn by_program<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |found| found.asked.by_program)
    }

    /// (N,) whether one noun phrase of the text mentions all held-out values.
    #[getter]
    fn by_words<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |found| found.asked.by_words)
    }

    /// (N,) whether the program asks for the held-out values, directly or through likenesses.
    #[getter]
    fn implied<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |found| found.asked.implied)
    }

    /// (N,) 1 if the last leaf matters, 0 if not, -1 if there is no leaf.
    ///
    /// It matters if the answer is lost or changes when the leaf is cut; if the answer follows from numbers, each of
    /// them must be lost or change.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |found| found.cut)
    }

    /// (N,) the templates, as indices into `AuditSetReader.TEMPLATES`; -1 if the program has no template.
    #[getter]
    fn templates<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |found| found.template)
    }

    /// (N,) the number of the template's variant, which decides the phrasings that a question can have.
    #[getter]
    fn variants<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |found| found.variant)
    }

    /// (N,) the description's structure: 0 single, 1 edge, 2 chain, 3 V (an object related to two others); -1 for none.
    #[getter]
    fn structures<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |found| found.structure)
    }

    /// (N, 10) the sizes of the first described set in each image, then of the second; -1 for no set or image.
    #[getter]
    fn matches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i8>>> {
        let numbers: Vec<i8> = self.0.iter().flat_map(|found| found.matches).flatten().collect();
        conversion::to_matrix(py, numbers, 2 * MOST_IMAGES)
    }

    fn __repr__(&self) -> String {
        format!("<AuditSetFindings of {} questions>", self.0.len())
    }
}
