//! Questions: templates in, questions with programs, answers and texts out.

pub mod ask;
pub mod balance;
pub mod extent;
pub mod groups;
pub mod instantiate;
pub mod json;
pub mod keys;
pub mod memo;
pub mod options;
pub mod page;
pub mod param;
pub mod plan;
pub mod search;
pub mod template;
pub mod tokens;
pub mod wording;

pub use template::{Family, TemplateError, TemplateSet};
