//! The nodes after a template's last choice in; of that choice's outcomes, those that end in a wanted answer, out.
//!
//! Worked out backwards, all outcomes at once: from the answers wanted, through each function that leads
//! there, to the outputs that it may be given.

use super::node::{AnswerSet, PlanNode};
use crate::program::facts::Facts;
use crate::program::function::Function;
use crate::question::template::NodeKind;
use crate::vocab::Vocabulary;

/// Most different outputs of a node: a bit each in a word.
const MOST_OUTPUTS: usize = 64;

/// A chain of functions from the last choice to the answer.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Nodes after the choice that do not depend on it, in order.
    pub beside: Vec<u8>,
    /// From the answer back to the choice.
    links: Vec<Link>,
}

/// A function whose output depends on the choice through one input.
#[derive(Clone, Copy, Debug)]
struct Link {
    node: u8,
    /// The node of the other input.
    other: u8,
    tells: Tells,
}

/// What a function tells of the input that depends on the choice.
#[derive(Clone, Copy, Debug)]
enum Tells {
    /// An object's value of a type, which has so many.
    Value(u8, u32),
    /// Whether it equals the other input.
    Equal,
    /// Whether it is less than the other input.
    Less,
    /// Whether it is more.
    More,
}

impl Ending {
    /// None where what follows the choice is no such chain, or has more outputs than bits.
    pub fn new(nodes: &[PlanNode], choice: usize, vocab: &Vocabulary) -> Option<Self> {
        let (mut beside, mut links) = (Vec::new(), Vec::<Link>::new());
        let mut dependent = vec![choice as u8];
        for (i, node) in nodes.iter().enumerate().skip(choice + 1) {
            let NodeKind::Plain(function) = node.kind else { return None };
            let inputs = &node.inputs[..function.arity()];
            if node.differs_from.iter().any(|other| dependent.contains(other)) {
                return None;
            }
            let end = dependent[dependent.len() - 1];
            let mut places = (0..inputs.len()).filter(|&place| dependent.contains(&inputs[place]));
            match (places.next(), places.next()) {
                (None, _) => beside.push(i as u8),
                (Some(place), None) if inputs[place] == end => {
                    let other = node.inputs[1 - place];
                    links.push(Link { node: i as u8, other, tells: tells(function, place, vocab)? });
                    dependent.push(i as u8);
                }
                _ => return None,
            }
        }
        links.reverse();
        let answers = usize::from(dependent[dependent.len() - 1]) + 1 == nodes.len();
        answers.then_some(Self { beside, links })
    }

    /// The outcomes of the choice, a bit each, that end in an answer wanted. `outputs` has those of the
    /// nodes before the choice and beside the chain.
    pub(crate) fn outcomes<F: Facts>(
        &self,
        nodes: &[PlanNode],
        choice: usize,
        answers: AnswerSet,
        outputs: &[u32],
        facts: F,
    ) -> u64 {
        let mut wanted = answers.first_word();
        for link in &self.links {
            let node = &nodes[usize::from(link.node)];
            wanted = without(wanted, node, outputs);
            wanted = inputs_that_give(wanted, link.tells, outputs[usize::from(link.other)], facts);
        }
        without(wanted, &nodes[choice], outputs)
    }
}

/// Less the outputs that a node must differ from.
fn without(wanted: u64, node: &PlanNode, outputs: &[u32]) -> u64 {
    node.differs_from.iter().fold(wanted, |wanted, &other| wanted & !bit(outputs[usize::from(other)]))
}

/// A word's bit; none for one too large to have one.
#[inline]
fn bit(word: u32) -> u64 {
    1u64.checked_shl(word).unwrap_or(0)
}

/// None for a function whose inputs are not found from its outputs.
fn tells(function: Function, place: usize, vocab: &Vocabulary) -> Option<Tells> {
    let has_bits = |kind: u8| vocab.n_values(usize::from(kind)) <= MOST_OUTPUTS;
    match (function, place) {
        (Function::Query(kind), _) if has_bits(kind) => {
            Some(Tells::Value(kind, vocab.n_values(usize::from(kind)) as u32))
        }
        (Function::Equal(kind), _) if has_bits(kind) => Some(Tells::Equal),
        (Function::EqualInteger | Function::EqualObject, _) => Some(Tells::Equal),
        (Function::LessThan, 0) | (Function::GreaterThan, 1) => Some(Tells::Less),
        (Function::LessThan, 1) | (Function::GreaterThan, 0) => Some(Tells::More),
        _ => None,
    }
}

/// The inputs with which a function gives a wanted output, the other input being known.
#[inline]
fn inputs_that_give<F: Facts>(wanted: u64, tells: Tells, other: u32, facts: F) -> u64 {
    let yes_inputs = match tells {
        Tells::Value(kind, n_values) => {
            let values = (0..n_values).filter(|value| wanted >> value & 1 == 1);
            return values.fold(0, |objects, value| objects | u64::from(facts.having(kind, value as u8)));
        }
        Tells::Equal => bit(other),
        Tells::Less => bit(other).wrapping_sub(1),
        Tells::More => !(bit(other).wrapping_sub(1) | bit(other)),
    };
    let (no, yes) = (wanted & 1 != 0, wanted >> 1 & 1 != 0);
    (if yes { yes_inputs } else { 0 }) | if no { !yes_inputs } else { 0 }
}
