//! The options of a template's choice in a given state of the search.
//!
//! Options are counted and numbered before unwanted ones are left out: the number of trivial relations and absent
//! combinations that are offered must not depend on what is searched for.

use super::choice::{Candidate, Choice};
use super::searcher::{LiveOutcomes, Searcher};
use super::task::Task;
use crate::holdout::{AbsentPairs, Description, Holdout, Knowledge, ValueSet};
use crate::program::catalogue::Function;
use crate::question::groups::Key;
use crate::question::options::{is_option, shuffle_front};
use crate::question::plan::Slot;
use crate::question::template::{NodeKind, Tail};
use crate::rng::{StateRng, StreamRng};
use crate::vocab::RELATION_NAMES;

/// The options of a choice in a state. Each has a slot, slots are equally likely, and some may be empty.
#[derive(Clone, Copy)]
pub(super) struct Source {
    kind: SourceKind,
    /// The node's input: a set, or an object.
    input: u32,
    /// Slots of keys, either alone or with each relation.
    keys: u32,
    /// Slots of other options, which come after the keys.
    others: u32,
    /// Whether no slot holds an option.
    pub is_empty: bool,
}

#[derive(Clone, Copy)]
enum SourceKind {
    /// The keys on a set, or only those that a single object of the scene has; the other options are absent
    /// combinations.
    Keys { tail: Tail, single: bool },
    /// An object's relations with each key, only some of which are options; the other options are trivial ones.
    Relations(Tail),
    /// The relations of an object.
    Relation,
    /// A function on given inputs, with each of its arguments.
    Arguments(Function, [u32; 2]),
}

const N_RELATIONS: u32 = RELATION_NAMES.len() as u32;

impl Source {
    #[inline]
    pub(super) fn slots(&self) -> u32 {
        self.keys + self.others
    }
}

/// The criteria that an option of a choice must meet.
#[derive(Clone, Copy)]
pub(super) struct Criteria<'a> {
    pub task: &'a Task<'a>,
    /// The choice's node.
    pub at: usize,
    /// What the node does with the set that its filters leave.
    pub tail: Tail,
    /// Types that must stay unset.
    pub forbidden: u8,
    /// Whether a value must be named.
    pub named: bool,
    /// The description that the named values are added to.
    pub base: Description,
    /// Whether it must lead to a mention of the conjunction.
    pub mention: bool,
    /// Whether the conjunction has been mentioned before.
    pub mentioned: bool,
    pub live: LiveOutcomes,
    /// What may not be named besides the conjunction, and the values of the description that the choice adds to.
    pub absent: Option<(&'a AbsentPairs, ValueSet)>,
    /// What may not be implied either, and what is known about the objects that the choice starts from.
    pub known: Option<(&'a Holdout, Knowledge)>,
}

impl Searcher {
    /// Draws up to `draws` slots until one holds a wanted option.
    #[inline]
    pub(super) fn draw(
        &mut self,
        rng: &mut StreamRng,
        source: Source,
        wanted: &Criteria<'_>,
        draws: &mut u32,
    ) -> Option<Candidate> {
        let slots = source.slots();
        let others_live = wanted.others_live(source);
        while *draws > 0 {
            *draws -= 1;
            self.stats.options += 1;
            let slot = rng.below(slots);
            let candidate = match source.kind {
                SourceKind::Keys { single, .. } if slot < source.keys => {
                    let i = if single { usize::from(self.options.singles()[slot as usize]) } else { slot as usize };
                    wanted.admit_key(0, &self.options.keys()[i], source.input)
                }
                SourceKind::Relations(_) if slot < source.keys => {
                    let (key, relation) = (&self.options.keys()[(slot / N_RELATIONS) as usize], slot % N_RELATIONS);
                    let related = wanted.task.scene.related(relation as usize, source.input as usize);
                    if !is_option(wanted.tail, key.objects, related) {
                        continue;
                    }
                    wanted.admit_key(relation, key, related)
                }
                _ if others_live => self.other(source, slot - source.keys, wanted),
                _ => continue,
            };
            if candidate.is_some() {
                return candidate;
            }
        }
        None
    }

    /// Lists the wanted options.
    pub(super) fn list(&mut self, source: Source, wanted: &Criteria<'_>, listed: &mut Vec<Candidate>) {
        listed.clear();
        match source.kind {
            SourceKind::Keys { .. } => {
                // A choice that starts a description mentions the conjunction only through keys that name all of it, and
                // so does one that is the slot of the mention.
                let names_all = matches!(wanted.task.slot, Some(Slot::Choice(_)));
                let held_only = wanted.mention && (names_all || wanted.base == Description::ANYTHING);
                self.list_keys(wanted, held_only, (0, source.input), |_| true, listed);
            }
            SourceKind::Relations(tail) => {
                for relation in 0..N_RELATIONS {
                    let related = wanted.task.scene.related(relation as usize, source.input as usize);
                    let is_option = |objects: u32| is_option(tail, objects, related);
                    self.list_keys(wanted, wanted.mention, (relation, related), is_option, listed);
                }
            }
            SourceKind::Relation | SourceKind::Arguments(..) => {}
        }
        if wanted.others_live(source) {
            self.stats.options += u64::from(source.others);
            listed.extend((0..source.others).filter_map(|place| self.other(source, place, wanted)));
        }
    }

    /// Lists the wanted keys, group by group, or only those that name all of the held-out conjunction.
    #[inline]
    fn list_keys(
        &mut self,
        wanted: &Criteria<'_>,
        held_only: bool,
        (relation, related): (u32, u32),
        is_option: impl Fn(u32) -> bool,
        listed: &mut Vec<Candidate>,
    ) {
        let options = &self.options;
        if held_only {
            for key in options.held.iter().map(|&i| &options.keys()[usize::from(i)]) {
                if is_option(key.objects) && wanted.outcome(key.objects & related).is_some() {
                    self.stats.options += 1;
                    listed.extend(wanted.admit_key(relation, key, related));
                }
            }
            return;
        }
        for group in options.groups.iter().filter(|group| is_option(group.objects)) {
            let Some(output) = wanted.outcome(group.objects & related) else { continue };
            self.stats.options += u64::from(group.n_keys);
            let keys = options.groups.keys_of(group).map(|i| &options.keys()[usize::from(i)]);
            listed.extend(keys.filter_map(|key| wanted.admit_key_with(relation, key, output)));
        }
    }

    /// A superset of the outcomes that a source's options can have, one bit each; for outputs other than sets.
    pub(super) fn possible_outcomes(&mut self, task: &Task<'_>, source: Source) -> u64 {
        let Source { kind, input, others, .. } = source;
        match kind {
            SourceKind::Keys { tail: Tail::Unique, .. } => u64::from(input),
            SourceKind::Keys { tail, .. } if input == task.scene.everything() => {
                let sizes = self.options.sizes | 1;
                match tail {
                    Tail::Count => sizes,
                    Tail::Exist => 1 | u64::from(sizes >> 1 != 0) << 1,
                    Tail::Unique | Tail::Set => !0,
                }
            }
            SourceKind::Keys { tail, .. } => match tail {
                Tail::Count => (2u64 << input.count_ones()) - 1,
                Tail::Exist => 3,
                Tail::Unique | Tail::Set => !0,
            },
            SourceKind::Relations(tail) => {
                let left = self.options.relate(task.scene, input as usize);
                match tail {
                    Tail::Unique => u64::from(left.single_objects),
                    Tail::Count => self.options.sizes_related(task.scene, input as usize),
                    Tail::Exist => u64::from(left.nothing != 0) | u64::from(left.is_something()) << 1,
                    Tail::Set => !0,
                }
            }
            SourceKind::Arguments(function, inputs) => {
                let outputs = (0..others).filter_map(|argument| task.output(function, argument, inputs));
                outputs.fold(0, |outcomes, output| outcomes | 1 << (output & 63))
            }
            SourceKind::Relation => !0,
        }
    }

    /// The options of a choice, counted before unwanted ones are left out.
    pub(super) fn source(&mut self, task: &Task<'_>, at: usize) -> Source {
        let node = &task.plan.nodes[at];
        let input = self.outputs[0][usize::from(node.inputs[0])];
        self.levels[at].extra_is_drawn = false;
        let n_keys = self.options.keys().len() as u32;
        let (kind, keys, others) = match node.kind {
            NodeKind::Filter(tail) => {
                let singles = || self.options.groups.singles_on(input);
                // As in CLEVR: as many absent combinations as there are options (`exist`), or as options that leave a
                // single object (`count`, and sets, which never take the empty filter).
                let wanted = match tail {
                    Tail::Unique => 0,
                    Tail::Exist => n_keys,
                    Tail::Count => singles(),
                    Tail::Set => singles() - u32::from(input.count_ones() == 1),
                };
                let single = tail == Tail::Unique && input == task.scene.everything();
                let keys = if single { self.options.singles().len() as u32 } else { n_keys };
                (SourceKind::Keys { tail, single }, keys, wanted.min(self.options.combinations().count() - n_keys))
            }
            NodeKind::RelateFilter(tail) => {
                let left = self.options.relate(task.scene, input as usize);
                let others = left.n_trivial_offered(tail);
                let is_empty = left.n_options(tail) + others == 0;
                let (kind, keys) = (SourceKind::Relations(tail), N_RELATIONS * n_keys);
                return Source { kind, input, keys, others, is_empty };
            }
            NodeKind::Apply(function) => {
                let inputs = node.inputs.map(|input| self.outputs[0][usize::from(input)]);
                let n_arguments = function.signature().argument.n_choices(task.vocab);
                (SourceKind::Arguments(function, inputs), 0, n_arguments as u32)
            }
            NodeKind::Relate | NodeKind::Plain(_) => (SourceKind::Relation, 0, N_RELATIONS),
        };
        Source { kind, input, keys, others, is_empty: keys + others == 0 }
    }

    /// The option at a position after the keys.
    fn other(&mut self, source: Source, place: u32, wanted: &Criteria<'_>) -> Option<Candidate> {
        let task = wanted.task;
        match source.kind {
            SourceKind::Keys { .. } => {
                let combination = self.extra(source, place, wanted);
                let named = self.options.combinations().get(combination);
                let choice = Choice { relation: 0, combination };
                wanted.admit(choice, (named.types, named.bits), 0, wanted.outcome(0)?)
            }
            SourceKind::Relations(_) => {
                let pair = self.extra(source, place, wanted);
                let (key, relation) = (&self.options.keys()[(pair / N_RELATIONS) as usize], pair % N_RELATIONS);
                wanted.admit_key(relation, key, task.scene.related(relation as usize, source.input as usize))
            }
            SourceKind::Relation => {
                let related = task.scene.related(place as usize, source.input as usize);
                wanted.admit(Choice { relation: place as u8, combination: 0 }, (0, 0), 0, wanted.outcome(related)?)
            }
            SourceKind::Arguments(function, inputs) => {
                let output = task.output(function, place, inputs);
                let added = task.holdout.zip(function.added_type());
                let bits = added.map_or(0, |(holdout, kind)| holdout.bits(usize::from(kind), place as u8));
                let choice = Choice { relation: 0, combination: place };
                wanted.admit(choice, (0, bits), 0, output.filter(|&output| wanted.may_live(output))?)
            }
        }
    }

    /// One of the `source.others` absent combinations or trivial options that are offered; they are drawn once per
    /// state.
    fn extra(&mut self, source: Source, place: u32, wanted: &Criteria<'_>) -> u32 {
        let level = &mut self.levels[wanted.at];
        if !level.extra_is_drawn {
            level.extra_is_drawn = true;
            level.extra.clear();
            let mut rng = StateRng::new(self.attempt_seed, wanted.at as u64, u64::from(source.input));
            if let SourceKind::Relations(tail) = source.kind {
                self.options.list_trivial(wanted.task.scene, source.input as usize, tail, &mut level.extra);
                shuffle_front(&mut level.extra, source.others, &mut rng);
            } else {
                self.options.draw_absent(source.others, &mut rng, &mut level.extra);
            }
        }
        level.extra[place as usize]
    }
}

impl<'a> Criteria<'a> {
    /// The criteria at a node where nothing was asked of the objects that the choice starts from.
    pub(super) fn new(task: &'a Task<'a>, at: usize, mention: bool, mentioned: bool, live: LiveOutcomes) -> Self {
        let node = &task.plan.nodes[at];
        let named = node.kind == NodeKind::Filter(Tail::Set);
        let (tail, forbidden, base) = (node.kind.tail(), node.forbidden, Description::ANYTHING);
        Self { task, at, tail, forbidden, named, base, mention, mentioned, live, absent: None, known: None }
    }

    /// The node's output for the set that its filters leave; None if that outcome is not live.
    #[inline(always)]
    fn outcome(&self, left: u32) -> Option<u32> {
        self.tail.of(left).filter(|&output| self.may_live(output))
    }

    #[inline(always)]
    fn may_live(&self, output: u32) -> bool {
        self.live.may_have(output, self.mentioned)
    }

    /// The option of a key, perhaps with a relation; None if it is unwanted. `related` holds the objects in the
    /// relation.
    #[inline(always)]
    fn admit_key(&self, relation: u32, key: &Key, related: u32) -> Option<Candidate> {
        self.admit_key_with(relation, key, self.outcome(key.objects & related)?)
    }

    /// The same for a known outcome.
    #[inline(always)]
    fn admit_key_with(&self, relation: u32, key: &Key, output: u32) -> Option<Candidate> {
        if self.named && key.types == 0 {
            return None;
        }
        let choice = Choice { relation: relation as u8, combination: key.combination };
        self.admit(choice, (key.types, key.bits), key.objects, output)
    }

    /// Whether options other than keys can be wanted.
    #[inline]
    fn others_live(&self, source: Source) -> bool {
        // On a set, these are combinations that no object has.
        !matches!(source.kind, SourceKind::Keys { .. }) || self.outcome(0).is_some()
    }
}
