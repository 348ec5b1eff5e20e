//! Held-out values, and the checks of whether a program asks for them.

mod absent_pairs;
mod combinations;
mod domain;
mod error;
mod implication;
mod mention;
mod pair;

pub use absent_pairs::{AbsentPairs, ValueSet};
pub use combinations::{Combination, Combinations};
pub use domain::Domain;
pub use error::HoldoutError;
pub use implication::{Implications, Knowledge};
pub use mention::{Description, Mentions};
pub use pair::Holdout;
