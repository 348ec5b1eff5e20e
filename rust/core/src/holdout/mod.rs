//! What is held out, and what a question or a combination of values says of it.

mod absent;
mod combinations;
mod domain;
mod error;
mod implied;
mod pair;

pub use absent::{Absent, Named};
pub use combinations::{Combination, Combinations};
pub use domain::Domain;
pub use error::HoldoutError;
pub use implied::{Implications, Known};
pub use pair::{Description, Holdout, Mentions};
