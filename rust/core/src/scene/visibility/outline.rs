//! A solid somewhere in the world and a camera in, one span of pixels for each row out.
//!
//! A convex solid above a convex ground shows as a convex region, so each row of pixels has one
//! span. A pixel is inside when its centre is.

use super::frame::{Frame, between};
use super::polyhedron::trace_polyhedron;
use super::revolved::{Circle, trace_revolved};
use super::solid::Solid;
use super::sphere::trace_sphere;
use crate::scene::camera::Camera;
use crate::scene::geometry::{Vec3, ceil_within, dot, sub};
use crate::scene::ground::{Ground, Plane};

/// A solid of the world: unit solid, scaled by `radius`, turned about Z, moved.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    pub solid: &'a Solid,
    pub radius: f64,
    pub position: Vec3,
    /// Cosine and sine of the turn about Z.
    pub turn: [f64; 2],
}

impl Body<'_> {
    /// Radius of the upright cylinder about the body's axis that holds it.
    #[inline]
    pub fn reach(&self) -> f64 {
        self.radius * self.solid.reach()
    }
}

/// Pixels `[begin, end)` of a row.
pub type Span = [u16; 2];

/// The rows that a body covers.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub first_row: u16,
    /// From `first_row` on; a span may be empty.
    pub spans: Vec<Span>,
    /// Number of pixels.
    pub area: u32,
    /// Tight box: x and y of the first pixel, x and y behind the last. All 0 without pixels.
    pub bbox: [u16; 4],
}

impl Outline {
    /// The span of a row; empty where the body is not.
    #[inline]
    pub fn span(&self, row: u16) -> Span {
        let place = usize::from(row.wrapping_sub(self.first_row));
        self.spans.get(place).copied().unwrap_or([0, 0])
    }

    fn clear(&mut self) {
        self.first_row = 0;
        self.spans.clear();
    }

    fn measure(&mut self) {
        self.area = 0;
        let mut bbox = [u16::MAX, u16::MAX, 0, 0];
        for (row, span) in (self.first_row..).zip(&self.spans).filter(|(_, span)| span[0] < span[1]) {
            self.area += u32::from(span[1] - span[0]);
            bbox = [bbox[0].min(span[0]), bbox[1].min(row), bbox[2].max(span[1]), row + 1];
        }
        self.bbox = if self.area > 0 { bbox } else { [0; 4] };
    }
}

/// The pixels of a row whose centres lie between two places.
#[inline]
pub fn span(left: f64, right: f64, width_px: u32) -> Span {
    let begin = ceil_within(left - 0.5, width_px);
    let end = ceil_within(right - 0.5, width_px).max(begin);
    [begin as u16, end as u16]
}

/// Finds outlines; holds room to work in, so one serves many bodies.
#[derive(Clone, Debug, Default)]
pub struct Tracer {
    rows: Rows,
    circle: Circle,
    facing: Vec<bool>,
    ground: Vec<Plane>,
    heights: Vec<[f64; 4]>,
}

impl Tracer {
    /// Traces a body that stands on the ground. One that reaches behind the camera has no pixels.
    pub fn trace(&mut self, body: &Body<'_>, camera: &Camera, ground: &Ground, outline: &mut Outline) {
        outline.clear();
        let offset = sub(body.position, camera.location);
        if dot(offset, camera.forward) - 2.0 * body.radius > camera.lens.near {
            ground.planes(body.position[0], body.position[1], body.reach(), &mut self.ground);
            match body.solid {
                Solid::Sphere { radius } => trace_sphere(radius * body.radius, offset, camera, &self.ground, outline),
                Solid::Revolved(solid) => {
                    let frame = Frame::new(body, towards(offset), camera, &self.ground, &mut self.heights);
                    self.rows.open(camera.lens.height_px);
                    trace_revolved(solid, &frame, &self.circle, &mut self.rows);
                    self.rows.close(camera.lens.width_px, outline);
                }
                Solid::Polyhedron(solid) => {
                    let frame = Frame::new(body, body.turn, camera, &self.ground, &mut self.heights);
                    self.rows.open(camera.lens.height_px);
                    trace_polyhedron(solid, &frame, &mut self.facing, &mut self.rows);
                    self.rows.close(camera.lens.width_px, outline);
                }
                Solid::Mesh(_) => {} // has no outline of one span a row: see `by_depth`
            }
        }
        outline.measure();
    }
}

/// The turn about Z that brings the x axis of what stands at `offset` from the camera towards it.
fn towards(offset: Vec3) -> [f64; 2] {
    let distance = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
    if distance > 0.0 { [-offset[0] / distance, -offset[1] / distance] } else { [1.0, 0.0] }
}

/// Scan conversion of a convex region whose edges come in any order.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    left: Vec<f64>,
    right: Vec<f64>,
    first_row: usize,
    end_row: usize,
}

impl Rows {
    fn open(&mut self, height_px: u32) {
        self.left.resize(height_px as usize, f64::INFINITY);
        self.right.resize(height_px as usize, f64::NEG_INFINITY);
        self.first_row = height_px as usize;
        self.end_row = 0;
    }

    fn close(&mut self, width_px: u32, outline: &mut Outline) {
        if self.first_row >= self.end_row {
            return;
        }
        outline.first_row = self.first_row as u16;
        let rows = self.first_row..self.end_row;
        for (left, right) in self.left[rows.clone()].iter_mut().zip(&mut self.right[rows]) {
            outline.spans.push(span(*left, *right, width_px));
            (*left, *right) = (f64::INFINITY, f64::NEG_INFINITY);
        }
    }

    /// Widens the rows whose centres an edge crosses; its ends are places in the picture.
    #[inline]
    pub fn edge(&mut self, a: [f64; 2], b: [f64; 2]) {
        let (top, bottom) = if a[1] <= b[1] { (a, b) } else { (b, a) };
        let rows = self.left.len() as u32;
        let first = ceil_within(top[1] - 0.5, rows) as usize;
        let end = ceil_within(bottom[1] - 0.5, rows) as usize;
        if first >= end {
            return;
        }
        let slope = (bottom[0] - top[0]) / (bottom[1] - top[1]);
        self.first_row = self.first_row.min(first);
        self.end_row = self.end_row.max(end);
        let rows = self.left[first..end].iter_mut().zip(&mut self.right[first..end]);
        for (row, (left, right)) in (first..end).zip(rows) {
            let u = top[0] + (row as f64 + 0.5 - top[1]) * slope;
            *left = left.min(u);
            *right = right.max(u);
        }
    }

    /// Draws the part of a body's edge that stands above the ground.
    #[inline]
    pub fn standing_edge(&mut self, frame: &Frame<'_>, a: Vec3, b: Vec3) {
        if !frame.may_be_cut(a[2].min(b[2])) {
            return self.edge(frame.project(a), frame.project(b));
        }
        let (above_a, above_b) = (frame.above_ground(a), frame.above_ground(b));
        let (a, b) = match (above_a > 0.0, above_b > 0.0) {
            (true, true) => (a, b),
            (true, false) => (a, between(a, b, above_a, above_b)),
            (false, true) => (between(a, b, above_a, above_b), b),
            (false, false) => return,
        };
        self.edge(frame.project(a), frame.project(b));
    }

    /// The same for an edge and its mirror image at y = 0.
    #[inline]
    pub fn mirrored_edges(&mut self, frame: &Frame<'_>, a: Vec3, b: Vec3) {
        self.standing_edge(frame, a, b);
        self.standing_edge(frame, [a[0], -a[1], a[2]], [b[0], -b[1], b[2]]);
    }
}
