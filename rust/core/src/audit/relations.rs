//! Checks a finished scene's relationships against its positions and directions.
//!
//! Object j is left of i if it is further left by more than CLEVR's threshold. This shares no code with the sampling
//! of scenes.

use crate::vocab::RELATION_NAMES;
use serde::Deserialize;

/// The minimum difference in position, along the direction, for a relation to hold.
const THRESHOLD: f64 = 0.2;

/// This close to the threshold both outcomes are accepted: CLEVR computed with more digits than its files have.
const DOUBT: f64 = 1e-6;

/// Tolerance for the length of a direction, and for opposite and right angles.
const UNIT: f64 = 1e-4;

/// A value for each relation of a scene file.
#[derive(Deserialize)]
pub struct ByRelation<T> {
    pub left: T,
    pub right: T,
    pub front: T,
    pub behind: T,
}

/// The horizontal directions of a scene file.
pub type Directions = ByRelation<[f64; 3]>;

impl<T> ByRelation<T> {
    pub fn named(&self, relation: &str) -> &T {
        match relation {
            "left" => &self.left,
            "right" => &self.right,
            "front" => &self.front,
            _ => &self.behind,
        }
    }
}

impl Directions {
    /// The first fault of the directions themselves.
    fn fault(&self) -> Option<String> {
        for name in RELATION_NAMES {
            let &[x, y, z] = self.named(name);
            let length = (x * x + y * y + z * z).sqrt();
            // Written so that NaN is a fault too.
            if !((length - 1.0).abs() < UNIT && z.abs() < UNIT) {
                return Some(format!("direction \"{name}\" is not a horizontal unit vector"));
            }
        }
        let opposite = |a: [f64; 3], b: [f64; 3]| (0..3).all(|k| (a[k] + b[k]).abs() < UNIT);
        let upright = (0..3).map(|k| self.left[k] * self.behind[k]).sum::<f64>().abs() < UNIT;
        (!opposite(self.left, self.right) || !opposite(self.front, self.behind) || !upright)
            .then(|| "directions are not two against two, at right angles".to_string())
    }
}

/// The first fault of a scene; `sets[relation * n + i]` are the objects that have the relation to object i.
pub fn find_wrong_relation(directions: Option<&Directions>, places: &[[f64; 3]], sets: &[u32]) -> Option<String> {
    let Some(directions) = directions else {
        return Some("it has no directions".to_string());
    };
    if let Some(fault) = directions.fault() {
        return Some(fault);
    }
    for (relation, name) in RELATION_NAMES.into_iter().enumerate() {
        let direction = directions.named(name);
        for (i, from) in places.iter().enumerate() {
            let set = sets.get(relation * places.len() + i).copied().unwrap_or(0);
            for (j, to) in places.iter().enumerate() {
                let along: f64 = (0..3).map(|k| (to[k] - from[k]) * direction[k]).sum();
                let stands = set >> j & 1 == 1;
                if stands != (along > THRESHOLD) && (along - THRESHOLD).abs() > DOUBT {
                    let is = if stands { "is" } else { "is not" };
                    return Some(format!("object {j} {is} said to be {name} of object {i}, at {along:.3} that way"));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Right is +x, behind is +y.
    fn directions() -> Directions {
        Directions { left: [-1.0, 0.0, 0.0], right: [1.0, 0.0, 0.0], front: [0.0, -1.0, 0.0], behind: [0.0, 1.0, 0.0] }
    }

    const PLACES: [[f64; 3]; 2] = [[0.0, 0.0, 0.7], [1.0, 0.1, 0.35]];

    /// The sets left, right, behind and front of each of the two: objects at nearly the same depth are not related.
    const SETS: [u32; 8] = [0b00, 0b01, 0b10, 0b00, 0, 0, 0, 0];

    #[test]
    fn what_places_and_directions_say_passes() {
        assert_eq!(find_wrong_relation(Some(&directions()), &PLACES, &SETS), None);
        assert_eq!(find_wrong_relation(Some(&directions()), &[], &[]), None);
    }

    #[test]
    fn one_relation_too_many_or_too_few_is_found() {
        for bit in 0..SETS.len() * 2 {
            let mut sets = SETS;
            sets[bit / 2] ^= 1 << (bit % 2);
            assert!(find_wrong_relation(Some(&directions()), &PLACES, &sets).is_some(), "{bit}");
        }
        let mut sets = SETS;
        sets[2] = 0;
        let fault = find_wrong_relation(Some(&directions()), &PLACES, &sets);
        assert_eq!(fault.as_deref(), Some("object 1 is not said to be right of object 0, at 1.000 that way"));
    }

    #[test]
    fn at_the_threshold_either_will_do() {
        let places = [[0.0; 3], [0.2 + 1e-9, 0.0, 0.0]];
        for sets in [[0, 0, 0, 0, 0, 0, 0, 0], [0b00, 0b01, 0b10, 0, 0, 0, 0, 0]] {
            assert_eq!(find_wrong_relation(Some(&directions()), &places, &sets), None);
        }
    }

    #[test]
    fn directions_that_are_none_are_found() {
        let missing = find_wrong_relation(None, &PLACES, &SETS);
        assert_eq!(missing.as_deref(), Some("it has no directions"));
        let long = Directions { left: [-2.0, 0.0, 0.0], ..directions() };
        assert!(find_wrong_relation(Some(&long), &PLACES, &SETS).is_some_and(|fault| fault.contains("\"left\"")));
        let nan = Directions { front: [0.0, f64::NAN, 0.0], ..directions() };
        assert!(find_wrong_relation(Some(&nan), &PLACES, &SETS).is_some_and(|fault| fault.contains("\"front\"")));
        let skew = Directions { left: [1.0, 0.0, 0.0], ..directions() };
        assert!(
            find_wrong_relation(Some(&skew), &PLACES, &SETS).is_some_and(|fault| fault.contains("two against two"))
        );
    }
}
