//! Eligible scenes in, fewer of them out: as many with three objects as with four, and so on up to ten.
//!
//! A predicate on scenes changes how many objects they have: the more there are, the likelier one of them is
//! the held-out pair. So splits that hold something out are emptier than others, and splits that ask for it
//! are fuller. Thinned, all have the numbers of objects of the pool itself.

use crate::rng::StreamKey;
use std::ops::RangeInclusive;

/// Scenes of a pool that are thinned together, those before and after them aside; a multiple of a scan's chunk.
pub const BLOCK: u64 = 2_000;

/// Of each number of objects so many as there are of the rarest, drawn at random; in the order in which they came.
pub fn thin<T>(
    scenes: Vec<T>,
    n_objects: impl Fn(&T) -> usize,
    range: RangeInclusive<usize>,
    key: &StreamKey,
    block: u64,
) -> Vec<T> {
    let mut by_number: Vec<Vec<usize>> = vec![Vec::new(); range.end() + 1];
    for (place, scene) in scenes.iter().enumerate() {
        if let Some(places) = by_number.get_mut(n_objects(scene)) {
            places.push(place);
        }
    }
    let of_each = range.clone().map(|n| by_number[n].len()).min().unwrap_or(0);
    let mut rng = key.at(block);
    let mut keeps = vec![false; scenes.len()];
    for places in &mut by_number[range] {
        for i in 0..of_each {
            let other = i + rng.below((places.len() - i) as u32) as usize;
            places.swap(i, other);
            keeps[places[i]] = true;
        }
    }
    scenes.into_iter().zip(keeps).filter_map(|(scene, keep)| keep.then_some(scene)).collect()
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
        let kept = thin(scenes.clone(), n_objects, 3..=5, &key, 0);
        assert!(kept.is_sorted());
        for n in 3..=5 {
            assert_eq!(kept.iter().filter(|i| n_objects(i) == n).count(), 20);
        }
        assert_eq!(kept, thin(scenes.clone(), n_objects, 3..=5, &key, 0));
        assert_ne!(kept, thin(scenes.clone(), n_objects, 3..=5, &key, 1), "which are kept is drawn");
        assert!(thin(scenes, n_objects, 3..=6, &key, 0).is_empty(), "none has six objects");
    }
}
