//! Noun phrases for objects and their relations.

use crate::article::takes_an;
use crate::covr::{Bound, Object, Relation, Structure, Subgraph};
use crate::vocab::{N_TYPES, RELATION_NAMES, TYPE_NAMES, Vocabulary};

/// The type whose values are nouns.
pub(super) const SHAPE: u8 = 3;
/// The relations in words, in the order of `RELATION_NAMES`.
const RELATIONS: [&str; RELATION_NAMES.len()] = ["left of", "right of", "behind", "in front of"];
/// The noun for an object of any shape, singular and plural.
pub(super) const THING: [&str; 2] = ["thing", "things"];

/// Singular or plural.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    One,
    Many,
}

impl Form {
    pub fn of(number: u8) -> Self {
        if number == 1 { Self::One } else { Self::Many }
    }
}

/// The names of a world's values, ready to be written.
#[derive(Clone, Debug)]
pub(super) struct Nouns {
    /// By type and value.
    values: [Vec<String>; N_TYPES],
    /// By shape.
    plurals: Vec<String>,
    numerals: Vec<String>,
}

impl Nouns {
    pub fn new(vocab: &Vocabulary) -> Self {
        let values: [Vec<String>; N_TYPES] = std::array::from_fn(|kind| vocab.types()[kind].values.clone());
        let plurals = values[usize::from(SHAPE)].iter().map(|shape| plural(shape)).collect();
        Self { values, plurals, numerals: (0..=u8::MAX).map(|number| number.to_string()).collect() }
    }

    /// The name of a value, given with its type.
    pub fn name(&self, (kind, value): (u8, u8)) -> &str {
        &self.values[usize::from(kind)][usize::from(value)]
    }

    /// Appends the predicate of objects that have a value: "red", "a cube", "cubes".
    pub fn push_predicate(&self, (kind, value): (u8, u8), form: Form, text: &mut String) {
        match (kind, form) {
            (SHAPE, Form::One) => {
                text.push_str("a ");
                push_after_article(text, |text| text.push_str(self.name((kind, value))));
            }
            (SHAPE, Form::Many) => text.push_str(&self.plurals[usize::from(value)]),
            _ => text.push_str(self.name((kind, value))),
        }
    }

    /// Appends a number with its bound: "at most 3".
    pub fn push_number(&self, (bound, number): (Bound, u8), text: &mut String) {
        text.push_str(match bound {
            Bound::Exactly => "exactly ",
            Bound::AtLeast => "at least ",
            Bound::AtMost => "at most ",
        });
        text.push_str(&self.numerals[usize::from(number)]);
    }

    /// Appends the number of an image's objects. Images with none do not count, which "at most 3" would not say.
    pub fn push_number_of_image(&self, (bound, number): (Bound, u8), text: &mut String) {
        match (bound, number) {
            (Bound::AtMost, 1) => return self.push_number((Bound::Exactly, 1), text),
            (Bound::AtMost, 2) => text.push_str("1 or "),
            (Bound::AtMost, _) => text.push_str("between 1 and "),
            (Bound::Exactly | Bound::AtLeast, _) => return self.push_number((bound, number), text),
        }
        text.push_str(&self.numerals[usize::from(number)]);
    }

    /// Appends a noun phrase without an article.
    pub fn push_phrase(&self, g: &Subgraph, form: Form, text: &mut String) {
        let ([root, second, third], [first_relation, second_relation]) = (g.objects, g.relations);
        self.push_object(root, form, text);
        match g.structure {
            Structure::Single => {}
            Structure::Edge => {
                text.push_str(" that ");
                self.push_related(first_relation, second, root, form, text);
            }
            Structure::Chain => {
                text.push_str(" that ");
                self.push_related(first_relation, second, root, form, text);
                text.push_str(" that ");
                self.push_related(second_relation, third, second, Form::One, text);
            }
            Structure::V => self.push_both(&[(first_relation, second), (second_relation, third)], root, form, text),
        }
    }

    /// Appends "that is both left of a sphere and behind a cylinder"; unless both relations are spatial, each has its
    /// own verb.
    fn push_both(&self, both: &[(Relation, Object); 2], root: Object, form: Form, text: &mut String) {
        if let [(first @ Relation::Spatial(_), a), (second @ Relation::Spatial(_), b)] = *both {
            text.push_str(if form == Form::One { " that is both " } else { " that are both " });
            self.push_relation_to(first, a, root, text);
            text.push_str(" and ");
            return self.push_relation_to(second, b, root, text);
        }
        let [(first, a), (second, b)] = *both;
        text.push_str(" that both ");
        self.push_related(first, a, root, form, text);
        text.push_str(" and ");
        self.push_related(second, b, root, form, text);
    }

    /// Appends "is left of a sphere", in the singular or plural.
    pub fn push_related(&self, relation: Relation, to: Object, of: Object, form: Form, text: &mut String) {
        text.push_str(match (relation, form) {
            (Relation::Spatial(_), Form::One) => "is ",
            (Relation::Spatial(_), Form::Many) => "are ",
            (Relation::Same(_), Form::One) => "has ",
            (Relation::Same(_), Form::Many) => "have ",
        });
        self.push_relation_to(relation, to, of, text);
    }

    /// Appends "left of a sphere". Nothing is related to itself, so an object with the same description is "another".
    fn push_relation_to(&self, relation: Relation, to: Object, of: Object, text: &mut String) {
        push_relation(relation, text);
        if to == of {
            text.push_str(" another ");
            self.push_object(to, Form::One, text);
        } else {
            text.push_str(" a ");
            push_after_article(text, |text| self.push_object(to, Form::One, text));
        }
    }

    /// Appends "red cube".
    fn push_object(&self, object: Object, form: Form, text: &mut String) {
        if let Some(attribute) = object.attribute {
            text.push_str(self.name(attribute));
            text.push(' ');
        }
        text.push_str(match (object.shape, form) {
            (Some(shape), Form::One) => self.name((SHAPE, shape)),
            (Some(shape), Form::Many) => &self.plurals[usize::from(shape)],
            (None, form) => THING[form as usize],
        });
    }
}

/// The plural of a shape's name, as CLEVR's templates form it.
pub(super) fn plural(shape: &str) -> String {
    format!("{shape}s")
}

/// Appends "left of" or "the same color as".
pub(super) fn push_relation(relation: Relation, text: &mut String) {
    match relation {
        Relation::Spatial(relation) => text.push_str(RELATIONS[usize::from(relation)]),
        Relation::Same(kind) => {
            text.push_str("the same ");
            text.push_str(TYPE_NAMES[usize::from(kind)]);
            text.push_str(" as");
        }
    }
}

/// Appends the words after an "a " at the end of the text; the article becomes "an " where it should.
pub(super) fn push_after_article(text: &mut String, push: impl FnOnce(&mut String)) {
    let start = text.len();
    push(text);
    if takes_an(&text[start..]) {
        text.insert(start - 1, 'n');
    }
}
