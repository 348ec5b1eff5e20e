//! An edge-aware (joint bilateral) filter of noisy light: over neighbouring pixels that show the same body with a
//! similar normal, first with gaps between them (à trous), then without.
//!
//! It processes eight pixels of a row at a time. The few pixels that show more than one body also need the light of
//! the others, see `light_near`.

use super::bodies::NOBODY;
use super::pixel::{Pixel, Sample};
use super::view::TILE;
use crate::render::lanes::{F8, LANES, Mask, Real, dispatch};
use crate::render::vector::{V3, v3};
use pulp::NullaryFnOnce;

/// Padding columns on either side of the image, which show no body.
const MARGIN: usize = LANES;

/// A buffer of four channels for the pixels of a band of `TILE` rows; the channels of a row follow each other. Empty
/// for a band without bodies.
#[derive(Default)]
pub struct BandBuffer {
    stride: usize,
    channels: Vec<f32>,
}

/// The filter's inputs: feature and light buffers of all bands of an image.
pub struct Bands<'a> {
    /// The body that a pixel shows, see `body_id`, and its normal.
    pub features: Vec<&'a BandBuffer>,
    /// The sum of its samples' noisy light, and their number.
    pub light: Vec<&'a BandBuffer>,
    pub width: usize,
    pub height: usize,
}

/// The spatial weights of a window.
pub struct Kernel {
    window: usize,
    /// Distance between the pixels that it uses.
    step: usize,
    weights: Vec<f32>,
}

impl BandBuffer {
    fn new(width: usize) -> Self {
        let stride = width.next_multiple_of(LANES) + 2 * MARGIN;
        Self { stride, channels: vec![0.0; TILE * 4 * stride] }
    }

    /// The feature and light buffers of a band that starts at this row.
    pub fn features_and_light(pixels: &[Pixel], start: usize, width: usize) -> [Self; 2] {
        if pixels.is_empty() {
            return Default::default();
        }
        let [mut features, mut light] = [Self::new(width), Self::new(width)];
        for Pixel { column, row, mean, .. } in pixels {
            if mean.body != NOBODY {
                let (normal, sum) = (mean.normal, mean.sum);
                features.set(*column, row - start, [body_id(mean.body), normal.x, normal.y, normal.z]);
                light.set(*column, row - start, [sum.x, sum.y, sum.z, mean.count]);
            }
        }
        [features, light]
    }

    fn set(&mut self, column: usize, row: usize, channels: [f32; 4]) {
        for (channel, number) in channels.into_iter().enumerate() {
            self.channels[(row * 4 + channel) * self.stride + MARGIN + column] = number;
        }
    }

    fn get(&self, column: usize, row: usize) -> [f32; 4] {
        [0, 1, 2, 3].map(|channel| self.channels[(row * 4 + channel) * self.stride + MARGIN + column])
    }

    /// The mean of a pixel's light.
    #[inline]
    pub fn mean(&self, column: usize, row: usize) -> V3 {
        let [x, y, z, count] = self.get(column, row);
        if count > 0.0 { v3(x, y, z) / count } else { V3::ZERO }
    }

    /// The channels of eight pixels; `column` includes the margin.
    #[inline(always)]
    fn eight(&self, column: usize, row: usize) -> [F8; 4] {
        let mut eight = [F8::default(); 4];
        for (channel, eight) in eight.iter_mut().enumerate() {
            let first = (row * 4 + channel) * self.stride + column;
            eight.0.copy_from_slice(&self.channels[first..first + LANES]);
        }
        eight
    }

    #[inline(always)]
    fn set_eight(&mut self, column: usize, row: usize, eight: [F8; 4]) {
        for (channel, eight) in eight.into_iter().enumerate() {
            let first = (row * 4 + channel) * self.stride + column;
            self.channels[first..first + LANES].copy_from_slice(&eight.0);
        }
    }
}

/// A body's value in the feature buffer; 0 means no body.
fn body_id(body: usize) -> f32 {
    (body + 1) as f32
}

impl Kernel {
    pub fn new(window: usize, step: usize) -> Self {
        let side = 2 * window + 1;
        let away = |i: usize| (i as f32 - window as f32) / window.max(1) as f32;
        let weight = |i: usize| libm::expf(-1.5 * (away(i % side) * away(i % side) + away(i / side) * away(i / side)));
        Self { window, step, weights: (0..side * side).map(weight).collect() }
    }
}

impl Bands<'_> {
    /// The filtered light of a band.
    pub fn filtered(&self, band: usize, kernel: &Kernel) -> BandBuffer {
        if self.features[band].channels.is_empty() {
            return BandBuffer::default();
        }
        dispatch(BandFilter { bands: self, band, kernel })
    }

    /// The noisy light of a body around a pixel that also shows another one; `own` are the pixel's samples.
    pub fn light_near(&self, [column, row]: [usize; 2], body: usize, own: &[Sample], kernel: &Kernel) -> V3 {
        let (window, side) = (kernel.window, 2 * kernel.window + 1);
        let (mut sum, mut total) = (V3::ZERO, 0.0);
        for light in own.iter().filter(|sample| sample.body == body).filter_map(|sample| sample.noisy) {
            sum += light;
            total += 1.0;
        }
        for r in row.saturating_sub(window)..(row + window + 1).min(self.height) {
            let (features, light) = (self.features[r / TILE], self.light[r / TILE]);
            if features.channels.is_empty() {
                continue;
            }
            for c in column.saturating_sub(window)..(column + window + 1).min(self.width) {
                if features.get(c, r % TILE)[0] == body_id(body) {
                    let weight = kernel.weights[(r + window - row) * side + c + window - column];
                    let [x, y, z, count] = light.get(c, r % TILE);
                    sum += v3(x, y, z) * weight;
                    total += count * weight;
                }
            }
        }
        if total > 0.0 { sum / total } else { V3::ZERO }
    }
}

/// Filters the light of a band.
struct BandFilter<'a> {
    bands: &'a Bands<'a>,
    band: usize,
    kernel: &'a Kernel,
}

impl NullaryFnOnce for BandFilter<'_> {
    type Output = BandBuffer;

    #[inline(always)]
    fn call(self) -> BandBuffer {
        let Self { bands, band, kernel } = self;
        let (side, reach) = (2 * kernel.window + 1, kernel.window * kernel.step);
        let mut filtered = BandBuffer::new(bands.width);
        for row in 0..TILE {
            for first in (MARGIN..MARGIN + bands.width).step_by(LANES) {
                let [body, x, y, z] = bands.features[band].eight(first, row);
                if !body.is_positive().any() {
                    continue;
                }
                let normal = v3(x, y, z);
                let (mut sum, mut total) = (V3::default(), F8::default());
                for i in 0..side {
                    let Some(r) = (band * TILE + row + i * kernel.step).checked_sub(reach) else { continue };
                    if r >= bands.height || bands.features[r / TILE].channels.is_empty() {
                        continue;
                    }
                    let (features, light) = (bands.features[r / TILE], bands.light[r / TILE]);
                    for j in 0..side {
                        let column = first + j * kernel.step - reach;
                        let [other, x, y, z] = features.eight(column, r % TILE);
                        let is_same = (body - other).abs().is_less(F8::splat(0.5));
                        let weight = F8::splat(kernel.weights[i * side + j]) * normal_weight(normal, v3(x, y, z));
                        let weight = F8::select(is_same, weight, F8::default());
                        let [x, y, z, count] = light.eight(column, r % TILE);
                        sum += v3(x, y, z) * weight;
                        total = total + count * weight;
                    }
                }
                filtered.set_eight(first, row, [sum.x, sum.y, sum.z, total]);
            }
        }
        filtered
    }
}

/// The weight of a pixel in another's mean by the angle between their normals.
#[inline(always)]
fn normal_weight(a: V3<F8>, b: V3<F8>) -> F8 {
    let (zero, one) = (F8::default(), F8::splat(1.0));
    let weight = (one - F8::splat(15.0) * (one - a.dot(b)).max(zero)).max(zero);
    let weight = weight * weight;
    weight * weight
}

#[cfg(test)]
mod tests {
    use super::super::pixel::Mean;
    use super::*;
    use crate::render::lanes::call_without_avx2;

    /// Two bands whose width is not a multiple of eight, where about every third pixel shows no body.
    fn bands() -> [[BandBuffer; 2]; 2] {
        let band = |start: usize| {
            let pixels: Vec<Pixel> = (0..TILE * 21)
                .filter(|i| i % 3 != 1)
                .map(|i| {
                    let (column, row) = (i % 21, start + i / 21);
                    let at = (7 * column + 5 * row) as f32;
                    let normal = v3(0.1 * (at % 3.0), 0.1 * (at % 4.0), 1.0).unit();
                    let mean = Mean { body: usize::from(column > 12), normal, sum: v3(at, 1.0, at % 5.0), count: 2.0 };
                    Pixel { column, row, samples: 0..1, rays: [1, 0], mean }
                })
                .collect();
            BandBuffer::features_and_light(&pixels, start, 21)
        };
        [band(0), band(TILE)]
    }

    #[test]
    fn the_filter_gives_the_same_with_and_without_avx2_and_a_window_of_one_pixel_keeps_it() {
        let rows = bands();
        let bands = Bands {
            features: rows.iter().map(|[features, _]| features).collect(),
            light: rows.iter().map(|[_, light]| light).collect(),
            width: 21,
            height: 2 * TILE,
        };
        for step in [1, 2] {
            let kernel = Kernel::new(2, step);
            for band in [0, 1] {
                let alone = call_without_avx2(BandFilter { bands: &bands, band, kernel: &kernel });
                assert_eq!(bands.filtered(band, &kernel).channels, alone.channels);
            }
        }
        // A window of one pixel keeps the pixel's own light.
        let alone = bands.filtered(1, &Kernel::new(0, 1));
        assert_eq!(alone.mean(4, 3), rows[1][1].mean(4, 3));
    }
}
