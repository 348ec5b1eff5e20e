//! The combinations of values that some object of a scene has.

/// Room for the keys of the largest scene, 32 objects with 15 each and the empty one; a power of two.
pub const MAX_KEYS: usize = 1 << 9;

/// A combination that some object of the scene has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub combination: u32,
    /// The objects that have it.
    pub objects: u32,
    /// The types that it names, a bit a type.
    pub types: u8,
    /// The held-out conjunction's values that it names.
    pub bits: u8,
}
