//! Splits: which scenes of a pool, and which questions on them, make a dataset.

pub mod holdout;

pub use holdout::{Description, Holdout, HoldoutError};
