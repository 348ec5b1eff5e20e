//! The chi-square test of the difference between two samples of outcomes.

use std::collections::BTreeMap;

/// Minimum expected count of a bin in each sample; smaller bins are pooled.
const FEWEST: u32 = 10;

/// The probability of an equal or larger difference between two samples of the same size, by chi-square.
///
/// Bins with an expected count below ten are pooled into one, which is used if it reaches ten itself.
pub fn p_value<K: Ord>(a: &[K], b: &[K]) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut bins: BTreeMap<&K, [u32; 2]> = BTreeMap::new();
    for (side, sample) in [a, b].into_iter().enumerate() {
        sample.iter().for_each(|outcome| bins.entry(outcome).or_default()[side] += 1);
    }
    let (mut kept, mut pooled) = (Vec::new(), [0, 0]);
    for counts in bins.into_values() {
        if counts[0] + counts[1] >= 2 * FEWEST {
            kept.push(counts);
        } else {
            pooled = [pooled[0] + counts[0], pooled[1] + counts[1]];
        }
    }
    if pooled[0] + pooled[1] >= 2 * FEWEST {
        kept.push(pooled);
    }
    if kept.len() < 2 {
        return 1.0;
    }
    let chi2: f64 =
        kept.iter().map(|&[a, b]| (f64::from(a) - f64::from(b)).powi(2) / (f64::from(a) + f64::from(b))).sum();
    upper_tail(chi2, kept.len() - 1)
}

/// The probability that a chi-square variable with `degrees` degrees of freedom exceeds `chi2`.
fn upper_tail(chi2: f64, degrees: usize) -> f64 {
    let (a, x) = (degrees as f64 / 2.0, chi2 / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        // The series of the lower tail.
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-15 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - scale * sum;
    }
    // The continued fraction of the upper tail, by Lentz's method.
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut h = d;
    for i in 1..10_000 {
        let an = -f64::from(i) * (f64::from(i) - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-14 {
            break;
        }
    }
    scale * h
}

#[test]
fn tails_are_those_of_the_tables() {
    // The upper 5% and 0.1% points of chi-square.
    for (chi2, degrees, tail) in [(3.841, 1, 0.05), (18.307, 10, 0.05), (29.588, 10, 0.001), (149.449, 100, 0.001)] {
        assert!((upper_tail(chi2, degrees) / tail - 1.0).abs() < 2e-3, "{chi2} {degrees}");
    }
}

#[test]
fn small_bins_are_pooled() {
    let a: Vec<u32> = (0..100).collect();
    assert!(p_value(&a, &a) == 1.0);
    let b = vec![7; 100];
    assert!(p_value(&a, &b) < 1e-9);
}
