//! A set of failed search states that is emptied in constant time at the start of each attempt.

use crate::rng::mix;

const SLOTS: usize = 1 << 11;
/// Maximum number of states; the set ignores any more, and then the search only repeats work.
const MOST: usize = SLOTS / 2;

/// A hash table with open addressing over 64-bit hashes. A slot is in use if it carries the current generation.
pub struct Memo {
    slots: Vec<(u32, u64)>,
    generation: u32,
    len: usize,
}

impl Default for Memo {
    fn default() -> Self {
        Self { slots: vec![(0, 0); SLOTS], generation: 0, len: 0 }
    }
}

impl Memo {
    pub fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.slots.fill((0, 0));
            self.generation = 1;
        }
        self.len = 0;
    }

    /// A key from two words; `extend` adds another. Keys are not verified: an attempt rarely has more than a hundred
    /// failed states, so two collide once in 2^50 attempts, and then the search only overlooks an option.
    #[inline]
    pub fn key(a: u64, b: u64) -> u64 {
        Self::extend(a.wrapping_add(1), b)
    }

    #[inline]
    pub fn extend(key: u64, word: u64) -> u64 {
        mix(key.rotate_left(32) ^ word.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[inline]
    pub fn contains(&self, key: u64) -> bool {
        self.slots[self.slot(key)].0 == self.generation
    }

    pub fn insert(&mut self, key: u64) {
        let slot = self.slot(key);
        if self.slots[slot].0 != self.generation && self.len < MOST {
            self.slots[slot] = (self.generation, key);
            self.len += 1;
        }
    }

    /// The slot of a key, or a free one if the key is not there.
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let mut slot = key as usize % SLOTS;
        while self.slots[slot].0 == self.generation && self.slots[slot].1 != key {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}
