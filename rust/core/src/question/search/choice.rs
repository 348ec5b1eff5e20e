//! The options of a template's choice in the state in which the search meets it.
//!
//! Options are counted and numbered before any is left out for being unwanted: how many trivial
//! relations and absent combinations are offered must not depend on what is looked for.

use super::super::keys::Key;
use super::super::options::is_option;
use super::super::template::{NodeKind, Tail};
use super::{Living, Searcher, Task};
use crate::holdout::{Absent, Combinations, Description, Domain, Holdout, Implications, Known, Mentions, Named};
use crate::program::function::Function;
use crate::rng::{StateRng, StreamRng};
use crate::vocab::{N_TYPES, RELATION_NAMES};

/// What was chosen at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Choice {
    pub relation: u8,
    /// The combination of values, or the one value of a plain filter.
    pub combination: u32,
}

/// One option of a choice, and what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub choice: Choice,
    /// Objects of the whole scene that the combination fits.
    pub key_objects: u32,
    /// The node's output.
    pub output: u32,
    pub description: Description,
    pub mentions: bool,
}

/// Where a choice takes its options from. Each has a slot, all slots of a source are equal, and some
/// slots may hold none.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Keys on a set; absent combinations after them (as many as `extra`).
    Keys {
        set: u32,
        tail: Tail,
        /// Whether the keys are those that a single object of the scene has, not all.
        single: bool,
        keys: u32,
        extra: u32,
    },
    /// An object's relations with each key, slots of which `options` are some; then trivial options
    /// (as many as `extra`).
    Relations {
        object: u32,
        tail: Tail,
        options: u32,
        pairs: u32,
        extra: u32,
    },
    Relation {
        object: u32,
    },
    /// A function on an input, with each value of a type, of which there are so many.
    Values {
        function: Function,
        input: u32,
        kind: u8,
        count: u32,
    },
}

const N_RELATIONS: u32 = RELATION_NAMES.len() as u32;

impl Source {
    /// Whether there is no option at all.
    pub(super) fn is_empty(&self) -> bool {
        match *self {
            Self::Keys { keys, extra, .. } => keys + extra == 0,
            Self::Relations { options, extra, .. } => options + extra == 0,
            Self::Relation { .. } => false,
            Self::Values { count, .. } => count == 0,
        }
    }

    /// The first slot that is not a key's, alone or with a relation.
    #[inline]
    fn of_keys(&self) -> u32 {
        match *self {
            Self::Keys { keys, .. } => keys,
            Self::Relations { pairs, .. } => pairs,
            Self::Relation { .. } | Self::Values { .. } => 0,
        }
    }

    /// Number of slots.
    #[inline]
    pub(super) fn slots(&self) -> u32 {
        match *self {
            Self::Keys { keys, extra, .. } => keys + extra,
            Self::Relations { pairs, extra, .. } => pairs + extra,
            Self::Relation { .. } => N_RELATIONS,
            Self::Values { count, .. } => count,
        }
    }
}

/// Which keys are listed.
#[derive(Clone, Copy)]
enum Among {
    All,
    /// Those that name all of the held-out conjunction.
    Held,
}

/// What an option of a choice must have to be taken.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub task: &'a Task<'a>,
    /// The choice's node.
    pub at: usize,
    /// What the node does with the set that its filters leave.
    pub tail: Tail,
    /// Types that must stay unset.
    pub forbidden: u8,
    /// Whether a value must be named.
    pub named: bool,
    /// The description that the values named add to.
    pub base: Description,
    /// That it leads to a mention of the conjunction.
    pub mention: bool,
    /// Whether that has been mentioned before.
    pub mentioned: bool,
    pub living: Living,
    /// What must not be named besides the conjunction, and the values in the description that the choice adds to.
    pub absent: Option<(&'a Absent, Named)>,
    /// What must not be implied either, and what is known of the objects that the choice goes on from.
    pub known: Option<(&'a Holdout, Known)>,
}

impl Searcher {
    /// Draws slots, at most as many as `draws`, until one holds a wanted option.
    #[inline]
    pub(super) fn draw(
        &mut self,
        rng: &mut StreamRng,
        source: Source,
        wanted: &Wanted<'_>,
        draws: &mut u32,
    ) -> Option<Pick> {
        let (slots, of_keys) = (source.slots(), source.of_keys());
        let others_live = wanted.others_live(source);
        while *draws > 0 {
            *draws -= 1;
            self.stats.options += 1;
            let slot = rng.below(slots);
            let pick = match source {
                Source::Keys { set, single, .. } if slot < of_keys => {
                    let i = if single { usize::from(self.options.singles()[slot as usize]) } else { slot as usize };
                    wanted.admit_key(0, &self.options.keys()[i], set)
                }
                Source::Relations { object, .. } if slot < of_keys => {
                    let (key, relation) = (&self.options.keys()[(slot / N_RELATIONS) as usize], slot % N_RELATIONS);
                    let related = wanted.task.scene.related(relation as usize, object as usize);
                    if !is_option(wanted.tail, key.objects, related) {
                        continue;
                    }
                    wanted.admit_key(relation, key, related)
                }
                _ if others_live => self.other(source, slot - of_keys, wanted),
                _ => continue,
            };
            if pick.is_some() {
                return pick;
            }
        }
        None
    }

    /// The options wanted.
    pub(super) fn list(&mut self, source: Source, wanted: &Wanted<'_>, listed: &mut Vec<Pick>) {
        listed.clear();
        match source {
            Source::Keys { set, .. } => {
                // Where a choice starts a description of its own, only keys that name all of the conjunction
                // mention it.
                let among =
                    if wanted.mention && wanted.base == Description::ANYTHING { Among::Held } else { Among::All };
                self.list_keys(wanted, among, (0, set), |_| true, listed);
            }
            Source::Relations { object, tail, .. } => {
                let among = if wanted.mention { Among::Held } else { Among::All };
                for relation in 0..N_RELATIONS {
                    let related = wanted.task.scene.related(relation as usize, object as usize);
                    let is_option = |objects: u32| is_option(tail, objects, related);
                    self.list_keys(wanted, among, (relation, related), is_option, listed);
                }
            }
            Source::Relation { .. } | Source::Values { .. } => {}
        }
        if wanted.others_live(source) {
            for place in 0..source.slots() - source.of_keys() {
                self.stats.options += 1;
                listed.extend(self.other(source, place, wanted));
            }
        }
    }

    /// Lists keys, group by group: those of a group whose objects, with a relation or none, lead to something
    /// that lives.
    #[inline]
    fn list_keys(
        &mut self,
        wanted: &Wanted<'_>,
        among: Among,
        (relation, related): (u32, u32),
        is_option: impl Fn(u32) -> bool,
        listed: &mut Vec<Pick>,
    ) {
        let options = &self.options;
        match among {
            Among::Held => {
                for &i in options.held() {
                    let key = &options.keys()[usize::from(i)];
                    if is_option(key.objects) && wanted.outcome(key.objects & related).is_some() {
                        self.stats.options += 1;
                        listed.extend(wanted.admit_key(relation, key, related));
                    }
                }
            }
            Among::All => {
                for group in options.groups().iter().filter(|group| is_option(group.objects)) {
                    let Some(output) = wanted.outcome(group.objects & related) else { continue };
                    self.stats.options += u64::from(group.n_keys);
                    let keys = options.groups().keys_of(group).map(|i| &options.keys()[usize::from(i)]);
                    listed.extend(keys.filter_map(|key| wanted.admit_key_with(relation, key, output)));
                }
            }
        }
    }

    /// The outcomes that options of a source can have, a bit each, or more; for outputs other than sets.
    pub(super) fn possible_outcomes(&mut self, task: &Task<'_>, source: Source) -> u64 {
        let exist = |sizes: u64| (sizes & 1) | u64::from(sizes >> 1 != 0) << 1;
        match source {
            Source::Keys { set, tail, .. } if set == task.scene.everything() => match tail {
                Tail::Unique => u64::from(set),
                Tail::Count => self.options.sizes() | 1,
                Tail::Exist => exist(self.options.sizes() | 1),
                Tail::Set => !0,
            },
            Source::Keys { set, tail, .. } => match tail {
                Tail::Unique => u64::from(set),
                Tail::Count => (2u64 << set.count_ones()) - 1,
                Tail::Exist => 3,
                Tail::Set => !0,
            },
            Source::Relations { object, tail, .. } => {
                let left = self.options.relate(task.scene, object as usize);
                match tail {
                    Tail::Unique => u64::from(left.single_objects),
                    Tail::Count => self.options.sizes_related(task.scene, object as usize),
                    Tail::Exist => u64::from(left.nothing != 0) | u64::from(left.is_something()) << 1,
                    Tail::Set => !0,
                }
            }
            Source::Values { function, input, count, .. } => {
                let outputs = (0..count).filter_map(|value| task.output(function, value, input));
                outputs.fold(0, |outcomes, output| outcomes | 1 << (output & 63))
            }
            Source::Relation { .. } => !0,
        }
    }

    /// The options of a choice, counted before anything is left out for being unwanted.
    pub(super) fn source(&mut self, task: &Task<'_>, at: usize) -> Source {
        let node = &task.plan.nodes[at];
        let input = self.outputs[0][usize::from(node.inputs[0])];
        self.levels[at].extra_is_drawn = false;
        match node.kind {
            NodeKind::Filter(tail) => {
                let keys = self.options.keys().len() as u32;
                let singles = || self.options.groups().singles_on(input);
                // As in CLEVR: absent combinations as many as there are options (`exist`), or options
                // that leave a single object (`count`, and sets, which never take the empty filter).
                let wanted = match tail {
                    Tail::Unique => 0,
                    Tail::Exist => keys,
                    Tail::Count => singles(),
                    Tail::Set => singles() - u32::from(input.count_ones() == 1),
                };
                let extra = wanted.min(self.options.combinations().count() - keys);
                let single = tail == Tail::Unique && input == task.scene.everything();
                let keys = if single { self.options.singles().len() as u32 } else { keys };
                Source::Keys { set: input, tail, single, keys, extra }
            }
            NodeKind::RelateFilter(tail) => {
                let sums = self.options.relate(task.scene, input as usize);
                Source::Relations {
                    object: input,
                    tail,
                    options: sums.n_options(tail),
                    pairs: N_RELATIONS * self.options.keys().len() as u32,
                    extra: sums.n_trivial_offered(tail),
                }
            }
            NodeKind::Add(function, kind) => {
                Source::Values { function, input, kind, count: task.vocab.n_values(usize::from(kind)) as u32 }
            }
            NodeKind::Relate | NodeKind::Plain(_) => Source::Relation { object: input },
        }
    }

    /// The option at a place past those of keys.
    fn other(&mut self, source: Source, place: u32, wanted: &Wanted<'_>) -> Option<Pick> {
        let (task, at) = (wanted.task, wanted.at);
        match source {
            Source::Keys { set, extra, .. } => {
                self.draw_absent(at, set, extra);
                let combination = self.levels[at].extra[place as usize];
                let named = self.options.combinations().get(combination);
                let choice = Choice { relation: 0, combination };
                wanted.admit(choice, (named.types, named.bits), 0, wanted.outcome(0)?)
            }
            Source::Relations { object, tail, extra, .. } => {
                let pair = self.trivial(wanted, object, tail, extra, place);
                let (key, relation) = (&self.options.keys()[(pair / N_RELATIONS) as usize], pair % N_RELATIONS);
                wanted.admit_key(relation, key, task.scene.related(relation as usize, object as usize))
            }
            Source::Relation { object } => {
                let related = task.scene.related(place as usize, object as usize);
                wanted.admit(Choice { relation: place as u8, combination: 0 }, (0, 0), 0, wanted.outcome(related)?)
            }
            Source::Values { function, input, kind, .. } => {
                let output = task.output(function, place, input);
                let bits = task.holdout.map_or(0, |h| h.bits(usize::from(kind), place as u8));
                let choice = Choice { relation: 0, combination: place };
                wanted.admit(choice, (0, bits), 0, output.filter(|&output| wanted.may_live(output))?)
            }
        }
    }

    /// Draws the absent combinations that a filter offers, once a state: `count` different ones.
    fn draw_absent(&mut self, at: usize, set: u32, count: u32) {
        let level = &mut self.levels[at];
        if level.extra_is_drawn {
            return;
        }
        level.extra_is_drawn = true;
        level.extra.clear();
        let mut rng = StateRng::new(self.attempt_seed, at as u64, u64::from(set));
        self.options.draw_absent(count, &mut rng, &mut level.extra);
    }

    /// One of the trivial options that a relation offers, `count` in all, which are drawn once a state.
    fn trivial(&mut self, wanted: &Wanted<'_>, object: u32, tail: Tail, count: u32, place: u32) -> u32 {
        let level = &mut self.levels[wanted.at];
        if !level.extra_is_drawn {
            level.extra_is_drawn = true;
            level.extra.clear();
            self.options.list_trivial(wanted.task.scene, object as usize, tail, &mut level.extra);
            let mut rng = StateRng::new(self.attempt_seed, wanted.at as u64, u64::from(object));
            for i in 0..count as usize {
                let other = i + rng.below((level.extra.len() - i) as u32) as usize;
                level.extra.swap(i, other);
            }
        }
        level.extra[place as usize]
    }
}

impl<'a> Wanted<'a> {
    /// What is wanted of a choice at a node where nothing was asked of the objects that it goes on from.
    pub(super) fn new(task: &'a Task<'a>, at: usize, mention: bool, mentioned: bool, living: Living) -> Self {
        let node = &task.plan.nodes[at];
        let named = node.kind == NodeKind::Filter(Tail::Set);
        let (tail, forbidden, base) = (node.kind.tail(), node.forbidden, Description::ANYTHING);
        Self { task, at, tail, forbidden, named, base, mention, mentioned, living, absent: None, known: None }
    }

    /// What the node gives for the set that its filters leave; None where that is nothing that lives.
    #[inline(always)]
    fn outcome(&self, left: u32) -> Option<u32> {
        self.tail.of(left).filter(|&output| self.may_live(output))
    }

    #[inline(always)]
    fn may_live(&self, output: u32) -> bool {
        self.living.may_have(output, self.mentioned)
    }

    /// What a key does with a relation or without one, None where it is not wanted. Of the key's objects those
    /// in `related` are left.
    #[inline(always)]
    fn admit_key(&self, relation: u32, key: &Key, related: u32) -> Option<Pick> {
        self.admit_key_with(relation, key, self.outcome(key.objects & related)?)
    }

    /// The same, its outcome known.
    #[inline(always)]
    fn admit_key_with(&self, relation: u32, key: &Key, output: u32) -> Option<Pick> {
        if self.named && key.types == 0 {
            return None;
        }
        let choice = Choice { relation: relation as u8, combination: key.combination };
        self.admit(choice, (key.types, key.bits), key.objects, output)
    }

    /// What an option does, None where it is not wanted. It names values of these types, and these of the
    /// conjunction.
    #[inline(always)]
    fn admit(&self, choice: Choice, (types, bits): (u8, u8), key_objects: u32, output: u32) -> Option<Pick> {
        if types & self.forbidden != 0 {
            return None;
        }
        let (description, mentions) =
            self.task.holdout.map_or((self.base, false), |holdout| Mentions(holdout).add(self.base, bits));
        let is_wanted = (mentions || !self.mention)
            && self.living.has(output, self.mentioned || mentions)
            && !self.names_absent(choice)
            && !(self.known.is_some() && self.implies(bits));
        is_wanted.then_some(Pick { choice, key_objects, output, description, mentions })
    }

    /// Whether naming values of the conjunction here implies all of it.
    #[cold]
    #[inline(never)]
    fn implies(&self, bits: u8) -> bool {
        self.known.is_some_and(|(holdout, known)| Implications(holdout).add(known, bits).1)
    }

    /// Whether an option names what must not be named.
    #[inline(always)]
    fn names_absent(&self, choice: Choice) -> bool {
        self.absent.is_some_and(|(absent, named)| {
            let kind = self.task.plan.nodes[self.at].kind;
            absent.add(named, named_by(kind, choice, absent, |combination| absent.combination(combination))).1
        })
    }

    /// Whether the options that are not of keys can be wanted.
    #[inline]
    fn others_live(&self, source: Source) -> bool {
        match source {
            // Combinations that no object has.
            Source::Keys { .. } => self.outcome(0).is_some(),
            _ => true,
        }
    }
}

/// The values that a choice gives a node's parameters, in their order.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChosenValues {
    values: [Option<u8>; 1 + N_TYPES],
    from: usize,
    to: usize,
}

impl std::ops::Deref for ChosenValues {
    type Target = [Option<u8>];

    #[inline]
    fn deref(&self) -> &[Option<u8>] {
        &self.values[self.from..self.to]
    }
}

#[inline]
pub fn chosen_values(kind: NodeKind, choice: Choice, combinations: &Combinations) -> ChosenValues {
    let mut values = [None; 1 + N_TYPES];
    let (from, to) = match kind {
        NodeKind::Plain(_) => (0, 0),
        NodeKind::Relate => (0, 1),
        NodeKind::Add(..) => (0, 1),
        NodeKind::Filter(_) => (1, 1 + N_TYPES),
        NodeKind::RelateFilter(_) => (0, 1 + N_TYPES),
    };
    values[0] = Some(choice.relation);
    match kind {
        NodeKind::Add(..) => values[0] = Some(choice.combination as u8),
        NodeKind::Filter(_) | NodeKind::RelateFilter(_) => {
            values[1..].copy_from_slice(&combinations.get(choice.combination).values);
        }
        NodeKind::Plain(_) | NodeKind::Relate => {}
    }
    ChosenValues { values, from, to }
}

/// The values that a choice names, given those of a combination.
#[inline]
pub(super) fn named_by<D: Domain>(
    kind: NodeKind,
    choice: Choice,
    domain: &D,
    of_combination: impl FnOnce(u32) -> D::Values,
) -> D::Values {
    match kind {
        NodeKind::Filter(_) | NodeKind::RelateFilter(_) => of_combination(choice.combination),
        NodeKind::Add(_, kind) => domain.value(usize::from(kind), choice.combination as u8),
        NodeKind::Plain(_) | NodeKind::Relate => D::Values::default(),
    }
}
