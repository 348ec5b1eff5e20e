//! Reconstructs the image from its pixels and samples.
//!
//! A pixel of ground alone has one value, from `ground`. Others are sampled by `pixel`, and each sample contributes to
//! all pixels whose reconstruction filter reaches it.

use super::average::{BandBuffer, Bands, Kernel};
use super::bodies::NOBODY;
use super::ground::{Ground, GroundEffort, STEP};
use super::pixel::{Pixel, PixelEffort, Sample, Sampler};
use super::shade::LitStage;
use super::view::{TILE, View};
use crate::render::film::{FilterWeights, SrgbTable};
use crate::render::lanes::dispatch;
use crate::render::stop::Stop;
use crate::render::vector::{V3, v3};
use crate::scene::camera::Camera;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::LazyLock;

/// Sampling effort of an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageEffort {
    pub ground: GroundEffort,
    pub pixels: PixelEffort,
}

/// Radius of the window over which noisy light is filtered, in steps: first of two pixels, then of one.
const WINDOW: usize = 2;

static SRGB: LazyLock<SrgbTable> = LazyLock::new(SrgbTable::default);
static FILTER: LazyLock<FilterWeights> = LazyLock::new(FilterWeights::default);

/// Weighted sums of red, green and blue, and the sum of the weights.
type WeightedColor = [f32; 4];

/// The pixels of `TILE` rows.
struct Band {
    /// For each pixel that shows ground alone, its radiance with weight 1; zeros for the others.
    ground_light: Vec<WeightedColor>,
    pixels: Vec<Pixel>,
    samples: Vec<Sample>,
    /// Inputs of the filter, see `Bands`.
    features: BandBuffer,
    light: BandBuffer,
}

/// Filtered sums over the samples of a band, for its rows and the ones just before and after.
struct Sums(Vec<WeightedColor>);

/// The image as RGB bytes, rows from the top; None if it was stopped.
pub fn image(lit: &LitStage<'_>, camera: &Camera, effort: ImageEffort, stop: &Stop) -> Option<Vec<u8>> {
    let view = View::new(lit, camera, stop);
    let (width, height) = (view.width, view.height);
    let filter = &*FILTER;
    let ground = Ground::new(&view, effort.ground, stop);
    let starts: Vec<usize> = (0..height).step_by(TILE).collect();
    let bands: Vec<Band> = starts
        .par_iter()
        .map(|&start| stop.unless_set(|| render_band(&view, &ground, effort.pixels, start..(start + TILE).min(height))))
        .collect::<Option<_>>()?;

    let features = || bands.iter().map(|band| &band.features).collect();
    let noisy = Bands { features: features(), light: bands.iter().map(|band| &band.light).collect(), width, height };
    let kernel = Kernel::new(WINDOW, 2);
    let prefiltered = (0..bands.len()).into_par_iter().map(|band| stop.unless_set(|| noisy.filtered(band, &kernel)));
    let prefiltered: Vec<BandBuffer> = prefiltered.collect::<Option<_>>()?;
    let prefiltered = Bands { features: features(), light: prefiltered.iter().collect(), width, height };
    let kernel = Kernel::new(WINDOW, 1);
    let center = [filter.weights(0.0); 2];
    let sums: Vec<Sums> = bands
        .par_iter()
        .zip(&starts)
        .enumerate()
        .map(|(index, (band, &start))| {
            stop.unless_set(|| ())?;
            if band.pixels.is_empty() {
                return Some(Sums(Vec::new()));
            }
            let filtered = prefiltered.filtered(index, &kernel);
            let mut sums = Sums(vec![[0.0; 4]; (TILE + 2) * width]);
            for pixel in &band.pixels {
                let samples = &band.samples[pixel.samples.clone()];
                let area = 1.0 / samples.len() as f32;
                let position = [pixel.column, pixel.row - start];
                let own = filtered.mean(position[0], position[1]);
                let mut last = (NOBODY, V3::ZERO);
                let (mut offset, mut weights) = ([0.0; 2], center);
                for sample in samples {
                    if sample.body != last.0 {
                        let is_own = sample.body == pixel.mean.body || sample.body == NOBODY;
                        let light_near =
                            || prefiltered.light_near([pixel.column, pixel.row], sample.body, samples, &kernel);
                        last = (sample.body, if is_own { own } else { light_near() });
                    }
                    let light = if sample.body == NOBODY { sample.clean } else { sample.clean + last.1 };
                    if sample.offset != offset {
                        (offset, weights) = (sample.offset, sample.offset.map(|offset| filter.weights(offset)));
                    }
                    sums.add(width, position, weights, light, area);
                }
            }
            Some(sums)
        })
        .collect::<Option<_>>()?;

    let resolver = Resolver { srgb: &SRGB, filter: center[0], bands: &bands, sums: &sums, width };
    let mut bytes = vec![0; 3 * width * height];
    let rows = bytes.par_chunks_mut(3 * width).with_min_len(TILE).enumerate();
    rows.try_for_each(|(row, bytes)| stop.unless_set(|| dispatch(|| resolver.row(row, height, bytes))))?;
    Some(bytes)
}

/// Shades and samples the pixels of some rows.
fn render_band(view: &View<'_>, ground: &Ground<'_>, effort: PixelEffort, rows: Range<usize>) -> Band {
    let width = view.width;
    let mut band = Band {
        ground_light: vec![[0.0; 4]; rows.len() * width],
        pixels: Vec::new(),
        samples: Vec::new(),
        features: BandBuffer::default(),
        light: BandBuffer::default(),
    };
    let mut sampler = Sampler::new(view, effort.difference);
    for top in rows.clone().step_by(STEP) {
        for left in (0..width).step_by(STEP) {
            let cell = ground.cell(left, top);
            // A tile's bodies include those of the pixels next to it.
            let (is_edge, is_empty) = (cell.is_edge(), view.bodies(left, top) == 0);
            for row in top..(top + STEP).min(rows.end) {
                for column in left..(left + STEP).min(width) {
                    let position = (row - rows.start) * width + column;
                    let own = if is_empty { NOBODY } else { view.shown(column, row) };
                    let rays = match view.lit.bodies.list.get(own) {
                        _ if is_edge || (!is_empty && !view.is_uniform(column, row)) => effort.outline,
                        Some(body) if body.shader.is_metal() => effort.metal,
                        Some(_) => effort.matte,
                        None => {
                            let light = cell.radiance(column, row);
                            band.ground_light[position] = [light.x, light.y, light.z, 1.0];
                            continue;
                        }
                    };
                    sampler.add(column, row, rays);
                }
            }
        }
    }
    (band.pixels, band.samples) = sampler.finish();
    [band.features, band.light] = BandBuffer::features_and_light(&band.pixels, rows.start, width);
    band
}

/// Resolves the sums over samples to the bytes of the image.
struct Resolver<'a> {
    srgb: &'a SrgbTable,
    /// The filter weights of a sample at a pixel's centre in the previous, own and next pixel.
    filter: [f32; 3],
    bands: &'a [Band],
    sums: &'a [Sums],
    width: usize,
}

impl Resolver<'_> {
    #[inline(always)]
    fn row(&self, row: usize, height: usize, bytes: &mut [u8]) {
        let width = self.width;
        let [side, center, _] = self.filter;
        // Padded with a pixel of weight 0 at either end.
        let mut ground_light = vec![[0.0; 4]; width + 2];
        for other in row.saturating_sub(1)..(row + 2).min(height) {
            let weight = if other == row { center } else { side };
            let values = &self.bands[other / TILE].ground_light[other % TILE * width..][..width];
            for (sum, value) in ground_light[1..].iter_mut().zip(values) {
                *sum = add_weighted(sum, value, weight);
            }
        }
        let mut sampled: [&[WeightedColor]; 3] = [&[]; 3];
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
        for (sum, around) in sums.iter_mut().zip(ground_light.windows(3)) {
            *sum = add_weighted(&add_weighted(&[0.0; 4], &around[1], center), &around[0], side);
            *sum = add_weighted(sum, &around[2], side);
        }
        for line in sampled {
            for (sum, own) in sums.iter_mut().zip(line) {
                *sum = add_weighted(sum, own, 1.0);
            }
        }
        for ([r, g, b, weight], bytes) in sums.into_iter().zip(bytes.chunks_exact_mut(3)) {
            bytes.copy_from_slice(&self.srgb.bytes(v3(r, g, b) / weight));
        }
    }
}

#[inline(always)]
fn add_weighted(sum: &WeightedColor, value: &WeightedColor, weight: f32) -> WeightedColor {
    std::array::from_fn(|i| sum[i] + weight * value[i])
}

impl Sums {
    /// Adds a sample to the pixels that its filter reaches. It stands for the fraction `area` of its own pixel;
    /// `weights` are those of the previous, own and next column, and of the rows.
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
                *sum = add_weighted(sum, &value, weight_r * weight_c);
            }
        }
    }
}
