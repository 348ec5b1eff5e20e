//! What a function's meaning asks of a scene, and what applies it, in words that the catalogue defines functions by.

use thiserror::Error;

/// The program has no answer on this scene: a `unique` met a set of none or several objects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[error("the program has no answer on this scene: a \"unique\" got a set that has not exactly one object")]
pub struct Invalid;

/// What a function's meaning may ask of a scene, in the words that `function` defines.
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

/// What applies a function's meaning: it gets the meaning of (scene, argument, first input, second input).
pub(super) trait Apply {
    type Facts: Facts;
    type Done;

    fn apply(self, meaning: impl Fn(Self::Facts, u8, u32, u32) -> Result<u32, Invalid>) -> Self::Done;
}

/// Applies it once.
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
