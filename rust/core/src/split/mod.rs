//! Splits: which scenes of a pool, and which questions on them, make a dataset.

mod counting_pool;
pub mod diversity;
mod eligible;
mod error;
mod minimal_pool;
mod plain_question;
pub mod pool_scenes;
mod stream;

pub use counting_pool::CountingPool;
pub use diversity::{DiversityMode, check_seen, seen_palette};
pub use eligible::{Eligible, EligibleScenes, SceneRule};
pub use error::SplitError;
pub use minimal_pool::{MinimalKind, MinimalPool};
pub use pool_scenes::{PlacedScene, PoolScenes};
pub use stream::{SplitRule, SplitStream, Windows};
