//! Makes the map of the ground around the bodies, from the light that reaches it by way of them.

use super::bodies::NOBODY;
use super::near_ground::{Grid, Hiders, Table};
use super::numbers::Numbers;
use super::shade::{LitStage, RayHistory};
use crate::render::lanes::Real;
use crate::render::material::frame;
use crate::render::stage::MOST_LIGHTS;
use crate::render::vector::{Ray, V3, v3};
use rayon::prelude::*;
use std::f32::consts::{FRAC_1_PI, PI, TAU};

/// How far the map reaches beyond the bodies' bounding spheres.
const MARGIN: f32 = 2.2;
/// Bodies that could throw no more than this share of all light on a place are passed over there.
const LEAST_SHARE: f32 = 0.003;
/// Others up to this share get one ray, neighbouring places different ones.
const FAINT_SHARE: f32 = 0.015;
/// The longer side, in pixels, of an image whose map is as fine as the effort says; smaller ones have coarser maps.
const LONGER_SIDE: usize = 480;
/// Points along each side of the map of what may hide lights.
const HIDERS_SIDE: usize = 33;
/// Points along each side of the coarsest map.
const LEAST_SIDE: usize = 24;

/// How finely the map is made.
#[derive(Clone, Copy, Debug)]
pub struct NearEffort {
    /// Points along each side, for an image of `LONGER_SIDE` or more; the indirect light has half as many.
    pub side: usize,
    /// Rays of a point to a body that fills its sky; a power of two.
    pub rays: u32,
    /// Shadow rays of a point to each light; a power of two.
    pub shadow_rays: u32,
}

impl NearEffort {
    /// The effort for an image by its longer side: what its pixels are too coarse to show is not worked out.
    pub fn for_side(self, longer_px: usize) -> Self {
        let side = (self.side * longer_px / LONGER_SIDE).max(LEAST_SIDE).min(self.side);
        Self { side: side & !1, ..self }
    }

    /// Makes the map of a stage that has everything else.
    ///
    /// The ground is lit by the lamps and by itself first, so that bodies mirror their own shadows when the light
    /// that they throw on the ground is gathered.
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
        lit.near.hiders = hiders(lit, Grid::new(start, length, HIDERS_SIDE));
        let direct = each_place(lit, fine, |place| {
            let numbers = Numbers::new(place.column as u32, place.row as u32, 0, self.shadow_rays);
            let light = lit.ground_direct(place.point, place.normal, &numbers, self.shadow_rays, self.shadow_rays);
            (place.point, light)
        });
        lit.near.radiance = thrown_back(lit, fine, &direct);
        let indirect = each_place(lit, coarse, |place| gather(lit, &place, self.rays));
        lit.near.indirect = Table::new(coarse, indirect.into_iter());
        lit.near.radiance = thrown_back(lit, fine, &direct);
    }
}

/// The bodies that may hide each light from the squares of a grid.
fn hiders(lit: &LitStage<'_>, grid: Grid) -> Hiders {
    let at = |axis: usize, step: f32| grid.start[axis] + step / grid.per_unit;
    let square = |i: usize| {
        let (column, row) = ((i / grid.side) as f32, (i % grid.side) as f32);
        let (middle, _) = lit.ground_at(at(0, column + 0.5), at(1, row + 0.5));
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)];
        let reach = corners.map(|(x, y)| (lit.ground_at(at(0, column + x), at(1, row + y)).0 - middle).length());
        let reach = reach.into_iter().fold(0.0, f32::max) + 0.01;
        let mut bodies = [0; MOST_LIGHTS];
        for (light, bodies) in lit.lights.iter().zip(&mut bodies) {
            let (toward, distance, spread) = light.middle(middle);
            *bodies = lit.bodies.in_shaft(middle, toward, distance, spread, reach);
        }
        bodies
    };
    Hiders { grid, bodies: (0..grid.side * grid.side).map(square).collect() }
}

/// A place of the ground that no body stands on, at a point of a grid.
struct Place {
    column: usize,
    row: usize,
    point: V3,
    normal: V3,
}

/// What `light` says of each point of a grid; None under a body.
fn each_place<T: Send>(lit: &LitStage<'_>, grid: Grid, light: impl Fn(Place) -> T + Sync) -> Vec<Option<T>> {
    (0..grid.side * grid.side)
        .into_par_iter()
        .with_min_len(32)
        .map(|i| {
            let (column, row) = (i / grid.side, i % grid.side);
            let at = |axis: usize, step: usize| grid.start[axis] + step as f32 / grid.per_unit;
            let (point, normal) = lit.ground_at(at(0, column), at(1, row));
            let is_free = !lit.bodies.list.iter().any(|body| body.contains(point));
            is_free.then(|| light(Place { column, row, point, normal }))
        })
        .collect()
}

/// The ground's radiance, from points with their direct light and what is known of the indirect light.
fn thrown_back(lit: &LitStage<'_>, grid: Grid, direct: &[Option<(V3, V3)>]) -> Table {
    let light = |&(point, direct): &(V3, V3)| (direct + lit.indirect(point)).times(lit.sheet.color) * FRAC_1_PI;
    Table::new(grid, direct.iter().map(|point| point.as_ref().map(light)))
}

/// Light at a place of the ground by way of bodies, and of the sheet where no body hides it.
///
/// Rays go to the bodies alone, more to those that fill more of the sky.
fn gather(lit: &LitStage<'_>, place: &Place, rays: u32) -> V3 {
    let &Place { column, row, point, normal } = place;
    let mut sum = V3::ZERO;
    let origin = point + v3(0.0, 0.0, 1e-4);
    for (number, body) in lit.bodies.list.iter().enumerate() {
        let offset = body.location - origin;
        let distance2 = offset.dot(offset);
        let sin2 = (body.bound * body.bound / distance2).min(1.0);
        // The share of the light that it could throw here at most.
        let share = sin2 * (normal.dot(offset) / distance2.sqrt() + sin2.sqrt()).clamp(0.0, 1.0);
        if share < LEAST_SHARE {
            continue;
        }
        let least = if share < FAINT_SHARE { 1 } else { 2 };
        let count = ((share * rays as f32) as u32).clamp(least, rays).next_power_of_two();
        // Evenly over the cone that holds the body.
        let axis = offset / distance2.sqrt();
        let (t, b) = frame(axis);
        let least_cos = if sin2 < 1.0 { (1.0 - sin2).sqrt() } else { 0.0 };
        let density = 1.0 / (TAU * (1.0 - least_cos));
        let weight = 1.0 / (PI * density * count as f32);
        for ray in 0..count {
            let numbers = Numbers::new(column as u32, row as u32, ray, count).deeper(number as u32 + 1);
            let u = numbers.pair(0);
            let cos = 1.0 - u[0] * (1.0 - least_cos);
            let r = (1.0 - cos * cos).max(0.0).sqrt();
            let [sin_turn, cos_turn] = u[1].turn();
            let direction = t * (r * cos_turn) + b * (r * sin_turn) + axis * cos;
            let up = normal.dot(direction);
            if up <= 0.0 {
                continue;
            }
            // Each body looks at its own cone; what stands before it is the other's to count.
            if let Some((distance, met)) = lit.bodies.nearest(origin, direction, f32::INFINITY, NOBODY)
                && met == number
            {
                // What the body shows, instead of the sheet behind it.
                let history = RayHistory { leaving: NOBODY, density: up / PI, bounce: 1 };
                let shown = lit.body_radiance(Ray { origin, direction }, distance, number, history, &numbers);
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
    fn small_images_have_coarse_maps_and_large_ones_no_finer_ones() {
        let effort = NearEffort { side: 64, rays: 4, shadow_rays: 1 };
        let sides = [96, 240, 250, 480, 1920].map(|px| effort.for_side(px).side);
        assert_eq!(sides, [24, 32, 32, 64, 64]);
        assert_eq!(NearEffort { side: 12, ..effort }.for_side(96).side, 12);
    }
}
