//! Plain path tracing: slow and obvious, the reference for the fast renderer.
//!
//! Everything that Cycles does with this look and nothing for speed: one path a sample, all lights
//! at each of its vertices weighed against the surface's own sampling (power heuristic), lobes that
//! widen behind rays of low density.

use super::film::{FilterTable, to_srgb};
use super::light::power;
use super::material::{Lobes, widened};
use super::stage::Stage;
use super::vector::V3;
use crate::rng::StreamKey;
use rayon::prelude::*;

const MOST_BOUNCES: usize = 12;
const MOST_DIFFUSE: usize = 4;
const MOST_GLOSSY: usize = 4;
/// Rays start this far off the surface that they leave.
const OFFSET: f32 = 1e-4;

/// An image as bytes, rows from the top, RGB.
pub fn path_trace(stage: &Stage<'_>, samples: u32) -> Vec<u8> {
    let lens = stage.camera.lens;
    let filter = FilterTable::default();
    let key = StreamKey::new(&[b"path tracing"]);
    let side = f64::from(samples).sqrt() as u32;
    (0..lens.height_px)
        .into_par_iter()
        .flat_map_iter(|row| {
            let (filter, key) = (&filter, &key);
            (0..lens.width_px).flat_map(move |column| {
                let mut numbers = Numbers::new(key, u64::from(row * lens.width_px + column), side);
                let mut sum = V3::ZERO;
                for sample in 0..samples {
                    numbers.begin(sample);
                    let [u, v] = numbers.pair().map(|x| f64::from(filter.offset(x)));
                    let ray = stage.camera.ray(f64::from(column) + 0.5 + u, f64::from(row) + 0.5 + v);
                    sum += trace(stage, V3::from_f64(stage.camera.location), V3::from_f64(ray).unit(), &mut numbers);
                }
                to_srgb(sum / samples as f32)
            })
        })
        .collect()
}

fn trace(stage: &Stage<'_>, mut origin: V3, mut direction: V3, numbers: &mut Numbers) -> V3 {
    let mut light = V3::ZERO;
    let mut carried = V3::ONE;
    let mut density = f32::INFINITY;
    let mut least_density = f32::INFINITY;
    let (mut diffuse, mut glossy) = (0, 0);
    for bounce in 0..=MOST_BOUNCES {
        let hit = stage.hit(origin, direction);
        if bounce > 0 {
            let distance = hit.map_or(f32::INFINITY, |hit| hit.t);
            for lamp in &stage.lights {
                if let Some((radiance, by_lamp)) = lamp.met(origin, direction, distance) {
                    light += carried.times(radiance) * power(density, by_lamp);
                }
            }
        }
        let Some(hit) = hit else {
            light += carried.times(stage.background);
            break;
        };
        let v = -direction;
        let mut normal = hit.normal;
        if normal.dot(v) <= 0.0 {
            // A facet that is turned away beside the outline.
            normal = (normal - v * (normal.dot(v) - 1e-3)).unit();
        }
        let lobes = match hit.body {
            None => Lobes::matte(stage.ground.color),
            Some(number) => {
                let body = &stage.bodies[number];
                let surface = body.surface(hit.point, normal, widened(least_density, stage.blur_glossy));
                body.shader.lobes(&surface, normal.dot(v))
            }
        };
        // What a rough ground throws back more, or less, than its lobe.
        let share = |l: V3| if hit.body.is_none() { stage.ground.share(normal, v, l) } else { V3::ONE };
        let point = hit.point + normal * OFFSET;
        for lamp in &stage.lights {
            if let Some(sample) = lamp.sample(point, numbers.pair()) {
                let (value, own) = lobes.evaluate_sampled(normal, v, sample.direction);
                if value.largest() > 0.0 && !stage.blocked(point, sample.direction, sample.distance) {
                    let value = value.times(share(sample.direction));
                    light += carried.times(value).times(lamp.color()) * (power(sample.density, own) / sample.density);
                }
            }
        }
        let (chosen, _) = lobes.choose(numbers.one());
        if lobes[chosen].is_glossy() {
            glossy += 1
        } else {
            diffuse += 1
        }
        if diffuse > MOST_DIFFUSE || glossy > MOST_GLOSSY {
            break;
        }
        let next = lobes[chosen].sample(normal, v, numbers.pair());
        let (value, own) = lobes.evaluate_sampled(normal, v, next);
        if own <= 0.0 || value.largest() <= 0.0 {
            break;
        }
        carried = carried.times(value).times(share(next)) / own;
        density = own;
        least_density = least_density.min(lobes.evaluate(normal, v, next).1);
        (origin, direction) = (point, next);
        if bounce >= 3 {
            let keep = carried.largest().min(1.0);
            if numbers.one() >= keep {
                break;
            }
            carried = carried / keep;
        }
    }
    light
}

/// Uniform numbers of a pixel: each dimension's samples are shuffled strata.
struct Numbers {
    rng: crate::rng::StreamRng,
    side: u32,
    sample: u32,
    dimension: usize,
    shifts: Vec<[u32; 2]>,
}

impl Numbers {
    fn new(key: &StreamKey, pixel: u64, side: u32) -> Self {
        Self { rng: key.at(pixel), side, sample: 0, dimension: 0, shifts: Vec::new() }
    }

    fn begin(&mut self, sample: u32) {
        self.sample = sample;
        self.dimension = 0;
    }

    fn one(&mut self) -> f32 {
        self.rng.unit() as f32
    }

    /// In a stratum of its own among the first `side * side` samples.
    fn pair(&mut self) -> [f32; 2] {
        let free = [self.one(), self.one()];
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
