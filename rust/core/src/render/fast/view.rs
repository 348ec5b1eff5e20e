//! Primary rays, and the bodies that each tile of the image may show.

use super::bodies::NOBODY;
use super::shade::LitStage;
use crate::render::lanes::{F8, LANES, Real, dispatch};
use crate::render::stop::Stop;
use crate::render::vector::{Ray, V3};
use crate::scene::camera::Camera;
use pulp::NullaryFnOnce;
use rayon::prelude::*;

/// Pixels along a tile's side. A tile's rays are intersected only with the bodies that it may show.
pub const TILE: usize = LANES;

/// Marks a pixel that shows no body.
const EMPTY: u8 = u8::MAX;

/// The primary rays of an image.
pub struct View<'a> {
    pub lit: &'a LitStage<'a>,
    pub width: usize,
    pub height: usize,
    pub origin: V3,
    /// The ray through the image's top left corner, and its change by one pixel to the right and by one down.
    corner: V3,
    right: V3,
    down: V3,
    /// For each tile, the bodies that it may show, as bits.
    tiles: Vec<u64>,
    tiles_across: usize,
    /// For each pixel, the body at its centre, or `EMPTY`.
    shown: Vec<u8>,
}

impl<'a> View<'a> {
    /// If it is stopped, some bodies are missing.
    pub fn new(lit: &'a LitStage<'a>, camera: &Camera, stop: &Stop) -> Self {
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
            shown: Vec::new(),
        };
        let side = TILE as f32;
        view.tiles = (0..tiles_across * height.div_ceil(TILE))
            .map(|tile| {
                let (u, v) = ((tile % tiles_across * TILE) as f32, (tile / tiles_across * TILE) as f32);
                let center = view.ray(u + 0.5 * side, v + 0.5 * side);
                // With a margin of one pixel: rays of neighbouring pixels may use the tile too.
                let corners = [(-1.0, -1.0), (side + 1.0, -1.0), (-1.0, side + 1.0), (side + 1.0, side + 1.0)];
                let cos = corners
                    .map(|(x, y)| view.ray(u + x, v + y).direction.dot(center.direction))
                    .into_iter()
                    .fold(1.0, f32::min);
                let spread = (1.0 - cos * cos).max(0.0).sqrt() / cos;
                lit.bodies.in_shaft(center.origin, center.direction, f32::INFINITY, spread, 0.01)
            })
            .collect();
        view.shown = view.all_shown(stop);
        view
    }

    /// The ray through a point of the image, in pixels from its top left corner.
    #[inline(always)]
    pub fn ray(&self, u: f32, v: f32) -> Ray {
        Ray { origin: self.origin, direction: self.direction(u, v) }
    }

    #[inline(always)]
    fn direction<F: Real>(&self, u: F, v: F) -> V3<F> {
        (V3::splat(self.corner) + V3::splat(self.right) * u + V3::splat(self.down) * v).unit()
    }

    /// The bodies, as bits, that a pixel's rays may hit; outside the image, those of the nearest pixel.
    #[inline(always)]
    pub fn bodies(&self, column: usize, row: usize) -> u64 {
        let (column, row) = (column.min(self.width - 1), row.min(self.height - 1));
        self.tiles[row / TILE * self.tiles_across + column / TILE]
    }

    /// The body at a pixel's centre, or NOBODY.
    #[inline]
    pub fn shown(&self, column: usize, row: usize) -> usize {
        if column < self.width && row < self.height {
            let body = self.shown[row * self.width + column];
            return if body == EMPTY { NOBODY } else { body.into() };
        }
        let point_px = [column, row].map(|pixel| F8::splat(pixel as f32 + 0.5));
        self.trace(self.bodies(column, row), point_px).bodies[0]
    }

    /// Whether all neighbours of a pixel show the same body.
    #[inline]
    pub fn is_uniform(&self, column: usize, row: usize) -> bool {
        let columns = column.saturating_sub(1)..(column + 2).min(self.width);
        let own = self.shown[row * self.width + column];
        let mut rows = row.saturating_sub(1)..(row + 2).min(self.height);
        rows.all(|row| self.shown[row * self.width..][columns.clone()].iter().all(|&other| other == own))
    }

    /// The body at each pixel's centre, or `EMPTY`, row by row.
    fn all_shown(&self, stop: &Stop) -> Vec<u8> {
        let mut shown = vec![EMPTY; self.width * self.height];
        let rows = shown.par_chunks_mut(self.width).with_min_len(TILE).enumerate();
        rows.try_for_each(|(row, shown)| {
            stop.unless_set(|| ())?;
            for (tile, shown) in shown.chunks_mut(TILE).enumerate() {
                let column = tile * TILE;
                let bodies = self.bodies(column, row);
                if bodies != 0 {
                    let u = F8::from_lanes(|lane| (column + lane) as f32 + 0.5);
                    let hits = self.trace(bodies, [u, F8::splat(row as f32 + 0.5)]);
                    // NOBODY is the largest number, and bodies have lower ones than `EMPTY`.
                    shown.iter_mut().zip(hits.bodies).for_each(|(shown, body)| *shown = body.min(EMPTY.into()) as u8);
                }
            }
            Some(())
        });
        shown
    }

    /// Intersects the rays through eight points of the image with these bodies (as bits).
    pub fn trace(&self, bodies: u64, points_px: [F8; 2]) -> PrimaryHits {
        dispatch(PrimaryRays { view: self, bodies, points_px })
    }
}

/// The hits of eight rays.
pub struct PrimaryHits {
    pub directions: V3<F8>,
    /// The bodies, or NOBODY.
    pub bodies: [usize; LANES],
    pub distances: F8,
}

/// Eight rays through points of the image, and the bodies, as bits, that they may hit.
struct PrimaryRays<'a> {
    view: &'a View<'a>,
    bodies: u64,
    points_px: [F8; 2],
}

impl NullaryFnOnce for PrimaryRays<'_> {
    type Output = PrimaryHits;

    #[inline(always)]
    fn call(self) -> PrimaryHits {
        let Self { view, bodies, points_px: [u, v] } = self;
        let directions = view.direction(u, v);
        let (bodies, distances) = view.lit.bodies.nearest_of(bodies, V3::splat(view.origin), directions);
        PrimaryHits { directions, bodies, distances }
    }
}
