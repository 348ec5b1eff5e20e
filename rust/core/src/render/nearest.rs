//! The nearest of the bodies that a ray meets.

/// The least distance and whose it is, of those within `distance`; of equal ones the first.
#[inline(always)]
pub fn nearest<T: PartialOrd, B>(met: impl Iterator<Item = (T, B)>, distance: T) -> Option<(T, B)> {
    let mut best = None;
    let mut limit = distance;
    for (t, body) in met {
        if t < limit {
            (best, limit) = (Some(body), t);
        }
    }
    best.map(|body| (limit, body))
}
