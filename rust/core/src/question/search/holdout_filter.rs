//! The hold-out filter of the search: what the partial question asks for, which choices would ask for something
//! forbidden, and whether the question can still ask for what is required.

use super::choice::{Candidate, Choice};
use super::searcher::Searcher;
use super::source::Criteria;
use super::task::Task;
use crate::holdout::{AbsentPairs, Description, Domain, Holdout, Implications, Mentions};
use crate::program::catalogue::Type;
use crate::question::plan::{PlanNode, Slot};
use crate::question::template::{NodeKind, Tail};

impl Searcher {
    /// Describes a node without a choice. Returns whether that mentions the conjunction, or None if the question then
    /// asks for something forbidden.
    #[inline]
    pub(super) fn describe(&mut self, task: &Task<'_>, node: &PlanNode, at: usize) -> Option<bool> {
        let mut mentioned = false;
        if let Some(holdout) = task.holdout {
            let (description, mentions) = node.before(&Mentions(holdout), &self.descriptions);
            self.descriptions[at] = description;
            if mentions && task.rule.forbids() {
                return None;
            }
            mentioned = mentions && task.counts(at, true, 0, self.described_before(node));
        }
        let is_forbidden = task.implied.is_some_and(|holdout| self.learn(holdout, node, at))
            || task.absent.is_some_and(|absent| self.name(absent, node, at));
        (!is_forbidden).then_some(mentioned)
    }

    /// The descriptions of a node's inputs, as alternatives.
    fn described_before(&self, node: &PlanNode) -> Description {
        let inputs = &node.inputs[..node.kind.inputs().len()];
        inputs.iter().fold(Description(0), |all, &input| all.or(self.descriptions[usize::from(input)]))
    }

    /// Describes a choice; `chosen` describes the objects that it chooses from, with its values.
    #[inline]
    pub(super) fn describe_choice(&mut self, task: &Task<'_>, at: usize, choice: Choice, chosen: Description) {
        let node = &task.plan.nodes[at];
        if let Some(holdout) = task.holdout {
            self.descriptions[at] = node.after(&Mentions(holdout), chosen);
        }
        if let Some(absent) = task.absent {
            self.name_choice(absent, node, at, choice);
        }
        if let Some(holdout) = task.implied {
            self.learn_choice(holdout, node, at, choice);
        }
    }

    /// Records the values in the description of a node without a choice. Returns whether something absent is among
    /// them.
    // Most pools have no palette, so this stays off the hot path.
    #[cold]
    #[inline(never)]
    fn name(&mut self, absent: &AbsentPairs, node: &PlanNode, at: usize) -> bool {
        let (named, is_absent) = node.before(absent, &self.named);
        self.named[at] = named;
        is_absent
    }

    /// Records the values in the description of a choice.
    #[cold]
    #[inline(never)]
    fn name_choice(&mut self, absent: &AbsentPairs, node: &PlanNode, at: usize, choice: Choice) {
        let values = named_by(node.kind, choice, absent, |combination| absent.combination(combination));
        self.named[at] = node.describe(absent, values, &self.named).0;
    }

    /// Records what is known about the objects of a node without a choice. Returns whether that implies the
    /// conjunction.
    // Few rules forbid implications, so this stays off the hot path.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, holdout: &Holdout, node: &PlanNode, at: usize) -> bool {
        let (known, is_implied) = node.before(&Implications(holdout), &self.known);
        self.known[at] = known;
        is_implied
    }

    /// Records what is known about the objects of a choice.
    #[cold]
    #[inline(never)]
    fn learn_choice(&mut self, holdout: &Holdout, node: &PlanNode, at: usize, choice: Choice) {
        let combinations = self.options.combinations();
        let domain = Implications(holdout);
        let bits = named_by(node.kind, choice, &domain, |combination| combinations.get(combination).bits);
        self.known[at] = node.describe(&domain, bits, &self.known).0;
    }

    /// Whether a question that has not mentioned the conjunction in its slot yet can do so from a choice on.
    pub(super) fn can_still_mention(&self, task: &Task<'_>, at: usize) -> bool {
        if let Some(Slot::Choice(node)) = task.slot {
            return at <= usize::from(node) && self.can_narrow_to(task, at, usize::from(node));
        }
        let mut descriptions = self.descriptions;
        task.holdout.is_some_and(|holdout| task.plan.can_mention_from(at, &mut descriptions, holdout))
    }

    /// Whether some key that names the conjunction can be the choice at node `to`, given the relations that were chosen
    /// before node `at`. The question does not degenerate only if each relation excludes an object of the key that no
    /// other one does.
    fn can_narrow_to(&self, task: &Task<'_>, at: usize, to: usize) -> bool {
        let node = &task.plan.nodes[to];
        if node.narrowed_by.is_empty() {
            return true;
        }
        let chosen = || node.narrowed_by.iter().map(|&i| usize::from(i)).filter(|&i| i < at);
        let objects_left = |objects: u32, without: Option<usize>| {
            let others = chosen().filter(|&i| Some(i) != without);
            others.fold(objects, |objects, i| objects & self.outputs[0][i])
        };
        let needed = node.narrowed_by.len() - chosen().count() + usize::from(node.kind.tail() == Tail::Unique);
        self.options.held.iter().any(|&key| {
            let objects = self.options.keys()[usize::from(key)].objects;
            let left = objects_left(objects, None);
            left.count_ones() as usize >= needed && chosen().all(|i| objects_left(objects, Some(i)) != left)
        })
    }

    /// Whether a question that has not mentioned the conjunction yet must do so at this choice.
    pub(super) fn must_mention_at(&self, task: &Task<'_>, at: usize) -> bool {
        if let Some(Slot::Choice(node)) = task.slot {
            return at == usize::from(node);
        }
        let node = &task.plan.nodes[at];
        if node.output == Type::Set {
            // A later node may complete a set's description, unless none chooses, joins descriptions or adds a value.
            return node.is_last_choice && !task.plan.joins_after(at);
        }
        let Some(holdout) = task.holdout else { return true };
        let mut descriptions = self.descriptions;
        let most = holdout.bits_of_types(node.added_types);
        descriptions[at] = node.describe(&Mentions(holdout), most, &descriptions).0;
        !task.plan.can_mention_from(at + 1, &mut descriptions, holdout)
    }
}

impl Criteria<'_> {
    /// An option that names values of these types and of these bits of the conjunction; None if it is unwanted.
    #[inline(always)]
    pub(super) fn admit(
        &self,
        choice: Choice,
        (types, bits): (u8, u8),
        key_objects: u32,
        output: u32,
    ) -> Option<Candidate> {
        if types & self.forbidden != 0 {
            return None;
        }
        let (description, mentions) =
            self.task.holdout.map_or((self.base, false), |holdout| Mentions(holdout).add(self.base, bits));
        let mentions = self.task.counts(self.at, mentions, bits, self.base);
        let is_wanted = (mentions || !self.mention)
            && self.live.has(output, self.mentioned || mentions)
            && !self.names_absent(choice)
            && !(self.known.is_some() && self.implies(bits));
        is_wanted.then_some(Candidate { choice, key_objects, output, description, mentions })
    }

    /// Whether naming these bits of the conjunction here implies all of it.
    #[cold]
    #[inline(never)]
    fn implies(&self, bits: u8) -> bool {
        self.known.is_some_and(|(holdout, known)| Implications(holdout).add(known, bits).1)
    }

    /// Whether an option names something absent.
    #[inline(always)]
    fn names_absent(&self, choice: Choice) -> bool {
        self.absent.is_some_and(|(absent, named)| {
            let kind = self.task.plan.nodes[self.at].kind;
            absent.add(named, named_by(kind, choice, absent, |combination| absent.combination(combination))).1
        })
    }
}

/// The values that a choice names; `of_combination` gives those of a combination.
#[inline]
fn named_by<D: Domain>(
    kind: NodeKind,
    choice: Choice,
    domain: &D,
    of_combination: impl FnOnce(u32) -> D::Values,
) -> D::Values {
    match kind {
        NodeKind::Filter(_) | NodeKind::RelateFilter(_) => of_combination(choice.combination),
        NodeKind::Apply(function) => function
            .added_type()
            .map_or(D::Values::default(), |kind| domain.value(usize::from(kind), choice.combination as u8)),
        NodeKind::Plain(_) | NodeKind::Relate => D::Values::default(),
    }
}
