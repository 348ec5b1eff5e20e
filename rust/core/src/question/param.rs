//! Parameters of templates.

use crate::message::{shown, suggestion};
use crate::program::catalogue::{Argument, Type};

/// Maximum number of parameters of a template (a three-hop chain has 19).
pub const MAX_PARAMS: usize = 40;

/// What a parameter's value is: a value of an attribute type, a relation, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Attribute(u8),
    Relation,
    Number,
}

impl ParamKind {
    /// The kind of parameter that supplies a function's argument; None for a function that takes none.
    pub(super) fn of(argument: Argument) -> Option<Self> {
        match argument {
            Argument::Nothing => None,
            Argument::Value(kind) => Some(Self::Attribute(kind)),
            Argument::Relation => Some(Self::Relation),
            Argument::Number => Some(Self::Number),
        }
    }

    /// The type of the parameter's values as answers; a relation is not an answer, so it gets `Set`.
    pub(crate) fn values(self) -> Type {
        match self {
            Self::Attribute(kind) => Type::Value(kind),
            Self::Number => Type::Integer,
            Self::Relation => Type::Set,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub kind: ParamKind,
    /// Whether its values are worded by their names only, which are nouns, while other words for them may be
    /// adjectives: "made of rubber", not "made of matte".
    pub by_name: bool,
    /// The value of a parameter that no text names, in a family that an entry of a suite makes.
    pub fixed: Option<u8>,
}

/// The index of the parameter with this name; an error suggests a similar name.
pub fn find_param(params: &[Param], name: &str) -> Result<u8, String> {
    let number = params.iter().position(|param| param.name == name).map(|number| number as u8);
    number.ok_or_else(|| {
        let hint = suggestion(name, params.iter().map(|param| param.name.as_str()));
        format!("unknown parameter \"{}\"{hint}", shown(name))
    })
}
