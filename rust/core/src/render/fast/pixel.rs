//! Samples the light of a pixel that shows a body.
//!
//! A pixel that a body fills gets rays by its material, one across an outline gets more. What
//! broad lobes see of the stage is noisy, and kept apart from the rest to be averaged later.

use super::bodies::NOBODY;
use super::numbers::Numbers;
use super::shade::{LitStage, OFFSET, RayHistory, SHARP_ALPHA, facing};
use super::view::View;
use crate::render::film::FilterWeights;
use crate::render::light::power;
use crate::render::material::{Kind, Lobes};
use crate::render::vector::{Ray, V3};
use std::f32::consts::FRAC_1_PI;

/// How much is spent on pixels that show bodies. Numbers of rays are powers of two: to begin with, and where
/// the first ones differ.
#[derive(Clone, Copy, Debug)]
pub struct PixelEffort {
    /// Rays of a pixel that an outline crosses.
    pub outline: [u32; 2],
    /// Rays of a pixel of a metal, which mirrors edges, and of another material.
    pub metal: [u32; 2],
    pub matte: [u32; 2],
    /// How far the first rays may differ, as a share of their mean.
    pub difference: f32,
}

/// Where a pixel's rays go through it, from its middle, if there are always two or four of them: evenly, so that its
/// light does not depend on chance.
const TWO: [[f32; 2]; 2] = [[-0.25, -0.25], [0.25, 0.25]];
const FOUR: [[f32; 2]; 4] = [[-0.375, -0.125], [0.125, -0.375], [0.375, 0.125], [-0.125, 0.375]];

/// A ray through a pixel.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Weights of the pixel filter in the column before, its own, and the one after; rows likewise.
    pub columns: [f32; 3],
    pub rows: [f32; 3],
    /// The body, or NOBODY.
    pub body: usize,
    pub clean: V3,
    /// What the broad lobes see of the stage.
    pub noisy: V3,
    /// Whether a sharp lobe mirrors what is near a lamp.
    pub glint: bool,
}

/// The noisy light of a pixel's foremost body.
#[derive(Clone, Copy)]
pub struct Mean {
    pub body: usize,
    pub normal: V3,
    pub sum: V3,
    pub count: f32,
}

/// A pixel's place, which of the samples are its own, and their mean.
pub struct Pixel {
    pub column: usize,
    pub row: usize,
    pub samples: std::ops::Range<usize>,
    pub mean: Mean,
}

/// Shoots a pixel's rays, `few` or `most`.
pub fn sample(
    view: &View<'_>,
    filter: &FilterWeights,
    [column, row]: [usize; 2],
    [few, most]: [u32; 2],
    difference: f32,
    samples: &mut Vec<Sample>,
) -> Pixel {
    let lit = view.lit;
    let first = samples.len();
    let bodies = view.bodies(column, row);
    let mut mean = Mean { body: NOBODY, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
    for number in 0..most {
        if number == few && alike(&samples[first..], difference) {
            break;
        }
        let numbers = Numbers::growing(column as u32, row as u32, number, [few, most]);
        let [u, v] = match (few, most) {
            (1, 1) => [0.0; 2],
            (2, 2) => TWO[number as usize],
            (4, 4) => FOUR[number as usize],
            _ => numbers.pair(60).map(|x| x - 0.5),
        };
        let ray = view.ray(column as f32 + 0.5 + u, row as f32 + 0.5 + v);
        let (columns, rows) = (filter.around(u), filter.around(v));
        let mut sample = Sample { columns, rows, body: NOBODY, clean: V3::ZERO, noisy: V3::ZERO, glint: false };
        if let Some((t, body)) = lit.bodies.nearest_of(bodies, ray, f32::INFINITY) {
            sample.body = body;
            let normal = camera_radiance(lit, ray, t, body, &numbers, &mut sample);
            if mean.body == NOBODY {
                mean.body = body;
            }
            if mean.body == body {
                mean.normal += normal;
                mean.sum += sample.noisy;
                mean.count += 1.0;
            }
        } else if let Some((t, normal)) = lit.sheet.hit(ray.origin, ray.direction) {
            let point = ray.at(t);
            let direct = lit.ground_direct(point, normal, &numbers, 1, 1);
            sample.clean = (direct + lit.indirect(point)).times(lit.sheet.color) * FRAC_1_PI;
        }
        samples.push(sample);
    }
    if mean.count > 0.0 {
        mean.normal = mean.normal.unit();
    }
    Pixel { column, row, samples: first..samples.len(), mean }
}

/// Whether samples show the same body in much the same light.
///
/// Never about a glint: most of its few samples meet nothing of the lamp, so that those which agree are darker
/// in the mean than all.
fn alike(samples: &[Sample], difference: f32) -> bool {
    let light = |sample: &Sample| sample.clean.mean();
    let (mut least, mut most, mut sum) = (f32::MAX, 0.0_f32, 0.0);
    for sample in samples {
        if sample.glint || sample.body != samples[0].body {
            return false;
        }
        least = least.min(light(sample));
        most = most.max(light(sample));
        sum += light(sample);
    }
    most - least <= difference * (sum / samples.len() as f32 + 0.02)
}

/// What the camera sees of a body; gives the normal.
#[inline]
fn camera_radiance(lit: &LitStage<'_>, ray: Ray, t: f32, number: usize, numbers: &Numbers, sample: &mut Sample) -> V3 {
    let (point, direction) = (ray.at(t), ray.direction);
    let body = &lit.bodies.list[number];
    let v = -direction;
    let normal = facing(body.normal(point), v);
    let lobes = body.shader.lobes(&body.surface(point, normal, 0.0), normal.dot(v));
    let start = point + normal * OFFSET;
    let away = |direction| Ray { origin: start, direction };
    let history = |density| RayHistory { leaving: number, density, bounce: 1 };
    let (mut sharp, mut broad) = (Lobes::default(), Lobes::default());
    for lobe in lobes.iter() {
        match lobe.kind {
            Kind::Glossy { alpha_x, alpha_y, .. } if alpha_x.min(alpha_y) < SHARP_ALPHA => sharp.push(*lobe),
            _ => broad.push(*lobe),
        }
    }
    // Broad lobes: lamps as if all their light came from one direction, and one ray for what else there is. A place on
    // each lamp says whether a body stands between, and what sharp lobes throw back of it.
    for (i, lamp) in lit.lights.iter().enumerate() {
        let mut light = lamp.thrown_back(start, |toward| broad.value(normal, v, toward));
        if lit.between[number][i] != 0 || !sharp.is_empty() {
            let Some(place) = lamp.sample(start, numbers.pair(i as u32)) else { continue };
            if !sharp.is_empty() {
                let (narrow, own) = sharp.evaluate(normal, v, place.direction);
                light += narrow.times(place.radiance) * (power(place.density, own) / place.density);
            }
            if light.largest() <= 1e-5 || lit.hidden(number, i, start, &place) {
                continue;
            }
        }
        sample.clean += light;
    }
    if !broad.is_empty() {
        let [u, again] = numbers.pair(5);
        let (chosen, rest) = broad.choose(u);
        let next = broad[chosen].sample(normal, v, [again, rest]);
        let (value, own) = broad.evaluate_sampled(normal, v, next);
        if own > 0.0 {
            let (seen, _) = lit.radiance(away(next), history(own), false, numbers);
            sample.noisy = value.times(seen) / own;
        }
    }
    if !sharp.is_empty() {
        sample.glint = glints(lit, start, direction - normal * (2.0 * normal.dot(direction)), sharp[0].kind);
        let next = sharp[0].sample(normal, v, numbers.pair(7));
        let (value, own) = sharp.evaluate(normal, v, next);
        if own > 0.0 {
            let (seen, distance) = lit.radiance(away(next), history(own), true, numbers);
            sample.clean += value.times(seen + lit.lamps_met(start, next, distance, own)) / own;
        }
    }
    normal
}

/// Whether a sharp lobe about `mirrored` holds a lamp, but for a twentieth of it.
#[inline]
fn glints(lit: &LitStage<'_>, start: V3, mirrored: V3, kind: Kind) -> bool {
    let Kind::Glossy { alpha_x, alpha_y, .. } = kind else { return false };
    // GGX has all but a twentieth within 4.4 alpha of the normal, and mirroring doubles angles.
    let reach = 8.8 * alpha_x.max(alpha_y);
    lit.lights.iter().any(|lamp| {
        let (toward, _, spread) = lamp.middle(start);
        let tan = spread + reach;
        let cos = mirrored.dot(toward);
        cos > 0.0 && cos * cos * (1.0 + tan * tan) > 1.0
    })
}
