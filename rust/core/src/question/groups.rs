//! The keys of a scene (the combinations of values that its objects have), grouped by the objects that have them.
//!
//! Many keys have the same objects ("red", "red cube", "red metal thing"), and whether a search takes a key depends
//! almost entirely on its objects.

use super::template::Tail;
use crate::vocab::RELATION_NAMES;

/// Maximum number of keys: 15 for each of 32 objects, and the empty one, rounded up to a power of two.
pub const MAX_KEYS: usize = 1 << 9;
/// Slots of the hash table of groups: a power of two, more than there are groups.
const SLOTS: usize = 2 * MAX_KEYS;
/// Groups that are processed at once.
const LANES: usize = 4;

/// A combination of values that some object of the scene has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub combination: u32,
    /// The objects that have it.
    pub objects: u32,
    /// The types that it names, one bit each.
    pub types: u8,
    /// The bits of the held-out conjunction that its values have.
    pub bits: u8,
}

/// A set of objects, and the number of keys that have exactly these objects.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub objects: u32,
    pub n_keys: u32,
    first_key: u16,
}

/// The groups of one scene, in the order of their first keys; the buffers are reused for the next scene.
#[derive(Clone, Debug)]
pub struct Groups {
    len: usize,
    /// The objects and number of keys of each group; padded with zeros to a multiple of `LANES`.
    objects: Vec<u32>,
    n_keys: Vec<u32>,
    first_key: Vec<u16>,
    last_key: Vec<u16>,
    /// For each key, the next key of its group.
    next_key: Vec<u16>,
    /// For each slot, the scene that last used it, and the group.
    slots: Vec<(u32, u16)>,
    scene: u32,
}

/// Number of (relation of one object, key) pairs, by how many of the key's objects stand in the relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub nothing: u32,
    pub one: u32,
    pub more: u32,
    /// All of the key's objects: a single one here, several in `all_more`.
    pub all_one: u32,
    pub all_more: u32,
    /// Objects that some pair leaves as the only one.
    pub single_objects: u32,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            len: 0,
            objects: vec![0; MAX_KEYS],
            n_keys: vec![0; MAX_KEYS],
            first_key: vec![0; MAX_KEYS],
            last_key: vec![0; MAX_KEYS],
            next_key: vec![0; MAX_KEYS],
            slots: vec![(0, 0); SLOTS],
            scene: 0,
        }
    }
}

impl Leftovers {
    /// Whether any relation leaves objects of a key.
    #[inline]
    pub fn is_something(&self) -> bool {
        self.one + self.more + self.all_one + self.all_more != 0
    }

    /// Number of options of a macro with this tail, except trivial ones.
    #[inline]
    pub fn n_options(&self, tail: Tail) -> u32 {
        match tail {
            Tail::Unique => self.one,
            Tail::Set => self.one + self.more,
            Tail::Count | Tail::Exist => self.nothing + self.one + self.more,
        }
    }

    /// Number of trivial options that are offered as well: a tenth of all, or a ninth of the others, rounded.
    #[inline]
    pub fn n_trivial_offered(&self, tail: Tail) -> u32 {
        let trivial = if tail == Tail::Unique { self.all_one } else { self.all_one + self.all_more };
        ((2 * self.n_options(tail) + 9) / 18).min(trivial)
    }
}

impl Groups {
    /// Groups a scene's keys.
    pub fn fill(&mut self, keys: &[Key]) {
        self.scene = self.scene.wrapping_add(1);
        if self.scene == 0 {
            self.slots.fill((0, 0));
            self.scene = 1;
        }
        let Self { objects, n_keys, first_key, last_key, next_key, slots, scene, .. } = self;
        let mut len = 0;
        for (i, key) in (0..).zip(keys) {
            let mut slot = (key.objects.wrapping_mul(0x9e37_79b9) >> 16) as usize % SLOTS;
            let group = loop {
                let (used_in, group) = slots[slot];
                if used_in != *scene {
                    slots[slot] = (*scene, len as u16);
                    (objects[len], n_keys[len], first_key[len], last_key[len]) = (key.objects, 0, i, i);
                    len += 1;
                    break len - 1;
                }
                if objects[usize::from(group)] == key.objects {
                    break usize::from(group);
                }
                slot = (slot + 1) % SLOTS;
            };
            n_keys[group] += 1;
            next_key[usize::from(last_key[group])] = i;
            last_key[group] = i;
        }
        let end = len.next_multiple_of(LANES);
        objects[len..end].fill(0);
        n_keys[len..end].fill(0);
        self.len = len;
    }

    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Group> {
        let all = self.objects[..self.len].iter().zip(&self.n_keys).zip(&self.first_key);
        all.map(|((&objects, &n_keys), &first_key)| Group { objects, n_keys, first_key })
    }

    /// The keys of a group, in order.
    #[inline]
    pub fn keys_of(&self, group: Group) -> impl Iterator<Item = u16> {
        let mut next = group.first_key;
        (0..group.n_keys).map(move |_| {
            let key = next;
            next = self.next_key[usize::from(key)];
            key
        })
    }

    /// Number of keys that exactly one object of a set has.
    pub fn singles_on(&self, set: u32) -> u32 {
        self.lanes()
            .map(|(objects, n_keys)| {
                let of_lane = |lane: usize| {
                    let left = objects[lane] & set;
                    if left != 0 && left & left.wrapping_sub(1) == 0 { n_keys[lane] } else { 0 }
                };
                (0..LANES).map(of_lane).sum::<u32>()
            })
            .sum()
    }

    /// The leftovers of an object, given the objects that stand in each relation to it.
    pub fn leftovers(&self, related: [u32; RELATION_NAMES.len()]) -> Leftovers {
        // Branch-free and lane by lane, since this runs for most objects of a scene.
        let mut sums = [[0u32; LANES]; 6];
        for (objects, n_keys) in self.lanes() {
            for related in &related {
                for lane in 0..LANES {
                    let left = objects[lane] & related;
                    let of = |is_so: bool, word: u32| if is_so { word } else { 0 };
                    let (is_few, is_all) = (left & left.wrapping_sub(1) == 0, left == objects[lane]);
                    sums[0][lane] += n_keys[lane];
                    sums[1][lane] += of(left == 0, n_keys[lane]);
                    sums[2][lane] += of(is_few, n_keys[lane]);
                    sums[3][lane] += of(is_all, n_keys[lane]);
                    sums[4][lane] += of(is_few & is_all, n_keys[lane]);
                    sums[5][lane] |= of(is_few, left);
                }
            }
        }
        let [pairs, nothing, few, all, all_one, _] = sums.map(|lanes| lanes.iter().sum::<u32>());
        let single_objects = sums[5].iter().fold(0, |set, lane| set | lane);
        let all_more = all - all_one;
        Leftovers {
            nothing,
            one: few - nothing - all_one,
            more: pairs - few - all_more,
            all_one,
            all_more,
            single_objects,
        }
    }

    #[inline]
    fn lanes(&self) -> impl Iterator<Item = (&[u32; LANES], &[u32; LANES])> {
        let end = self.len.next_multiple_of(LANES);
        self.objects[..end].as_chunks().0.iter().zip(self.n_keys[..end].as_chunks().0)
    }
}
