//! The choices so far in; what the question says of the held-out conjunction, or may still say, out.

use super::choice::{Choice, bits_of};
use super::{Searcher, Task};
use crate::holdout::Named;
use crate::holdout::{Absent, Description, Holdout, Known};
use crate::program::function::{Function, Type};
use crate::question::plan::PlanNode;
use crate::question::template::NodeKind;

impl Searcher {
    pub(super) fn describe(&self, node: &PlanNode) -> Description {
        let input = |i: usize| self.descriptions[usize::from(node.inputs[i])];
        match node.kind {
            NodeKind::Plain(Function::Union) => input(0).or(input(1)),
            NodeKind::Plain(Function::Intersect) => input(0).join(input(1)),
            _ => Description::ANYTHING,
        }
    }

    /// The values that a node without a choice has in its description.
    pub(super) fn named_by(&self, node: &PlanNode) -> Named {
        match node.kind {
            NodeKind::Plain(Function::Union | Function::Intersect) => {
                node.inputs.iter().fold(0, |named, &input| named | self.named[usize::from(input)])
            }
            _ => 0,
        }
    }

    /// Notes what is known of the objects of a node without a choice; whether that implies the conjunction.
    // Few questions are held to likenesses, so what only they need stays out of the way of the others.
    #[cold]
    #[inline(never)]
    pub(super) fn learn(&mut self, holdout: &Holdout, node: &PlanNode, at: usize) -> bool {
        let NodeKind::Plain(function) = node.kind else { return false };
        self.known[at] = Known::of(function, node.inputs.map(|input| self.known[usize::from(input)]), holdout);
        self.known[at].implies(holdout)
    }

    /// Notes what is known of the objects of a choice.
    #[cold]
    #[inline(never)]
    pub(super) fn learn_choice(&mut self, task: &Task<'_>, holdout: &Holdout, at: usize, choice: Choice) {
        let bits = bits_of(task.plan.nodes[at].kind, choice, self.options.combinations(), holdout);
        self.known[at] = self.known_before(task, at).with(bits, holdout);
    }

    /// Whether a node without a choice joins values that never meet.
    pub(super) fn names_absent(&self, absent: &Absent, node: &PlanNode) -> bool {
        let [first, second] = node.inputs.map(|input| self.named[usize::from(input)]);
        node.kind == NodeKind::Plain(Function::Intersect) && absent.is_named_by_joining(first, second)
    }

    pub(super) fn can_still_mention(&self, task: &Task<'_>, at: usize) -> bool {
        let mut descriptions = self.descriptions;
        task.holdout.is_some_and(|holdout| task.plan.can_mention_from(at, &mut descriptions, holdout))
    }

    /// The values that the description has to which a choice adds; none for one that starts anew.
    #[inline]
    pub(super) fn named_before(&self, task: &Task<'_>, at: usize) -> Named {
        let node = &task.plan.nodes[at];
        match node.kind {
            NodeKind::Filter(_) | NodeKind::FilterOne(_) => self.named[usize::from(node.inputs[0])],
            _ => 0,
        }
    }

    /// What is known of the objects that a choice goes on from; nothing where it starts anew.
    #[inline]
    pub(super) fn known_before(&self, task: &Task<'_>, at: usize) -> Known {
        let node = &task.plan.nodes[at];
        match node.kind {
            NodeKind::Filter(_) | NodeKind::FilterOne(_) => self.known[usize::from(node.inputs[0])],
            _ => Known::ANYTHING,
        }
    }

    /// Whether a question that has not mentioned the conjunction yet must do so at this choice.
    pub(super) fn must_mention_at(&self, task: &Task<'_>, at: usize) -> bool {
        let node = &task.plan.nodes[at];
        if node.output == Type::Set {
            // A set's description may be completed later, unless all that follows is of this kind.
            return node.is_last_choice && !task.plan.intersects_after(at);
        }
        let mut descriptions = self.descriptions;
        descriptions[at] = Description::ANYTHING;
        !task.holdout.is_some_and(|holdout| task.plan.can_mention_from(at + 1, &mut descriptions, holdout))
    }
}
