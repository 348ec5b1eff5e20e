//! Samples the light of a pixel that shows a body.
//!
//! A pixel that a body fills gets rays by its material, one across an outline gets more. What
//! broad lobes see of the stage is noisy, and kept apart from the rest to be averaged later.
//! Rays are shot eight at a time; then the lamps' light is found for eight places of one body at a time.

use super::bodies::NOBODY;
use super::numbers::Numbers;
use super::shade::{LitStage, OFFSET, RayHistory, SHARP_ALPHA, facing};
use super::view::{TILE, View};
use crate::render::lanes::{F8, LANES, Real, dispatch};
use crate::render::light::power;
use crate::render::material::{Kind, Lobes};
use crate::render::vector::{Ray, V3};
use pulp::NullaryFnOnce;

/// How much is spent on pixels that show bodies. Numbers of rays are one, two or four to begin with, and none or a power of
/// two more where those differ.
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

/// Where a pixel's first rays go through it, from its middle, if they are two or four: evenly, so that its light does not
/// depend on chance.
const TWO: [[f32; 2]; 2] = [[-0.25, -0.25], [0.25, 0.25]];
const FOUR: [[f32; 2]; 4] = [[-0.375, -0.125], [0.125, -0.375], [0.375, 0.125], [-0.125, 0.375]];

/// A ray through a pixel.
#[derive(Clone, Copy, Default)]
pub struct Sample {
    /// Where it goes through the pixel, from its middle.
    pub offset: [f32; 2],
    /// The body, or NOBODY.
    pub body: usize,
    pub normal: V3,
    pub clean: V3,
    /// What the broad lobes see of the stage, if it was looked for.
    pub noisy: Option<V3>,
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
    /// How many rays it has at first, and perhaps more.
    pub rays: [u32; 2],
    pub mean: Mean,
}

/// A ray that is not shot yet.
struct Aim {
    /// Number of the sample.
    sample: usize,
    /// Bodies that it may meet, as bits.
    bodies: u64,
    /// A body of which it is known what the broad lobes see there, or NOBODY.
    known: usize,
    /// Where it goes through the image, in pixels.
    place: [f32; 2],
    numbers: Numbers,
}

/// A place of a body that a sample shows, whose light is not known yet.
struct Place {
    /// Number of the sample.
    sample: usize,
    body: usize,
    point: V3,
    direction: V3,
    /// Whether it is to be found what the broad lobes see.
    is_broad: bool,
    numbers: Numbers,
}

/// Samples pixels.
pub struct Sampler<'a> {
    view: &'a View<'a>,
    difference: f32,
    pixels: Vec<Pixel>,
    samples: Vec<Sample>,
    aimed: Vec<Aim>,
    dark: Vec<Place>,
}

impl<'a> Sampler<'a> {
    pub fn new(view: &'a View<'a>, difference: f32) -> Self {
        let (pixels, samples, aimed, dark) = Default::default();
        Self { view, difference, pixels, samples, aimed, dark }
    }

    /// Adds a pixel.
    pub fn add(&mut self, column: usize, row: usize, rays: [u32; 2]) {
        let first = self.pixels.last().map_or(0, |pixel| pixel.samples.end);
        let mean = Mean { body: NOBODY, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
        self.pixels.push(Pixel { column, row, samples: first..first + rays[0] as usize, rays, mean });
    }

    /// Shoots the rays of all pixels, which are of one band: the first ones, and more where those differ.
    pub fn finish(mut self) -> (Vec<Pixel>, Vec<Sample>) {
        let n_samples = self.pixels.last().map_or(0, |pixel| pixel.samples.end);
        self.samples.reserve_exact(n_samples);
        self.aimed.reserve_exact(n_samples);
        self.dark.reserve_exact(n_samples);
        for number in 0..self.pixels.len() {
            self.aim(number, 0);
        }
        self.shoot();
        self.light();
        // Where a pixel's first rays differ or those of one beside it do, by place within the band and a margin. If a pixel's
        // own decided alone, those whose rays all miss a glint would be darker in the mean than they are.
        let stride = self.view.width + 2;
        let place = |pixel: &Pixel| (pixel.row % TILE + 1) * stride + pixel.column + 1;
        let mut uneven = vec![false; stride * (TILE + 2)];
        for pixel in &mut self.pixels {
            let own = &self.samples[pixel.samples.clone()];
            pixel.mean = Mean::of(own);
            if pixel.rays[1] > 0 && !alike(own, self.difference) {
                let own = place(pixel);
                for place in [own, own - 1, own + 1, own - stride, own + stride] {
                    uneven[place] = true;
                }
            }
        }
        for number in 0..self.pixels.len() {
            let pixel = &mut self.pixels[number];
            let [few, more] = pixel.rays;
            if more > 0 && uneven[place(pixel)] {
                // They move to the end, where there is room for more.
                let first = self.samples.len();
                self.samples.extend_from_within(pixel.samples.clone());
                pixel.samples = first..first + (few + more) as usize;
                self.aim(number, few);
            }
        }
        self.shoot();
        self.light();
        (self.pixels, self.samples)
    }

    /// Aims a pixel's rays from a number on, whose samples come after all that there are.
    fn aim(&mut self, pixel: usize, from: u32) {
        let Pixel { column, row, ref samples, rays, mean } = self.pixels[pixel];
        // The first rays say what the broad lobes see of the foremost body.
        let known = if from == 0 { NOBODY } else { mean.body };
        let bodies = self.view.bodies(column, row);
        for number in from..samples.len() as u32 {
            let numbers = Numbers::growing(column as u32, row as u32, number, rays);
            let [u, v] = match rays[0] {
                few if number >= few => numbers.pair(60).map(|x| x - 0.5),
                1 => [0.0; 2],
                2 => TWO[number as usize],
                _ => FOUR[number as usize],
            };
            let sample = self.samples.len();
            self.samples.push(Sample { offset: [u, v], body: NOBODY, ..Sample::default() });
            let place = [column as f32 + 0.5 + u, row as f32 + 0.5 + v];
            self.aimed.push(Aim { sample, bodies, known, place, numbers });
        }
    }

    /// Shoots the rays that are aimed.
    fn shoot(&mut self) {
        let lit = self.view.lit;
        for aimed in self.aimed.chunks(LANES) {
            // Lanes beyond the last ray are as that.
            let at = |lane: usize| &aimed[lane.min(aimed.len() - 1)];
            let bodies = aimed.iter().fold(0, |bodies, aim| bodies | aim.bodies);
            let places = [0, 1].map(|axis| F8::of_lanes(|lane| at(lane).place[axis]));
            let seen = self.view.seen(bodies, places);
            for (lane, &Aim { sample: number, known, numbers, .. }) in aimed.iter().enumerate() {
                let ray = Ray { origin: self.view.origin, direction: seen.directions.lane(lane) };
                let (body, direction) = (seen.bodies[lane], ray.direction);
                let sample = &mut self.samples[number];
                if body != NOBODY {
                    let point = ray.at(seen.distances.lane(lane));
                    sample.body = body;
                    sample.normal = facing(lit.bodies.list[body].normal(point, direction), -direction);
                    let is_broad = body != known;
                    self.dark.push(Place { sample: number, body, point, direction, is_broad, numbers });
                } else if let Some((t, normal)) = lit.sheet.hit(ray.origin, direction) {
                    sample.clean = lit.ground_toward(-direction, ray.at(t), normal, &numbers);
                } else {
                    sample.clean = lit.background;
                }
            }
        }
        self.aimed.clear();
    }

    /// Finds the light of the places where it is not known.
    fn light(&mut self) {
        let lit = self.view.lit;
        self.dark.sort_by_key(|place| place.body);
        for places in self.dark.chunk_by(|one, other| one.body == other.body) {
            for places in places.chunks(LANES) {
                let lamplit = dispatch(Lamps { lit, places, samples: &self.samples });
                for (lane, place) in places.iter().enumerate() {
                    let sample = &mut self.samples[place.sample];
                    sample.clean = lamplit.light.lane(lane);
                    sample.noisy = place.is_broad.then(|| lamplit.broadly_seen(lit, lane, place));
                    if !lamplit.sharp.is_empty() {
                        sharply_seen(lit, place, &lamplit.sharp.lane(lane), sample);
                    }
                }
            }
        }
        self.dark.clear();
    }
}

impl Mean {
    /// Of a pixel's samples.
    fn of(samples: &[Sample]) -> Self {
        let body = samples.iter().map(|sample| sample.body).find(|&body| body != NOBODY).unwrap_or(NOBODY);
        let mut mean = Self { body, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
        for sample in samples.iter().filter(|sample| sample.body != NOBODY && sample.body == body) {
            mean.normal += sample.normal;
            mean.sum += sample.noisy.unwrap_or_default();
            mean.count += 1.0;
        }
        if mean.count > 0.0 {
            mean.normal = mean.normal.unit();
        }
        mean
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

/// What eight places throw back of the lamps' light, and what is needed to look for that of the stage.
struct Lamplit {
    start: V3<F8>,
    light: V3<F8>,
    /// A direction that the broad lobes choose, what they throw back of light from there, and how densely they choose it:
    /// not at all without such lobes.
    next: V3<F8>,
    value: V3<F8>,
    density: F8,
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
                let (sample, is_lit) = lamp.samples(start, pairs(places, dimension));
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
        let (mut next, mut value, mut density) = Default::default();
        if places.iter().any(|place| place.is_broad) {
            next = broad.sample(normal, v, pairs(places, 5));
            (value, density) = broad.evaluate_sampled(normal, v, next);
        }
        Lamplit { start, light, next, value, density, sharp }
    }
}

/// Two uniform numbers for each of up to eight places; lanes beyond the last one have its.
#[inline(always)]
fn pairs(places: &[Place], dimension: u32) -> [F8; 2] {
    let mut pairs = [F8::default(); 2];
    for lane in 0..LANES {
        [pairs[0].0[lane], pairs[1].0[lane]] = places[lane.min(places.len() - 1)].numbers.pair(dimension);
    }
    pairs
}

impl Lamplit {
    /// What a place's broad lobes see of the stage, by one ray.
    fn broadly_seen(&self, lit: &LitStage<'_>, lane: usize, place: &Place) -> V3 {
        let density = self.density.lane(lane);
        // Not a number for a body that throws nothing back.
        if density.is_nan() || density <= 0.0 {
            return V3::ZERO;
        }
        let ray = Ray { origin: self.start.lane(lane), direction: self.next.lane(lane) };
        let history = RayHistory { leaving: place.body, density, bounce: 1 };
        let (light, _) = lit.radiance(ray, history, false, &place.numbers);
        self.value.lane(lane).times(light) / density
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
    use crate::render::lanes::plain;
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
        let mut sampler = Sampler::new(&view, 0.1);
        for i in 0..view.width * view.height {
            sampler.add(i % view.width, i / view.width, [1, 0]);
            sampler.aim(i, 0);
        }
        sampler.shoot();
        assert!(sampler.dark.len() > 300, "{}", sampler.dark.len());
        sampler.dark.sort_by_key(|place| place.body);
        for places in sampler.dark.chunk_by(|one, other| one.body == other.body) {
            for places in places.chunks(LANES) {
                let lamps = || Lamps { lit: &lit, places, samples: &sampler.samples };
                let (plain, wide) = (plain(lamps()), dispatch(lamps()));
                for lane in 0..places.len() {
                    let bits = |light: V3| [light.x, light.y, light.z].map(f32::to_bits);
                    assert_eq!(bits(plain.light.lane(lane)), bits(wide.light.lane(lane)));
                    assert_eq!(bits(plain.next.lane(lane)), bits(wide.next.lane(lane)));
                    assert_eq!(bits(plain.value.lane(lane)), bits(wide.value.lane(lane)));
                }
            }
        }
    }
}
