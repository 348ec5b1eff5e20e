//! Three-component vectors of `f32` or SIMD lanes: points, directions and linear colours.

use super::lanes::Real;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Index, Mul, Neg, Sub};

/// A point or direction in Blender units (Z up), or a linear RGB colour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct V3<F = f32> {
    pub x: F,
    pub y: F,
    pub z: F,
}

/// The vector with these coordinates.
#[inline(always)]
pub const fn v3<F>(x: F, y: F, z: F) -> V3<F> {
    V3 { x, y, z }
}

/// A ray; the direction has length 1.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    pub origin: V3,
    pub direction: V3,
}

impl Ray {
    /// The point at a distance along the ray.
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
}

impl<F: Real> V3<F> {
    /// Builds the vector lane by lane.
    #[inline(always)]
    pub fn from_lanes(vector: impl Fn(usize) -> V3) -> Self {
        v3(
            F::from_lanes(|lane| vector(lane).x),
            F::from_lanes(|lane| vector(lane).y),
            F::from_lanes(|lane| vector(lane).z),
        )
    }

    #[inline(always)]
    pub fn lane(&self, lane: usize) -> V3 {
        v3(self.x.lane(lane), self.y.lane(lane), self.z.lane(lane))
    }

    /// The same vector in each lane.
    #[inline(always)]
    pub fn splat(v: V3) -> Self {
        v3(F::splat(v.x), F::splat(v.y), F::splat(v.z))
    }

    /// `yes` where the mask is set, `no` elsewhere.
    #[inline(always)]
    pub fn select(mask: F::Mask, yes: Self, no: Self) -> Self {
        v3(F::select(mask, yes.x, no.x), F::select(mask, yes.y, no.y), F::select(mask, yes.z, no.z))
    }

    #[inline(always)]
    pub fn dot(self, b: Self) -> F {
        self.x * b.x + self.y * b.y + self.z * b.z
    }

    #[inline(always)]
    pub fn cross(self, b: Self) -> Self {
        v3(self.y * b.z - self.z * b.y, self.z * b.x - self.x * b.z, self.x * b.y - self.y * b.x)
    }

    #[inline(always)]
    pub fn length(self) -> F {
        self.dot(self).sqrt()
    }

    /// The same direction with length 1; NaN for the zero vector.
    #[inline(always)]
    pub fn unit(self) -> Self {
        self * (F::splat(1.0) / self.length())
    }

    /// The component-wise product.
    #[inline(always)]
    pub fn times(self, b: Self) -> Self {
        v3(self.x * b.x, self.y * b.y, self.z * b.z)
    }

    #[inline(always)]
    pub fn mean(self) -> F {
        (self.x + self.y + self.z) * F::splat(1.0 / 3.0)
    }

    #[inline(always)]
    pub fn max_component(self) -> F {
        self.x.max(self.y).max(self.z)
    }

    /// The component-wise minimum.
    #[inline(always)]
    pub fn min(self, b: Self) -> Self {
        v3(self.x.min(b.x), self.y.min(b.y), self.z.min(b.z))
    }

    /// The component-wise maximum.
    #[inline(always)]
    pub fn max(self, b: Self) -> Self {
        v3(self.x.max(b.x), self.y.max(b.y), self.z.max(b.z))
    }
}

impl<F: Real> Add for V3<F> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        v3(self.x + b.x, self.y + b.y, self.z + b.z)
    }
}

impl<F: Real> AddAssign for V3<F> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}

impl<F: Real> Sum for V3<F> {
    #[inline(always)]
    fn sum<I: Iterator<Item = Self>>(vectors: I) -> Self {
        vectors.fold(Self::default(), Self::add)
    }
}

impl<F: Real> Sub for V3<F> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        v3(self.x - b.x, self.y - b.y, self.z - b.z)
    }
}

impl<F: Real> Neg for V3<F> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        v3(-self.x, -self.y, -self.z)
    }
}

impl<F: Real> Mul<F> for V3<F> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: F) -> Self {
        v3(self.x * s, self.y * s, self.z * s)
    }
}

impl<F: Real> Div<F> for V3<F> {
    type Output = Self;
    #[inline(always)]
    fn div(self, s: F) -> Self {
        self * (F::splat(1.0) / s)
    }
}

impl<F> Index<usize> for V3<F> {
    type Output = F;
    #[inline(always)]
    fn index(&self, axis: usize) -> &F {
        match axis {
            0 => &self.x,
            1 => &self.y,
            _ => &self.z,
        }
    }
}
