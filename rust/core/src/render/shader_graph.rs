//! A material's shader graph as the look writes it, and the lobes that it gives a surface.

use super::lanes::Real;
use super::material::{Distribution, Kind, Lobe, Lobes, fresnel};
use super::principled::Principled;
use super::surface::{Color, Surface};
use super::vector::V3;
use serde::Deserialize;

/// Nested nodes.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub enum Shader {
    /// The second weighs `factor`, the first what is left.
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
    /// The lobes of a surface seen at `cos_v` to its normal.
    #[inline(always)]
    pub fn lobes<F: Real>(&self, surface: &Surface<F>, cos_v: F) -> Lobes<F> {
        let mut lobes = Lobes::default();
        self.weighted(surface, cos_v, F::all(1.0), &mut lobes);
        lobes
    }

    /// How many lobes there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Mix { first, second, .. } => first.count() + second.count(),
            Self::Principled(_) => Principled::LOBES,
            _ => 1,
        }
    }

    /// Whether it mirrors: some lobe is a metal's.
    pub fn is_metal(&self) -> bool {
        match self {
            Self::Mix { first, second, .. } => first.is_metal() || second.is_metal(),
            Self::Glossy { distribution, .. } => *distribution == Distribution::Ggx,
            Self::Principled(principled) => principled.mirrors(),
            _ => false,
        }
    }

    fn weighted<F: Real>(&self, surface: &Surface<F>, cos_v: F, weight: F, lobes: &mut Lobes<F>) {
        let mut add = |color: &Color, kind| lobes.push(Lobe { weight: V3::all(color.on(surface)) * weight, kind });
        match self {
            Self::Mix { factor, first, second } => {
                let factor = match *factor {
                    Factor::Constant(factor) => F::all(factor),
                    Factor::Fresnel { fresnel_ior } => fresnel(cos_v, fresnel_ior),
                };
                first.weighted(surface, cos_v, weight * (F::all(1.0) - factor), lobes);
                second.weighted(surface, cos_v, weight * factor, lobes);
            }
            Self::Diffuse { color, .. } => add(color, Kind::Diffuse),
            Self::Sheen { color, sigma } => add(color, Kind::Sheen { sigma: *sigma }),
            Self::Glossy { distribution, color, roughness, anisotropy } => {
                let alpha = roughness * roughness;
                let y = surface.normal.cross(surface.tangent).unit();
                let x = y.cross(surface.normal);
                let alpha_x = F::all((alpha * (1.0 - anisotropy)).max(surface.least_alpha));
                let alpha_y = F::all((alpha / (1.0 - anisotropy)).max(surface.least_alpha));
                add(color, Kind::Glossy { distribution: *distribution, alpha_x, alpha_y, x, y });
            }
            Self::Principled(principled) => principled.weighted(surface, cos_v, weight, lobes),
        }
    }
}
