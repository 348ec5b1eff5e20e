//! The inputs of a material's BSDF at a shading point.

use super::vector::V3;
use serde::Deserialize;

/// Linear RGB, or "object": the colour of the object that has the material.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Color {
    Of(Owner),
    Rgb([f64; 3]),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    Object,
}

impl Color {
    /// The linear RGB colour on a surface.
    #[inline]
    pub fn on<F>(&self, surface: &Surface<F>) -> V3 {
        match self {
            Self::Of(Owner::Object) => surface.color,
            Self::Rgb(color) => V3::from_f64(*color),
        }
    }
}

/// A shading point, as its material's lobes need it.
#[derive(Clone, Copy, Debug)]
pub struct Surface<F = f32> {
    /// Shading normal, of length 1.
    pub normal: V3<F>,
    /// Points around the object's vertical axis, as Blender's default tangent does; of any length above 0.
    pub tangent: V3<F>,
    /// The object's colour, linear RGB.
    pub color: V3,
    /// Glossy lobes get at least this alpha (Cycles' "filter glossy").
    pub min_alpha: f32,
}
