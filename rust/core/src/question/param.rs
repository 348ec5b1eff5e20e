//! Parameters of templates.

use crate::message::{shown, suggestion};
use crate::program::catalogue::{Argument, Type};

/// Maximum number of parameters of a template (a three-hop chain has 19).
pub const MAX_PARAMS: usize = 40;

/// The kind of value of a parameter: of an attribute type, a relation, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    Attribute(u8),
    Relation,
    Number,
}

impl ParamKind {
    /// The kind of parameter that gives a function its argument; None for a function that takes none.
    pub(super) fn of(argument: Argument) -> Option<Self> {
        match argument {
            Argument::Nothing => None,
            Argument::Value(kind) => Some(Self::Attribute(kind)),
            Argument::Relation => Some(Self::Relation),
            Argument::Number => Some(Self::Number),
        }
    }

    /// The type of answers that are values of such a parameter; sets for a relation, which no answer is.
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
    /// Whether its values are said by their names alone, which are nouns where the other words for them may not be:
    /// "made of rubber", not "made of matte".
    pub by_name: bool,
}

/// The number of a parameter by name; an error suggests a similar name.
pub fn find_param(params: &[Param], name: &str) -> Result<u8, String> {
    let number = params.iter().position(|param| param.name == name).map(|number| number as u8);
    number.ok_or_else(|| {
        let hint = suggestion(name, params.iter().map(|param| param.name.as_str()));
        format!("unknown parameter \"{}\"{hint}", shown(name))
    })
}
