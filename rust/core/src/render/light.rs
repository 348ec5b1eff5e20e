//! The look's lights: area lights and suns.

use super::lanes::Real;
use super::sheet::Sheet;
use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::PI;

/// Most samples of one light at a shading point.
const MAX_SAMPLES: u32 = 6;
/// The nodes of two-point Gauss quadrature over -1..1 are at plus and minus this.
const GAUSS: f32 = 0.577_350_26;

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LightSpec {
    Area { location: [f64; 3], target: [f64; 3], size: f64, power_w: f64, color: [f64; 3] },
    Sun { rotation_rad: [f64; 3], angle_rad: f64, strength_w_m2: f64, color: [f64; 3] },
}

/// A light of a scene.
#[derive(Clone, Copy, Debug)]
pub enum Light {
    /// A one-sided square area light.
    Area {
        center: V3,
        /// Half of its sides.
        half_u: V3,
        half_v: V3,
        /// Direction in which it shines, of length 1.
        axis: V3,
        area: f32,
        radiance: V3,
    },
    /// A disc at infinity.
    Sun {
        /// Direction to its centre, of length 1.
        toward: V3,
        u: V3,
        v: V3,
        /// Radius of the disc at distance 1.
        radius: f32,
        radiance: V3,
    },
}

/// A sampled point of a light, as seen from a shading point.
#[derive(Clone, Copy, Debug)]
pub struct Sample<F = f32> {
    pub direction: V3<F>,
    pub distance: F,
    /// Over solid angle.
    pub pdf: F,
}

impl LightSpec {
    /// The light, at `location` if one is given.
    pub fn at(&self, location: Option<[f64; 3]>) -> Light {
        match self {
            Self::Area { location: usual, target, size, power_w, color } => {
                let center = V3::from_f64(location.unwrap_or(*usual));
                let axis = (V3::from_f64(*target) - center).unit();
                // Oriented as by Blender's "track to" constraint: the square's y side is turned towards +Z.
                let is_upright = axis.x.abs() + axis.y.abs() < 1e-4;
                let right = if is_upright { v3(-axis.z, 0.0, 0.0) } else { axis.cross(v3(0.0, 0.0, 1.0)).unit() };
                let half = 0.5 * *size as f32;
                let area = (size * size) as f32;
                let radiance = V3::from_f64(*color) * (*power_w as f32 / (PI * area));
                Light::Area { center, half_u: right * half, half_v: right.cross(axis) * half, axis, area, radiance }
            }
            Self::Sun { rotation_rad: [rx, ry, rz], angle_rad, strength_w_m2, color } => {
                let ((sx, cx), (sy, cy), (sz, cz)) = (libm::sincos(*rx), libm::sincos(*ry), libm::sincos(*rz));
                // Third column of Rz Ry Rx: a light shines along its own -Z.
                let toward = [cz * sy * cx + sz * sx, sz * sy * cx - cz * sx, cy * cx];
                let toward = V3::from_f64(toward);
                let (u, v) = super::material::tangent_frame(toward);
                // The strength is the irradiance on a surface that faces the sun.
                let sin = libm::sin(0.5 * angle_rad);
                let radiance = V3::from_f64(*color) * ((strength_w_m2 / (sin * sin)) as f32 / PI);
                Light::Sun { toward, u, v, radius: libm::tan(0.5 * angle_rad) as f32, radiance }
            }
        }
    }
}

impl Light {
    /// Samples a point of the light with two uniform numbers; None if it does not shine towards `point`.
    pub fn sample(&self, point: V3, u: [f32; 2]) -> Option<Sample> {
        let (sample, is_lit) = self.samples(point, u);
        is_lit.then_some(sample)
    }

    /// As `sample`, for several points, with a mask of where the light shines.
    #[inline(always)]
    pub fn samples<F: Real>(&self, point: V3<F>, u: [F; 2]) -> (Sample<F>, F::Mask) {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, .. } => {
                let (two, one) = (F::splat(2.0), F::splat(1.0));
                let right = V3::splat(half_u) * (two * u[0] - one);
                let offset = V3::splat(center) + right + V3::splat(half_v) * (two * u[1] - one) - point;
                let distance = offset.length();
                let direction = offset / distance;
                let cos = -V3::splat(axis).dot(direction);
                let pdf = distance * distance / (F::splat(area) * cos);
                (Sample { direction, distance, pdf }, cos.is_positive())
            }
            Self::Sun { toward, u: right, v: up, radius, .. } => {
                let r = F::splat(radius) * u[0].sqrt();
                let [sin, cos] = u[1].sin_cos_turns();
                let direction = V3::splat(toward) + V3::splat(right) * (r * cos) + V3::splat(up) * (r * sin);
                let length = direction.length();
                let pdf = length * length * length / F::splat(PI * radius * radius);
                let distance = F::splat(f32::INFINITY);
                (Sample { direction: direction / length, distance, pdf }, F::default().is_less(length))
            }
        }
    }

    /// Unoccluded irradiance.
    #[inline]
    pub fn irradiance(&self, point: V3, normal: V3) -> V3 {
        self.radiance() * normal.dot(self.irradiance_vector(point)).max(0.0)
    }

    /// Emitted radiance.
    #[inline(always)]
    pub fn radiance(&self) -> V3 {
        match *self {
            Self::Area { radiance, .. } | Self::Sun { radiance, .. } => radiance,
        }
    }

    /// Unoccluded vector irradiance per unit of radiance: its dot product with a surface's normal gives the irradiance
    /// there, if all of the light is above the surface.
    ///
    /// An area light is integrated by two-point Gauss quadrature along one diagonal, or along both if it looks large.
    #[inline]
    pub fn irradiance_vector(&self, point: V3) -> V3 {
        self.irradiance_vector_of(point, self.sample_count(point) > 1)
    }

    #[inline(always)]
    fn irradiance_vector_of<F: Real>(&self, point: V3<F>, is_large: bool) -> V3<F> {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, .. } => {
                let part = |position: V3| {
                    let offset = V3::splat(position) - point;
                    let distance2 = offset.dot(offset);
                    offset * ((-V3::splat(axis).dot(offset)).max(F::default()) / (distance2 * distance2))
                };
                let along = |diagonal: V3| part(center - diagonal * GAUSS) + part(center + diagonal * GAUSS);
                let first = along(half_u + half_v);
                if is_large {
                    (first + along(half_u - half_v)) * F::splat(0.25 * area)
                } else {
                    first * F::splat(0.5 * area)
                }
            }
            Self::Sun { toward, radius, .. } => V3::splat(toward * (PI * radius * radius / (1.0 + radius * radius))),
        }
    }

    /// How many samples of the light a point needs: more than one if it subtends a large angle, as CLEVR's never do.
    #[inline]
    pub fn sample_count(&self, point: V3) -> u32 {
        // Squared lengths suffice for a light that looks small; this saves a root and a division.
        if let Self::Area { center, half_u, half_v, .. } = *self {
            let offset = center - point;
            if 16.0 * (half_u.dot(half_u) + half_v.dot(half_v)) < 0.99 * offset.dot(offset) {
                return 1;
            }
        }
        let (_, _, spread) = self.bounding_cone(point);
        ((8.0 * spread) as u32).clamp(1, MAX_SAMPLES)
    }

    /// Unoccluded radiance reflected from the light by surfaces whose BSDF times cosine is `value`, evaluated at the
    /// light's mean direction alone: for BSDFs that vary little over the light.
    #[inline(always)]
    pub fn reflected<F: Real>(&self, point: V3<F>, value: impl Fn(V3<F>) -> V3<F>) -> V3<F> {
        let vector = self.irradiance_vector_of(point, false);
        let strength = vector.length();
        let reflected = value(vector / strength).times(V3::splat(self.radiance())) * strength;
        V3::select(strength.is_positive(), reflected, V3::default())
    }

    /// A cone from a point that bounds the light: direction and distance of the light's centre, and the tangent of the
    /// cone's half angle.
    #[inline(always)]
    pub fn bounding_cone(&self, point: V3) -> (V3, f32, f32) {
        match *self {
            Self::Area { center, half_u, half_v, .. } => {
                let offset = center - point;
                let distance = offset.length();
                (offset / distance, distance, (half_u.dot(half_u) + half_v.dot(half_v)).sqrt() / distance)
            }
            Self::Sun { toward, radius, .. } => (toward, f32::INFINITY, radius),
        }
    }

    /// The fraction of the light that the rising end of the ground leaves visible from a point above the ground.
    ///
    /// An area light is above the ground too, and the space above the ground is convex, so all of it is visible.
    #[inline]
    pub fn fraction_above_ground(&self, sheet: &Sheet, point: V3) -> f32 {
        match *self {
            Self::Area { .. } => 1.0,
            Self::Sun { toward, radius, .. } => 1.0 - sheet.hidden_fraction(point, toward, radius),
        }
    }

    /// Whether the rising end of the ground hides a sampled point of the light from a point above the ground.
    #[inline(always)]
    pub fn is_hidden_by_ground<F: Real>(&self, sheet: &Sheet, point: V3<F>, direction: V3<F>) -> F::Mask {
        let fraction = |lane| sheet.hidden_fraction(point.lane(lane), direction.lane(lane), 1e-6);
        let hidden = if matches!(self, Self::Sun { .. }) { F::from_lanes(fraction) } else { F::default() };
        F::splat(0.5).is_less(hidden)
    }

    /// Intersects a ray with the light within `distance`: the radiance, and the pdf of that direction by `sample`.
    pub fn hit(&self, origin: V3, direction: V3, distance: f32) -> Option<(V3, f32)> {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, radiance } => {
                let cos = -axis.dot(direction);
                if cos <= 0.0 {
                    return None;
                }
                let t = (origin - center).dot(axis) / cos;
                let position = origin + direction * t - center;
                let (a, b) = (half_u.dot(half_u), half_v.dot(half_v));
                let inside = position.dot(half_u).abs() <= a && position.dot(half_v).abs() <= b;
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

/// The power heuristic: the weight of the first of two sampling techniques, by the pdfs of both.
#[inline(always)]
pub fn power_heuristic<F: Real>(a: F, b: F) -> F {
    F::select(a.is_less(F::splat(f32::INFINITY)), a * a / (a * a + b * b), F::splat(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(location: [f64; 3]) -> [V3; 2] {
        let spec = LightSpec::Area { location, target: [0.0; 3], size: 2.0, power_w: 1.0, color: [1.0; 3] };
        match spec.at(None) {
            Light::Area { half_u, half_v, .. } => [half_u, half_v],
            Light::Sun { .. } => [V3::ZERO; 2],
        }
    }

    #[test]
    fn area_lights_above_and_below_their_target_are_oriented_as_in_blender() {
        assert_eq!(halves([0.0, 0.0, 5.0]), [v3(1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0)]);
        assert_eq!(halves([0.0, 0.0, -5.0]), [v3(-1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0)]);
        let [u, v] = halves([0.005, 0.0, 5.0]);
        assert!((u - v3(0.0, 1.0, 0.0)).length() < 1e-2 && (v - v3(-1.0, 0.0, 0.0)).length() < 1e-2, "{u:?} {v:?}");
    }
}
