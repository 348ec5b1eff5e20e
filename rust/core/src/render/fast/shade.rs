//! The light that comes along a ray which leaves a surface.

use super::bodies::Bodies;
use super::far_ground::Far;
use super::near_ground::Near;
use super::numbers::Numbers;
use crate::render::lanes::{F8, LANES, Real, dispatch};
use crate::render::light::{Light, Sample, power};
use crate::render::material::{Lobes, widened};
use crate::render::sheet::Sheet;
use crate::render::stage::MOST_LIGHTS;
use crate::render::vector::{Ray, V3, v3};
use pulp::NullaryFnOnce;
use std::f32::consts::FRAC_1_PI;

/// Rays start this far off the surface that they leave.
pub const OFFSET: f32 = 1e-4;
/// Lobes narrower than this are sharp: they are looked into with rays of their own.
pub const SHARP_ALPHA: f32 = 0.05;
/// How many bodies a ray is followed over before what is left is guessed.
const DEEPEST: u32 = 2;

/// A ray that was sampled more densely than this sees the ground sharply.
const NARROW_DENSITY: f32 = 20.0;

/// What a ray has met before.
#[derive(Clone, Copy, Debug)]
pub struct RayHistory {
    /// The body that it leaves, or NOBODY.
    pub leaving: usize,
    /// The least density with which it and those before it were sampled.
    pub density: f32,
    /// How many bodies it has met.
    pub bounce: u32,
}

/// A stage with the light on its ground: everything that throws light.
pub struct LitStage<'a> {
    pub bodies: Bodies<'a>,
    pub sheet: &'a Sheet,
    pub lights: &'a [Light],
    /// Radiance where there is nothing.
    pub background: V3,
    /// Of each body, bits of the bodies that may stand between it and each light.
    pub between: Vec<[u64; MOST_LIGHTS]>,
    pub far: Far,
    pub near: Near,
    pub blur_glossy: f32,
}

/// Dimensions of a sample's numbers that a bounce may use.
const PER_BOUNCE: u32 = 16;

impl LitStage<'_> {
    /// The ground over a place of the world's x and y: the point and its normal.
    #[inline]
    pub fn ground_at(&self, x: f32, y: f32) -> (V3, V3) {
        let local = self.sheet.to_local(v3(x, y, 0.0));
        let (height, normal) = self.sheet.at(local.x);
        (v3(x, y, self.sheet.to_world(v3(local.x, local.y, height)).z), normal)
    }

    /// Light from the lamps at a place of the ground, shadows included (irradiance).
    ///
    /// Starts with `few` shadow rays to each light that a body may hide, and goes on to `most` where they disagree.
    #[inline]
    pub fn ground_direct(&self, point: V3, normal: V3, numbers: &Numbers, few: u32, most: u32) -> V3 {
        let origin = point + normal * OFFSET;
        let seen = |(number, light): (usize, &Light)| {
            light.irradiance(point, normal) * self.clear(number, origin, numbers, few, most)
        };
        self.lights.iter().enumerate().map(seen).sum()
    }

    /// What a place of the ground throws back towards `v`, by one shadow ray to each light that a body may hide.
    #[inline]
    pub fn ground_toward(&self, v: V3, point: V3, normal: V3, numbers: &Numbers) -> V3 {
        let origin = point + normal * OFFSET;
        let seen = |(number, light): (usize, &Light)| {
            let share = self.sheet.share(normal, v, light.middle(point).0);
            light.irradiance(point, normal).times(share) * self.clear(number, origin, numbers, 1, 1)
        };
        let direct: V3 = self.lights.iter().enumerate().map(seen).sum();
        (direct + self.indirect_to_eye(point)).times(self.sheet.color) * FRAC_1_PI
    }

    /// Whether a body stands between a place on the body `number` and a place on a light.
    #[inline(always)]
    pub fn hidden<F: Real>(
        &self,
        number: usize,
        light: usize,
        start: V3<F>,
        place: &Sample<F>,
        wanted: F::Mask,
    ) -> F::Mask {
        let suspects = self.between[number][light];
        self.bodies.blocked_by(suspects, start, place.direction, place.distance, wanted)
            | (wanted & self.lights[light].is_behind(self.sheet, start, place.direction))
    }

    /// Light that reaches a place of the ground by way of bodies and of the rest of the ground (irradiance).
    #[inline]
    pub fn indirect(&self, point: V3) -> V3 {
        self.near.indirect(point.x, point.y).unwrap_or_else(|| self.far.indirect(self.sheet.to_local(point)))
    }

    /// As far as the ground throws it back towards the camera, as a multiple of what it throws back evenly.
    #[inline]
    pub fn indirect_to_eye(&self, point: V3) -> V3 {
        self.indirect(point).times(self.far.share(self.sheet.to_local(point)))
    }

    /// Which share of a light reaches a point just above the ground; rays as in `ground_direct`.
    #[inline]
    pub fn clear(&self, light: usize, origin: V3, numbers: &Numbers, few: u32, most: u32) -> f32 {
        let lamp = &self.lights[light];
        let above = lamp.above(self.sheet, origin);
        let suspects = self.near.hiders(origin.x, origin.y, light).unwrap_or_else(|| {
            let (toward, distance, spread) = lamp.middle(origin);
            self.bodies.in_shaft(origin, toward, distance, spread, 0.0)
        });
        if above == 0.0 || suspects == 0 {
            return above;
        }
        let most = most * lamp.places(origin);
        let places = |cast: u32| numbers.later(cast).pair(100 + light as u32);
        if most == 1 {
            let (sample, is_lit) = lamp.samples(origin, places(0));
            let clear = is_lit && !self.bodies.blocked_by(suspects, origin, sample.direction, sample.distance, true);
            return if clear { above } else { 0.0 };
        }
        let (mut clear, mut cast, mut reached) = (0, 0, 0);
        while cast < most && (cast < few || (clear != 0 && clear != cast)) {
            let lane = cast % LANES as u32;
            if lane == 0 {
                let n = most - cast;
                reached = dispatch(ShadowRays { lit: self, lamp, suspects, origin, places, first: cast, n });
            }
            clear += reached >> lane & 1;
            cast += 1;
        }
        above * (clear as f32 / cast as f32)
    }

    /// Light along a ray that left a body, and how far away it comes from.
    ///
    /// `sharp` asks for shadows on the ground as they are, not as the map has them.
    #[inline]
    pub fn radiance(&self, ray: Ray, history: RayHistory, sharp: bool, numbers: &Numbers) -> (V3, f32) {
        if let Some((distance, number)) = self.bodies.nearest(ray.origin, ray.direction, f32::INFINITY, history.leaving)
        {
            return (self.body_radiance(ray, distance, number, history, numbers), distance);
        }
        let Some((t, normal)) = self.sheet.hit(ray.origin, ray.direction) else {
            return (self.background, f32::INFINITY);
        };
        (self.ground_radiance(ray.at(t), normal, history.bounce, sharp, numbers), t)
    }

    #[inline]
    fn ground_radiance(&self, point: V3, normal: V3, bounce: u32, sharp: bool, numbers: &Numbers) -> V3 {
        if sharp && let Some(indirect) = self.near.indirect(point.x, point.y) {
            let numbers = numbers.deeper(bounce * PER_BOUNCE);
            let direct = self.ground_direct(point, normal, &numbers, 1, 1);
            return (direct + indirect).times(self.sheet.color) * FRAC_1_PI;
        }
        self.near.radiance(point.x, point.y).unwrap_or_else(|| self.far.radiance(self.sheet.to_local(point)))
    }

    /// Light that a body throws back along a ray.
    pub fn body_radiance(&self, ray: Ray, distance: f32, number: usize, history: RayHistory, numbers: &Numbers) -> V3 {
        let body = &self.bodies.list[number];
        let point = ray.at(distance);
        let RayHistory { density, bounce, .. } = history;
        let v = -ray.direction;
        let normal = facing(body.normal(point, ray.direction), v);
        let surface = body.surface(point, normal, widened(density, self.blur_glossy));
        let lobes = body.shader.lobes(&surface, normal.dot(v));
        let start = point + normal * OFFSET;
        let deeper = numbers.deeper(bounce * PER_BOUNCE);
        let mut light = self.lamps(&lobes, start, normal, v, number, &deeper);
        if bounce >= DEEPEST || !lobes.iter().any(|lobe| lobe.is_narrow()) {
            return light + self.guess(&lobes, point, normal);
        }
        // One ray for all lobes of a metal.
        let next = lobes.sample(normal, v, deeper.pair(8));
        let (value, own) = lobes.evaluate(normal, v, next);
        if own > 0.0 {
            let history = RayHistory { leaving: number, density: density.min(own), bounce: bounce + 1 };
            let ray = Ray { origin: start, direction: next };
            let (seen, distance) = self.radiance(ray, history, own > NARROW_DENSITY, numbers);
            light += value.times(seen + self.lamps_met(start, next, distance, own)) / own;
        }
        light
    }

    /// Lamps that a ray meets within `distance`, weighed against their own sampling.
    #[inline]
    pub fn lamps_met(&self, origin: V3, direction: V3, distance: f32, density: f32) -> V3 {
        let met = self.lights.iter().filter_map(|lamp| lamp.met(origin, direction, distance));
        met.map(|(radiance, by_lamp)| radiance * power(density, by_lamp)).sum()
    }

    /// Light from the lamps by one place on each, weighed against rays of the lobes themselves.
    #[inline]
    pub fn lamps(&self, lobes: &Lobes, start: V3, normal: V3, v: V3, leaving: usize, numbers: &Numbers) -> V3 {
        let mut sum = V3::ZERO;
        let metal = lobes.iter().any(|lobe| lobe.is_narrow());
        for (i, lamp) in self.lights.iter().enumerate() {
            let Some(sample) = lamp.sample(start, numbers.pair(i as u32)) else { continue };
            if normal.dot(sample.direction) <= 0.0 {
                continue;
            }
            let (value, share) = if metal {
                let (value, own) = lobes.evaluate(normal, v, sample.direction);
                (value, power(sample.density, own))
            } else {
                (lobes.value(normal, v, sample.direction), 1.0)
            };
            if value.largest() > 0.0 && !self.hidden(leaving, i, start, &sample, true) {
                sum += value.times(lamp.color()) * (share / sample.density);
            }
        }
        sum
    }

    /// What a surface throws back of the light that is left, roughly: the ground's from below, the sheet's from above.
    #[inline]
    fn guess(&self, lobes: &Lobes, point: V3, normal: V3) -> V3 {
        let (x, y) = (point.x + normal.x * point.z, point.y + normal.y * point.z);
        let local = self.sheet.to_local(v3(x, y, 0.0));
        let below = self.near.radiance(x, y).unwrap_or_else(|| self.far.radiance(local));
        let above = self.far.indirect(local) * FRAC_1_PI;
        let around = below * (0.5 * (1.0 - normal.z)) + above * (0.5 * (1.0 + normal.z));
        lobes.iter().map(|lobe| lobe.weight).sum::<V3>().times(around)
    }
}

/// Eight rays from a point to places on a lamp.
struct ShadowRays<'a, P> {
    lit: &'a LitStage<'a>,
    lamp: &'a Light,
    /// Bodies that may stand in the way, as bits.
    suspects: u64,
    origin: V3,
    /// Uniform numbers for each ray.
    places: P,
    /// The first ray, and how many are wanted, of which eight are shot.
    first: u32,
    n: u32,
}

impl<P: Fn(u32) -> [f32; 2]> NullaryFnOnce for ShadowRays<'_, P> {
    /// The rays that nothing stops, as bits.
    type Output = u32;

    #[inline(always)]
    fn call(self) -> u32 {
        let mut u = [F8::default(); 2];
        for lane in 0..LANES.min(self.n as usize) {
            [u[0].0[lane], u[1].0[lane]] = (self.places)(self.first + lane as u32);
        }
        let origin = V3::all(self.origin);
        let (sample, is_lit) = self.lamp.samples(origin, u);
        let is_wanted = is_lit & F8::first(self.n);
        let bodies = &self.lit.bodies;
        let is_blocked = bodies.blocked_by(self.suspects, origin, sample.direction, sample.distance, is_wanted);
        (is_wanted & !is_blocked).bits()
    }
}

/// A normal turned so that the viewer sees its front: facets beside the outline may look away.
#[inline(always)]
pub fn facing(normal: V3, v: V3) -> V3 {
    let cos = normal.dot(v);
    if cos > 1e-3 { normal } else { (normal - v * (cos - 2e-3)).unit() }
}
