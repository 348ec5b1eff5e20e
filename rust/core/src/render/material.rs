//! How much light a surface throws from one direction to another, by Cycles' formulas.
//!
//! A surface is a few lobes, each with a weight; what is mixed by Fresnel's formula depends on the
//! direction to the viewer alone. All directions here have length 1 and lead away from the
//! surface: `v` to the viewer, `l` to the light, `n` is the shading normal.

use super::lanes::{F8, Mask, Real};
use super::vector::{V3, v3};
use serde::Deserialize;
use std::f32::consts::{FRAC_1_PI, PI};

/// The largest number below 1.
const LARGEST_NUMBER: f32 = 1.0 - f32::EPSILON / 2.0;

/// One way in which a surface throws light back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lobe<F = f32> {
    pub weight: V3<F>,
    pub kind: Kind<F>,
}

/// The lobes of a surface, at most `Lobes::MOST`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lobes<F = f32> {
    list: [Lobe<F>; Lobes::MOST],
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

impl<F: Real> Lobes<F> {
    #[inline(always)]
    pub fn push(&mut self, lobe: Lobe<F>) {
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = lobe;
            self.count += 1;
        }
    }

    /// All lobes together: what they throw back, cosine included.
    #[inline(always)]
    pub fn value(&self, n: V3<F>, v: V3<F>, l: V3<F>) -> V3<F> {
        let (pass, is_in_front) = Pass::new(n, v, l);
        if !is_in_front.any() {
            return V3::default();
        }
        let value = self.iter().map(|lobe| lobe.weight * lobe.evaluate(&pass).0).sum();
        V3::select(is_in_front, value, V3::default())
    }

    /// As `value`, and how densely `choose` and then `Lobe::sample` give the direction, as Cycles
    /// counts it.
    #[inline(always)]
    pub fn evaluate(&self, n: V3<F>, v: V3<F>, l: V3<F>) -> (V3<F>, F) {
        self.weigh(n, v, l, |_, _, density| density)
    }

    /// As `evaluate`, with the density of `Lobe::sample` where that differs from Cycles'.
    #[inline(always)]
    pub fn evaluate_sampled(&self, n: V3<F>, v: V3<F>, l: V3<F>) -> (V3<F>, F) {
        self.weigh(n, v, l, Lobe::sampling_density)
    }

    /// What all lobes throw back, and the mean of their `density`, each by its weight.
    #[inline(always)]
    fn weigh(&self, n: V3<F>, v: V3<F>, l: V3<F>, density: impl Fn(&Lobe<F>, &Pass<F>, F) -> F) -> (V3<F>, F) {
        let (pass, is_in_front) = Pass::new(n, v, l);
        if !is_in_front.any() {
            return Default::default();
        }
        let mut value = V3::default();
        let (mut dense, mut total) = (F::default(), F::default());
        for lobe in self.iter() {
            let share = lobe.weight.mean();
            let (part, evaluated) = lobe.evaluate(&pass);
            value += lobe.weight * part;
            dense = dense + share * density(lobe, &pass, evaluated);
            total = total + share;
        }
        let zero = F::default();
        (V3::select(is_in_front, value, V3::default()), F::select(is_in_front, dense / total, zero))
    }

    /// A direction by a lobe that `u` chooses as `choose` does, and by what is left of it and another uniform number.
    #[inline(always)]
    pub fn sample(&self, n: V3<F>, v: V3<F>, [u, again]: [F; 2]) -> V3<F> {
        let mut total = F::default();
        for lobe in self.iter() {
            total = total + lobe.weight.mean();
        }
        let (mut direction, mut left) = (V3::default(), u * total);
        let mut is_open = F::default().is_less(F::all(1.0));
        for (number, lobe) in self.iter().enumerate() {
            let share = lobe.weight.mean();
            let is_chosen = if number + 1 == self.count { is_open } else { is_open & left.is_less(share) };
            if is_chosen.any() {
                let rest = (left / share).least(F::all(LARGEST_NUMBER));
                direction = V3::select(is_chosen, lobe.sample(n, v, [again, rest]), direction);
            }
            is_open = is_open & !is_chosen;
            if !is_open.any() {
                break;
            }
            left = left - share;
        }
        direction
    }
}

impl Lobes<F8> {
    /// The lobes of one of eight surfaces.
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
    /// Ashikhmin's velvet.
    Sheen { sigma: f32 },
    /// Rough reflection; `x` and `y` are the tangent and the bitangent, of length 1.
    Glossy { distribution: Distribution, alpha_x: F, alpha_y: F, x: V3<F>, y: V3<F> },
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    Beckmann,
    Ggx,
}

/// Fresnel's reflectance of a dielectric, unpolarised.
#[inline(always)]
pub fn fresnel<F: Real>(cos: F, ior: f32) -> F {
    let one = F::all(1.0);
    let c = cos.size();
    let g2 = F::all(ior * ior - 1.0) + c * c;
    let g = g2.sqrt();
    let a = (g - c) / (g + c);
    let b = (c * (g + c) - one) / (c * (g - c) + one);
    F::select(g2.is_positive(), F::all(0.5) * a * a * (one + b * b), one)
}

/// The least alpha of glossy lobes behind rays sampled this densely: Cycles' "filter glossy" of strength
/// `blur_glossy`, 0 for none.
#[inline(always)]
pub fn widened(density: f32, blur_glossy: f32) -> f32 {
    let blurred = density / blur_glossy;
    if blurred < 1.0 { 0.5 * (1.0 - blurred).sqrt() } else { 0.0 }
}

impl<F: Real> Lobe<F> {
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
    fn evaluate(&self, pass: &Pass<F>) -> (F, F) {
        let all = F::all;
        match self.kind {
            Kind::Diffuse => (pass.cos_l * all(FRAC_1_PI), pass.cos_l * all(FRAC_1_PI)),
            Kind::Sheen { sigma } => (sheen(sigma, pass), all(0.5 * FRAC_1_PI)),
            Kind::Glossy { distribution, alpha_x, alpha_y, x, y } => {
                let local = |d: V3<F>, cos: F| v3(x.dot(d), y.dot(d), cos);
                let density = distribution.density(local(pass.h, pass.cos_h), alpha_x, alpha_y);
                let shadow_v = distribution.lambda(local(pass.v, pass.cos_v), alpha_x, alpha_y);
                let shadow_l = distribution.lambda(local(pass.l, pass.cos_l), alpha_x, alpha_y);
                let common = density / (all(4.0) * pass.cos_v);
                (common / (all(1.0) + shadow_v + shadow_l), common / (all(1.0) + shadow_v))
            }
        }
    }

    /// How densely `sample` gives the direction to the light; `by_cycles` is what `evaluate` says.
    #[inline(always)]
    fn sampling_density(&self, pass: &Pass<F>, by_cycles: F) -> F {
        match self.kind {
            Kind::Glossy { distribution: Distribution::Beckmann, alpha_x, alpha_y, x, y } => {
                let local = v3(x.dot(pass.h), y.dot(pass.h), pass.cos_h);
                let along = pass.v.dot(pass.h);
                let density = Distribution::Beckmann.density(local, alpha_x, alpha_y);
                let density = density * local.z / (F::all(4.0) * along);
                F::select(along.is_positive() & local.z.is_positive(), density, F::default())
            }
            _ => by_cycles,
        }
    }
}

impl<F: Real> Lobe<F> {
    /// A direction to look for light in, from two uniform numbers; it may lie below the surface.
    #[inline(always)]
    pub fn sample(&self, n: V3<F>, v: V3<F>, u: [F; 2]) -> V3<F> {
        let all = F::all;
        let (zero, one) = (F::default(), all(1.0));
        let [sin, cos] = u[1].turn();
        match self.kind {
            Kind::Diffuse => {
                let (t, b) = frame(n);
                let r = u[0].sqrt();
                t * (r * cos) + b * (r * sin) + n * (one - u[0]).most(zero).sqrt()
            }
            Kind::Sheen { .. } => {
                let (t, b) = frame(n);
                let r = (one - u[0] * u[0]).most(zero).sqrt();
                t * (r * cos) + b * (r * sin) + n * u[0]
            }
            Kind::Glossy { distribution: Distribution::Ggx, alpha_x, alpha_y, x, y } => {
                // Heitz 2018: normals that the viewer sees.
                let local = v3(x.dot(v), y.dot(v), n.dot(v));
                let w = v3(alpha_x * local.x, alpha_y * local.y, local.z).unit();
                let flat = w.x * w.x + w.y * w.y;
                let aside = V3::select(flat.is_positive(), v3(-w.y, w.x, zero) / flat.sqrt(), v3(one, zero, zero));
                let t2 = w.cross(aside);
                let r = u[0].sqrt();
                let (p1, s) = (r * cos, all(0.5) * (one + w.z));
                let p2 = (one - s) * (one - p1 * p1).most(zero).sqrt() + s * r * sin;
                let h = aside * p1 + t2 * p2 + w * (one - p1 * p1 - p2 * p2).most(zero).sqrt();
                let h = v3(alpha_x * h.x, alpha_y * h.y, h.z.most(all(1e-6))).unit();
                mirror(v, x * h.x + y * h.y + n * h.z)
            }
            Kind::Glossy { distribution: Distribution::Beckmann, alpha_x, x, y, .. } => {
                let tan2 = -alpha_x * alpha_x * (one - u[0]).most(all(1e-7)).ln();
                let z = one / (one + tan2).sqrt();
                let r = (one - z * z).most(zero).sqrt();
                mirror(v, x * (r * cos) + y * (r * sin) + n * z)
            }
        }
    }
}

/// Light's way over a surface: from `l` to `v`, and the direction midway between them.
struct Pass<F> {
    v: V3<F>,
    l: V3<F>,
    h: V3<F>,
    cos_v: F,
    cos_l: F,
    cos_h: F,
}

impl<F: Real> Pass<F> {
    /// The way, and whether it is in front of the surface; behind it, the way is nonsense.
    #[inline(always)]
    fn new(n: V3<F>, v: V3<F>, l: V3<F>) -> (Self, F::Mask) {
        let (cos_v, cos_l) = (n.dot(v), n.dot(l));
        let h = (v + l).unit();
        (Self { v, l, h, cos_v, cos_l, cos_h: n.dot(h) }, cos_l.is_positive() & cos_v.is_positive())
    }
}

impl Distribution {
    /// Of microfacets whose normal is `h`, over the solid angle.
    #[inline(always)]
    pub fn density<F: Real>(self, h: V3<F>, alpha_x: F, alpha_y: F) -> F {
        let (x, y) = (h.x / alpha_x, h.y / alpha_y);
        let z2 = h.z * h.z;
        match self {
            Self::Ggx => {
                let sum = x * x + y * y + z2;
                F::all(FRAC_1_PI) / (alpha_x * alpha_y * sum * sum)
            }
            Self::Beckmann => (-(x * x + y * y) / z2).exp() * F::all(FRAC_1_PI) / (alpha_x * alpha_y * z2 * z2),
        }
    }

    /// Smith's function of hidden microfacets.
    #[inline(always)]
    pub fn lambda<F: Real>(self, d: V3<F>, alpha_x: F, alpha_y: F) -> F {
        let all = F::all;
        let (x, y) = (alpha_x * d.x, alpha_y * d.y);
        let ratio = (x * x + y * y) / (d.z * d.z);
        match self {
            Self::Ggx => all(0.5) * ((all(1.0) + ratio).sqrt() - all(1.0)),
            Self::Beckmann => {
                // A rational fit, exact to a third of a percent (Walter and others 2007).
                let a = all(1.0) / ratio.sqrt();
                let fit = (all(1.0) - all(1.259) * a + all(0.396) * a * a) / (all(3.535) * a + all(2.181) * a * a);
                F::select(a.is_less(all(1.6)), fit, all(0.0))
            }
        }
    }
}

#[inline(always)]
fn sheen<F: Real>(sigma: f32, pass: &Pass<F>) -> F {
    let all = F::all;
    let Pass { cos_v, cos_l, cos_h, .. } = *pass;
    let along = pass.v.dot(pass.h).size();
    let ratio = all(2.0) * (cos_h / along).size();
    let sin2 = all(1.0) - cos_h * cos_h;
    let inverse = all(1.0 / (sigma * sigma));
    let density = (-cos_h * cos_h / sin2 * inverse).exp() * inverse / (all(PI) * sin2 * sin2);
    let shadow = (ratio * cos_l).least(ratio * cos_v).least(all(1.0));
    let is_sound = all(1e-5).is_less(cos_v) & cos_h.size().is_less(all(1.0 - 1e-5)) & all(1e-5).is_less(along);
    F::select(is_sound, all(0.25) * density * shadow / cos_v, all(0.0))
}

#[inline(always)]
fn mirror<F: Real>(v: V3<F>, h: V3<F>) -> V3<F> {
    h * (F::all(2.0) * v.dot(h)) - v
}

/// Two directions that make a right-handed frame with `n` (Duff and others 2017).
#[inline(always)]
pub fn frame<F: Real>(n: V3<F>) -> (V3<F>, V3<F>) {
    let (sign, one) = (n.z.sign(), F::all(1.0));
    let a = -one / (sign + n.z);
    let b = n.x * n.y * a;
    (v3(one + sign * n.x * n.x * a, sign * b, -sign * n.x), v3(b, sign + n.y * n.y * a, -n.y))
}
