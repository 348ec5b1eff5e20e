//! Radiance of the pixels that show nothing but ground.
//!
//! Light on the ground varies slowly, except at edges of shadows and at folds. It is computed at every fourth pixel and
//! interpolated; only where a light is visible from some of the four corners around a pixel and hidden from others,
//! the pixel traces shadow rays of its own.

use super::bodies::NOBODY;
use super::shade::OFFSET;
use super::sobol::SobolSample;
use super::view::View;
use crate::render::stage::MAX_LIGHTS;
use crate::render::stop::Stop;
use crate::render::vector::V3;
use rayon::prelude::*;
use std::f32::consts::FRAC_1_PI;

/// Pixels from one corner to the next; divides `TILE`.
pub const STEP: usize = 4;

/// Sampling effort of the ground.
#[derive(Clone, Copy, Debug)]
pub struct GroundEffort {
    /// Shadow rays from a corner to a light that a body may hide; a power of two.
    pub corner_rays: u32,
    /// Shadow rays from a pixel to a light: at first, and at most if they disagree.
    pub shadow_rays: [u32; 2],
    /// Pixels are interpolated unless what their corners see of a light differs by more than this fraction of all
    /// unoccluded light.
    pub difference: f32,
}

/// The ground at a corner.
#[derive(Clone, Copy, Default)]
struct Corner {
    /// Its pixel shows ground, not a body.
    shows_ground: bool,
    /// Its pixel shows the background.
    shows_background: bool,
    local_x: f32,
    normal: V3,
    /// Unoccluded strength of each light.
    strength: [f32; MAX_LIGHTS],
    /// Visible fraction of each light.
    visibility: [f32; MAX_LIGHTS],
    /// Vector irradiance of the visible light, scaled by the reflection towards the camera: its colours along x, y, z.
    irradiance_axes: [V3; 3],
    /// Indirect irradiance, scaled likewise.
    indirect: V3,
    /// Reflected radiance.
    radiance: V3,
}

/// The ground at the corners of an image.
pub struct Ground<'a> {
    view: &'a View<'a>,
    effort: GroundEffort,
    corners: Vec<Corner>,
    across: usize,
}

/// A cell of `STEP` x `STEP` pixels.
pub struct Cell<'g> {
    ground: &'g Ground<'g>,
    corners: [&'g Corner; 4],
    first: [usize; 2],
    /// The lights that need shadow rays from each pixel, as bits.
    penumbra_lights: u32,
    shading: Shading,
}

enum Shading {
    /// Interpolates the corners' radiance.
    Flat([V3; 4]),
    /// The normal varies: interpolates each corner's vector irradiance instead.
    Folded([[V3; 3]; 4]),
    /// Each pixel has a ray of its own.
    PerPixel,
}

impl<'a> Ground<'a> {
    /// If it is stopped, some corners are dark.
    pub fn new(view: &'a View<'a>, effort: GroundEffort, stop: &Stop) -> Self {
        let across = view.width.div_ceil(STEP) + 1;
        let down = view.height.div_ceil(STEP) + 1;
        let corners = (0..across * down)
            .into_par_iter()
            .with_min_len(2 * across)
            .map(|i| stop.unless_set(|| corner(view, effort, i % across * STEP, i / across * STEP)).unwrap_or_default())
            .collect();
        Self { view, effort, corners, across }
    }

    /// The cell that contains a pixel.
    pub fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        let (x, y) = (column / STEP, row / STEP);
        let at = |x: usize, y: usize| &self.corners[y * self.across + x];
        let corners = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
        let flat = Shading::Flat(corners.map(|corner| corner.radiance));
        let mut cell = Cell { ground: self, corners, first: [x * STEP, y * STEP], penumbra_lights: 0, shading: flat };
        if !corners.iter().all(|corner| corner.shows_ground) {
            cell.penumbra_lights = u32::MAX;
            cell.shading = Shading::PerPixel;
            return cell;
        }
        let n_lights = self.view.lit.lights.len();
        let total: f32 = corners[0].strength[..n_lights].iter().sum();
        for light in 0..n_lights {
            let fractions = corners.map(|corner| corner.visibility[light]);
            let differ =
                fractions.iter().fold(0.0, |a: f32, &b| a.max(b)) - fractions.iter().fold(1.0, |a: f32, &b| a.min(b));
            if differ * corners[0].strength[light] > self.effort.difference * total {
                cell.penumbra_lights |= 1 << light;
            }
        }
        if cell.penumbra_lights != 0 {
            cell.shading = Shading::PerPixel;
        } else if !corners.iter().all(|corner| corner.normal == corners[0].normal) {
            cell.shading = Shading::Folded(corners.map(|corner| corner.irradiance_axes));
        }
        cell
    }
}

impl Cell<'_> {
    /// Whether the ground ends within the cell.
    pub fn is_edge(&self) -> bool {
        let n_background = self.corners.iter().filter(|corner| corner.shows_background).count();
        n_background != 0 && n_background != self.corners.len()
    }

    /// Radiance of a pixel of the cell.
    #[inline(always)]
    pub fn radiance(&self, column: usize, row: usize) -> V3 {
        let u = (column - self.first[0]) as f32 * (1.0 / STEP as f32);
        let v = (row - self.first[1]) as f32 * (1.0 / STEP as f32);
        let weights = [(1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v];
        match &self.shading {
            Shading::Flat(radiance) => blend(weights, radiance),
            Shading::Folded(axes) => {
                let sheet = self.ground.view.lit.sheet;
                let x: f32 = (0..4).map(|i| weights[i] * self.corners[i].local_x).sum();
                let normal = sheet.at(x).1;
                let along = |axis: usize| blend(weights, &std::array::from_fn(|i| axes[i][axis]));
                let light = along(0) * normal.x + along(1) * normal.y + along(2) * normal.z;
                let indirect = blend(weights, &self.corners.map(|corner| corner.indirect));
                (light + indirect).times(sheet.color) * FRAC_1_PI
            }
            Shading::PerPixel => self.trace_pixel(column, row, weights),
        }
    }

    /// Radiance by a primary ray and shadow rays of the pixel's own.
    fn trace_pixel(&self, column: usize, row: usize, weights: [f32; 4]) -> V3 {
        let view = self.ground.view;
        let lit = view.lit;
        let ray = view.ray(column as f32 + 0.5, row as f32 + 0.5);
        let Some((t, normal)) = lit.sheet.hit(ray.origin, ray.direction) else { return lit.background };
        let point = ray.at(t);
        let sobol = SobolSample::new(column as u32, row as u32, 0, 1);
        let [few, most] = self.ground.effort.shadow_rays;
        let mut light = lit.indirect_toward_camera(point);
        for (index, lamp) in lit.lights.iter().enumerate() {
            let visibility = if self.penumbra_lights >> index & 1 == 1 {
                lit.visibility(index, point + normal * OFFSET, &sobol, few, most)
            } else {
                (0..4).map(|i| weights[i] * self.corners[i].visibility[index]).sum()
            };
            if visibility > 0.0 {
                let ratio = lit.sheet.lambert_ratio(normal, -ray.direction, lamp.bounding_cone(point).0);
                light += lamp.irradiance(point, normal).times(ratio) * visibility;
            }
        }
        light.times(lit.sheet.color) * FRAC_1_PI
    }
}

fn corner(view: &View<'_>, effort: GroundEffort, column: usize, row: usize) -> Corner {
    let lit = view.lit;
    let mut corner = Corner::default();
    if view.shown(column, row) != NOBODY {
        return corner;
    }
    let ray = view.ray(column as f32 + 0.5, row as f32 + 0.5);
    let Some((t, normal)) = lit.sheet.hit(ray.origin, ray.direction) else {
        corner.shows_background = true;
        return corner;
    };
    let point = ray.at(t);
    corner.shows_ground = true;
    corner.local_x = lit.sheet.to_local(point).x;
    corner.normal = normal;
    corner.indirect = lit.indirect_toward_camera(point);
    let sobol = SobolSample::new((column / STEP) as u32, (row / STEP) as u32, 0, effort.corner_rays);
    let rays = effort.corner_rays;
    for (index, lamp) in lit.lights.iter().enumerate() {
        let vector = lamp.irradiance_vector(point);
        let cos = normal.dot(vector);
        if cos > 0.0 {
            corner.strength[index] = lamp.radiance().mean() * cos;
            let ratio = lit.sheet.lambert_ratio(normal, -ray.direction, lamp.bounding_cone(point).0);
            let visibility = lit.visibility(index, point + normal * OFFSET, &sobol, rays.min(4), rays);
            corner.visibility[index] = visibility;
            let color = lamp.radiance().times(ratio) * visibility;
            for (axis, sum) in corner.irradiance_axes.iter_mut().enumerate() {
                *sum += color * vector[axis];
            }
        }
    }
    let [x, y, z] = corner.irradiance_axes;
    let light = x * normal.x + y * normal.y + z * normal.z;
    corner.radiance = (light + corner.indirect).times(lit.sheet.color) * FRAC_1_PI;
    corner
}

#[inline(always)]
fn blend(weights: [f32; 4], values: &[V3; 4]) -> V3 {
    values[0] * weights[0] + values[1] * weights[1] + values[2] * weights[2] + values[3] * weights[3]
}
