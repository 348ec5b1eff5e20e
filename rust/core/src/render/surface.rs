//! What the lobes of a place on an object depend on.

use super::vector::V3;
use serde::Deserialize;

/// Linear RGB, or "object": the colour of the object that wears the material.
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
    /// The linear color that a surface has.
    #[inline]
    pub fn on<F>(&self, surface: &Surface<F>) -> V3 {
        match self {
            Self::Of(Owner::Object) => surface.color,
            Self::Rgb(color) => V3::from_f64(*color),
        }
    }
}

/// What a surface's lobes depend on.
#[derive(Clone, Copy, Debug)]
pub struct Surface<F = f32> {
    /// Shading normal, length 1.
    pub normal: V3<F>,
    /// Runs around the object's axis, along the surface; any length above 0.
    pub tangent: V3<F>,
    /// Of the object, linear RGB.
    pub color: V3,
    /// Glossy lobes are no narrower than this.
    pub least_alpha: f32,
}
