//! Intersection of rays with the ground, a sheet that curves up at its far end.
//!
//! The sheet rises ever more steeply, so the space above it is convex.

use super::rough::Rough;
use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::FRAC_1_PI;

/// The ground as the look describes it: a profile swept along its local y, flat shaded.
#[derive(Clone, Debug, Deserialize)]
pub struct SheetSpec {
    pub color: [f64; 3],
    /// From 0, which is Lambertian, to 1.
    #[serde(default)]
    pub roughness: f64,
    pub rotation_z_rad: f64,
    pub translation: [f64; 3],
    pub local_y: [f64; 2],
    /// Local x and height, by ascending x; the slope never decreases.
    pub profile_x_z: Vec<[f64; 2]>,
}

/// The ground, ready to be intersected.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Albedo under uniform illumination.
    pub color: V3,
    rough: Option<Rough>,
    cos: f32,
    sin: f32,
    translation: V3,
    pub local_x: [f32; 2],
    pub local_y: [f32; 2],
    /// Height of its rising end.
    end: f32,
    /// The planes `z = height + slope x`, as `[height, slope]`.
    lines: Vec<[f32; 2]>,
    /// The least and the greatest slope.
    slopes: [f32; 2],
    /// Local x at which each plane starts.
    starts: Vec<f32>,
    normals: Vec<V3>,
    /// A table that speeds up `plane_at`: the plane at each of `STEPS_PER_UNIT` steps per unit along x.
    plane_by_step: Vec<u16>,
}

const STEPS_PER_UNIT: f32 = 16.0;
/// Most points in a profile.
const MAX_POINTS: usize = 10_000;
/// Largest coordinate; the size of the ground's tables grows with it.
const MAX_COORDINATE: f64 = 1_000.0;
/// Allowed lengths of the sides; the number of form factors between patches of the ground grows with their square.
const SIDE_LENGTHS: std::ops::RangeInclusive<f64> = 5.0..=300.0;

impl Sheet {
    /// Fails for an invalid profile or size; the message leaves out the place in the look.
    pub fn new(spec: &SheetSpec) -> Result<Self, String> {
        let [first, .., last] = &spec.profile_x_z[..] else {
            return Err("profile_x_z: expected at least two points".into());
        };
        let n_points = spec.profile_x_z.len();
        if n_points > MAX_POINTS {
            return Err(format!("profile_x_z: {n_points} points; the native renderer supports up to {MAX_POINTS}"));
        }
        let is_near = |x: &f64| (-MAX_COORDINATE..=MAX_COORDINATE).contains(x);
        let length: f64 = spec.profile_x_z.windows(2).map(|p| libm::hypot(p[1][0] - p[0][0], p[1][1] - p[0][1])).sum();
        let sides = [last[0] - first[0], length, spec.local_y[1] - spec.local_y[0]];
        let all_are_near = spec.profile_x_z.iter().flatten().chain(&spec.local_y).all(is_near);
        if !all_are_near || !sides.iter().all(|side| SIDE_LENGTHS.contains(side)) {
            return Err(format!(
                "the native renderer supports sheets that reach {MAX_COORDINATE} units from their origin, {} to {} long and wide",
                SIDE_LENGTHS.start(),
                SIDE_LENGTHS.end()
            ));
        }
        let (sin, cos) = libm::sincos(spec.rotation_z_rad);
        let mut lines = Vec::with_capacity(spec.profile_x_z.len());
        let mut normals = Vec::with_capacity(spec.profile_x_z.len());
        for pair in spec.profile_x_z.windows(2) {
            let ([x0, z0], [x1, z1]) = (pair[0], pair[1]);
            let slope = (z1 - z0) / (x1 - x0);
            if !(x1 > x0 && slope.is_finite()) {
                return Err(format!("profile_x_z: x has to ascend, but {x1} follows {x0}"));
            }
            let length = (1.0 + slope * slope).sqrt();
            normals.push(V3::from_f64([-slope * cos / length, -slope * sin / length, 1.0 / length]));
            lines.push([(z0 - slope * x0) as f32, slope as f32]);
        }
        let starts: Vec<f32> = spec.profile_x_z[..lines.len()].iter().map(|p| p[0] as f32).collect();
        let steps = ((last[0] - first[0]) as f32 * STEPS_PER_UNIT).ceil().max(1.0) as usize;
        let at = |step: usize| first[0] as f32 + step as f32 / STEPS_PER_UNIT;
        let table = (0..steps).map(|step| (starts.partition_point(|&b| b <= at(step)).max(1) - 1) as u16).collect();
        let color = V3::from_f64(spec.color);
        let rough = (spec.roughness > 0.0).then(|| Rough::new(color, spec.roughness as f32));
        Ok(Self {
            color: rough.map_or(color, |rough| rough.albedo),
            rough,
            cos: cos as f32,
            sin: sin as f32,
            translation: V3::from_f64(spec.translation),
            local_x: [first[0] as f32, last[0] as f32],
            local_y: spec.local_y.map(|y| y as f32),
            end: last[1] as f32,
            slopes: lines.iter().fold([f32::MAX, f32::MIN], |[least, most], &[_, s]| [least.min(s), most.max(s)]),
            lines,
            starts,
            normals,
            plane_by_step: table,
        })
    }

    /// Where a ray from above meets the sheet: the distance, and the normal there.
    ///
    /// Newton's method: intersect a plane ahead, then the plane at the point reached, until they are the same. The
    /// space above the sheet is convex, so after the first step the distance only decreases. (CLEVR's is not quite
    /// convex at its upper end, above all that an image shows.)
    #[inline]
    pub fn hit(&self, origin: V3, direction: V3) -> Option<(f32, V3)> {
        let o = self.to_local(origin);
        let d = self.rotate_to_local(direction);
        let mut index = self.plane_at(o.x);
        if d.z >= self.lines[index][1] * d.x {
            index = self.next_plane(d, index)?;
        }
        let mut nearest = f32::INFINITY;
        loop {
            let [height, slope] = self.lines[index];
            let t = (height + slope * o.x - o.z) / (d.z - slope * d.x);
            let x = o.x + t * d.x;
            let there = self.plane_at(x);
            // Where two planes meet, rounding may alternate between them; then the distance no longer decreases.
            if there == index || t >= nearest || t.is_nan() {
                let y = o.y + t * d.y;
                let inside =
                    x >= self.local_x[0] && x < self.local_x[1] && y >= self.local_y[0] && y <= self.local_y[1];
                return (t > 0.0 && inside).then(|| (t, self.normals[index]));
            }
            (nearest, index) = (t, there);
        }
    }

    /// A plane ahead, uphill or downhill, that the ray approaches; the first step of `hit`.
    ///
    /// Uphill, preferably the plane of twice the ray's slope, where a ray that starts on a parabola meets it again.
    #[inline]
    fn next_plane(&self, d: V3, index: usize) -> Option<usize> {
        // Most rising rays approach none of the planes.
        let [gentlest, steepest] = self.slopes;
        if d.z >= if d.x <= 0.0 { gentlest } else { steepest } * d.x {
            return None;
        }
        let nearer = |&other: &usize| d.z < self.lines[other][1] * d.x;
        if d.x <= 0.0 {
            return (0..index).rev().find(nearer);
        }
        let steep = self.lines.partition_point(|[_, slope]| slope * d.x <= 2.0 * d.z);
        if (index + 1..self.lines.len()).contains(&steep) && nearer(&steep) {
            return Some(steep);
        }
        (index + 1..self.lines.len()).find(nearer)
    }

    /// The fraction of a distant disc that the sheet's rising end hides from a point above the sheet; `radius` is the
    /// disc's at distance 1.
    #[inline]
    pub fn hidden_fraction(&self, point: V3, toward: V3, radius: f32) -> f32 {
        let (o, d) = (self.to_local(point), self.rotate_to_local(toward));
        let (across, up) = (self.local_x[1] - o.x, self.end - o.z);
        if d.x <= 0.0 || across <= 0.0 {
            return 0.0;
        }
        // How far the disc's centre is below the rising end's upper edge, and inside its edges on either side.
        let (below, edge2) = (d.x * up - d.z * across, across * across + up * up);
        if below < 0.0 && below * below >= radius * radius * edge2 {
            return 0.0;
        }
        let below = below / edge2.sqrt();
        let within = |edge: f32| (edge * d.x - d.y * across) / (across * across + edge * edge).sqrt();
        let sides = [within(self.local_y[1] - o.y), -within(self.local_y[0] - o.y)];
        sides.iter().map(|side| disc_fraction(side / radius)).product::<f32>() * disc_fraction(below / radius)
    }

    /// See `Rough::lambert_ratio`; 1 for a Lambertian ground.
    #[inline(always)]
    pub fn lambert_ratio(&self, normal: V3, v: V3, l: V3) -> V3 {
        self.rough.map_or(V3::ONE, |rough| rough.lambert_ratio(normal, v, l))
    }

    /// Whether `lambert_ratio` is not 1 everywhere.
    pub fn is_rough(&self) -> bool {
        self.rough.is_some()
    }

    /// See `Rough::uniform_lambert_ratio`; 1 for a Lambertian ground.
    #[inline(always)]
    pub fn uniform_lambert_ratio(&self, normal: V3, v: V3) -> V3 {
        self.rough.map_or(V3::ONE, |rough| rough.uniform_lambert_ratio(normal, v))
    }

    /// Height and normal at a local x.
    pub fn at(&self, x: f32) -> (f32, V3) {
        let index = self.plane_at(x);
        let [height, slope] = self.lines[index];
        (height + slope * x, self.normals[index])
    }

    /// The plane at a local x; beyond the ends the nearest one.
    #[inline(always)]
    fn plane_at(&self, x: f32) -> usize {
        let step = ((x - self.local_x[0]) * STEPS_PER_UNIT) as u16 as usize;
        let mut index = self.plane_by_step[step.min(self.plane_by_step.len() - 1)] as usize;
        while self.starts.get(index + 1).is_some_and(|&start| start <= x) {
            index += 1;
        }
        index
    }

    #[inline(always)]
    pub fn to_local(&self, point: V3) -> V3 {
        self.rotate_to_local(point - self.translation)
    }

    #[inline(always)]
    pub fn to_world(&self, v: V3) -> V3 {
        v3(self.cos * v.x - self.sin * v.y, self.cos * v.y + self.sin * v.x, v.z) + self.translation
    }

    #[inline(always)]
    fn rotate_to_local(&self, v: V3) -> V3 {
        v3(self.cos * v.x + self.sin * v.y, self.cos * v.y - self.sin * v.x, v.z)
    }
}

/// The fraction of a unit disc on one side of a line; the disc's centre lies on that side at the distance `inside`.
fn disc_fraction(inside: f32) -> f32 {
    let x = inside.clamp(-1.0, 1.0);
    (0.5 + (x * (1.0 - x * x).sqrt() + libm::asinf(x)) * FRAC_1_PI).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fast::sobol::SobolSample;
    use crate::render::lanes::Real;
    use crate::render::test_scenes::studio;

    /// A floor 9 long and a steep slope that rises to 4 at its end, 20 wide.
    fn sheet() -> Sheet {
        let profile_x_z = vec![[-5.0, 0.0], [4.0, 0.0], [5.0, 4.0]];
        let spec = SheetSpec {
            color: [0.5; 3],
            roughness: 0.0,
            rotation_z_rad: 0.0,
            translation: [0.0; 3],
            local_y: [-10.0, 10.0],
            profile_x_z,
        };
        Sheet::new(&spec).unwrap()
    }

    #[test]
    fn the_rising_end_hides_low_suns_in_part() {
        let sheet = sheet();
        let hidden = |direction: V3| sheet.hidden_fraction(v3(0.0, 0.0, 0.0), direction.unit(), 0.1);
        assert_eq!(hidden(v3(5.0, 0.0, 1.0)), 1.0);
        assert!((hidden(v3(5.0, 0.0, 4.0)) - 0.5).abs() < 1e-3);
        assert!((hidden(v3(5.0, 10.0, 0.5)) - 0.5).abs() < 1e-3);
        for free in [v3(5.0, 0.0, 6.0), v3(-5.0, 0.0, 1.0), v3(5.0, 14.0, 0.5)] {
            assert_eq!(hidden(free), 0.0);
        }
    }

    /// The first plane that a ray meets, by trying each of them, and the local x and y there.
    fn slow_hit(sheet: &Sheet, origin: V3, direction: V3) -> Option<(f32, [f32; 2])> {
        let (o, d) = (sheet.to_local(origin), sheet.rotate_to_local(direction));
        let ends = sheet.starts.iter().skip(1).copied().chain([sheet.local_x[1]]);
        let pieces = sheet.lines.iter().zip(sheet.starts.iter().zip(ends));
        let hits = pieces.filter_map(|(&[height, slope], (&start, end))| {
            let t = (height + slope * o.x - o.z) / (d.z - slope * d.x);
            let [x, y] = [o.x + t * d.x, o.y + t * d.y];
            let inside = x >= start && x < end && y >= sheet.local_y[0] && y <= sheet.local_y[1];
            (t > 0.0 && inside).then_some((t, [x, y]))
        });
        hits.min_by(|one, other| one.0.total_cmp(&other.0))
    }

    #[test]
    fn rays_hit_the_first_plane_on_their_way() {
        let studio = studio();
        let sheet = studio.ground();
        let (mut n_hits, mut n_rising) = (0, 0);
        for i in 0..200_000 {
            let sobol = SobolSample::new(i, 0, 0, 1);
            let [[x, y], [z, height], [turn, _]] = [sobol.pair(0), sobol.pair(1), sobol.pair(2)];
            let origin = v3(16.0 * x - 8.0, 16.0 * y - 8.0, 0.0);
            let ground = sheet.at(sheet.to_local(origin).x).0;
            let origin =
                sheet.to_world(sheet.to_local(origin) + v3(0.0, 0.0, ground)) + v3(0.0, 0.0, 1e-3 + 6.0 * z * z);
            let [sin, cos] = turn.sin_cos_turns();
            let direction = v3(cos, sin, 2.0 * height - 1.2).unit();
            let (fast, slow) = (sheet.hit(origin, direction), slow_hit(sheet, origin, direction));
            let near = |[x, y]: [f32; 2]| {
                let edges = [x - sheet.local_x[0], sheet.local_x[1] - x, y - sheet.local_y[0], sheet.local_y[1] - y];
                edges.into_iter().fold(f32::MAX, f32::min) < 0.05
            };
            match (fast, slow) {
                (Some((t, _)), Some((slow, _))) => {
                    assert!((t - slow).abs() <= 2e-3 * slow.max(0.1), "{origin:?} {direction:?}: {t} for {slow}");
                    n_hits += 1;
                    n_rising += u32::from(direction.z > 0.0);
                }
                (None, None) => {}
                (_, Some((_, point))) => assert!(near(point), "{origin:?} {direction:?}: nothing for {slow:?}"),
                (Some((t, _)), None) => {
                    let point = sheet.to_local(origin + direction * t);
                    assert!(near([point.x, point.y]), "{origin:?} {direction:?}: {t} for nothing");
                }
            }
        }
        assert!(n_hits > 50_000 && n_rising > 2_000, "{n_hits} {n_rising}");
    }
}
