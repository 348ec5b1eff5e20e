//! A room and a camera in, a picture out.
//!
//! A pixel of ground alone gets one ray. Others get several, spread over their area, and each of
//! these counts in all pixels whose filter reaches it. What broad lobes see is noisy; it is
//! averaged over neighbours on the same body with nearly the same normal before it is put back.

use super::bodies::NOBODY;
use super::numbers::Numbers;
use super::shade::{OFFSET, Room, SHARP_ALPHA, Trail, facing};
use crate::render::film::{FilterWeights, SrgbTable};
use crate::render::light::power;
use crate::render::material::{Kind, Lobes};
use crate::render::stage::MOST_LIGHTS;
use crate::render::vector::{Ray, V3};
use crate::scene::camera::Camera;
use rayon::prelude::*;
use std::f32::consts::FRAC_1_PI;

/// Rows that one task renders.
const BAND: usize = 8;

/// How much is spent on a picture's pixels.
#[derive(Clone, Copy, Debug)]
pub struct PixelEffort {
    /// Rays of a pixel that shows a body; a power of two.
    pub samples: u32,
    /// Shadow rays of a pixel of ground to a light: to begin with, and where they disagree.
    pub shadow_rays: [u32; 2],
    /// Half of the window over which noisy light is averaged, in pixels.
    pub window: usize,
}

/// A ray through a pixel.
#[derive(Clone, Copy)]
struct Sample {
    /// Weights of the pixel filter in the column before, its own, and the one after; rows likewise.
    columns: [f32; 3],
    rows: [f32; 3],
    /// The body, or NOBODY.
    body: usize,
    clean: V3,
    noisy: V3,
}

/// The noisy light of a pixel's foremost body.
#[derive(Clone, Copy)]
struct Mean {
    body: usize,
    normal: V3,
    sum: V3,
    count: f32,
}

impl Mean {
    const NOTHING: Self = Self { body: NOBODY, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
}

/// The rays of some rows.
struct Band {
    samples: Vec<Sample>,
    /// Of each pixel.
    counts: Vec<u32>,
    means: Vec<Mean>,
}

/// Colours and weights of some rows and of those just before and after.
struct Sums(Vec<(V3, f32)>);

/// What all pixels share.
struct View<'a> {
    room: &'a Room<'a>,
    camera: &'a Camera,
    filter: FilterWeights,
    effort: PixelEffort,
}

/// A picture as bytes, rows from the top, RGB.
pub fn picture(room: &Room<'_>, camera: &Camera, effort: PixelEffort) -> Vec<u8> {
    let (width, height) = (camera.lens.width_px as usize, camera.lens.height_px as usize);
    let view = View { room, camera, filter: FilterWeights::new(), effort };
    let srgb = SrgbTable::new();

    // What each pixel's middle shows.
    let shown: Vec<bool> = (0..width * height)
        .into_par_iter()
        .with_min_len(width)
        .map(|i| {
            let ray = view.ray((i % width) as f32 + 0.5, (i / width) as f32 + 0.5);
            room.bodies.nearest(ray.origin, ray.direction, f32::INFINITY, NOBODY).is_some()
        })
        .collect();
    let busy = |column: usize, row: usize| {
        let mut rows = row.saturating_sub(1)..(row + 2).min(height);
        rows.any(|r| shown[r * width + column.saturating_sub(1)..r * width + (column + 2).min(width)].contains(&true))
    };
    let starts: Vec<usize> = (0..height).step_by(BAND).collect();
    let bands: Vec<Band> = starts
        .par_iter()
        .map(|&start| {
            let mut band = Band { samples: Vec::new(), counts: Vec::new(), means: Vec::new() };
            let rows = start..(start + BAND).min(height);
            let tiles: Vec<[u64; MOST_LIGHTS]> =
                (0..width).step_by(BAND).map(|column| view.tile(column, start)).collect();
            for row in rows {
                for column in 0..width {
                    let count = if busy(column, row) { effort.samples } else { 1 };
                    let suspects = &tiles[column / BAND];
                    let mean = view.pixel([column, row], count, suspects, &mut band.samples);
                    band.counts.push(count);
                    band.means.push(mean);
                }
            }
            band
        })
        .collect();

    // A row more at either end: what the filter carries over to the bands beside.
    let means = |column: usize, row: usize| &bands[row / BAND].means[row % BAND * width + column];
    let kernel = Kernel::new(effort.window);
    let sums: Vec<Sums> = bands
        .par_iter()
        .zip(&starts)
        .map(|(band, &start)| {
            let mut sums = Sums(vec![(V3::ZERO, 0.0); (BAND + 2) * width]);
            let mut next = 0;
            for (pixel, &count) in band.counts.iter().enumerate() {
                let (column, row) = (pixel % width, pixel / width);
                let samples = &band.samples[next..next + count as usize];
                next += count as usize;
                let area = 1.0 / count as f32;
                let mut last = (NOBODY, V3::ZERO);
                for sample in samples {
                    if sample.body != last.0 {
                        let own = samples.iter().filter(|other| other.body == sample.body);
                        last = (
                            sample.body,
                            kernel.averaged(means, [width, height], [column, start + row], sample.body, own),
                        );
                    }
                    sums.add(width, [column, row], sample, (sample.clean + last.1) * area, area);
                }
            }
            sums
        })
        .collect();
    (0..width * height)
        .into_par_iter()
        .with_min_len(width)
        .flat_map_iter(|i| {
            let (column, row) = (i % width, i / width);
            let (band, within) = (row / BAND, row % BAND);
            let at = |band: usize, row: usize| sums[band].0[row * width + column];
            let (mut sum, mut total) = at(band, within + 1);
            let mut add = |(color, weight): (V3, f32)| {
                sum += color;
                total += weight;
            };
            if within == 0 && band > 0 {
                add(at(band - 1, BAND + 1));
            }
            if within == BAND - 1 && band + 1 < sums.len() {
                add(at(band + 1, 0));
            }
            srgb.bytes(sum / total)
        })
        .collect()
}

impl Sums {
    /// Adds a sample's light, already weighed by its area, to the pixels that its filter reaches.
    #[inline(always)]
    fn add(&mut self, width: usize, [column, row]: [usize; 2], sample: &Sample, light: V3, area: f32) {
        for (r, &weight_r) in sample.rows.iter().enumerate() {
            for (c, &weight_c) in sample.columns.iter().enumerate() {
                let target = column + c;
                if target == 0 || target > width {
                    continue;
                }
                let (color, total) = &mut self.0[(row + r) * width + target - 1];
                let weight = weight_r * weight_c;
                *color += light * weight;
                *total += area * weight;
            }
        }
    }
}

/// Weights by distance of the pixels of a window.
struct Kernel {
    window: usize,
    weights: Vec<f32>,
}

impl Kernel {
    fn new(window: usize) -> Self {
        let side = 2 * window + 1;
        let away = |i: usize| (i as f32 - window as f32) / window.max(1) as f32;
        let weight = |i: usize| (-1.5 * (away(i % side) * away(i % side) + away(i / side) * away(i / side))).exp();
        Self { window, weights: (0..side * side).map(weight).collect() }
    }

    /// The noisy light of a body about a pixel, whose own samples of the body these are.
    fn averaged<'a>(
        &self,
        means: impl Fn(usize, usize) -> &'a Mean,
        [width, height]: [usize; 2],
        [column, row]: [usize; 2],
        body: usize,
        own: impl Iterator<Item = &'a Sample>,
    ) -> V3 {
        if body == NOBODY {
            return V3::ZERO;
        }
        let (window, side) = (self.window, 2 * self.window + 1);
        let center = means(column, row);
        let (mut sum, mut total) = (V3::ZERO, 0.0);
        let normal = (center.body == body).then_some(center.normal);
        if normal.is_none() {
            for sample in own {
                sum += sample.noisy;
                total += 1.0;
            }
        }
        for r in row.saturating_sub(window)..(row + window + 1).min(height) {
            for c in column.saturating_sub(window)..(column + window + 1).min(width) {
                let other = means(c, r);
                if other.body != body {
                    continue;
                }
                let turned = normal.map_or(0.0, |normal| (1.0 - normal.dot(other.normal)).max(0.0));
                let alike = (1.0 - 15.0 * turned).max(0.0);
                let alike = alike * alike;
                let weight = self.weights[(r + window - row) * side + c + window - column] * alike * alike;
                sum += other.sum * weight;
                total += other.count * weight;
            }
        }
        if total > 0.0 { sum / total } else { V3::ZERO }
    }
}

impl View<'_> {
    /// The ray through a place in the picture, in pixels from its top left corner.
    #[inline(always)]
    fn ray(&self, u: f32, v: f32) -> Ray {
        let direction = V3::from_f64(self.camera.ray(f64::from(u), f64::from(v))).unit();
        Ray { origin: V3::from_f64(self.camera.location), direction }
    }

    /// Bodies that may throw shadows on the ground in a square of pixels.
    fn tile(&self, column: usize, row: usize) -> [u64; MOST_LIGHTS] {
        let side = BAND as f32;
        let at = |u: f32, v: f32| {
            let ray = self.ray(column as f32 + u * side, row as f32 + v * side);
            self.room.sheet.hit(ray.origin, ray.direction).map(|(t, _)| ray.at(t))
        };
        let Some(middle) = at(0.5, 0.5) else { return [u64::MAX; MOST_LIGHTS] };
        let mut reach = 0.0_f32;
        for (u, v) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let Some(corner) = at(u, v) else { return [u64::MAX; MOST_LIGHTS] };
            reach = reach.max((corner - middle).length());
        }
        self.room.suspects(middle, 1.1 * reach)
    }

    /// A pixel's rays.
    fn pixel(
        &self,
        [column, row]: [usize; 2],
        count: u32,
        suspects: &[u64; MOST_LIGHTS],
        samples: &mut Vec<Sample>,
    ) -> Mean {
        let room = self.room;
        let mut mean = Mean::NOTHING;
        for number in 0..count {
            let numbers = Numbers::new(column as u32, row as u32, number, count);
            let [u, v] = if count == 1 { [0.0; 2] } else { numbers.pair(60).map(|x| x - 0.5) };
            let ray = self.ray(column as f32 + 0.5 + u, row as f32 + 0.5 + v);
            let ground = room.sheet.hit(ray.origin, ray.direction);
            let limit = ground.map_or(f32::INFINITY, |(t, _)| t);
            let (columns, rows) = (self.filter.around(u), self.filter.around(v));
            let mut sample = Sample { columns, rows, body: NOBODY, clean: V3::ZERO, noisy: V3::ZERO };
            if let Some((t, body)) = room.bodies.nearest(ray.origin, ray.direction, limit, NOBODY) {
                sample.body = body;
                let normal = shade(room, ray.at(t), ray.direction, body, &numbers, &mut sample);
                if mean.body == NOBODY {
                    mean.body = body;
                }
                if mean.body == body {
                    mean.normal += normal;
                    mean.sum += sample.noisy;
                    mean.count += 1.0;
                }
            } else if let Some((t, normal)) = ground {
                let point = ray.at(t);
                let [few, most] = if count == 1 { self.effort.shadow_rays } else { [1, 1] };
                let direct = room.ground_direct_of(suspects, point, normal, &numbers, few, most);
                let indirect = room
                    .near
                    .indirect(point.x, point.y)
                    .unwrap_or_else(|| room.far.indirect(room.sheet.to_local(point)));
                sample.clean = (direct + indirect).times(room.sheet.color) * FRAC_1_PI;
            }
            samples.push(sample);
        }
        if mean.count > 0.0 {
            mean.normal = mean.normal.unit();
        }
        mean
    }
}

/// What the camera sees of a body; gives the normal.
#[inline]
fn shade(room: &Room<'_>, point: V3, direction: V3, number: usize, numbers: &Numbers, sample: &mut Sample) -> V3 {
    let body = &room.bodies.list[number];
    let v = -direction;
    let normal = facing(body.normal(point), v);
    let lobes = body.shader.lobes(&body.surface(point, normal, 0.0), normal.dot(v));
    let start = point + normal * OFFSET;
    let away = |direction| Ray { origin: start, direction };
    let trail = |density| Trail { leaving: number, density, bounce: 1 };
    let (mut sharp, mut broad) = (Lobes::default(), Lobes::default());
    for lobe in lobes.iter() {
        match lobe.kind {
            Kind::Glossy { alpha_x, alpha_y, .. } if alpha_x.min(alpha_y) < SHARP_ALPHA => sharp.push(*lobe),
            _ => broad.push(*lobe),
        }
    }
    // Broad lobes: lamps by a place on each, and one ray for what else there is.
    for (i, lamp) in room.lights.iter().enumerate() {
        let Some(place) = lamp.sample(start, numbers.pair(i as u32)) else { continue };
        if normal.dot(place.direction) <= 0.0 {
            continue;
        }
        let mut value = broad.evaluate(normal, v, place.direction).0;
        if !sharp.is_empty() {
            let (narrow, own) = sharp.evaluate(normal, v, place.direction);
            value += narrow * power(place.density, own);
        }
        if value.largest() > 1e-5 && !room.bodies.blocked(start, place.direction, place.distance, number) {
            sample.clean += value.times(place.radiance) / place.density;
        }
    }
    if !broad.is_empty() {
        let [u, again] = numbers.pair(5);
        let chosen = broad.choose(u);
        let next = broad[chosen].sample(normal, v, [again, numbers.one(6)]);
        let (value, own) = broad.evaluate_sampled(normal, v, next);
        if own > 0.0 {
            let (seen, _) = room.radiance(away(next), trail(own), false, numbers);
            sample.noisy = value.times(seen) / own;
        }
    }
    if !sharp.is_empty() {
        let next = sharp[0].sample(normal, v, numbers.pair(7));
        let (value, own) = sharp.evaluate(normal, v, next);
        if own > 0.0 {
            let (seen, distance) = room.radiance(away(next), trail(own), true, numbers);
            sample.clean += value.times(seen + room.lamps_met(start, next, distance, own)) / own;
        }
    }
    normal
}
