//! Vectors of three single-precision numbers, for points, directions and linear colours.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Index, Mul, Neg, Sub};

/// A point or direction in Blender units (Z up), or a linear RGB colour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct V3 {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

/// The vector with these coordinates.
#[inline(always)]
pub const fn v3(x: f32, y: f32, z: f32) -> V3 {
    V3 { x, y, z }
}

/// A point to look from and a direction of length 1.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub origin: V3,
    pub direction: V3,
}

impl Ray {
    /// The point at a distance.
    #[inline(always)]
    pub fn at(&self, distance: f32) -> V3 {
        self.origin + self.direction * distance
    }
}

impl V3 {
    pub const ZERO: Self = v3(0.0, 0.0, 0.0);
    pub const ONE: Self = v3(1.0, 1.0, 1.0);

    #[inline(always)]
    pub fn from_f64(v: [f64; 3]) -> Self {
        v3(v[0] as f32, v[1] as f32, v[2] as f32)
    }

    #[inline(always)]
    pub fn dot(self, b: Self) -> f32 {
        self.x * b.x + self.y * b.y + self.z * b.z
    }

    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        v3(self.y * b.z - self.z * b.y, self.z * b.x - self.x * b.z, self.x * b.y - self.y * b.x)
    }

    #[inline(always)]
    pub fn length(self) -> f32 {
        self.dot(self).sqrt()
    }

    /// The same direction with length 1; not a number for the zero vector.
    #[inline(always)]
    pub fn unit(self) -> Self {
        self * (1.0 / self.length())
    }

    /// Each coordinate by itself.
    #[inline(always)]
    pub fn times(self, b: Self) -> Self {
        v3(self.x * b.x, self.y * b.y, self.z * b.z)
    }

    #[inline(always)]
    pub fn mean(self) -> f32 {
        (self.x + self.y + self.z) * (1.0 / 3.0)
    }

    #[inline(always)]
    pub fn largest(self) -> f32 {
        self.x.max(self.y).max(self.z)
    }

    /// The lesser of each coordinate.
    #[inline(always)]
    pub fn least(self, b: Self) -> Self {
        v3(self.x.min(b.x), self.y.min(b.y), self.z.min(b.z))
    }

    /// The greater of each coordinate.
    #[inline(always)]
    pub fn most(self, b: Self) -> Self {
        v3(self.x.max(b.x), self.y.max(b.y), self.z.max(b.z))
    }
}

impl Add for V3 {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        v3(self.x + b.x, self.y + b.y, self.z + b.z)
    }
}

impl AddAssign for V3 {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl Sum for V3 {
    #[inline(always)]
    fn sum<I: Iterator<Item = Self>>(vectors: I) -> Self {
        vectors.fold(Self::ZERO, Self::add)
    }
}

impl Sub for V3 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        v3(self.x - b.x, self.y - b.y, self.z - b.z)
    }
}

impl Neg for V3 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        v3(-self.x, -self.y, -self.z)
    }
}

impl Mul<f32> for V3 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: f32) -> Self {
        v3(self.x * s, self.y * s, self.z * s)
    }
}

impl Div<f32> for V3 {
    type Output = Self;
    #[inline(always)]
    fn div(self, s: f32) -> Self {
        self * (1.0 / s)
    }
}

impl Index<usize> for V3 {
    type Output = f32;
    #[inline(always)]
    fn index(&self, axis: usize) -> &f32 {
        match axis {
            0 => &self.x,
            1 => &self.y,
            _ => &self.z,
        }
    }
}
