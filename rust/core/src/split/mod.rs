//! Splits: which scenes of a pool, and which questions on them, make a dataset.

pub mod absent;
mod asking;
mod counting;
pub mod diversity;
pub mod holdout;
pub mod implied;
pub mod matching;
mod minimal;
pub mod scan;
pub mod select;

pub use absent::Absent;
pub use counting::CountingPool;
pub use diversity::{DiversityMode, check_seen, seen_palette};
pub use holdout::{Description, Holdout, HoldoutError};
pub use implied::Known;
pub use minimal::{MinimalKind, MinimalPool};
pub use scan::PoolScan;
pub use select::{SceneRule, SplitError, SplitRule, SplitStream, WINDOW, Windows};
