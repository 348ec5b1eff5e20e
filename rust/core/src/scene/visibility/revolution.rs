//! The edges of the outline of a solid of revolution.

use super::frame::{Frame, between};
use super::rows::Rows;
use super::solid::{Revolved, Ring};
use crate::scene::geometry::Vec3;

/// Segments that a ring is cut into on each side of the plane through its axis and the camera.
const HALF_SEGMENTS: usize = 40;

/// A ring of radius 1 cut into segments, from the camera's side (1, 0) to the far side (-1, 0).
#[derive(Clone, Debug)]
pub struct Circle {
    /// The segments' ends, a little further out than 1 so that the polygon has the circle's area.
    ends: [[f64; 2]; HALF_SEGMENTS + 1],
    /// Cosine in the middle of each segment, descending.
    middles: [f64; HALF_SEGMENTS],
}

impl Default for Circle {
    fn default() -> Self {
        let step = std::f64::consts::PI / HALF_SEGMENTS as f64;
        let radius = (step / libm::sin(step)).sqrt();
        Self {
            ends: std::array::from_fn(|j| {
                let (sin, cos) = libm::sincos(step * j as f64);
                [radius * cos, radius * sin]
            }),
            middles: std::array::from_fn(|j| libm::cos(step * (j as f64 + 0.5))),
        }
    }
}

impl Circle {
    #[inline]
    fn point(&self, ring: &Ring, end: usize) -> Vec3 {
        let [cos, sin] = self.ends[end];
        [ring.radius * cos, ring.radius * sin, ring.z]
    }
}

/// Draws the outline of a solid in a frame that is turned so that the camera stands over its x axis.
pub fn trace_revolved(solid: &Revolved, frame: &Frame<'_>, circle: &Circle, rows: &mut Rows) {
    // How many segments of each facet face the camera, on each side of the x axis: the top first, then the facet below
    // each ring, with the bottom last. A ring is part of the outline along the segments that one of its facets shows
    // and the other hides.
    let (away, up) = (frame.eye[0], frame.eye[2]);
    let all_if = |facing: bool| if facing { HALF_SEGMENTS } else { 0 };
    let mut above = all_if(solid.rings.first().is_some_and(|top| up > top.z));
    let mut most_facing = 0;
    for (k, ring) in solid.rings.iter().enumerate() {
        let below = match solid.normals.get(k) {
            Some(&[radial, z]) => {
                let hidden = radial * ring.radius + z * (ring.z - up);
                circle.middles.partition_point(|cos| radial * away * cos > hidden)
            }
            None => all_if(up < ring.z),
        };
        let mut last = circle.point(ring, above.min(below));
        for end in above.min(below) + 1..=above.max(below) {
            let next = circle.point(ring, end);
            rows.mirrored_edges(frame, last, next);
            last = next;
        }
        if let Some(next_ring) = solid.rings.get(k + 1) {
            most_facing = most_facing.max(below);
            if 0 < below && below < HALF_SEGMENTS {
                rows.mirrored_edges(frame, circle.point(ring, below), circle.point(next_ring, below));
            }
        }
        above = below;
    }
    if let Some(first) = solid.rings.iter().skip(1).position(|ring| frame.may_be_cut(ring.z)) {
        trace_cut(&solid.rings[first..], most_facing, frame, circle, rows);
    }
}

/// Draws where the ground cuts the solid, along the segments that face the camera and one more. What is drawn inside
/// the outline does no harm, and closes the gap to where the outline meets the ground.
fn trace_cut(rings: &[Ring], facing: usize, frame: &Frame<'_>, circle: &Circle, rows: &mut Rows) {
    for mirror in [1.0, -1.0] {
        let crossing = |end: usize| {
            let mut points = rings.iter().map(|ring| circle.point(ring, end)).map(|p| [p[0], mirror * p[1], p[2]]);
            let mut upper = points.next()?;
            let mut above_upper = frame.above_ground(upper);
            points.find_map(|lower| {
                let above_lower = frame.above_ground(lower);
                let crossing = (above_upper > 0.0 && above_lower <= 0.0)
                    .then(|| frame.project(between(upper, lower, above_upper, above_lower)));
                (upper, above_upper) = (lower, above_lower);
                crossing
            })
        };
        let mut last = crossing(0);
        for end in 1..=(facing + 1).min(HALF_SEGMENTS) {
            let next = crossing(end);
            if let (Some(a), Some(b)) = (last, next) {
                rows.edge(a, b);
            }
            last = next;
        }
    }
}
