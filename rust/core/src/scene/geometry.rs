//! Vectors, and the rounding that files and tests share.

/// A point or direction, Blender units, Z up.
pub type Vec3 = [f64; 3];

/// Rounds to the 6 decimals in which scene files hold lengths and angles; never gives -0.
///
/// Exact for numbers below 10^9.
#[inline]
pub fn round6(x: f64) -> f64 {
    nearest(x * 1e6) as f64 / 1e6
}

/// Rounds to the 9 decimals in which scene files hold directions; never gives -0.
#[inline]
pub fn round9(x: f64) -> f64 {
    nearest(x * 1e9) as f64 / 1e9
}

/// The nearest integer, halves away from zero.
///
/// Uses casts, since `f64::round` and `f64::ceil` are library calls on plain x86-64.
#[inline]
pub fn nearest(x: f64) -> i64 {
    (x + 0.5_f64.copysign(x)) as i64
}

/// The least integer from 0 to `most` that is not below `x`; `most` if there is none.
#[inline]
pub fn ceil_within(x: f64, most: u32) -> u32 {
    let below = x as u32; // Saturates, so negative numbers and NaN give 0.
    (below + u32::from(f64::from(below) < x && below < most)).min(most)
}

#[inline]
pub fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline]
pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline]
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The same direction with length 1; not a number for the zero vector.
#[inline]
pub fn normalize(a: Vec3) -> Vec3 {
    let length = dot(a, a).sqrt();
    [a[0] / length, a[1] / length, a[2] / length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_numbers_survive_their_decimal_form() {
        for x in [0.1234565, -2.9999995, 1e-7, -1e-7, 359.999_999_6, 0.35] {
            let rounded = round6(x);
            assert_eq!(format!("{rounded:.6}").parse::<f64>().unwrap(), rounded);
            assert!((rounded - x).abs() <= 0.500_001e-6);
        }
        assert!(round6(-1e-9).is_sign_positive());
    }

    #[test]
    fn ceilings_are_clamped() {
        let cases = [(-3.5, 0), (0.0, 0), (0.1, 1), (7.0, 7), (7.000001, 8), (9.5, 9), (1e300, 9), (f64::INFINITY, 9)];
        for (x, expected) in cases {
            assert_eq!(ceil_within(x, 9), expected, "{x}");
        }
    }
}
