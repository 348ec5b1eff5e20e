//! The audit's parser: reads the words of a question back to every program that they can mean.
//!
//! It shares no code with the generator's wording: it reads the template files and the synonyms itself, puts all
//! variants of all questions into a trie, and follows a text through it. If several families or values fit, it keeps
//! all of them.

mod agreement;
mod lexicon;
mod names;
mod parser;
mod template;
mod trie;

pub use agreement::{Agreement, Parsed, parse_rows};
pub use names::Names;
pub use parser::{Reading, TextParser};
