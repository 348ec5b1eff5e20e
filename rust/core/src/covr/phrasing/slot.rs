//! The slots of sentences, and how questions fill them.

use super::noun::{Form, Nouns, SHAPE, push_relation};
use crate::covr::named::named;
use crate::covr::{Ask, Bound, Condition, Meaning, Object, Relation, Subgraph};
use crate::vocab::{CONVERSE, TYPE_NAMES};

named! {
    /// A place in a sentence for a part of the question, as written in sentences.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(super) enum Slot {
        A = "<A>",
        As = "<As>",
        APerNumber = "<A|As>",
        B = "<B>",
        Bs = "<Bs>",
        Type = "<type>",
        Value = "<value>",
        Value2 = "<value2>",
        Values = "<values>",
        Name = "<name>",
        Name2 = "<name2>",
        Number = "<number>",
        NumberOfAs = "<n As>",
        IsRelated = "<is related>",
        AreRelated = "<are related>",
        Target = "<target>",
        ItsTarget = "<its target>",
        Relation = "<relation>",
        Converse = "<relation2>",
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
        let g = meaning.g;
        match meaning.ask {
            Ask::VerifyAttr { kind, value } => Self { kind, values: [(kind, value); 2], ..Self::of(g) },
            Ask::ChooseAttr { kind, values } => Self { kind, values: values.map(|value| (kind, value)), ..Self::of(g) },
            Ask::QueryAttr { kind } | Ask::VerifyQuantifierAttr { kind } => Self { kind, ..Self::of(g) },
            Ask::CompareCount { g2, .. } | Ask::VerifyLogic { g2, .. } => Self { g2, ..Self::of(g) },
            Ask::Count { .. } => Self::of(g),
            Ask::VerifyCount { bound, number, .. } => Self { number: (bound, number), ..Self::of(g) },
            Ask::CountGroupBy { of_image } => Self { of_image, ..Self::of(g) },
            Ask::VerifyCountGroupBy { of_image, bound, number } => {
                Self { of_image, number: (bound, number), ..Self::of(g) }
            }
            Ask::VerifyQuantifier { condition, .. } => match condition {
                Condition::Value(kind, value) => Self { values: [(kind, value); 2], ..Self::of(g) },
                Condition::Related(relation, object, further) => Self { relation, object, further, ..Self::of(g) },
            },
            Ask::VerifySameAttr { g2, kind } => Self { g2, kind, ..Self::of(g) },
            Ask::QueryObject { relation } => Self { relation, ..Self::of(g) },
            Ask::ChooseObject { relation, shapes } => {
                Self { relation, values: shapes.map(|shape| (SHAPE, shape)), ..Self::of(g) }
            }
            Ask::ChooseRelation { object, relation } => {
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
