//! Splits: which scenes of a pool, and which questions on them, make a dataset.

pub mod holdout;
pub mod matching;
mod minimal;
pub mod scan;
pub mod select;

pub use holdout::{Description, Holdout, HoldoutError};
pub use minimal::{MinimalKind, MinimalPool};
pub use scan::PoolScan;
pub use select::{SceneRule, SplitError, SplitRule, SplitStream, WINDOW, Windows};
