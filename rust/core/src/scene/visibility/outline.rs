//! A body's outline in the image: one span of pixels for each row.
//!
//! A convex solid above a convex ground shows as a convex region, so each row of pixels has one span. A pixel is
//! inside when its centre is.

use super::body::Body;
use super::frame::Frame;
use super::polyhedron::trace_polyhedron;
use super::revolution::{Circle, trace_revolved};
use super::rows::{Outline, Rows};
use super::solid::Solid;
use super::sphere::trace_sphere;
use crate::scene::camera::Camera;
use crate::scene::geometry::{Vec3, dot, sub};
use crate::scene::ground::{Ground, Plane};

/// Finds outlines; holds its buffers, so that one serves many bodies.
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
                Solid::Mesh(_) => {} // has no outline of one span per row: see `depth_buffer`
            }
        }
        outline.measure();
    }
}

/// The turn about Z that points the x axis of a body at `offset` from the camera towards the camera.
fn towards(offset: Vec3) -> [f64; 2] {
    let distance = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
    if distance > 0.0 { [-offset[0] / distance, -offset[1] / distance] } else { [1.0, 0.0] }
}
