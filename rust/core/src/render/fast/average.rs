//! Smooths noisy light over neighbouring pixels of the same body: over few that stand apart, then over all between.
//!
//! Eight pixels of a row at a time. Few pixels show more than one body; of the others' light there, see `beside`.

use super::bodies::NOBODY;
use super::pixel::{Pixel, Sample};
use super::view::TILE;
use crate::render::lanes::{F8, LANES, Mask, Real, dispatch};
use crate::render::vector::{V3, v3};
use pulp::NullaryFnOnce;

/// Columns on either side of an image's own, which show no body.
const MARGIN: usize = LANES;

/// Four numbers of each pixel of a band of `TILE` rows: in each row the first one of all pixels, then the second of all.
/// Empty for a band without bodies.
#[derive(Default)]
pub struct Rows {
    stride: usize,
    numbers: Vec<f32>,
}

/// The bands of an image.
pub struct Bands<'a> {
    /// The number of the body that a pixel shows, counted from 1, and its normal.
    pub faces: Vec<&'a Rows>,
    /// The sum of its samples' noisy light, and how many they are.
    pub light: Vec<&'a Rows>,
    pub width: usize,
    pub height: usize,
}

/// Weights by distance of the pixels of a window.
pub struct Kernel {
    window: usize,
    /// Pixels from one that counts to the next.
    step: usize,
    weights: Vec<f32>,
}

impl Rows {
    fn new(width: usize) -> Self {
        let stride = width.next_multiple_of(LANES) + 2 * MARGIN;
        Self { stride, numbers: vec![0.0; TILE * 4 * stride] }
    }

    /// Faces and light of a band that starts with this row.
    pub fn faces_and_light(pixels: &[Pixel], start: usize, width: usize) -> [Self; 2] {
        if pixels.is_empty() {
            return Default::default();
        }
        let [mut faces, mut light] = [Self::new(width), Self::new(width)];
        for Pixel { column, row, mean, .. } in pixels {
            if mean.body != NOBODY {
                let (normal, sum) = (mean.normal, mean.sum);
                faces.set(*column, row - start, [number(mean.body), normal.x, normal.y, normal.z]);
                light.set(*column, row - start, [sum.x, sum.y, sum.z, mean.count]);
            }
        }
        [faces, light]
    }

    fn set(&mut self, column: usize, row: usize, numbers: [f32; 4]) {
        for (kind, number) in numbers.into_iter().enumerate() {
            self.numbers[(row * 4 + kind) * self.stride + MARGIN + column] = number;
        }
    }

    fn get(&self, column: usize, row: usize) -> [f32; 4] {
        [0, 1, 2, 3].map(|kind| self.numbers[(row * 4 + kind) * self.stride + MARGIN + column])
    }

    /// A pixel's light in the mean.
    #[inline]
    pub fn mean(&self, column: usize, row: usize) -> V3 {
        let [x, y, z, count] = self.get(column, row);
        if count > 0.0 { v3(x, y, z) / count } else { V3::ZERO }
    }

    /// The numbers of eight pixels; columns count from the margin's first.
    #[inline(always)]
    fn eight(&self, column: usize, row: usize) -> [F8; 4] {
        let mut eight = [F8::default(); 4];
        for (kind, eight) in eight.iter_mut().enumerate() {
            let first = (row * 4 + kind) * self.stride + column;
            eight.0.copy_from_slice(&self.numbers[first..first + LANES]);
        }
        eight
    }

    #[inline(always)]
    fn set_eight(&mut self, column: usize, row: usize, eight: [F8; 4]) {
        for (kind, eight) in eight.into_iter().enumerate() {
            let first = (row * 4 + kind) * self.stride + column;
            self.numbers[first..first + LANES].copy_from_slice(&eight.0);
        }
    }
}

/// A body's number among faces, where 0 is nobody.
fn number(body: usize) -> f32 {
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
    /// A band's light, smoothed over the pixels around that show the same body from much the same side.
    pub fn smoothed(&self, band: usize, kernel: &Kernel) -> Rows {
        if self.faces[band].numbers.is_empty() {
            return Rows::default();
        }
        dispatch(Smoothing { bands: self, band, kernel })
    }

    /// The noisy light of a body about a pixel that shows another one, too; these are the pixel's own samples.
    pub fn beside(&self, [column, row]: [usize; 2], body: usize, own: &[Sample], kernel: &Kernel) -> V3 {
        let (window, side) = (kernel.window, 2 * kernel.window + 1);
        let (mut sum, mut total) = (V3::ZERO, 0.0);
        for light in own.iter().filter(|sample| sample.body == body).filter_map(|sample| sample.noisy) {
            sum += light;
            total += 1.0;
        }
        for r in row.saturating_sub(window)..(row + window + 1).min(self.height) {
            let (faces, light) = (self.faces[r / TILE], self.light[r / TILE]);
            if faces.numbers.is_empty() {
                continue;
            }
            for c in column.saturating_sub(window)..(column + window + 1).min(self.width) {
                if faces.get(c, r % TILE)[0] == number(body) {
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

/// Smooths the light of a band.
struct Smoothing<'a> {
    bands: &'a Bands<'a>,
    band: usize,
    kernel: &'a Kernel,
}

impl NullaryFnOnce for Smoothing<'_> {
    type Output = Rows;

    #[inline(always)]
    fn call(self) -> Rows {
        let Self { bands, band, kernel } = self;
        let (side, reach) = (2 * kernel.window + 1, kernel.window * kernel.step);
        let mut smoothed = Rows::new(bands.width);
        for row in 0..TILE {
            for first in (MARGIN..MARGIN + bands.width).step_by(LANES) {
                let [body, x, y, z] = bands.faces[band].eight(first, row);
                if !body.is_positive().any() {
                    continue;
                }
                let normal = v3(x, y, z);
                let (mut sum, mut total) = (V3::default(), F8::default());
                for i in 0..side {
                    let Some(r) = (band * TILE + row + i * kernel.step).checked_sub(reach) else { continue };
                    if r >= bands.height || bands.faces[r / TILE].numbers.is_empty() {
                        continue;
                    }
                    let (faces, light) = (bands.faces[r / TILE], bands.light[r / TILE]);
                    for j in 0..side {
                        let column = first + j * kernel.step - reach;
                        let [other, x, y, z] = faces.eight(column, r % TILE);
                        let is_same = (body - other).size().is_less(F8::all(0.5));
                        let weight = F8::all(kernel.weights[i * side + j]) * alike(normal, v3(x, y, z));
                        let weight = F8::select(is_same, weight, F8::default());
                        let [x, y, z, count] = light.eight(column, r % TILE);
                        sum += v3(x, y, z) * weight;
                        total = total + count * weight;
                    }
                }
                smoothed.set_eight(first, row, [sum.x, sum.y, sum.z, total]);
            }
        }
        smoothed
    }
}

/// What a pixel weighs in another by how far its normal is turned.
#[inline(always)]
fn alike(a: V3<F8>, b: V3<F8>) -> F8 {
    let (zero, one) = (F8::default(), F8::all(1.0));
    let alike = (one - F8::all(15.0) * (one - a.dot(b)).most(zero)).most(zero);
    let alike = alike * alike;
    alike * alike
}

#[cfg(test)]
mod tests {
    use super::super::pixel::Mean;
    use super::*;
    use crate::render::lanes::plain;

    /// Two bands of a width that is no multiple of eight, where about every third pixel shows no body.
    fn bands() -> [[Rows; 2]; 2] {
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
            Rows::faces_and_light(&pixels, start, 21)
        };
        [band(0), band(TILE)]
    }

    #[test]
    fn light_is_evened_out_alike_with_and_without_avx2_and_over_the_same_body_alone() {
        let rows = bands();
        let bands = Bands {
            faces: rows.iter().map(|[faces, _]| faces).collect(),
            light: rows.iter().map(|[_, light]| light).collect(),
            width: 21,
            height: 2 * TILE,
        };
        for step in [1, 2] {
            let kernel = Kernel::new(2, step);
            for band in [0, 1] {
                let alone = plain(Smoothing { bands: &bands, band, kernel: &kernel });
                assert_eq!(bands.smoothed(band, &kernel).numbers, alone.numbers);
            }
        }
        // Without a window, all that is left is the pixel's own light.
        let alone = bands.smoothed(1, &Kernel::new(0, 1));
        assert_eq!(alone.mean(4, 3), rows[1][1].mean(4, 3));
    }
}
