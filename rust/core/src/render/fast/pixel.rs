//! Samples the pixels that show a body.
//!
//! The number of rays depends on the material for a pixel inside a body; a pixel on an outline gets more, for
//! anti-aliasing. Indirect light by broad lobes is noisy, and kept apart from the rest to be filtered later. Rays are
//! traced eight at a time; then direct light is computed for eight shading points of one body at a time.

use super::bodies::NOBODY;
use super::shade::{LitStage, OFFSET, RayHistory, SHARP_ALPHA, face_forward};
use super::sobol::SobolSample;
use super::view::{TILE, View};
use crate::render::lanes::{F8, LANES, Real, dispatch};
use crate::render::light::power_heuristic;
use crate::render::material::{Kind, Lobes};
use crate::render::vector::{Ray, V3};
use pulp::NullaryFnOnce;

/// Sampling effort of pixels that show bodies. Each has one, two or four rays at first, and none or a power of two more
/// if those differ.
#[derive(Clone, Copy, Debug)]
pub struct PixelEffort {
    /// Rays of a pixel on an outline.
    pub outline: [u32; 2],
    /// Rays of a pixel inside a metal, which reflects edges, and inside another material.
    pub metal: [u32; 2],
    pub matte: [u32; 2],
    /// More rays follow if the first ones differ by more than this fraction of their mean.
    pub difference: f32,
}

/// Offsets of two or four first rays from the pixel's centre. They are fixed, so that light does not depend on chance.
const TWO: [[f32; 2]; 2] = [[-0.25, -0.25], [0.25, 0.25]];
const FOUR: [[f32; 2]; 4] = [[-0.375, -0.125], [0.125, -0.375], [0.375, 0.125], [-0.125, 0.375]];

/// A primary ray's sample of a pixel.
#[derive(Clone, Copy, Default)]
pub struct Sample {
    /// Offset from the pixel's centre.
    pub offset: [f32; 2],
    /// The body, or NOBODY.
    pub body: usize,
    pub normal: V3,
    /// All light but `noisy`.
    pub clean: V3,
    /// Indirect light by broad lobes, if it was sampled.
    pub noisy: Option<V3>,
    /// Whether a sharp lobe reflects the surroundings of a light.
    pub highlight: bool,
}

/// The noisy light of a pixel's main body, which is that of its first sample with a body.
#[derive(Clone, Copy)]
pub struct Mean {
    pub body: usize,
    pub normal: V3,
    pub sum: V3,
    pub count: f32,
}

/// A pixel, the range of its samples, and their mean.
pub struct Pixel {
    pub column: usize,
    pub row: usize,
    pub samples: std::ops::Range<usize>,
    /// Number of rays at first, and of those that may follow.
    pub rays: [u32; 2],
    pub mean: Mean,
}

/// A primary ray that is not traced yet.
struct CameraRay {
    /// Index of its sample.
    sample: usize,
    /// Bodies that it may hit, as bits.
    bodies: u64,
    /// A body whose light by broad lobes the pixel's first rays have sampled, or NOBODY.
    known: usize,
    /// Point of the image that it goes through, in pixels.
    position_px: [f32; 2],
    sobol: SobolSample,
}

/// A point of a body that a sample shows and that is not shaded yet.
struct ShadingPoint {
    /// Index of its sample.
    sample: usize,
    body: usize,
    position: V3,
    direction: V3,
    /// Whether to sample indirect light by broad lobes.
    wants_broad: bool,
    sobol: SobolSample,
}

/// Samples the pixels of a band.
pub struct Sampler<'a> {
    view: &'a View<'a>,
    difference: f32,
    pixels: Vec<Pixel>,
    samples: Vec<Sample>,
    rays: Vec<CameraRay>,
    pending: Vec<ShadingPoint>,
}

impl<'a> Sampler<'a> {
    pub fn new(view: &'a View<'a>, difference: f32) -> Self {
        let (pixels, samples, rays, pending) = Default::default();
        Self { view, difference, pixels, samples, rays, pending }
    }

    pub fn add(&mut self, column: usize, row: usize, rays: [u32; 2]) {
        let first = self.pixels.last().map_or(0, |pixel| pixel.samples.end);
        let mean = Mean { body: NOBODY, normal: V3::ZERO, sum: V3::ZERO, count: 0.0 };
        self.pixels.push(Pixel { column, row, samples: first..first + rays[0] as usize, rays, mean });
    }

    /// Traces and shades the first rays of all pixels, and then more of them where those differ.
    pub fn finish(mut self) -> (Vec<Pixel>, Vec<Sample>) {
        let n_samples = self.pixels.last().map_or(0, |pixel| pixel.samples.end);
        self.samples.reserve_exact(n_samples);
        self.rays.reserve_exact(n_samples);
        self.pending.reserve_exact(n_samples);
        for index in 0..self.pixels.len() {
            self.queue_rays(index, 0);
        }
        self.trace();
        self.shade();
        // Pixels whose own first rays or those of a direct neighbour differ, by position within the band and a margin.
        // If only a pixel's own rays decided, pixels whose rays all miss a highlight would be too dark on average.
        let stride = self.view.width + 2;
        let padded_index = |pixel: &Pixel| (pixel.row % TILE + 1) * stride + pixel.column + 1;
        let mut needs_more = vec![false; stride * (TILE + 2)];
        for pixel in &mut self.pixels {
            let own = &self.samples[pixel.samples.clone()];
            pixel.mean = Mean::of(own);
            if pixel.rays[1] > 0 && !agree(own, self.difference) {
                let own = padded_index(pixel);
                for neighbour in [own, own - 1, own + 1, own - stride, own + stride] {
                    needs_more[neighbour] = true;
                }
            }
        }
        for index in 0..self.pixels.len() {
            let pixel = &mut self.pixels[index];
            let [few, more] = pixel.rays;
            if more > 0 && needs_more[padded_index(pixel)] {
                // Move the pixel's samples to the end, where there is room for more.
                let first = self.samples.len();
                self.samples.extend_from_within(pixel.samples.clone());
                pixel.samples = first..first + (few + more) as usize;
                self.queue_rays(index, few);
            }
        }
        self.trace();
        self.shade();
        (self.pixels, self.samples)
    }

    /// Queues a pixel's rays from index `from` on, and appends their samples to `samples`.
    fn queue_rays(&mut self, pixel: usize, from: u32) {
        let Pixel { column, row, ref samples, rays, mean } = self.pixels[pixel];
        // The first rays have sampled the main body's broad lobes.
        let known = if from == 0 { NOBODY } else { mean.body };
        let bodies = self.view.bodies(column, row);
        for index in from..samples.len() as u32 {
            let sobol = SobolSample::adaptive(column as u32, row as u32, index, rays);
            let [u, v] = match rays[0] {
                few if index >= few => sobol.pair(60).map(|x| x - 0.5),
                1 => [0.0; 2],
                2 => TWO[index as usize],
                _ => FOUR[index as usize],
            };
            let sample = self.samples.len();
            self.samples.push(Sample { offset: [u, v], body: NOBODY, ..Sample::default() });
            let position_px = [column as f32 + 0.5 + u, row as f32 + 0.5 + v];
            self.rays.push(CameraRay { sample, bodies, known, position_px, sobol });
        }
    }

    /// Traces the queued rays.
    fn trace(&mut self) {
        let lit = self.view.lit;
        for rays in self.rays.chunks(LANES) {
            // Lanes beyond the last ray repeat it.
            let at = |lane: usize| &rays[lane.min(rays.len() - 1)];
            let bodies = rays.iter().fold(0, |bodies, ray| bodies | ray.bodies);
            let positions_px = [0, 1].map(|axis| F8::from_lanes(|lane| at(lane).position_px[axis]));
            let hits = self.view.trace(bodies, positions_px);
            for (lane, &CameraRay { sample: index, known, sobol, .. }) in rays.iter().enumerate() {
                let ray = Ray { origin: self.view.origin, direction: hits.directions.lane(lane) };
                let (body, direction) = (hits.bodies[lane], ray.direction);
                let sample = &mut self.samples[index];
                if body != NOBODY {
                    let position = ray.at(hits.distances.lane(lane));
                    sample.body = body;
                    sample.normal = face_forward(lit.bodies.list[body].normal(position, direction), -direction);
                    let wants_broad = body != known;
                    self.pending.push(ShadingPoint { sample: index, body, position, direction, wants_broad, sobol });
                } else if let Some((t, normal)) = lit.sheet.hit(ray.origin, direction) {
                    sample.clean = lit.ground_radiance_toward(-direction, ray.at(t), normal, &sobol);
                } else {
                    sample.clean = lit.background;
                }
            }
        }
        self.rays.clear();
    }

    /// Shades the points that the rays have hit.
    fn shade(&mut self) {
        let lit = self.view.lit;
        self.pending.sort_by_key(|point| point.body);
        for points in self.pending.chunk_by(|one, other| one.body == other.body) {
            for points in points.chunks(LANES) {
                let shaded = dispatch(DirectLight { lit, points, samples: &self.samples });
                for (lane, point) in points.iter().enumerate() {
                    let sample = &mut self.samples[point.sample];
                    sample.clean = shaded.light.lane(lane);
                    sample.noisy = point.wants_broad.then(|| shaded.broad_reflection(lit, lane, point));
                    if !shaded.sharp.is_empty() {
                        add_sharp_reflection(lit, point, &shaded.sharp.lane(lane), sample);
                    }
                }
            }
        }
        self.pending.clear();
    }
}

impl Mean {
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

/// Whether samples show the same body in similar light.
///
/// Samples near a highlight never agree: most of them miss the light, so those that happen to agree are darker on
/// average than all.
fn agree(samples: &[Sample], difference: f32) -> bool {
    let light = |sample: &Sample| sample.clean.mean();
    let (mut least, mut most, mut sum) = (f32::MAX, 0.0_f32, 0.0);
    for sample in samples {
        if sample.highlight || sample.body != samples[0].body {
            return false;
        }
        least = least.min(light(sample));
        most = most.max(light(sample));
        sum += light(sample);
    }
    most - least <= difference * (sum / samples.len() as f32 + 0.02)
}

/// Computes direct light on up to eight shading points of one body.
struct DirectLight<'a> {
    lit: &'a LitStage<'a>,
    points: &'a [ShadingPoint],
    samples: &'a [Sample],
}

/// Direct light on eight shading points, and what is needed to sample their indirect light.
struct Shaded {
    start: V3<F8>,
    light: V3<F8>,
    /// A direction sampled from the broad lobes, their BSDF times cosine for it, and its pdf; 0 without such lobes.
    next: V3<F8>,
    value: V3<F8>,
    pdf: F8,
    sharp: Lobes<F8>,
}

impl NullaryFnOnce for DirectLight<'_> {
    type Output = Shaded;

    #[inline(always)]
    fn call(self) -> Shaded {
        let Self { lit, points, samples } = self;
        // Lanes beyond the last point repeat it.
        let at = |lane: usize| &points[lane.min(points.len() - 1)];
        let body_index = at(0).body;
        let body = &lit.bodies.list[body_index];
        let position = V3::from_lanes(|lane| at(lane).position);
        let v = V3::from_lanes(|lane| -at(lane).direction);
        let normal = V3::from_lanes(|lane| samples[at(lane).sample].normal);
        let lobes = body.shader.lobes(&body.surface(position, normal, 0.0), normal.dot(v));
        let start = position + normal * F8::splat(OFFSET);
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
            let n_samples = lamp.sample_count(body.location);
            for k in 0..n_samples {
                // Broad lobes reflect a light as if all of it came from one direction, unless it looks large.
                let mut reflected = V3::default();
                if n_samples == 1 {
                    reflected = lamp.reflected(start, |toward| broad.value(normal, v, toward));
                    let is_clear = lit.light_occluders[body_index][i] == 0
                        && lamp.fraction_above_ground(lit.sheet, body.location) == 1.0;
                    if is_clear && sharp.is_empty() {
                        light += reflected;
                        continue;
                    }
                }
                // One sample of the light decides whether it is hidden, and what sharp lobes reflect of it.
                let dimension = if k == 0 { i as u32 } else { 200 + 8 * k + i as u32 };
                let (sample, is_lit) = lamp.samples(start, pairs(points, dimension));
                let mut value = V3::default();
                if n_samples > 1 {
                    value += broad.value(normal, v, sample.direction);
                }
                if !sharp.is_empty() {
                    let (narrow, bsdf_pdf) = sharp.evaluate(normal, v, sample.direction);
                    value += narrow * power_heuristic(sample.pdf, bsdf_pdf);
                }
                reflected += value.times(V3::splat(lamp.radiance())) / (sample.pdf * F8::splat(n_samples as f32));
                let matters = is_lit & F8::splat(1e-5).is_less(reflected.max_component());
                let clear = matters & !lit.occluded(body_index, i, start, &sample, matters);
                light += V3::select(clear, reflected, V3::default());
            }
        }
        let (mut next, mut value, mut pdf) = Default::default();
        if points.iter().any(|point| point.wants_broad) {
            next = broad.sample(normal, v, pairs(points, 5));
            (value, pdf) = broad.evaluate_sampled(normal, v, next);
        }
        Shaded { start, light, next, value, pdf, sharp }
    }
}

/// A pair of uniform numbers for each of up to eight points; lanes beyond the last point repeat it.
#[inline(always)]
fn pairs(points: &[ShadingPoint], dimension: u32) -> [F8; 2] {
    let mut pairs = [F8::default(); 2];
    for lane in 0..LANES {
        [pairs[0].0[lane], pairs[1].0[lane]] = points[lane.min(points.len() - 1)].sobol.pair(dimension);
    }
    pairs
}

impl Shaded {
    /// Indirect light by a point's broad lobes, from one ray.
    fn broad_reflection(&self, lit: &LitStage<'_>, lane: usize, point: &ShadingPoint) -> V3 {
        let pdf = self.pdf.lane(lane);
        // The pdf is NaN for a black body.
        if pdf.is_nan() || pdf <= 0.0 {
            return V3::ZERO;
        }
        let ray = Ray { origin: self.start.lane(lane), direction: self.next.lane(lane) };
        let history = RayHistory { leaving: point.body, pdf, bounce: 1 };
        let (light, _) = lit.radiance(ray, history, false, &point.sobol);
        self.value.lane(lane).times(light) / pdf
    }
}

/// Adds light by a point's sharp lobes, from one ray.
fn add_sharp_reflection(lit: &LitStage<'_>, point: &ShadingPoint, sharp: &Lobes, sample: &mut Sample) {
    let ShadingPoint { position, direction, ref sobol, .. } = *point;
    let (v, normal) = (-direction, sample.normal);
    let start = position + normal * OFFSET;
    sample.highlight = mirrors_a_light(lit, start, direction - normal * (2.0 * normal.dot(direction)), sharp[0].kind);
    let next = sharp[0].sample(normal, v, sobol.pair(7));
    let (value, pdf) = sharp.evaluate(normal, v, next);
    if pdf > 0.0 {
        let ray = Ray { origin: start, direction: next };
        let history = RayHistory { leaving: point.body, pdf, bounce: 1 };
        let (incoming, distance) = lit.radiance(ray, history, true, sobol);
        sample.clean += value.times(incoming + lit.lights_hit(start, next, distance, pdf)) / pdf;
    }
}

/// Whether the cone with 95% of a sharp lobe around the mirror direction touches a light.
#[inline]
fn mirrors_a_light(lit: &LitStage<'_>, start: V3, mirrored: V3, kind: Kind) -> bool {
    let Kind::Glossy { alpha_x, alpha_y, .. } = kind else { return false };
    // 95% of GGX's normals are within 4.4 alpha of the shading normal, and reflection doubles angles.
    let reach = 8.8 * alpha_x.max(alpha_y);
    lit.lights.iter().any(|lamp| {
        let (toward, _, spread) = lamp.bounding_cone(start);
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
    use crate::render::lanes::call_without_avx2;
    use crate::render::stop::Stop;
    use crate::render::test_scenes::{placements, studio};

    #[test]
    fn direct_light_is_the_same_with_and_without_avx2() {
        let studio = studio();
        let stage = studio.stage(&placements()[2], 120, 80).unwrap();
        let lit = lit_stage(&stage, &Patches::new(studio.ground()), Effort::DRAFT);
        let view = View::new(&lit, &stage.camera, &Stop::default());
        let mut sampler = Sampler::new(&view, 0.1);
        for i in 0..view.width * view.height {
            sampler.add(i % view.width, i / view.width, [1, 0]);
            sampler.queue_rays(i, 0);
        }
        sampler.trace();
        assert!(sampler.pending.len() > 300, "{}", sampler.pending.len());
        sampler.pending.sort_by_key(|point| point.body);
        for points in sampler.pending.chunk_by(|one, other| one.body == other.body) {
            for points in points.chunks(LANES) {
                let lamps = || DirectLight { lit: &lit, points, samples: &sampler.samples };
                let (plain, wide) = (call_without_avx2(lamps()), dispatch(lamps()));
                for lane in 0..points.len() {
                    let bits = |light: V3| [light.x, light.y, light.z].map(f32::to_bits);
                    assert_eq!(bits(plain.light.lane(lane)), bits(wide.light.lane(lane)));
                    assert_eq!(bits(plain.next.lane(lane)), bits(wide.next.lane(lane)));
                    assert_eq!(bits(plain.value.lane(lane)), bits(wide.value.lane(lane)));
                }
            }
        }
    }
}
