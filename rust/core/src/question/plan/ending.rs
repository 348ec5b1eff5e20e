//! The nodes after a template's last choice, inverted: which outcomes of the choice lead to a wanted answer.
//!
//! All outcomes are derived at once, backwards: from the wanted answers, through each function on the way, to the
//! inputs with which it gives them.

use super::node::{AnswerSet, PlanNode};
use crate::program::catalogue::Function;
use crate::program::facts::Facts;
use crate::question::template::NodeKind;
use crate::vocab::Vocabulary;

/// Maximum number of distinct outputs of a node: one bit each in a word.
const MOST_OUTPUTS: usize = 64;

/// A chain of functions from the last choice to the answer.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Nodes after the choice that do not depend on it, in order.
    pub beside: Vec<u8>,
    /// The functions from the answer back to the choice.
    links: Vec<Link>,
}

/// A function of the chain, one input of which depends on the choice.
#[derive(Clone, Copy, Debug)]
struct Link {
    node: u8,
    /// The node that gives the other input.
    other: u8,
    inverse: Inverse,
}

/// How the input that depends on the choice follows from the output.
#[derive(Clone, Copy, Debug)]
enum Inverse {
    /// The output is the input's value of this type, which has this many values.
    Value(u8, u32),
    /// The output is whether the input equals the other one.
    Equal,
    /// The output is whether the input is less than the other one.
    Less,
    /// The output is whether the input is greater than the other one.
    More,
}

impl Ending {
    /// None if the nodes after the choice do not form a chain, or if they have more outputs than a word has bits.
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
                    links.push(Link { node: i as u8, other, inverse: inverse(function, place, vocab)? });
                    dependent.push(i as u8);
                }
                _ => return None,
            }
        }
        links.reverse();
        let answers = usize::from(dependent[dependent.len() - 1]) + 1 == nodes.len();
        answers.then_some(Self { beside, links })
    }

    /// The outcomes of the choice, one bit each, that lead to one of `answers`. `outputs` holds the outputs of the
    /// nodes before the choice and of those in `beside`.
    pub(crate) fn outcomes<F: Facts<Word = u32>>(
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
            wanted = inputs_that_give(wanted, link.inverse, outputs[usize::from(link.other)], facts);
        }
        without(wanted, &nodes[choice], outputs)
    }
}

/// The wanted outputs except those that the node must differ from.
fn without(wanted: u64, node: &PlanNode, outputs: &[u32]) -> u64 {
    node.differs_from.iter().fold(wanted, |wanted, &other| wanted & !bit(outputs[usize::from(other)]))
}

/// The bit of a word; 0 for a word that is too large.
#[inline]
fn bit(word: u32) -> u64 {
    1u64.checked_shl(word).unwrap_or(0)
}

/// How a function is inverted at one of its inputs; None if it is not.
fn inverse(function: Function, place: usize, vocab: &Vocabulary) -> Option<Inverse> {
    let has_bits = |kind: u8| vocab.n_values(usize::from(kind)) <= MOST_OUTPUTS;
    match (function, place) {
        (Function::Query(kind), _) if has_bits(kind) => {
            Some(Inverse::Value(kind, vocab.n_values(usize::from(kind)) as u32))
        }
        (Function::Equal(kind), _) if has_bits(kind) => Some(Inverse::Equal),
        (Function::EqualInteger | Function::EqualObject, _) => Some(Inverse::Equal),
        (Function::LessThan, 0) | (Function::GreaterThan, 1) => Some(Inverse::Less),
        (Function::LessThan, 1) | (Function::GreaterThan, 0) => Some(Inverse::More),
        _ => None,
    }
}

/// The inputs with which a function gives a wanted output, for a known other input.
#[inline]
fn inputs_that_give<F: Facts<Word = u32>>(wanted: u64, inverse: Inverse, other: u32, facts: F) -> u64 {
    let yes_inputs = match inverse {
        Inverse::Value(kind, n_values) => {
            let values = (0..n_values).filter(|value| wanted >> value & 1 == 1);
            return values.fold(0, |objects, value| objects | u64::from(facts.having(kind, value as u8)));
        }
        Inverse::Equal => bit(other),
        Inverse::Less => bit(other).wrapping_sub(1),
        Inverse::More => !(bit(other).wrapping_sub(1) | bit(other)),
    };
    let (no, yes) = (wanted & 1 != 0, wanted >> 1 & 1 != 0);
    (if yes { yes_inputs } else { 0 }) | if no { !yes_inputs } else { 0 }
}
