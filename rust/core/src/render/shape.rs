//! Intersection of rays with the look's shapes, which have unit size and are centred on the origin.
//!
//! CLEVR's spheres and cylinders are flat shaded, and metal shows their facets: a smooth surface is intersected, but a
//! hit's normal is that of the facet of Blender's mesh at that point.

use super::facets::Facets;
use super::lanes::{Mask, Real};
use super::mesh::Mesh;
use super::mesh_spec::MeshSpec;
use super::vector::{V3, v3};
use serde::Deserialize;

/// A shape as the look describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShapeSpec {
    Icosphere { subdivisions: u32, catmull_clark_steps: u32 },
    Revolved { segments: u32, profile_radius_z: Vec<[f64; 2]> },
    RoundedCube { edge_profile: Vec<[f64; 2]>, edge_exponent: f64 },
    Polyhedron(MeshSpec),
    Mesh(MeshSpec),
}

/// A shape, ready to be intersected.
#[derive(Clone, Debug)]
pub enum Shape {
    Sphere(Facets),
    Revolved(Revolved),
    Cube(Cube),
    Mesh(Mesh),
}

/// Cones of a revolved shape overlap by this much, so that no ray passes between two.
const SEAM: f32 = 2e-6;

/// A surface of revolution about the z axis: truncated cones between rings, from the top down.
#[derive(Clone, Debug)]
pub struct Revolved {
    rings: Vec<[f32; 2]>,
    /// Outward normals (radial, z) of the cones.
    normals: Vec<[f32; 2]>,
    radius: f32,
    /// Greatest and least z of the upright cylinder of that radius among the cones, if there is one.
    straight: [f32; 2],
    segments: f32,
}

/// A cube of half extent 1 whose rounded edges and corners are superellipsoids of exponent 3.
#[derive(Clone, Debug)]
pub struct Cube {
    /// Coordinate at which the flat part of a face ends.
    flat: f32,
}

impl Shape {
    /// Fails for shapes that this renderer has no formula for; the message leaves out the place in the look.
    pub fn new(spec: &ShapeSpec) -> Result<Self, String> {
        match spec {
            ShapeSpec::Icosphere { subdivisions, catmull_clark_steps } => {
                Facets::new(*subdivisions, *catmull_clark_steps).map(Self::Sphere)
            }
            ShapeSpec::Revolved { segments, profile_radius_z } => {
                Revolved::new(profile_radius_z, *segments).map(Self::Revolved)
            }
            ShapeSpec::RoundedCube { edge_profile, edge_exponent } => {
                let flat = edge_profile.first().map_or(f64::NAN, |first| first[1]);
                if !(0.0..1.0).contains(&flat) {
                    return Err("edge_profile: has to begin where the flat ends, (1, from 0 to 1)".into());
                }
                if *edge_exponent != 3.0 {
                    return Err(format!("edge_exponent: the native renderer supports 3, not {edge_exponent}"));
                }
                Ok(Self::Cube(Cube { flat: flat as f32 }))
            }
            ShapeSpec::Polyhedron(spec) | ShapeSpec::Mesh(spec) => Mesh::new(spec).map(Self::Mesh),
        }
    }

    /// Radius of the bounding sphere about the origin.
    pub fn bound(&self) -> f32 {
        match self {
            Self::Sphere(_) => 1.0,
            Self::Revolved(revolved) => {
                revolved.rings.iter().map(|[radius, z]| (radius * radius + z * z).sqrt()).fold(0.0, f32::max)
            }
            Self::Cube(cube) => {
                let side = cube.flat + (1.0 - cube.flat) / libm::cbrtf(3.0);
                3.0_f32.sqrt() * side
            }
            Self::Mesh(mesh) => mesh.bound,
        }
    }

    /// The distance at which a ray from outside enters the shape, infinite if it misses; `direction` has length 1.
    #[inline(always)]
    pub fn hit<F: Real>(&self, origin: V3<F>, direction: V3<F>) -> F {
        match self {
            Self::Sphere(facets) => {
                let b = origin.dot(direction);
                let c = origin.dot(origin) - F::splat(facets.radius * facets.radius);
                let discriminant = b * b - c;
                let t = -b - discriminant.max(F::default()).sqrt();
                F::select(discriminant.is_positive() & t.is_positive(), t, F::splat(f32::INFINITY))
            }
            Self::Revolved(revolved) => revolved.hit(origin, direction),
            Self::Cube(cube) => cube.hit(origin, direction),
            Self::Mesh(mesh) => F::from_lanes(|lane| mesh.hit(origin.lane(lane), direction.lane(lane))),
        }
    }

    /// Whether a ray that leaves the shape may hit it again; it cannot if the shape is convex.
    #[inline(always)]
    pub fn may_be_concave(&self) -> bool {
        matches!(self, Self::Mesh(_))
    }

    /// Whether a point is inside.
    pub fn contains(&self, p: V3) -> bool {
        match self {
            Self::Sphere(facets) => p.dot(p) < facets.radius * facets.radius,
            Self::Revolved(revolved) => revolved.contains(p),
            Self::Cube(cube) => {
                let q = cube.beyond(p);
                let edge = 1.0 - cube.flat;
                q.x * q.x * q.x + q.y * q.y * q.y + q.z * q.z * q.z < edge * edge * edge
            }
            Self::Mesh(mesh) => mesh.contains(p),
        }
    }

    /// The shading normal where a ray of this direction entered.
    #[inline]
    pub fn normal(&self, point: V3, direction: V3) -> V3 {
        match self {
            Self::Sphere(facets) => facets.normal(point),
            Self::Revolved(revolved) => revolved.normal(point),
            Self::Cube(cube) => cube.normal(point),
            Self::Mesh(mesh) => mesh.normal(point, direction),
        }
    }
}

impl Revolved {
    fn new(profile: &[[f64; 2]], segments: u32) -> Result<Self, String> {
        if profile.len() < 2 || profile.windows(2).any(|pair| pair[1][1] > pair[0][1]) {
            return Err("profile_radius_z: expected two points or more, from the top down".into());
        }
        let profile = within_ends(profile);
        let rings: Vec<[f32; 2]> = profile.iter().map(|p| p.map(|x| x as f32)).collect();
        let normals = profile
            .windows(2)
            .map(|pair| {
                let (radial, z) = (pair[0][1] - pair[1][1], pair[1][0] - pair[0][0]);
                let length = (radial * radial + z * z).sqrt();
                [(radial / length) as f32, (z / length) as f32]
            })
            .collect();
        let radius = rings.iter().map(|ring| ring[0]).fold(0.0, f32::max);
        // The lower end of CLEVR's cylinders is narrower by four ten-thousandths; that still counts as upright.
        let upright = |pair: &&[[f32; 2]]| pair.iter().all(|ring| ring[0] > radius - 5e-4);
        let long = rings.windows(2).filter(upright).max_by(|a, b| (a[0][1] - a[1][1]).total_cmp(&(b[0][1] - b[1][1])));
        let straight = long.map_or([f32::MIN, f32::MAX], |pair| [pair[0][1], pair[1][1]]);
        Ok(Self { rings, normals, radius, straight, segments: segments as f32 })
    }

    #[inline(always)]
    fn hit<F: Real>(&self, o: V3<F>, d: V3<F>) -> F {
        let (all, miss) = (F::splat, F::splat(f32::INFINITY));
        let ([top_radius, top], [bottom_radius, bottom]) = (self.rings[0], self.rings[self.rings.len() - 1]);
        // Enter the bounding cylinder first.
        let a = d.x * d.x + d.y * d.y;
        let b = o.x * d.x + o.y * d.y;
        let c = o.x * o.x + o.y * o.y - all(self.radius * self.radius);
        let discriminant = b * b - a * c;
        if !discriminant.is_positive().any() {
            return miss;
        }
        let root = discriminant.sqrt();
        let (side_in, side_out) = ((-b - root) / a, (-b + root) / a);
        let (first_end, second_end) = ((all(top) - o.z) / d.z, (all(bottom) - o.z) / d.z);
        let slab_in = first_end.min(second_end);
        let out = side_out.min(first_end.max(second_end));
        let t = side_in.max(slab_in);
        let enters = discriminant.is_positive() & t.is_less(out) & out.is_positive();
        if !enters.any() {
            return miss;
        }
        // A ray may start beside a rim, inside the bounding cylinder.
        let outside = t.is_positive();
        let t = t.max(all(0.0));
        let p = o + d * t;
        let at_end = outside & side_in.is_less(slab_in);
        let end_radius = F::select(d.z.is_less(all(0.0)), all(top_radius), all(bottom_radius));
        let on_end = at_end & !(end_radius * end_radius).is_less(p.x * p.x + p.y * p.y);
        // The straight side, which most rays hit.
        let on_side = !at_end & outside & !all(self.straight[0]).is_less(p.z) & !p.z.is_less(all(self.straight[1]));
        let found = enters & (on_end | on_side);
        let mut nearest = F::select(found, t, miss);
        let left = enters & !found;
        if !left.any() {
            return nearest;
        }
        // The cones of that half, and the straight side with it. They are intersected from where the ray enters the
        // bounding cylinder: from far away, rounding would let rays pass between two rings.
        let b = p.x * d.x + p.y * d.y;
        let radius2 = p.x * p.x + p.y * p.y;
        let is_upper = p.z.is_positive();
        for pair in self.rings.windows(2) {
            let ([r0, z0], [r1, z1]) = (pair[0], pair[1]);
            let above = if z0 <= 0.0 { left & !is_upper } else { left };
            let candidates = if z1 > 0.0 { above & is_upper } else { above };
            if z0 <= z1 || !candidates.any() {
                continue;
            }
            // x^2 + y^2 = (r0 + slope (z - z0))^2
            let slope = (r1 - r0) / (z1 - z0);
            let (er, ed) = (all(r0) + all(slope) * (p.z - all(z0)), all(slope) * d.z);
            let (qa, qb, qc) = (a - ed * ed, b - er * ed, radius2 - er * er);
            let discriminant = qb * qb - qa * qc;
            let root = discriminant.sqrt();
            for root in [-root, root] {
                let dt = (root - qb) / qa;
                let z = p.z + dt * d.z;
                let on_facet = !all(z0 + SEAM).is_less(z) & !z.is_less(all(z1 - SEAM)) & (er + ed * dt).is_positive();
                let t = t + dt;
                let is_hit = candidates & discriminant.is_positive() & on_facet & t.is_positive() & t.is_less(nearest);
                nearest = F::select(is_hit, t, nearest);
            }
        }
        nearest
    }

    fn contains(&self, p: V3) -> bool {
        let last = self.rings.len() - 1;
        if p.z >= self.rings[0][1] || p.z <= self.rings[last][1] {
            return false;
        }
        let below = self.rings.partition_point(|ring| ring[1] > p.z).clamp(1, last);
        let ([r0, z0], [r1, z1]) = (self.rings[below - 1], self.rings[below]);
        let fraction = if z0 > z1 { (z0 - p.z) / (z0 - z1) } else { 0.0 };
        let radius = r0 + (r1 - r0) * fraction;
        p.x * p.x + p.y * p.y < radius * radius
    }

    fn normal(&self, p: V3) -> V3 {
        let radius = (p.x * p.x + p.y * p.y).sqrt();
        let last = self.rings.len() - 1;
        // On an end cap: closer to its plane than a cone could be.
        for (ring, up) in [(self.rings[0], 1.0), (self.rings[last], -1.0)] {
            if (p.z - ring[1]).abs() < 2e-5 && radius < ring[0] {
                return v3(0.0, 0.0, up);
            }
        }
        let below = self.rings.partition_point(|ring| ring[1] > p.z).clamp(1, last);
        let [radial, z] = self.normals[below - 1];
        // The direction of the segment's middle.
        let step = std::f32::consts::TAU / self.segments;
        let angle = ((libm::atan2f(p.y, p.x) / step).floor() + 0.5) * step;
        let (sin, cos) = libm::sincosf(angle);
        v3(radial * cos, radial * sin, z)
    }
}

/// The profile without rings in the plane of an end, which are part of the end cap.
fn within_ends(profile: &[[f64; 2]]) -> &[[f64; 2]] {
    let (top, bottom) = (profile[0][1], profile[profile.len() - 1][1]);
    let first = profile.partition_point(|ring| ring[1] >= top).saturating_sub(1);
    let last = profile.partition_point(|ring| ring[1] > bottom).min(profile.len() - 1);
    if first < last { &profile[first..=last] } else { profile }
}

impl Cube {
    #[inline(always)]
    fn beyond<F: Real>(&self, p: V3<F>) -> V3<F> {
        let beyond = |x: F| (x.abs() - F::splat(self.flat)).max(F::default());
        v3(beyond(p.x), beyond(p.y), beyond(p.z))
    }

    #[inline(always)]
    fn hit<F: Real>(&self, o: V3<F>, d: V3<F>) -> F {
        let (all, miss) = (F::splat, F::splat(f32::INFINITY));
        let (mut enter, mut exit) = (all(f32::MIN), all(f32::MAX));
        for axis in 0..3 {
            let (near, far) = ((all(-1.0) - o[axis]) / d[axis], (all(1.0) - o[axis]) / d[axis]);
            enter = enter.max(near.min(far));
            exit = exit.min(near.max(far));
        }
        let mut active = enter.is_less(exit) & exit.is_positive();
        if !active.any() {
            return miss;
        }
        // Newton's method from outside: the sum of the cubes is convex along the ray, so no step overshoots.
        let edge = 1.0 - self.flat;
        let cube = edge * edge * edge;
        let (mut t, mut hit) = (enter.max(all(0.0)), miss);
        for _ in 0..16 {
            let p = o + d * t;
            let q = self.beyond(p);
            let value = q.x * q.x * q.x + q.y * q.y * q.y + q.z * q.z * q.z - all(cube);
            let has_converged = active & !all(1e-6 * cube).is_less(value);
            hit = F::select(has_converged & t.is_positive(), t, hit);
            active = active & !has_converged;
            if !active.any() {
                return hit;
            }
            let slope =
                all(3.0) * (q.x * q.x * d.x * p.x.sign() + q.y * q.y * d.y * p.y.sign() + q.z * q.z * d.z * p.z.sign());
            let next = t - value / slope;
            active = active & slope.is_less(all(0.0)) & !exit.is_less(next);
            t = F::select(active, next, t);
        }
        F::select(active, t, hit)
    }

    #[inline]
    fn normal(&self, p: V3) -> V3 {
        let q = self.beyond(p);
        v3(q.x * q.x * p.x.signum(), q.y * q.y * p.y.signum(), q.z * q.z * p.z.signum()).unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_scenes::LOOK;

    fn cylinder() -> Shape {
        let look: serde_json::Value = serde_json::from_slice(LOOK).unwrap();
        Shape::new(&serde_json::from_value(look["shapes"]["cylinder"].clone()).unwrap()).unwrap()
    }

    /// The distance to a convex surface of revolution, in double precision: the solid is the intersection of its cones
    /// and of the slab between its ends.
    fn distance(profile: &[[f32; 2]], origin: [f64; 3], direction: [f64; 3]) -> f64 {
        let ([x, y, z], [dx, dy, dz]) = (origin, direction);
        let (mut enter, mut exit) = (f64::MIN, f64::MAX);
        let (top, bottom) = (f64::from(profile[0][1]), f64::from(profile[profile.len() - 1][1]));
        let ends = [(top - z) / dz, (bottom - z) / dz];
        enter = enter.max(ends[0].min(ends[1]));
        exit = exit.min(ends[0].max(ends[1]));
        for pair in profile.windows(2) {
            let [[r0, z0], [r1, z1]] = [pair[0], pair[1]].map(|ring| ring.map(f64::from));
            let slope = (r1 - r0) / (z1 - z0);
            let (er, ed) = (r0 + slope * (z - z0), slope * dz);
            let (a, b, c) = (dx * dx + dy * dy - ed * ed, x * dx + y * dy - er * ed, x * x + y * y - er * er);
            let discriminant = b * b - a * c;
            if discriminant < 0.0 {
                return f64::INFINITY;
            }
            // The radius is positive on the nappe that the solid is in.
            let mut roots: Vec<f64> = [(-b - discriminant.sqrt()) / a, (-b + discriminant.sqrt()) / a]
                .into_iter()
                .filter(|t| er + ed * t > 0.0)
                .collect();
            roots.sort_by(f64::total_cmp);
            match roots[..] {
                [near, far] => (enter, exit) = (enter.max(near), exit.min(far)),
                // Inside from there on, or up to there.
                [only] if a < 0.0 && ed > 0.0 => enter = enter.max(only),
                [only] => exit = exit.min(only),
                _ => return f64::INFINITY,
            }
        }
        if enter < exit && enter > 0.0 { enter } else { f64::INFINITY }
    }

    #[test]
    fn rays_at_the_rims_of_a_cylinder_hit_it() {
        let Shape::Revolved(revolved) = cylinder() else { panic!() };
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 24) as f32
        };
        let (mut hits, mut missed, mut worst) = (0, 0, 0.0_f64);
        for _ in 0..200_000 {
            // From as far away as cameras are, aimed to within a thousandth of a ring.
            let ring = revolved.rings[(uniform() * revolved.rings.len() as f32) as usize];
            let (angle, height) = (uniform() * std::f32::consts::TAU, 0.1 + 0.8 * uniform());
            let (sin, cos) = libm::sincosf(angle);
            let aim = v3(ring[0] * cos, ring[0] * sin, ring[1] + 2e-3 * (uniform() - 0.5));
            let (sin, cos) = libm::sincosf(uniform() * std::f32::consts::TAU);
            let origin = v3(cos, sin, height).unit() * (10.0 + 20.0 * uniform());
            let direction = (aim - origin).unit();
            let t = revolved.hit(origin, direction);
            let double = |v: V3| [f64::from(v.x), f64::from(v.y), f64::from(v.z)];
            let exact = distance(&revolved.rings, double(origin), double(direction));
            if t.is_finite() && exact.is_finite() {
                hits += 1;
                worst = worst.max((f64::from(t) - exact).abs());
            } else if exact.is_finite() {
                missed += 1;
            }
        }
        assert!(hits > 100_000, "{hits}");
        // Near the outline, a small error of the shape moves the hit far along the ray.
        assert!(worst < 0.1, "{worst}");
        assert!(missed < 10, "{missed}");
    }
}
