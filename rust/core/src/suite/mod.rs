//! Suites of paired tests: questions of a dataset, and partners whose answers follow from theirs by a rule in a file.
//!
//! A suite is a list of tests (`entry`), each prepared for the families that it applies to (`test`). An original is a
//! question whose parameters were read back from its text; its partner is made by substitution (`partner`). The pairs
//! of a test on a whole file are balanced (`balance`) and executed before they are returned (`pairs`, and `file_pairs` for
//! all tests). Visual tests ask the same question about an edited image (`visual`).

mod augmentation;
mod balance;
mod cells;
mod completion;
mod condition;
mod entry;
mod error;
mod expression;
mod file_pairs;
mod form;
mod original;
mod own_family;
mod pairs;
mod partner;
mod relation;
mod search;
mod test;
mod text;
mod visual;

pub use augmentation::Augmentation;
pub use cells::SearchResult;
pub use entry::Tier;
pub use error::{Refutation, SuiteError};
pub use file_pairs::{FileQuestions, Stop};
pub use original::{Original, OriginalError, OriginalReader, OriginalRows};
pub use pairs::{Pair, PairMaker, Pairs, SkipCounts, Touches};
pub use partner::Skip;
pub use relation::Relation;
pub use search::{KnownQuestions, SearchTask, TestSearch};
pub use test::{PairTest, Suite};
pub use visual::{EditSearch, ValueEdit, questions_on};
