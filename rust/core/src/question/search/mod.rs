//! The search for a question of a family on a scene that has a wanted answer, drawn uniformly.
//!
//! A question that must mention the conjunction does so in a slot that is drawn before the search: a choice that can
//! name all of it, or several nodes together. If no question has it there, the next slot in a drawn order is tried.
//! Otherwise, as choices are undone from the end, the last slots would have nearly all mentions.
//!
//! The search is depth first in random order, as in the CLEVR generator: each node with a choice takes one of the
//! options that lead to an acceptable question, each equally likely. The shortcuts lose nothing that the plain search
//! could find:
//!
//! - a few options are drawn at random before all are listed;
//! - failed options are remembered by what the rest of the search can see of them (an object, a count, a truth
//!   value), so that no outcome is tried twice;
//! - at the last choice, the outcomes that end in an acceptable answer are derived first, backwards from the answers;
//! - failed states are remembered, however they were reached;
//! - a choice that cannot mention what must be mentioned, or that mentions what may not be, is never taken.
//!
//! What is drawn for a state (which trivial relations and absent combinations are offered) is a function of the
//! attempt and the state, so a state is the same each time it is reached.

mod choice;
mod descent;
mod holdout_filter;
mod searcher;
mod source;
mod task;

pub use choice::{Choice, ChosenValues, chosen_values};
pub use searcher::Searcher;
pub use task::{QuestionRule, SearchStats, Task, Verdict};
