//! A choice of a template and the state it is met in, in; its options, one by one, out.
//!
//! Options are counted and numbered before any is left out for being unwanted: how many trivial
//! relations and absent combinations are offered must not depend on what is looked for.

use super::super::options::Combinations;
use super::super::template::{NodeKind, Tail};
use super::{QuestionRule, Searcher, Task};
use crate::program::execute::Facts;
use crate::rng::StateRng;
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

/// Where a choice takes its options from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Keys on a set; absent combinations after them (as many as `extra`).
    Keys {
        set: u32,
        tail: Tail,
        keys: u32,
        extra: u32,
    },
    /// An object's options that change the key's set, then trivial ones (as many as `extra`).
    Relations {
        object: u32,
        tail: Tail,
        options: u32,
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

impl Source {
    pub(super) fn count(&self) -> u32 {
        match *self {
            Self::Keys { keys, extra, .. } => keys + extra,
            Self::Relations { options, extra, .. } => options + extra,
            Self::Relation { .. } => RELATION_NAMES.len() as u32,
            Self::Values { count, .. } => count,
        }
    }
}

impl Searcher {
    /// Options that may mention the conjunction, by index: where a choice starts a description of its
    /// own, those whose combination names all of it.
    pub(super) fn list_mentioning(&mut self, task: &Task<'_>, at: usize, source: Source, indices: &mut Vec<u32>) {
        indices.clear();
        match source {
            Source::Keys { keys, extra, .. }
                if self.descriptions[usize::from(task.plan.nodes[at].inputs[0])] == Description::ANYTHING
                    && keys as usize == self.options.keys().len() =>
            {
                indices.extend(self.options.held().iter().map(|&key| u32::from(key)));
                indices.extend(keys..keys + extra);
            }
            Source::Relations { object, tail, options, extra } => {
                let lists = self.options.relate(object as usize);
                for &(size, index) in &lists.held {
                    if let Some(offset) = lists.offset(tail, size) {
                        indices.push((offset + usize::from(index)) as u32);
                    }
                }
                indices.extend(options..options + extra);
            }
            _ => indices.extend(0..source.count()),
        }
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
                let (keys, singles) = self.keys_and_singles(input, task.scene.everything());
                // As in CLEVR: absent combinations as many as there are options (`exist`), or options
                // that leave a single object (`count`, and sets, which never take the empty filter).
                let wanted = match tail {
                    Tail::Unique => 0,
                    Tail::Exist => keys,
                    Tail::Count => singles,
                    Tail::Set => singles - u32::from(input.count_ones() == 1),
                };
                let extra = wanted.min(self.options.combinations().count() - keys);
                let whole = tail == Tail::Unique && input == task.scene.everything();
                let keys = if whole { self.options.singles().len() as u32 } else { keys };
                Source::Keys { set: input, tail, keys, extra }
            }
            NodeKind::RelateFilter(tail) => {
                self.options.fill_relate(task.scene, input as usize);
                let lists = self.options.relate(input as usize);
                let (options, extra) = (lists.n_options(tail), lists.n_trivial_offered(tail));
                Source::Relations { object: input, tail, options: options as u32, extra: extra as u32 }
            }
            NodeKind::FilterOne(kind) => {
                Source::Values { set: input, kind, count: task.vocab.n_values(usize::from(kind)) as u32 }
            }
            NodeKind::Relate | NodeKind::Plain(_) => Source::Relation { object: input },
        }
    }

    pub(super) fn keys_and_singles(&self, set: u32, everything: u32) -> (u32, u32) {
        let keys = self.options.keys();
        let singles = if set == everything {
            self.options.singles().len()
        } else {
            keys.iter().filter(|key| (key.objects & set).count_ones() == 1).count()
        };
        (keys.len() as u32, singles as u32)
    }

    /// An option by number, None where it is none after all or is unwanted.
    #[inline]
    pub(super) fn pick(&mut self, task: &Task<'_>, at: usize, source: Source, index: u32) -> Option<Pick> {
        self.stats.options += 1;
        let node = &task.plan.nodes[at];
        let (choice, key_objects, set, types, bits, base) = match source {
            Source::Keys { set, tail, keys, extra } => {
                let base = self.descriptions[usize::from(node.inputs[0])];
                if index < keys {
                    let whole = tail == Tail::Unique && set == task.scene.everything();
                    let i = if whole { usize::from(self.options.singles()[index as usize]) } else { index as usize };
                    let key = self.options.keys()[i];
                    if tail == Tail::Set && key.types == 0 {
                        return None;
                    }
                    let choice = Choice { relation: 0, combination: key.combination };
                    (choice, key.objects, key.objects & set, key.types, key.bits, base)
                } else {
                    self.draw_absent(at, set, extra);
                    let combination = self.levels[at].extra[(index - keys) as usize];
                    let combinations = self.options.combinations();
                    let types = combinations.types(combination);
                    let bits = combinations.bits(combination, task.holdout);
                    (Choice { relation: 0, combination }, 0, 0, types, bits, base)
                }
            }
            Source::Relations { object, tail, options, .. } => {
                let option = if index < options {
                    self.options.relate(object as usize).option(tail, index as usize)
                } else {
                    self.draw_trivial(at, object, tail, (index - options) as usize)
                };
                let n_keys = self.options.keys().len() as u16;
                let key = self.options.keys()[usize::from(option % n_keys)];
                let relation = (option / n_keys) as u8;
                let set = key.objects & task.scene.related(usize::from(relation), object as usize);
                let choice = Choice { relation, combination: key.combination };
                (choice, key.objects, set, key.types, key.bits, Description::ANYTHING)
            }
            Source::Relation { object } => {
                let set = task.scene.related(index as usize, object as usize);
                (Choice { relation: index as u8, combination: 0 }, 0, set, 0, 0, Description::ANYTHING)
            }
            Source::Values { set, kind, .. } => {
                let objects = (task.scene, task.vocab).having(kind, index as u8);
                let bits = task.holdout.map_or(0, |h| h.bits(usize::from(kind), index as u8));
                let base = self.descriptions[usize::from(node.inputs[0])];
                (Choice { relation: 0, combination: index }, objects, objects & set, 0, bits, base)
            }
        };
        if types & node.forbidden != 0 {
            return None;
        }
        let output = reduce(node.kind, set)?;
        let (mut description, mut mentions) = (Description::ANYTHING, false);
        if let Some(holdout) = task.holdout {
            description = base.with(bits);
            mentions = holdout.is_mentioned_by(description);
            if mentions && task.rule == QuestionRule::Without {
                return None;
            }
        }
        Some(Pick { choice, key_objects, output, description, mentions })
    }

    /// Draws the absent combinations that a filter offers, once a state: `count` different ones.
    pub(super) fn draw_absent(&mut self, at: usize, set: u32, count: u32) {
        let level = &mut self.levels[at];
        if level.extra_is_drawn {
            return;
        }
        level.extra_is_drawn = true;
        level.extra.clear();
        let mut rng = StateRng::new(self.attempt_seed, at as u64, u64::from(set));
        self.options.draw_absent(count, &mut rng, &mut level.extra);
    }

    /// Draws the trivial options that a relation offers, once a state.
    pub(super) fn draw_trivial(&mut self, at: usize, object: u32, tail: Tail, index: usize) -> u16 {
        let lists = self.options.relate(object as usize);
        let level = &mut self.levels[at];
        if !level.extra_is_drawn {
            level.extra_is_drawn = true;
            level.extra.clear();
            level.extra.extend(lists.trivial(tail).map(u32::from));
            let wanted = lists.n_trivial_offered(tail);
            let mut rng = StateRng::new(self.attempt_seed, at as u64, u64::from(object));
            for i in 0..wanted {
                let other = i + rng.below((level.extra.len() - i) as u32) as usize;
                level.extra.swap(i, other);
            }
        }
        level.extra[index] as u16
    }
}

/// The values that a choice gives a node's parameters, in their order.
pub fn chosen_values(kind: NodeKind, choice: Choice, combinations: &Combinations) -> impl Iterator<Item = Option<u8>> {
    let relation = matches!(kind, NodeKind::Relate | NodeKind::RelateFilter(_)).then_some(Some(choice.relation));
    let one = matches!(kind, NodeKind::FilterOne(_)).then_some(Some(choice.combination as u8));
    let is_macro = matches!(kind, NodeKind::Filter(_) | NodeKind::RelateFilter(_));
    let values = std::array::from_fn::<_, N_TYPES, _>(|t| combinations.value(choice.combination, t));
    relation.into_iter().chain(one).chain(values.into_iter().filter(move |_| is_macro))
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
