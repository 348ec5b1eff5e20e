//! Thins eligible scenes until all numbers of objects are equally frequent.
//!
//! A predicate on scenes changes how many objects they have: the more objects there are, the likelier one of them is
//! the held-out pair. So the scenes of splits that hold something out have fewer objects than others, and the scenes of
//! splits that ask for it have more. After thinning, all have the numbers of objects of the pool itself.

use crate::rng::StreamKey;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// How many scenes of a pool are thinned together, separately from all others; a multiple of a scan's chunk.
pub const BLOCK: u64 = 2_000;

/// The positions of the scenes with each number of objects in a range.
pub fn by_number<T>(
    scenes: &[T],
    n_objects: impl Fn(&T) -> usize,
    range: RangeInclusive<usize>,
) -> BTreeMap<usize, Vec<usize>> {
    let mut found: BTreeMap<usize, Vec<usize>> = range.map(|number| (number, Vec::new())).collect();
    for (place, scene) in scenes.iter().enumerate() {
        if let Some(places) = found.get_mut(&n_objects(scene)) {
            places.push(place);
        }
    }
    found
}

/// Keeps as many scenes of each number of objects as the rarest number has, drawn at random and in their old order.
pub fn thin<T>(scenes: Vec<T>, mut by_number: BTreeMap<usize, Vec<usize>>, key: &StreamKey, block: u64) -> Vec<T> {
    let of_each = by_number.values().map(Vec::len).min().unwrap_or(0);
    let mut rng = key.at(block);
    let mut keeps = vec![false; scenes.len()];
    for places in by_number.values_mut() {
        for i in 0..of_each {
            let other = i + rng.below((places.len() - i) as u32) as usize;
            places.swap(i, other);
            keeps[places[i]] = true;
        }
    }
    scenes.into_iter().zip(keeps).filter_map(|(scene, keep)| keep.then_some(scene)).collect()
}

/// How many blocks in a row may be left empty before a split is given up.
pub const MOST_EMPTY_BLOCKS: u64 = 50;

/// The run of empty blocks so far; in each, no eligible scene has some number of objects.
#[derive(Clone, Debug, Default)]
pub struct EmptyBlocks {
    first: u64,
    n: u64,
    /// For each number of objects, how many of these blocks have no eligible scene with that number.
    missing: BTreeMap<usize, u64>,
}

impl EmptyBlocks {
    /// Counts a block, given its eligible scenes by number of objects.
    pub fn count(&mut self, block: u64, found: &BTreeMap<usize, Vec<usize>>) {
        if !found.values().any(Vec::is_empty) {
            *self = Self::default();
            return;
        }
        if self.n == 0 {
            self.first = block;
        }
        self.n += 1;
        for (&number, _) in found.iter().filter(|(_, places)| places.is_empty()) {
            *self.missing.entry(number).or_insert(0) += 1;
        }
    }

    /// If the run is too long: the number of objects that most blocks lack, how many blocks lack it, and the blocks.
    pub fn too_many(&self) -> Option<(usize, u64, Range<u64>)> {
        let (&number, &times) =
            self.missing.iter().max_by_key(|(number, times)| (**times, std::cmp::Reverse(**number)))?;
        (self.n >= MOST_EMPTY_BLOCKS).then_some((number, times, self.first..self.first + self.n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_as_frequent_as_the_rarest_and_order_stays() {
        let key = StreamKey::new(&[b"test"]);
        // Scene i has 3 objects if i is a multiple of 5, else 4 or 5.
        let scenes: Vec<usize> = (0..100).collect();
        let n_objects = |&i: &usize| if i % 5 == 0 { 3 } else { 4 + i % 2 };
        let places = by_number(&scenes, n_objects, 3..=5);
        let kept = thin(scenes.clone(), places.clone(), &key, 0);
        assert!(kept.is_sorted());
        for n in 3..=5 {
            assert_eq!(kept.iter().filter(|i| n_objects(i) == n).count(), 20);
        }
        assert_eq!(kept, thin(scenes.clone(), places.clone(), &key, 0));
        assert_ne!(kept, thin(scenes.clone(), places, &key, 1), "which are kept is drawn");
        let places = by_number(&scenes, n_objects, 3..=6);
        assert!(places.iter().all(|(n, places)| places.iter().all(|place| n_objects(&scenes[*place]) == *n)));
        assert_eq!(places.values().map(Vec::len).collect::<Vec<_>>(), [20, 40, 40, 0]);
        assert!(thin(scenes, places, &key, 0).is_empty(), "none has six objects");
    }

    #[test]
    fn fifty_empty_blocks_in_a_row_are_too_many() {
        let found = |three: usize, four: usize| BTreeMap::from([(3, vec![0; three]), (4, vec![0; four])]);
        let mut empty = EmptyBlocks::default();
        (0..49).for_each(|block| empty.count(block, &found(0, 7)));
        assert_eq!(empty.too_many(), None);
        empty.count(49, &found(1, 7));
        assert_eq!(empty.too_many(), None, "the row is broken");
        for block in 50..100 {
            assert_eq!(empty.too_many(), None);
            empty.count(block, &if block % 5 == 0 { found(0, 1) } else { found(2, 0) });
        }
        assert_eq!(empty.too_many(), Some((4, 40, 50..100)));
    }
}
