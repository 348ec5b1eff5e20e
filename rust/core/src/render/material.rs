//! BSDFs, by Cycles' formulas.
//!
//! A BSDF is a weighted sum of a few lobes; Fresnel mixing weights depend on the direction to the viewer alone. All
//! directions here have length 1 and point away from the surface: `v` to the viewer, `l` to the light; `n` is the
//! shading normal.

use super::lanes::{F8, Mask, Real};
use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::{FRAC_1_PI, PI};

/// The largest float below 1.
const ONE_MINUS_EPSILON: f32 = 1.0 - f32::EPSILON / 2.0;

/// One lobe of a BSDF.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lobe<F = f32> {
    pub weight: V3<F>,
    pub kind: Kind<F>,
}

/// A BSDF: a sum of at most `Lobes::MAX` lobes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lobes<F = f32> {
    list: [Lobe<F>; Lobes::MAX],
    count: usize,
}

impl Lobes {
    pub const MAX: usize = 4;

    /// A Lambertian surface.
    #[inline(always)]
    pub fn lambertian(color: V3) -> Self {
        let mut lobes = Self::default();
        lobes.push(Lobe { weight: color, kind: Kind::Diffuse });
        lobes
    }

    /// Chooses a lobe with a probability proportional to its weight.
    #[inline]
    pub fn choose(&self, u: f32) -> usize {
        let total: f32 = self.iter().map(|lobe| lobe.weight.mean()).sum();
        let mut left = u * total;
        for (index, lobe) in self.iter().enumerate() {
            let weight = lobe.weight.mean();
            if left < weight {
                return index;
            }
            left -= weight;
        }
        self.count - 1
    }
}

impl<F: Real> Lobes<F> {
    #[inline(always)]
    pub fn push(&mut self, lobe: Lobe<F>) {
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = lobe;
            self.count += 1;
        }
    }

    /// The BSDF times the cosine.
    #[inline(always)]
    pub fn value(&self, n: V3<F>, v: V3<F>, l: V3<F>) -> V3<F> {
        let (dirs, is_in_front) = Directions::new(n, v, l);
        if !is_in_front.any() {
            return V3::default();
        }
        let value = self.iter().map(|lobe| lobe.weight * lobe.evaluate(&dirs).0).sum();
        V3::select(is_in_front, value, V3::default())
    }

    /// As `value`, with the pdf of the direction by `choose` and `Lobe::sample` as Cycles computes it.
    #[inline(always)]
    pub fn evaluate(&self, n: V3<F>, v: V3<F>, l: V3<F>) -> (V3<F>, F) {
        self.evaluate_with(n, v, l, |_, _, pdf| pdf)
    }

    /// As `evaluate`, with the true pdf of `Lobe::sample` where Cycles' differs from it.
    #[inline(always)]
    pub fn evaluate_sampled(&self, n: V3<F>, v: V3<F>, l: V3<F>) -> (V3<F>, F) {
        self.evaluate_with(n, v, l, Lobe::sampling_pdf)
    }

    /// The BSDF times the cosine, and the mean of the lobes' `pdf` by their weights.
    #[inline(always)]
    fn evaluate_with(
        &self,
        n: V3<F>,
        v: V3<F>,
        l: V3<F>,
        pdf: impl Fn(&Lobe<F>, &Directions<F>, F) -> F,
    ) -> (V3<F>, F) {
        let (dirs, is_in_front) = Directions::new(n, v, l);
        if !is_in_front.any() {
            return Default::default();
        }
        let mut value = V3::default();
        let (mut pdf_sum, mut total) = (F::default(), F::default());
        for lobe in self.iter() {
            let weight = lobe.weight.mean();
            let (part, evaluated) = lobe.evaluate(&dirs);
            value += lobe.weight * part;
            pdf_sum = pdf_sum + weight * pdf(lobe, &dirs, evaluated);
            total = total + weight;
        }
        let zero = F::default();
        (V3::select(is_in_front, value, V3::default()), F::select(is_in_front, pdf_sum / total, zero))
    }

    /// Samples a direction: `u` chooses the lobe as in `choose`; rescaled, it is uniform again and samples that lobe
    /// together with `u2`. Reusing it keeps the directions as well stratified as the numbers are.
    #[inline(always)]
    pub fn sample(&self, n: V3<F>, v: V3<F>, [u, u2]: [F; 2]) -> V3<F> {
        let mut total = F::default();
        for lobe in self.iter() {
            total = total + lobe.weight.mean();
        }
        let (mut direction, mut left) = (V3::default(), u * total);
        let mut is_pending = F::default().is_less(F::splat(1.0));
        for (index, lobe) in self.iter().enumerate() {
            let weight = lobe.weight.mean();
            let is_chosen = if index + 1 == self.count { is_pending } else { is_pending & left.is_less(weight) };
            if is_chosen.any() {
                let rescaled = (left / weight).min(F::splat(ONE_MINUS_EPSILON));
                direction = V3::select(is_chosen, lobe.sample(n, v, [u2, rescaled]), direction);
            }
            is_pending = is_pending & !is_chosen;
            if !is_pending.any() {
                break;
            }
            left = left - weight;
        }
        direction
    }
}

impl Lobes<F8> {
    /// The lobes of one lane.
    #[inline(always)]
    pub fn lane(&self, lane: usize) -> Lobes {
        let mut lobes = Lobes::default();
        for lobe in self.iter() {
            let kind = match lobe.kind {
                Kind::Diffuse => Kind::Diffuse,
                Kind::Sheen { sigma } => Kind::Sheen { sigma },
                Kind::Glossy { distribution, alpha_x, alpha_y, x, y } => Kind::Glossy {
                    distribution,
                    alpha_x: alpha_x.lane(lane),
                    alpha_y: alpha_y.lane(lane),
                    x: x.lane(lane),
                    y: y.lane(lane),
                },
            };
            lobes.push(Lobe { weight: lobe.weight.lane(lane), kind });
        }
        lobes
    }
}

impl<F> std::ops::Deref for Lobes<F> {
    type Target = [Lobe<F>];
    #[inline(always)]
    fn deref(&self) -> &[Lobe<F>] {
        &self.list[..self.count]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub enum Kind<F = f32> {
    #[default]
    Diffuse,
    /// Ashikhmin's velvet BRDF.
    Sheen { sigma: f32 },
    /// Microfacet reflection; `x` and `y` are the tangent and the bitangent, of length 1.
    Glossy { distribution: Distribution, alpha_x: F, alpha_y: F, x: V3<F>, y: V3<F> },
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    Beckmann,
    Ggx,
}

/// Fresnel reflectance of a dielectric for unpolarised light.
#[inline(always)]
pub fn fresnel<F: Real>(cos: F, ior: f32) -> F {
    let one = F::splat(1.0);
    let c = cos.abs();
    let g2 = F::splat(ior * ior - 1.0) + c * c;
    let g = g2.sqrt();
    let a = (g - c) / (g + c);
    let b = (c * (g + c) - one) / (c * (g - c) + one);
    F::select(g2.is_positive(), F::splat(0.5) * a * a * (one + b * b), one)
}

/// The least alpha of glossy lobes after a bounce that was sampled with this pdf: Cycles' "filter glossy" of strength
/// `blur_glossy`, where 0 turns it off.
#[inline(always)]
pub fn filter_glossy_alpha(pdf: f32, blur_glossy: f32) -> f32 {
    let ratio = pdf / blur_glossy;
    if ratio < 1.0 { 0.5 * (1.0 - ratio).sqrt() } else { 0.0 }
}

impl<F: Real> Lobe<F> {
    pub fn is_glossy(&self) -> bool {
        matches!(self.kind, Kind::Glossy { .. })
    }

    /// Whether it is a metal's (GGX): its reflections need rays of their own, an ambient term is not enough.
    #[inline(always)]
    pub fn is_metal(&self) -> bool {
        matches!(self.kind, Kind::Glossy { distribution: Distribution::Ggx, .. })
    }

    /// The lobe times the cosine, without its weight, and the pdf as Cycles computes it.
    #[inline(always)]
    fn evaluate(&self, dirs: &Directions<F>) -> (F, F) {
        let all = F::splat;
        match self.kind {
            Kind::Diffuse => (dirs.cos_l * all(FRAC_1_PI), dirs.cos_l * all(FRAC_1_PI)),
            Kind::Sheen { sigma } => (sheen(sigma, dirs), all(0.5 * FRAC_1_PI)),
            Kind::Glossy { distribution, alpha_x, alpha_y, x, y } => {
                let local = |d: V3<F>, cos: F| v3(x.dot(d), y.dot(d), cos);
                let density = distribution.density(local(dirs.h, dirs.cos_h), alpha_x, alpha_y);
                let shadow_v = distribution.lambda(local(dirs.v, dirs.cos_v), alpha_x, alpha_y);
                let shadow_l = distribution.lambda(local(dirs.l, dirs.cos_l), alpha_x, alpha_y);
                let common = density / (all(4.0) * dirs.cos_v);
                (common / (all(1.0) + shadow_v + shadow_l), common / (all(1.0) + shadow_v))
            }
        }
    }

    /// The pdf of `sample`; `cycles_pdf` is that of `evaluate`.
    #[inline(always)]
    fn sampling_pdf(&self, dirs: &Directions<F>, cycles_pdf: F) -> F {
        match self.kind {
            Kind::Glossy { distribution: Distribution::Beckmann, alpha_x, alpha_y, x, y } => {
                let local = v3(x.dot(dirs.h), y.dot(dirs.h), dirs.cos_h);
                let along = dirs.v.dot(dirs.h);
                let density = Distribution::Beckmann.density(local, alpha_x, alpha_y);
                let pdf = density * local.z / (F::splat(4.0) * along);
                F::select(along.is_positive() & local.z.is_positive(), pdf, F::default())
            }
            _ => cycles_pdf,
        }
    }

    /// Importance samples a direction with two uniform numbers; it may lie below the surface.
    #[inline(always)]
    pub fn sample(&self, n: V3<F>, v: V3<F>, u: [F; 2]) -> V3<F> {
        let all = F::splat;
        let (zero, one) = (F::default(), all(1.0));
        let [sin, cos] = u[1].sin_cos_turns();
        match self.kind {
            Kind::Diffuse => {
                let (t, b) = tangent_frame(n);
                let r = u[0].sqrt();
                t * (r * cos) + b * (r * sin) + n * (one - u[0]).max(zero).sqrt()
            }
            Kind::Sheen { .. } => {
                let (t, b) = tangent_frame(n);
                let r = (one - u[0] * u[0]).max(zero).sqrt();
                t * (r * cos) + b * (r * sin) + n * u[0]
            }
            Kind::Glossy { distribution: Distribution::Ggx, alpha_x, alpha_y, x, y } => {
                // Sampling of the visible normals (Heitz 2018).
                let local = v3(x.dot(v), y.dot(v), n.dot(v));
                let w = v3(alpha_x * local.x, alpha_y * local.y, local.z).unit();
                let flat = w.x * w.x + w.y * w.y;
                let aside = V3::select(flat.is_positive(), v3(-w.y, w.x, zero) / flat.sqrt(), v3(one, zero, zero));
                let t2 = w.cross(aside);
                let r = u[0].sqrt();
                let (p1, s) = (r * cos, all(0.5) * (one + w.z));
                let p2 = (one - s) * (one - p1 * p1).max(zero).sqrt() + s * r * sin;
                let h = aside * p1 + t2 * p2 + w * (one - p1 * p1 - p2 * p2).max(zero).sqrt();
                let h = v3(alpha_x * h.x, alpha_y * h.y, h.z.max(all(1e-6))).unit();
                reflect(v, x * h.x + y * h.y + n * h.z)
            }
            Kind::Glossy { distribution: Distribution::Beckmann, alpha_x, x, y, .. } => {
                let tan2 = -alpha_x * alpha_x * (one - u[0]).max(all(1e-7)).ln();
                let z = one / (one + tan2).sqrt();
                let r = (one - z * z).max(zero).sqrt();
                reflect(v, x * (r * cos) + y * (r * sin) + n * z)
            }
        }
    }
}

/// Directions to viewer and light, the half vector between them, and their cosines to the normal.
struct Directions<F> {
    v: V3<F>,
    l: V3<F>,
    h: V3<F>,
    cos_v: F,
    cos_l: F,
    cos_h: F,
}

impl<F: Real> Directions<F> {
    /// Also a mask of where both are above the surface; elsewhere the values mean nothing.
    #[inline(always)]
    fn new(n: V3<F>, v: V3<F>, l: V3<F>) -> (Self, F::Mask) {
        let (cos_v, cos_l) = (n.dot(v), n.dot(l));
        let h = (v + l).unit();
        (Self { v, l, h, cos_v, cos_l, cos_h: n.dot(h) }, cos_l.is_positive() & cos_v.is_positive())
    }
}

impl Distribution {
    /// The distribution of microfacet normals D(h).
    #[inline(always)]
    pub fn density<F: Real>(self, h: V3<F>, alpha_x: F, alpha_y: F) -> F {
        let (x, y) = (h.x / alpha_x, h.y / alpha_y);
        let z2 = h.z * h.z;
        match self {
            Self::Ggx => {
                let sum = x * x + y * y + z2;
                F::splat(FRAC_1_PI) / (alpha_x * alpha_y * sum * sum)
            }
            Self::Beckmann => (-(x * x + y * y) / z2).exp() * F::splat(FRAC_1_PI) / (alpha_x * alpha_y * z2 * z2),
        }
    }

    /// Smith's Lambda, of shadowing and masking.
    #[inline(always)]
    pub fn lambda<F: Real>(self, d: V3<F>, alpha_x: F, alpha_y: F) -> F {
        let all = F::splat;
        let (x, y) = (alpha_x * d.x, alpha_y * d.y);
        let ratio = (x * x + y * y) / (d.z * d.z);
        match self {
            Self::Ggx => all(0.5) * ((all(1.0) + ratio).sqrt() - all(1.0)),
            Self::Beckmann => {
                // A rational fit, to within a third of a percent (Walter and others 2007).
                let a = all(1.0) / ratio.sqrt();
                let fit = (all(1.0) - all(1.259) * a + all(0.396) * a * a) / (all(3.535) * a + all(2.181) * a * a);
                F::select(a.is_less(all(1.6)), fit, all(0.0))
            }
        }
    }
}

#[inline(always)]
fn sheen<F: Real>(sigma: f32, dirs: &Directions<F>) -> F {
    let all = F::splat;
    let Directions { cos_v, cos_l, cos_h, .. } = *dirs;
    let along = dirs.v.dot(dirs.h).abs();
    let ratio = all(2.0) * (cos_h / along).abs();
    let sin2 = all(1.0) - cos_h * cos_h;
    let inverse = all(1.0 / (sigma * sigma));
    let density = (-cos_h * cos_h / sin2 * inverse).exp() * inverse / (all(PI) * sin2 * sin2);
    let shadow = (ratio * cos_l).min(ratio * cos_v).min(all(1.0));
    let is_valid = all(1e-5).is_less(cos_v) & cos_h.abs().is_less(all(1.0 - 1e-5)) & all(1e-5).is_less(along);
    F::select(is_valid, all(0.25) * density * shadow / cos_v, all(0.0))
}

#[inline(always)]
fn reflect<F: Real>(v: V3<F>, h: V3<F>) -> V3<F> {
    h * (F::splat(2.0) * v.dot(h)) - v
}

/// A tangent and a bitangent that form a right-handed orthonormal basis with `n` (Duff and others 2017).
#[inline(always)]
pub fn tangent_frame<F: Real>(n: V3<F>) -> (V3<F>, V3<F>) {
    let (sign, one) = (n.z.sign(), F::splat(1.0));
    let a = -one / (sign + n.z);
    let b = n.x * n.y * a;
    (v3(one + sign * n.x * n.x * a, sign * b, -sign * n.x), v3(b, sign + n.y * n.y * a, -n.y))
}
