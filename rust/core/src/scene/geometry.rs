//! Numbers in, numbers out: vectors, and the rounding that files and tests share.

/// A point or direction, Blender units, Z up.
pub type Vec3 = [f64; 3];

/// Rounds to the 6 decimals in which scene files hold lengths and angles; never gives -0.
#[inline]
pub fn round6(x: f64) -> f64 {
    (x * 1e6).round() / 1e6 + 0.0
}

/// Rounds to the 9 decimals in which scene files hold directions; never gives -0.
#[inline]
pub fn round9(x: f64) -> f64 {
    (x * 1e9).round() / 1e9 + 0.0
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
}
