//! Rough matte surfaces, by the formulas of Cycles' diffuse shader.
//!
//! Oren and Nayar's surface in Fujii's form, with the light that facets throw at each other added so that none is lost
//! (Portsmouth, Kutz and Hill 2025). Cycles weighs that light by the colour once more than the paper does.

use super::vector::V3;
use std::f32::consts::{FRAC_1_PI, PI};

/// What distinguishes a rough matte surface from one that scatters evenly.
#[derive(Clone, Copy, Debug)]
pub struct Rough {
    /// Colour of the facets.
    color: V3,
    /// Albedo under light from everywhere.
    pub albedo: V3,
    roughness: f32,
    /// What facets throw back at once along the normal of a white surface.
    along_normal: f32,
    /// Albedo of a white surface without light from facet to facet, under light from everywhere.
    mean: f32,
    /// Weight of the light from facet to facet.
    again: V3,
}

impl Rough {
    /// A surface of a roughness from 0 to 1.
    pub fn new(color: V3, roughness: f32) -> Self {
        let along_normal = 1.0 / (1.0 + (0.5 - 2.0 / (3.0 * PI)) * roughness);
        let mean = along_normal * (1.0 + (2.0 / 3.0 - 28.0 / (15.0 * PI)) * roughness);
        let lost = 1.0 - mean;
        let again = |color: f32| color * color * color * mean / (1.0 - color * lost);
        let again = V3 { x: again(color.x), y: again(color.y), z: again(color.z) };
        Self { color, albedo: color * mean + again * lost, roughness, along_normal, mean, again }
    }

    /// What comes back of light from `l` towards `v`, as a multiple of what an even surface of the albedo throws back.
    pub fn share(&self, n: V3, v: V3, l: V3) -> V3 {
        let (cos_v, cos_l) = (n.dot(v).max(0.0), n.dot(l).max(0.0));
        let s = l.dot(v) - cos_l * cos_v;
        let s = if s > 0.0 { s / cos_l.max(cos_v).max(1e-6) } else { s };
        let once = self.along_normal * (1.0 + self.roughness * s);
        let lost = (1.0 - self.at_once(cos_v)) * (1.0 - self.at_once(cos_l)) / (1.0 - self.mean);
        self.per_albedo(self.color * once + self.again * lost)
    }

    /// As `share`, of light that comes evenly from everywhere.
    pub fn even_share(&self, n: V3, v: V3) -> V3 {
        let once = self.at_once(n.dot(v).max(0.0));
        self.per_albedo(self.color * once + self.again * (1.0 - once))
    }

    /// Albedo of a white surface without light from facet to facet, under light from one direction.
    fn at_once(&self, cos: f32) -> f32 {
        let sin = (1.0 - cos * cos).max(0.0).sqrt();
        let angle = libm::acosf(cos.min(1.0));
        let far = if cos > 1e-6 { 2.0 / 3.0 * sin / cos * (1.0 - sin * sin * sin) } else { 0.0 };
        let g = sin * (angle - 2.0 / 3.0 - sin * cos) + far;
        self.along_normal * (1.0 + self.roughness * g * FRAC_1_PI)
    }

    fn per_albedo(&self, light: V3) -> V3 {
        let per = |light: f32, albedo: f32| if albedo > 0.0 { light / albedo } else { 1.0 };
        V3 { x: per(light.x, self.albedo.x), y: per(light.y, self.albedo.y), z: per(light.z, self.albedo.z) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::lanes::turn;
    use crate::render::vector::v3;

    /// Sums over directions `l` of the sphere's upper half: their shares, weighed as an even surface weighs them.
    fn sum(rough: &Rough, v: V3) -> V3 {
        const STEPS: usize = 200;
        let n = v3(0.0, 0.0, 1.0);
        let mut sum = V3::ZERO;
        for i in 0..STEPS {
            for j in 0..STEPS {
                let r = ((i as f32 + 0.5) / STEPS as f32).sqrt();
                let [sin, cos] = turn((j as f32 + 0.5) / STEPS as f32);
                sum += rough.share(n, v, v3(r * cos, r * sin, (1.0 - r * r).sqrt()));
            }
        }
        sum / (STEPS * STEPS) as f32
    }

    #[test]
    fn shares_add_up_to_those_of_even_light() {
        let rough = Rough::new(v3(0.2, 0.5, 1.0), 0.7);
        for v in [v3(0.0, 0.0, 1.0), v3(0.6, 0.0, 0.8), v3(0.96, 0.0, 0.28)] {
            let (sum, even) = (sum(&rough, v), rough.even_share(v3(0.0, 0.0, 1.0), v));
            assert!((sum - even).length() < 0.01, "{v:?}: {sum:?} {even:?}");
        }
    }

    #[test]
    fn a_white_surface_loses_nothing_and_a_smooth_one_scatters_evenly() {
        let white = Rough::new(V3::ONE, 1.0);
        assert!((white.albedo - V3::ONE).length() < 1e-5);
        let smooth = Rough::new(v3(0.3, 0.6, 0.9), 1e-6);
        let share = smooth.share(v3(0.0, 0.0, 1.0), v3(0.6, 0.0, 0.8), v3(0.0, 0.96, 0.28));
        assert!((share - V3::ONE).length() < 1e-3, "{share:?}");
    }
}
