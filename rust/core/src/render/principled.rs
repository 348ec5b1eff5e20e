//! A material of base color, metallic and roughness, as Cycles' principled shader has it: a metal, and a matte
//! ground under a clear coat.
//!
//! What a microfacet reflects depends on the angle at which light meets it; here each lobe has the mean of that
//! over its microfacets, by the angle at which the surface is seen.

use super::lanes::Real;
use super::material::{Distribution, Kind, Lobe, Lobes, fresnel};
use super::surface::{Color, Surface};
use super::vector::{V3, v3};
use serde::Deserialize;

/// Of the coat: Cycles' default.
const IOR: f32 = 1.5;
/// Angles to the viewer, by their cosines from 0 to 1, for which means are kept.
const ANGLES: usize = 33;
/// Microfacets of a mean, along each side of a square.
const SIDE: u32 = 16;

#[derive(Clone, Debug, Deserialize)]
struct Spec {
    color: Color,
    metallic: f32,
    roughness: f32,
}

/// The material, with its means.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "Spec")]
pub struct Principled {
    spec: Spec,
    /// What the coat reflects, by the cosine to the viewer.
    coat: [f32; ANGLES],
    /// By which share a metal's reflection is white, likewise.
    white: [f32; ANGLES],
}

impl From<Spec> for Principled {
    fn from(spec: Spec) -> Self {
        let alpha = spec.roughness * spec.roughness;
        let schlick = |cos: f32| {
            let away = 1.0 - cos.clamp(0.0, 1.0);
            away * away * away * away * away
        };
        let coat = std::array::from_fn(|i| mean_over_facets(i, alpha, |cos| fresnel(cos, IOR)));
        let white = std::array::from_fn(|i| mean_over_facets(i, alpha, schlick));
        Self { spec, coat, white }
    }
}

impl Principled {
    /// How many lobes it has at most.
    pub const LOBES: usize = 3;

    /// Whether it shows what is around it.
    pub fn mirrors(&self) -> bool {
        self.spec.metallic > 0.0 || self.spec.roughness < 0.25
    }

    /// Adds the lobes of a surface seen at `cos_v` to its normal.
    pub fn weighted<F: Real>(&self, surface: &Surface<F>, cos_v: F, weight: F, lobes: &mut Lobes<F>) {
        let all = F::all;
        let color = V3::all(self.spec.color.on(surface));
        let white_light = V3::all(V3::ONE);
        let metallic = self.spec.metallic;
        let (metal, ground) = (weight * all(metallic), weight * all(1.0 - metallic));
        let alpha = all((self.spec.roughness * self.spec.roughness).max(surface.least_alpha));
        let y = surface.normal.cross(surface.tangent).unit();
        let x = y.cross(surface.normal);
        let kind = Kind::Glossy { distribution: Distribution::Ggx, alpha_x: alpha, alpha_y: alpha, x, y };
        if metallic > 0.0 {
            let white = cos_v.each(|cos| at(&self.white, cos));
            lobes.push(Lobe { weight: (color * (all(1.0) - white) + white_light * white) * metal, kind });
        }
        if metallic < 1.0 {
            let coat = cos_v.each(|cos| at(&self.coat, cos));
            lobes.push(Lobe { weight: color * (ground * (all(1.0) - coat)), kind: Kind::Diffuse });
            lobes.push(Lobe { weight: white_light * (ground * coat), kind });
        }
    }
}

/// A mean for an angle between those that are kept.
#[inline]
fn at(means: &[f32; ANGLES], cos_v: f32) -> f32 {
    let place = cos_v.clamp(0.0, 1.0) * (ANGLES - 1) as f32;
    let i = (place as usize).min(ANGLES - 2);
    means[i] + (means[i + 1] - means[i]) * (place - i as f32)
}

/// The mean of what microfacets reflect by the cosine at which light meets them, as far as the viewer sees them.
fn mean_over_facets(angle: usize, alpha: f32, reflected: impl Fn(f32) -> f32) -> f32 {
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
        let (value, density) = lobes.evaluate(n, v, l);
        if density > 0.0 {
            let seen = value.x / density;
            sum += seen * reflected(v.dot((v + l).unit()));
            total += seen;
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
        shader.lobes(&Surface { normal, tangent, color: V3::ONE, least_alpha: 0.0 }, cos_v)
    }

    #[test]
    fn a_metal_is_colored_from_the_front_and_white_from_the_side() {
        let [front, side] = [1.0, 0.02].map(|cos_v| lobes(1.0, 0.2, cos_v)[0].weight);
        assert!((front.x - 0.5).abs() < 0.01 && (front.z - 0.1).abs() < 0.01, "{front:?}");
        assert!(side.z > 0.5 && side.z < side.x, "{side:?}");
    }

    #[test]
    fn a_coat_takes_what_it_reflects_from_the_ground() {
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
