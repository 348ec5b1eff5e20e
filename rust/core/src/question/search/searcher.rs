//! The searcher: the buffers that this module's files share, and the states that they pass on.

use super::choice::{Candidate, Choice};
use super::task::{QuestionRule, SearchStats};
use crate::holdout::{Description, Holdout, Knowledge, ValueSet};
use crate::question::memo::Memo;
use crate::question::options::SceneOptions;
use crate::question::param::MAX_PARAMS;
use crate::question::plan::{Plan, Slot};
use crate::question::template::{MAX_NODES, MAX_RELATES};
use crate::vocab::Vocabulary;

/// Number of evaluations: the template as it is, and without each of its raw `relate` nodes.
const ROWS: usize = 1 + MAX_RELATES;
/// The bit of the template's own evaluation, which comes first.
pub(super) const OWN: u32 = 1;

/// A state of the search.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// The next node.
    pub(super) at: usize,
    /// The evaluations that still have a value, one bit each; the first is the template's own.
    pub(super) rows: u32,
    pub(super) mentioned: bool,
}

/// Buffers of the search, reused from attempt to attempt.
pub struct Searcher {
    pub options: SceneOptions,
    pub(super) stats: SearchStats,
    pub(super) memo: Memo,
    pub(super) outputs: [[u32; MAX_NODES]; ROWS],
    pub(super) descriptions: [Description; MAX_NODES],
    /// The values of a palette's types in each node's description; kept up to date only if some may not occur together.
    pub(super) named: [ValueSet; MAX_NODES],
    /// What is known about each node's objects; kept up to date only if nothing may be implied.
    pub(super) known: [Knowledge; MAX_NODES],
    pub(super) choices: [Choice; MAX_NODES],
    pub(super) params: [Option<Option<u8>>; MAX_PARAMS],
    pub(super) levels: Vec<Level>,
    pub(super) attempt_seed: u64,
    pub(super) slots: Vec<Slot>,
}

/// Buffers of one choice.
#[derive(Default)]
pub(super) struct Level {
    /// The trivial options or absent combinations that are offered, once they are drawn.
    pub(super) extra: Vec<u32>,
    pub(super) extra_is_drawn: bool,
    pub(super) listed: Vec<Candidate>,
}

/// The outcomes of a choice that may still lead to a question, without and with a mention of the conjunction.
#[derive(Clone, Copy)]
pub(super) struct LiveOutcomes {
    pub(super) outcomes: [u64; 2],
    /// Whether the rest depends only on the outcome, so that a failed outcome need not be tried again.
    pub(super) counts: bool,
}

impl Searcher {
    pub fn new(vocab: &Vocabulary, holdout: Option<&Holdout>) -> Self {
        Self {
            options: SceneOptions::new(vocab, holdout),
            stats: SearchStats::default(),
            memo: Memo::default(),
            outputs: [[0; MAX_NODES]; ROWS],
            descriptions: [Description::ANYTHING; MAX_NODES],
            named: [0; MAX_NODES],
            known: [Knowledge::ANYTHING; MAX_NODES],
            choices: [Choice::default(); MAX_NODES],
            params: [None; MAX_PARAMS],
            levels: (0..MAX_NODES).map(|_| Level::default()).collect(),
            attempt_seed: 0,
            slots: Vec::with_capacity(MAX_NODES + 1),
        }
    }

    /// The work of the last attempt.
    pub fn last_attempt(&self) -> SearchStats {
        self.stats
    }

    /// The choice at each node of the template.
    pub fn choices(&self) -> &[Choice; MAX_NODES] {
        &self.choices
    }

    /// The answer that was found, as a number among the family's own answers.
    pub fn answer(&self, plan: &Plan) -> u32 {
        self.outputs[0][plan.nodes.len() - 1]
    }
}

/// The positions of a word's set bits.
#[inline(always)]
pub(super) fn numbers(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        number
    })
}

impl LiveOutcomes {
    /// These outcomes, with and without a mention, or only without if the rule forbids mentions.
    #[inline]
    pub(super) fn new(outcomes: u64, counts: bool, rule: QuestionRule) -> Self {
        let mentioned = if rule.forbids() { 0 } else { outcomes };
        Self { outcomes: [outcomes, mentioned], counts }
    }

    /// Whether nothing is left to try.
    #[inline]
    pub(super) fn are_none(&self, mentioned: bool) -> bool {
        self.counts && self.outcomes[usize::from(mentioned)] == 0
    }

    #[inline(always)]
    pub(super) fn has(&self, output: u32, mentioned: bool) -> bool {
        // Sets are not distinguished as outcomes: for them all bits of the word are equal.
        self.outcomes[usize::from(mentioned)] >> (output & 63) & 1 == 1
    }

    /// Whether an outcome is live, possibly with a mention that is still to come.
    #[inline(always)]
    pub(super) fn may_have(&self, output: u32, mentioned: bool) -> bool {
        (self.outcomes[usize::from(mentioned)] | self.outcomes[1]) >> (output & 63) & 1 == 1
    }
}
