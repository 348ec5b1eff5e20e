//! The height of the ground sheet under a point.
//!
//! The sheet rises behind the objects, so it hides a few rows of pixels at an object's foot. It is convex (it rises
//! ever more steeply), so the part of a convex solid above it is convex too.

use serde::Deserialize;

/// The ground as the look describes it: a profile swept along its local y.
#[derive(Clone, Debug, Deserialize)]
pub struct GroundSpec {
    pub rotation_z_rad: f64,
    pub translation: [f64; 3],
    /// Local x and height, x ascending.
    pub profile_x_z: Vec<[f64; 2]>,
}

/// Height as a function of the world's x and y: the highest of several planes.
#[derive(Clone, Debug)]
pub struct Ground {
    /// Local x in the world is `along . (x, y) + start`.
    along: [f64; 2],
    start: f64,
    /// Where each piece of the profile begins, and its line: height at local x 0, and slope.
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    begin: f64,
    height: f64,
    slope: f64,
}

/// A plane over the world's x and y: `height + slope . (x, y)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    pub height: f64,
    pub slope: [f64; 2],
}

impl Plane {
    #[inline]
    pub fn at(&self, x: f64, y: f64) -> f64 {
        self.height + self.slope[0] * x + self.slope[1] * y
    }
}

impl Ground {
    /// Fails for a profile that is not ascending or not convex; the error is worded to end a sentence.
    pub fn new(spec: &GroundSpec) -> Result<Self, String> {
        if spec.profile_x_z.len() < 2 {
            return Err("profile_x_z: expected at least two points".into());
        }
        let mut pieces: Vec<Piece> = Vec::with_capacity(spec.profile_x_z.len());
        for pair in spec.profile_x_z.windows(2) {
            let ([x0, z0], [x1, z1]) = (pair[0], pair[1]);
            let slope = (z1 - z0) / (x1 - x0);
            if !(x1 > x0 && slope.is_finite()) {
                return Err(format!("profile_x_z: x has to ascend, but {x1} follows {x0}"));
            }
            // A sheet that was measured with few digits may bend down by as much as its precision allows.
            if pieces.last().is_some_and(|last| slope < 0.8 * last.slope - 1e-3) {
                return Err(format!("profile_x_z: the sheet has to rise ever more steeply, but does not at x = {x0}"));
            }
            pieces.push(Piece { begin: x0, height: z0 - slope * x0 + spec.translation[2], slope });
        }
        let (sin, cos) = libm::sincos(spec.rotation_z_rad);
        let start = -(cos * spec.translation[0] + sin * spec.translation[1]);
        Ok(Self { along: [cos, sin], start, pieces })
    }

    /// Lists the planes, one or a few, of which the highest is the ground within `reach` of (x, y).
    pub fn planes(&self, x: f64, y: f64, reach: f64, planes: &mut Vec<Plane>) {
        let local = self.along[0] * x + self.along[1] * y + self.start;
        let piece_at = |x: f64| self.pieces.partition_point(|piece| piece.begin <= x).max(1) - 1;
        planes.clear();
        planes.extend(self.pieces[piece_at(local - reach)..=piece_at(local + reach)].iter().map(|piece| Plane {
            height: piece.height + piece.slope * self.start,
            slope: [piece.slope * self.along[0], piece.slope * self.along[1]],
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valley() -> Ground {
        let profile_x_z = vec![[-2.0, 0.0], [0.0, 0.0], [1.0, 1.0], [2.0, 3.0]];
        // A quarter turn: local x is the world's y, less the translation's.
        let spec =
            GroundSpec { rotation_z_rad: std::f64::consts::FRAC_PI_2, translation: [5.0, 10.0, 0.5], profile_x_z };
        Ground::new(&spec).unwrap()
    }

    #[test]
    fn the_highest_plane_is_the_profile() {
        let ground = valley();
        let mut planes = Vec::new();
        for (y, height) in [(8.5, 0.5), (10.25, 0.75), (11.5, 2.5), (13.0, 5.5)] {
            for reach in [0.0, 0.3, 3.0] {
                ground.planes(77.0, y, reach, &mut planes);
                let highest = planes.iter().map(|plane| plane.at(77.0, y)).fold(f64::MIN, f64::max);
                assert!((highest - height).abs() < 1e-12, "y {y} reach {reach}: {highest}");
            }
        }
        ground.planes(0.0, 8.5, 0.1, &mut planes);
        assert_eq!(planes.len(), 1);
    }

    #[test]
    fn a_sheet_that_bends_down_is_refused() {
        let spec = |profile_x_z| GroundSpec { rotation_z_rad: 0.0, translation: [0.0; 3], profile_x_z };
        assert!(Ground::new(&spec(vec![[0.0, 0.0], [1.0, 1.0], [2.0, 1.5]])).unwrap_err().contains("steeply"));
        assert!(Ground::new(&spec(vec![[0.0, 0.0], [0.0, 1.0]])).unwrap_err().contains("ascend"));
    }
}
