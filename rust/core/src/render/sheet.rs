//! A ray in, where it meets the ground sheet out.
//!
//! The sheet rises ever more steeply, so what lies above it is convex, and a ray from there leaves
//! it through the first of its planes that it meets.

use super::vector::{V3, v3};
use serde::Deserialize;

/// The ground as the look describes it: a profile swept along its local y, flat shaded.
#[derive(Clone, Debug, Deserialize)]
pub struct SheetSpec {
    pub color: [f64; 3],
    pub rotation_z_rad: f64,
    pub translation: [f64; 3],
    pub local_y: [f64; 2],
    /// Local x and height, x ascending, height ever more steeply.
    pub profile_x_z: Vec<[f64; 2]>,
}

/// The ground, ready for rays.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub color: V3,
    cos: f32,
    sin: f32,
    translation: V3,
    pub local_x: [f32; 2],
    pub local_y: [f32; 2],
    /// Planes `z = height + slope x`, filled up with some that no ray meets.
    planes: Vec<Planes>,
    normals: Vec<V3>,
}

const LANES: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Planes {
    height: [f32; LANES],
    slope: [f32; LANES],
}

impl Sheet {
    /// Errors, in a sentence's end, for a profile that does not ascend.
    pub fn new(spec: &SheetSpec) -> Result<Self, String> {
        let (Some(first), Some(last)) = (spec.profile_x_z.first(), spec.profile_x_z.last()) else {
            return Err("profile_x_z: expected at least two points".into());
        };
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
        let planes = lines
            .chunks(LANES)
            .map(|lines| Planes {
                height: std::array::from_fn(|lane| lines.get(lane).map_or(f32::MIN, |line| line[0])),
                slope: std::array::from_fn(|lane| lines.get(lane).map_or(0.0, |line| line[1])),
            })
            .collect();
        Ok(Self {
            color: V3::from_f64(spec.color),
            cos: cos as f32,
            sin: sin as f32,
            translation: V3::from_f64(spec.translation),
            local_x: [first[0] as f32, last[0] as f32],
            local_y: spec.local_y.map(|y| y as f32),
            planes,
            normals,
        })
    }

    /// Distance to where a ray from above meets the sheet, and the normal there.
    #[inline]
    pub fn hit(&self, origin: V3, direction: V3) -> Option<(f32, V3)> {
        let o = self.to_local(origin);
        let d = self.turned_to_local(direction);
        let mut nearest = [f32::INFINITY; LANES];
        let mut chunks = [0_u32; LANES];
        for (number, planes) in self.planes.iter().enumerate() {
            for lane in 0..LANES {
                let fall = d.z - planes.slope[lane] * d.x;
                let t = (planes.height[lane] + planes.slope[lane] * o.x - o.z) / fall;
                let closer = (fall < 0.0) & (t < nearest[lane]);
                nearest[lane] = if closer { t } else { nearest[lane] };
                chunks[lane] = if closer { number as u32 } else { chunks[lane] };
            }
        }
        let mut best = 0;
        for lane in 1..LANES {
            if nearest[lane] < nearest[best] {
                best = lane;
            }
        }
        let t = nearest[best];
        let (x, y) = (o.x + t * d.x, o.y + t * d.y);
        let inside = x >= self.local_x[0] && x < self.local_x[1] && y >= self.local_y[0] && y <= self.local_y[1];
        (t > 0.0 && inside).then(|| (t, self.normals[chunks[best] as usize * LANES + best]))
    }

    /// Height and normal over a local x.
    pub fn at(&self, x: f32) -> (f32, V3) {
        let mut highest = (f32::MIN, 0);
        for (number, planes) in self.planes.iter().enumerate() {
            for lane in 0..LANES {
                let z = planes.height[lane] + planes.slope[lane] * x;
                if z > highest.0 {
                    highest = (z, number * LANES + lane);
                }
            }
        }
        (highest.0, self.normals[highest.1])
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
