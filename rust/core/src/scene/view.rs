//! The object-id raster of a finished scene, on which visible pixels were counted when the scene was sampled.

use super::geometry::Vec3;
use super::visibility::{Body, Viewer};
use super::world::{SHAPE, SIZE, World};
use super::{Object, Scene};
use crate::vocab::N_TYPES;

impl World {
    /// The nearest object in each pixel, row by row: 0 for none, 1 + its number otherwise.
    ///
    /// None for a scene that does not say where its camera stands.
    pub fn object_ids(&self, scene: &Scene) -> Option<Vec<u8>> {
        let spec = &self.look().camera;
        let lens = spec.lens(self.config().width, self.config().height);
        let camera = spec.at(scene.staging.as_ref()?.camera, lens);
        let body = |object: &Object| self.body(object.attributes, object.position, turn(object.rotation_deg));
        let bodies: Vec<_> = scene.objects.iter().map(body).collect();
        Some(Viewer::default().ids(&bodies, &camera, &self.look().ground))
    }

    /// The solid of an object with these values.
    pub(super) fn body(&self, attributes: [u8; N_TYPES], position: Vec3, turn: [f64; 2]) -> Body<'_> {
        Body { solid: self.solid(attributes[SHAPE]), radius: self.radius(attributes[SIZE]), position, turn }
    }
}

/// Cosine and sine of an object's rotation.
pub(super) fn turn(rotation_deg: f64) -> [f64; 2] {
    let (sin, cos) = libm::sincos(rotation_deg.to_radians());
    [cos, sin]
}
