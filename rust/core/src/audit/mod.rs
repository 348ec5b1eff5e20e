//! The audit's own reading of the generator's files: what each row asks for, in its program and in its words, and its
//! answer.
//!
//! It shares with the generator the vocabulary, the scenes' sets, and the names, types and effects in the catalogue of
//! functions. The meanings of effects and functions are implemented a second time here, by exhaustive matches. Programs
//! are read as trees of tokens, and words as noun phrases.

mod ablation;
mod absent_pairs;
mod balance;
mod error;
#[cfg(test)]
mod extension_tests;
mod implication;
mod parse;
mod program;
mod question_file;
mod relations;
mod rows;
mod scenes;
mod sets;
mod texts;
mod token;
mod violation;
mod walk;
mod words;

pub use absent_pairs::AbsentReader;
pub use balance::{QuestionColumns, WindowSearch, check_balance};
pub use error::{AuditError, FileError, MOST_VALUES};
pub use parse::{Agreement, Names, Parsed, Reading, TextParser, parse_rows};
pub use program::{MOST_IMAGES, NO_ANSWER, NO_PROGRAM, NO_SCENE, ProgramReader, UNKNOWN_ANSWER};
pub use question_file::QuestionRow;
pub use rows::{Finding, Rows, UNANSWERED, needed_rows, read_rows};
pub use scenes::{FinishedScene, FinishedScenes};
pub use sets::{Labels, SetFinding, SetRow, TEMPLATES, read_set_rows};
pub use texts::{number_words, read_texts};
pub use violation::{Asked, Violation, Violations};
pub use words::{Word, WordReader};
