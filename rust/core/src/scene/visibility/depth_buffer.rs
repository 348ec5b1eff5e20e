//! The nearest body in each pixel by its depth, where some bodies are not convex.

use super::body::Body;
use super::layer::Layer;
use super::order::Depth;
use super::outline::Tracer;
use super::rows::Outline;
use super::sight::Sight;
use super::solid::Solid;
use crate::scene::camera::Camera;
use crate::scene::ground::Ground;

/// What each pixel shows (0 for no body, otherwise 1 + its number), and the pixels of each body if it stood alone.
pub struct DepthBuffer {
    pub ids: Vec<u8>,
    alone_px: Vec<u32>,
    width: usize,
}

/// Whether a body's rows of pixels may have gaps, in which case outlines do not tell what is seen.
pub fn has_hollows(bodies: &[Body<'_>]) -> bool {
    bodies.iter().any(|body| matches!(body.solid, Solid::Mesh(_)))
}

impl DepthBuffer {
    pub fn new(bodies: &[Body<'_>], camera: &Camera, ground: &Ground, tracer: &mut Tracer) -> Self {
        let (width, height) = (camera.lens.width_px as usize, camera.lens.height_px as usize);
        let mut found = Self { ids: vec![0; width * height], alone_px: vec![0; bodies.len()], width };
        let mut nearest = vec![f64::INFINITY; width * height];
        for (number, body) in bodies.iter().enumerate() {
            let mut show = |column: u16, row: u16, depth: f64| {
                let place = usize::from(row) * width + usize::from(column);
                found.alone_px[number] += 1;
                // A ray along an outline may miss what the outline holds.
                if found.ids[place] == 0 || depth < nearest[place] {
                    (found.ids[place], nearest[place]) = (number as u8 + 1, depth);
                }
            };
            if let Solid::Mesh(mesh) = body.solid {
                let layer = Layer::of(mesh, body, camera, ground);
                layer.pixels().for_each(|(column, row, depth)| show(column, row, depth));
                continue;
            }
            let mut outline = Outline::default();
            tracer.trace(body, camera, ground, &mut outline);
            let depth = Depth::new(body, camera.location);
            for (row, span) in (outline.first_row..).zip(&outline.spans) {
                for column in span[0]..span[1] {
                    let ray = camera.ray(f64::from(column) + 0.5, f64::from(row) + 0.5);
                    show(column, row, depth.along(ray));
                }
            }
        }
        found
    }

    /// What is seen of each body.
    pub fn sights(&self) -> Vec<Sight> {
        let empty = |&total_px: &u32| Sight { visible_px: 0, total_px, bbox: [u16::MAX, u16::MAX, 0, 0] };
        let mut sights: Vec<Sight> = self.alone_px.iter().map(empty).collect();
        for (place, id) in self.ids.iter().enumerate().filter(|(_, id)| **id > 0) {
            let (column, row) = ((place % self.width) as u16, (place / self.width) as u16);
            let sight = &mut sights[usize::from(*id) - 1];
            sight.visible_px += 1;
            let [left, top, right, bottom] = sight.bbox;
            sight.bbox = [left.min(column), top.min(row), right.max(column + 1), bottom.max(row + 1)];
        }
        for sight in sights.iter_mut().filter(|sight| sight.visible_px == 0) {
            sight.bbox = [0; 4];
        }
        sights
    }
}
