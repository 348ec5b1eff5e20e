//! A set of search states that failed, emptied in no time at the start of each attempt.

use crate::rng::mix;

const SLOTS: usize = 1 << 11;
/// Past this many states the set takes no more: a search then only forgets.
const MOST: usize = SLOTS / 2;

/// Open addressing over 64-bit hashes; a slot counts when it bears the current generation.
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

    /// The start of a key. Keys are not verified: of an attempt's failed states, rarely more than a hundred,
    /// two meet by chance once in 2^50 attempts, and then only an option is overlooked.
    #[inline]
    pub fn key(a: u64, b: u64) -> u64 {
        Self::extend(a.wrapping_add(1), b)
    }

    #[inline]
    pub fn extend(key: u64, word: u64) -> u64 {
        mix(key.rotate_left(32) ^ word.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub fn contains(&self, key: u64) -> bool {
        let mut slot = key as usize % SLOTS;
        while self.slots[slot].0 == self.generation {
            if self.slots[slot].1 == key {
                return true;
            }
            slot = (slot + 1) % SLOTS;
        }
        false
    }

    pub fn insert(&mut self, key: u64) {
        if self.len == MOST {
            return;
        }
        let mut slot = key as usize % SLOTS;
        while self.slots[slot].0 == self.generation {
            if self.slots[slot].1 == key {
                return;
            }
            slot = (slot + 1) % SLOTS;
        }
        self.slots[slot] = (self.generation, key);
        self.len += 1;
    }
}
