//! The slots of sentences, and how questions fill them.

use super::noun::{Form, Nouns, SHAPE, push_relation};
use crate::covr::{Bound, Condition, Meaning, Object, Relation, Subgraph};
use crate::vocab::{CONVERSE, TYPE_NAMES};

/// A place in a sentence for a part of the question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    A,
    As,
    APerNumber,
    B,
    Bs,
    Type,
    Value,
    Value2,
    Values,
    Name,
    Name2,
    Number,
    NumberOfAs,
    IsRelated,
    AreRelated,
    Target,
    ItsTarget,
    Relation,
    Converse,
}

impl Slot {
    pub const ALL: [Self; 19] = [
        Self::A,
        Self::As,
        Self::APerNumber,
        Self::B,
        Self::Bs,
        Self::Type,
        Self::Value,
        Self::Value2,
        Self::Values,
        Self::Name,
        Self::Name2,
        Self::Number,
        Self::NumberOfAs,
        Self::IsRelated,
        Self::AreRelated,
        Self::Target,
        Self::ItsTarget,
        Self::Relation,
        Self::Converse,
    ];

    /// The slot as written in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "<A>",
            Self::As => "<As>",
            Self::APerNumber => "<A|As>",
            Self::B => "<B>",
            Self::Bs => "<Bs>",
            Self::Type => "<type>",
            Self::Value => "<value>",
            Self::Value2 => "<value2>",
            Self::Values => "<values>",
            Self::Name => "<name>",
            Self::Name2 => "<name2>",
            Self::Number => "<number>",
            Self::NumberOfAs => "<n As>",
            Self::IsRelated => "<is related>",
            Self::AreRelated => "<are related>",
            Self::Target => "<target>",
            Self::ItsTarget => "<its target>",
            Self::Relation => "<relation>",
            Self::Converse => "<relation2>",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|slot| slot.name() == name)
    }
}

/// The parts of a question that fill slots. Parts that its template does not have are never written.
pub(super) struct Content {
    pub g: Subgraph,
    pub g2: Subgraph,
    pub kind: u8,
    /// Each as (type, value).
    pub values: [(u8, u8); 2],
    pub number: (Bound, u8),
    pub of_image: (Bound, u8),
    pub relation: Relation,
    pub object: Object,
    pub further: Option<(Relation, Object)>,
}

impl Content {
    pub fn new(meaning: &Meaning) -> Self {
        match *meaning {
            Meaning::VerifyAttr { g, kind, value } => Self { kind, values: [(kind, value); 2], ..Self::of(g) },
            Meaning::ChooseAttr { g, kind, values } => {
                Self { kind, values: values.map(|value| (kind, value)), ..Self::of(g) }
            }
            Meaning::QueryAttr { g, kind } | Meaning::VerifyQuantifierAttr { g, kind } => Self { kind, ..Self::of(g) },
            Meaning::CompareCount { g, g2, .. } | Meaning::VerifyLogic { g, g2, .. } => Self { g2, ..Self::of(g) },
            Meaning::Count { g, .. } => Self::of(g),
            Meaning::VerifyCount { g, bound, number, .. } => Self { number: (bound, number), ..Self::of(g) },
            Meaning::CountGroupBy { g, of_image } => Self { of_image, ..Self::of(g) },
            Meaning::VerifyCountGroupBy { g, of_image, bound, number } => {
                Self { of_image, number: (bound, number), ..Self::of(g) }
            }
            Meaning::VerifyQuantifier { g, condition, .. } => match condition {
                Condition::Value(kind, value) => Self { values: [(kind, value); 2], ..Self::of(g) },
                Condition::Related(relation, object, further) => Self { relation, object, further, ..Self::of(g) },
            },
            Meaning::VerifySameAttr { g, g2, kind } => Self { g2, kind, ..Self::of(g) },
            Meaning::QueryObject { g, relation } => Self { relation, ..Self::of(g) },
            Meaning::ChooseObject { g, relation, shapes } => {
                Self { relation, values: shapes.map(|shape| (SHAPE, shape)), ..Self::of(g) }
            }
            Meaning::ChooseRelation { g, object, relation } => {
                Self { g2: Subgraph::single(object), relation: Relation::Spatial(relation), ..Self::of(g) }
            }
        }
    }

    /// The parts that all questions have, with defaults for the others.
    fn of(g: Subgraph) -> Self {
        Self {
            g,
            g2: g,
            kind: 0,
            values: [(0, 0); 2],
            number: (Bound::Exactly, 0),
            of_image: (Bound::Exactly, 0),
            relation: Relation::Spatial(0),
            object: g.root(),
            further: None,
        }
    }

    /// Singular if the question's number is 1, otherwise plural.
    pub fn form(&self) -> Form {
        Form::of(self.number.1)
    }

    /// Appends the words of a slot.
    pub fn write(&self, slot: Slot, nouns: &Nouns, text: &mut String) {
        match slot {
            Slot::A => nouns.push_phrase(&self.g, Form::One, text),
            Slot::As => nouns.push_phrase(&self.g, Form::Many, text),
            Slot::APerNumber => nouns.push_phrase(&self.g, self.form(), text),
            Slot::B => nouns.push_phrase(&self.g2, Form::One, text),
            Slot::Bs => nouns.push_phrase(&self.g2, Form::Many, text),
            Slot::Type => text.push_str(TYPE_NAMES[usize::from(self.kind)]),
            Slot::Value => nouns.push_predicate(self.values[0], Form::One, text),
            Slot::Value2 => nouns.push_predicate(self.values[1], Form::One, text),
            Slot::Values => nouns.push_predicate(self.values[0], Form::Many, text),
            Slot::Name => text.push_str(nouns.name(self.values[0])),
            Slot::Name2 => text.push_str(nouns.name(self.values[1])),
            Slot::Number => nouns.push_number(self.number, text),
            Slot::NumberOfAs => {
                nouns.push_number_of_image(self.of_image, text);
                text.push(' ');
                nouns.push_phrase(&self.g, Form::of(self.of_image.1), text);
            }
            Slot::IsRelated => self.push_condition(nouns, Form::One, text),
            Slot::AreRelated => self.push_condition(nouns, Form::Many, text),
            Slot::Target => {
                self.push_target(text);
                text.push_str("the ");
                nouns.push_phrase(&self.g, Form::One, text);
            }
            Slot::ItsTarget => {
                self.push_target(text);
                text.push_str("it");
            }
            Slot::Relation => push_relation(self.relation, text),
            Slot::Converse => push_relation(converse(self.relation), text),
        }
    }

    fn push_condition(&self, nouns: &Nouns, form: Form, text: &mut String) {
        nouns.push_related(self.relation, self.object, self.g.root(), form, text);
        if let Some((relation, object)) = self.further {
            text.push_str(" that ");
            nouns.push_related(relation, object, self.object, Form::One, text);
        }
    }

    /// Appends the phrase of the object to which the root has the relation, up to the root's name.
    fn push_target(&self, text: &mut String) {
        text.push_str(match self.relation {
            Relation::Spatial(_) => "thing that is ",
            Relation::Same(_) => "other thing that has ",
        });
        push_relation(converse(self.relation), text);
        text.push(' ');
    }
}

/// The relation that the second object has to the first.
fn converse(relation: Relation) -> Relation {
    match relation {
        Relation::Spatial(relation) => Relation::Spatial(CONVERSE[usize::from(relation)]),
        Relation::Same(kind) => Relation::Same(kind),
    }
}
