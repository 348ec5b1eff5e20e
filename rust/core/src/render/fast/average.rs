//! Evens out noisy light over neighbouring pixels of the same body.

use super::bodies::NOBODY;
use super::pixel::{Mean, Sample};
use crate::render::vector::V3;

/// Weights by distance of the pixels of a window.
pub struct Kernel {
    window: usize,
    weights: Vec<f32>,
}

impl Kernel {
    pub fn new(window: usize) -> Self {
        let side = 2 * window + 1;
        let away = |i: usize| (i as f32 - window as f32) / window.max(1) as f32;
        let weight = |i: usize| libm::expf(-1.5 * (away(i % side) * away(i % side) + away(i / side) * away(i / side)));
        Self { window, weights: (0..side * side).map(weight).collect() }
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
                let turned = normal.map_or(0.0, |normal| (1.0 - normal.dot(other.normal)).max(0.0));
                let alike = (1.0 - 15.0 * turned).max(0.0);
                let alike = alike * alike;
                let weight = self.weights[(r + window - row) * side + c + window - column] * alike * alike;
                sum += other.sum * weight;
                total += other.count * weight;
            }
        }
        if total > 0.0 { sum / total } else { V3::ZERO }
    }
}
