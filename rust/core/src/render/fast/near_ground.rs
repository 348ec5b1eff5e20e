//! A radiance and irradiance map of the ground around the bodies, for secondary rays.

use crate::render::stage::MAX_LIGHTS;
use crate::render::vector::V3;

/// The ground's radiance, its indirect irradiance, and the bodies that may hide lights from it, over a square in the
/// world's x and y. The default is an empty map, for a stage without bodies.
#[derive(Default)]
pub struct NearGround {
    pub(super) radiance: Table,
    pub(super) indirect: Table,
    pub(super) occluders: OccluderMap,
}

impl NearGround {
    /// Irradiance by way of bodies and of the rest of the ground; None outside the map.
    #[inline(always)]
    pub fn indirect(&self, x: f32, y: f32) -> Option<V3> {
        self.indirect.blend(x, y)
    }

    /// The bodies, as bits, that may hide the light with this index from a point of the ground; None outside the map.
    #[inline(always)]
    pub fn occluders(&self, x: f32, y: f32, light: usize) -> Option<u64> {
        let Grid { start, per_unit, side } = self.occluders.grid;
        let (x, y) = ((x - start[0]) * per_unit, (y - start[1]) * per_unit);
        let end = side as f32 - 1.0;
        let is_within = x >= 0.0 && y >= 0.0 && x < end && y < end;
        is_within.then(|| self.occluders.bodies[x as usize * side + y as usize][light])
    }

    /// The ground's radiance; None outside the map.
    #[inline(always)]
    pub fn radiance(&self, x: f32, y: f32) -> Option<V3> {
        self.radiance.blend(x, y)
    }
}

/// A square grid of `side` by `side` points.
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

/// For each cell of a grid and each light, the bodies, as bits, that may hide the light from some point of the cell.
#[derive(Default)]
pub(super) struct OccluderMap {
    pub grid: Grid,
    pub bodies: Vec<[u64; MAX_LIGHTS]>,
}

/// Light at the points of a grid, interpolated between them.
#[derive(Default)]
pub(super) struct Table {
    grid: Grid,
    light: Vec<V3>,
    /// 0 under a body.
    valid: Vec<f32>,
}

impl Table {
    /// From the light at each point, column by column; None under a body.
    pub fn new(grid: Grid, light: impl Iterator<Item = Option<V3>>) -> Self {
        let (light, valid) =
            light.map(|light| (light.unwrap_or_default(), f32::from(u8::from(light.is_some())))).unzip();
        Self { grid, light, valid }
    }

    /// Bilinear interpolation between the points that are not under a body; None outside the grid.
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
