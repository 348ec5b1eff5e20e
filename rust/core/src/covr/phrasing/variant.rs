//! The variants of a template: kinds of questions that need their own sentences, and the slots of these sentences.

use super::slot::Slot;
use crate::covr::{Ask, Condition, Template};

const COUNTED: &[&str] = &["objects", "images"];
const COMPARISONS: &[&str] = &["more", "fewer", "as_many"];
const CONNECTIVES: &[&str] = &["and", "or"];
const QUANTIFIERS: &[&str] = &["all", "some", "none"];
const CONDITIONS: &[&str] = &["value", "related"];

/// The keys of a template in the file: those below its name, then those below each of these.
pub(super) fn keys(template: Template) -> &'static [&'static [&'static str]] {
    match template {
        Template::CompareCount => &[COUNTED, COMPARISONS],
        Template::Count | Template::VerifyCount => &[COUNTED],
        Template::VerifyLogic => &[CONNECTIVES],
        Template::VerifyQuantifier => &[QUANTIFIERS, CONDITIONS],
        _ => &[],
    }
}

/// The number of a question's variant among those of its template, in the order of the keys.
pub(super) fn number(ask: &Ask) -> usize {
    match *ask {
        Ask::CompareCount { counted, comparison, .. } => counted as usize * COMPARISONS.len() + comparison as usize,
        Ask::Count { counted } | Ask::VerifyCount { counted, .. } => counted as usize,
        Ask::VerifyLogic { connective, .. } => connective as usize,
        Ask::VerifyQuantifier { quantifier, condition } => {
            quantifier as usize * CONDITIONS.len() + usize::from(matches!(condition, Condition::Related(..)))
        }
        _ => 0,
    }
}

/// The slots that the sentences of a variant must have or may have.
pub(super) struct Parts {
    /// For each part of the question, the slots that express it; every sentence has at least one of them.
    pub required: &'static [&'static [Slot]],
    /// Slots that a sentence may leave out.
    pub optional: &'static [Slot],
}

impl Parts {
    /// The parts of a variant, which is given by the last of its keys.
    pub fn of(template: Template, key: Option<&str>) -> Self {
        use Slot::{
            A, APerNumber, AreRelated, As, B, Bs, Converse, IsRelated, ItsTarget, Name, Name2, Number, NumberOfAs,
            Relation, Target, Type, Value, Value2, Values,
        };
        const G: &[Slot] = &[A, As];
        const CHOICE: [&[Slot]; 2] = [&[Value, Name], &[Value2, Name2]];
        let required: &[&[Slot]] = match template {
            Template::VerifyAttr => &[G, &[Value]],
            Template::ChooseAttr => &[G, CHOICE[0], CHOICE[1]],
            Template::QueryAttr | Template::VerifyQuantifierAttr => &[G, &[Type]],
            Template::CompareCount | Template::VerifyLogic => &[G, &[B, Bs]],
            Template::Count => &[G],
            Template::VerifyCount => &[&[A, As, APerNumber], &[Number]],
            Template::CountGroupBy => &[&[NumberOfAs]],
            Template::VerifyCountGroupBy => &[&[NumberOfAs], &[Number]],
            Template::VerifyQuantifier if key == Some(CONDITIONS[0]) => &[G, &[Value, Values]],
            Template::VerifyQuantifier => &[G, &[IsRelated, AreRelated]],
            Template::VerifySameAttr => &[G, &[B, Bs], &[Type]],
            Template::QueryObject => &[&[A, As, Target], &[Target, ItsTarget]],
            Template::ChooseObject => &[&[A, As, Target], &[Target, ItsTarget], CHOICE[0], CHOICE[1]],
            Template::ChooseRelation => &[G, &[B], &[Relation], &[Converse]],
        };
        let optional: &[Slot] = match template {
            Template::VerifyAttr | Template::ChooseAttr => &[Type],
            _ => &[],
        };
        Self { required, optional }
    }

    /// The slots that a sentence may have, each once.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        for &slot in self.required.iter().copied().flatten().chain(self.optional) {
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        slots
    }
}
