//! Ground truth of each pixel (object, depth and normal), and the size in pixels of each object alone.
//!
//! There is one ray through each pixel's centre, so masks have hard edges and no pixel mixes two objects.

use super::nearest::nearest;
use super::stage::{Body, Stage};
use super::stop::Stop;
use super::vector::V3;
use crate::scene::geometry::dot;
use rayon::prelude::*;

/// The mask's value where there is no object. Objects have their indices, from 0 on.
pub const NOBODY: u8 = 255;

/// The annotations of an image, rows from the top.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    /// For each pixel, the index of the object that it shows, or `NOBODY`.
    pub mask: Vec<u8>,
    /// For each pixel, the depth along the camera's axis, the ground included; 0 for the background.
    pub depth: Vec<f32>,
    /// For each pixel, the object's unit shading normal in world space; 0 without an object.
    pub normal: Vec<[f32; 3]>,
    /// For each object, the number of pixels that it would cover without the other objects.
    pub alone_px: Vec<u32>,
}

/// The annotations of one pixel.
struct Annotation {
    object: u8,
    depth: f32,
    normal: [f32; 3],
}

/// Annotates a stage of fewer than 255 bodies; None if it was stopped.
pub fn passes(stage: &Stage<'_>, stop: &Stop) -> Option<Passes> {
    let lens = stage.camera.lens;
    let rows: Vec<(Vec<Annotation>, Vec<u32>)> = (0..lens.height_px)
        .into_par_iter()
        .map(|row| {
            let mut alone_px = vec![0; stage.bodies.len()];
            let pixel = |column| trace_pixel(stage, f64::from(column) + 0.5, f64::from(row) + 0.5, &mut alone_px);
            let pixels = stop.unless_set(|| (0..lens.width_px).map(pixel).collect())?;
            Some((pixels, alone_px))
        })
        .collect::<Option<_>>()?;
    let count = rows.len() * lens.width_px as usize;
    let mut found = Passes {
        mask: Vec::with_capacity(count),
        depth: Vec::with_capacity(count),
        normal: Vec::with_capacity(count),
        alone_px: vec![0; stage.bodies.len()],
    };
    for (pixels, alone_px) in rows {
        for annotation in pixels {
            found.mask.push(annotation.object);
            found.depth.push(annotation.depth);
            found.normal.push(annotation.normal);
        }
        found.alone_px.iter_mut().zip(alone_px).for_each(|(sum, n)| *sum += n);
    }
    Some(found)
}

/// Annotates one point of the image, and counts in `alone_px` each body that the ray meets in front of the ground.
fn trace_pixel(stage: &Stage<'_>, u_px: f64, v_px: f64, alone_px: &mut [u32]) -> Annotation {
    let camera = &stage.camera;
    let ray = camera.ray(u_px, v_px);
    // The camera's ray reaches a depth of 1, so a hit at distance `t` has depth `t / length`.
    let length = dot(ray, ray).sqrt();
    let direction = ray.map(|x| x / length);
    let ground = stage
        .ground
        .hit(V3::from_f64(camera.location), V3::from_f64(direction))
        .map_or(f64::INFINITY, |(t, _)| t.into());
    let hits = stage.bodies.iter().zip(alone_px).enumerate().filter_map(|(index, (body, alone_px))| {
        let (t, point) = enter(body, camera.location, direction).filter(|&(t, _)| t < ground)?;
        *alone_px += 1;
        Some((t, (index, point)))
    });
    match nearest(hits, ground) {
        Some((t, (index, point))) => {
            let normal = stage.bodies[index].normal(point, V3::from_f64(direction)).unit();
            Annotation { object: index as u8, depth: (t / length) as f32, normal: [normal.x, normal.y, normal.z] }
        }
        None => Annotation {
            object: NOBODY,
            depth: if ground.is_finite() { (ground / length) as f32 } else { 0.0 },
            normal: [0.0; 3],
        },
    }
}

/// Where a ray enters a body: the distance, and the point.
///
/// The body is intersected in single precision; the ray starts close to it, so that the camera's distance costs no
/// precision.
fn enter(body: &Body<'_>, origin: [f64; 3], direction: [f64; 3]) -> Option<(f64, V3)> {
    let location = [body.location.x, body.location.y, body.location.z].map(f64::from);
    let bound = f64::from(body.bound);
    let offset: [f64; 3] = std::array::from_fn(|i| location[i] - origin[i]);
    let along = dot(offset, direction);
    if dot(offset, offset) - along * along >= bound * bound {
        return None;
    }
    let near = along - 1.01 * bound;
    let start = V3::from_f64(std::array::from_fn(|i| origin[i] + near * direction[i]));
    let direction = V3::from_f64(direction);
    let t = near + f64::from(body.hit(start, direction));
    (t.is_finite() && t > 0.0).then(|| (t, start + direction * (t - near) as f32))
}
