//! A plain path tracer: slow and obvious, the reference for the fast renderer.
//!
//! It does what Cycles does with this look, and nothing for speed: at each vertex of a path it samples every light
//! (next-event estimation) and weighs that against BSDF sampling with the power heuristic; glossy lobes are widened
//! after bounces that were sampled with a low pdf ("filter glossy").

use super::film::{FilterTable, to_srgb};
use super::light::power_heuristic;
use super::material::{Lobes, filter_glossy_alpha};
use super::stage::Stage;
use super::stop::Stop;
use super::vector::V3;
use crate::rng::StreamKey;
use rayon::prelude::*;

const MAX_BOUNCES: usize = 12;
const MAX_DIFFUSE_BOUNCES: usize = 4;
const MAX_GLOSSY_BOUNCES: usize = 4;
/// Rays start this far off the surface, so that they do not hit it again.
const OFFSET: f32 = 1e-4;

/// The image as RGB bytes, rows from the top; None if it was stopped.
pub fn path_trace(stage: &Stage<'_>, samples: u32, stop: &Stop) -> Option<Vec<u8>> {
    let lens = stage.camera.lens;
    let filter = FilterTable::default();
    let key = StreamKey::new(&[b"path tracing"]);
    let side = f64::from(samples).sqrt() as u32;
    let pixels = (0..lens.height_px).into_par_iter().flat_map_iter(|row| {
        let (filter, key) = (&filter, &key);
        (0..lens.width_px).map(move |column| {
            let mut numbers = StratifiedSamples::new(key, u64::from(row * lens.width_px + column), side);
            let mut sum = V3::ZERO;
            for sample in 0..samples {
                stop.unless_set(|| ())?;
                numbers.start_sample(sample);
                let [u, v] = numbers.next_2d().map(|x| f64::from(filter.offset(x)));
                let ray = stage.camera.ray(f64::from(column) + 0.5 + u, f64::from(row) + 0.5 + v);
                sum += trace(stage, V3::from_f64(stage.camera.location), V3::from_f64(ray).unit(), &mut numbers);
            }
            Some(to_srgb(sum / samples as f32))
        })
    });
    Some(pixels.collect::<Option<Vec<_>>>()?.into_flattened())
}

fn trace(stage: &Stage<'_>, mut origin: V3, mut direction: V3, numbers: &mut StratifiedSamples) -> V3 {
    let mut light = V3::ZERO;
    let mut throughput = V3::ONE;
    let mut pdf = f32::INFINITY;
    let mut min_pdf = f32::INFINITY;
    let (mut diffuse, mut glossy) = (0, 0);
    for bounce in 0..=MAX_BOUNCES {
        let hit = stage.hit(origin, direction);
        if bounce > 0 {
            let distance = hit.map_or(f32::INFINITY, |hit| hit.t);
            for lamp in &stage.lights {
                if let Some((radiance, light_pdf)) = lamp.hit(origin, direction, distance) {
                    light += throughput.times(radiance) * power_heuristic(pdf, light_pdf);
                }
            }
        }
        let Some(hit) = hit else {
            light += throughput.times(stage.background);
            break;
        };
        let v = -direction;
        let mut normal = hit.normal;
        if normal.dot(v) <= 0.0 {
            // Near the outline a shading normal may face away from the viewer.
            normal = (normal - v * (normal.dot(v) - 1e-3)).unit();
        }
        let lobes = match hit.body {
            None => Lobes::lambertian(stage.ground.color),
            Some(index) => {
                let body = &stage.bodies[index];
                let surface = body.surface(hit.point, normal, filter_glossy_alpha(min_pdf, stage.blur_glossy));
                body.shader.lobes(&surface, normal.dot(v))
            }
        };
        // Oren-Nayar reflection of a rough ground, relative to its Lambertian lobe.
        let ratio = |l: V3| if hit.body.is_none() { stage.ground.lambert_ratio(normal, v, l) } else { V3::ONE };
        let point = hit.point + normal * OFFSET;
        for lamp in &stage.lights {
            if let Some(sample) = lamp.sample(point, numbers.next_2d()) {
                let (value, bsdf_pdf) = lobes.evaluate_sampled(normal, v, sample.direction);
                if value.max_component() > 0.0 && !stage.blocked(point, sample.direction, sample.distance) {
                    let value = value.times(ratio(sample.direction));
                    light += throughput.times(value).times(lamp.radiance())
                        * (power_heuristic(sample.pdf, bsdf_pdf) / sample.pdf);
                }
            }
        }
        let chosen = lobes.choose(numbers.next_1d());
        if lobes[chosen].is_glossy() {
            glossy += 1
        } else {
            diffuse += 1
        }
        if diffuse > MAX_DIFFUSE_BOUNCES || glossy > MAX_GLOSSY_BOUNCES {
            break;
        }
        let next = lobes[chosen].sample(normal, v, numbers.next_2d());
        let (value, bsdf_pdf) = lobes.evaluate_sampled(normal, v, next);
        if bsdf_pdf <= 0.0 || value.max_component() <= 0.0 {
            break;
        }
        throughput = throughput.times(value).times(ratio(next)) / bsdf_pdf;
        pdf = bsdf_pdf;
        min_pdf = min_pdf.min(lobes.evaluate(normal, v, next).1);
        (origin, direction) = (point, next);
        if bounce >= 3 {
            let keep = throughput.max_component().min(1.0);
            if numbers.next_1d() >= keep {
                break;
            }
            throughput = throughput / keep;
        }
    }
    light
}

/// Stratified random numbers of a pixel: in each dimension, its samples fall in shuffled strata.
struct StratifiedSamples {
    rng: crate::rng::StreamRng,
    side: u32,
    sample: u32,
    dimension: usize,
    shifts: Vec<[u32; 2]>,
}

impl StratifiedSamples {
    fn new(key: &StreamKey, pixel: u64, side: u32) -> Self {
        Self { rng: key.at(pixel), side, sample: 0, dimension: 0, shifts: Vec::new() }
    }

    fn start_sample(&mut self, sample: u32) {
        self.sample = sample;
        self.dimension = 0;
    }

    fn next_1d(&mut self) -> f32 {
        self.rng.unit() as f32
    }

    /// Stratified over the first `side * side` samples, and plainly random after them.
    fn next_2d(&mut self) -> [f32; 2] {
        let free = [self.next_1d(), self.next_1d()];
        let count = self.side * self.side;
        if self.shifts.len() <= self.dimension {
            let odd = self.rng.below(count) | 1;
            let start = self.rng.below(count);
            self.shifts.push([odd, start]);
        }
        let [odd, start] = self.shifts[self.dimension];
        self.dimension += 1;
        if self.sample >= count {
            return free;
        }
        let cell = (self.sample.wrapping_mul(odd).wrapping_add(start)) % count;
        let side = self.side as f32;
        [((cell % self.side) as f32 + free[0]) / side, ((cell / self.side) as f32 + free[1]) / side]
    }
}
