//! A set of search states that failed, emptied in no time at the start of each attempt.

use crate::rng::mix;

const SLOTS: usize = 1 << 11;
/// Past this many states the set takes no more: a search then only forgets.
const MOST: usize = SLOTS / 2;

/// Open addressing over 128-bit hashes; a slot counts when it bears the current generation.
pub struct Memo {
    slots: Vec<(u32, u128)>,
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

    /// The start of a key. Keys are not verified: two states meet by chance once in 2^64 attempts.
    #[inline]
    pub fn key(a: u64, b: u64) -> u128 {
        Self::extend(u128::from(mix(a.wrapping_add(1))), b)
    }

    #[inline]
    pub fn extend(key: u128, word: u64) -> u128 {
        let low = mix(key as u64 ^ word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let high = mix((key >> 64) as u64 ^ word.rotate_left(32).wrapping_add(low));
        u128::from(high) << 64 | u128::from(low)
    }

    pub fn contains(&self, key: u128) -> bool {
        let mut slot = key as usize % SLOTS;
        while self.slots[slot].0 == self.generation {
            if self.slots[slot].1 == key {
                return true;
            }
            slot = (slot + 1) % SLOTS;
        }
        false
    }

    pub fn insert(&mut self, key: u128) {
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
