//! A template's parameters: a value of an attribute type, or a relation.

/// Most parameters in a template (a three-hop chain has 19).
pub const MAX_PARAMS: usize = 40;

/// What a parameter stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Attribute(u8),
    Relation,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub kind: ParamKind,
}
