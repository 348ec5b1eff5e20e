//! Programs: typed functions over a scene, their execution and their forms in files.

pub mod function;

pub use function::Function;

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
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
}
