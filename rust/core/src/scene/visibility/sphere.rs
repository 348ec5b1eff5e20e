//! A sphere's span in each row of pixels.

use super::rows::{Outline, span};
use crate::scene::camera::Camera;
use crate::scene::geometry::{Vec3, ceil_within, dot};
use crate::scene::ground::Plane;

/// A sphere's outline is a conic, so a row's span comes from a quadratic equation. `centre` is seen
/// from the camera.
pub fn trace_sphere(radius: f64, centre: Vec3, camera: &Camera, ground: &[Plane], outline: &mut Outline) {
    let lens = &camera.lens;
    let (width, height) = (f64::from(lens.width_px), f64::from(lens.height_px));
    let (right, up, depth) = (dot(centre, camera.right), dot(centre, camera.up), dot(centre, camera.forward));
    // A ray (x, y, 1) meets the sphere where (ray . centre)^2 >= |ray|^2 * power.
    let power = dot(centre, centre) - radius * radius;
    let in_row = power - right * right;
    let in_both = in_row - up * up;
    if in_both <= 0.0 {
        return; // The camera's plane cuts the sphere.
    }
    let spread = (up * depth * up * depth + in_both * (depth * depth - in_row)).max(0.0).sqrt();
    let row_of = |y: f64| ceil_within(0.5 * height - y * lens.focal_px - 0.5, lens.height_px) as u16;
    let (first, end) = (row_of((up * depth + spread) / in_both), row_of((up * depth - spread) / in_both));
    outline.first_row = first;
    for row in first..end {
        let y = (0.5 * height - (f64::from(row) + 0.5)) / lens.focal_px;
        let along = depth + y * up;
        let discriminant = along * right * along * right + in_row * (along * along - power * (1.0 + y * y));
        let spread = discriminant.max(0.0).sqrt();
        let u_of = |x: f64| 0.5 * width + x * lens.focal_px;
        outline.spans.push(span(
            u_of((along * right - spread) / in_row),
            u_of((along * right + spread) / in_row),
            lens.width_px,
        ));
    }
    bury_sphere(centre, power, camera, ground, outline);
}

/// Removes the pixels in which the ray meets the sphere below the ground; they are the lowest ones.
fn bury_sphere(centre: Vec3, power: f64, camera: &Camera, ground: &[Plane], outline: &mut Outline) {
    let first_row = outline.first_row;
    for (row, span) in outline.spans.iter_mut().enumerate().rev() {
        let v_px = f64::from(first_row) + row as f64 + 0.5;
        let buried = |column: u16| {
            let ray = camera.ray(f64::from(column) + 0.5, v_px);
            let (along, length2) = (dot(ray, centre), dot(ray, ray));
            let depth = (along - (along * along - length2 * power).max(0.0).sqrt()) / length2;
            let hit: Vec3 = std::array::from_fn(|i| camera.location[i] + depth * ray[i]);
            ground.iter().any(|plane| hit[2] <= plane.at(hit[0], hit[1]))
        };
        let before = *span;
        while span[0] < span[1] && buried(span[0]) {
            span[0] += 1;
        }
        while span[0] < span[1] && buried(span[1] - 1) {
            span[1] -= 1;
        }
        if *span == before && before[0] < before[1] {
            return;
        }
    }
}
