//! Lights of the look: where they shine from, and how strongly.

use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::PI;

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LightSpec {
    Area { location: [f64; 3], target: [f64; 3], size: f64, power_w: f64, color: [f64; 3] },
    Sun { rotation_rad: [f64; 3], angle_rad: f64, strength_w_m2: f64, color: [f64; 3] },
}

/// A light in its place.
#[derive(Clone, Copy, Debug)]
pub enum Light {
    /// A square that shines to one side.
    Area {
        center: V3,
        /// Half of the sides.
        half_u: V3,
        half_v: V3,
        /// Where it shines, length 1.
        axis: V3,
        area: f32,
        radiance: V3,
    },
    /// A disc far away.
    Sun {
        /// To its middle, length 1.
        toward: V3,
        u: V3,
        v: V3,
        /// Of the disc at distance 1.
        radius: f32,
        radiance: V3,
    },
}

/// A place on a light, as seen from a point.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub direction: V3,
    pub distance: f32,
    pub radiance: V3,
    /// Over the solid angle.
    pub density: f32,
}

impl LightSpec {
    /// The light, moved to `location` if one is given.
    pub fn at(&self, location: Option<[f64; 3]>) -> Light {
        match self {
            Self::Area { location: usual, target, size, power_w, color } => {
                let center = V3::from_f64(location.unwrap_or(*usual));
                let axis = (V3::from_f64(*target) - center).unit();
                // As Blender tracks: the square's y side is turned towards +Z.
                let right = axis.cross(v3(0.0, 0.0, 1.0)).unit();
                let half = 0.5 * *size as f32;
                let area = (size * size) as f32;
                let radiance = V3::from_f64(*color) * (*power_w as f32 / (PI * area));
                Light::Area { center, half_u: right * half, half_v: right.cross(axis) * half, axis, area, radiance }
            }
            Self::Sun { rotation_rad: [rx, ry, rz], angle_rad, strength_w_m2, color } => {
                let ((sx, cx), (sy, cy), (sz, cz)) = (libm::sincos(*rx), libm::sincos(*ry), libm::sincos(*rz));
                // Third column of Rz Ry Rx: the light shines along -Z of its own.
                let toward = [cz * sy * cx + sz * sx, sz * sy * cx - cz * sx, cy * cx];
                let toward = V3::from_f64(toward);
                let (u, v) = super::material::frame(toward);
                // The strength is the irradiance of a surface that faces its middle.
                let sin = libm::sin(0.5 * angle_rad);
                let radiance = V3::from_f64(*color) * ((strength_w_m2 / (sin * sin)) as f32 / PI);
                Light::Sun { toward, u, v, radius: libm::tan(0.5 * angle_rad) as f32, radiance }
            }
        }
    }
}

impl Light {
    /// A place on the light from two uniform numbers; None where it does not shine.
    pub fn sample(&self, point: V3, u: [f32; 2]) -> Option<Sample> {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, radiance } => {
                let place = center + half_u * (2.0 * u[0] - 1.0) + half_v * (2.0 * u[1] - 1.0);
                let offset = place - point;
                let distance = offset.length();
                let direction = offset / distance;
                let cos = -axis.dot(direction);
                let density = distance * distance / (area * cos);
                (cos > 0.0).then_some(Sample { direction, distance, radiance, density })
            }
            Self::Sun { toward, u: right, v: up, radius, radiance } => {
                let r = radius * u[0].sqrt();
                let (sin, cos) = (std::f32::consts::TAU * u[1]).sin_cos();
                let direction = toward + right * (r * cos) + up * (r * sin);
                let length = direction.length();
                let density = length * length * length / (PI * radius * radius);
                Some(Sample { direction: direction / length, distance: f32::INFINITY, radiance, density })
            }
        }
    }

    /// Light that reaches a place where nothing stands in the way (irradiance).
    #[inline]
    pub fn irradiance(&self, point: V3, normal: V3) -> V3 {
        self.color() * normal.dot(self.flux(point)).max(0.0)
    }

    /// Radiance of each of its places.
    #[inline(always)]
    pub fn color(&self) -> V3 {
        match *self {
            Self::Area { radiance, .. } | Self::Sun { radiance, .. } => radiance,
        }
    }

    /// The vector whose product with a surface's normal gives the irradiance, in units of the radiance, where
    /// nothing stands in the way and all of the light is above the surface.
    ///
    /// For an area from two places on it: those of Gauss's rule, on a diagonal.
    #[inline]
    pub fn flux(&self, point: V3) -> V3 {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, .. } => {
                let diagonal = (half_u + half_v) * 0.577_350_26;
                let part = |place: V3| {
                    let offset = place - point;
                    let distance2 = offset.dot(offset);
                    offset * ((-axis.dot(offset)).max(0.0) / (distance2 * distance2))
                };
                (part(center - diagonal) + part(center + diagonal)) * (0.5 * area)
            }
            Self::Sun { toward, radius, .. } => toward * (PI * radius * radius / (1.0 + radius * radius)),
        }
    }

    /// What a surface throws back of the light where nothing stands in the way, by its `value` for the mean
    /// direction of all light: for surfaces that throw much the same back from all places of the lamp.
    #[inline(always)]
    pub fn thrown_back(&self, point: V3, value: impl Fn(V3) -> V3) -> V3 {
        let flux = self.flux(point);
        let strength = flux.length();
        if strength > 0.0 { value(flux / strength).times(self.color()) * strength } else { V3::ZERO }
    }

    /// The middle of the light as seen from a point: direction, distance, and the tangent of the angle that
    /// its farthest place makes with it.
    #[inline(always)]
    pub fn middle(&self, point: V3) -> (V3, f32, f32) {
        match *self {
            Self::Area { center, half_u, half_v, .. } => {
                let offset = center - point;
                let distance = offset.length();
                (offset / distance, distance, (half_u.dot(half_u) + half_v.dot(half_v)).sqrt() / distance)
            }
            Self::Sun { toward, radius, .. } => (toward, f32::INFINITY, radius),
        }
    }

    /// What a ray meets of the light within `distance`: its radiance, and how densely `sample` gives that direction.
    pub fn met(&self, origin: V3, direction: V3, distance: f32) -> Option<(V3, f32)> {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, radiance } => {
                let cos = -axis.dot(direction);
                if cos <= 0.0 {
                    return None;
                }
                let t = (origin - center).dot(axis) / cos;
                let place = origin + direction * t - center;
                let (a, b) = (half_u.dot(half_u), half_v.dot(half_v));
                let inside = place.dot(half_u).abs() <= a && place.dot(half_v).abs() <= b;
                (t > 0.0 && t < distance && inside).then(|| (radiance, t * t / (area * cos)))
            }
            Self::Sun { toward, radius, radiance, .. } => {
                let cos = toward.dot(direction);
                let inside = cos > 0.0 && 1.0 / (cos * cos) - 1.0 <= radius * radius;
                (distance.is_infinite() && inside).then(|| (radiance, 1.0 / (cos * cos * cos * PI * radius * radius)))
            }
        }
    }
}

/// What the first of two ways to the same direction weighs, by their densities (power heuristic).
#[inline(always)]
pub fn power(a: f32, b: f32) -> f32 {
    if a.is_infinite() { 1.0 } else { a * a / (a * a + b * b) }
}
