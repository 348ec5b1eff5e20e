//! A map of the ground around the bodies: what rays that come from bodies see there.

use crate::render::vector::V3;

/// Radiance of the ground, and the light that reaches it indirectly, over a square of the world's x and y; nothing, by
/// default, for a stage without bodies.
#[derive(Default)]
pub struct Near {
    pub(super) start: [f32; 2],
    pub(super) per_unit: f32,
    pub(super) side: usize,
    pub(super) radiance: Vec<V3>,
    /// 0 under a body.
    pub(super) valid: Vec<f32>,
    pub(super) coarse: usize,
    pub(super) indirect: Vec<V3>,
    pub(super) coarse_valid: Vec<f32>,
}

impl Near {
    /// Light that reaches the ground by way of bodies and the rest of the ground; None beyond the map.
    #[inline(always)]
    pub fn indirect(&self, x: f32, y: f32) -> Option<V3> {
        self.blend(&self.indirect, &self.coarse_valid, self.coarse, self.per_unit, x, y)
    }

    /// The ground's radiance; None beyond the map.
    #[inline(always)]
    pub fn radiance(&self, x: f32, y: f32) -> Option<V3> {
        let per_unit = self.per_unit * (self.side as f32 - 1.0) / (self.coarse as f32 - 1.0);
        self.blend(&self.radiance, &self.valid, self.side, per_unit, x, y)
    }

    #[inline(always)]
    fn blend(&self, table: &[V3], valid: &[f32], side: usize, per_unit: f32, x: f32, y: f32) -> Option<V3> {
        let (x, y) = ((x - self.start[0]) * per_unit, (y - self.start[1]) * per_unit);
        let most = side as f32 - 1.001;
        if !(x >= 0.0 && y >= 0.0 && x < most && y < most) {
            return None;
        }
        let (column, row) = (x as usize, y as usize);
        let (u, v) = (x - column as f32, y - row as f32);
        let first = column * side + row;
        let second = first + side;
        let a = (1.0 - u) * (1.0 - v) * valid[first];
        let b = (1.0 - u) * v * valid[first + 1];
        let c = u * (1.0 - v) * valid[second];
        let d = u * v * valid[second + 1];
        let sum = table[first] * a + table[first + 1] * b + table[second] * c + table[second + 1] * d;
        let total = a + b + c + d;
        Some(if total > 1e-4 { sum / total } else { V3::ZERO })
    }
}
