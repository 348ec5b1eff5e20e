//! Intersection of rays with the bodies: the bounding spheres of eight bodies at once, then the shapes one by one.

use crate::render::lanes::{F8, LANES, Mask, Real};
use crate::render::light::Light;
use crate::render::nearest::nearest;
use crate::render::stage::{Body, MAX_LIGHTS, Stage};
use crate::render::vector::V3;

/// Eight bounding spheres, in SIMD lanes.
#[derive(Clone, Debug, Default)]
struct Spheres {
    x: [f32; LANES],
    y: [f32; LANES],
    z: [f32; LANES],
    radius: [f32; LANES],
}

/// The bodies of a stage.
pub struct Bodies<'a> {
    pub list: &'a [Body<'a>],
    spheres: Vec<Spheres>,
}

/// Stands for no body, where a ray leaves or hits none. (A ray is not tested against a convex body that it leaves.)
pub const NOBODY: usize = usize::MAX;

impl<'a> Bodies<'a> {
    pub fn new(stage: &'a Stage<'_>) -> Self {
        let spheres = stage
            .bodies
            .chunks(LANES)
            .map(|bodies| {
                let mut spheres = Spheres { radius: [-1.0; LANES], ..Spheres::default() };
                for (lane, body) in bodies.iter().enumerate() {
                    (spheres.x[lane], spheres.y[lane]) = (body.location.x, body.location.y);
                    (spheres.z[lane], spheres.radius[lane]) = (body.location.z, body.bound);
                }
                spheres
            })
            .collect();
        Self { list: &stage.bodies, spheres }
    }

    /// The nearest hit within `distance` of a ray that leaves the body `leaving`: the distance and the body.
    #[inline(always)]
    pub fn nearest(&self, origin: V3, direction: V3, distance: f32, leaving: usize) -> Option<(f32, usize)> {
        let mut best = None;
        for (chunk, spheres) in self.spheres.iter().enumerate() {
            let within = best.map_or(distance, |(t, _)| t);
            let hits = bits(spheres.hits(origin, direction, within).into()).filter_map(|lane| {
                let index = chunk * LANES + lane;
                let body = &self.list[index];
                let may_hit = index != leaving || body.shape.may_be_concave();
                may_hit.then(|| (body.hit_in_bound(origin, direction), index))
            });
            best = nearest(hits, within).or(best);
        }
        best
    }

    /// Shaft culling: the bodies, as bits, that may intersect rays from within `reach` of a point to the disc of a cone
    /// about `toward`, whose half angle has the tangent `spread`.
    #[inline(always)]
    pub fn in_shaft(&self, origin: V3, toward: V3, distance: f32, spread: f32, reach: f32) -> u64 {
        let mut bits = 0;
        for (chunk, s) in self.spheres.iter().enumerate() {
            let mut hits = 0_u32;
            for lane in 0..LANES {
                let (x, y, z) = (s.x[lane] - origin.x, s.y[lane] - origin.y, s.z[lane] - origin.z);
                let along = x * toward.x + y * toward.y + z * toward.z;
                let aside2 = x * x + y * y + z * z - along * along;
                let radius = s.radius[lane] + reach;
                let widest = radius + along.clamp(0.0, distance) * spread;
                let inside = (aside2 < widest * widest)
                    & (along > -radius)
                    & (along - radius < distance)
                    & (s.radius[lane] > 0.0);
                hits |= u32::from(inside) << lane;
            }
            bits |= u64::from(hits) << (chunk * LANES);
        }
        bits
    }

    /// For each light, the bodies, as bits, that may hide it from points of a body.
    pub fn light_occluders(&self, index: usize, lights: &[Light]) -> [u64; MAX_LIGHTS] {
        let body = &self.list[index];
        let mut between = [0; MAX_LIGHTS];
        for (light, bits) in lights.iter().zip(&mut between) {
            let (toward, distance, spread) = light.bounding_cone(body.location);
            *bits = self.in_shaft(body.location, toward, distance, spread, body.bound) & !(1 << index);
            *bits |= u64::from(body.shape.may_be_concave()) << index;
        }
        between
    }

    /// The nearest of these bodies (as bits) that each of eight rays hits, or NOBODY; and the distances.
    #[inline(always)]
    pub fn nearest_of(&self, bodies: u64, origin: V3<F8>, direction: V3<F8>) -> ([usize; LANES], F8) {
        let (mut found, mut distance) = ([NOBODY; LANES], F8::splat(f32::INFINITY));
        for index in bits(bodies) {
            let t = self.list[index].hit(origin, direction);
            let is_nearer = t.is_less(distance);
            distance = F8::select(is_nearer, t, distance);
            bits(is_nearer.bits().into()).for_each(|lane| found[lane] = index);
        }
        (found, distance)
    }

    /// Which of the `wanted` shadow rays of length `distance` one of these bodies (as bits) blocks.
    #[inline(always)]
    pub fn blocked_by<F: Real>(
        &self,
        bodies: u64,
        origin: V3<F>,
        direction: V3<F>,
        distance: F,
        wanted: F::Mask,
    ) -> F::Mask {
        let mut clear = wanted;
        for index in bits(bodies) {
            clear = clear & !self.list[index].blocks(origin, direction, distance);
            if !clear.any() {
                break;
            }
        }
        wanted & !clear
    }
}

/// The indices of the set bits, from the lowest.
#[inline(always)]
fn bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = bits.trailing_zeros() as usize;
        (bits != 0).then(|| bits &= bits - 1).map(|()| index)
    })
}

impl Spheres {
    /// The spheres that a ray meets within `distance`, as bits.
    #[inline(always)]
    fn hits(&self, origin: V3, direction: V3, distance: f32) -> u32 {
        let mut bits = 0_u32;
        for lane in 0..LANES {
            let (x, y, z) = (self.x[lane] - origin.x, self.y[lane] - origin.y, self.z[lane] - origin.z);
            let along = x * direction.x + y * direction.y + z * direction.z;
            let aside2 = x * x + y * y + z * z - along * along;
            let radius = self.radius[lane];
            let inside = (aside2 < radius * radius) & (along > -radius) & (along - radius < distance) & (radius > 0.0);
            bits |= u32::from(inside) << lane;
        }
        bits
    }
}
