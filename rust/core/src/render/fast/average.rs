//! Evens out noisy light over neighbouring pixels of the same body: over few that stand apart, then over all between.

use super::bodies::NOBODY;
use super::pixel::{Mean, Sample};
use crate::render::vector::V3;

/// Weights by distance of the pixels of a window.
pub struct Kernel {
    window: usize,
    /// Pixels from one that counts to the next.
    step: usize,
    weights: Vec<f32>,
}

impl Kernel {
    pub fn new(window: usize, step: usize) -> Self {
        let side = 2 * window + 1;
        let away = |i: usize| (i as f32 - window as f32) / window.max(1) as f32;
        let weight = |i: usize| libm::expf(-1.5 * (away(i % side) * away(i % side) + away(i / side) * away(i / side)));
        Self { window, step, weights: (0..side * side).map(weight).collect() }
    }

    /// A pixel's mean, evened out over pixels around it that show the same body from much the same side.
    pub fn evened<'a>(
        &self,
        means: impl Fn(usize, usize) -> Option<&'a Mean>,
        [width, height]: [usize; 2],
        [column, row]: [usize; 2],
        own: &Mean,
    ) -> Mean {
        if own.body == NOBODY {
            return *own;
        }
        let reach = self.window * self.step;
        let side = 2 * self.window + 1;
        let (mut sum, mut total) = (V3::ZERO, 0.0);
        for i in 0..side {
            let Some(r) = (row + i * self.step).checked_sub(reach).filter(|&r| r < height) else { continue };
            for j in 0..side {
                let Some(c) = (column + j * self.step).checked_sub(reach).filter(|&c| c < width) else { continue };
                let Some(other) = means(c, r).filter(|other| other.body == own.body) else { continue };
                let weight = self.weights[i * side + j] * alike(own.normal, other.normal);
                sum += other.sum * weight;
                total += other.count * weight;
            }
        }
        Mean { sum, count: total, ..*own }
    }

    /// The noisy light of a body about a pixel, whose own samples of the body these are.
    pub fn averaged<'a>(
        &self,
        means: impl Fn(usize, usize) -> Option<&'a Mean>,
        [width, height]: [usize; 2],
        [column, row]: [usize; 2],
        body: usize,
        own: &[Sample],
    ) -> V3 {
        if body == NOBODY {
            return V3::ZERO;
        }
        let (window, side) = (self.window, 2 * self.window + 1);
        let (mut sum, mut total) = (V3::ZERO, 0.0);
        let normal = means(column, row).filter(|center| center.body == body).map(|center| center.normal);
        if normal.is_none() {
            for sample in own.iter().filter(|sample| sample.body == body) {
                sum += sample.noisy;
                total += 1.0;
            }
        }
        for r in row.saturating_sub(window)..(row + window + 1).min(height) {
            for c in column.saturating_sub(window)..(column + window + 1).min(width) {
                let Some(other) = means(c, r).filter(|other| other.body == body) else { continue };
                let alike = normal.map_or(1.0, |normal| alike(normal, other.normal));
                let weight = self.weights[(r + window - row) * side + c + window - column] * alike;
                sum += other.sum * weight;
                total += other.count * weight;
            }
        }
        if total > 0.0 { sum / total } else { V3::ZERO }
    }
}

/// What a pixel weighs in another by how far its normal is turned.
#[inline(always)]
fn alike(a: V3, b: V3) -> f32 {
    let alike = (1.0 - 15.0 * (1.0 - a.dot(b)).max(0.0)).max(0.0);
    let alike = alike * alike;
    alike * alike
}
