//! A scene in, the combinations of values that its objects show out, ready to be drawn from.
//!
//! A combination names a value or none for each type (3 x 9 x 3 x 4 of them in CLEVR). Those that
//! some object has are the scene's keys. How many options each object's relations have with them, and
//! of which kind, is summed up once a scene, when a search first asks for it, and shared by all
//! searches on the scene.

use super::template::Tail;
use crate::rng::StateRng;
use crate::scene::SceneView;
use crate::split::Holdout;
use crate::vocab::{N_TYPES, RELATION_NAMES, Vocabulary};

/// More than there are keys in the largest scene, a power of two.
const GROUP_SLOTS: usize = 1 << 10;

/// A combination that some object of the scene has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub combination: u32,
    /// The objects that have it.
    pub objects: u32,
    /// The types that it names, a bit a type.
    pub types: u8,
    /// The held-out conjunction's values that it names.
    pub bits: u8,
}

/// How combinations are numbered: mixed radix over types, 0 for a type left unset.
#[derive(Clone, Debug)]
pub struct Combinations {
    stride: [u32; N_TYPES],
    /// By combination.
    table: Vec<Combination>,
}

/// What a combination names.
#[derive(Clone, Copy, Debug)]
pub struct Combination {
    /// The value of each type, None where it is unset.
    pub values: [Option<u8>; N_TYPES],
    /// The types named, a bit a type.
    pub types: u8,
    /// The held-out conjunction's values named.
    pub bits: u8,
}

impl Combinations {
    pub fn new(vocab: &Vocabulary, holdout: Option<&Holdout>) -> Self {
        let mut stride = [0; N_TYPES];
        let mut count = 1;
        let radix: [u32; N_TYPES] = std::array::from_fn(|kind| vocab.n_values(kind) as u32 + 1);
        for (kind, &radix) in radix.iter().enumerate() {
            stride[kind] = count;
            count *= radix;
        }
        let named = |combination: u32| {
            let values: [Option<u8>; N_TYPES] = std::array::from_fn(|kind| {
                (combination / stride[kind] % radix[kind]).checked_sub(1).map(|value| value as u8)
            });
            let (mut types, mut bits) = (0, 0);
            for (kind, value) in values.iter().enumerate() {
                if let Some(value) = *value {
                    types |= 1 << kind;
                    bits |= holdout.map_or(0, |h| h.bits(kind, value));
                }
            }
            Combination { values, types, bits }
        };
        Self { stride, table: (0..count).map(named).collect() }
    }

    /// Number of combinations, the empty one included.
    pub fn count(&self) -> u32 {
        self.table.len() as u32
    }

    #[inline]
    pub fn get(&self, combination: u32) -> &Combination {
        &self.table[combination as usize]
    }

    /// For each set of types, a bit a type, the combination that names an object's values of them.
    #[inline]
    fn of_object(&self, values: [u8; N_TYPES]) -> [u32; 1 << N_TYPES] {
        let mut all = [0; 1 << N_TYPES];
        for (kind, value) in values.into_iter().enumerate() {
            let part = (u32::from(value) + 1) * self.stride[kind];
            for types in 0..1 << kind {
                all[1 << kind | types] = all[types] + part;
            }
        }
        all
    }
}

/// What an option leaves of its key's set: whether it changes the set, and how much is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    One,
    More,
    /// The set as it was: a trivial option.
    AllOne,
    AllMore,
}
const N_LEFT: usize = 5;
/// `Left` by whether the set is unchanged (3) and by the size left, up to 2.
const LEFT: [Left; 6] = [Left::Nothing, Left::One, Left::More, Left::AllMore, Left::AllOne, Left::AllMore];
/// Bits of a counter of options: 32 objects have at most 481 keys, and each 4 relations.
const COUNTER: u32 = 12;

/// What a relation leaves of a key's objects.
#[inline]
fn left(objects: u32, related: u32) -> Left {
    let left = objects & related;
    LEFT[usize::from(left == objects) * 3 + left.count_ones().min(2) as usize]
}

/// A set of objects, and the keys that have just these.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub objects: u32,
    n_keys: u16,
    /// Where its keys start among the keys by group.
    start: u16,
}

/// What the relations of one object leave of the keys, summed up; an option is a relation and a key.
#[derive(Clone, Debug, Default)]
pub struct RelateOptions {
    is_filled: bool,
    /// Groups whose objects a relation leaves as they are: `relation * n_groups + group`.
    trivial: Vec<u16>,
    /// Options by what they leave.
    lens: [u32; N_LEFT],
    /// Objects that options with one result lead to, and sizes of results (a bit a size).
    pub single_objects: u32,
    pub sizes: u64,
}

impl RelateOptions {
    /// Number of options that a macro with this tail has, trivial ones apart.
    #[inline]
    pub fn n_options(&self, tail: Tail) -> u32 {
        let [none, one, many, ..] = self.lens;
        match tail {
            Tail::Unique => one,
            Tail::Set => one + many,
            Tail::Count | Tail::Exist => none + one + many,
        }
    }

    /// How many trivial options join the others: a tenth of all, a ninth of the others, rounded.
    #[inline]
    pub fn n_trivial_offered(&self, tail: Tail) -> u32 {
        let [.., one, more] = self.lens;
        let trivial = if tail == Tail::Unique { one } else { one + more };
        ((2 * self.n_options(tail) + 9) / 18).min(trivial)
    }

    fn fill(&mut self, scene: SceneView<'_>, object: usize, groups: &[Group]) {
        let (mut lens, mut single_objects, mut sizes) = (0u64, 0, 0u64);
        self.trivial.resize(RELATION_NAMES.len() * groups.len() + 1, 0);
        let mut n_trivial = 0;
        for relation in 0..RELATION_NAMES.len() {
            let related = scene.related(relation, object);
            for (i, group) in groups.iter().enumerate() {
                let left = group.objects & related;
                let size = left.count_ones();
                // Without a branch, and one word holds all counters: this runs for most objects of a scene.
                let is_trivial = left == group.objects;
                let class = LEFT[usize::from(is_trivial) * 3 + size.min(2) as usize];
                lens += u64::from(group.n_keys) << (class as u32 * COUNTER);
                sizes |= 1 << size;
                single_objects |= if size == 1 { left } else { 0 };
                self.trivial[n_trivial] = (relation * groups.len() + i) as u16;
                n_trivial += usize::from(is_trivial);
            }
        }
        self.trivial.truncate(n_trivial);
        self.lens = std::array::from_fn(|class| (lens >> (class as u32 * COUNTER)) as u32 & ((1 << COUNTER) - 1));
        (self.is_filled, self.single_objects, self.sizes) = (true, single_objects, sizes);
    }
}

/// Whether an option that leaves this of its key's objects is one of a macro's, trivial ones apart.
#[inline]
pub fn is_option(tail: Tail, objects: u32, related: u32) -> bool {
    match left(objects, related) {
        Left::Nothing => matches!(tail, Tail::Count | Tail::Exist),
        Left::One => true,
        Left::More => tail != Tail::Unique,
        Left::AllOne | Left::AllMore => false,
    }
}

/// A scene's keys and what is derived from them, in buffers that serve one scene after another.
#[derive(Clone, Debug)]
pub struct SceneOptions {
    combinations: Combinations,
    keys: Vec<Key>,
    /// By combination: the scene in which it was last a key, and its key there.
    seen: Vec<(u32, u16)>,
    generation: u32,
    singles: Vec<u16>,
    /// The keys' sets of objects, each once; where a set is found by its hash; each key's group.
    groups: Vec<Group>,
    group_slots: Vec<(u32, u16)>,
    group_of: Vec<u16>,
    /// Keys by group.
    grouped: Vec<u16>,
    /// Keys that name the whole held-out conjunction, whose bits are `full` (no key's bits where nothing is held out).
    held: Vec<u16>,
    full: u8,
    sizes: u64,
    relate: Vec<RelateOptions>,
    /// By combination: the last drawing that gave it.
    drawn: Vec<u32>,
    drawing: u32,
}

impl SceneOptions {
    pub fn new(vocab: &Vocabulary, holdout: Option<&Holdout>) -> Self {
        let combinations = Combinations::new(vocab, holdout);
        let seen = vec![(0, 0); combinations.count() as usize];
        let drawn = vec![0; combinations.count() as usize];
        Self {
            combinations,
            keys: Vec::new(),
            seen,
            generation: 0,
            singles: Vec::new(),
            groups: Vec::new(),
            group_slots: vec![(0, 0); GROUP_SLOTS],
            group_of: Vec::new(),
            grouped: Vec::new(),
            held: Vec::new(),
            full: holdout.map_or(u8::MAX, Holdout::full),
            sizes: 0,
            relate: Vec::new(),
            drawn,
            drawing: 0,
        }
    }

    /// Turns to a scene.
    pub fn load(&mut self, scene: SceneView<'_>) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.seen.fill((0, 0));
            self.group_slots.fill((0, 0));
            self.generation = 1;
        }
        self.keys.clear();
        for (object, values) in scene.attributes.iter().enumerate() {
            for combination in self.combinations.of_object(*values) {
                let seen = &mut self.seen[combination as usize];
                if seen.0 == self.generation {
                    self.keys[usize::from(seen.1)].objects |= 1 << object;
                } else {
                    *seen = (self.generation, self.keys.len() as u16);
                    let named = self.combinations.get(combination);
                    self.keys.push(Key { combination, objects: 1 << object, types: named.types, bits: named.bits });
                }
            }
        }
        self.singles.clear();
        self.held.clear();
        self.sizes = 0;
        for (i, key) in self.keys.iter().enumerate() {
            let size = key.objects.count_ones();
            self.sizes |= 1 << size;
            if size == 1 {
                self.singles.push(i as u16);
            }
            if key.bits == self.full {
                self.held.push(i as u16);
            }
        }
        self.group();
        self.relate.resize_with(self.relate.len().max(scene.n_objects()), RelateOptions::default);
        self.relate.iter_mut().for_each(|options| options.is_filled = false);
    }

    /// Groups the keys by their objects.
    fn group(&mut self) {
        self.groups.clear();
        self.group_of.clear();
        for key in &self.keys {
            let mut slot = (key.objects.wrapping_mul(0x9e37_79b9) >> 16) as usize % GROUP_SLOTS;
            let group = loop {
                let (generation, group) = &mut self.group_slots[slot];
                if *generation != self.generation {
                    (*generation, *group) = (self.generation, self.groups.len() as u16);
                    self.groups.push(Group { objects: key.objects, n_keys: 0, start: 0 });
                }
                if self.groups[usize::from(*group)].objects == key.objects {
                    break *group;
                }
                slot = (slot + 1) % GROUP_SLOTS;
            };
            self.groups[usize::from(group)].n_keys += 1;
            self.group_of.push(group);
        }
        let mut start = 0;
        for group in &mut self.groups {
            group.start = start;
            start += group.n_keys;
            group.n_keys = 0;
        }
        self.grouped.resize(self.keys.len(), 0);
        for (key, &group) in (0..).zip(&self.group_of) {
            let group = &mut self.groups[usize::from(group)];
            self.grouped[usize::from(group.start + group.n_keys)] = key;
            group.n_keys += 1;
        }
    }

    pub fn combinations(&self) -> &Combinations {
        &self.combinations
    }

    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The keys' sets of objects, each once.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The number of keys that leave a single object of a set.
    pub fn singles_on(&self, set: u32) -> u32 {
        let groups = self.groups.iter().filter(|group| (group.objects & set).count_ones() == 1);
        groups.map(|group| u32::from(group.n_keys)).sum()
    }

    /// The keys of a group.
    pub fn keys_of(&self, group: &Group) -> &[u16] {
        &self.grouped[usize::from(group.start)..usize::from(group.start + group.n_keys)]
    }

    /// An object's relations and keys that a macro with this tail may offer though the relation leaves the
    /// key's objects as they are.
    pub fn trivial(&self, object: usize, tail: Tail) -> impl Iterator<Item = (u32, u16)> {
        let groups = self.relate[object].trivial.iter().map(|&i| usize::from(i));
        let groups = groups.map(|i| (i / self.groups.len(), &self.groups[i % self.groups.len()]));
        let offered = groups.filter(move |(_, group)| tail != Tail::Unique || group.objects.count_ones() == 1);
        offered.flat_map(|(relation, group)| self.keys_of(group).iter().map(move |&key| (relation as u32, key)))
    }

    /// Keys that a single object has.
    pub fn singles(&self) -> &[u16] {
        &self.singles
    }

    /// Sizes of the keys' sets, a bit a size.
    pub fn sizes(&self) -> u64 {
        self.sizes
    }

    /// Whether some object has the combination.
    #[inline]
    pub fn is_key(&self, combination: u32) -> bool {
        self.seen[combination as usize].0 == self.generation
    }

    /// Keys that name the whole held-out conjunction.
    pub fn held(&self) -> &[u16] {
        &self.held
    }

    /// Draws `count` different combinations that no object has; at most as many as there are.
    pub fn draw_absent(&mut self, count: u32, rng: &mut StateRng, out: &mut Vec<u32>) {
        let all = self.combinations.count();
        let absent = all - self.keys.len() as u32;
        if 2 * count > absent {
            // Most of them: list, then shuffle the front.
            out.extend((0..all).filter(|&combination| !self.is_key(combination)));
            for i in 0..count.min(absent) as usize {
                let other = i + rng.below((out.len() - i) as u32) as usize;
                out.swap(i, other);
            }
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

    /// Sums up an object's options, once a scene.
    pub fn fill_relate(&mut self, scene: SceneView<'_>, object: usize) {
        let options = &mut self.relate[object];
        if !options.is_filled {
            options.fill(scene, object, &self.groups);
        }
    }

    /// An object's options; `fill_relate` comes first.
    #[inline]
    pub fn relate(&self, object: usize) -> &RelateOptions {
        &self.relate[object]
    }
}
