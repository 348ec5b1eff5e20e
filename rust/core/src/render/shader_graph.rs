//! A material's shader graph, as the look describes it, and the BSDF lobes that it evaluates to.

use super::lanes::Real;
use super::material::{Distribution, Kind, Lobe, Lobes, fresnel};
use super::principled::Principled;
use super::surface::{Color, Surface};
use super::vector::V3;
use serde::Deserialize;

/// A tree of shader nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub enum Shader {
    /// `first` has weight `1 - factor`, `second` has weight `factor`.
    Mix {
        factor: Factor,
        first: Box<Shader>,
        second: Box<Shader>,
    },
    Diffuse {
        color: Color,
        roughness: f32,
    },
    Sheen {
        color: Color,
        sigma: f32,
    },
    Glossy {
        distribution: Distribution,
        color: Color,
        roughness: f32,
        #[serde(default)]
        anisotropy: f32,
    },
    Principled(Box<Principled>),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Factor {
    Constant(f32),
    Fresnel { fresnel_ior: f32 },
}

impl Shader {
    /// The lobes of a surface seen at cosine `cos_v` to its normal.
    #[inline(always)]
    pub fn lobes<F: Real>(&self, surface: &Surface<F>, cos_v: F) -> Lobes<F> {
        let mut lobes = Lobes::default();
        self.add_lobes(surface, cos_v, F::splat(1.0), &mut lobes);
        lobes
    }

    /// Number of lobes, or an upper bound of it.
    pub fn count(&self) -> usize {
        match self {
            Self::Mix { first, second, .. } => first.count() + second.count(),
            Self::Principled(_) => Principled::LOBES,
            _ => 1,
        }
    }

    /// Whether some lobe reflects like a metal, so that surroundings are visible in it.
    pub fn is_metal(&self) -> bool {
        match self {
            Self::Mix { first, second, .. } => first.is_metal() || second.is_metal(),
            Self::Glossy { distribution, .. } => *distribution == Distribution::Ggx,
            Self::Principled(principled) => principled.mirrors(),
            _ => false,
        }
    }

    fn add_lobes<F: Real>(&self, surface: &Surface<F>, cos_v: F, weight: F, lobes: &mut Lobes<F>) {
        let mut add = |color: &Color, kind| lobes.push(Lobe { weight: V3::splat(color.on(surface)) * weight, kind });
        match self {
            Self::Mix { factor, first, second } => {
                let factor = match *factor {
                    Factor::Constant(factor) => F::splat(factor),
                    Factor::Fresnel { fresnel_ior } => fresnel(cos_v, fresnel_ior),
                };
                first.add_lobes(surface, cos_v, weight * (F::splat(1.0) - factor), lobes);
                second.add_lobes(surface, cos_v, weight * factor, lobes);
            }
            Self::Diffuse { color, .. } => add(color, Kind::Diffuse),
            Self::Sheen { color, sigma } => add(color, Kind::Sheen { sigma: *sigma }),
            Self::Glossy { distribution, color, roughness, anisotropy } => {
                let alpha = roughness * roughness;
                let y = surface.normal.cross(surface.tangent).unit();
                let x = y.cross(surface.normal);
                let alpha_x = F::splat((alpha * (1.0 - anisotropy)).max(surface.min_alpha));
                let alpha_y = F::splat((alpha / (1.0 - anisotropy)).max(surface.min_alpha));
                add(color, Kind::Glossy { distribution: *distribution, alpha_x, alpha_y, x, y });
            }
            Self::Principled(principled) => principled.add_lobes(surface, cos_v, weight, lobes),
        }
    }
}
