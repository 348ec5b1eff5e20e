//! The meaning of a question, which determines its program and its texts.

use super::subgraph::{Object, Relation, Structure, Subgraph};
use super::template::Template;

/// What is counted: the objects that a subgraph describes, or the images that have one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    Objects,
    Images,
}

/// How a number is bounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bound {
    Exactly,
    AtLeast,
    /// For the objects of an image, at least one and at most this number: images without any do not count.
    AtMost,
}

impl Bound {
    pub const ALL: [Self; 3] = [Self::Exactly, Self::AtLeast, Self::AtMost];

    /// Whether a number is within the bound.
    pub fn holds(self, n: u32, bound: u32) -> bool {
        match self {
            Self::Exactly => n == bound,
            Self::AtLeast => n >= bound,
            Self::AtMost => n <= bound,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    More,
    Fewer,
    AsMany,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Connective {
    And,
    Or,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantifier {
    All,
    Some,
    None,
}

/// What a quantifier claims about the members of its scope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// They have this value of this type (type, value).
    Value(u8, u8),
    /// They are related to an object, which may itself be related to another one.
    Related(Relation, Object, Option<(Relation, Object)>),
}

/// A question without its wording: what it describes, and what it asks about that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Meaning {
    /// The first subgraph.
    pub g: Subgraph,
    pub ask: Ask,
}

/// What a question asks about the objects that its subgraph `g` describes: its template and arguments. `g2` is a second
/// subgraph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// Whether the only object that `g` describes (below: the only `g`) has a value.
    VerifyAttr {
        kind: u8,
        value: u8,
    },
    /// Which of two values the only `g` has.
    ChooseAttr {
        kind: u8,
        values: [u8; 2],
    },
    /// The value of the only `g`.
    QueryAttr {
        kind: u8,
    },
    /// Whether there are more, fewer or as many `g` as `g2`, or images with them.
    CompareCount {
        g2: Subgraph,
        counted: Counted,
        comparison: Comparison,
    },
    Count {
        counted: Counted,
    },
    VerifyCount {
        counted: Counted,
        bound: Bound,
        number: u8,
    },
    /// The number of images whose number of `g` is within the bound `of_image`.
    CountGroupBy {
        of_image: (Bound, u8),
    },
    /// Whether the number of these images is within a bound.
    VerifyCountGroupBy {
        of_image: (Bound, u8),
        bound: Bound,
        number: u8,
    },
    /// Whether there is a `g` and a `g2`, or either.
    VerifyLogic {
        g2: Subgraph,
        connective: Connective,
    },
    /// Whether all, some or none of the `g` meet a condition.
    VerifyQuantifier {
        quantifier: Quantifier,
        condition: Condition,
    },
    /// Whether all `g` have the same value of a type.
    VerifyQuantifierAttr {
        kind: u8,
    },
    /// Whether the only `g` and the only `g2` have the same value of a type.
    VerifySameAttr {
        g2: Subgraph,
        kind: u8,
    },
    /// The shape of the only object to which the only `g` has a relation.
    QueryObject {
        relation: Relation,
    },
    /// Which of two shapes that object has.
    ChooseObject {
        relation: Relation,
        shapes: [u8; 2],
    },
    /// Whether the only `g` has a relation or its converse to the only `object` of its image.
    ChooseRelation {
        object: Object,
        relation: u8,
    },
}

impl Ask {
    /// The question that asks this about a subgraph.
    pub fn of(self, g: Subgraph) -> Meaning {
        Meaning { g, ask: self }
    }
}

impl Meaning {
    pub fn template(&self) -> Template {
        match self.ask {
            Ask::VerifyAttr { .. } => Template::VerifyAttr,
            Ask::ChooseAttr { .. } => Template::ChooseAttr,
            Ask::QueryAttr { .. } => Template::QueryAttr,
            Ask::CompareCount { .. } => Template::CompareCount,
            Ask::Count { .. } => Template::Count,
            Ask::VerifyCount { .. } => Template::VerifyCount,
            Ask::CountGroupBy { .. } => Template::CountGroupBy,
            Ask::VerifyCountGroupBy { .. } => Template::VerifyCountGroupBy,
            Ask::VerifyLogic { .. } => Template::VerifyLogic,
            Ask::VerifyQuantifier { .. } => Template::VerifyQuantifier,
            Ask::VerifyQuantifierAttr { .. } => Template::VerifyQuantifierAttr,
            Ask::VerifySameAttr { .. } => Template::VerifySameAttr,
            Ask::QueryObject { .. } => Template::QueryObject,
            Ask::ChooseObject { .. } => Template::ChooseObject,
            Ask::ChooseRelation { .. } => Template::ChooseRelation,
        }
    }

    /// The structure of everything that the question describes: its subgraph, and the objects outside related to it.
    pub fn structure(&self) -> Structure {
        let own = self.g.structure;
        match self.ask {
            Ask::VerifyQuantifier { condition: Condition::Related(_, _, Some(_)), .. } => Structure::Chain,
            Ask::VerifyQuantifier { condition: Condition::Related(..), .. }
            | Ask::QueryObject { .. }
            | Ask::ChooseObject { .. }
            | Ask::ChooseRelation { .. } => {
                if own == Structure::Single {
                    Structure::Edge
                } else {
                    Structure::V
                }
            }
            _ => own,
        }
    }
}
