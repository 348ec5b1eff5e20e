//! Rough diffuse surfaces, by the formulas of Cycles' diffuse BSDF.
//!
//! The Oren-Nayar model in Fujii's form, with multiple scattering between facets added so that no energy is lost
//! (Portsmouth, Kutz and Hill 2025). Cycles multiplies that term by the colour once more than the paper does.

use super::vector::V3;
use std::f32::consts::{FRAC_1_PI, PI};

/// A rough diffuse BSDF, expressed relative to a Lambertian one of the same albedo.
#[derive(Clone, Copy, Debug)]
pub struct Rough {
    /// Colour of the facets.
    color: V3,
    /// Albedo under uniform illumination.
    pub albedo: V3,
    roughness: f32,
    /// Single scattering of a white surface along its normal.
    single_at_normal: f32,
    /// Single-scattering albedo of a white surface under uniform illumination.
    single_mean: f32,
    /// Weight of multiple scattering between facets.
    multiple: V3,
}

impl Rough {
    /// The roughness is from 0 to 1.
    pub fn new(color: V3, roughness: f32) -> Self {
        let single_at_normal = 1.0 / (1.0 + (0.5 - 2.0 / (3.0 * PI)) * roughness);
        let single_mean = single_at_normal * (1.0 + (2.0 / 3.0 - 28.0 / (15.0 * PI)) * roughness);
        let lost = 1.0 - single_mean;
        let multiple = |color: f32| color * color * color * single_mean / (1.0 - color * lost);
        let multiple = V3 { x: multiple(color.x), y: multiple(color.y), z: multiple(color.z) };
        Self {
            color,
            albedo: color * single_mean + multiple * lost,
            roughness,
            single_at_normal,
            single_mean,
            multiple,
        }
    }

    /// Reflection from `l` towards `v`, as a multiple of what a Lambertian surface of the same albedo reflects.
    pub fn lambert_ratio(&self, n: V3, v: V3, l: V3) -> V3 {
        let (cos_v, cos_l) = (n.dot(v).max(0.0), n.dot(l).max(0.0));
        let s = l.dot(v) - cos_l * cos_v;
        let s = if s > 0.0 { s / cos_l.max(cos_v).max(1e-6) } else { s };
        let once = self.single_at_normal * (1.0 + self.roughness * s);
        let lost = (1.0 - self.single_albedo(cos_v)) * (1.0 - self.single_albedo(cos_l)) / (1.0 - self.single_mean);
        self.per_albedo(self.color * once + self.multiple * lost)
    }

    /// As `lambert_ratio`, under uniform illumination.
    pub fn uniform_lambert_ratio(&self, n: V3, v: V3) -> V3 {
        let once = self.single_albedo(n.dot(v).max(0.0));
        self.per_albedo(self.color * once + self.multiple * (1.0 - once))
    }

    /// Single-scattering albedo of a white surface under light from one direction.
    fn single_albedo(&self, cos: f32) -> f32 {
        let sin = (1.0 - cos * cos).max(0.0).sqrt();
        let angle = libm::acosf(cos.min(1.0));
        let far = if cos > 1e-6 { 2.0 / 3.0 * sin / cos * (1.0 - sin * sin * sin) } else { 0.0 };
        let g = sin * (angle - 2.0 / 3.0 - sin * cos) + far;
        self.single_at_normal * (1.0 + self.roughness * g * FRAC_1_PI)
    }

    fn per_albedo(&self, light: V3) -> V3 {
        let per = |light: f32, albedo: f32| if albedo > 0.0 { light / albedo } else { 1.0 };
        V3 { x: per(light.x, self.albedo.x), y: per(light.y, self.albedo.y), z: per(light.z, self.albedo.z) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::lanes::sin_cos_turns;
    use crate::render::vector::v3;

    /// The mean of `lambert_ratio` over the hemisphere of `l`, weighted by the cosine.
    fn sum(rough: &Rough, v: V3) -> V3 {
        const STEPS: usize = 200;
        let n = v3(0.0, 0.0, 1.0);
        let mut sum = V3::ZERO;
        for i in 0..STEPS {
            for j in 0..STEPS {
                let r = ((i as f32 + 0.5) / STEPS as f32).sqrt();
                let [sin, cos] = sin_cos_turns((j as f32 + 0.5) / STEPS as f32);
                sum += rough.lambert_ratio(n, v, v3(r * cos, r * sin, (1.0 - r * r).sqrt()));
            }
        }
        sum / (STEPS * STEPS) as f32
    }

    #[test]
    fn the_ratio_under_uniform_light_is_the_mean_over_the_hemisphere() {
        let rough = Rough::new(v3(0.2, 0.5, 1.0), 0.7);
        for v in [v3(0.0, 0.0, 1.0), v3(0.6, 0.0, 0.8), v3(0.96, 0.0, 0.28)] {
            let (sum, uniform) = (sum(&rough, v), rough.uniform_lambert_ratio(v3(0.0, 0.0, 1.0), v));
            assert!((sum - uniform).length() < 0.01, "{v:?}: {sum:?} {uniform:?}");
        }
    }

    #[test]
    fn a_white_surface_loses_nothing_and_a_smooth_one_is_lambertian() {
        let white = Rough::new(V3::ONE, 1.0);
        assert!((white.albedo - V3::ONE).length() < 1e-5);
        let smooth = Rough::new(v3(0.3, 0.6, 0.9), 1e-6);
        let ratio = smooth.lambert_ratio(v3(0.0, 0.0, 1.0), v3(0.6, 0.0, 0.8), v3(0.0, 0.96, 0.28));
        assert!((ratio - V3::ONE).length() < 1e-3, "{ratio:?}");
    }
}
