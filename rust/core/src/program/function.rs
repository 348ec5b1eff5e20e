//! The catalogue of functions: one entry each, from which all else about it follows.

/// A function of a program; those that exist for each attribute type carry the type's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Function {
    Scene,
    Filter(u8),
    Unique,
    Relate,
    Union,
    Intersect,
    Count,
    Exist,
    Query(u8),
    Same(u8),
    Equal(u8),
    EqualInteger,
    LessThan,
    GreaterThan,
    EqualObject,
}
