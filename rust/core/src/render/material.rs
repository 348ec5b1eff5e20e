//! How much light a surface throws from one direction to another, by Cycles' formulas.
//!
//! A surface is a few lobes, each with a weight; what is mixed by Fresnel's formula depends on the
//! direction to the viewer alone. All directions here have length 1 and lead away from the
//! surface: `v` to the viewer, `l` to the light, `n` is the shading normal.

use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::{FRAC_1_PI, PI};

/// The largest number below 1.
const LARGEST_NUMBER: f32 = 1.0 - f32::EPSILON / 2.0;

/// One way in which a surface throws light back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lobe {
    pub weight: V3,
    pub kind: Kind,
}

/// The lobes of a surface, at most `Lobes::MOST`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lobes {
    list: [Lobe; Lobes::MOST],
    count: usize,
}

impl Lobes {
    pub const MOST: usize = 4;

    /// A surface that scatters evenly.
    #[inline(always)]
    pub fn matte(color: V3) -> Self {
        let mut lobes = Self::default();
        lobes.push(Lobe { weight: color, kind: Kind::Diffuse });
        lobes
    }

    #[inline(always)]
    pub fn push(&mut self, lobe: Lobe) {
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = lobe;
            self.count += 1;
        }
    }

    /// All lobes together: what they throw back, cosine included.
    #[inline]
    pub fn value(&self, n: V3, v: V3, l: V3) -> V3 {
        let Some(pass) = Pass::new(n, v, l) else { return V3::ZERO };
        self.iter().map(|lobe| lobe.weight * lobe.evaluate(&pass).0).sum()
    }

    /// As `value`, and how densely `choose` and then `Lobe::sample` give the direction, as Cycles
    /// counts it.
    #[inline]
    pub fn evaluate(&self, n: V3, v: V3, l: V3) -> (V3, f32) {
        self.weigh(n, v, l, |_, _, density| density)
    }

    /// As `evaluate`, with the density of `Lobe::sample` where that differs from Cycles'.
    #[inline]
    pub fn evaluate_sampled(&self, n: V3, v: V3, l: V3) -> (V3, f32) {
        self.weigh(n, v, l, Lobe::sampling_density)
    }

    /// What all lobes throw back, and the mean of their `density`, each by its weight.
    #[inline(always)]
    fn weigh(&self, n: V3, v: V3, l: V3, density: impl Fn(&Lobe, &Pass, f32) -> f32) -> (V3, f32) {
        let Some(pass) = Pass::new(n, v, l) else { return (V3::ZERO, 0.0) };
        let mut value = V3::ZERO;
        let (mut dense, mut total) = (0.0, 0.0);
        for lobe in self.iter() {
            let share = lobe.weight.mean();
            let (part, evaluated) = lobe.evaluate(&pass);
            value += lobe.weight * part;
            dense += share * density(lobe, &pass, evaluated);
            total += share;
        }
        (value, dense / total)
    }

    /// A lobe by a uniform number, each as often as it weighs; and what the number leaves, uniform again.
    ///
    /// Directions sampled with the rest are as even as the numbers are, whichever the lobe.
    #[inline]
    pub fn choose(&self, u: f32) -> (usize, f32) {
        let total: f32 = self.iter().map(|lobe| lobe.weight.mean()).sum();
        let mut left = u * total;
        for (number, lobe) in self.iter().enumerate() {
            let share = lobe.weight.mean();
            if left < share {
                return (number, (left / share).min(LARGEST_NUMBER));
            }
            left -= share;
        }
        (self.count - 1, LARGEST_NUMBER)
    }
}

impl std::ops::Deref for Lobes {
    type Target = [Lobe];
    #[inline(always)]
    fn deref(&self) -> &[Lobe] {
        &self.list[..self.count]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub enum Kind {
    #[default]
    Diffuse,
    /// Ashikhmin's velvet.
    Sheen { sigma: f32 },
    /// Rough reflection; `x` and `y` are the tangent and the bitangent, of length 1.
    Glossy { distribution: Distribution, alpha_x: f32, alpha_y: f32, x: V3, y: V3 },
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    Beckmann,
    Ggx,
}

/// Fresnel's reflectance of a dielectric, unpolarised.
#[inline(always)]
pub fn fresnel(cos: f32, ior: f32) -> f32 {
    let c = cos.abs();
    let g2 = ior * ior - 1.0 + c * c;
    if g2 <= 0.0 {
        return 1.0;
    }
    let g = g2.sqrt();
    let a = (g - c) / (g + c);
    let b = (c * (g + c) - 1.0) / (c * (g - c) + 1.0);
    0.5 * a * a * (1.0 + b * b)
}

/// The least alpha of glossy lobes behind rays sampled this densely: Cycles' "filter glossy" of strength
/// `blur_glossy`, 0 for none.
#[inline(always)]
pub fn widened(density: f32, blur_glossy: f32) -> f32 {
    let blurred = density / blur_glossy;
    if blurred < 1.0 { 0.5 * (1.0 - blurred).sqrt() } else { 0.0 }
}

impl Lobe {
    pub fn is_glossy(&self) -> bool {
        matches!(self.kind, Kind::Glossy { .. })
    }

    /// Whether it is a metal's: a direction at a time tells more of it than an even sky would.
    #[inline(always)]
    pub fn is_narrow(&self) -> bool {
        matches!(self.kind, Kind::Glossy { distribution: Distribution::Ggx, .. })
    }

    /// What comes back of light, cosine included, and how densely its direction is sampled.
    #[inline(always)]
    fn evaluate(&self, pass: &Pass) -> (f32, f32) {
        match self.kind {
            Kind::Diffuse => (pass.cos_l * FRAC_1_PI, pass.cos_l * FRAC_1_PI),
            Kind::Sheen { sigma } => (sheen(sigma, pass), 0.5 * FRAC_1_PI),
            Kind::Glossy { distribution, alpha_x, alpha_y, x, y } => {
                let local = |d: V3, cos: f32| v3(x.dot(d), y.dot(d), cos);
                let density = distribution.density(local(pass.h, pass.cos_h), alpha_x, alpha_y);
                let shadow_v = distribution.lambda(local(pass.v, pass.cos_v), alpha_x, alpha_y);
                let shadow_l = distribution.lambda(local(pass.l, pass.cos_l), alpha_x, alpha_y);
                let common = density / (4.0 * pass.cos_v);
                (common / (1.0 + shadow_v + shadow_l), common / (1.0 + shadow_v))
            }
        }
    }

    /// A direction to look for light in, from two uniform numbers; it may lie below the surface.
    pub fn sample(&self, n: V3, v: V3, u: [f32; 2]) -> V3 {
        let (sin, cos) = (std::f32::consts::TAU * u[1]).sin_cos();
        let (t, b) = frame(n);
        match self.kind {
            Kind::Diffuse => {
                let r = u[0].sqrt();
                t * (r * cos) + b * (r * sin) + n * (1.0 - u[0]).max(0.0).sqrt()
            }
            Kind::Sheen { .. } => {
                let r = (1.0 - u[0] * u[0]).max(0.0).sqrt();
                t * (r * cos) + b * (r * sin) + n * u[0]
            }
            Kind::Glossy { distribution: Distribution::Ggx, alpha_x, alpha_y, x, y } => {
                // Heitz 2018: normals that the viewer sees.
                let local = v3(x.dot(v), y.dot(v), n.dot(v));
                let w = v3(alpha_x * local.x, alpha_y * local.y, local.z).unit();
                let flat = w.x * w.x + w.y * w.y;
                let t1 = if flat > 0.0 { v3(-w.y, w.x, 0.0) / flat.sqrt() } else { v3(1.0, 0.0, 0.0) };
                let t2 = w.cross(t1);
                let r = u[0].sqrt();
                let (p1, s) = (r * cos, 0.5 * (1.0 + w.z));
                let p2 = (1.0 - s) * (1.0 - p1 * p1).max(0.0).sqrt() + s * r * sin;
                let h = t1 * p1 + t2 * p2 + w * (1.0 - p1 * p1 - p2 * p2).max(0.0).sqrt();
                let h = v3(alpha_x * h.x, alpha_y * h.y, h.z.max(1e-6)).unit();
                mirror(v, x * h.x + y * h.y + n * h.z)
            }
            Kind::Glossy { distribution: Distribution::Beckmann, alpha_x, x, y, .. } => {
                let tan2 = -alpha_x * alpha_x * (1.0 - u[0]).max(1e-7).ln();
                let z = 1.0 / (1.0 + tan2).sqrt();
                let r = (1.0 - z * z).max(0.0).sqrt();
                mirror(v, x * (r * cos) + y * (r * sin) + n * z)
            }
        }
    }

    /// How densely `sample` gives the direction to the light; `by_cycles` is what `evaluate` says.
    #[inline(always)]
    fn sampling_density(&self, pass: &Pass, by_cycles: f32) -> f32 {
        match self.kind {
            Kind::Glossy { distribution: Distribution::Beckmann, alpha_x, alpha_y, x, y } => {
                let local = v3(x.dot(pass.h), y.dot(pass.h), pass.cos_h);
                let along = pass.v.dot(pass.h);
                if along <= 0.0 || local.z <= 0.0 {
                    return 0.0;
                }
                Distribution::Beckmann.density(local, alpha_x, alpha_y) * local.z / (4.0 * along)
            }
            _ => by_cycles,
        }
    }
}

/// Light's way over a surface: from `l` to `v`, and the direction midway between them.
struct Pass {
    v: V3,
    l: V3,
    h: V3,
    cos_v: f32,
    cos_l: f32,
    cos_h: f32,
}

impl Pass {
    /// None from or to behind the surface.
    #[inline(always)]
    fn new(n: V3, v: V3, l: V3) -> Option<Self> {
        let (cos_v, cos_l) = (n.dot(v), n.dot(l));
        if cos_l <= 0.0 || cos_v <= 0.0 {
            return None;
        }
        let h = (v + l).unit();
        Some(Self { v, l, h, cos_v, cos_l, cos_h: n.dot(h) })
    }
}

impl Distribution {
    /// Of microfacets whose normal is `h`, over the solid angle.
    #[inline(always)]
    pub fn density(self, h: V3, alpha_x: f32, alpha_y: f32) -> f32 {
        let (x, y) = (h.x / alpha_x, h.y / alpha_y);
        let z2 = h.z * h.z;
        match self {
            Self::Ggx => {
                let sum = x * x + y * y + z2;
                FRAC_1_PI / (alpha_x * alpha_y * sum * sum)
            }
            Self::Beckmann => (-(x * x + y * y) / z2).exp() * FRAC_1_PI / (alpha_x * alpha_y * z2 * z2),
        }
    }

    /// Smith's function of hidden microfacets.
    #[inline(always)]
    pub fn lambda(self, d: V3, alpha_x: f32, alpha_y: f32) -> f32 {
        let (x, y) = (alpha_x * d.x, alpha_y * d.y);
        let ratio = (x * x + y * y) / (d.z * d.z);
        match self {
            Self::Ggx => 0.5 * ((1.0 + ratio).sqrt() - 1.0),
            Self::Beckmann => {
                // A rational fit, exact to a third of a percent (Walter and others 2007).
                let a = 1.0 / ratio.sqrt();
                if a >= 1.6 { 0.0 } else { (1.0 - 1.259 * a + 0.396 * a * a) / (3.535 * a + 2.181 * a * a) }
            }
        }
    }
}

#[inline(always)]
fn sheen(sigma: f32, pass: &Pass) -> f32 {
    let Pass { cos_v, cos_l, cos_h, .. } = *pass;
    let along = pass.v.dot(pass.h).abs();
    if cos_v <= 1e-5 || cos_h.abs() >= 1.0 - 1e-5 || along <= 1e-5 {
        return 0.0;
    }
    let ratio = 2.0 * (cos_h / along).abs();
    let sin2 = 1.0 - cos_h * cos_h;
    let inverse = 1.0 / (sigma * sigma);
    let density = (-cos_h * cos_h / sin2 * inverse).exp() * inverse / (PI * sin2 * sin2);
    let shadow = (ratio * cos_l).min(ratio * cos_v).min(1.0);
    0.25 * density * shadow / cos_v
}

#[inline(always)]
fn mirror(v: V3, h: V3) -> V3 {
    h * (2.0 * v.dot(h)) - v
}

/// Two directions that make a right-handed frame with `n` (Duff and others 2017).
#[inline(always)]
pub fn frame(n: V3) -> (V3, V3) {
    let sign = 1.0_f32.copysign(n.z);
    let a = -1.0 / (sign + n.z);
    let b = n.x * n.y * a;
    (v3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), v3(b, sign + n.y * n.y * a, -n.y))
}
