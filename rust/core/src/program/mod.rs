//! Programs: typed functions over a scene, their execution and their forms in files.
//!
//! JSON or tokens in (`json`, `encode`), checked steps (`typecheck`), answers out (`execute` for one
//! program on one scene, `batch` for many on many). `levels` plans how a network of modules runs them.

pub mod batch;
pub mod encode;
pub mod execute;
pub(crate) mod facts;
pub mod function;
pub mod json;
pub mod levels;
pub mod question_file;
pub mod table;
pub mod typecheck;

#[cfg(test)]
mod samples;

pub use batch::{BatchError, ILL_FORMED, INVALID, IllFormed, execute_batch, execute_tokens};
pub use encode::{EncodeError, ProgramVocabulary, TokenError};
pub use execute::{Output, execute, trace};
pub use facts::Invalid;
pub use function::{Argument, Effect, Function, Signature, Type};
pub use json::Node;
pub use levels::{NodePlan, plan_levels, plan_runs};
pub use table::{ProgramTable, SceneTable};
pub use typecheck::{Fault, ProgramError};

/// Most steps of a program, since a step names its inputs in a byte.
pub const MAX_STEPS: usize = 256;

/// One step: a function applied to earlier steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    pub function: Function,
    /// The value (of `filter`) or relation (of `relate`) asked for; 0 where the function takes none.
    pub argument: u8,
    /// Earlier steps by number; as many as the function takes, the rest 0.
    pub inputs: [u8; 2],
}

/// Steps in an order in which inputs come first; the last one gives the answer.
///
/// What is read from a file or made by the search is well typed; steps put together otherwise go
/// through `Program::check` before anything else.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
}

impl Step {
    /// The steps that it takes its inputs from.
    #[inline]
    pub fn sources(&self) -> &[u8] {
        &self.inputs[..self.function.arity()]
    }
}
