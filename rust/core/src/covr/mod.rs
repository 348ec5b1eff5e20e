//! Questions over sets of images: COVR (Bogin et al. 2021) on the scenes of a pool.
//!
//! A question is about a subgraph (`subgraph`) of a source image, put into one of fifteen templates (`template`). The
//! other images of its set are distractors, chosen so that a wrong reading of the question gives a wrong answer. Its
//! text is a sentence of the template (`phrasing`).

pub mod meaning;
pub mod phrasing;
pub mod subgraph;
pub mod template;

pub use meaning::{Bound, Comparison, Condition, Connective, Counted, Meaning, Quantifier};
pub use phrasing::{Phrasings, PhrasingsError};
pub use subgraph::{Object, Relation, Structure, Subgraph};
pub use template::Template;
