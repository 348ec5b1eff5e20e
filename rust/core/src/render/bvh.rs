//! A tree of boxes over triangles, in a flat array: which of them a ray may meet, and which lie about a point.

use super::vector::V3;
use std::ops::Range;

/// Bins along an axis in which places to split are compared.
const BINS: usize = 16;
/// A leaf that holds more is split, even if its halves overlap.
const MOST_IN_A_LEAF: usize = 8;
/// Nodes deeper than this are split in two equal halves, so that the tree ends within `DEEPEST`.
const UNEVEN_DEPTH: usize = 32;
const DEEPEST: usize = 64;
/// How much a ray's way through a box is lengthened, so that rounding loses nothing (Ize 2013).
const LENGTHENED: f32 = 1.0 + 6.0 * f32::EPSILON;

/// A box along the axes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub low: V3,
    pub high: V3,
}

impl Bounds {
    pub const NONE: Self = Self {
        low: V3 { x: f32::INFINITY, y: f32::INFINITY, z: f32::INFINITY },
        high: V3 { x: f32::NEG_INFINITY, y: f32::NEG_INFINITY, z: f32::NEG_INFINITY },
    };

    /// The box that holds some points.
    pub fn of(points: &[V3]) -> Self {
        points.iter().fold(Self::NONE, |all, &point| all.with(Self { low: point, high: point }))
    }

    /// The box that holds both.
    #[inline]
    pub fn with(self, other: Self) -> Self {
        Self { low: self.low.least(other.low), high: self.high.most(other.high) }
    }

    /// The same, larger by `margin` on all sides.
    pub fn widened(self, margin: f32) -> Self {
        let margin = V3 { x: margin, y: margin, z: margin };
        Self { low: self.low - margin, high: self.high + margin }
    }

    pub fn middle(self) -> V3 {
        (self.low + self.high) * 0.5
    }

    /// Half of the surface.
    fn area(self) -> f32 {
        let side = self.high - self.low;
        if side.x < 0.0 { 0.0 } else { side.x * side.y + side.y * side.z + side.z * side.x }
    }

    #[inline(always)]
    fn holds(&self, p: V3) -> bool {
        (0..3).all(|axis| self.low[axis] <= p[axis] && p[axis] <= self.high[axis])
    }

    /// Where a ray enters, if it does within `limit`; `inverse` holds one over the direction's coordinates.
    #[inline(always)]
    fn entered(&self, origin: V3, inverse: V3, limit: f32) -> Option<f32> {
        let (a, b) = ((self.low - origin).times(inverse), (self.high - origin).times(inverse));
        let (near, far) = (a.least(b), a.most(b));
        let enter = near.largest().max(0.0);
        let leave = far.x.min(far.y).min(far.z) * LENGTHENED;
        (enter <= leave && enter < limit).then_some(enter)
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    bounds: Bounds,
    /// Of a leaf, its first item; otherwise the second child's number, the first one's being the next.
    place: u32,
    /// How many items a leaf has; 0 for other nodes.
    count: u32,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Bvh(Vec<Node>);

impl Bvh {
    /// The tree over some items by their boxes, and the order in which its leaves have them.
    pub fn new(boxes: &[Bounds]) -> (Self, Vec<u32>) {
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut tree = Self(Vec::with_capacity(boxes.len()));
        tree.grow(boxes, &mut order, 0, 0);
        (tree, order)
    }

    fn grow(&mut self, boxes: &[Bounds], order: &mut [u32], first: usize, depth: usize) {
        let bounds = order.iter().fold(Bounds::NONE, |all, &item| all.with(boxes[item as usize]));
        let number = self.0.len();
        self.0.push(Node { bounds, place: first as u32, count: order.len() as u32 });
        let Some(at) = split(boxes, order, bounds, depth) else { return };
        let (left, right) = order.split_at_mut(at);
        self.grow(boxes, left, first, depth + 1);
        let second = self.0.len() as u32;
        self.grow(boxes, right, first + at, depth + 1);
        (self.0[number].place, self.0[number].count) = (second, 0);
    }

    /// Calls `leaf` with the items of each leaf that a ray enters within `limit`, near ones first, until it says stop.
    ///
    /// `leaf` may lower the limit.
    #[inline]
    pub fn along(
        &self,
        origin: V3,
        direction: V3,
        mut limit: f32,
        mut leaf: impl FnMut(Range<usize>, &mut f32) -> bool,
    ) {
        let inverse = V3 { x: 1.0 / direction.x, y: 1.0 / direction.y, z: 1.0 / direction.z };
        let mut left = [(0_u32, 0.0_f32); DEEPEST];
        let mut waiting = 0;
        let mut next = self.0[0].bounds.entered(origin, inverse, limit).map(|_| 0_u32);
        loop {
            let Some(number) = next else {
                // Back to what was left aside, unless something nearer has been met.
                loop {
                    if waiting == 0 {
                        return;
                    }
                    waiting -= 1;
                    let (number, enter) = left[waiting];
                    if enter < limit {
                        next = Some(number);
                        break;
                    }
                }
                continue;
            };
            let node = &self.0[number as usize];
            if node.count > 0 {
                let first = node.place as usize;
                if leaf(first..first + node.count as usize, &mut limit) {
                    return;
                }
                next = None;
                continue;
            }
            let enter = |child: u32| self.0[child as usize].bounds.entered(origin, inverse, limit);
            let children = [number + 1, node.place];
            next = match children.map(enter) {
                [None, None] => None,
                [Some(_), None] => Some(children[0]),
                [None, Some(_)] => Some(children[1]),
                [Some(a), Some(b)] => {
                    let (near, far) = if a <= b { (0, (children[1], b)) } else { (1, (children[0], a)) };
                    left[waiting] = far;
                    waiting += 1;
                    Some(children[near])
                }
            };
        }
    }

    /// Calls `leaf` with the items of each leaf whose box holds a point.
    pub fn about(&self, point: V3, mut leaf: impl FnMut(Range<usize>)) {
        let mut left = [0_u32; DEEPEST];
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let number = left[waiting];
            let node = &self.0[number as usize];
            if !node.bounds.holds(point) {
                continue;
            }
            if node.count > 0 {
                leaf(node.place as usize..(node.place + node.count) as usize);
            } else {
                (left[waiting], left[waiting + 1]) = (node.place, number + 1);
                waiting += 2;
            }
        }
    }
}

/// How many of the items go into the first half, with `order` turned so that they come first; None for a leaf.
///
/// By the surface area heuristic: the cost of a half is its surface times its items.
fn split(boxes: &[Bounds], order: &mut [u32], bounds: Bounds, depth: usize) -> Option<usize> {
    let n = order.len();
    if n <= 2 {
        return None;
    }
    let middle = |item: u32| boxes[item as usize].middle();
    let middles = order.iter().fold(Bounds::NONE, |all, &item| all.with(Bounds::of(&[middle(item)])));
    let extent = middles.high - middles.low;
    let longest = (0..3).fold(0, |best, axis| if extent[axis] > extent[best] { axis } else { best });
    if extent[longest] <= 0.0 {
        return None; // all at one place
    }
    if depth >= UNEVEN_DEPTH {
        let key = |&item: &u32| (middle(item)[longest], item);
        order.select_nth_unstable_by(n / 2, |a, b| {
            let ((x, i), (y, j)) = (key(a), key(b));
            x.total_cmp(&y).then(i.cmp(&j))
        });
        return Some(n / 2);
    }
    let mut best = (f32::INFINITY, 0, 0);
    for axis in (0..3).filter(|&axis| extent[axis] > 0.0) {
        let mut bins = [(Bounds::NONE, 0_usize); BINS];
        for &item in order.iter() {
            let bin = &mut bins[bin_of(middle(item)[axis], middles.low[axis], extent[axis])];
            *bin = (bin.0.with(boxes[item as usize]), bin.1 + 1);
        }
        let mut after = [0.0; BINS];
        let mut half = (Bounds::NONE, 0);
        for i in (1..BINS).rev() {
            half = (half.0.with(bins[i].0), half.1 + bins[i].1);
            after[i] = half.0.area() * half.1 as f32;
        }
        half = (Bounds::NONE, 0);
        for i in 1..BINS {
            half = (half.0.with(bins[i - 1].0), half.1 + bins[i - 1].1);
            let cost = half.0.area() * half.1 as f32 + after[i];
            if half.1 > 0 && half.1 < n && cost < best.0 {
                best = (cost, axis, i);
            }
        }
    }
    let (cost, axis, bin) = best;
    // Going down a level costs about as much as meeting a triangle.
    if n <= MOST_IN_A_LEAF && cost + bounds.area() >= bounds.area() * n as f32 {
        return None;
    }
    let mut at = 0;
    for i in 0..n {
        if bin_of(middle(order[i])[axis], middles.low[axis], extent[axis]) < bin {
            order.swap(i, at);
            at += 1;
        }
    }
    (at > 0 && at < n).then_some(at)
}

#[inline]
fn bin_of(x: f32, low: f32, extent: f32) -> usize {
    ((BINS as f32 * ((x - low) / extent)) as usize).min(BINS - 1)
}
