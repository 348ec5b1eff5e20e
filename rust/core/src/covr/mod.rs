//! Questions over sets of images: COVR (Bogin et al. 2021) on the scenes of a pool.
//!
//! A question is about a subgraph (`subgraph`) of a source image, put into one of fifteen templates (`template`). The
//! other images of its set are distractors, chosen so that a wrong reading of the question gives a wrong answer.

pub mod meaning;
pub mod properties;
pub mod subgraph;
pub mod template;

pub use meaning::{Bound, Comparison, Condition, Connective, Counted, Meaning, Quantifier};
pub use subgraph::{Object, Relation, Structure, Subgraph};
pub use template::Template;
