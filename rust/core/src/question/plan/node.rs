//! A node of a plan, and sets of answers.

use crate::holdout::Domain;
use crate::program::catalogue::{Effect, Type};
use crate::question::template::NodeKind;

/// A set of answers, numbered within the family: no is 0 and yes is 1; an integer or a value has its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSet([u64; 4]);

impl AnswerSet {
    pub const EMPTY: Self = Self([0; 4]);
    /// Number of answers per word.
    pub const WORD: usize = 64;

    pub fn first(n: usize) -> Self {
        let mut set = Self::EMPTY;
        (0..n).for_each(|answer| set.insert(answer));
        set
    }

    #[inline]
    pub fn contains(self, answer: u32) -> bool {
        answer < 256 && self.0[(answer >> 6) as usize] >> (answer & 63) & 1 == 1
    }

    #[inline]
    pub fn insert(&mut self, answer: usize) {
        self.0[answer >> 6] |= 1 << (answer & 63);
    }

    pub fn remove(&mut self, answer: usize) {
        self.0[answer >> 6] &= !(1 << (answer & 63));
    }

    /// The first 64 answers, one bit each.
    #[inline]
    pub fn first_word(self) -> u64 {
        self.0[0]
    }

    #[inline]
    pub fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }
}

/// Where a question mentions the conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// At this node's choice, which names all of it.
    Choice(u8),
    /// In a description to which several nodes add.
    Across,
}

/// A node as the search sees it.
#[derive(Clone, Debug)]
pub struct PlanNode {
    pub kind: NodeKind,
    pub inputs: [u8; 2],
    pub output: Type,
    /// Its effects on descriptions before and after the chosen values are added.
    pub effects: [Effect; 2],
    /// Types of the values that it may add, one bit each.
    pub added_types: u8,
    /// Types that must stay unset here, one bit each.
    pub forbidden: u8,
    /// Whether states differ if this node's description does: true for sets, and for all nodes to whose description
    /// a later node adds.
    pub is_described: bool,
    /// Earlier nodes whose outputs must differ from this one's.
    pub differs_from: Vec<u8>,
    /// Earlier nodes whose outputs are used here or later. Given these outputs, the rest of the search does not depend
    /// on the choices that led to them.
    pub live: Vec<u8>,
    pub is_choice: bool,
    /// The last choice of the plan.
    pub is_last_choice: bool,
    /// For a filter: the raw `relate` nodes whose outputs it filters, alone or intersected, if nothing else uses them.
    pub narrowed_by: Vec<u8>,
    /// Whether it follows a raw `relate`, so that its outcome alone does not tell whether a question degenerates.
    pub after_relate: bool,
}

impl PlanNode {
    /// The state of the objects that the node's values are added to, given those of earlier nodes, and whether it asks
    /// for what is held out. A node without a choice needs nothing else.
    #[inline]
    pub fn before<D: Domain>(&self, domain: &D, states: &[D::State]) -> (D::State, bool) {
        domain.step(self.effects[0], D::Values::default(), self.inputs.map(|input| states[usize::from(input)]))
    }

    /// The state of the node's objects, once its values are added to `state`.
    #[inline]
    pub fn after<D: Domain>(&self, domain: &D, state: D::State) -> D::State {
        domain.step(self.effects[1], D::Values::default(), [state; 2]).0
    }

    /// The state of the node's objects with these values added, and whether it asks for what is held out.
    #[inline]
    pub fn describe<D: Domain>(&self, domain: &D, values: D::Values, states: &[D::State]) -> (D::State, bool) {
        let (before, is_asked) = self.before(domain, states);
        if !self.is_choice {
            return (before, is_asked);
        }
        let (with_values, is_asked_by_adding) = domain.add(before, values);
        (self.after(domain, with_values), is_asked | is_asked_by_adding)
    }
}
