//! A choice of a template and the state it is met in, in; its options, one by one, out.
//!
//! Options are counted and numbered before any is left out for being unwanted: how many trivial
//! relations and absent combinations are offered must not depend on what is looked for.

use super::super::options::{Combinations, Key, is_option};
use super::super::template::{NodeKind, Tail};
use super::{Living, QuestionRule, Searcher, Task};
use crate::program::execute::Facts;
use crate::rng::{StateRng, StreamRng};
use crate::split::Description;
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
    Values {
        set: u32,
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
    fn regular(&self) -> u32 {
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
    /// That it leads to a mention of the conjunction.
    pub mention: bool,
    /// Whether that has been mentioned before.
    pub mentioned: bool,
    pub living: Living,
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
        let Wanted { task, at, .. } = *wanted;
        let slots = source.slots();
        while *draws > 0 {
            *draws -= 1;
            self.stats.options += 1;
            let slot = rng.below(slots);
            let found = match source {
                // Most of these are none, which is seen here at once.
                Source::Relations { object, tail, pairs, .. } if slot < pairs => {
                    let (key, relation) = (&self.options.keys()[(slot / N_RELATIONS) as usize], slot % N_RELATIONS);
                    let related = task.scene.related(relation as usize, object as usize);
                    if !is_option(tail, key.objects, related) {
                        continue;
                    }
                    Found::key(relation, key, related, Description::ANYTHING)
                }
                _ if slot >= source.regular() && !wanted.admits_extra(source) => continue,
                _ => match self.slot(task, at, source, slot) {
                    Some(found) => found,
                    None => continue,
                },
            };
            if let Some(pick) = wanted.admit(found) {
                return Some(pick);
            }
        }
        None
    }

    /// The options wanted.
    pub(super) fn list(&mut self, source: Source, wanted: &Wanted<'_>, listed: &mut Vec<Pick>) {
        let Wanted { task, at, .. } = *wanted;
        listed.clear();
        let base = self.descriptions[usize::from(task.plan.nodes[at].inputs[0])];
        match source {
            Source::Keys { set, tail, .. } => {
                // Where a choice starts a description of its own, only keys that name all of the conjunction
                // mention it.
                let among = if wanted.mention && base == Description::ANYTHING { Among::Held } else { Among::All };
                let is_option = |key: &Key| tail != Tail::Set || key.types != 0;
                let offer = |key: &Key| is_option(key).then(|| Found::key(0, key, set, base));
                let lives = |objects: u32| wanted.lives(objects & set);
                self.list_keys(wanted, among, lives, offer, listed);
            }
            Source::Relations { object, tail, .. } => {
                let among = if wanted.mention { Among::Held } else { Among::All };
                for relation in 0..N_RELATIONS {
                    let related = task.scene.related(relation as usize, object as usize);
                    let lives = |objects: u32| is_option(tail, objects, related) && wanted.lives(objects & related);
                    let offer = |key: &Key| Some(Found::key(relation, key, related, base));
                    self.list_keys(wanted, among, lives, offer, listed);
                }
            }
            Source::Relation { .. } | Source::Values { .. } => {}
        }
        if !wanted.admits_extra(source) {
            return;
        }
        for slot in source.regular()..source.slots() {
            self.stats.options += 1;
            let found = self.slot(task, at, source, slot);
            listed.extend(found.and_then(|found| wanted.admit(found)));
        }
    }

    /// Lists keys, group by group: those of a group whose objects lead to something that lives.
    fn list_keys(
        &mut self,
        wanted: &Wanted<'_>,
        among: Among,
        lives: impl Fn(u32) -> bool,
        offer: impl Fn(&Key) -> Option<Found>,
        listed: &mut Vec<Pick>,
    ) {
        let options = &self.options;
        let mut count = 0;
        let admit = |&i: &u16| {
            count += 1;
            offer(&options.keys()[usize::from(i)]).and_then(|found| wanted.admit(found))
        };
        match among {
            Among::Held => {
                let held = options.held().iter();
                listed.extend(held.filter(|&&i| lives(options.keys()[usize::from(i)].objects)).filter_map(admit));
            }
            Among::All => {
                let living = options.groups().iter().filter(|group| lives(group.objects));
                listed.extend(living.flat_map(|group| options.keys_of(group)).filter_map(admit));
            }
        }
        self.stats.options += count;
    }

    /// The outcomes that options of a source can have, a bit each, or more; for outputs other than sets.
    pub(super) fn possible_outcomes(&self, task: &Task<'_>, source: Source) -> u64 {
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
                let options = self.options.relate(object as usize);
                match tail {
                    Tail::Unique => u64::from(options.single_objects),
                    Tail::Count => options.sizes,
                    Tail::Exist => exist(options.sizes),
                    Tail::Set => !0,
                }
            }
            Source::Relation { .. } | Source::Values { .. } => !0,
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
                let singles = || self.options.singles_on(input);
                // As in CLEVR: absent combinations as many as there are options (`exist`), or options
                // that leave a single object (`count`, and sets, which never take the empty filter).
                let wanted = match tail {
                    Tail::Unique => 0,
                    Tail::Exist => keys,
                    Tail::Count => singles(),
                    Tail::Set => singles() - u32::from(input.count_ones() == 1),
                };
                let extra = wanted.min(self.options.combinations().count() - keys);
                let whole = tail == Tail::Unique && input == task.scene.everything();
                let keys = if whole { self.options.singles().len() as u32 } else { keys };
                Source::Keys { set: input, tail, keys, extra }
            }
            NodeKind::RelateFilter(tail) => {
                self.options.fill_relate(task.scene, input as usize);
                let sums = self.options.relate(input as usize);
                Source::Relations {
                    object: input,
                    tail,
                    options: sums.n_options(tail),
                    pairs: N_RELATIONS * self.options.keys().len() as u32,
                    extra: sums.n_trivial_offered(tail),
                }
            }
            NodeKind::FilterOne(kind) => {
                Source::Values { set: input, kind, count: task.vocab.n_values(usize::from(kind)) as u32 }
            }
            NodeKind::Relate | NodeKind::Plain(_) => Source::Relation { object: input },
        }
    }

    /// The option in a slot, None where there is none.
    #[inline]
    fn slot(&mut self, task: &Task<'_>, at: usize, source: Source, slot: u32) -> Option<Found> {
        let base = self.descriptions[usize::from(task.plan.nodes[at].inputs[0])];
        Some(match source {
            Source::Keys { set, tail, keys, extra } => {
                if slot < keys {
                    let whole = tail == Tail::Unique && set == task.scene.everything();
                    let i = if whole { usize::from(self.options.singles()[slot as usize]) } else { slot as usize };
                    let key = &self.options.keys()[i];
                    if tail == Tail::Set && key.types == 0 {
                        return None;
                    }
                    Found::key(0, key, set, base)
                } else {
                    self.draw_absent(at, set, extra);
                    let combination = self.levels[at].extra[(slot - keys) as usize];
                    let named = self.options.combinations().get(combination);
                    Found {
                        choice: Choice { relation: 0, combination },
                        key_objects: 0,
                        set: 0,
                        types: named.types,
                        bits: named.bits,
                        base,
                    }
                }
            }
            Source::Relations { object, tail, pairs, .. } => {
                let is_trivial = slot >= pairs;
                let pair = if is_trivial { self.trivial(at, (object, tail), slot - pairs) } else { slot };
                let (key, relation) = (&self.options.keys()[(pair / N_RELATIONS) as usize], pair % N_RELATIONS);
                let related = task.scene.related(relation as usize, object as usize);
                if !is_trivial && !is_option(tail, key.objects, related) {
                    return None;
                }
                Found::key(relation, key, related, Description::ANYTHING)
            }
            Source::Relation { object } => Found {
                choice: Choice { relation: slot as u8, combination: 0 },
                key_objects: 0,
                set: task.scene.related(slot as usize, object as usize),
                types: 0,
                bits: 0,
                base: Description::ANYTHING,
            },
            Source::Values { set, kind, .. } => {
                let objects = (task.scene, task.vocab).having(kind, slot as u8);
                Found {
                    choice: Choice { relation: 0, combination: slot },
                    key_objects: objects,
                    set: objects & set,
                    types: 0,
                    bits: task.holdout.map_or(0, |h| h.bits(usize::from(kind), slot as u8)),
                    base,
                }
            }
        })
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

    /// One of the trivial options that a relation offers, which are drawn once a state.
    fn trivial(&mut self, at: usize, (object, tail): (u32, Tail), place: u32) -> u32 {
        let level = &mut self.levels[at];
        if !level.extra_is_drawn {
            level.extra_is_drawn = true;
            level.extra.clear();
            let trivial = self.options.trivial(object as usize, tail);
            level.extra.extend(trivial.map(|(relation, key)| u32::from(key) * N_RELATIONS + relation));
            let wanted = self.options.relate(object as usize).n_trivial_offered(tail) as usize;
            let mut rng = StateRng::new(self.attempt_seed, at as u64, u64::from(object));
            for i in 0..wanted {
                let other = i + rng.below((level.extra.len() - i) as u32) as usize;
                level.extra.swap(i, other);
            }
        }
        level.extra[place as usize]
    }
}

/// An option before it is known whether it is wanted.
struct Found {
    choice: Choice,
    key_objects: u32,
    /// What the filters leave.
    set: u32,
    types: u8,
    bits: u8,
    /// The description that the values named add to.
    base: Description,
}

impl Found {
    #[inline]
    fn key(relation: u32, key: &Key, among: u32, base: Description) -> Self {
        Self {
            choice: Choice { relation: relation as u8, combination: key.combination },
            key_objects: key.objects,
            set: key.objects & among,
            types: key.types,
            bits: key.bits,
            base,
        }
    }
}

impl Wanted<'_> {
    /// What an option does, None where it is not wanted.
    #[inline(always)]
    fn admit(&self, found: Found) -> Option<Pick> {
        let task = self.task;
        let node = &task.plan.nodes[self.at];
        let output = reduce(node.kind, found.set).filter(|&output| self.may_live(output))?;
        if found.types & node.forbidden != 0 {
            return None;
        }
        let (mut description, mut mentions) = (Description::ANYTHING, false);
        if let Some(holdout) = task.holdout {
            description = found.base.with(found.bits);
            mentions = holdout.is_mentioned_by(description);
            if mentions && task.rule == QuestionRule::Without {
                return None;
            }
        }
        let is_wanted = (mentions || !self.mention) && self.living.has(output, self.mentioned || mentions);
        let pick = Pick { choice: found.choice, key_objects: found.key_objects, output, description, mentions };
        is_wanted.then_some(pick)
    }

    #[inline(always)]
    fn may_live(&self, output: u32) -> bool {
        self.living.has(output, self.mentioned) || self.living.has(output, true)
    }

    /// Whether filters that leave these objects have an outcome that lives.
    #[inline(always)]
    fn lives(&self, left: u32) -> bool {
        reduce(self.task.plan.nodes[self.at].kind, left).is_some_and(|output| self.may_live(output))
    }

    /// Whether what a source offers beyond its regular options can be wanted.
    #[inline]
    fn admits_extra(&self, source: Source) -> bool {
        match source {
            // Combinations that no object has.
            Source::Keys { .. } => self.lives(0),
            _ => true,
        }
    }
}

/// The values that a choice gives a node's parameters, in their order.
#[derive(Clone, Copy, Debug)]
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
        NodeKind::FilterOne(_) => (0, 1),
        NodeKind::Filter(_) => (1, 1 + N_TYPES),
        NodeKind::RelateFilter(_) => (0, 1 + N_TYPES),
    };
    values[0] = Some(choice.relation);
    match kind {
        NodeKind::FilterOne(_) => values[0] = Some(choice.combination as u8),
        NodeKind::Filter(_) | NodeKind::RelateFilter(_) => {
            values[1..].copy_from_slice(&combinations.get(choice.combination).values);
        }
        NodeKind::Plain(_) | NodeKind::Relate => {}
    }
    ChosenValues { values, from, to }
}

/// What a node with a choice gives for the set that its filters leave; None where it has no value.
#[inline]
pub(super) fn reduce(kind: NodeKind, set: u32) -> Option<u32> {
    match kind {
        NodeKind::Filter(tail) | NodeKind::RelateFilter(tail) => match tail {
            Tail::Set => Some(set),
            Tail::Unique => (set.count_ones() == 1).then(|| set.trailing_zeros()),
            Tail::Count => Some(set.count_ones()),
            Tail::Exist => Some(u32::from(set != 0)),
        },
        _ => Some(set),
    }
}
