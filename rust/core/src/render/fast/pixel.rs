//! Samples the light of a pixel that shows a body.
//!
//! A pixel that a body fills gets rays by its material, one across an outline gets more. What
//! broad lobes see of the stage is noisy, and kept apart from the rest to be averaged later.
//! Rays are shot pixel by pixel; then the lamps' light is found for eight places of one body at a time.

use super::bodies::NOBODY;
use super::numbers::Numbers;
use super::shade::{LitStage, OFFSET, RayHistory, SHARP_ALPHA, facing};
use super::view::View;
use crate::render::film::FilterWeights;
use crate::render::lanes::{F8, LANES, Real};
use crate::render::light::power;
use crate::render::material::{Kind, Lobes};
use crate::render::vector::{Ray, V3, v3};
use pulp::{Arch, NullaryFnOnce};

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
#[derive(Clone, Copy, Default)]
pub struct Sample {
    /// Weights of the pixel filter in the column before, its own, and the one after; rows likewise.
    pub columns: [f32; 3],
    pub rows: [f32; 3],
    /// The body, or NOBODY.
    pub body: usize,
    pub normal: V3,
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

/// A place of a body that a sample shows, whose light is not known yet.
struct Place {
    /// Number of the sample.
    sample: usize,
    body: usize,
    point: V3,
    direction: V3,
    numbers: Numbers,
}

/// Samples pixels.
pub struct Sampler<'a> {
    view: &'a View<'a>,
    filter: &'a FilterWeights,
    difference: f32,
    pixels: Vec<Pixel>,
    /// Of each pixel, how many rays it has at first and at most.
    rays: Vec<[u32; 2]>,
    samples: Vec<Sample>,
    dark: Vec<Place>,
}

impl<'a> Sampler<'a> {
    pub fn new(view: &'a View<'a>, filter: &'a FilterWeights, difference: f32) -> Self {
        let (pixels, rays, samples, dark) = Default::default();
        Self { view, filter, difference, pixels, rays, samples, dark }
    }

    /// Adds a pixel, and says which number it has.
    pub fn add(&mut self, column: usize, row: usize, rays: [u32; 2]) -> usize {
        let first = self.samples.len();
        self.samples.resize(first + rays[1] as usize, Sample::default());
        let mean = Mean { body: NOBODY, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
        self.pixels.push(Pixel { column, row, samples: first..first + rays[0] as usize, mean });
        self.rays.push(rays);
        self.pixels.len() - 1
    }

    /// Shoots the rays of all pixels: the first ones, and more where those differ.
    pub fn finish(mut self) -> (Vec<Pixel>, Vec<Sample>) {
        for number in 0..self.pixels.len() {
            self.shoot(number, 0);
        }
        self.light();
        for number in 0..self.pixels.len() {
            let [few, most] = self.rays[number];
            let pixel = &mut self.pixels[number];
            if few < most && !alike(&self.samples[pixel.samples.clone()], self.difference) {
                pixel.samples.end = pixel.samples.start + most as usize;
                self.shoot(number, few);
            }
        }
        self.light();
        for pixel in &mut self.pixels {
            let own = &self.samples[pixel.samples.clone()];
            let mean = &mut pixel.mean;
            mean.body = own.iter().map(|sample| sample.body).find(|&body| body != NOBODY).unwrap_or(NOBODY);
            for sample in own.iter().filter(|sample| sample.body != NOBODY && sample.body == mean.body) {
                mean.normal += sample.normal;
                mean.sum += sample.noisy;
                mean.count += 1.0;
            }
            if mean.count > 0.0 {
                mean.normal = mean.normal.unit();
            }
        }
        (self.pixels, self.samples)
    }

    /// Shoots a pixel's rays from a number on.
    fn shoot(&mut self, pixel: usize, from: u32) {
        let (lit, rays) = (self.view.lit, self.rays[pixel]);
        let Pixel { column, row, ref samples, .. } = self.pixels[pixel];
        let bodies = self.view.bodies(column, row);
        for number in from..samples.len() as u32 {
            let numbers = Numbers::growing(column as u32, row as u32, number, rays);
            let [u, v] = match rays {
                [1, 1] => [0.0; 2],
                [2, 2] => TWO[number as usize],
                [4, 4] => FOUR[number as usize],
                _ => numbers.pair(60).map(|x| x - 0.5),
            };
            let ray = self.view.ray(column as f32 + 0.5 + u, row as f32 + 0.5 + v);
            let place = samples.start + number as usize;
            let sample = &mut self.samples[place];
            *sample = Sample { columns: self.filter.around(u), rows: self.filter.around(v), ..Sample::default() };
            sample.body = NOBODY;
            if let Some((t, body)) = lit.bodies.nearest_of(bodies, ray, f32::INFINITY) {
                let point = ray.at(t);
                sample.body = body;
                sample.normal = facing(lit.bodies.list[body].normal(point, ray.direction), -ray.direction);
                self.dark.push(Place { sample: place, body, point, direction: ray.direction, numbers });
            } else if let Some((t, normal)) = lit.sheet.hit(ray.origin, ray.direction) {
                sample.clean = lit.ground_toward(-ray.direction, ray.at(t), normal, &numbers);
            } else {
                sample.clean = lit.background;
            }
        }
    }

    /// Finds the light of the places where it is not known.
    fn light(&mut self) {
        let lit = self.view.lit;
        self.dark.sort_by_key(|place| place.body);
        for places in self.dark.chunk_by(|one, other| one.body == other.body) {
            for places in places.chunks(LANES) {
                let lamplit = Arch::new().dispatch(Lamps { lit, places, samples: &self.samples });
                let seen = lamplit.broadly_seen(lit, places);
                for (lane, place) in places.iter().enumerate() {
                    let sample = &mut self.samples[place.sample];
                    sample.clean = lamplit.light.lane(lane);
                    sample.noisy = seen[lane];
                    if !lamplit.sharp.is_empty() {
                        sharply_seen(lit, place, &lamplit.sharp.lane(lane), sample);
                    }
                }
            }
        }
        self.dark.clear();
    }
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

/// Light from the lamps on up to eight places of one body.
struct Lamps<'a> {
    lit: &'a LitStage<'a>,
    places: &'a [Place],
    samples: &'a [Sample],
}

/// What eight places throw back of the lamps' light, and their lobes.
struct Lamplit {
    v: V3<F8>,
    normal: V3<F8>,
    start: V3<F8>,
    light: V3<F8>,
    broad: Lobes<F8>,
    sharp: Lobes<F8>,
}

impl NullaryFnOnce for Lamps<'_> {
    type Output = Lamplit;

    #[inline(always)]
    fn call(self) -> Lamplit {
        let Self { lit, places, samples } = self;
        // Lanes beyond the last place are as that.
        let at = |lane: usize| &places[lane.min(places.len() - 1)];
        let number = at(0).body;
        let body = &lit.bodies.list[number];
        let point = V3::of_lanes(|lane| at(lane).point);
        let v = V3::of_lanes(|lane| -at(lane).direction);
        let normal = V3::of_lanes(|lane| samples[at(lane).sample].normal);
        let lobes = body.shader.lobes(&body.surface(point, normal, 0.0), normal.dot(v));
        let start = point + normal * F8::all(OFFSET);
        let (mut sharp, mut broad) = (Lobes::default(), Lobes::default());
        for lobe in lobes.iter() {
            match lobe.kind {
                Kind::Glossy { alpha_x, alpha_y, .. } if alpha_x.lane(0).min(alpha_y.lane(0)) < SHARP_ALPHA => {
                    sharp.push(*lobe)
                }
                _ => broad.push(*lobe),
            }
        }
        let mut light = V3::default();
        for (i, lamp) in lit.lights.iter().enumerate() {
            let n_places = lamp.places(body.location);
            for place in 0..n_places {
                // Broad lobes throw back what comes from one direction, but of a large lamp.
                let mut thrown = V3::default();
                if n_places == 1 {
                    thrown = lamp.thrown_back(start, |toward| broad.value(normal, v, toward));
                    let is_clear = lit.between[number][i] == 0 && lamp.above(lit.sheet, body.location) == 1.0;
                    if is_clear && sharp.is_empty() {
                        light += thrown;
                        continue;
                    }
                }
                // A place on the lamp says whether anything stands between, and what sharp lobes throw back of it.
                let dimension = if place == 0 { i as u32 } else { 200 + 8 * place + i as u32 };
                let mut u = [F8::default(); 2];
                for lane in 0..LANES {
                    [u[0].0[lane], u[1].0[lane]] = at(lane).numbers.pair(dimension);
                }
                let (sample, is_lit) = lamp.samples(start, u);
                let mut value = V3::default();
                if n_places > 1 {
                    value += broad.value(normal, v, sample.direction);
                }
                if !sharp.is_empty() {
                    let (narrow, own) = sharp.evaluate(normal, v, sample.direction);
                    value += narrow * power(sample.density, own);
                }
                thrown += value.times(V3::all(lamp.color())) / (sample.density * F8::all(n_places as f32));
                let matters = is_lit & F8::all(1e-5).is_less(thrown.largest());
                let clear = matters & !lit.hidden(number, i, start, &sample, matters);
                light += V3::select(clear, thrown, V3::default());
            }
        }
        Lamplit { v, normal, start, light, broad, sharp }
    }
}

impl Lamplit {
    /// What the broad lobes of each place see of the stage, by one ray.
    fn broadly_seen(&self, lit: &LitStage<'_>, places: &[Place]) -> [V3; LANES] {
        let mut seen = [V3::ZERO; LANES];
        if self.broad.is_empty() {
            return seen;
        }
        let mut next = [v3(0.0, 0.0, 1.0); LANES];
        for (lane, place) in places.iter().enumerate() {
            let [u, again] = place.numbers.pair(5);
            let broad = self.broad.lane(lane);
            let (chosen, rest) = broad.choose(u);
            next[lane] = broad[chosen].sample(self.normal.lane(lane), self.v.lane(lane), [again, rest]);
        }
        let Self { v, normal, ref broad, .. } = *self;
        let (value, own) = Arch::new().dispatch(|| broad.evaluate_sampled(normal, v, V3::of_lanes(|lane| next[lane])));
        for (lane, place) in places.iter().enumerate() {
            let own = own.lane(lane);
            if own > 0.0 {
                let ray = Ray { origin: self.start.lane(lane), direction: next[lane] };
                let history = RayHistory { leaving: place.body, density: own, bounce: 1 };
                let (light, _) = lit.radiance(ray, history, false, &place.numbers);
                seen[lane] = value.lane(lane).times(light) / own;
            }
        }
        seen
    }
}

/// Adds what a place's sharp lobes see of the stage, by one ray.
fn sharply_seen(lit: &LitStage<'_>, place: &Place, sharp: &Lobes, sample: &mut Sample) {
    let Place { point, direction, ref numbers, .. } = *place;
    let (v, normal) = (-direction, sample.normal);
    let start = point + normal * OFFSET;
    sample.glint = glints(lit, start, direction - normal * (2.0 * normal.dot(direction)), sharp[0].kind);
    let next = sharp[0].sample(normal, v, numbers.pair(7));
    let (value, own) = sharp.evaluate(normal, v, next);
    if own > 0.0 {
        let ray = Ray { origin: start, direction: next };
        let history = RayHistory { leaving: place.body, density: own, bounce: 1 };
        let (seen, distance) = lit.radiance(ray, history, true, numbers);
        sample.clean += value.times(seen + lit.lamps_met(start, next, distance, own)) / own;
    }
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

#[cfg(test)]
mod tests {
    use super::super::far_ground::Patches;
    use super::super::{Effort, lit_stage};
    use super::*;
    use crate::render::stage::{Placement, Studio};

    #[test]
    fn lamps_light_alike_with_and_without_avx2() {
        let look = include_bytes!("../../../../../blender_assets/look.json");
        let placements: Vec<Placement> =
            serde_json::from_slice(include_bytes!("../../../benches/placements.json")).unwrap();
        let studio = Studio::from_json(look, "look.json").unwrap();
        let stage = studio.stage(&placements[2], 120, 80).unwrap();
        let lit = lit_stage(&stage, &Patches::new(studio.ground()), Effort::DRAFT);
        let view = View::new(&lit, &stage.camera);
        let filter = FilterWeights::default();
        let mut sampler = Sampler::new(&view, &filter, 0.1);
        for i in 0..view.width * view.height {
            let number = sampler.add(i % view.width, i / view.width, [1, 1]);
            sampler.shoot(number, 0);
        }
        assert!(sampler.dark.len() > 300, "{}", sampler.dark.len());
        sampler.dark.sort_by_key(|place| place.body);
        for places in sampler.dark.chunk_by(|one, other| one.body == other.body) {
            for places in places.chunks(LANES) {
                let lamps = || Lamps { lit: &lit, places, samples: &sampler.samples };
                let (plain, wide) = (lamps().call(), Arch::new().dispatch(lamps()));
                for lane in 0..places.len() {
                    let bits = |light: V3| [light.x, light.y, light.z].map(f32::to_bits);
                    assert_eq!(bits(plain.light.lane(lane)), bits(wide.light.lane(lane)));
                }
            }
        }
    }
}
