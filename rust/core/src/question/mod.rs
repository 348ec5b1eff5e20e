//! Questions with programs, answers and texts, made from templates.

pub mod balance;
pub mod expansion;
pub mod generator;
pub mod groups;
pub mod instantiate;
pub mod json;
pub mod lexicon;
pub mod memo;
pub mod options;
pub mod param;
pub mod phrasing;
pub mod plan;
pub mod reading;
pub mod search;
pub mod template;
pub(crate) mod text_buffer;
pub mod tokens;
mod widths;
pub mod wording;

pub use template::{Family, TemplateError, TemplateSet};
