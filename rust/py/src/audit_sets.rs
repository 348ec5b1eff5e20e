//! The audit's rows of questions about sets of images, and its findings about them.

use crate::audit_scenes::PyAuditScenes;
use crate::conversion::{self, TokenRows};
use crate::findings::PyAuditFindings;
use clevrhope_core::audit::{MOST_IMAGES, SetFinding, SetRow};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// N rows of a question file about sets of images, encoded as numbers; -1 replaces missing ones.
#[pyclass(name = "AuditSetRows", module = "clevrhope._core", frozen)]
pub struct PyAuditSetRows(pub Vec<SetRow>);

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
pub struct PyAuditSetFindings(pub Vec<SetFinding>);

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

    /// What the questions mention, and their answers.
    #[getter]
    fn asked(&self) -> PyAuditFindings {
        PyAuditFindings(self.0.iter().map(|found| found.asked).collect())
    }

    /// (N,) 1 if the answer is lost or changes when the last leaf is cut, 2 if it stays but follows from numbers that
    /// are all lost or change, 0 if neither, -1 if there is no leaf.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |found| found.cut)
    }

    /// (N,) the templates, as indices into `AuditReader.TEMPLATES`; -1 if the program has no template.
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
