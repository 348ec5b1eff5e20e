//! A bounding volume hierarchy over triangles, for ray and point queries, in a flat array.

use super::vector::V3;
use std::ops::Range;

/// Bins along an axis, at whose boundaries splits are tried.
const BINS: usize = 16;
/// Nodes with more items are split even where the heuristic prefers a leaf.
const MAX_LEAF_SIZE: usize = 8;
/// Nodes deeper than this are split into equal halves, so that the tree ends within `MAX_DEPTH`.
const MAX_SAH_DEPTH: usize = 32;
const MAX_DEPTH: usize = 64;
/// The exit distance from a box is scaled by this, so that rounding misses no hit (Ize 2013).
const EXIT_SCALE: f32 = 1.0 + 6.0 * f32::EPSILON;

/// An axis-aligned bounding box.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub low: V3,
    pub high: V3,
}

impl Bounds {
    pub const EMPTY: Self = Self {
        low: V3 { x: f32::INFINITY, y: f32::INFINITY, z: f32::INFINITY },
        high: V3 { x: f32::NEG_INFINITY, y: f32::NEG_INFINITY, z: f32::NEG_INFINITY },
    };

    /// The bounds of some points.
    pub fn of(points: &[V3]) -> Self {
        points.iter().fold(Self::EMPTY, |all, &point| all.union(Self { low: point, high: point }))
    }

    /// The bounds of both.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Larger by `margin` on all sides.
    pub fn expanded(self, margin: f32) -> Self {
        let margin = V3 { x: margin, y: margin, z: margin };
        Self { low: self.low - margin, high: self.high + margin }
    }

    pub fn center(self) -> V3 {
        (self.low + self.high) * 0.5
    }

    /// Half of the surface area.
    fn area(self) -> f32 {
        let side = self.high - self.low;
        if side.x < 0.0 { 0.0 } else { side.x * side.y + side.y * side.z + side.z * side.x }
    }

    #[inline(always)]
    fn contains(&self, p: V3) -> bool {
        (0..3).all(|axis| self.low[axis] <= p[axis] && p[axis] <= self.high[axis])
    }

    /// The distance at which a ray enters, if it is below `limit`; `inverse` is the direction's component-wise inverse.
    #[inline(always)]
    fn entry(&self, origin: V3, inverse: V3, limit: f32) -> Option<f32> {
        let (a, b) = ((self.low - origin).times(inverse), (self.high - origin).times(inverse));
        let (near, far) = (a.min(b), a.max(b));
        let enter = near.max_component().max(0.0);
        let exit = far.x.min(far.y).min(far.z) * EXIT_SCALE;
        (enter <= exit && enter < limit).then_some(enter)
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    bounds: Bounds,
    /// First item of a leaf; second child of another node, whose first child is the next node.
    place: u32,
    /// Number of items of a leaf; 0 for other nodes.
    count: u32,
}

#[derive(Clone, Debug)]
pub struct Bvh(Vec<Node>);

impl Bvh {
    /// The tree over items with these boxes, and the order of the items in its leaves.
    pub fn new(boxes: &[Bounds]) -> (Self, Vec<u32>) {
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut tree = Self(Vec::with_capacity(boxes.len()));
        tree.build(boxes, &mut order, 0, 0);
        (tree, order)
    }

    fn build(&mut self, boxes: &[Bounds], order: &mut [u32], first: usize, depth: usize) {
        let bounds = order.iter().fold(Bounds::EMPTY, |all, &item| all.union(boxes[item as usize]));
        let index = self.0.len();
        self.0.push(Node { bounds, place: first as u32, count: order.len() as u32 });
        let Some(at) = split(boxes, order, bounds, depth) else { return };
        let (left, right) = order.split_at_mut(at);
        self.build(boxes, left, first, depth + 1);
        let second = self.0.len() as u32;
        self.build(boxes, right, first + at, depth + 1);
        (self.0[index].place, self.0[index].count) = (second, 0);
    }

    /// Calls `leaf` with the items of each leaf that a ray enters within `limit`, near ones first, until it returns true.
    ///
    /// `leaf` may lower the limit.
    #[inline]
    pub fn traverse_ray(
        &self,
        origin: V3,
        direction: V3,
        mut limit: f32,
        mut leaf: impl FnMut(Range<usize>, &mut f32) -> bool,
    ) {
        let inverse = V3 { x: 1.0 / direction.x, y: 1.0 / direction.y, z: 1.0 / direction.z };
        let mut stack = [(0_u32, 0.0_f32); MAX_DEPTH];
        let mut stacked = 0;
        let mut next = self.0[0].bounds.entry(origin, inverse, limit).map(|_| 0_u32);
        loop {
            let Some(index) = next else {
                // Pop the stack, and skip what is beyond a hit.
                loop {
                    if stacked == 0 {
                        return;
                    }
                    stacked -= 1;
                    let (index, enter) = stack[stacked];
                    if enter < limit {
                        next = Some(index);
                        break;
                    }
                }
                continue;
            };
            let node = &self.0[index as usize];
            if node.count > 0 {
                let first = node.place as usize;
                if leaf(first..first + node.count as usize, &mut limit) {
                    return;
                }
                next = None;
                continue;
            }
            let enter = |child: u32| self.0[child as usize].bounds.entry(origin, inverse, limit);
            let children = [index + 1, node.place];
            next = match children.map(enter) {
                [None, None] => None,
                [Some(_), None] => Some(children[0]),
                [None, Some(_)] => Some(children[1]),
                [Some(a), Some(b)] => {
                    let (near, far) = if a <= b { (0, (children[1], b)) } else { (1, (children[0], a)) };
                    stack[stacked] = far;
                    stacked += 1;
                    Some(children[near])
                }
            };
        }
    }

    /// Calls `leaf` with the items of each leaf whose box contains a point.
    pub fn traverse_point(&self, point: V3, mut leaf: impl FnMut(Range<usize>)) {
        let mut stack = [0_u32; MAX_DEPTH];
        let mut stacked = 1;
        while stacked > 0 {
            stacked -= 1;
            let index = stack[stacked];
            let node = &self.0[index as usize];
            if !node.bounds.contains(point) {
                continue;
            }
            if node.count > 0 {
                leaf(node.place as usize..(node.place + node.count) as usize);
            } else {
                (stack[stacked], stack[stacked + 1]) = (node.place, index + 1);
                stacked += 2;
            }
        }
    }
}

/// Partitions `order` and returns the number of items in the first half; None for a leaf.
///
/// Splits by the surface area heuristic: the cost of a half is its area times its number of items.
fn split(boxes: &[Bounds], order: &mut [u32], bounds: Bounds, depth: usize) -> Option<usize> {
    let n = order.len();
    if n <= 2 {
        return None;
    }
    let center = |item: u32| boxes[item as usize].center();
    let centers = order.iter().fold(Bounds::EMPTY, |all, &item| all.union(Bounds::of(&[center(item)])));
    let extent = centers.high - centers.low;
    let longest = (0..3).fold(0, |best, axis| if extent[axis] > extent[best] { axis } else { best });
    if extent[longest] <= 0.0 {
        return None; // all centres coincide
    }
    if depth >= MAX_SAH_DEPTH {
        let key = |&item: &u32| (center(item)[longest], item);
        order.select_nth_unstable_by(n / 2, |a, b| {
            let ((x, i), (y, j)) = (key(a), key(b));
            x.total_cmp(&y).then(i.cmp(&j))
        });
        return Some(n / 2);
    }
    let mut best = (f32::INFINITY, 0, 0);
    for axis in (0..3).filter(|&axis| extent[axis] > 0.0) {
        let mut bins = [(Bounds::EMPTY, 0_usize); BINS];
        for &item in order.iter() {
            let bin = &mut bins[bin_of(center(item)[axis], centers.low[axis], extent[axis])];
            *bin = (bin.0.union(boxes[item as usize]), bin.1 + 1);
        }
        let mut after = [0.0; BINS];
        let mut half = (Bounds::EMPTY, 0);
        for i in (1..BINS).rev() {
            half = (half.0.union(bins[i].0), half.1 + bins[i].1);
            after[i] = half.0.area() * half.1 as f32;
        }
        half = (Bounds::EMPTY, 0);
        for i in 1..BINS {
            half = (half.0.union(bins[i - 1].0), half.1 + bins[i - 1].1);
            let cost = half.0.area() * half.1 as f32 + after[i];
            if half.1 > 0 && half.1 < n && cost < best.0 {
                best = (cost, axis, i);
            }
        }
    }
    let (cost, axis, bin) = best;
    // Traversing a node costs about as much as intersecting a triangle.
    if n <= MAX_LEAF_SIZE && cost + bounds.area() >= bounds.area() * n as f32 {
        return None;
    }
    let mut at = 0;
    for i in 0..n {
        if bin_of(center(order[i])[axis], centers.low[axis], extent[axis]) < bin {
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
