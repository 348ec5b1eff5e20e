//! The nearest hit of a ray.

/// The nearest hit closer than `distance`, with its body; the first one of several at the same distance.
#[inline(always)]
pub fn nearest<T: PartialOrd, B>(hits: impl Iterator<Item = (T, B)>, distance: T) -> Option<(T, B)> {
    let mut best = None;
    let mut limit = distance;
    for (t, body) in hits {
        if t < limit {
            (best, limit) = (Some(body), t);
        }
    }
    best.map(|body| (limit, body))
}
