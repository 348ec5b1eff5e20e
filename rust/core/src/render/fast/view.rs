//! The camera's rays, and the bodies that each tile of the image may show.

use super::bodies::NOBODY;
use super::shade::LitStage;
use crate::render::vector::{Ray, V3};
use crate::scene::camera::Camera;

/// Pixels along a tile's side: a tile's rays are tested against the bodies that it may show alone.
pub const TILE: usize = 8;

/// The image's rays.
pub struct View<'a> {
    pub lit: &'a LitStage<'a>,
    pub width: usize,
    pub height: usize,
    origin: V3,
    /// Through the top left corner of the image, and what a pixel to the right and one down add.
    corner: V3,
    right: V3,
    down: V3,
    /// By tile: bits of the bodies that it may show.
    tiles: Vec<u64>,
    tiles_across: usize,
}

impl<'a> View<'a> {
    pub fn new(lit: &'a LitStage<'a>, camera: &Camera) -> Self {
        let (width, height) = (camera.lens.width_px as usize, camera.lens.height_px as usize);
        let at = |u, v| V3::from_f64(camera.ray(u, v));
        let corner = at(0.0, 0.0);
        let tiles_across = width.div_ceil(TILE);
        let mut view = Self {
            lit,
            width,
            height,
            origin: V3::from_f64(camera.location),
            corner,
            right: at(1.0, 0.0) - corner,
            down: at(0.0, 1.0) - corner,
            tiles: Vec::new(),
            tiles_across,
        };
        let side = TILE as f32;
        view.tiles = (0..tiles_across * height.div_ceil(TILE))
            .map(|tile| {
                let (u, v) = ((tile % tiles_across * TILE) as f32, (tile / tiles_across * TILE) as f32);
                let middle = view.ray(u + 0.5 * side, v + 0.5 * side);
                // A pixel more, for the rays that others than the tile's own pixels look along.
                let corners = [(-1.0, -1.0), (side + 1.0, -1.0), (-1.0, side + 1.0), (side + 1.0, side + 1.0)];
                let cos = corners
                    .map(|(x, y)| view.ray(u + x, v + y).direction.dot(middle.direction))
                    .into_iter()
                    .fold(1.0, f32::min);
                let spread = (1.0 - cos * cos).max(0.0).sqrt() / cos;
                lit.bodies.in_shaft(middle.origin, middle.direction, f32::INFINITY, spread, 0.01)
            })
            .collect();
        view
    }

    /// The ray through a place in the image, in pixels from its top left corner.
    #[inline(always)]
    pub fn ray(&self, u: f32, v: f32) -> Ray {
        Ray { origin: self.origin, direction: (self.corner + self.right * u + self.down * v).unit() }
    }

    /// Bodies that a pixel's rays may meet, as bits; beyond the image's edge, those of the nearest pixel.
    #[inline(always)]
    pub fn bodies(&self, column: usize, row: usize) -> u64 {
        let (column, row) = (column.min(self.width - 1), row.min(self.height - 1));
        self.tiles[row / TILE * self.tiles_across + column / TILE]
    }

    /// The body that the middle of a pixel shows, or NOBODY.
    #[inline]
    pub fn shown(&self, column: usize, row: usize) -> usize {
        let bodies = self.bodies(column, row);
        if bodies == 0 {
            return NOBODY;
        }
        let ray = self.ray(column as f32 + 0.5, row as f32 + 0.5);
        self.lit.bodies.nearest_of(bodies, ray, f32::INFINITY).map_or(NOBODY, |(_, number)| number)
    }
}
