//! Computes the map of the ground around the bodies, with the light that bodies reflect onto it.

use super::bodies::NOBODY;
use super::near_ground::{Grid, OccluderMap, Table};
use super::shade::{LitStage, RayHistory};
use super::sobol::SobolSample;
use crate::render::lanes::Real;
use crate::render::material::tangent_frame;
use crate::render::stage::MAX_LIGHTS;
use crate::render::vector::{Ray, V3, v3};
use rayon::prelude::*;
use std::f32::consts::{FRAC_1_PI, PI, TAU};

/// Width of the map beyond the bodies' bounding spheres.
const MARGIN: f32 = 2.2;
/// Bodies that cover less than this cosine-weighted fraction of a point's hemisphere are ignored there.
const MIN_COVERAGE: f32 = 0.003;
/// Others below this fraction get one ray, which neighbouring points aim differently.
const FAINT_COVERAGE: f32 = 0.015;
/// The map is at its full resolution for images whose longer side has this many pixels; it is coarser for smaller ones.
const LONGER_SIDE: usize = 480;
/// Points along each side of the occluder map.
const OCCLUDERS_SIDE: usize = 33;
/// Points along each side of the coarsest map.
const MIN_SIDE: usize = 24;

/// Resolution and sampling effort of the map.
#[derive(Clone, Copy, Debug)]
pub struct NearEffort {
    /// Points along each side, for an image of `LONGER_SIDE` or more; the map of indirect light has half as many.
    pub side: usize,
    /// Rays of a point to a body that fills its hemisphere; a power of two.
    pub rays: u32,
    /// Shadow rays of a point to each light; a power of two.
    pub shadow_rays: u32,
}

impl NearEffort {
    /// The effort for an image with this longer side: a map no finer than its pixels can show.
    pub fn for_side(self, longer_px: usize) -> Self {
        let side = (self.side * longer_px / LONGER_SIDE).max(MIN_SIDE).min(self.side);
        Self { side: side & !1, ..self }
    }

    /// Computes the map of a stage that is complete otherwise.
    ///
    /// The ground's radiance is first computed without the light from bodies, so that bodies reflect a ground with
    /// their shadows on it when the light that they reflect onto the ground is gathered.
    pub fn light(self, lit: &mut LitStage<'_>) {
        let bodies = lit.bodies.list;
        if bodies.is_empty() {
            return;
        }
        let low = |axis: usize| bodies.iter().map(|b| b.location[axis] - b.bound - MARGIN).fold(f32::MAX, f32::min);
        let high = |axis: usize| bodies.iter().map(|b| b.location[axis] + b.bound + MARGIN).fold(f32::MIN, f32::max);
        let start = [low(0), low(1)];
        let length = (high(0) - start[0]).max(high(1) - start[1]);
        let (fine, coarse) = (Grid::new(start, length, self.side), Grid::new(start, length, self.side / 2));
        lit.near.occluders = occluders(lit, Grid::new(start, length, OCCLUDERS_SIDE));
        let direct = at_free_points(lit, fine, |at| {
            let sobol = SobolSample::new(at.column as u32, at.row as u32, 0, self.shadow_rays);
            let light = lit.ground_direct(at.point, at.normal, &sobol, self.shadow_rays, self.shadow_rays);
            (at.point, light)
        });
        lit.near.radiance = ground_radiance(lit, fine, &direct);
        let indirect = at_free_points(lit, coarse, |at| gather(lit, &at, self.rays));
        lit.near.indirect = Table::new(coarse, indirect.into_iter());
        lit.near.radiance = ground_radiance(lit, fine, &direct);
    }
}

/// The bodies that may hide each light from the cells of a grid.
fn occluders(lit: &LitStage<'_>, grid: Grid) -> OccluderMap {
    let at = |axis: usize, step: f32| grid.start[axis] + step / grid.per_unit;
    let square = |i: usize| {
        let (column, row) = ((i / grid.side) as f32, (i % grid.side) as f32);
        let (center, _) = lit.ground_at(at(0, column + 0.5), at(1, row + 0.5));
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)];
        let reach = corners.map(|(x, y)| (lit.ground_at(at(0, column + x), at(1, row + y)).0 - center).length());
        let reach = reach.into_iter().fold(0.0, f32::max) + 0.01;
        let mut bodies = [0; MAX_LIGHTS];
        for (light, bodies) in lit.lights.iter().zip(&mut bodies) {
            let (toward, distance, spread) = light.bounding_cone(center);
            *bodies = lit.bodies.in_shaft(center, toward, distance, spread, reach);
        }
        bodies
    };
    OccluderMap { grid, bodies: (0..grid.side * grid.side).map(square).collect() }
}

/// A point of a grid on the ground, not inside a body.
struct GroundPoint {
    column: usize,
    row: usize,
    point: V3,
    normal: V3,
}

/// Calls `light` for each point of a grid; None inside a body.
fn at_free_points<T: Send>(lit: &LitStage<'_>, grid: Grid, light: impl Fn(GroundPoint) -> T + Sync) -> Vec<Option<T>> {
    (0..grid.side * grid.side)
        .into_par_iter()
        .with_min_len(32)
        .map(|i| {
            let (column, row) = (i / grid.side, i % grid.side);
            let at = |axis: usize, step: usize| grid.start[axis] + step as f32 / grid.per_unit;
            let (point, normal) = lit.ground_at(at(0, column), at(1, row));
            let is_free = !lit.bodies.list.iter().any(|body| body.contains(point));
            is_free.then(|| light(GroundPoint { column, row, point, normal }))
        })
        .collect()
}

/// The ground's radiance, from its points with their direct light and from the indirect light that is known so far.
fn ground_radiance(lit: &LitStage<'_>, grid: Grid, direct: &[Option<(V3, V3)>]) -> Table {
    let light = |&(point, direct): &(V3, V3)| (direct + lit.indirect(point)).times(lit.sheet.color) * FRAC_1_PI;
    Table::new(grid, direct.iter().map(|point| point.as_ref().map(light)))
}

/// Indirect irradiance at a point of the ground: by way of bodies, and by way of the sheet where no body hides it.
///
/// Rays go to the bodies alone, more of them to those that cover more of the hemisphere.
fn gather(lit: &LitStage<'_>, at: &GroundPoint, rays: u32) -> V3 {
    let &GroundPoint { column, row, point, normal } = at;
    let mut sum = V3::ZERO;
    let origin = point + v3(0.0, 0.0, 1e-4);
    for (index, body) in lit.bodies.list.iter().enumerate() {
        let offset = body.location - origin;
        let distance2 = offset.dot(offset);
        let sin2 = (body.bound * body.bound / distance2).min(1.0);
        // An upper bound of the cosine-weighted fraction of the hemisphere that the body covers.
        let coverage = sin2 * (normal.dot(offset) / distance2.sqrt() + sin2.sqrt()).clamp(0.0, 1.0);
        if coverage < MIN_COVERAGE {
            continue;
        }
        let least = if coverage < FAINT_COVERAGE { 1 } else { 2 };
        let count = ((coverage * rays as f32) as u32).clamp(least, rays).next_power_of_two();
        // Uniform sampling of the cone that bounds the body.
        let axis = offset / distance2.sqrt();
        let (t, b) = tangent_frame(axis);
        let min_cos = if sin2 < 1.0 { (1.0 - sin2).sqrt() } else { 0.0 };
        let pdf = 1.0 / (TAU * (1.0 - min_cos));
        let weight = 1.0 / (PI * pdf * count as f32);
        for ray in 0..count {
            let sobol = SobolSample::new(column as u32, row as u32, ray, count).substream(index as u32 + 1);
            let u = sobol.pair(0);
            let cos = 1.0 - u[0] * (1.0 - min_cos);
            let r = (1.0 - cos * cos).max(0.0).sqrt();
            let [sin_turn, cos_turn] = u[1].sin_cos_turns();
            let direction = t * (r * cos_turn) + b * (r * sin_turn) + axis * cos;
            let up = normal.dot(direction);
            if up <= 0.0 {
                continue;
            }
            // A ray that hits another body first is left to that body's own cone.
            if let Some((distance, nearest)) = lit.bodies.nearest(origin, direction, f32::INFINITY, NOBODY)
                && nearest == index
            {
                // The body's radiance replaces that of the sheet behind it.
                let history = RayHistory { leaving: NOBODY, pdf: up / PI, bounce: 1 };
                let shown = lit.body_radiance(Ray { origin, direction }, distance, index, history, &sobol);
                let hidden = lit
                    .sheet
                    .hit(origin, direction)
                    .map_or(lit.background, |(t, _)| lit.far.radiance(lit.sheet.to_local(origin + direction * t)));
                sum += (shown - hidden) * (up * weight);
            }
        }
    }
    lit.far.indirect(lit.sheet.to_local(point)) + sum * PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_images_have_coarser_maps_and_large_ones_no_finer_ones() {
        let effort = NearEffort { side: 64, rays: 4, shadow_rays: 1 };
        let sides = [96, 240, 250, 480, 1920].map(|px| effort.for_side(px).side);
        assert_eq!(sides, [24, 32, 32, 64, 64]);
        assert_eq!(NearEffort { side: 12, ..effort }.for_side(96).side, 12);
    }
}
