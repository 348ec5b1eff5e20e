//! What a search is asked, how it ended, and the work that it took.

use crate::holdout::{Absent, Holdout};
use crate::program::function::Function;
use crate::question::plan::{AnswerSet, Plan};
use crate::scene::SceneView;
use crate::vocab::Vocabulary;

/// What a question must say of the held-out conjunction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionRule {
    Any,
    /// Does not mention it.
    Without,
    /// Does not imply it either, by way of likenesses (`holdout::implied`).
    Unimplied,
    /// Mentions it.
    With,
}

impl QuestionRule {
    /// Whether a question must do without a mention.
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
    /// The bound on states was reached first.
    Exhausted,
}

/// Counts of work, over any number of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchStats {
    pub attempts: u64,
    /// Assignments of values to a template's choices, partial or complete, that were evaluated.
    pub states: u64,
    /// Options that were drawn or listed, to be taken or ruled out by their outcome.
    pub options: u64,
    pub found: u64,
    pub exhausted: u64,
}

impl SearchStats {
    /// What was done since an earlier count.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            attempts: self.attempts - earlier.attempts,
            states: self.states - earlier.states,
            options: self.options - earlier.options,
            found: self.found - earlier.found,
            exhausted: self.exhausted - earlier.exhausted,
        }
    }

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
    pub(super) absent: Option<&'a Absent>,
    /// What questions must not imply.
    pub(super) implied: Option<&'a Holdout>,
}

impl<'a> Task<'a> {
    /// Looks at `max_options` options at most. A rule other than `Any` needs the holdout that it speaks of.
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
        Self { scene, vocab, plan, accept, rule, max_options, holdout, absent, implied }
    }

    /// What a function gives with a value, if anything.
    // Few families choose a single value, so the functions' meanings stay out of the way of the others.
    #[inline(never)]
    pub(super) fn output(&self, function: Function, value: u32, input: u32) -> Option<u32> {
        function.meaning((self.scene, self.vocab), value as u8, [input, 0]).ok()
    }
}
