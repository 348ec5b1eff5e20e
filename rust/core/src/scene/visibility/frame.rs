//! Maps from a body's own coordinates to the image and to the ground.

use super::body::Body;
use crate::scene::camera::Camera;
use crate::scene::geometry::{Vec3, dot, sub};
use crate::scene::ground::Plane;

/// From a body's own coordinates (unit size, not turned) to the image and to the ground.
pub struct Frame<'a> {
    /// The camera in the body's coordinates.
    pub eye: Vec3,
    /// Rows of the projection: u and v before division by the depth, and the depth.
    rows: [[f64; 4]; 3],
    /// The ground's planes: height above each as a linear form.
    planes: &'a [[f64; 4]],
    /// Upper bound on the ground's height within the body's footprint.
    ground_below: f64,
}

#[inline]
fn linear(row: &[f64; 4], p: Vec3) -> f64 {
    row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]
}

impl<'a> Frame<'a> {
    pub fn new(
        body: &Body<'_>,
        turn: [f64; 2],
        camera: &Camera,
        ground: &[Plane],
        planes: &'a mut Vec<[f64; 4]>,
    ) -> Self {
        let [cos, sin] = turn;
        let (r, position) = (body.radius, body.position);
        let offset = sub(position, camera.location);
        let own = |axis: Vec3, constant: f64| {
            [r * (cos * axis[0] + sin * axis[1]), r * (cos * axis[1] - sin * axis[0]), r * axis[2], constant]
        };
        let lens = &camera.lens;
        let (middle_u, middle_v) = (0.5 * f64::from(lens.width_px), 0.5 * f64::from(lens.height_px));
        let along = |scale: f64, axis: Vec3, middle: f64| {
            let mixed = |i: usize| scale * axis[i] + middle * camera.forward[i];
            let row = [mixed(0), mixed(1), mixed(2)];
            own(row, dot(row, offset))
        };
        let rows = [
            along(lens.focal_px, camera.right, middle_u),
            along(-lens.focal_px, camera.up, middle_v),
            own(camera.forward, dot(camera.forward, offset)),
        ];
        planes.clear();
        let mut ground_below = f64::NEG_INFINITY;
        for plane in ground {
            let above = position[2] - plane.at(position[0], position[1]);
            planes.push(own([-plane.slope[0], -plane.slope[1], 1.0], above));
            let steepness = (plane.slope[0] * plane.slope[0] + plane.slope[1] * plane.slope[1]).sqrt();
            ground_below = f64::max(ground_below, (body.reach() * steepness - above) / r);
        }
        let eye = [-(cos * offset[0] + sin * offset[1]) / r, -(cos * offset[1] - sin * offset[0]) / r, -offset[2] / r];
        Self { eye, rows, planes, ground_below }
    }

    #[inline]
    pub fn project(&self, p: Vec3) -> [f64; 2] {
        let scale = 1.0 / linear(&self.rows[2], p);
        [linear(&self.rows[0], p) * scale, linear(&self.rows[1], p) * scale]
    }

    /// Whether a point at height z may be below the ground.
    #[inline]
    pub fn may_be_cut(&self, z: f64) -> bool {
        z < self.ground_below
    }

    /// Height of a point above the ground; negative below it.
    #[inline]
    pub fn above_ground(&self, p: Vec3) -> f64 {
        self.planes.iter().map(|plane| linear(plane, p)).fold(f64::INFINITY, f64::min)
    }

    /// Where the segment between two points meets the ground, if one of them is above it and the other is not.
    #[inline]
    pub fn crossing(&self, a: Vec3, b: Vec3) -> Option<Vec3> {
        let (above_a, above_b) = (self.above_ground(a), self.above_ground(b));
        ((above_a > 0.0) != (above_b > 0.0)).then(|| between(a, b, above_a, above_b))
    }
}

/// The point between two where a height, of different signs at both, is zero.
#[inline]
pub fn between(a: Vec3, b: Vec3, height_a: f64, height_b: f64) -> Vec3 {
    let share = height_a / (height_a - height_b);
    std::array::from_fn(|i| a[i] + share * (b[i] - a[i]))
}
