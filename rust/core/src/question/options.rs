//! The options that a scene offers to choices of a template.
//!
//! A combination names a value or none for each type (3 x 9 x 3 x 4 combinations in CLEVR). Those that some object has
//! are the scene's keys. The options of an object's relations with the keys are counted once per scene, when a search
//! first needs them, and the counts are shared by all searches on the scene.

use super::groups::{Groups, Key, Leftovers, MAX_KEYS};
use super::template::Tail;
use crate::holdout::{Combinations, Holdout};
use crate::rng::StateRng;
use crate::scene::SceneView;
use crate::vocab::{RELATION_NAMES, Vocabulary};

/// Whether a relation and a key with these objects are a non-trivial option of a macro with this tail.
#[inline]
pub fn is_option(tail: Tail, objects: u32, related: u32) -> bool {
    let left = objects & related;
    left != objects
        && match tail {
            Tail::Count | Tail::Exist => true,
            Tail::Set => left != 0,
            Tail::Unique => left.count_ones() == 1,
        }
}

/// A scene's keys and what is derived from them; the buffers are reused from scene to scene.
#[derive(Clone, Debug)]
pub struct SceneOptions {
    combinations: Combinations,
    n_keys: usize,
    keys: Vec<Key>,
    /// For each combination, the last scene that had it as a key, and the key's number there.
    seen: Vec<(u32, u16)>,
    generation: u32,
    n_singles: usize,
    singles: Vec<u16>,
    pub(super) groups: Groups,
    /// Keys that name the whole held-out conjunction, whose bits are `full` (no key has these bits if nothing is held
    /// out).
    pub(super) held: Vec<u16>,
    full: u8,
    /// The sizes of the keys' sets of objects, one bit each.
    pub(super) sizes: u64,
    /// For each object, the leftovers of its relations, once they are needed.
    relate: Vec<Option<Leftovers>>,
    /// For each combination, the last drawing that gave it.
    drawn: Vec<u32>,
    drawing: u32,
}

impl SceneOptions {
    pub fn new(vocab: &Vocabulary, holdout: Option<&Holdout>) -> Self {
        let combinations = Combinations::new(vocab, |kind, value| holdout.map_or(0, |h| h.bits(kind, value)));
        let seen = vec![(0, 0); combinations.count() as usize];
        let drawn = vec![0; combinations.count() as usize];
        let no_key = Key { combination: 0, objects: 0, types: 0, bits: 0 };
        Self {
            combinations,
            n_keys: 0,
            keys: vec![no_key; MAX_KEYS],
            seen,
            generation: 0,
            n_singles: 0,
            singles: vec![0; MAX_KEYS],
            groups: Groups::default(),
            held: Vec::new(),
            full: holdout.map_or(u8::MAX, Holdout::full),
            sizes: 0,
            relate: Vec::new(),
            drawn,
            drawing: 0,
        }
    }

    /// Loads a scene.
    pub fn load(&mut self, scene: SceneView<'_>) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.seen.fill((0, 0));
            self.generation = 1;
        }
        self.list_keys(scene);
        self.held.clear();
        self.sizes = 0;
        let mut n_singles = 0;
        for (i, key) in (0..).zip(&self.keys[..self.n_keys]) {
            let size = key.objects.count_ones();
            self.sizes |= 1 << size;
            self.singles[n_singles] = i;
            n_singles += usize::from(size == 1);
            if key.bits == self.full {
                self.held.push(i);
            }
        }
        self.n_singles = n_singles;
        self.groups.fill(&self.keys[..self.n_keys]);
        self.relate.clear();
        self.relate.resize(scene.n_objects(), None);
    }

    /// Lists the combinations that objects have, in the order of their first occurrence.
    fn list_keys(&mut self, scene: SceneView<'_>) {
        let Self { combinations, keys, seen, generation, .. } = self;
        let mut n_keys = 0;
        for (object, values) in scene.attributes.iter().enumerate() {
            for (types, combination) in (0..).zip(combinations.of_object(*values)) {
                let (seen_in, key) = &mut seen[combination as usize];
                if *seen_in == *generation {
                    keys[usize::from(*key)].objects |= 1 << object;
                } else {
                    (*seen_in, *key) = (*generation, n_keys as u16);
                    let bits = combinations.get(combination).bits;
                    keys[n_keys] = Key { combination, objects: 1 << object, types, bits };
                    n_keys += 1;
                }
            }
        }
        self.n_keys = n_keys;
    }

    pub fn combinations(&self) -> &Combinations {
        &self.combinations
    }

    pub fn keys(&self) -> &[Key] {
        &self.keys[..self.n_keys]
    }

    /// Appends the trivial options of a macro with this tail, as `key * 4 + relation`: those where all objects of the
    /// key stand in the relation to `object`.
    pub fn list_trivial(&self, scene: SceneView<'_>, object: usize, tail: Tail, out: &mut Vec<u32>) {
        for relation in 0..RELATION_NAMES.len() {
            let unrelated = !scene.related(relation, object);
            for group in self.groups.iter() {
                let is_whole = group.objects & unrelated == 0;
                if is_whole && (tail != Tail::Unique || group.objects.count_ones() == 1) {
                    let pair = |key: u16| u32::from(key) * RELATION_NAMES.len() as u32 + relation as u32;
                    out.extend(self.groups.keys_of(group).map(pair));
                }
            }
        }
    }

    /// Keys that only one object has.
    pub fn singles(&self) -> &[u16] {
        &self.singles[..self.n_singles]
    }

    /// Draws `count` distinct combinations that no object has, or all of them if there are fewer.
    pub fn draw_absent(&mut self, count: u32, rng: &mut StateRng, out: &mut Vec<u32>) {
        let all = self.combinations.count();
        let absent = all - self.n_keys as u32;
        if 2 * count > absent {
            // More than half of them are needed: list all and shuffle the front.
            out.extend((0..all).filter(|&combination| self.seen[combination as usize].0 != self.generation));
            shuffle_front(out, count.min(absent), rng);
            return out.truncate(count as usize);
        }
        self.drawing = self.drawing.wrapping_add(1);
        while out.len() < count as usize {
            let combination = rng.below(all);
            let drawn = &mut self.drawn[combination as usize];
            if *drawn != self.drawing && self.seen[combination as usize].0 != self.generation {
                *drawn = self.drawing;
                out.push(combination);
            }
        }
    }

    /// The leftovers of an object's relations, computed once per scene.
    pub fn relate(&mut self, scene: SceneView<'_>, object: usize) -> Leftovers {
        let related = || std::array::from_fn(|relation| scene.related(relation, object));
        *self.relate[object].get_or_insert_with(|| self.groups.leftovers(related()))
    }

    /// The sizes of the keys' sets of objects, restricted to each of an object's relations, one bit each.
    pub fn sizes_related(&self, scene: SceneView<'_>, object: usize) -> u64 {
        let related: [u32; RELATION_NAMES.len()] = std::array::from_fn(|relation| scene.related(relation, object));
        self.groups.iter().fold(0, |sizes, group| {
            related.iter().fold(sizes, |sizes, related| sizes | 1 << (group.objects & related).count_ones())
        })
    }
}

/// Moves a random sample of `count` entries to the front of the list, in random order.
pub(super) fn shuffle_front(list: &mut [u32], count: u32, rng: &mut StateRng) {
    for i in 0..count as usize {
        let other = i + rng.below((list.len() - i) as u32) as usize;
        list.swap(i, other);
    }
}
