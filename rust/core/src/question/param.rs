//! Parameters of templates.

/// Maximum number of parameters of a template (a three-hop chain has 19).
pub const MAX_PARAMS: usize = 40;

/// The kind of value of a parameter: of an attribute type, or a relation.
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
