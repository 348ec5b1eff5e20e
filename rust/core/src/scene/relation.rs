//! Which objects stand left of, right of, behind and in front of which.

use super::geometry::{Vec3, dot, normalize, round9, sub};
use crate::vocab::RELATION_NAMES;

/// How much further along a direction an object must be to stand in the relation.
pub const RELATION_THRESHOLD: f64 = 0.2;

/// Unit vectors along which relations are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Directions {
    /// In the order of `RELATION_NAMES`.
    pub relations: [Vec3; RELATION_NAMES.len()],
    pub above: Vec3,
    pub below: Vec3,
}

impl Directions {
    /// The directions seen from `camera` looking at `target`: horizontal, with 9 decimals.
    pub fn from_camera(camera: Vec3, target: Vec3) -> Self {
        let view = sub(target, camera);
        let behind = normalize([view[0], view[1], 0.0]).map(round9);
        let right = [behind[1], -behind[0] + 0.0, 0.0];
        Self {
            relations: [negate(right), right, behind, negate(behind)],
            above: [0.0, 0.0, 1.0],
            below: [0.0, 0.0, -1.0],
        }
    }

    pub fn right(&self) -> Vec3 {
        self.relations[1]
    }

    pub fn behind(&self) -> Vec3 {
        self.relations[2]
    }

    /// By `relation * n + i`: the set of objects j with `(position j - position i) . direction > 0.2`.
    pub fn related(&self, positions: &[Vec3]) -> Vec<u32> {
        let mut sets = Vec::with_capacity(self.relations.len() * positions.len());
        for &direction in &self.relations {
            for &from in positions {
                let stands = |&to: &Vec3| dot(sub(to, from), direction) > RELATION_THRESHOLD;
                sets.push(positions.iter().enumerate().fold(0, |set, (j, to)| set | u32::from(stands(to)) << j));
            }
        }
        sets
    }
}

fn negate(a: Vec3) -> Vec3 {
    a.map(|x| 0.0 - x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clevrs_camera_gives_clevrs_directions() {
        let directions = Directions::from_camera([7.48113, -6.50764, 5.34367], [0.0; 3]);
        let published = [
            [-0.6563112735748291, -0.7544902563095093, 0.0],
            [0.6563112735748291, 0.7544902563095093, 0.0],
            [-0.754490315914154, 0.6563112735748291, 0.0],
            [0.754490315914154, -0.6563112735748291, 0.0],
        ];
        for (ours, theirs) in directions.relations.iter().zip(published) {
            for i in 0..3 {
                assert!((ours[i] - theirs[i]).abs() < 2e-6, "{ours:?} {theirs:?}");
                assert!(ours[i] != 0.0 || ours[i].is_sign_positive());
            }
        }
    }

    #[test]
    fn objects_that_are_nearly_level_stand_in_no_relation() {
        let directions = Directions::from_camera([0.0, -5.0, 2.0], [0.0; 3]); // right is +x, behind is +y
        let related = directions.related(&[[0.0; 3], [0.2, 1.0, 0.0], [-1.0, 0.1, 0.0]]);
        assert_eq!(related, [0b100, 0b100, 0, 0, 0, 0b011, 0b010, 0, 0b010, 0, 0b101, 0]);
    }
}
