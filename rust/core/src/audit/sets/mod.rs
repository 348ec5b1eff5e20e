//! The audit's reading of questions about sets of images: their rows of JSON, and what their programs describe, need
//! and answer.

mod findings;
mod form;
mod json;
mod program_json;
mod tree;

pub use findings::{SetFinding, read_set_rows};
pub use form::TEMPLATES;
pub use json::{Labels, SetRow};
