//! Splits: which scenes of a pool, and which questions on them, make a dataset.

mod asking;
mod counting;
pub mod diversity;
pub mod matching;
mod minimal;
pub mod scan;
pub mod select;

pub use counting::CountingPool;
pub use diversity::{DiversityMode, check_seen, seen_palette};
pub use minimal::{MinimalKind, MinimalPool};
pub use scan::PoolScan;
pub use select::{SceneRule, SplitError, SplitRule, SplitStream, Windows};
