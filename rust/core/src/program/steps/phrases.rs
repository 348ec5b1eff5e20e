//! The noun phrase of a set: what its members have been selected by, such as "small objects left of the red cube".

use super::names::{Asked, Form, push_list};
use crate::article::takes_an;
use crate::program::facts::Word;
use crate::program::{Function, MAX_STEPS, Step, Type};
use crate::vocab::{RELATION_NAMES, TYPE_NAMES};

/// The relations in words, in the order of `RELATION_NAMES`.
pub(super) const RELATIONS: [&str; RELATION_NAMES.len()] = ["left of", "right of", "behind", "in front of"];
/// Maximum number of values and of clauses of a phrase, and of phrases within phrases; beyond these, members are listed.
const MOST_VALUES: usize = 6;
const MOST_CLAUSES: usize = 3;
const MOST_DEPTH: u8 = 3;

/// What is said of the members of a set.
#[derive(Clone, Debug, Default)]
struct Phrase {
    /// (attribute type, value), by type.
    values: Vec<(u8, u8)>,
    clauses: Vec<Clause>,
    /// Depth of phrases within it.
    depth: u8,
}

#[derive(Clone, Debug)]
enum Clause {
    /// Stands in a relation to an object.
    Related(u8, u64),
    /// Has an object's value of a type, and is not this object.
    Alike(u8, u64),
    /// Stands in a relation to a member of a set.
    RelatedToAny(u8, Operand),
    /// A member of a set stands in a relation to it.
    HasRelated(u8, Operand),
    /// Has the value of another member of a set, of a type.
    AlikeAny(u8, Operand),
    /// Is in one of two sets.
    Either(Operand, Operand),
    /// Is one of these objects.
    Among(u64),
}

/// A set within a clause.
#[derive(Clone, Copy, Debug)]
struct Operand {
    node: usize,
    /// Whether a member is "another" one, as in "spheres that are left of another sphere".
    is_other: bool,
}

impl Phrase {
    fn among(members: u64) -> Self {
        Self { clauses: vec![Clause::Among(members)], ..Self::default() }
    }

    fn with(mut self, clause: Clause, depth: u8) -> Self {
        self.clauses.push(clause);
        self.depth = self.depth.max(depth);
        self
    }

    /// What is said of the members of both of two sets.
    fn joined(mut self, other: &Self) -> Self {
        other.values.iter().for_each(|&value| self.add(value));
        self.clauses.extend_from_slice(&other.clauses);
        self.depth = self.depth.max(other.depth);
        self
    }

    fn add(&mut self, value: (u8, u8)) {
        if !self.values.contains(&value) {
            self.values.push(value);
            self.values.sort_unstable();
        }
    }

    fn is_short(&self) -> bool {
        self.values.len() <= MOST_VALUES && self.clauses.len() <= MOST_CLAUSES && self.depth <= MOST_DEPTH
    }

    /// Whether values alone say it.
    fn is_plain(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Whether it reads well within another phrase, where "and" and "or" would be ambiguous.
    fn is_simple(&self) -> bool {
        match self.clauses[..] {
            [] => true,
            [ref only] => !matches!(only, Clause::Either(..)),
            _ => false,
        }
    }
}

/// The sets of an executed program, and how they are spoken of.
pub(super) struct Sets<'a> {
    pub asked: &'a Asked<'a>,
    /// The output of each step.
    pub words: &'a [u64; MAX_STEPS],
    /// The object that the last sentence was about, which is "it" in the next one.
    pub topic: Option<u64>,
    /// What is said of each step's set.
    phrases: Vec<Phrase>,
}

impl<'a> Sets<'a> {
    pub fn new(asked: &'a Asked<'a>, words: &'a [u64; MAX_STEPS]) -> Self {
        Self { asked, words, topic: None, phrases: Vec::new() }
    }

    /// Adds the next step of the program.
    pub fn add(&mut self, step: &Step, inputs: [usize; 2]) {
        let is_set = step.function.signature().output == Type::Set;
        let phrase = if is_set { self.phrase(self.phrases.len(), step, inputs) } else { Phrase::default() };
        self.phrases.push(phrase);
    }

    /// Whether values alone describe a step's set.
    pub fn is_plain(&self, node: usize) -> bool {
        self.phrases[node].is_plain()
    }

    /// Appends the name of an object, or "it".
    pub fn push_object(&self, object: u64, text: &mut String) {
        if self.topic == Some(object) {
            text.push_str("it");
        } else {
            self.asked.push_name(object, text);
        }
    }

    /// The phrase of a step whose output is a set; those of the steps before it are known.
    fn phrase(&self, node: usize, step: &Step, [a, b]: [usize; 2]) -> Phrase {
        let known = |input: usize| self.phrases[input].clone();
        let operand = |node: usize| {
            let [of, others] = [&self.phrases[a], &self.phrases[node]];
            Operand { node, is_other: of.is_plain() && others.is_plain() && of.values == others.values }
        };
        let beyond = |input: usize| self.within(input).depth + 1;
        let phrase = match step.function {
            Function::Scene => Phrase::default(),
            Function::Filter(kind) => {
                let mut phrase = known(a);
                phrase.add((kind, step.argument));
                phrase
            }
            Function::AssertUnique => known(a),
            Function::Relate => Phrase::default().with(Clause::Related(step.argument, self.words[a]), 0),
            Function::Same(kind) => Phrase::default().with(Clause::Alike(kind, self.words[a]), 0),
            Function::Intersect => known(a).joined(&known(b)),
            Function::Union => {
                let [first, second] = [a, b].map(|node| Operand { node, is_other: false });
                Phrase::default().with(Clause::Either(first, second), beyond(a).max(beyond(b)))
            }
            Function::WithRelation => known(a).with(Clause::RelatedToAny(step.argument, operand(b)), beyond(b)),
            Function::WithRelationObject => known(a).with(Clause::HasRelated(step.argument, operand(b)), beyond(b)),
            Function::WithSame(kind) => {
                // Everything is like itself, which is not meant.
                let others = Operand { node: b, is_other: !(self.words[a] & self.words[b]).is_empty() };
                known(a).with(Clause::AlikeAny(kind, others), beyond(b))
            }
            _ => Phrase::among(self.words[node]),
        };
        if phrase.is_short() { phrase } else { Phrase::among(self.words[node]) }
    }

    /// The phrase of a set within a clause or beside another phrase: its members, if "and" or "or" would be ambiguous.
    fn within(&self, node: usize) -> Phrase {
        let phrase = &self.phrases[node];
        if phrase.is_simple() { phrase.clone() } else { Phrase::among(self.words[node]) }
    }

    /// Appends the phrase of a set: "small objects left of the red cube".
    pub fn push_phrase(&self, node: usize, form: Form, text: &mut String) {
        self.push(&self.phrases[node], form, text);
    }

    /// The same beside another phrase.
    pub fn push_simple_phrase(&self, node: usize, form: Form, text: &mut String) {
        self.push(&self.within(node), form, text);
    }

    fn push(&self, phrase: &Phrase, form: Form, text: &mut String) {
        if phrase.clauses.iter().any(|clause| matches!(clause, Clause::Alike(..))) {
            text.push_str("other ");
        }
        self.asked.push_values(&phrase.values, form, text);
        for (number, clause) in phrase.clauses.iter().enumerate() {
            text.push_str(if number > 0 { " and " } else { " " });
            self.push_clause(clause, form, text);
        }
    }

    fn push_clause(&self, clause: &Clause, form: Form, text: &mut String) {
        let (are, have) = (form.choose("that is ", "that are "), form.choose("that has ", "that have "));
        match *clause {
            Clause::Related(relation, object) => self.push_relation(relation, object, text),
            Clause::Alike(kind, object) => {
                text.push_str("of the same ");
                text.push_str(TYPE_NAMES[usize::from(kind)]);
                text.push_str(" as ");
                self.push_object(object, text);
            }
            Clause::RelatedToAny(relation, others) => {
                text.push_str(are);
                text.push_str(RELATIONS[usize::from(relation)]);
                text.push(' ');
                self.push_any(others, text);
            }
            Clause::HasRelated(relation, others) => {
                text.push_str(have);
                self.push_any(others, text);
                text.push(' ');
                text.push_str(RELATIONS[usize::from(relation)]);
                text.push_str(form.choose(" it", " them"));
            }
            Clause::AlikeAny(kind, others) => {
                text.push_str(have);
                text.push_str("the same ");
                text.push_str(TYPE_NAMES[usize::from(kind)]);
                text.push_str(" as ");
                self.push_any(others, text);
                text.push_str(if self.asked.set.n_images() > 1 { " in the same image" } else { "" });
            }
            Clause::Either(first, second) => {
                text.push_str(are);
                text.push_str("either ");
                self.push_predicate(first, form, text);
                text.push_str(" or ");
                self.push_predicate(second, form, text);
            }
            Clause::Among(members) => {
                text.push_str(are);
                self.push_among(members, text);
            }
        }
    }

    /// Appends "left of the red cube".
    fn push_relation(&self, relation: u8, object: u64, text: &mut String) {
        text.push_str(RELATIONS[usize::from(relation)]);
        text.push(' ');
        self.push_object(object, text);
    }

    /// Appends some member of a set: "a red cube", "another object that is left of a sphere".
    fn push_any(&self, operand: Operand, text: &mut String) {
        let start = text.len();
        self.push(&self.within(operand.node), Form::One, text);
        insert_article(start, operand.is_other, text);
    }

    /// Appends what is said of members of a set, to follow "are": "red cubes", "left of the sphere".
    fn push_predicate(&self, operand: Operand, form: Form, text: &mut String) {
        let phrase = self.within(operand.node);
        match phrase.clauses[..] {
            [Clause::Related(relation, object)] if phrase.values.is_empty() => {
                self.push_relation(relation, object, text);
            }
            [Clause::Among(members)] if phrase.values.is_empty() => self.push_among(members, text),
            _ if form == Form::One => self.push_any(operand, text),
            _ => self.push(&phrase, form, text),
        }
    }

    fn push_among(&self, members: u64, text: &mut String) {
        let members: Vec<u64> = members.members().collect();
        text.push_str(if members.is_empty() { "in an empty group" } else { "one of " });
        push_list(&members, "or", text, |&object, text| self.asked.push_name(object, text));
    }
}

/// Inserts "a", "an" or "another" before the words from `start` on.
pub(super) fn insert_article(start: usize, is_other: bool, text: &mut String) {
    let article = match text[start..].starts_with("other ") {
        true => "an",
        false if is_other => "another ",
        false if takes_an(&text[start..]) => "an ",
        false => "a ",
    };
    text.insert_str(start, article);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_article_fits_what_follows() {
        for (words, is_other, expected) in [
            ("red cube", false, "is a red cube"),
            ("object", false, "is an object"),
            ("Orb", false, "is an Orb"),
            ("cube", true, "is another cube"),
            ("other cube", false, "is another cube"),
            ("unicorn", false, "is a unicorn"),
            ("honest cube", false, "is an honest cube"),
        ] {
            let mut text = format!("is {words}");
            insert_article(3, is_other, &mut text);
            assert_eq!(text, expected);
        }
    }
}
