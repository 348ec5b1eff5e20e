//! The pixels whose centres a mesh of any form covers, and its depth in each of them.
//!
//! This is slow compared with outlines: each triangle is filled separately, and each pixel keeps the nearest one.

use super::body::Body;
use super::mesh::Mesh;
use super::rows::span;
use crate::scene::camera::{Camera, Projected};
use crate::scene::geometry::{Vec3, ceil_within, cross, dot, sub};
use crate::scene::ground::{Ground, Plane};

/// The pixels of a body, as a window of the image.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    first: [u16; 2],
    width: usize,
    /// Depth in each pixel of the window, row by row; infinite outside the body.
    depths: Vec<f64>,
}

impl Layer {
    /// The pixels of a mesh body above the ground. A body that reaches behind the camera has no pixels.
    pub fn of(mesh: &Mesh, body: &Body<'_>, camera: &Camera, ground: &Ground) -> Self {
        let offset = sub(body.position, camera.location);
        if dot(offset, camera.forward) - 2.0 * body.radius <= camera.lens.near {
            return Self::default();
        }
        let mut planes = Vec::new();
        ground.planes(body.position[0], body.position[1], body.reach(), &mut planes);
        let [cos, sin] = body.turn;
        let placed = |[x, y, z]: Vec3| -> Vec3 {
            let turned = [cos * x - sin * y, sin * x + cos * y, z];
            std::array::from_fn(|i| body.position[i] + body.radius * turned[i])
        };
        let triangles: Vec<[Vec3; 3]> = mesh.triangles.iter().map(|triangle| triangle.map(placed)).collect();
        let seen: Vec<[Projected; 3]> =
            triangles.iter().map(|triangle| triangle.map(|point| camera.project(point))).collect();
        let mut layer = Self::around(&seen, camera);
        for (triangle, corners) in triangles.iter().zip(&seen) {
            layer.fill(triangle, corners, camera, &planes);
        }
        layer
    }

    /// An empty window that covers these triangles.
    fn around(seen: &[[Projected; 3]], camera: &Camera) -> Self {
        let mut low = [f64::INFINITY; 2];
        let mut high = [f64::NEG_INFINITY; 2];
        for corner in seen.iter().flatten() {
            low = [low[0].min(corner.u_px), low[1].min(corner.v_px)];
            high = [high[0].max(corner.u_px), high[1].max(corner.v_px)];
        }
        let (lens, first) = (&camera.lens, |x: f64, most: u32| ceil_within(x - 0.5, most));
        let begin = [first(low[0], lens.width_px), first(low[1], lens.height_px)];
        let end = [first(high[0], lens.width_px), first(high[1], lens.height_px)];
        // A position in a file may be so far off that it has no projection; then the window ends before it begins.
        let [width, height] = [0, 1].map(|axis| end[axis].saturating_sub(begin[axis]) as usize);
        Self { first: begin.map(|x| x as u16), width, depths: vec![f64::INFINITY; width * height] }
    }

    /// Fills the pixels in which a triangle is above the ground and nearer than what was there before.
    fn fill(&mut self, triangle: &[Vec3; 3], corners: &[Projected; 3], camera: &Camera, ground: &[Plane]) {
        let [a, b, c] = *triangle;
        let normal = cross(sub(b, a), sub(c, a));
        let above = dot(normal, sub(a, camera.location));
        let depths = corners.map(|corner| corner.depth);
        let (least, most) =
            (depths.iter().copied().fold(f64::INFINITY, f64::min), depths.iter().copied().fold(0.0, f64::max));
        let rows = corners.map(|corner| corner.v_px);
        let height = camera.lens.height_px;
        let first = ceil_within(rows.iter().copied().fold(f64::INFINITY, f64::min) - 0.5, height);
        let end = ceil_within(rows.iter().copied().fold(0.0, f64::max) - 0.5, height);
        for row in first..end {
            let v_px = f64::from(row) + 0.5;
            let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
            for (i, j) in [(0, 1), (1, 2), (2, 0)] {
                if let Some(u) = crossing(&corners[i], &corners[j], v_px) {
                    left = left.min(u);
                    right = right.max(u);
                }
            }
            let [begin, end] = span(left, right, camera.lens.width_px);
            for column in begin..end {
                let ray = camera.ray(f64::from(column) + 0.5, v_px);
                // The plane of a triangle that is seen edge-on does not determine the depth.
                let depth = (above / dot(normal, ray)).clamp(least, most);
                let depth = if depth.is_finite() { depth } else { least };
                let point: Vec3 = std::array::from_fn(|i| camera.location[i] + depth * ray[i]);
                if ground.iter().all(|plane| point[2] > plane.at(point[0], point[1])) {
                    let place =
                        (row as usize - usize::from(self.first[1])) * self.width + usize::from(column - self.first[0]);
                    self.depths[place] = self.depths[place].min(depth);
                }
            }
        }
    }

    /// Column, row and depth of each pixel.
    pub fn pixels(&self) -> impl Iterator<Item = (u16, u16, f64)> + '_ {
        let there = self.depths.iter().enumerate().filter(|(_, depth)| depth.is_finite());
        there.map(|(place, &depth)| {
            (self.first[0] + (place % self.width) as u16, self.first[1] + (place / self.width) as u16, depth)
        })
    }
}

/// Where an edge crosses the middle of a row, if it does. The result does not depend on the edge's direction, so
/// adjacent triangles leave no pixel out.
fn crossing(a: &Projected, b: &Projected, v_px: f64) -> Option<f64> {
    let (top, bottom) = if (a.v_px, a.u_px) <= (b.v_px, b.u_px) { (a, b) } else { (b, a) };
    (top.v_px <= v_px && v_px < bottom.v_px)
        .then(|| top.u_px + (v_px - top.v_px) * (bottom.u_px - top.u_px) / (bottom.v_px - top.v_px))
}
