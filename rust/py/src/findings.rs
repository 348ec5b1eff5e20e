//! The audit's findings about the questions of a file, and their violations of the split's rules.

use crate::choice::{Choice, Named};
use clevrhope_core::audit::{Asked, Finding, Violation, Violations};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::collections::HashMap;

/// A violation of the rules of a question's split.
#[pyclass(name = "AuditViolation", module = "clevrhope._core", frozen, eq, hash, rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum PyAuditViolation {
    WrongAnswer,
    NoAnswer,
    ProgramMentions,
    WordsMention,
    Implies,
    ProgramLacksMention,
    WordsLackMention,
    ProgramUnseen,
    WordsUnseen,
}

impl From<Violation> for PyAuditViolation {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::WrongAnswer => Self::WrongAnswer,
            Violation::NoAnswer => Self::NoAnswer,
            Violation::ProgramMentions => Self::ProgramMentions,
            Violation::WordsMention => Self::WordsMention,
            Violation::Implies => Self::Implies,
            Violation::ProgramLacksMention => Self::ProgramLacksMention,
            Violation::WordsLackMention => Self::WordsLackMention,
            Violation::ProgramUnseen => Self::ProgramUnseen,
            Violation::WordsUnseen => Self::WordsUnseen,
        }
    }
}

/// Rows with their violations, and the number of questions with each kind.
pub type Counted = (Vec<(usize, PyAuditViolation)>, HashMap<PyAuditViolation, usize>);

/// Converts violations for Python.
pub fn counted(violations: &Violations) -> Counted {
    let first = violations.first.iter().map(|&(row, violation)| (row, violation.into())).collect();
    (first, violations.counts.iter().map(|(&violation, &count)| (violation.into(), count)).collect())
}

impl Named for Asked {
    const ARGUMENT: &'static str = "asked";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("anywhere", Self::Anywhere),
        ("always", Self::Always),
        ("never", Self::Never),
        ("never implied", Self::NeverImplied),
    ];
}

/// What N questions mention, and their answers.
#[pyclass(name = "AuditFindings", module = "clevrhope._core", frozen)]
pub struct PyAuditFindings(pub Vec<Finding>);

impl PyAuditFindings {
    fn column<'py>(&self, py: Python<'py>, of: fn(&Finding) -> bool) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_iter(py, self.0.iter().map(of))
    }
}

#[pymethods]
impl PyAuditFindings {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// (N,) whether the program mentions all held-out values.
    #[getter]
    fn by_program<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |finding| finding.by_program)
    }

    /// (N,) whether the words mention all held-out values.
    #[getter]
    fn by_words<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |finding| finding.by_words)
    }

    /// (N,) whether the program asks for the held-out values, directly or through likenesses.
    ///
    /// "A cylinder of the same material as a rubber cube" asks for a rubber cylinder.
    #[getter]
    fn implied<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |finding| finding.implied)
    }

    /// (N,) the answers' numbers; without an answer, a negative constant of `AuditReader`, such as `NO_ANSWER`.
    #[getter]
    fn answers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        PyArray1::from_iter(py, self.0.iter().map(|finding| finding.answer))
    }

    /// The violations of the split's rules by these questions.
    ///
    /// Returns rows with one violation each, in the order of the rows, at most `most` of each kind; and the total
    /// number of violations of each kind.
    ///
    /// Args:
    ///     answers: (N,) the answers' numbers in the file.
    ///     asked: whether the split's questions may or must ask for the held-out values: "anywhere" (they may),
    ///         "always" (they must), "never", or "never implied" (not even through likenesses).
    ///     most: the maximum number of rows that are listed for a kind.
    ///
    /// Raises:
    ///     ValueError: `asked` is unknown.
    ///     IndexError: arrays have different lengths.
    fn violations(&self, answers: PyReadonlyArray1<'_, i32>, asked: Choice<Asked>, most: usize) -> PyResult<Counted> {
        let answers = answers.as_slice()?;
        if answers.len() != self.0.len() {
            let (answers, questions) = (answers.len(), self.0.len());
            return Err(PyIndexError::new_err(format!("{answers} answers to {questions} questions")));
        }
        Ok(counted(&Violations::of_findings(&self.0, answers, asked.0, most)))
    }

    fn __repr__(&self) -> String {
        let mentioning = self.0.iter().filter(|finding| finding.by_program).count();
        format!("<AuditFindings of {} questions; {mentioning} mention the held-out values>", self.0.len())
    }
}
