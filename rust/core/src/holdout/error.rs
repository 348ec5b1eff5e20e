//! Errors of held-out conjunctions.

use thiserror::Error;

#[derive(Debug, Error)]
pub enum HoldoutError {
    #[error("a held-out combination needs two or more values, got {0}")]
    TooFew(usize),
    #[error("\"{a}\" and \"{b}\" are both values of {kind}: no object can have both")]
    SameType { a: String, b: String, kind: &'static str },
    #[error("palette {palette}: {problem}")]
    Palette { palette: String, problem: String },
    #[error(transparent)]
    Vocab(#[from] crate::vocab::VocabError),
}
