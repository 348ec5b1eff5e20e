//! Randomness as a function of (key, stream, index): a hash names a stream, a small generator runs it.
//!
//! The draws below are written out rather than taken from `rand`, whose distributions may change
//! between versions: what they return is part of the dataset's definition.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Names a stream: a hash of everything that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamKey([u8; 32]);

impl StreamKey {
    /// A key from its parts; lengths are hashed too, so ("ab", "c") differs from ("a", "bc").
    pub fn new(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("clevrhope stream v1");
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The key as bytes, from which the keys of other streams are derived.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The generator for one index of this stream.
    pub fn at(&self, index: u64) -> StreamRng {
        let hash = blake3::keyed_hash(&self.0, &index.to_le_bytes());
        StreamRng(Xoshiro256PlusPlus::from_seed(*hash.as_bytes()))
    }
}

/// A portable generator (xoshiro256++) with the few draws that the engine needs.
#[derive(Clone, Debug)]
pub struct StreamRng(Xoshiro256PlusPlus);

impl StreamRng {
    /// Uniform over all 64-bit words.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`; 0 for `n` of 0 or 1. Unbiased (Lemire's method).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        below(n, || self.word())
    }

    /// Uniform in `[0, 1)`, 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `[low, high)`.
    #[inline]
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with probability one half.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.word() >> 63 == 1
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

/// Rounds of a permutation: six times the binary logarithm of the largest number of places that a pool may have.
const ROUNDS: usize = 192;

/// A seeded permutation of `0..n` whose entries are computed one at a time, without a table: a swap-or-not shuffle.
///
/// In each round, two places are paired if their sum is a drawn number modulo n, and each pair has its own bit that
/// decides whether it is swapped. Source: Hoang, Morris and Rogaway, "An Enciphering Scheme Based on a Card Shuffle"
/// (2012).
#[derive(Clone, Debug)]
pub struct Permutation {
    /// For each round, the sum of each pair, and the seed of the pairs' bits.
    rounds: Vec<(u32, u64)>,
    n: u32,
}

impl Permutation {
    pub fn new(key: &StreamKey, n: u32) -> Self {
        let mut rng = key.at(0);
        Self { rounds: (0..ROUNDS).map(|_| (rng.below(n), rng.word())).collect(), n }
    }

    /// The place that the permutation moves `place` to; both are below `n`.
    pub fn at(&self, place: u32) -> u32 {
        debug_assert!(place < self.n);
        self.rounds.iter().fold(place, |place, &(sum, bits)| {
            let partner = if sum >= place { sum - place } else { sum + (self.n - place) };
            let swaps = mix(u64::from(place.max(partner)) ^ bits) >> 63 == 1;
            if swaps { partner } else { place }
        })
    }
}

/// A generator with one word of state (SplitMix64), for draws that must come out the same each time that a search
/// reaches a state: cheap to start, and seeded from what identifies the state.
#[derive(Clone, Debug)]
pub struct StateRng(u64);

impl StateRng {
    /// A generator from a seed and what identifies the state.
    #[inline]
    pub fn new(seed: u64, place: u64, state: u64) -> Self {
        Self(mix(seed ^ mix(place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(state))))
    }

    /// Uniform over all 64-bit words.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in `0..n`; 0 for `n` of 0 or 1.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        below(n, || self.word())
    }
}

/// Uniform in `0..n` without bias (Lemire's method), from a source of words.
#[inline]
fn below(n: u32, mut word: impl FnMut() -> u64) -> u32 {
    if n <= 1 {
        return 0;
    }
    let n = u64::from(n);
    let mut product = (word() >> 32) * n;
    if (product & 0xffff_ffff) < n {
        let threshold = (1u64 << 32) % n;
        while (product & 0xffff_ffff) < threshold {
            product = (word() >> 32) * n;
        }
    }
    (product >> 32) as u32
}

/// The finaliser of SplitMix64: a bijection that spreads every bit.
#[inline]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        assert_ne!(StreamKey::new(&[b"ab", b"c"]), StreamKey::new(&[b"a", b"bc"]));
    }

    #[test]
    fn a_stream_is_a_function_of_key_and_index() {
        let key = StreamKey::new(&[b"train"]);
        assert_eq!(key.at(7).word(), key.at(7).word());
        assert_ne!(key.at(7).word(), key.at(8).word());
        // Guards the stream itself: a change here changes every dataset.
        assert_eq!(StreamKey::new(&[b"golden"]).at(0).word(), 15404540357399391623);
    }

    #[test]
    fn a_permutation_takes_each_place_once_and_any_place_anywhere() {
        for n in [1, 2, 3, 4, 5, 16, 17, 1000] {
            let order = Permutation::new(&StreamKey::new(&[b"order"]), n);
            let mut taken: Vec<u32> = (0..n).map(|place| order.at(place)).collect();
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..n), "{n}");
        }
        // Over many keys, all 120 orders of five places are equally frequent.
        let mut counts = std::collections::BTreeMap::new();
        for key in 0..12_000u32 {
            let order = Permutation::new(&StreamKey::new(&[&key.to_le_bytes()]), 5);
            *counts.entry([0, 1, 2, 3, 4].map(|place| order.at(place))).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 120);
        let chi2: f64 = counts.values().map(|&c| (f64::from(c) - 100.0).powi(2) / 100.0).sum();
        assert!(chi2 < 173.6, "{chi2}"); // 0.1% point of chi-square with 119 degrees of freedom
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = StreamKey::new(&[b"below"]).at(0);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi2 < 22.5, "{counts:?}"); // 0.1% point of chi-square with 6 degrees of freedom
    }
}
