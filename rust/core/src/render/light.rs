//! Lights of the look: where they shine from, and how strongly.

use super::lanes::Real;
use super::sheet::Sheet;
use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::PI;

/// Most places on a light that stand for it at a point.
const MOST_PLACES: u32 = 6;
/// Where Gauss's rule of two points has them in -1..1.
const GAUSS: f32 = 0.577_350_26;

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
pub struct Sample<F = f32> {
    pub direction: V3<F>,
    pub distance: F,
    /// Over the solid angle.
    pub density: F,
}

impl LightSpec {
    /// The light, moved to `location` if one is given.
    pub fn at(&self, location: Option<[f64; 3]>) -> Light {
        match self {
            Self::Area { location: usual, target, size, power_w, color } => {
                let center = V3::from_f64(location.unwrap_or(*usual));
                let axis = (V3::from_f64(*target) - center).unit();
                // As Blender tracks: the square's y side is turned towards +Z.
                let is_upright = axis.x.abs() + axis.y.abs() < 1e-4;
                let right = if is_upright { v3(-axis.z, 0.0, 0.0) } else { axis.cross(v3(0.0, 0.0, 1.0)).unit() };
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
        let (sample, is_lit) = self.samples(point, u);
        is_lit.then_some(sample)
    }

    /// As `sample`, for several points; and where the light shines.
    #[inline(always)]
    pub fn samples<F: Real>(&self, point: V3<F>, u: [F; 2]) -> (Sample<F>, F::Mask) {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, .. } => {
                let (two, one) = (F::all(2.0), F::all(1.0));
                let right = V3::all(half_u) * (two * u[0] - one);
                let offset = V3::all(center) + right + V3::all(half_v) * (two * u[1] - one) - point;
                let distance = offset.length();
                let direction = offset / distance;
                let cos = -V3::all(axis).dot(direction);
                let density = distance * distance / (F::all(area) * cos);
                (Sample { direction, distance, density }, cos.is_positive())
            }
            Self::Sun { toward, u: right, v: up, radius, .. } => {
                let r = F::all(radius) * u[0].sqrt();
                let [sin, cos] = u[1].turn();
                let direction = V3::all(toward) + V3::all(right) * (r * cos) + V3::all(up) * (r * sin);
                let length = direction.length();
                let density = length * length * length / F::all(PI * radius * radius);
                let distance = F::all(f32::INFINITY);
                (Sample { direction: direction / length, distance, density }, F::default().is_less(length))
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
    /// For an area from two places on it: those of Gauss's rule, on a diagonal. For a light that looks large from here, the other
    /// diagonal counts too.
    #[inline]
    pub fn flux(&self, point: V3) -> V3 {
        self.flux_of(point, self.places(point) > 1)
    }

    #[inline(always)]
    fn flux_of<F: Real>(&self, point: V3<F>, is_large: bool) -> V3<F> {
        match *self {
            Self::Area { center, half_u, half_v, axis, area, .. } => {
                let part = |place: V3| {
                    let offset = V3::all(place) - point;
                    let distance2 = offset.dot(offset);
                    offset * ((-V3::all(axis).dot(offset)).most(F::default()) / (distance2 * distance2))
                };
                let along = |diagonal: V3| part(center - diagonal * GAUSS) + part(center + diagonal * GAUSS);
                let first = along(half_u + half_v);
                if is_large {
                    (first + along(half_u - half_v)) * F::all(0.25 * area)
                } else {
                    first * F::all(0.5 * area)
                }
            }
            Self::Sun { toward, radius, .. } => V3::all(toward * (PI * radius * radius / (1.0 + radius * radius))),
        }
    }

    /// How many places on the light stand for it at a point: more if it fills much of the sky there. CLEVR's never do.
    #[inline]
    pub fn places(&self, point: V3) -> u32 {
        // Squares tell a light that looks small, without roots and divisions; others are told exactly.
        if let Self::Area { center, half_u, half_v, .. } = *self {
            let offset = center - point;
            if 16.0 * (half_u.dot(half_u) + half_v.dot(half_v)) < 0.99 * offset.dot(offset) {
                return 1;
            }
        }
        let (_, _, spread) = self.middle(point);
        ((8.0 * spread) as u32).clamp(1, MOST_PLACES)
    }

    /// What surfaces throw back of the light where nothing stands in the way, by their `value` for the mean
    /// direction of all light: for surfaces that throw much the same back from all places of the lamp.
    #[inline(always)]
    pub fn thrown_back<F: Real>(&self, point: V3<F>, value: impl Fn(V3<F>) -> V3<F>) -> V3<F> {
        let flux = self.flux_of(point, false);
        let strength = flux.length();
        let thrown = value(flux / strength).times(V3::all(self.color())) * strength;
        V3::select(strength.is_positive(), thrown, V3::default())
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

    /// Which share of the light the ground's rising end leaves in sight of a point above the ground.
    ///
    /// All of an area light, which is above the ground, too: what lies above it is convex.
    #[inline]
    pub fn above(&self, sheet: &Sheet, point: V3) -> f32 {
        match *self {
            Self::Area { .. } => 1.0,
            Self::Sun { toward, radius, .. } => 1.0 - sheet.hidden_share(point, toward, radius),
        }
    }

    /// Whether the ground's rising end hides a place on the light from a point above the ground.
    #[inline(always)]
    pub fn is_behind<F: Real>(&self, sheet: &Sheet, point: V3<F>, direction: V3<F>) -> F::Mask {
        let share = |lane| sheet.hidden_share(point.lane(lane), direction.lane(lane), 1e-6);
        let hidden = if matches!(self, Self::Sun { .. }) { F::of_lanes(share) } else { F::default() };
        F::all(0.5).is_less(hidden)
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
pub fn power<F: Real>(a: F, b: F) -> F {
    F::select(a.is_less(F::all(f32::INFINITY)), a * a / (a * a + b * b), F::all(1.0))
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
    fn lights_straight_above_and_below_their_target_lie_as_blenders_do() {
        assert_eq!(halves([0.0, 0.0, 5.0]), [v3(1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0)]);
        assert_eq!(halves([0.0, 0.0, -5.0]), [v3(-1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0)]);
        let [u, v] = halves([0.005, 0.0, 5.0]);
        assert!((u - v3(0.0, 1.0, 0.0)).length() < 1e-2 && (v - v3(-1.0, 0.0, 0.0)).length() < 1e-2, "{u:?} {v:?}");
    }
}
