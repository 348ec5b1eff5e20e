//! Rays through pixels in, linear colours in, bytes out: Cycles' pixel filter and the Standard view.

use super::vector::V3;

/// Half of the Blackman-Harris window's support, in pixels: Cycles doubles the width it is given.
pub const FILTER_RADIUS: f32 = 1.5;

/// The Blackman-Harris window at an offset from the pixel's middle, not normalised.
pub fn blackman_harris(offset_px: f32) -> f32 {
    let x = offset_px / FILTER_RADIUS;
    if x.abs() >= 1.0 {
        return 0.0;
    }
    let angle = std::f32::consts::PI * (x + 1.0);
    0.35875 - 0.48829 * angle.cos() + 0.14128 * (2.0 * angle).cos() - 0.01168 * (3.0 * angle).cos()
}

/// Offsets distributed as the window, by a uniform number.
#[derive(Clone, Debug)]
pub struct FilterTable(Vec<f32>);

impl FilterTable {
    const STEPS: usize = 1024;

    pub fn new() -> Self {
        let at = |i: usize| FILTER_RADIUS * (2.0 * (i as f32 + 0.5) / (8 * Self::STEPS) as f32 - 1.0);
        let total: f32 = (0..8 * Self::STEPS).map(|i| blackman_harris(at(i))).sum();
        let mut table = Vec::with_capacity(Self::STEPS + 1);
        let mut sum = 0.0;
        for i in 0..8 * Self::STEPS {
            while table.len() as f32 / Self::STEPS as f32 <= sum / total {
                table.push(at(i));
            }
            sum += blackman_harris(at(i));
        }
        table.resize(Self::STEPS + 1, FILTER_RADIUS);
        Self(table)
    }

    pub fn offset(&self, u: f32) -> f32 {
        let place = u * Self::STEPS as f32;
        let i = (place as usize).min(Self::STEPS - 1);
        self.0[i] + (self.0[i + 1] - self.0[i]) * (place - i as f32)
    }
}

impl Default for FilterTable {
    fn default() -> Self {
        Self::new()
    }
}

/// A linear colour as the bytes of sRGB.
pub fn to_srgb(linear: V3) -> [u8; 3] {
    [linear.x, linear.y, linear.z].map(|x| {
        let encoded = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
        (encoded.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
    })
}
