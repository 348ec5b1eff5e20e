//! A room and a camera in, a picture out.
//!
//! A pixel of ground alone gets one ray. Others get several, spread over their area, and each of
//! these counts in all pixels whose filter reaches it. What broad lobes see is noisy; it is
//! averaged over neighbours on the same body with nearly the same normal before it is put back.

use super::bodies::NOBODY;
use super::numbers::Numbers;
use super::shade::{OFFSET, Room, SHARP_ALPHA, facing};
use crate::render::film::{blackman_harris, to_srgb};
use crate::render::material::{Kind, Lobes};
use crate::render::vector::V3;
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
    /// Offset from the pixel's middle, in pixels.
    u: f32,
    v: f32,
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

/// A picture as bytes, rows from the top, RGB.
pub fn picture(room: &Room<'_>, camera: &Camera, effort: PixelEffort) -> Vec<u8> {
    let (width, height) = (camera.lens.width_px as usize, camera.lens.height_px as usize);
    let origin = V3::from_f64(camera.location);
    let ray = |u: f32, v: f32| V3::from_f64(camera.ray(f64::from(u), f64::from(v))).unit();

    // What each pixel's middle shows; a frame of one pixel around stays empty.
    let shown: Vec<usize> = (0..width * height)
        .into_par_iter()
        .with_min_len(width)
        .map(|i| {
            let direction = ray((i % width) as f32 + 0.5, (i / width) as f32 + 0.5);
            room.bodies.nearest(origin, direction, f32::INFINITY, NOBODY).map_or(NOBODY, |(_, number)| number)
        })
        .collect();
    let busy = |column: usize, row: usize| {
        let rows = row.saturating_sub(1)..(row + 2).min(height);
        rows.into_iter().any(|r| {
            shown[r * width + column.saturating_sub(1)..r * width + (column + 2).min(width)].iter().any(|&b| b != NOBODY)
        })
    };

    let bands: Vec<Vec<(Mean, Vec<Sample>)>> = (0..height.div_ceil(BAND))
        .into_par_iter()
        .map(|band| {
            let mut pixels = Vec::with_capacity(BAND * width);
            for row in band * BAND..((band + 1) * BAND).min(height) {
                for column in 0..width {
                    let count = if busy(column, row) { effort.samples } else { 1 };
                    pixels.push(pixel(room, origin, &ray, column, row, count, effort));
                }
            }
            pixels
        })
        .collect();
    let pixels: Vec<(Mean, Vec<Sample>)> = bands.into_iter().flatten().collect();

    let smooth: Vec<Vec<(usize, V3)>> = (0..width * height)
        .into_par_iter()
        .with_min_len(width)
        .map(|i| {
            let mut bodies: Vec<(usize, V3)> = Vec::new();
            for sample in &pixels[i].1 {
                if sample.body != NOBODY && !bodies.iter().any(|&(b, _)| b == sample.body) {
                    bodies.push((sample.body, averaged(&pixels, width, height, i, sample.body, effort.window)));
                }
            }
            bodies
        })
        .collect();
    (0..width * height)
        .into_par_iter()
        .with_min_len(width)
        .flat_map_iter(|i| {
            let (column, row) = (i % width, i / width);
            let (mut sum, mut total) = (V3::ZERO, 0.0);
            for r in row.saturating_sub(1)..(row + 2).min(height) {
                for c in column.saturating_sub(1)..(column + 2).min(width) {
                    let j = r * width + c;
                    let samples = &pixels[j].1;
                    let area = 1.0 / samples.len() as f32;
                    let (du, dv) = (c as f32 - column as f32, r as f32 - row as f32);
                    for sample in samples {
                        let weight = area * blackman_harris(sample.u + du) * blackman_harris(sample.v + dv);
                        let noisy = if sample.body == NOBODY {
                            sample.noisy
                        } else {
                            smooth[j].iter().find(|&&(b, _)| b == sample.body).map_or(sample.noisy, |&(_, l)| l)
                        };
                        sum += (sample.clean + noisy) * weight;
                        total += weight;
                    }
                }
            }
            to_srgb(sum / total)
        })
        .collect()
}

/// The noisy light of a body about a pixel.
fn averaged(
    pixels: &[(Mean, Vec<Sample>)],
    width: usize,
    height: usize,
    i: usize,
    body: usize,
    window: usize,
) -> V3 {
    let (column, row) = (i % width, i / width);
    let own = pixels[i].0;
    let samples = pixels[i].1.iter().filter(|sample| sample.body == body);
    let (mut sum, mut total) = (V3::ZERO, 0.0);
    if own.body != body {
        for sample in samples {
            sum += sample.noisy;
            total += 1.0;
        }
    }
    let normal = (own.body == body).then_some(own.normal);
    for r in row.saturating_sub(window)..(row + window + 1).min(height) {
        for c in column.saturating_sub(window)..(column + window + 1).min(width) {
            let other = &pixels[r * width + c].0;
            if other.body != body {
                continue;
            }
            let away = ((r as f32 - row as f32).powi(2) + (c as f32 - column as f32).powi(2)) / (window * window) as f32;
            let turned = normal.map_or(0.0, |normal| (1.0 - normal.dot(other.normal)).max(0.0));
            let weight = (-1.5 * away - 60.0 * turned).exp();
            sum += other.sum * weight;
            total += other.count * weight;
        }
    }
    if total > 0.0 { sum / total } else { V3::ZERO }
}

/// A pixel's rays.
fn pixel(
    room: &Room<'_>,
    origin: V3,
    ray: &(impl Fn(f32, f32) -> V3 + Sync),
    column: usize,
    row: usize,
    count: u32,
    effort: PixelEffort,
) -> (Mean, Vec<Sample>) {
    let mut mean = Mean { body: NOBODY, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
    let mut samples = Vec::with_capacity(count as usize);
    for number in 0..count {
        let numbers = Numbers::new(column as u32, row as u32, number, count);
        let [u, v] = if count == 1 { [0.0; 2] } else { numbers.pair(60).map(|x| x - 0.5) };
        let direction = ray(column as f32 + 0.5 + u, row as f32 + 0.5 + v);
        let ground = room.sheet.hit(origin, direction);
        let limit = ground.map_or(f32::INFINITY, |(t, _)| t);
        let mut sample = Sample { u, v, body: NOBODY, clean: V3::ZERO, noisy: V3::ZERO };
        if let Some((t, body)) = room.bodies.nearest(origin, direction, limit, NOBODY) {
            sample.body = body;
            let normal = shade(room, origin + direction * t, direction, body, &numbers, &mut sample);
            if mean.body == NOBODY {
                mean.body = body;
            }
            if mean.body == body {
                mean.normal += normal;
                mean.sum += sample.noisy;
                mean.count += 1.0;
            }
        } else if let Some((t, normal)) = ground {
            let point = origin + direction * t;
            let [few, most] = if count == 1 { effort.shadow_rays } else { [1, 1] };
            let direct = room.ground_direct(point, normal, &numbers, few, most);
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
    (mean, samples)
}

/// What the camera sees of a body; gives the normal.
#[inline]
fn shade(room: &Room<'_>, point: V3, direction: V3, number: usize, numbers: &Numbers, sample: &mut Sample) -> V3 {
    let body = &room.bodies.list[number];
    let v = -direction;
    let normal = facing(body.normal(point), v);
    let lobes = body.shader.lobes(&body.surface(point, normal, 0.0), normal.dot(v));
    let start = point + normal * OFFSET;
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
            let (a, b) = (place.density * place.density, own * own);
            value += narrow * (a / (a + b));
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
            let seen = room.radiance(start, next, number, own, 1, false, numbers).0;
            sample.noisy = value.times(seen) / own;
        }
    }
    if !sharp.is_empty() {
        let next = sharp[0].sample(normal, v, numbers.pair(7));
        let (value, own) = sharp.evaluate(normal, v, next);
        if own > 0.0 {
            let (seen, distance) = room.radiance(start, next, number, own, 1, true, numbers);
            sample.clean += value.times(seen + room.lamps_met(start, next, distance, own)) / own;
        }
    }
    normal
}
