//! Cycles' pixel filter, and the "Standard" view transform from linear colour to sRGB bytes.

use super::vector::V3;

/// Radius of the Blackman-Harris filter, in pixels. Cycles doubles the width that it is given.
pub const FILTER_RADIUS: f32 = 1.5;

/// The Blackman-Harris filter at an offset from the pixel's centre, not normalised.
pub fn blackman_harris(offset_px: f32) -> f32 {
    let x = offset_px / FILTER_RADIUS;
    if x.abs() >= 1.0 {
        return 0.0;
    }
    let angle = std::f32::consts::PI * (x + 1.0);
    0.35875 - 0.48829 * libm::cosf(angle) + 0.14128 * libm::cosf(2.0 * angle) - 0.01168 * libm::cosf(3.0 * angle)
}

/// Importance samples the filter: maps uniform numbers to offsets by its inverted cumulative distribution.
#[derive(Clone, Debug)]
pub struct FilterTable(Vec<f32>);

impl Default for FilterTable {
    fn default() -> Self {
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
}

impl FilterTable {
    const STEPS: usize = 1024;

    pub fn offset(&self, u: f32) -> f32 {
        let position = u * Self::STEPS as f32;
        let i = (position as usize).min(Self::STEPS - 1);
        self.0[i] + (self.0[i + 1] - self.0[i]) * (position - i as f32)
    }
}

/// A linear colour as sRGB bytes.
pub fn to_srgb(linear: V3) -> [u8; 3] {
    [linear.x, linear.y, linear.z].map(|x| (encoded(x).clamp(0.0, 1.0) * 255.0 + 0.5) as u8)
}

/// sRGB's transfer function, from linear to encoded.
fn encoded(x: f32) -> f32 {
    if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * libm::powf(x, 1.0 / 2.4) - 0.055 }
}

/// The filter's weights, tabulated.
#[derive(Clone, Debug)]
pub struct FilterWeights(Vec<f32>);

impl Default for FilterWeights {
    fn default() -> Self {
        let reach = (FILTER_RADIUS * Self::PER_PIXEL) as usize;
        Self((0..=reach + 1).map(|i| blackman_harris(i as f32 / Self::PER_PIXEL)).collect())
    }
}

impl FilterWeights {
    const PER_PIXEL: f32 = 128.0;

    #[inline(always)]
    fn at(&self, offset_px: f32) -> f32 {
        let position = offset_px.abs() * Self::PER_PIXEL;
        let i = (position as usize).min(self.0.len() - 2);
        self.0[i] + (self.0[i + 1] - self.0[i]) * (position - i as f32)
    }

    /// The weights in the previous, own and next pixel of a sample at this offset from its own pixel's centre.
    #[inline(always)]
    pub fn weights(&self, offset_px: f32) -> [f32; 3] {
        [self.at(offset_px + 1.0), self.at(offset_px), self.at(offset_px - 1.0)]
    }
}

/// `to_srgb`, tabulated.
#[derive(Clone, Debug)]
pub struct SrgbTable {
    /// By the upper 16 bits of a float: the byte of the smallest float that has them. All of these floats encode to
    /// this byte or the next.
    first: Vec<u8>,
    /// For each byte, the smallest float that encodes to it; then infinity.
    smallest: Vec<f32>,
}

impl Default for SrgbTable {
    fn default() -> Self {
        let one = 1.0_f32.to_bits();
        let byte = |bits: u32| (encoded(f32::from_bits(bits)) * 255.0 + 0.5) as u8;
        let smallest_bits = |wanted: u8| {
            let (mut low, mut high) = (0, one);
            while low < high {
                let middle = (low + high) / 2;
                if byte(middle) < wanted { low = middle + 1 } else { high = middle }
            }
            low
        };
        let smallest = (0..=255).map(|byte| f32::from_bits(smallest_bits(byte))).chain([f32::INFINITY]).collect();
        Self { first: (0..=one >> 16).map(|half| byte(half << 16)).collect(), smallest }
    }
}

impl SrgbTable {
    #[inline(always)]
    pub fn bytes(&self, linear: V3) -> [u8; 3] {
        [self.byte(linear.x), self.byte(linear.y), self.byte(linear.z)]
    }

    #[inline(always)]
    fn byte(&self, x: f32) -> u8 {
        let x = if x > 0.0 { x.min(1.0) } else { 0.0 };
        let first = self.first[(x.to_bits() >> 16) as usize];
        first + u8::from(x >= self.smallest[first as usize + 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::vector::v3;

    #[test]
    fn the_srgb_table_equals_the_formula() {
        let table = SrgbTable::default();
        for i in -10..200_010 {
            let x = i as f32 / 200_000.0;
            let [dark, middle, light] = table.bytes(v3(x * x * x, x, f32::NAN));
            assert_eq!([dark, middle, light], [to_srgb(v3(x * x * x, x, 0.0))[0], to_srgb(v3(x, x, x))[1], 0], "{x}");
        }
    }
}
