//! Joins what pixels and samples show into an image.
//!
//! Pixels of ground alone come from `ground`, one value each; others are sampled by `pixel`, and
//! each sample counts in all pixels whose filter reaches it.

use super::average::{Bands, Kernel, Rows};
use super::bodies::NOBODY;
use super::ground::{Ground, GroundEffort, STEP};
use super::pixel::{Pixel, PixelEffort, Sample, Sampler};
use super::shade::LitStage;
use super::view::{TILE, View};
use crate::render::film::{FilterWeights, SrgbTable};
use crate::render::lanes::dispatch;
use crate::render::vector::{V3, v3};
use crate::scene::camera::Camera;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::LazyLock;

/// How much is spent on an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageEffort {
    pub ground: GroundEffort,
    pub pixels: PixelEffort,
}

/// Half of the window over which noisy light is averaged, in steps: of two pixels, and then of one.
const WINDOW: usize = 2;

static SRGB: LazyLock<SrgbTable> = LazyLock::new(SrgbTable::default);
static FILTER: LazyLock<FilterWeights> = LazyLock::new(FilterWeights::default);

/// Red, green, blue and weight.
type Weighed = [f32; 4];

/// Some rows, as many as a tile's.
struct Band {
    /// Of each pixel that shows ground alone its light and 1, of others nothing.
    plain: Vec<Weighed>,
    pixels: Vec<Pixel>,
    samples: Vec<Sample>,
    /// See `Bands`.
    faces: Rows,
    light: Rows,
}

/// Sums of some rows and of those just before and after.
struct Sums(Vec<Weighed>);

/// An image as bytes, rows from the top, RGB.
pub fn image(lit: &LitStage<'_>, camera: &Camera, effort: ImageEffort) -> Vec<u8> {
    let view = View::new(lit, camera);
    let (width, height) = (view.width, view.height);
    let filter = &*FILTER;
    let ground = Ground::new(&view, effort.ground);
    let starts: Vec<usize> = (0..height).step_by(TILE).collect();
    let bands: Vec<Band> = starts
        .par_iter()
        .map(|&start| band(&view, &ground, effort.pixels, start..(start + TILE).min(height)))
        .collect();

    let faces = || bands.iter().map(|band| &band.faces).collect();
    let noisy = Bands { faces: faces(), light: bands.iter().map(|band| &band.light).collect(), width, height };
    let kernel = Kernel::new(WINDOW, 2);
    let smoothed: Vec<Rows> = (0..bands.len()).into_par_iter().map(|band| noisy.smoothed(band, &kernel)).collect();
    let smoothed = Bands { faces: faces(), light: smoothed.iter().collect(), width, height };
    let kernel = Kernel::new(WINDOW, 1);
    let middle = [filter.around(0.0); 2];
    let sums: Vec<Sums> = bands
        .par_iter()
        .zip(&starts)
        .enumerate()
        .map(|(number, (band, &start))| {
            if band.pixels.is_empty() {
                return Sums(Vec::new());
            }
            let averaged = smoothed.smoothed(number, &kernel);
            let mut sums = Sums(vec![[0.0; 4]; (TILE + 2) * width]);
            for pixel in &band.pixels {
                let samples = &band.samples[pixel.samples.clone()];
                let area = 1.0 / samples.len() as f32;
                let place = [pixel.column, pixel.row - start];
                let own = averaged.mean(place[0], place[1]);
                let mut last = (NOBODY, V3::ZERO);
                let (mut offset, mut weights) = ([0.0; 2], middle);
                for sample in samples {
                    if sample.body != last.0 {
                        let is_own = sample.body == pixel.mean.body || sample.body == NOBODY;
                        let beside = || smoothed.beside([pixel.column, pixel.row], sample.body, samples, &kernel);
                        last = (sample.body, if is_own { own } else { beside() });
                    }
                    let light = if sample.body == NOBODY { sample.clean } else { sample.clean + last.1 };
                    if sample.offset != offset {
                        (offset, weights) = (sample.offset, sample.offset.map(|offset| filter.around(offset)));
                    }
                    sums.add(width, place, weights, light, area);
                }
            }
            sums
        })
        .collect();

    let developer = Developer { srgb: &SRGB, filter: middle[0], bands: &bands, sums: &sums, width };
    let mut bytes = vec![0; 3 * width * height];
    let rows = bytes.par_chunks_mut(3 * width).with_min_len(TILE).enumerate();
    rows.for_each(|(row, bytes)| dispatch(|| developer.row(row, height, bytes)));
    bytes
}

/// The rays of some rows.
fn band(view: &View<'_>, ground: &Ground<'_>, effort: PixelEffort, rows: Range<usize>) -> Band {
    let width = view.width;
    let mut band = Band {
        plain: vec![[0.0; 4]; rows.len() * width],
        pixels: Vec::new(),
        samples: Vec::new(),
        faces: Rows::default(),
        light: Rows::default(),
    };
    let mut sampler = Sampler::new(view, effort.difference);
    for top in rows.clone().step_by(STEP) {
        for left in (0..width).step_by(STEP) {
            let cell = ground.cell(left, top);
            // A tile's bodies are those of the pixels beside it, too.
            let (is_edge, is_empty) = (cell.is_edge(), view.bodies(left, top) == 0);
            for row in top..(top + STEP).min(rows.end) {
                for column in left..(left + STEP).min(width) {
                    let place = (row - rows.start) * width + column;
                    let own = if is_empty { NOBODY } else { view.shown(column, row) };
                    let rays = match view.lit.bodies.list.get(own) {
                        _ if is_edge || (!is_empty && !view.is_even(column, row)) => effort.outline,
                        Some(body) if body.shader.is_metal() => effort.metal,
                        Some(_) => effort.matte,
                        None => {
                            let light = cell.radiance(column, row);
                            band.plain[place] = [light.x, light.y, light.z, 1.0];
                            continue;
                        }
                    };
                    sampler.add(column, row, rays);
                }
            }
        }
    }
    (band.pixels, band.samples) = sampler.finish();
    [band.faces, band.light] = Rows::faces_and_light(&band.pixels, rows.start, width);
    band
}

/// What is left to do when all light is found.
struct Developer<'a> {
    srgb: &'a SrgbTable,
    /// Weights of a pixel's middle in the pixel before, its own, and the one after.
    filter: [f32; 3],
    bands: &'a [Band],
    sums: &'a [Sums],
    width: usize,
}

impl Developer<'_> {
    /// The bytes of a row of `height`.
    #[inline(always)]
    fn row(&self, row: usize, height: usize, bytes: &mut [u8]) {
        let width = self.width;
        let [side, middle, _] = self.filter;
        // One more at either end, of no weight.
        let mut plain = vec![[0.0; 4]; width + 2];
        for other in row.saturating_sub(1)..(row + 2).min(height) {
            let weight = if other == row { middle } else { side };
            let values = &self.bands[other / TILE].plain[other % TILE * width..][..width];
            for (sum, value) in plain[1..].iter_mut().zip(values) {
                *sum = weighed_sum(sum, value, weight);
            }
        }
        let mut sampled: [&[Weighed]; 3] = [&[]; 3];
        let (band, within) = (row / TILE, row % TILE);
        let of = |band: usize, row: usize| self.sums[band].0.get(row * width..(row + 1) * width).unwrap_or_default();
        sampled[0] = of(band, within + 1);
        if within == 0 && band > 0 {
            sampled[1] = of(band - 1, TILE + 1);
        }
        if within == TILE - 1 && band + 1 < self.sums.len() {
            sampled[2] = of(band + 1, 0);
        }
        let mut sums = vec![[0.0; 4]; width];
        for (sum, around) in sums.iter_mut().zip(plain.windows(3)) {
            *sum = weighed_sum(&weighed_sum(&[0.0; 4], &around[1], middle), &around[0], side);
            *sum = weighed_sum(sum, &around[2], side);
        }
        for line in sampled {
            for (sum, own) in sums.iter_mut().zip(line) {
                *sum = weighed_sum(sum, own, 1.0);
            }
        }
        for ([r, g, b, weight], bytes) in sums.into_iter().zip(bytes.chunks_exact_mut(3)) {
            bytes.copy_from_slice(&self.srgb.bytes(v3(r, g, b) / weight));
        }
    }
}

#[inline(always)]
fn weighed_sum(sum: &Weighed, value: &Weighed, weight: f32) -> Weighed {
    std::array::from_fn(|i| sum[i] + weight * value[i])
}

impl Sums {
    /// Adds a sample's light to the pixels that its filter reaches, with these weights for the column before its own, its
    /// own and the one after, and for the rows; it stands for `area` of its own pixel.
    #[inline(always)]
    fn add(&mut self, width: usize, [column, row]: [usize; 2], weights: [[f32; 3]; 2], light: V3, area: f32) {
        let value = [light.x * area, light.y * area, light.z * area, area];
        let [columns, rows] = weights;
        for (r, &weight_r) in rows.iter().enumerate() {
            for (c, &weight_c) in columns.iter().enumerate() {
                let target = column + c;
                if target == 0 || target > width {
                    continue;
                }
                let sum = &mut self.0[(row + r) * width + target - 1];
                *sum = weighed_sum(sum, &value, weight_r * weight_c);
            }
        }
    }
}
