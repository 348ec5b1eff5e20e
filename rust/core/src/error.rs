//! One error type over all domains.

use thiserror::Error;

/// Any error of the engine; each domain keeps its own enum.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Vocab(#[from] crate::vocab::VocabError),
    #[error(transparent)]
    Program(#[from] crate::program::ProgramError),
    #[error(transparent)]
    Tokens(#[from] crate::program::TokenError),
    #[error(transparent)]
    Encode(#[from] crate::program::EncodeError),
    #[error(transparent)]
    Batch(#[from] crate::program::BatchError),
    #[error(transparent)]
    Scene(#[from] crate::scene::SceneError),
    #[error(transparent)]
    Template(#[from] crate::question::TemplateError),
    #[error(transparent)]
    QuestionTokens(#[from] crate::question::tokens::QuestionTokenError),
    #[error(transparent)]
    Split(#[from] crate::split::SplitError),
    #[error(transparent)]
    Suite(#[from] crate::suite::SuiteError),
}
