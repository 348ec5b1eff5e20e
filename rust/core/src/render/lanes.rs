//! The numbers that shading computes with: one at a time, or eight in SIMD lanes.
//!
//! A formula that is generic over `Real` gives the same bits either way, because each operation treats a lane as it
//! treats a single number. Where the processor has AVX2, which `pulp` detects, eight lanes fill one register.

use crate::machine;
use pulp::{NullaryFnOnce, Simd, WithSimd};
use std::fmt::Debug;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// Number of lanes in an `F8`.
pub const LANES: usize = 8;

/// Runs `work` compiled for AVX2 where the processor has it (AVX-512 included), else for the baseline instruction set.
#[inline(always)]
pub fn dispatch<W: NullaryFnOnce>(work: W) -> W::Output {
    machine::arch().dispatch(Widest(work))
}

/// Runs `work` compiled for the baseline instruction set.
///
/// Never inlined: code on lanes is thousands of short loops before unrolling, and the time to compile a function grows
/// with the square of their number.
#[inline(never)]
pub fn call_without_avx2<W: NullaryFnOnce>(work: W) -> W::Output {
    work.call()
}

struct Widest<W>(W);

impl<W: NullaryFnOnce> WithSimd for Widest<W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> W::Output {
        if S::IS_SCALAR { call_without_avx2(self.0) } else { self.0.call() }
    }
}

/// A single-precision number, or a vector of them.
pub trait Real:
    Copy
    + Debug
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The result of a comparison.
    type Mask: Mask;

    /// The same number in each lane.
    fn splat(x: f32) -> Self;

    fn is_less(self, other: Self) -> Self::Mask;

    /// `yes` where the mask is set, `no` elsewhere.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    fn sqrt(self) -> Self;

    /// Builds the value lane by lane.
    fn from_lanes(number: impl Fn(usize) -> f32) -> Self;

    fn lane(self, lane: usize) -> f32;

    /// Applies a function to each lane.
    fn map(self, function: impl Fn(f32) -> f32) -> Self;

    #[inline(always)]
    fn is_positive(self) -> Self::Mask {
        Self::splat(0.0).is_less(self)
    }

    /// `other` if either is NaN, unlike `f32::min`.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.is_less(other), self, other)
    }

    /// `other` if either is NaN, unlike `f32::max`.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.is_less(self), self, other)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Self::select(self.is_less(Self::splat(0.0)), -self, self)
    }

    /// -1 below 0, else 1.
    #[inline(always)]
    fn sign(self) -> Self {
        Self::select(self.is_less(Self::splat(0.0)), Self::splat(-1.0), Self::splat(1.0))
    }

    #[inline(always)]
    fn exp(self) -> Self {
        self.map(exp)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        self.map(ln)
    }

    /// Sine and cosine of an angle in turns, from 0 to 1.
    #[inline(always)]
    fn sin_cos_turns(self) -> [Self; 2] {
        [self.map(|turns| sin_cos_turns(turns)[0]), self.map(|turns| sin_cos_turns(turns)[1])]
    }
}

/// The result of comparing one number, or of each lane.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    fn any(self) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

impl Real for f32 {
    type Mask = bool;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        x
    }

    #[inline(always)]
    fn is_less(self, other: Self) -> bool {
        self < other
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }

    #[inline(always)]
    fn from_lanes(number: impl Fn(usize) -> f32) -> Self {
        number(0)
    }

    #[inline(always)]
    fn lane(self, _: usize) -> f32 {
        self
    }

    #[inline(always)]
    fn map(self, function: impl Fn(f32) -> f32) -> Self {
        function(self)
    }
}

/// Eight numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub struct F8(pub [f32; LANES]);

/// The result of comparing eight numbers: in each lane all bits are set, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub struct M8([u32; LANES]);

/// Calls a function for each lane.
#[inline(always)]
fn lanes<T>(of: impl Fn(usize) -> T) -> [T; LANES] {
    // Eight calls become one instruction as a loop does, and compile in a third of the time.
    [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
}

impl F8 {
    /// A mask of the first `n` lanes.
    #[inline(always)]
    pub fn first_lanes(n: u32) -> M8 {
        M8(lanes(|lane| if (lane as u32) < n { u32::MAX } else { 0 }))
    }

    #[inline(always)]
    fn zip(self, other: Self, function: impl Fn(f32, f32) -> f32) -> Self {
        Self(lanes(|lane| function(self.0[lane], other.0[lane])))
    }
}

impl Real for F8 {
    type Mask = M8;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([x; LANES])
    }

    #[inline(always)]
    fn is_less(self, other: Self) -> M8 {
        M8(lanes(|lane| if self.0[lane] < other.0[lane] { u32::MAX } else { 0 }))
    }

    #[inline(always)]
    fn select(mask: M8, yes: Self, no: Self) -> Self {
        Self(lanes(|lane| if mask.0[lane] != 0 { yes.0[lane] } else { no.0[lane] }))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f32::sqrt)
    }

    #[inline(always)]
    fn from_lanes(number: impl Fn(usize) -> f32) -> Self {
        Self(lanes(number))
    }

    #[inline(always)]
    fn lane(self, lane: usize) -> f32 {
        self.0[lane]
    }

    #[inline(always)]
    fn map(self, function: impl Fn(f32) -> f32) -> Self {
        Self(lanes(|lane| function(self.0[lane])))
    }
}

impl M8 {
    /// The lanes that are set, as bits.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0.iter().enumerate().map(|(lane, mask)| (mask & 1) << lane).sum()
    }
}

impl Mask for M8 {
    #[inline(always)]
    fn any(self) -> bool {
        self.bits() != 0
    }
}

impl BitAnd for M8 {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(lanes(|lane| self.0[lane] & other.0[lane]))
    }
}

impl BitOr for M8 {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(lanes(|lane| self.0[lane] | other.0[lane]))
    }
}

impl Not for M8 {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(lanes(|lane| !self.0[lane]))
    }
}

impl Add for F8 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for F8 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul for F8 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

impl Div for F8 {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
}

impl Neg for F8 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|x| -x)
    }
}

/// 1.5 * 2^23: adding it to a float leaves the nearest integer in the mantissa's low bits.
const ROUND: f32 = 12_582_912.0;

/// The exponential function, to about two units in the last place; 0 below -87. Branchless, so that it vectorises.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let clamped = if x < -87.0 { -87.0 } else { x };
    let clamped = if clamped > 88.0 { 88.0 } else { clamped };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let r = clamped - whole * LN_2_HIGH - whole * LN_2_LOW; // at most half of ln 2
    // Taylor's series, to r^7.
    let mut sum = 1.0 / 5040.0;
    for factor in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * r + factor;
    }
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { sum * power }
}

/// The natural logarithm of a positive normal number, to about two units in the last place; branchless.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // x is a power of two times a factor from 0.707 to 1.414.
    let shifted = x.to_bits().wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits());
    let power = (shifted as i32 >> 23) as f32;
    let factor = f32::from_bits((shifted & 0x007f_ffff) + std::f32::consts::FRAC_1_SQRT_2.to_bits());
    // The series of the inverse hyperbolic tangent, to s^9.
    let s = (factor - 1.0) / (factor + 1.0);
    let s2 = s * s;
    let rest = s2 * (1.0 / 3.0 + s2 * (0.2 + s2 * (1.0 / 7.0 + s2 * (1.0 / 9.0))));
    power * std::f32::consts::LN_2 + 2.0 * (s + s * rest)
}

/// Sine and cosine of an angle in turns, from 0 to 1, to about a unit in the last place; branchless.
#[inline(always)]
pub fn sin_cos_turns(turns: f32) -> [f32; 2] {
    let shifted = turns * 4.0 + ROUND;
    let quarter = shifted.to_bits() & 3;
    let x = (turns - (shifted - ROUND) * 0.25) * std::f32::consts::TAU; // within an eighth of a turn
    let x2 = x * x;
    // Taylor's series, to x^9 and x^8.
    let sine = x * (1.0 + x2 * (-1.0 / 6.0 + x2 * (1.0 / 120.0 + x2 * (-1.0 / 5040.0 + x2 * (1.0 / 362_880.0)))));
    let cosine = 1.0 + x2 * (-0.5 + x2 * (1.0 / 24.0 + x2 * (-1.0 / 720.0 + x2 * (1.0 / 40_320.0))));
    let (first, second) = if quarter & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let flipped = |x: f32, bit: u32| f32::from_bits(x.to_bits() ^ (bit & 2) << 30);
    [flipped(first, quarter), flipped(second, quarter + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::light::Light;
    use crate::render::material::{Distribution, Kind, Lobe, Lobes};
    use crate::render::shape::{Shape, ShapeSpec};
    use crate::render::vector::{V3, v3};
    use proptest::prelude::*;

    fn shapes() -> Vec<Shape> {
        let specs = [
            r#"{"kind": "icosphere", "subdivisions": 3, "catmull_clark_steps": 1}"#,
            r#"{"kind": "revolved", "segments": 32, "profile_radius_z": [[0.9, 1], [1, 0.9], [1, -0.9], [0.8, -1]]}"#,
            r#"{"kind": "rounded_cube", "edge_profile": [[1, 0.9]], "edge_exponent": 3}"#,
        ];
        specs.iter().map(|spec| Shape::new(&serde_json::from_str::<ShapeSpec>(spec).unwrap()).unwrap()).collect()
    }

    /// Checks that a formula gives the same bits eight at a time (with AVX2 if there is) as one at a time.
    fn assert_lanes_match<const N: usize>(given: [[f32; N]; LANES], formula: impl Formula<N>) {
        let eight: [F8; N] = std::array::from_fn(|i| F8(std::array::from_fn(|lane| given[lane][i])));
        let wide = machine::arch().dispatch(|| formula.evaluate(eight));
        for lane in 0..LANES {
            let alone = formula.evaluate(given[lane]);
            for (one, other) in alone.iter().zip(&wide) {
                assert_eq!(one.to_bits(), other.lane(lane).to_bits(), "lane {lane} of {given:?}");
            }
        }
    }

    trait Formula<const N: usize> {
        fn evaluate<F: Real>(&self, given: [F; N]) -> Vec<F>;
    }

    struct Hits(Vec<Shape>);

    impl Formula<6> for Hits {
        fn evaluate<F: Real>(&self, [x, y, z, u, v, w]: [F; 6]) -> Vec<F> {
            let away = F::splat(4.0);
            let origin = v3(x, y, z).unit() * away;
            let direction = (v3(u, v, w) - origin).unit();
            self.0.iter().map(|shape| shape.hit(origin, direction)).collect()
        }
    }

    struct LightSamples(Light);

    impl Formula<5> for LightSamples {
        fn evaluate<F: Real>(&self, [x, y, z, u, v]: [F; 5]) -> Vec<F> {
            let unit = |x: F| x.abs() * F::splat(0.5);
            let (sample, is_lit) = self.0.samples(v3(x, y, z), [unit(u), unit(v)]);
            let pdf = F::select(is_lit, sample.pdf, F::default());
            vec![sample.direction.x, sample.direction.y, sample.direction.z, sample.distance, pdf]
        }
    }

    struct BsdfLobes;

    impl Formula<6> for BsdfLobes {
        fn evaluate<F: Real>(&self, [x, y, z, u, v, w]: [F; 6]) -> Vec<F> {
            let up = |x| V3::<F>::splat(x);
            let n = up(v3(0.0, 0.0, 1.0));
            let glossy = |distribution| {
                let (alpha_x, alpha_y) = (F::splat(0.2), F::splat(0.3));
                Kind::Glossy { distribution, alpha_x, alpha_y, x: up(v3(1.0, 0.0, 0.0)), y: up(v3(0.0, 1.0, 0.0)) }
            };
            let mut lobes = Lobes::default();
            let kinds =
                [Kind::Diffuse, Kind::Sheen { sigma: 0.4 }, glossy(Distribution::Ggx), glossy(Distribution::Beckmann)];
            for kind in kinds {
                lobes.push(Lobe { weight: up(V3::ONE), kind });
            }
            let (value, density) = lobes.evaluate_sampled(n, v3(x, y, z).unit(), v3(u, v, w).unit());
            let next = lobes.sample(n, v3(x, y, z).unit(), [u, v].map(|x| x.abs() * F::splat(0.5)));
            vec![value.x, density, next.x, next.y, next.z]
        }
    }

    fn inputs<const N: usize>() -> impl Strategy<Value = [[f32; N]; LANES]> {
        proptest::array::uniform8(proptest::array::uniform(-1.9_f32..1.9))
    }

    proptest! {
        #[test]
        fn hits_are_the_same_one_at_a_time_and_eight_at_a_time(given in inputs()) {
            assert_lanes_match(given, Hits(shapes()));
        }

        #[test]
        fn light_is_the_same_one_at_a_time_and_eight_at_a_time(given in inputs(), directions in inputs()) {
            let (axis, u, v) = (v3(0.0, 0.0, -1.0), v3(0.3, 0.0, 0.0), v3(0.0, 0.3, 0.0));
            let (center, radiance) = (v3(0.2, 0.3, 3.0), V3::ONE);
            assert_lanes_match(given, LightSamples(Light::Area { center, half_u: u, half_v: v, axis, area: 0.36, radiance }));
            assert_lanes_match(given, LightSamples(Light::Sun { toward: -axis, u, v, radius: 0.1, radiance }));
            assert_lanes_match(directions, BsdfLobes);
        }

        #[test]
        fn exp_ln_and_sin_cos_are_close_to_exact(x in -86.0_f32..20.0, turns in 0.0_f32..1.0) {
            let exact = libm::exp(f64::from(x));
            prop_assert!((f64::from(exp(x)) / exact - 1.0).abs() < 3e-7);
            let number = exp(x);
            let exact = libm::log(f64::from(number));
            prop_assert!((f64::from(ln(number)) - exact).abs() < 3e-7 * exact.abs().max(0.5), "{number}");
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * f64::from(turns));
            for (value, exact) in sin_cos_turns(turns).into_iter().zip([sin, cos]) {
                prop_assert!((f64::from(value) - exact).abs() < 2e-7, "{turns}");
            }
        }
    }
}
