//! A map of the ground around the bodies: what rays that come from bodies see there.

use crate::render::stage::MOST_LIGHTS;
use crate::render::vector::V3;

/// Radiance of the ground, the light that reaches it indirectly, and the bodies that may hide lights from it, over a
/// square of the world's x and y; nothing, by default, for a stage without bodies.
#[derive(Default)]
pub struct Near {
    pub(super) radiance: Table,
    pub(super) indirect: Table,
    pub(super) hiders: Hiders,
}

impl Near {
    /// Light that reaches the ground by way of bodies and the rest of the ground; None beyond the map.
    #[inline(always)]
    pub fn indirect(&self, x: f32, y: f32) -> Option<V3> {
        self.indirect.blend(x, y)
    }

    /// The bodies, as bits, that may hide a light, by its number, from a place of the ground; None beyond the map.
    #[inline(always)]
    pub fn hiders(&self, x: f32, y: f32, light: usize) -> Option<u64> {
        let Grid { start, per_unit, side } = self.hiders.grid;
        let (x, y) = ((x - start[0]) * per_unit, (y - start[1]) * per_unit);
        let end = side as f32 - 1.0;
        let is_within = x >= 0.0 && y >= 0.0 && x < end && y < end;
        is_within.then(|| self.hiders.bodies[x as usize * side + y as usize][light])
    }

    /// The ground's radiance; None beyond the map.
    #[inline(always)]
    pub fn radiance(&self, x: f32, y: f32) -> Option<V3> {
        self.radiance.blend(x, y)
    }
}

/// The points of a table: `side` along x and as many along y.
#[derive(Clone, Copy, Default)]
pub(super) struct Grid {
    pub start: [f32; 2],
    pub per_unit: f32,
    pub side: usize,
}

impl Grid {
    pub fn new(start: [f32; 2], length: f32, side: usize) -> Self {
        Self { start, per_unit: (side - 1) as f32 / length, side }
    }
}

/// Of the square that follows each point of a grid, for each light the bodies, as bits, that may hide it from a place there.
#[derive(Default)]
pub(super) struct Hiders {
    pub grid: Grid,
    pub bodies: Vec<[u64; MOST_LIGHTS]>,
}

/// Light at the points of a grid.
#[derive(Default)]
pub(super) struct Table {
    grid: Grid,
    light: Vec<V3>,
    /// 0 under a body.
    valid: Vec<f32>,
}

impl Table {
    /// Point by point, by column and row; None under a body.
    pub fn new(grid: Grid, light: impl Iterator<Item = Option<V3>>) -> Self {
        let (light, valid) =
            light.map(|light| (light.unwrap_or_default(), f32::from(u8::from(light.is_some())))).unzip();
        Self { grid, light, valid }
    }

    /// Between the four points about a place; None beyond the grid.
    #[inline(always)]
    fn blend(&self, x: f32, y: f32) -> Option<V3> {
        let Grid { start, per_unit, side } = self.grid;
        let (x, y) = ((x - start[0]) * per_unit, (y - start[1]) * per_unit);
        let most = side as f32 - 1.001;
        if !(x >= 0.0 && y >= 0.0 && x < most && y < most) {
            return None;
        }
        let (column, row) = (x as usize, y as usize);
        let (u, v) = (x - column as f32, y - row as f32);
        let first = column * side + row;
        let second = first + side;
        let (light, valid) = (&self.light, &self.valid);
        let a = (1.0 - u) * (1.0 - v) * valid[first];
        let b = (1.0 - u) * v * valid[first + 1];
        let c = u * (1.0 - v) * valid[second];
        let d = u * v * valid[second + 1];
        let sum = light[first] * a + light[first + 1] * b + light[second] * c + light[second + 1] * d;
        let total = a + b + c + d;
        Some(if total > 1e-4 { sum / total } else { V3::ZERO })
    }
}
