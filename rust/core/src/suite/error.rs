//! Errors in a suite.

use crate::question::TemplateError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum SuiteError {
    #[error("{0}")]
    Json(String),
    #[error("{place}: {problem}")]
    Entry { place: String, problem: String },
    /// The nodes or texts of a family that an entry makes, or a template file.
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    Refuted(Box<Refutation>),
    /// A train set should have a question of the suite after every n questions, and none can be made.
    #[error(
        "the suite {suite} has no partner for any of the first {n} questions, of which one should follow them; a train \
         split needs a suite for questions of most families"
    )]
    Augmentation { suite: String, n: usize },
}

/// Execution refutes the relation that an entry states.
#[derive(Debug, Error)]
#[error(
    "{place}: the relation does not hold: \"{original}\" is answered {answer}, but \"{partner}\" is answered \
     {partner_answer}, not {expected}"
)]
pub struct Refutation {
    pub place: String,
    pub original: String,
    pub answer: String,
    pub partner: String,
    pub partner_answer: String,
    pub expected: String,
}

impl SuiteError {
    pub(super) fn entry(place: &str, problem: String) -> Self {
        Self::Entry { place: place.to_owned(), problem }
    }
}
