//! A scene's keys in, the sets of objects that they have out: each once, with its keys.
//!
//! Many keys have the same objects ("red", "red cube", "red metal thing"), and all that a search asks of a
//! key before it takes it depends on these alone.

use super::keys::{Key, MAX_KEYS};
use crate::vocab::RELATION_NAMES;

/// Where a set may be found by its hash: a power of two, more than there are sets.
const SLOTS: usize = 2 * MAX_KEYS;
/// Groups that are looked at all at once.
const LANES: usize = 4;

/// A set of objects, and how many keys have just these.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub objects: u32,
    pub n_keys: u32,
    first_key: u16,
}

/// The groups of one scene after another, in the order of their first keys.
#[derive(Clone, Debug)]
pub struct Groups {
    len: usize,
    /// Each group's objects and number of keys; after the last group, nothing up to a multiple of `LANES`.
    objects: Vec<u32>,
    n_keys: Vec<u32>,
    first_key: Vec<u16>,
    last_key: Vec<u16>,
    /// By key, the next of its group.
    next_key: Vec<u16>,
    /// The scene that a slot was last used in, and the group.
    slots: Vec<(u32, u16)>,
    scene: u32,
}

/// How many pairs of a relation and a key there are, by what an object's relation leaves of the key's
/// objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub nothing: u32,
    pub one: u32,
    pub more: u32,
    /// All, which are one or more.
    pub all_one: u32,
    pub all_more: u32,
    /// Objects that are left alone.
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

    /// The number of keys that leave a single object of a set.
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

    /// What an object's relations leave of the keys' objects.
    pub fn leftovers(&self, related: [u32; RELATION_NAMES.len()]) -> Leftovers {
        // Without a branch, and lane by lane: this runs for most objects of a scene.
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
