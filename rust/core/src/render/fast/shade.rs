//! Radiance along secondary rays, and direct light with shadow rays.

use super::bodies::Bodies;
use super::far_ground::FarGround;
use super::near_ground::NearGround;
use super::sobol::SobolSample;
use crate::render::lanes::{F8, LANES, Real, dispatch};
use crate::render::light::{Light, Sample, power_heuristic};
use crate::render::material::{Lobes, filter_glossy_alpha};
use crate::render::sheet::Sheet;
use crate::render::stage::MAX_LIGHTS;
use crate::render::vector::{Ray, V3, v3};
use pulp::NullaryFnOnce;
use std::f32::consts::FRAC_1_PI;

/// Rays start this far off the surface, so that they do not hit it again.
pub const OFFSET: f32 = 1e-4;
/// Lobes with a smaller alpha are sharp: they are sampled by rays of their own.
pub const SHARP_ALPHA: f32 = 0.05;
/// Bounces off bodies that are traced; after them the remaining light is approximated.
const MAX_BOUNCES: u32 = 2;

/// Reflected rays with a higher pdf see exact shadows on the ground.
const SHARP_PDF: f32 = 20.0;

/// The path of a secondary ray so far.
#[derive(Clone, Copy, Debug)]
pub struct RayHistory {
    /// The body that it leaves, or NOBODY.
    pub leaving: usize,
    /// The least pdf with which it and the rays before it were sampled.
    pub pdf: f32,
    /// Number of bodies hit so far.
    pub bounce: u32,
}

/// A stage with the light on its ground: everything that a ray may see.
pub struct LitStage<'a> {
    pub bodies: Bodies<'a>,
    pub sheet: &'a Sheet,
    pub lights: &'a [Light],
    /// Radiance of the background.
    pub background: V3,
    /// For each body and light, the bodies, as bits, that may hide the light from points of the body.
    pub light_occluders: Vec<[u64; MAX_LIGHTS]>,
    pub far: FarGround,
    pub near: NearGround,
    pub blur_glossy: f32,
}

/// Distance between the sample substreams of successive bounces.
const DIMENSIONS_PER_BOUNCE: u32 = 16;

impl LitStage<'_> {
    /// The point of the ground at world x and y, and its normal.
    #[inline]
    pub fn ground_at(&self, x: f32, y: f32) -> (V3, V3) {
        let local = self.sheet.to_local(v3(x, y, 0.0));
        let (height, normal) = self.sheet.at(local.x);
        (v3(x, y, self.sheet.to_world(v3(local.x, local.y, height)).z), normal)
    }

    /// Direct irradiance at a point of the ground, shadows included.
    ///
    /// Each light that a body may hide gets `few` shadow rays, and up to `most` as long as they disagree.
    #[inline]
    pub fn ground_direct(&self, point: V3, normal: V3, sobol: &SobolSample, few: u32, most: u32) -> V3 {
        let origin = point + normal * OFFSET;
        let direct = |(index, light): (usize, &Light)| {
            light.irradiance(point, normal) * self.visibility(index, origin, sobol, few, most)
        };
        self.lights.iter().enumerate().map(direct).sum()
    }

    /// Radiance of a point of the ground towards `v`, by one shadow ray to each light that a body may hide.
    #[inline]
    pub fn ground_radiance_toward(&self, v: V3, point: V3, normal: V3, sobol: &SobolSample) -> V3 {
        let origin = point + normal * OFFSET;
        let direct = |(index, light): (usize, &Light)| {
            let ratio = self.sheet.lambert_ratio(normal, v, light.bounding_cone(point).0);
            light.irradiance(point, normal).times(ratio) * self.visibility(index, origin, sobol, 1, 1)
        };
        let direct: V3 = self.lights.iter().enumerate().map(direct).sum();
        (direct + self.indirect_toward_camera(point)).times(self.sheet.color) * FRAC_1_PI
    }

    /// Which of the `wanted` shadow rays from points of a body to sampled points of a light are blocked, by a body or
    /// by the ground.
    #[inline(always)]
    pub fn occluded<F: Real>(
        &self,
        index: usize,
        light: usize,
        start: V3<F>,
        sample: &Sample<F>,
        wanted: F::Mask,
    ) -> F::Mask {
        let occluders = self.light_occluders[index][light];
        self.bodies.blocked_by(occluders, start, sample.direction, sample.distance, wanted)
            | (wanted & self.lights[light].is_hidden_by_ground(self.sheet, start, sample.direction))
    }

    /// Indirect irradiance at a point of the ground: by way of bodies and of the rest of the ground.
    #[inline]
    pub fn indirect(&self, point: V3) -> V3 {
        self.near.indirect(point.x, point.y).unwrap_or_else(|| self.far.indirect(self.sheet.to_local(point)))
    }

    /// Indirect irradiance, scaled by the reflection towards the camera relative to a Lambertian ground.
    #[inline]
    pub fn indirect_toward_camera(&self, point: V3) -> V3 {
        self.indirect(point).times(self.far.lambert_ratio(self.sheet.to_local(point)))
    }

    /// The fraction of a light that is visible from a point just above the ground; rays as in `ground_direct`.
    #[inline]
    pub fn visibility(&self, light: usize, origin: V3, sobol: &SobolSample, few: u32, most: u32) -> f32 {
        let lamp = &self.lights[light];
        let above = lamp.fraction_above_ground(self.sheet, origin);
        let occluders = self.near.occluders(origin.x, origin.y, light).unwrap_or_else(|| {
            let (toward, distance, spread) = lamp.bounding_cone(origin);
            self.bodies.in_shaft(origin, toward, distance, spread, 0.0)
        });
        if above == 0.0 || occluders == 0 {
            return above;
        }
        let most = most * lamp.sample_count(origin);
        let uniforms = |cast: u32| sobol.skip(cast).pair(100 + light as u32);
        if most == 1 {
            let (sample, is_lit) = lamp.samples(origin, uniforms(0));
            let visible = is_lit && !self.bodies.blocked_by(occluders, origin, sample.direction, sample.distance, true);
            return if visible { above } else { 0.0 };
        }
        let (mut visible, mut cast, mut reached) = (0, 0, 0);
        while cast < most && (cast < few || (visible != 0 && visible != cast)) {
            let lane = cast % LANES as u32;
            if lane == 0 {
                let n = most - cast;
                reached = dispatch(ShadowRays { lit: self, lamp, occluders, origin, uniforms, first: cast, n });
            }
            visible += reached >> lane & 1;
            cast += 1;
        }
        above * (visible as f32 / cast as f32)
    }

    /// Radiance along a secondary ray, and the distance to what it hits.
    ///
    /// With `exact_shadows`, direct light on the ground is found by shadow rays instead of the radiance map.
    #[inline]
    pub fn radiance(&self, ray: Ray, history: RayHistory, exact_shadows: bool, sobol: &SobolSample) -> (V3, f32) {
        if let Some((distance, index)) = self.bodies.nearest(ray.origin, ray.direction, f32::INFINITY, history.leaving)
        {
            return (self.body_radiance(ray, distance, index, history, sobol), distance);
        }
        let Some((t, normal)) = self.sheet.hit(ray.origin, ray.direction) else {
            return (self.background, f32::INFINITY);
        };
        (self.ground_radiance(ray.at(t), normal, history.bounce, exact_shadows, sobol), t)
    }

    #[inline]
    fn ground_radiance(&self, point: V3, normal: V3, bounce: u32, exact_shadows: bool, sobol: &SobolSample) -> V3 {
        if exact_shadows && let Some(indirect) = self.near.indirect(point.x, point.y) {
            let sobol = sobol.substream(bounce * DIMENSIONS_PER_BOUNCE);
            let direct = self.ground_direct(point, normal, &sobol, 1, 1);
            return (direct + indirect).times(self.sheet.color) * FRAC_1_PI;
        }
        self.near.radiance(point.x, point.y).unwrap_or_else(|| self.far.radiance(self.sheet.to_local(point)))
    }

    /// Radiance of a body where a ray hits it.
    pub fn body_radiance(&self, ray: Ray, distance: f32, index: usize, history: RayHistory, sobol: &SobolSample) -> V3 {
        let body = &self.bodies.list[index];
        let point = ray.at(distance);
        let RayHistory { pdf, bounce, .. } = history;
        let v = -ray.direction;
        let normal = face_forward(body.normal(point, ray.direction), v);
        let surface = body.surface(point, normal, filter_glossy_alpha(pdf, self.blur_glossy));
        let lobes = body.shader.lobes(&surface, normal.dot(v));
        let start = point + normal * OFFSET;
        let substream = sobol.substream(bounce * DIMENSIONS_PER_BOUNCE);
        let mut light = self.direct_light(&lobes, start, normal, v, index, &substream);
        if bounce >= MAX_BOUNCES || !lobes.iter().any(|lobe| lobe.is_metal()) {
            return light + self.ambient(&lobes, point, normal);
        }
        // One ray samples all lobes of a metal.
        let next = lobes.sample(normal, v, substream.pair(8));
        let (value, bsdf_pdf) = lobes.evaluate(normal, v, next);
        if bsdf_pdf > 0.0 {
            let history = RayHistory { leaving: index, pdf: pdf.min(bsdf_pdf), bounce: bounce + 1 };
            let ray = Ray { origin: start, direction: next };
            let (incoming, distance) = self.radiance(ray, history, bsdf_pdf > SHARP_PDF, sobol);
            light += value.times(incoming + self.lights_hit(start, next, distance, bsdf_pdf)) / bsdf_pdf;
        }
        light
    }

    /// Light from the lights that a BSDF-sampled ray hits within `distance`, weighted by multiple importance sampling.
    #[inline]
    pub fn lights_hit(&self, origin: V3, direction: V3, distance: f32, pdf: f32) -> V3 {
        let hits = self.lights.iter().filter_map(|lamp| lamp.hit(origin, direction, distance));
        hits.map(|(radiance, light_pdf)| radiance * power_heuristic(pdf, light_pdf)).sum()
    }

    /// Next-event estimation with one shadow ray to each light. On a metal these are weighted by multiple importance
    /// sampling, since its lobes are sampled too.
    #[inline]
    pub fn direct_light(&self, lobes: &Lobes, start: V3, normal: V3, v: V3, leaving: usize, sobol: &SobolSample) -> V3 {
        let mut sum = V3::ZERO;
        let has_metal = lobes.iter().any(|lobe| lobe.is_metal());
        for (i, lamp) in self.lights.iter().enumerate() {
            let Some(sample) = lamp.sample(start, sobol.pair(i as u32)) else { continue };
            if normal.dot(sample.direction) <= 0.0 {
                continue;
            }
            let (value, weight) = if has_metal {
                let (value, bsdf_pdf) = lobes.evaluate(normal, v, sample.direction);
                (value, power_heuristic(sample.pdf, bsdf_pdf))
            } else {
                (lobes.value(normal, v, sample.direction), 1.0)
            };
            if value.max_component() > 0.0 && !self.occluded(leaving, i, start, &sample, true) {
                sum += value.times(lamp.radiance()) * (weight / sample.pdf);
            }
        }
        sum
    }

    /// Rough approximation of the reflected indirect light: from the ground map below and the empty sheet above.
    #[inline]
    fn ambient(&self, lobes: &Lobes, point: V3, normal: V3) -> V3 {
        let (x, y) = (point.x + normal.x * point.z, point.y + normal.y * point.z);
        let local = self.sheet.to_local(v3(x, y, 0.0));
        let below = self.near.radiance(x, y).unwrap_or_else(|| self.far.radiance(local));
        let above = self.far.indirect(local) * FRAC_1_PI;
        let around = below * (0.5 * (1.0 - normal.z)) + above * (0.5 * (1.0 + normal.z));
        lobes.iter().map(|lobe| lobe.weight).sum::<V3>().times(around)
    }
}

/// Eight shadow rays from a point to a light.
struct ShadowRays<'a, P> {
    lit: &'a LitStage<'a>,
    lamp: &'a Light,
    /// Bodies that may block them, as bits.
    occluders: u64,
    origin: V3,
    /// Uniform numbers of each ray.
    uniforms: P,
    /// Index of the first ray, and the number of rays that are left; at most eight are traced.
    first: u32,
    n: u32,
}

impl<P: Fn(u32) -> [f32; 2]> NullaryFnOnce for ShadowRays<'_, P> {
    /// The rays that reach the light, as bits.
    type Output = u32;

    #[inline(always)]
    fn call(self) -> u32 {
        let mut u = [F8::default(); 2];
        for lane in 0..LANES.min(self.n as usize) {
            [u[0].0[lane], u[1].0[lane]] = (self.uniforms)(self.first + lane as u32);
        }
        let origin = V3::splat(self.origin);
        let (sample, is_lit) = self.lamp.samples(origin, u);
        let is_wanted = is_lit & F8::first_lanes(self.n);
        let bodies = &self.lit.bodies;
        let is_blocked = bodies.blocked_by(self.occluders, origin, sample.direction, sample.distance, is_wanted);
        (is_wanted & !is_blocked).bits()
    }
}

/// A normal bent towards the viewer: near the outline a facet's normal may face away.
#[inline(always)]
pub fn face_forward(normal: V3, v: V3) -> V3 {
    let cos = normal.dot(v);
    if cos > 1e-3 { normal } else { (normal - v * (cos - 2e-3)).unit() }
}
