//! The task of a search, its verdict and its statistics.

use crate::holdout::{AbsentPairs, Description, Holdout};
use crate::program::Program;
use crate::program::catalogue::Function;
use crate::question::plan::{AnswerSet, Plan, Slot};
use crate::scene::SceneView;
use crate::vocab::Vocabulary;

/// What a question must or must not say about the held-out conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionRule {
    Any,
    /// Does not mention it.
    Without,
    /// Neither mentions it nor implies it by likenesses (`holdout::implication`).
    Unimplied,
    /// Mentions it.
    With,
}

impl QuestionRule {
    /// Whether a program satisfies the rule. In any case it must not name anything that is absent from the palette.
    pub fn allows(self, program: &Program, holdout: Option<&Holdout>) -> bool {
        let Some(holdout) = holdout else { return true };
        let keeps = match self {
            Self::Any => true,
            Self::Without => !holdout.is_mentioned_in(program),
            Self::Unimplied => !holdout.is_mentioned_in(program) && !holdout.is_implied_in(program),
            Self::With => holdout.is_mentioned_in(program),
        };
        keeps && !holdout.absent().is_some_and(|absent| absent.is_named_in(program))
    }

    /// Whether mentions are forbidden.
    #[inline]
    pub fn forbids(self) -> bool {
        matches!(self, Self::Without | Self::Unimplied)
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Found,
    /// No acceptable question exists.
    None,
    /// The bound on options was reached first.
    Exhausted,
}

/// Counts of the work of any number of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchStats {
    pub attempts: u64,
    /// Partial or complete assignments of values to a template's choices that were evaluated.
    pub states: u64,
    /// Options that were drawn or listed, whether taken or not.
    pub options: u64,
    pub found: u64,
    pub exhausted: u64,
}

impl SearchStats {
    pub fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.states += other.states;
        self.options += other.options;
        self.found += other.found;
        self.exhausted += other.exhausted;
    }
}

/// The scene, the rules and the bound of a search.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub scene: SceneView<'a>,
    pub vocab: &'a Vocabulary,
    pub plan: &'a Plan,
    pub accept: AnswerSet,
    pub rule: QuestionRule,
    pub max_options: u64,
    pub(super) holdout: Option<&'a Holdout>,
    /// What questions must not name besides the conjunction.
    pub(super) absent: Option<&'a AbsentPairs>,
    /// What questions must not imply.
    pub(super) implied: Option<&'a Holdout>,
    /// Where the conjunction must be mentioned; if None, any mention counts.
    pub(super) slot: Option<Slot>,
}

impl<'a> Task<'a> {
    /// A search of at most `max_options` options. A rule other than `Any` needs a holdout.
    pub fn new(
        scene: SceneView<'a>,
        vocab: &'a Vocabulary,
        plan: &'a Plan,
        accept: AnswerSet,
        rule: QuestionRule,
        holdout: Option<&'a Holdout>,
        max_options: u64,
    ) -> Self {
        let absent = holdout.filter(|_| rule != QuestionRule::Any).and_then(Holdout::absent);
        let implied = holdout.filter(|_| rule == QuestionRule::Unimplied);
        Self { scene, vocab, plan, accept, rule, max_options, holdout, absent, implied, slot: None }
    }

    /// Whether a mention by a node is in the wanted slot. The node itself names these bits of the conjunction, and
    /// `base` is what its objects were described by before.
    #[inline(always)]
    pub(super) fn counts(&self, at: usize, mentions: bool, bits: u8, base: Description) -> bool {
        let (Some(slot), Some(holdout)) = (self.slot, self.holdout) else { return mentions };
        let names_all = bits == holdout.full();
        match slot {
            Slot::Choice(node) => usize::from(node) == at && names_all,
            Slot::Across => mentions && !names_all && !holdout.is_mentioned_by(base),
        }
    }

    /// A function's output for an argument, if it has one.
    // Few families choose a single argument, so this stays off the hot path.
    #[inline(never)]
    pub(super) fn output(&self, function: Function, argument: u32, inputs: [u32; 2]) -> Option<u32> {
        function.meaning((self.scene, self.vocab), argument as u8, inputs).ok()
    }
}
