//! Cycles' Principled BSDF with base colour, metallic and roughness: a metal, and a diffuse base under a clear coat.
//!
//! Fresnel reflection depends on the angle at which light meets a microfacet. Here each lobe has the mean over its
//! visible microfacets instead, tabulated by the cosine to the viewer.

use super::lanes::Real;
use super::material::{Distribution, Kind, Lobe, Lobes, fresnel};
use super::surface::{Color, Surface};
use super::vector::{V3, v3};
use serde::Deserialize;

/// Index of refraction of the coat: Cycles' default.
const IOR: f32 = 1.5;
/// Entries of a table, over cosines to the viewer from 0 to 1.
const ANGLES: usize = 33;
/// A mean is over this many microfacets squared.
const SIDE: u32 = 16;

#[derive(Clone, Debug, Deserialize)]
struct Spec {
    color: Color,
    metallic: f32,
    roughness: f32,
}

/// The material, with its tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Spec")]
pub struct Principled {
    spec: Spec,
    /// Reflectance of the coat, by the cosine to the viewer.
    coat: [f32; ANGLES],
    /// Weight of white in a metal's reflection (Schlick's Fresnel term), by the cosine to the viewer.
    white: [f32; ANGLES],
}

impl From<Spec> for Principled {
    fn from(spec: Spec) -> Self {
        let alpha = spec.roughness * spec.roughness;
        let schlick = |cos: f32| {
            let away = 1.0 - cos.clamp(0.0, 1.0);
            away * away * away * away * away
        };
        let coat = std::array::from_fn(|i| mean_over_microfacets(i, alpha, |cos| fresnel(cos, IOR)));
        let white = std::array::from_fn(|i| mean_over_microfacets(i, alpha, schlick));
        Self { spec, coat, white }
    }
}

impl Principled {
    /// Largest number of lobes.
    pub const LOBES: usize = 3;

    /// Whether it reflects its surroundings visibly.
    pub fn mirrors(&self) -> bool {
        self.spec.metallic > 0.0 || self.spec.roughness < 0.25
    }

    /// Adds the lobes of a surface seen at cosine `cos_v` to its normal.
    pub fn add_lobes<F: Real>(&self, surface: &Surface<F>, cos_v: F, weight: F, lobes: &mut Lobes<F>) {
        let all = F::splat;
        let color = V3::splat(self.spec.color.on(surface));
        let white_light = V3::splat(V3::ONE);
        let metallic = self.spec.metallic;
        let (metal, base) = (weight * all(metallic), weight * all(1.0 - metallic));
        let alpha = all((self.spec.roughness * self.spec.roughness).max(surface.min_alpha));
        let y = surface.normal.cross(surface.tangent).unit();
        let x = y.cross(surface.normal);
        let kind = Kind::Glossy { distribution: Distribution::Ggx, alpha_x: alpha, alpha_y: alpha, x, y };
        if metallic > 0.0 {
            let white = cos_v.map(|cos| interpolate(&self.white, cos));
            lobes.push(Lobe { weight: (color * (all(1.0) - white) + white_light * white) * metal, kind });
        }
        if metallic < 1.0 {
            let coat = cos_v.map(|cos| interpolate(&self.coat, cos));
            lobes.push(Lobe { weight: color * (base * (all(1.0) - coat)), kind: Kind::Diffuse });
            lobes.push(Lobe { weight: white_light * (base * coat), kind });
        }
    }
}

/// Linear interpolation in a table.
#[inline]
fn interpolate(table: &[f32; ANGLES], cos_v: f32) -> f32 {
    let position = cos_v.clamp(0.0, 1.0) * (ANGLES - 1) as f32;
    let i = (position as usize).min(ANGLES - 2);
    table[i] + (table[i + 1] - table[i]) * (position - i as f32)
}

/// The mean of `reflected`, by the cosine at which light meets a microfacet, over the microfacets that the viewer sees.
fn mean_over_microfacets(angle: usize, alpha: f32, reflected: impl Fn(f32) -> f32) -> f32 {
    let cos = (angle as f32 / (ANGLES - 1) as f32).max(1e-3);
    let (n, v) = (v3(0.0, 0.0, 1.0), v3((1.0 - cos * cos).sqrt(), 0.0, cos));
    let (x, y) = (v3(1.0, 0.0, 0.0), v3(0.0, 1.0, 0.0));
    let mut lobes = Lobes::default();
    let kind = Kind::Glossy { distribution: Distribution::Ggx, alpha_x: alpha, alpha_y: alpha, x, y };
    lobes.push(Lobe { weight: V3::ONE, kind });
    let (mut sum, mut total) = (0.0, 0.0);
    for i in 0..SIDE * SIDE {
        let u = [i / SIDE, i % SIDE].map(|k| (k as f32 + 0.5) / SIDE as f32);
        let l = lobes[0].sample(n, v, u);
        let (value, pdf) = lobes.evaluate(n, v, l);
        if pdf > 0.0 {
            let weight = value.x / pdf;
            sum += weight * reflected(v.dot((v + l).unit()));
            total += weight;
        }
    }
    if total > 0.0 { sum / total } else { reflected(cos) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::shader_graph::Shader;

    fn lobes(metallic: f32, roughness: f32, cos_v: f32) -> Lobes {
        let json = format!(
            r#"{{"node": "principled", "color": [0.5, 0.2, 0.1], "metallic": {metallic}, "roughness": {roughness}}}"#
        );
        let shader: Shader = serde_json::from_str(&json).unwrap();
        let (normal, tangent) = (v3(0.0, 0.0, 1.0), v3(1.0, 0.0, 0.0));
        shader.lobes(&Surface { normal, tangent, color: V3::ONE, min_alpha: 0.0 }, cos_v)
    }

    #[test]
    fn a_metal_is_colored_from_the_front_and_white_from_the_side() {
        let [front, side] = [1.0, 0.02].map(|cos_v| lobes(1.0, 0.2, cos_v)[0].weight);
        assert!((front.x - 0.5).abs() < 0.01 && (front.z - 0.1).abs() < 0.01, "{front:?}");
        assert!(side.z > 0.5 && side.z < side.x, "{side:?}");
    }

    #[test]
    fn what_the_coat_reflects_does_not_reach_the_base() {
        let front = lobes(0.0, 0.3, 1.0);
        assert!((front[1].weight.x - 0.04).abs() < 0.004, "{:?}", front[1].weight);
        for cos_v in [1.0, 0.5, 0.1] {
            let lobes = lobes(0.0, 0.3, cos_v);
            assert_eq!(lobes.len(), 2);
            assert!((lobes[0].weight.x - 0.5 * (1.0 - lobes[1].weight.x)).abs() < 1e-6);
        }
        assert_eq!(lobes(0.4, 0.3, 0.5).len(), Principled::LOBES);
    }
}
