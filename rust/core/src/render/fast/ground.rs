//! The light of pixels that show nothing but ground.
//!
//! Light on the ground changes slowly, but for its shadows' edges and its foldings. It is found
//! at every fourth pixel and blended between; only where a light is hidden from some of the four
//! corners about a pixel and not from others, shadow rays leave the pixel itself.

use super::bodies::NOBODY;
use super::numbers::Numbers;
use super::shade::OFFSET;
use super::view::View;
use crate::render::stage::MOST_LIGHTS;
use crate::render::vector::V3;
use rayon::prelude::*;
use std::f32::consts::FRAC_1_PI;

/// Pixels from one corner to the next; a tile has a whole number of such steps.
pub const STEP: usize = 4;

/// How much is spent on the ground.
#[derive(Clone, Copy, Debug)]
pub struct GroundEffort {
    /// Shadow rays of a corner to a light that a body may hide; a power of two.
    pub corner_rays: u32,
    /// Shadow rays of a pixel to a light: to begin with, and where they disagree.
    pub shadow_rays: [u32; 2],
    /// How far corners may differ in what they see of a light, as a share of all light that could be there, for
    /// the pixels between them to be blended.
    pub difference: f32,
}

/// Ground at a corner.
#[derive(Clone, Copy, Default)]
struct Corner {
    /// Ground shows here, not a body.
    usable: bool,
    /// Nothing shows here.
    open: bool,
    local_x: f32,
    normal: V3,
    /// How strong each light is where nothing hides it.
    strength: [f32; MOST_LIGHTS],
    /// Which share of each light is seen.
    clear: [f32; MOST_LIGHTS],
    /// Light that is seen and thrown back, as it flows along x, y and z.
    flow: [V3; 3],
    /// As far as it is thrown back.
    indirect: V3,
    /// All of it, thrown back.
    radiance: V3,
}

/// The ground, as far as it has been found.
pub struct Ground<'a> {
    view: &'a View<'a>,
    effort: GroundEffort,
    corners: Vec<Corner>,
    across: usize,
}

/// What a cell of `STEP` x `STEP` pixels shows.
pub struct Cell<'g> {
    ground: &'g Ground<'g>,
    corners: [&'g Corner; 4],
    first: [usize; 2],
    /// Bits of the lights that need shadow rays.
    unsure: u32,
    kind: Kind,
}

enum Kind {
    /// Nothing but a blend of the corners' radiance.
    Even([V3; 4]),
    /// As that, with a fold: by corner, light's flow along x, y and z, one colour in each vector.
    Folded([[V3; 3]; 4]),
    /// Pixel by pixel.
    Uneven,
}

impl<'a> Ground<'a> {
    pub fn new(view: &'a View<'a>, effort: GroundEffort) -> Self {
        let across = view.width.div_ceil(STEP) + 1;
        let down = view.height.div_ceil(STEP) + 1;
        let corners = (0..across * down)
            .into_par_iter()
            .with_min_len(2 * across)
            .map(|i| corner(view, effort, i % across * STEP, i / across * STEP))
            .collect();
        Self { view, effort, corners, across }
    }

    /// The cell that holds a pixel.
    pub fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        let (x, y) = (column / STEP, row / STEP);
        let at = |x: usize, y: usize| &self.corners[y * self.across + x];
        let corners = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
        let even = Kind::Even(corners.map(|corner| corner.radiance));
        let mut cell = Cell { ground: self, corners, first: [x * STEP, y * STEP], unsure: 0, kind: even };
        if !corners.iter().all(|corner| corner.usable) {
            cell.unsure = u32::MAX;
            cell.kind = Kind::Uneven;
            return cell;
        }
        let n_lights = self.view.lit.lights.len();
        let total: f32 = corners[0].strength[..n_lights].iter().sum();
        for light in 0..n_lights {
            let seen = corners.map(|corner| corner.clear[light]);
            let differ = seen.iter().fold(0.0, |a: f32, &b| a.max(b)) - seen.iter().fold(1.0, |a: f32, &b| a.min(b));
            if differ * corners[0].strength[light] > self.effort.difference * total {
                cell.unsure |= 1 << light;
            }
        }
        if cell.unsure != 0 {
            cell.kind = Kind::Uneven;
        } else if !corners.iter().all(|corner| corner.normal == corners[0].normal) {
            cell.kind = Kind::Folded(corners.map(|corner| corner.flow));
        }
        cell
    }
}

impl Cell<'_> {
    /// Whether the ground ends in the cell.
    pub fn is_edge(&self) -> bool {
        let n_open = self.corners.iter().filter(|corner| corner.open).count();
        n_open != 0 && n_open != self.corners.len()
    }

    /// Radiance of a pixel of the cell.
    #[inline(always)]
    pub fn radiance(&self, column: usize, row: usize) -> V3 {
        let u = (column - self.first[0]) as f32 * (1.0 / STEP as f32);
        let v = (row - self.first[1]) as f32 * (1.0 / STEP as f32);
        let weights = [(1.0 - u) * (1.0 - v), u * (1.0 - v), (1.0 - u) * v, u * v];
        match &self.kind {
            Kind::Even(radiance) => blend(weights, radiance),
            Kind::Folded(flows) => {
                let sheet = self.ground.view.lit.sheet;
                let x: f32 = (0..4).map(|i| weights[i] * self.corners[i].local_x).sum();
                let normal = sheet.at(x).1;
                let along = |axis: usize| blend(weights, &std::array::from_fn(|i| flows[i][axis]));
                let light = along(0) * normal.x + along(1) * normal.y + along(2) * normal.z;
                let indirect = blend(weights, &self.corners.map(|corner| corner.indirect));
                (light + indirect).times(sheet.color) * FRAC_1_PI
            }
            Kind::Uneven => self.by_itself(column, row, weights),
        }
    }

    /// With rays of the pixel's own.
    fn by_itself(&self, column: usize, row: usize, weights: [f32; 4]) -> V3 {
        let view = self.ground.view;
        let lit = view.lit;
        let ray = view.ray(column as f32 + 0.5, row as f32 + 0.5);
        let Some((t, normal)) = lit.sheet.hit(ray.origin, ray.direction) else { return lit.background };
        let point = ray.at(t);
        let numbers = Numbers::new(column as u32, row as u32, 0, 1);
        let [few, most] = self.ground.effort.shadow_rays;
        let mut light = lit.indirect_to_eye(point);
        for (number, lamp) in lit.lights.iter().enumerate() {
            let clear = if self.unsure >> number & 1 == 1 {
                lit.clear(number, point + normal * OFFSET, &numbers, few, most)
            } else {
                (0..4).map(|i| weights[i] * self.corners[i].clear[number]).sum()
            };
            if clear > 0.0 {
                let share = lit.sheet.share(normal, -ray.direction, lamp.middle(point).0);
                light += lamp.irradiance(point, normal).times(share) * clear;
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
        corner.open = true;
        return corner;
    };
    let point = ray.at(t);
    corner.usable = true;
    corner.local_x = lit.sheet.to_local(point).x;
    corner.normal = normal;
    corner.indirect = lit.indirect_to_eye(point);
    let numbers = Numbers::new((column / STEP) as u32, (row / STEP) as u32, 0, effort.corner_rays);
    let rays = effort.corner_rays;
    for (number, lamp) in lit.lights.iter().enumerate() {
        let flux = lamp.flux(point);
        let cos = normal.dot(flux);
        if cos > 0.0 {
            corner.strength[number] = lamp.color().mean() * cos;
            let share = lit.sheet.share(normal, -ray.direction, lamp.middle(point).0);
            let clear = lit.clear(number, point + normal * OFFSET, &numbers, rays.min(4), rays);
            corner.clear[number] = clear;
            let color = lamp.color().times(share) * clear;
            for (axis, sum) in corner.flow.iter_mut().enumerate() {
                *sum += color * flux[axis];
            }
        }
    }
    let [x, y, z] = corner.flow;
    let light = x * normal.x + y * normal.y + z * normal.z;
    corner.radiance = (light + corner.indirect).times(lit.sheet.color) * FRAC_1_PI;
    corner
}

#[inline(always)]
fn blend(weights: [f32; 4], values: &[V3; 4]) -> V3 {
    values[0] * weights[0] + values[1] * weights[1] + values[2] * weights[2] + values[3] * weights[3]
}
