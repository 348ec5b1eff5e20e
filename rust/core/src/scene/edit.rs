//! Scenes with some of the objects of another scene, perhaps with other values; everything else stays the same.

use super::geometry::Vec3;
use super::rejections::Rejections;
use super::sample::{Pool, Stage, Workspace};
use super::{Origin, Scene};
use crate::vocab::N_TYPES;
use std::sync::Arc;

impl Pool<'_> {
    /// A scene in this pool's name, made from a scene of this world: `objects` are numbers of its objects, with values.
    ///
    /// Camera, lights, positions on the ground and rotations stay; visibility is computed again. The scene belongs to
    /// no stream, since the stream of this name does not contain it.
    ///
    /// None if an object would stand too near to another, if too little of one would be seen, or if the scene does not
    /// say where its camera stands.
    pub fn edited(&self, scene: &Scene, index: u64, objects: &[(usize, [u8; N_TYPES])]) -> Option<Scene> {
        let staging = scene.staging.as_ref()?;
        let stage = Stage {
            camera: self.world.look().camera.at(staging.camera, self.lens),
            directions: scene.directions,
            staging: staging.clone(),
        };
        let ground = |&(object, _): &(usize, _)| {
            let [x, y, _]: Vec3 = scene.objects[object].position;
            ([x, y], scene.objects[object].rotation_deg)
        };
        let (ground, rotations_deg): (Vec<[f64; 2]>, Vec<f64>) = objects.iter().map(ground).unzip();
        let attributes = objects.iter().map(|(_, attributes)| attributes);
        let standing = attributes.zip(&ground).zip(&rotations_deg);
        let mut workspace = Workspace::default();
        if !self.stand(standing, &stage.directions, &mut workspace.placed, &mut Rejections::default()) {
            return None;
        }
        let mut edited = self.finish(index, &stage, &mut workspace)?;
        let (pool, lights) = (self.origin.pool.clone(), scene.origin.lights.clone());
        edited.origin = Arc::new(Origin { pool, stream: None, lights });
        Some(edited)
    }
}
