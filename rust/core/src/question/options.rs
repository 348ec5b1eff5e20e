//! A scene in, the combinations of values that its objects show out, ready to be drawn from.
//!
//! A combination names a value or none for each type (3 x 9 x 3 x 4 of them in CLEVR). Those that
//! some object has are the scene's keys. What each object's relations leave of each key is listed
//! once a scene, when a search first asks for it, and shared by all searches on the scene.

use super::template::Tail;
use crate::rng::StateRng;
use crate::scene::SceneView;
use crate::split::Holdout;
use crate::vocab::{N_TYPES, Vocabulary};

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
    radix: [u32; N_TYPES],
    stride: [u32; N_TYPES],
    count: u32,
}

impl Combinations {
    pub fn new(vocab: &Vocabulary) -> Self {
        let mut stride = [0; N_TYPES];
        let mut count = 1;
        let radix = std::array::from_fn(|kind| vocab.n_values(kind) as u32 + 1);
        for (kind, &radix) in radix.iter().enumerate() {
            stride[kind] = count;
            count *= radix;
        }
        Self { radix, stride, count }
    }

    /// Number of combinations, the empty one included.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The combination's value of a type, None where it is unset.
    #[inline]
    pub fn value(&self, combination: u32, kind: usize) -> Option<u8> {
        (combination / self.stride[kind] % self.radix[kind]).checked_sub(1).map(|value| value as u8)
    }

    /// The types that a combination names, a bit a type.
    #[inline]
    pub fn types(&self, combination: u32) -> u8 {
        (0..N_TYPES).fold(0, |types, kind| types | u8::from(self.value(combination, kind).is_some()) << kind)
    }

    /// The held-out values that a combination names.
    pub fn bits(&self, combination: u32, holdout: Option<&Holdout>) -> u8 {
        let Some(holdout) = holdout else { return 0 };
        (0..N_TYPES)
            .filter_map(|kind| self.value(combination, kind).map(|value| holdout.bits(kind, value)))
            .fold(0, |all, bits| all | bits)
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
const LEFT: [u8; 6] = [
    Left::Nothing as u8,
    Left::One as u8,
    Left::More as u8,
    Left::AllMore as u8,
    Left::AllOne as u8,
    Left::AllMore as u8,
];

/// What the relations of one object leave of each key. An option is `relation * n_keys + key`.
#[derive(Clone, Debug, Default)]
pub struct RelateOptions {
    is_filled: bool,
    /// Options by what they leave, a stretch of `room` each.
    listed: Vec<u16>,
    room: usize,
    lens: [usize; N_LEFT],
    /// Objects that options with one result lead to, and sizes of results (a bit a size).
    pub single_objects: u32,
    pub sizes: u64,
    /// Options that change the key's set and name the whole held-out conjunction: the size of what
    /// they leave (2 for more) and their place among options of that size.
    pub held: Vec<(u8, u16)>,
}

impl RelateOptions {
    /// Number of options that a macro with this tail has, trivial ones apart.
    #[inline]
    pub fn n_options(&self, tail: Tail) -> usize {
        let [none, one, many, ..] = self.lens;
        match tail {
            Tail::Unique => one,
            Tail::Set => one + many,
            Tail::Count | Tail::Exist => none + one + many,
        }
    }

    /// Options that leave the key's set as it is, in the order in which they are drawn from.
    pub fn trivial(&self, tail: Tail) -> impl Iterator<Item = u16> {
        let more: &[u16] = if tail == Tail::Unique { &[] } else { self.list(Left::AllMore) };
        self.list(Left::AllOne).iter().chain(more).copied()
    }

    /// How many trivial options join the others: a tenth of all, a ninth of the others, rounded.
    #[inline]
    pub fn n_trivial_offered(&self, tail: Tail) -> usize {
        let [.., one, more] = self.lens;
        let trivial = if tail == Tail::Unique { one } else { one + more };
        ((2 * self.n_options(tail) + 9) / 18).min(trivial)
    }

    /// Where the options that leave `size` objects (2 for more) start among a macro's options.
    #[inline]
    pub fn offset(&self, tail: Tail, size: u8) -> Option<usize> {
        let [none, one, ..] = self.lens;
        let before_one = if matches!(tail, Tail::Count | Tail::Exist) { none } else { 0 };
        match (tail, size) {
            (Tail::Count | Tail::Exist, 0) => Some(0),
            (_, 0) => None,
            (_, 1) => Some(before_one),
            (Tail::Unique, _) => None,
            _ => Some(before_one + one),
        }
    }

    /// A macro's option by number.
    #[inline]
    pub fn option(&self, tail: Tail, index: usize) -> u16 {
        let [none, one, ..] = self.lens;
        let mut index = index;
        if matches!(tail, Tail::Count | Tail::Exist) {
            if index < none {
                return self.listed[index];
            }
            index -= none;
        }
        if index < one { self.listed[self.room + index] } else { self.listed[2 * self.room + index - one] }
    }

    fn list(&self, left: Left) -> &[u16] {
        let start = left as usize * self.room;
        &self.listed[start..start + self.lens[left as usize]]
    }

    fn fill(&mut self, scene: SceneView<'_>, object: usize, keys: &[Key], full: u8) {
        self.is_filled = true;
        let n_relations = scene.related.len() / scene.n_objects().max(1);
        self.room = n_relations * keys.len();
        self.listed.resize(self.listed.len().max(N_LEFT * self.room), 0);
        self.held.clear();
        let (mut lens, mut single_objects, mut sizes) = ([0; N_LEFT], 0, 0u64);
        let mut option = 0u16;
        for relation in 0..n_relations {
            let related = scene.related(relation, object);
            for key in keys {
                let left = key.objects & related;
                let size = left.count_ones();
                let unchanged = left == key.objects;
                // Written for every option without a branch: this runs for every object of a scene.
                let class = usize::from(LEFT[usize::from(unchanged) * 3 + size.min(2) as usize]);
                let len = &mut lens[class];
                self.listed[class * self.room + *len] = option;
                if key.bits == full && !unchanged {
                    self.held.push((size.min(2) as u8, *len as u16));
                }
                *len += 1;
                sizes |= 1 << size;
                single_objects |= if size == 1 { left } else { 0 };
                option += 1;
            }
        }
        (self.lens, self.single_objects, self.sizes) = (lens, single_objects, sizes);
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
    pub fn new(vocab: &Vocabulary) -> Self {
        let combinations = Combinations::new(vocab);
        let seen = vec![(0, 0); combinations.count() as usize];
        let drawn = vec![0; combinations.count() as usize];
        Self {
            combinations,
            keys: Vec::new(),
            seen,
            generation: 0,
            singles: Vec::new(),
            held: Vec::new(),
            full: 0,
            sizes: 0,
            relate: Vec::new(),
            drawn,
            drawing: 0,
        }
    }

    /// Turns to a scene.
    pub fn load(&mut self, scene: SceneView<'_>, holdout: Option<&Holdout>) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.seen.fill((0, 0));
            self.generation = 1;
        }
        self.keys.clear();
        for (object, values) in scene.attributes.iter().enumerate() {
            let mut bits = [0u8; N_TYPES];
            let mut parts = [0u32; N_TYPES];
            for kind in 0..N_TYPES {
                parts[kind] = (u32::from(values[kind]) + 1) * self.combinations.stride[kind];
                bits[kind] = holdout.map_or(0, |h| h.bits(kind, values[kind]));
            }
            for types in 0..1u8 << N_TYPES {
                let mut combination = 0;
                let mut named = 0;
                for kind in 0..N_TYPES {
                    if types >> kind & 1 == 1 {
                        combination += parts[kind];
                        named |= bits[kind];
                    }
                }
                let seen = &mut self.seen[combination as usize];
                if seen.0 == self.generation {
                    self.keys[usize::from(seen.1)].objects |= 1 << object;
                } else {
                    *seen = (self.generation, self.keys.len() as u16);
                    self.keys.push(Key { combination, objects: 1 << object, types, bits: named });
                }
            }
        }
        self.singles.clear();
        self.held.clear();
        self.full = holdout.map_or(u8::MAX, Holdout::full);
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
        self.relate.resize_with(self.relate.len().max(scene.n_objects()), RelateOptions::default);
        self.relate.iter_mut().for_each(|options| options.is_filled = false);
    }

    pub fn combinations(&self) -> &Combinations {
        &self.combinations
    }

    pub fn keys(&self) -> &[Key] {
        &self.keys
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

    /// Lists an object's options, once a scene.
    pub fn fill_relate(&mut self, scene: SceneView<'_>, object: usize) {
        let options = &mut self.relate[object];
        if !options.is_filled {
            options.fill(scene, object, &self.keys, self.full);
        }
    }

    /// An object's options; `fill_relate` comes first.
    #[inline]
    pub fn relate(&self, object: usize) -> &RelateOptions {
        &self.relate[object]
    }
}
