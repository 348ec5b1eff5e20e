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

/// A question without its wording: the template and its arguments. `g` and `g2` are the first and second subgraph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// Whether the only object that `g` describes (below: the only `g`) has a value.
    VerifyAttr {
        g: Subgraph,
        kind: u8,
        value: u8,
    },
    /// Which of two values the only `g` has.
    ChooseAttr {
        g: Subgraph,
        kind: u8,
        values: [u8; 2],
    },
    /// The value of the only `g`.
    QueryAttr {
        g: Subgraph,
        kind: u8,
    },
    /// Whether there are more, fewer or as many `g` as `g2`, or images with them.
    CompareCount {
        g: Subgraph,
        g2: Subgraph,
        counted: Counted,
        comparison: Comparison,
    },
    Count {
        g: Subgraph,
        counted: Counted,
    },
    VerifyCount {
        g: Subgraph,
        counted: Counted,
        bound: Bound,
        number: u8,
    },
    /// The number of images whose number of `g` is within the bound `of_image`.
    CountGroupBy {
        g: Subgraph,
        of_image: (Bound, u8),
    },
    /// Whether the number of these images is within a bound.
    VerifyCountGroupBy {
        g: Subgraph,
        of_image: (Bound, u8),
        bound: Bound,
        number: u8,
    },
    /// Whether there is a `g` and a `g2`, or either.
    VerifyLogic {
        g: Subgraph,
        g2: Subgraph,
        connective: Connective,
    },
    /// Whether all, some or none of the `g` meet a condition.
    VerifyQuantifier {
        g: Subgraph,
        quantifier: Quantifier,
        condition: Condition,
    },
    /// Whether all `g` have the same value of a type.
    VerifyQuantifierAttr {
        g: Subgraph,
        kind: u8,
    },
    /// Whether the only `g` and the only `g2` have the same value of a type.
    VerifySameAttr {
        g: Subgraph,
        g2: Subgraph,
        kind: u8,
    },
    /// The shape of the only object to which the only `g` has a relation.
    QueryObject {
        g: Subgraph,
        relation: Relation,
    },
    /// Which of two shapes that object has.
    ChooseObject {
        g: Subgraph,
        relation: Relation,
        shapes: [u8; 2],
    },
    /// Whether the only `g` has a relation or its converse to the only `object` of its image.
    ChooseRelation {
        g: Subgraph,
        object: Object,
        relation: u8,
    },
}

impl Meaning {
    pub fn template(&self) -> Template {
        match self {
            Self::VerifyAttr { .. } => Template::VerifyAttr,
            Self::ChooseAttr { .. } => Template::ChooseAttr,
            Self::QueryAttr { .. } => Template::QueryAttr,
            Self::CompareCount { .. } => Template::CompareCount,
            Self::Count { .. } => Template::Count,
            Self::VerifyCount { .. } => Template::VerifyCount,
            Self::CountGroupBy { .. } => Template::CountGroupBy,
            Self::VerifyCountGroupBy { .. } => Template::VerifyCountGroupBy,
            Self::VerifyLogic { .. } => Template::VerifyLogic,
            Self::VerifyQuantifier { .. } => Template::VerifyQuantifier,
            Self::VerifyQuantifierAttr { .. } => Template::VerifyQuantifierAttr,
            Self::VerifySameAttr { .. } => Template::VerifySameAttr,
            Self::QueryObject { .. } => Template::QueryObject,
            Self::ChooseObject { .. } => Template::ChooseObject,
            Self::ChooseRelation { .. } => Template::ChooseRelation,
        }
    }

    /// The structure of everything that the question describes: its subgraph, and the objects outside related to it.
    pub fn structure(&self) -> Structure {
        let with_edge = |g: &Subgraph| if g.structure == Structure::Single { Structure::Edge } else { Structure::V };
        match self {
            Self::VerifyQuantifier { g, condition: Condition::Related(_, _, further), .. } => match further {
                Some(_) => Structure::Chain,
                None => with_edge(g),
            },
            Self::QueryObject { g, .. } | Self::ChooseObject { g, .. } | Self::ChooseRelation { g, .. } => with_edge(g),
            Self::VerifyAttr { g, .. }
            | Self::ChooseAttr { g, .. }
            | Self::QueryAttr { g, .. }
            | Self::CompareCount { g, .. }
            | Self::Count { g, .. }
            | Self::VerifyCount { g, .. }
            | Self::CountGroupBy { g, .. }
            | Self::VerifyCountGroupBy { g, .. }
            | Self::VerifyLogic { g, .. }
            | Self::VerifyQuantifier { g, .. }
            | Self::VerifyQuantifierAttr { g, .. }
            | Self::VerifySameAttr { g, .. } => g.structure,
        }
    }
}
