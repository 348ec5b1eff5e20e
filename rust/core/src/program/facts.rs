//! The scene facts that meanings of functions are written in, and how a meaning is applied.

use thiserror::Error;

/// The program has no answer on this scene: `unique` was applied to a set without exactly one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("the program has no answer on this scene: a \"unique\" got a set that has not exactly one object")]
pub struct Invalid;

/// What the meaning of a function may ask of a scene. Sets are masks of object numbers.
pub(crate) trait Facts: Copy {
    /// All objects.
    fn everything(self) -> u32;
    /// The objects that have a value of an attribute type.
    fn having(self, kind: u8, value: u8) -> u32;
    /// The objects that stand in a relation to an object.
    fn related(self, relation: u8, object: u32) -> u32;
    /// An object's value of an attribute type.
    fn value(self, kind: u8, object: u32) -> u32;
}

/// Applies a function's meaning, which takes (scene, argument, first input, second input).
pub(super) trait Apply {
    type Facts: Facts;
    type Done;

    fn apply(self, meaning: impl Fn(Self::Facts, u8, u32, u32) -> Result<u32, Invalid>) -> Self::Done;
}

/// Applies a meaning once, to a scene, an argument and inputs.
pub(super) struct Once<F>(pub F, pub u8, pub [u32; 2]);

impl<F: Facts> Apply for Once<F> {
    type Facts = F;
    type Done = Result<u32, Invalid>;

    #[inline(always)]
    fn apply(self, meaning: impl Fn(F, u8, u32, u32) -> Result<u32, Invalid>) -> Result<u32, Invalid> {
        let Self(facts, argument, [a, b]) = self;
        meaning(facts, argument, a, b)
    }
}
