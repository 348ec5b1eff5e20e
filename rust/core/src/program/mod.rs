//! Programs: typed functions over a scene, their execution and their forms in files.
//!
//! `catalogue` has an entry for each function: its types, its meaning and what it says about objects. Programs are read
//! from JSON or tokens (`json`, `covr`, `encode`), checked (`typecheck`) and executed, on scenes or, for questions
//! about several images, on sets of scenes: one program on one of them (`execute`) or many on many (`batch`). `levels`
//! plans how a network of modules runs a batch of programs, and `steps` says in English how an answer comes about.

pub mod batch;
pub mod catalogue;
mod clevr;
mod covr;
pub mod encode;
pub mod execute;
pub(crate) mod facts;
pub mod foreground;
pub mod json;
pub mod levels;
pub mod question_file;
pub mod steps;
pub mod table;
pub mod typecheck;

#[cfg(test)]
pub(crate) mod samples;

pub use batch::{BatchError, ILL_FORMED, INVALID, IllFormed, execute_batch, execute_sets, execute_tokens};
pub use catalogue::{Argument, Effect, Function, Origin, Signature, Type};
pub use encode::{EncodeError, ProgramVocabulary, TokenError};
pub use execute::{Output, execute, execute_on_set, trace, trace_on_set};
pub use facts::Invalid;
pub use foreground::foreground;
pub use json::Node;
pub use levels::{NodePlan, plan_levels, plan_runs};
pub use table::{ProgramTable, SceneTable};
pub use typecheck::{Fault, ProgramError};

/// Maximum number of steps of a program, since a step refers to its inputs by bytes.
pub const MAX_STEPS: usize = 256;

/// One step: a function applied to earlier steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    pub function: Function,
    /// The number of the value (such as `filter`'s) or relation (such as `relate`'s), or the number itself
    /// (`count_is`); 0 for functions that take no argument.
    pub argument: u8,
    /// Numbers of earlier steps: as many as the function takes, the rest 0.
    pub inputs: [u8; 2],
}

/// Steps in an order in which inputs come first; the last step gives the answer.
///
/// Programs that are read from a file or made by the search are well typed. All others must pass `Program::check`
/// before they are executed or encoded.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
}

impl Step {
    /// Numbers of the steps that it takes its inputs from.
    #[inline]
    pub fn sources(&self) -> &[u8] {
        &self.inputs[..self.function.arity()]
    }
}
