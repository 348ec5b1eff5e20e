//! A solid somewhere in the world.

use super::solid::Solid;
use crate::scene::geometry::Vec3;

/// A solid in the world: a unit solid, scaled by `radius`, turned about Z, then moved.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    pub solid: &'a Solid,
    pub radius: f64,
    pub position: Vec3,
    /// Cosine and sine of the turn about Z.
    pub turn: [f64; 2],
}

impl Body<'_> {
    /// Radius of the upright cylinder about the body's axis that holds it.
    #[inline]
    pub fn reach(&self) -> f64 {
        self.radius * self.solid.reach()
    }
}
