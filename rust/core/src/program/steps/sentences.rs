//! The sentence of each step of a program.

use super::names::{Asked, Form, ordinal, push_list};
use super::phrases::{RELATIONS, Sets, insert_article};
use crate::program::execute::answer;
use crate::program::facts::{Facts, Word};
use crate::program::{Function, MAX_STEPS, Program, Step, Type};
use crate::scene::world::SHAPE;
use crate::vocab::{Answer, CONVERSE, TYPE_NAMES};
use std::fmt::Write;

/// A sentence about a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// The number of the step.
    pub node: usize,
    pub text: String,
    /// The objects that the sentence lists, as a mask.
    pub objects: u64,
    /// The step's output, if it is a value.
    pub value: Option<Answer>,
}

/// Writes the sentences of a program that has an answer.
pub(super) struct Writer<'a> {
    sets: Sets<'a>,
    program: &'a Program,
    /// For each step, the first with the same output for the same reason.
    firsts: Vec<usize>,
    /// Whether the members of a step's set are listed in a sentence of their own.
    is_listed: Vec<bool>,
    is_done: Vec<bool>,
    sentences: Vec<Sentence>,
}

impl<'a> Writer<'a> {
    pub fn new(asked: &'a Asked<'a>, program: &'a Program, words: &'a [u64; MAX_STEPS]) -> Self {
        let n = program.steps.len();
        let mut writer = Self {
            sets: Sets::new(asked, words),
            program,
            firsts: Vec::with_capacity(n),
            is_listed: vec![false; n],
            is_done: vec![false; n],
            sentences: Vec::new(),
        };
        for (node, step) in program.steps.iter().enumerate() {
            let inputs = writer.inputs(step);
            let is_same = |&earlier: &usize| {
                let other = &program.steps[earlier];
                (other.function, other.argument) == (step.function, step.argument) && writer.inputs(other) == inputs
            };
            let first = (0..node).find(is_same).unwrap_or(node);
            writer.firsts.push(first);
            writer.sets.add(step, inputs);
            for input in writer.sources(step) {
                let taken = program.steps[input].function;
                let goes_on = matches!((taken, step.function), (Function::Filter(_), Function::Filter(_)));
                writer.is_listed[input] |= taken != Function::Scene && !goes_on && !lists_its_input(step.function);
            }
        }
        writer
    }

    /// The sentences in the order of the thought: those of what a step takes come before its own.
    pub fn write(mut self) -> Vec<Sentence> {
        if let Some(last) = self.program.steps.len().checked_sub(1) {
            let last = self.firsts[last];
            self.is_listed[last] = true;
            self.write_step(last);
        }
        self.sentences
    }

    fn write_step(&mut self, node: usize) {
        if std::mem::replace(&mut self.is_done[node], true) {
            return;
        }
        let step = self.program.steps[node];
        for input in self.sources(&step) {
            self.write_step(input);
        }
        let mut text = String::with_capacity(96);
        let (objects, topic) = self.push_sentence(node, &step, &mut text);
        if !text.is_empty() {
            text[..1].make_ascii_uppercase();
            text.push('.');
            let value = answer(step.function.signature().output, self.sets.words[node]);
            self.sentences.push(Sentence { node, text, objects, value });
            self.sets.topic = topic;
        }
    }

    /// Appends the sentence of a step, if it has one; returns the objects that it lists, and the one that it is about.
    fn push_sentence(&self, node: usize, step: &Step, text: &mut String) -> (u64, Option<u64>) {
        use Function as F;
        let [a, b] = self.inputs(step);
        let [word, first, second] = [node, a, b].map(|node| self.sets.words[node]);
        let (argument, is_true) = (step.argument, word != 0);
        let mut about = None;
        match step.function {
            F::Scene | F::Filter(_) | F::Relate | F::Same(_) | F::Union | F::Intersect => {
                return self.push_set(node, text);
            }
            F::WithRelation | F::WithRelationObject | F::WithSame(_) => return self.push_set(node, text),
            F::Count | F::Exist | F::AssertUnique => return (self.push_members(a, text), None),
            F::Unique => return (self.push_members(a, text), Some(word)),
            // What they stand for is said where it is used.
            F::Offer(_) | F::Option(_) => {}
            F::GroupByImages
            | F::KeepIfValuesCountEq
            | F::KeepIfValuesCountGeq
            | F::KeepIfValuesCountLeq
            | F::UniqueImages
            | F::Keys
                if self.is_last(node) =>
            {
                self.push_images(node, text)
            }
            F::GroupByImages | F::KeepIfValuesCountEq | F::KeepIfValuesCountGeq | F::KeepIfValuesCountLeq => {}
            F::UniqueImages | F::Keys => {}
            F::CountImages | F::CountGroups => self.push_images(a, text),
            F::Query(kind) if usize::from(kind) == SHAPE => {
                self.sets.push_object(first, text);
                self.push_is((kind, word as u8), true, text);
                about = Some(first);
            }
            F::Query(kind) => {
                let name = TYPE_NAMES[usize::from(kind)];
                if self.sets.topic == Some(first) {
                    let _ = write!(text, "its {name} is ");
                } else {
                    let _ = write!(text, "the {name} of ");
                    self.sets.push_object(first, text);
                    text.push_str(" is ");
                }
                text.push_str(self.value_name(kind, word));
                about = Some(first);
            }
            F::Verify(kind) => {
                self.sets.push_object(first, text);
                self.push_is((kind, argument), is_true, text);
                about = Some(first);
            }
            F::Choose(kind) => {
                self.sets.push_object(first, text);
                self.push_is((kind, word as u8), true, text);
                if second != u64::from(argument) {
                    let other = if word == second { u64::from(argument) } else { second };
                    text.push_str(", not ");
                    self.push_value((kind, other as u8), text);
                }
                about = Some(first);
            }
            F::VerifyRelation => {
                self.sets.push_object(first, text);
                text.push_str(if is_true { " is " } else { " is not " });
                text.push_str(RELATIONS[usize::from(argument)]);
                text.push(' ');
                self.sets.asked.push_name(second, text);
                about = Some(first);
            }
            F::ChooseRelation => {
                let other = (second & self.sets.asked.facts().image_of(first)).first();
                let relation = word as usize;
                self.sets.push_object(first, text);
                let _ = write!(text, " is {} ", RELATIONS[relation]);
                self.sets.asked.push_name(other, text);
                let _ = write!(text, ", not {} it", RELATIONS[usize::from(CONVERSE[relation])]);
                about = Some(first);
            }
            F::Equal(kind) => {
                let (name, value) = (TYPE_NAMES[usize::from(kind)], self.value_name(kind, first));
                let _ = match is_true {
                    true => write!(text, "both {name}s are {value}"),
                    false => write!(text, "the {name}s {value} and {} are different", self.value_name(kind, second)),
                };
            }
            F::EqualObject if is_true => {
                text.push_str("both are ");
                self.sets.asked.push_name(first, text);
            }
            F::EqualObject => {
                self.sets.asked.push_name(first, text);
                text.push_str(" and ");
                self.sets.asked.push_name(second, text);
                text.push_str(" are different objects");
            }
            F::EqualInteger => push_comparison(first, second, is_true, "equal to", text),
            F::LessThan => push_comparison(first, second, is_true, "less than", text),
            F::GreaterThan => push_comparison(first, second, is_true, "greater than", text),
            F::CountIs => push_comparison(first, u64::from(argument), is_true, "equal to", text),
            F::CountAtLeast => push_comparison(first, u64::from(argument), is_true, "at least", text),
            F::CountAtMost => push_comparison(first, u64::from(argument), is_true, "at most", text),
            F::Subtraction => {
                let _ = write!(text, "{first} minus {second} is {word}");
            }
            F::And => {
                text.push_str(both_parts(first, second));
                text.push_str(if is_true { "" } else { ", so not both are true" });
            }
            F::Or => {
                text.push_str(both_parts(first, second));
                text.push_str(if is_true { ", so at least one is true" } else { "" });
            }
            F::Not if is_true => text.push_str("this is false, so the opposite is true"),
            F::Not => text.push_str("this is true, so the opposite is false"),
            F::All => self.push_quantified(if is_true { "all" } else { "not all" }, [a, b], text),
            F::Some => self.push_quantified(if is_true { "some" } else { "none" }, [a, b], text),
            F::None => self.push_quantified(if is_true { "none" } else { "some" }, [a, b], text),
            F::AllSame(kind) => self.push_all_same(kind, a, text),
            #[cfg(test)]
            _ => {}
        }
        (0, about)
    }

    fn push_set(&self, node: usize, text: &mut String) -> (u64, Option<u64>) {
        (if self.is_listed[node] { self.push_members(node, text) } else { 0 }, None)
    }

    /// Appends "there are 2 red cubes: the small cube and the large cube"; returns the objects.
    fn push_members(&self, node: usize, text: &mut String) -> u64 {
        let objects = self.sets.words[node];
        let n = objects.n_members();
        let _ = match n {
            0 => write!(text, "there are no "),
            1 => write!(text, "there is one "),
            n => write!(text, "there are {n} "),
        };
        self.sets.push_phrase(node, Form::of(n), text);
        let is_plain = self.sets.is_plain(node);
        if n == 1 && is_plain {
            self.push_only(objects.first(), text);
        } else {
            text.push_str(if n > 0 { ": " } else { "" });
            self.push_members_by_image(objects, text);
        }
        objects
    }

    /// Appends the name of an object that has just been described by values alone, unless it is the same, and its place.
    fn push_only(&self, object: u64, text: &mut String) {
        let mut name = String::new();
        self.sets.asked.push_name_within(object, &mut name);
        if !text.ends_with(name.trim_start_matches("the")) {
            text.push_str(": ");
            text.push_str(&name);
        }
        let _ = write!(text, ", at {}", self.sets.asked.place(object));
        if self.sets.asked.set.n_images() > 1 {
            let _ = write!(text, " of the {} image", ordinal(self.sets.asked.set.place(object as usize).0));
        }
    }

    /// Appends the names of objects, those of each image together.
    fn push_members_by_image(&self, objects: u64, text: &mut String) {
        if objects.n_members() < 2 || self.sets.asked.set.n_images() == 1 {
            let objects: Vec<u64> = objects.members().collect();
            return push_list(&objects, "and", text, |&object, text| self.sets.asked.push_name(object, text));
        }
        for (number, image) in self.sets.asked.facts().images(objects).members().enumerate() {
            text.push_str(if number > 0 { "; " } else { "" });
            let _ = write!(text, "in the {} image, ", ordinal(image as usize));
            let members: Vec<u64> = (objects & self.sets.asked.facts().image(image as u32)).members().collect();
            push_list(&members, "and", text, |&object, text| {
                self.sets.asked.push_name_within(object, text);
            });
        }
    }

    /// Appends "2 images have at least 2 red cubes: the first and the third", of groups or images.
    fn push_images(&self, node: usize, text: &mut String) {
        let images = match self.program.steps[node].function.signature().output {
            Type::Groups => self.sets.asked.facts().images(self.sets.words[node]),
            _ => self.sets.words[node],
        };
        let _ = match images.n_members() {
            0 => write!(text, "no image has "),
            1 => write!(text, "one image has "),
            n => write!(text, "{n} images have "),
        };
        let (mut set, mut least, mut most) = (node, 1, u8::MAX);
        while self.program.steps[set].function.signature().output != Type::Set {
            let step = &self.program.steps[set];
            match step.function {
                Function::KeepIfValuesCountEq => (least, most) = (least.max(step.argument), most.min(step.argument)),
                Function::KeepIfValuesCountGeq => least = least.max(step.argument),
                Function::KeepIfValuesCountLeq => most = most.min(step.argument),
                _ => {}
            }
            set = self.inputs(step)[0];
        }
        let _ = match (least, most) {
            (1, u8::MAX) => Ok(()),
            (1, 1) => write!(text, "exactly one "),
            (least, most) if least == most => write!(text, "exactly {least} "),
            (least, u8::MAX) => write!(text, "at least {least} "),
            (least, most) => write!(text, "from {least} to {most} "),
        };
        self.sets.push_phrase(set, if (least, most) == (1, 1) { Form::One } else { Form::Many }, text);
        text.push_str(if images == 0 { "" } else { ": " });
        let images: Vec<u64> = images.members().collect();
        push_list(&images, "and", text, |&image, text| {
            let _ = write!(text, "the {}", ordinal(image as usize));
        });
    }

    /// Appends "all of the cubes are red cubes".
    fn push_quantified(&self, quantity: &str, [scope, condition]: [usize; 2], text: &mut String) {
        let _ = write!(text, "{quantity} of the ");
        self.sets.push_simple_phrase(scope, Form::Many, text);
        text.push_str(" are ");
        self.sets.push_simple_phrase(condition, Form::Many, text);
    }

    /// Appends "all of the cubes have the same color: red".
    fn push_all_same(&self, kind: u8, node: usize, text: &mut String) {
        let mut values: Vec<u8> =
            self.sets.words[node].members().map(|object| self.sets.asked.facts().value(kind, object)).collect();
        values.sort_unstable();
        values.dedup();
        let name = TYPE_NAMES[usize::from(kind)];
        text.push_str(if values.len() > 1 { "the " } else { "all of the " });
        self.sets.push_simple_phrase(node, Form::Many, text);
        let _ = match values.len() {
            0 => write!(text, " have the same {name}, since there are none"),
            1 => write!(text, " have the same {name}: "),
            _ => write!(text, " have different {name}s: "),
        };
        push_list(&values, "and", text, |&value, text| text.push_str(self.value_name(kind, value.into())));
    }

    /// Appends " is red" or " is not a cube".
    fn push_is(&self, value: (u8, u8), is_true: bool, text: &mut String) {
        text.push_str(if is_true { " is " } else { " is not " });
        self.push_value(value, text);
    }

    fn push_value(&self, (kind, value): (u8, u8), text: &mut String) {
        let start = text.len();
        text.push_str(self.value_name(kind, value.into()));
        if usize::from(kind) == SHAPE {
            insert_article(start, false, text);
        }
    }

    fn value_name(&self, kind: u8, value: u64) -> &str {
        self.sets.asked.vocab.value_name(usize::from(kind), value as usize)
    }

    fn is_last(&self, node: usize) -> bool {
        self.firsts.last() == Some(&node)
    }

    /// The first steps with the outputs that a step takes; 0 where it takes none.
    fn inputs(&self, step: &Step) -> [usize; 2] {
        step.inputs.map(|input| self.firsts.get(usize::from(input)).copied().unwrap_or(0))
    }

    fn sources(&self, step: &Step) -> impl Iterator<Item = usize> + use<> {
        self.inputs(step).into_iter().take(step.function.arity())
    }
}

/// Whether the sentence of a function lists the members of the set that it takes.
fn lists_its_input(function: Function) -> bool {
    matches!(function, Function::Count | Function::Exist | Function::Unique | Function::AssertUnique)
}

/// Appends "3 is not less than 2".
fn push_comparison(first: u64, second: u64, is_true: bool, how: &str, text: &mut String) {
    let is = if is_true { "is" } else { "is not" };
    let _ = write!(text, "{first} {is} {how} {second}");
}

/// Which of two parts of a question are true.
fn both_parts(first: u64, second: u64) -> &'static str {
    match (first != 0, second != 0) {
        (true, true) => "both parts are true",
        (true, false) => "the first part is true, but the second is false",
        (false, true) => "the first part is false, but the second is true",
        (false, false) => "both parts are false",
    }
}
