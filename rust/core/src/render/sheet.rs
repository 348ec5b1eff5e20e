//! The ground sheet, as rays meet it.
//!
//! The sheet rises ever more steeply, so what lies above it is convex.

use super::rough::Rough;
use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::FRAC_1_PI;

/// The ground as the look describes it: a profile swept along its local y, flat shaded.
#[derive(Clone, Debug, Deserialize)]
pub struct SheetSpec {
    pub color: [f64; 3],
    /// From 0, which scatters evenly, to 1.
    #[serde(default)]
    pub roughness: f64,
    pub rotation_z_rad: f64,
    pub translation: [f64; 3],
    pub local_y: [f64; 2],
    /// Local x and height, x ascending, height ever more steeply.
    pub profile_x_z: Vec<[f64; 2]>,
}

/// The ground, ready for rays.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Albedo under light from everywhere.
    pub color: V3,
    rough: Option<Rough>,
    cos: f32,
    sin: f32,
    translation: V3,
    pub local_x: [f32; 2],
    pub local_y: [f32; 2],
    /// Height of its upper end.
    end: f32,
    /// Planes `z = height + slope x`, and where each begins.
    lines: Vec<[f32; 2]>,
    /// The least and the greatest slope.
    slopes: [f32; 2],
    begins: Vec<f32>,
    normals: Vec<V3>,
    /// The plane at the start of each step along x.
    first: Vec<u16>,
}

const STEPS_PER_UNIT: f32 = 16.0;
/// Most points of a profile.
const MOST_POINTS: usize = 10_000;
/// Farthest coordinates: tables of the ground grow with them.
const FARTHEST: f64 = 1_000.0;
/// The shortest and longest sides: what patches of the ground see of each other grows with their square.
const SIDE: std::ops::RangeInclusive<f64> = 5.0..=300.0;

impl Sheet {
    /// Errors, as the end of a sentence, for a profile that does not ascend.
    pub fn new(spec: &SheetSpec) -> Result<Self, String> {
        let [first, .., last] = &spec.profile_x_z[..] else {
            return Err("profile_x_z: expected at least two points".into());
        };
        let n_points = spec.profile_x_z.len();
        if n_points > MOST_POINTS {
            return Err(format!("profile_x_z: {n_points} points; the native renderer knows up to {MOST_POINTS}"));
        }
        let is_near = |x: &f64| (-FARTHEST..=FARTHEST).contains(x);
        let length: f64 = spec.profile_x_z.windows(2).map(|p| libm::hypot(p[1][0] - p[0][0], p[1][1] - p[0][1])).sum();
        let sides = [last[0] - first[0], length, spec.local_y[1] - spec.local_y[0]];
        let all_are_near = spec.profile_x_z.iter().flatten().chain(&spec.local_y).all(is_near);
        if !all_are_near || !sides.iter().all(|side| SIDE.contains(side)) {
            return Err(format!(
                "the native renderer knows sheets that reach {FARTHEST} units from their origin, {} to {} long and wide",
                SIDE.start(),
                SIDE.end()
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
        let begins: Vec<f32> = spec.profile_x_z[..lines.len()].iter().map(|p| p[0] as f32).collect();
        let steps = ((last[0] - first[0]) as f32 * STEPS_PER_UNIT).ceil().max(1.0) as usize;
        let at = |step: usize| first[0] as f32 + step as f32 / STEPS_PER_UNIT;
        let table = (0..steps).map(|step| (begins.partition_point(|&b| b <= at(step)).max(1) - 1) as u16).collect();
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
            begins,
            normals,
            first: table,
        })
    }

    /// Distance to where a ray from above meets the sheet, and the normal there.
    ///
    /// Newton's steps: on to a plane that is seen ahead, then to the one of the place reached, until they
    /// agree. What lies above the sheet is convex, so after the first step they only come nearer. (CLEVR's is not
    /// quite so at its upper end, above all that an image shows.)
    #[inline]
    pub fn hit(&self, origin: V3, direction: V3) -> Option<(f32, V3)> {
        let o = self.to_local(origin);
        let d = self.turned_to_local(direction);
        let mut number = self.piece(o.x);
        if d.z >= self.lines[number][1] * d.x {
            number = self.next_plane(d, number)?;
        }
        let mut nearest = f32::INFINITY;
        loop {
            let [height, slope] = self.lines[number];
            let t = (height + slope * o.x - o.z) / (d.z - slope * d.x);
            let x = o.x + t * d.x;
            let there = self.piece(x);
            // Between two planes that meet here, rounding may tell either; then it comes no nearer.
            if there == number || t >= nearest || t.is_nan() {
                let y = o.y + t * d.y;
                let inside =
                    x >= self.local_x[0] && x < self.local_x[1] && y >= self.local_y[0] && y <= self.local_y[1];
                return (t > 0.0 && inside).then(|| (t, self.normals[number]));
            }
            (nearest, number) = (t, there);
        }
    }

    /// A plane on the way, uphill or downhill, that a ray comes nearer to.
    ///
    /// Uphill that of twice the ray's own slope, if there is one: where a ray meets a parabola that it starts from.
    #[inline]
    fn next_plane(&self, d: V3, number: usize) -> Option<usize> {
        // Most rays that rise come nearer to none of the planes.
        let [gentlest, steepest] = self.slopes;
        if d.z >= if d.x <= 0.0 { gentlest } else { steepest } * d.x {
            return None;
        }
        let nearer = |&other: &usize| d.z < self.lines[other][1] * d.x;
        if d.x <= 0.0 {
            return (0..number).rev().find(nearer);
        }
        let steep = self.lines.partition_point(|[_, slope]| slope * d.x <= 2.0 * d.z);
        if (number + 1..self.lines.len()).contains(&steep) && nearer(&steep) {
            return Some(steep);
        }
        (number + 1..self.lines.len()).find(nearer)
    }

    /// Which share of a distant disc the sheet's rising end hides from a point above the sheet; `radius` is the disc's
    /// at distance 1.
    #[inline]
    pub fn hidden_share(&self, point: V3, toward: V3, radius: f32) -> f32 {
        let (o, d) = (self.to_local(point), self.turned_to_local(toward));
        let (across, up) = (self.local_x[1] - o.x, self.end - o.z);
        if d.x <= 0.0 || across <= 0.0 {
            return 0.0;
        }
        // How far the disc's middle lies below the upper edge, and within the edges on either side.
        let (below, edge2) = (d.x * up - d.z * across, across * across + up * up);
        if below < 0.0 && below * below >= radius * radius * edge2 {
            return 0.0;
        }
        let below = below / edge2.sqrt();
        let within = |edge: f32| (edge * d.x - d.y * across) / (across * across + edge * edge).sqrt();
        let sides = [within(self.local_y[1] - o.y), -within(self.local_y[0] - o.y)];
        sides.iter().map(|side| disc_share(side / radius)).product::<f32>() * disc_share(below / radius)
    }

    /// What comes back of light from `l` towards `v`, as a multiple of what an even surface throws back.
    #[inline(always)]
    pub fn share(&self, normal: V3, v: V3, l: V3) -> V3 {
        self.rough.map_or(V3::ONE, |rough| rough.share(normal, v, l))
    }

    /// Whether `share` is not 1 everywhere.
    pub fn is_rough(&self) -> bool {
        self.rough.is_some()
    }

    /// As `share`, of light that comes evenly from everywhere.
    #[inline(always)]
    pub fn even_share(&self, normal: V3, v: V3) -> V3 {
        self.rough.map_or(V3::ONE, |rough| rough.even_share(normal, v))
    }

    /// Height and normal over a local x.
    pub fn at(&self, x: f32) -> (f32, V3) {
        let number = self.piece(x);
        let [height, slope] = self.lines[number];
        (height + slope * x, self.normals[number])
    }

    /// The plane over a local x; beyond the ends the nearest one.
    #[inline(always)]
    fn piece(&self, x: f32) -> usize {
        let step = ((x - self.local_x[0]) * STEPS_PER_UNIT) as u16 as usize;
        let mut number = self.first[step.min(self.first.len() - 1)] as usize;
        while self.begins.get(number + 1).is_some_and(|&begin| begin <= x) {
            number += 1;
        }
        number
    }

    #[inline(always)]
    pub fn to_local(&self, point: V3) -> V3 {
        self.turned_to_local(point - self.translation)
    }

    #[inline(always)]
    pub fn to_world(&self, v: V3) -> V3 {
        v3(self.cos * v.x - self.sin * v.y, self.cos * v.y + self.sin * v.x, v.z) + self.translation
    }

    #[inline(always)]
    fn turned_to_local(&self, v: V3) -> V3 {
        v3(self.cos * v.x + self.sin * v.y, self.cos * v.y - self.sin * v.x, v.z)
    }
}

/// The share of a disc of radius 1 on that side of a line on which its middle lies by `inside`.
fn disc_share(inside: f32) -> f32 {
    let x = inside.clamp(-1.0, 1.0);
    (0.5 + (x * (1.0 - x * x).sqrt() + libm::asinf(x)) * FRAC_1_PI).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fast::numbers::Numbers;
    use crate::render::lanes::Real;
    use crate::render::stage::Studio;

    /// A floor 10 long and a wall that rises to 4 at its end, 20 wide.
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
        let share = |direction: V3| sheet.hidden_share(v3(0.0, 0.0, 0.0), direction.unit(), 0.1);
        assert_eq!(share(v3(5.0, 0.0, 1.0)), 1.0);
        assert!((share(v3(5.0, 0.0, 4.0)) - 0.5).abs() < 1e-3);
        assert!((share(v3(5.0, 10.0, 0.5)) - 0.5).abs() < 1e-3);
        for free in [v3(5.0, 0.0, 6.0), v3(-5.0, 0.0, 1.0), v3(5.0, 14.0, 0.5)] {
            assert_eq!(share(free), 0.0);
        }
    }

    /// The first piece that a ray meets, each tried by itself, and the local x and y there.
    fn slow_hit(sheet: &Sheet, origin: V3, direction: V3) -> Option<(f32, [f32; 2])> {
        let (o, d) = (sheet.to_local(origin), sheet.turned_to_local(direction));
        let ends = sheet.begins.iter().skip(1).copied().chain([sheet.local_x[1]]);
        let pieces = sheet.lines.iter().zip(sheet.begins.iter().zip(ends));
        let met = pieces.filter_map(|(&[height, slope], (&begin, end))| {
            let t = (height + slope * o.x - o.z) / (d.z - slope * d.x);
            let [x, y] = [o.x + t * d.x, o.y + t * d.y];
            let inside = x >= begin && x < end && y >= sheet.local_y[0] && y <= sheet.local_y[1];
            (t > 0.0 && inside).then_some((t, [x, y]))
        });
        met.min_by(|one, other| one.0.total_cmp(&other.0))
    }

    #[test]
    fn rays_meet_the_first_piece_in_their_way() {
        let look = include_bytes!("../../../../blender_assets/look.json");
        let studio = Studio::from_json(look, "look.json").unwrap();
        let sheet = studio.ground();
        let (mut n_met, mut n_rising) = (0, 0);
        for i in 0..200_000 {
            let numbers = Numbers::new(i, 0, 0, 1);
            let [[x, y], [z, height], [turn, _]] = [numbers.pair(0), numbers.pair(1), numbers.pair(2)];
            let origin = v3(16.0 * x - 8.0, 16.0 * y - 8.0, 0.0);
            let ground = sheet.at(sheet.to_local(origin).x).0;
            let origin =
                sheet.to_world(sheet.to_local(origin) + v3(0.0, 0.0, ground)) + v3(0.0, 0.0, 1e-3 + 6.0 * z * z);
            let [sin, cos] = turn.turn();
            let direction = v3(cos, sin, 2.0 * height - 1.2).unit();
            let (fast, slow) = (sheet.hit(origin, direction), slow_hit(sheet, origin, direction));
            let near = |[x, y]: [f32; 2]| {
                let edges = [x - sheet.local_x[0], sheet.local_x[1] - x, y - sheet.local_y[0], sheet.local_y[1] - y];
                edges.into_iter().fold(f32::MAX, f32::min) < 0.05
            };
            match (fast, slow) {
                (Some((t, _)), Some((slow, _))) => {
                    assert!((t - slow).abs() <= 2e-3 * slow.max(0.1), "{origin:?} {direction:?}: {t} for {slow}");
                    n_met += 1;
                    n_rising += u32::from(direction.z > 0.0);
                }
                (None, None) => {}
                (_, Some((_, place))) => assert!(near(place), "{origin:?} {direction:?}: nothing for {slow:?}"),
                (Some((t, _)), None) => {
                    let place = sheet.to_local(origin + direction * t);
                    assert!(near([place.x, place.y]), "{origin:?} {direction:?}: {t} for nothing");
                }
            }
        }
        assert!(n_met > 50_000 && n_rising > 2_000, "{n_met} {n_rising}");
    }
}
