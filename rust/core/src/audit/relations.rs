//! A finished scene's places, directions and relationships in, the first that contradicts the others out.
//!
//! Object j stands left of i when it is further left by more than CLEVR's threshold. What is worked out here
//! shares no code with what sampled the scene.

use crate::vocab::RELATION_NAMES;
use serde::Deserialize;

/// How much further along a direction an object must be.
const THRESHOLD: f64 = 0.2;

/// Nearer to the threshold than this either will do: CLEVR worked with digits that its files do not have.
const DOUBT: f64 = 1e-6;

/// By how much the length of a direction may differ from 1, and opposite ones from each other.
const UNIT: f64 = 1e-4;

/// The horizontal directions of a scene file.
#[derive(Deserialize)]
pub struct Towards {
    pub left: [f64; 3],
    pub right: [f64; 3],
    pub front: [f64; 3],
    pub behind: [f64; 3],
}

impl Towards {
    fn named(&self, relation: &str) -> [f64; 3] {
        match relation {
            "left" => self.left,
            "right" => self.right,
            "front" => self.front,
            _ => self.behind,
        }
    }

    /// What is wrong with the directions themselves.
    fn fault(&self) -> Option<String> {
        for name in RELATION_NAMES {
            let [x, y, z] = self.named(name);
            let length = (x * x + y * y + z * z).sqrt();
            // Not a number is no length either.
            if !((length - 1.0).abs() < UNIT && z.abs() < UNIT) {
                return Some(format!("direction \"{name}\" is no horizontal unit vector"));
            }
        }
        let opposite = |a: [f64; 3], b: [f64; 3]| (0..3).all(|k| (a[k] + b[k]).abs() < UNIT);
        let upright = (0..3).map(|k| self.left[k] * self.behind[k]).sum::<f64>().abs() < UNIT;
        (!opposite(self.left, self.right) || !opposite(self.front, self.behind) || !upright)
            .then(|| "directions are not two against two, at right angles".to_string())
    }
}

/// The first fault of a scene; `sets[relation * n + i]` are the objects that stand so from object i.
pub fn misrelated(towards: Option<&Towards>, places: &[[f64; 3]], sets: &[u32]) -> Option<String> {
    let Some(towards) = towards else {
        return Some("it has no directions".to_string());
    };
    if let Some(fault) = towards.fault() {
        return Some(fault);
    }
    for (relation, name) in RELATION_NAMES.into_iter().enumerate() {
        let direction = towards.named(name);
        for (i, from) in places.iter().enumerate() {
            let said = sets.get(relation * places.len() + i).copied().unwrap_or(0);
            for (j, to) in places.iter().enumerate() {
                let along: f64 = (0..3).map(|k| (to[k] - from[k]) * direction[k]).sum();
                let stands = said >> j & 1 == 1;
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
    fn towards() -> Towards {
        Towards { left: [-1.0, 0.0, 0.0], right: [1.0, 0.0, 0.0], front: [0.0, -1.0, 0.0], behind: [0.0, 1.0, 0.0] }
    }

    const PLACES: [[f64; 3]; 2] = [[0.0, 0.0, 0.7], [1.0, 0.1, 0.35]];

    /// Left, right, behind, front of each of the two: nearly level objects stand in no relation.
    const SETS: [u32; 8] = [0b00, 0b01, 0b10, 0b00, 0, 0, 0, 0];

    #[test]
    fn what_places_and_directions_say_passes() {
        assert_eq!(misrelated(Some(&towards()), &PLACES, &SETS), None);
        assert_eq!(misrelated(Some(&towards()), &[], &[]), None);
    }

    #[test]
    fn one_relation_too_many_or_too_few_is_found() {
        for bit in 0..SETS.len() * 2 {
            let mut sets = SETS;
            sets[bit / 2] ^= 1 << (bit % 2);
            assert!(misrelated(Some(&towards()), &PLACES, &sets).is_some(), "{bit}");
        }
        let mut sets = SETS;
        sets[2] = 0;
        let fault = misrelated(Some(&towards()), &PLACES, &sets);
        assert_eq!(fault.as_deref(), Some("object 1 is not said to be right of object 0, at 1.000 that way"));
    }

    #[test]
    fn at_the_threshold_either_will_do() {
        let places = [[0.0; 3], [0.2 + 1e-9, 0.0, 0.0]];
        for sets in [[0, 0, 0, 0, 0, 0, 0, 0], [0b00, 0b01, 0b10, 0, 0, 0, 0, 0]] {
            assert_eq!(misrelated(Some(&towards()), &places, &sets), None);
        }
    }

    #[test]
    fn directions_that_are_none_are_found() {
        let missing = misrelated(None, &PLACES, &SETS);
        assert_eq!(missing.as_deref(), Some("it has no directions"));
        let long = Towards { left: [-2.0, 0.0, 0.0], ..towards() };
        assert!(misrelated(Some(&long), &PLACES, &SETS).is_some_and(|fault| fault.contains("\"left\"")));
        let nan = Towards { front: [0.0, f64::NAN, 0.0], ..towards() };
        assert!(misrelated(Some(&nan), &PLACES, &SETS).is_some_and(|fault| fault.contains("\"front\"")));
        let skew = Towards { left: [1.0, 0.0, 0.0], ..towards() };
        assert!(misrelated(Some(&skew), &PLACES, &SETS).is_some_and(|fault| fault.contains("two against two")));
    }
}
