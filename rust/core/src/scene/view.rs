//! The object-id raster of a finished scene: the one on which visibility was counted when it was sampled.

use super::camera::Camera;
use super::visibility::{Body, Viewer};
use super::world::{SHAPE, SIZE, World};
use super::{Object, Scene};

impl World {
    /// The nearest object in each pixel, row by row: 0 for none, 1 + its number otherwise.
    ///
    /// None for a scene that does not say where its camera stands.
    pub fn object_ids(&self, scene: &Scene) -> Option<Vec<u8>> {
        let camera = self.camera(scene)?;
        Some(Viewer::default().ids(&self.bodies(scene), &camera, &self.look().ground))
    }

    fn camera(&self, scene: &Scene) -> Option<Camera> {
        let spec = &self.look().camera;
        let lens = spec.lens(self.config().width, self.config().height);
        scene.staging.as_ref().map(|staging| spec.at(staging.camera, lens))
    }

    fn bodies(&self, scene: &Scene) -> Vec<Body<'_>> {
        scene.objects.iter().map(|object| self.body(object)).collect()
    }

    fn body(&self, object: &Object) -> Body<'_> {
        Body {
            solid: self.solid(object.attributes[SHAPE]),
            radius: self.radius(object.attributes[SIZE]),
            position: object.position,
            turn: turn(object.rotation_deg),
        }
    }
}

/// Cosine and sine of an object's rotation.
pub(super) fn turn(rotation_deg: f64) -> [f64; 2] {
    let (sin, cos) = libm::sincos(rotation_deg.to_radians());
    [cos, sin]
}
