//! Why a split cannot be made.

use crate::scene::SceneError;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum SplitError {
    #[error(transparent)]
    Scene(#[from] SceneError),
    #[error(transparent)]
    Holdout(#[from] crate::holdout::HoldoutError),
    #[error("{pair}: {problem}")]
    Diversity { pair: String, problem: String },
    #[error("split {split}: {problem}")]
    Impossible { split: String, problem: String },
}
