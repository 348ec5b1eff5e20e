//! Questions over sets of images: COVR (Bogin et al. 2021) on the scenes of a pool.
//!
//! A question puts a subgraph (`subgraph`) of a source image into one of fifteen templates (`template`). The other
//! images of its set are distractors, chosen so that a wrong reading of the question gives a wrong answer. `schedule`
//! chooses the next cell; `pairs` makes the cell's two questions from the scenes of a window.

mod counts;
mod distractors;
pub mod json;
mod matching;
pub mod meaning;
mod named;
mod pairs;
pub mod phrasing;
mod program;
pub mod properties;
mod quantifiers;
mod rule;
mod sample;
mod schedule;
mod stream;
pub mod subgraph;
pub mod template;
mod unique;
mod window;

pub use meaning::{Ask, Bound, Comparison, Condition, Connective, Counted, Meaning, Quantifier};
pub use pairs::{Cut, SetQuestion};
pub use phrasing::{Phrasings, PhrasingsError};
pub use program::{PROGRAM_WIDTH, functions};
pub use rule::{DistractorChoice, PairPlace, SetRule};
pub use schedule::PoorWorld;
pub use stream::SetStream;
pub use subgraph::{Object, Relation, Structure, Subgraph};
pub use template::Template;
pub use window::{PAIRS_A_WINDOW, SetQuestions};
