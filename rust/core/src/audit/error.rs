//! Errors in the inputs of the audit.

use crate::message::shown;
use thiserror::Error;

/// Maximum number of held-out values: each has a bit, and each of their 16 subsets has a bit of a 16-bit mask.
pub const MOST_VALUES: usize = 4;

#[derive(Debug, Error)]
pub enum AuditError {
    #[error("{0} values; the audit checks at most {MOST_VALUES} held-out values, and 64 for absent pairs")]
    TooMany(usize),
    #[error("the vocabulary has no {} \"{}\"", shown(kind), shown(value))]
    Value { kind: String, value: String },
    #[error("row {row} has scene {scene}, but there are {scenes} scenes")]
    Scene { row: usize, scene: i64, scenes: usize },
    #[error("{questions} rows of words, {programs} rows of programs and {scenes} scenes; expected as many of each")]
    Shape { questions: usize, programs: usize, scenes: usize },
}

/// A problem with a file that the audit reads, and its place.
#[derive(Debug, Error)]
#[error("{place}: {problem}")]
pub struct FileError {
    pub place: String,
    pub problem: String,
}
