//! The rows of pixels that a body covers, and their scan conversion.

use super::frame::{Frame, between};
use crate::scene::geometry::{Vec3, ceil_within};

/// Pixels `[begin, end)` of a row.
pub type Span = [u16; 2];

/// The rows that a body covers.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub first_row: u16,
    /// From `first_row` on; a span may be empty.
    pub spans: Vec<Span>,
    /// Number of pixels.
    pub area: u32,
    /// Tight box: x and y of the first pixel, x and y one past the last. All 0 if there are no pixels.
    pub bbox: [u16; 4],
}

impl Outline {
    /// The span of a row; empty where the body is not.
    #[inline]
    pub fn span(&self, row: u16) -> Span {
        let place = usize::from(row.wrapping_sub(self.first_row));
        self.spans.get(place).copied().unwrap_or([0, 0])
    }

    pub(super) fn clear(&mut self) {
        self.first_row = 0;
        self.spans.clear();
    }

    pub(super) fn measure(&mut self) {
        self.area = 0;
        let mut bbox = [u16::MAX, u16::MAX, 0, 0];
        for (row, span) in (self.first_row..).zip(&self.spans).filter(|(_, span)| span[0] < span[1]) {
            self.area += u32::from(span[1] - span[0]);
            bbox = [bbox[0].min(span[0]), bbox[1].min(row), bbox[2].max(span[1]), row + 1];
        }
        self.bbox = if self.area > 0 { bbox } else { [0; 4] };
    }
}

/// The pixels of a row whose centres lie between two points.
#[inline]
pub fn span(left: f64, right: f64, width_px: u32) -> Span {
    let begin = ceil_within(left - 0.5, width_px);
    let end = ceil_within(right - 0.5, width_px).max(begin);
    [begin as u16, end as u16]
}

/// Scan conversion of a convex region whose edges come in any order.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    left: Vec<f64>,
    right: Vec<f64>,
    first_row: usize,
    end_row: usize,
}

impl Rows {
    pub(super) fn open(&mut self, height_px: u32) {
        self.left.resize(height_px as usize, f64::INFINITY);
        self.right.resize(height_px as usize, f64::NEG_INFINITY);
        self.first_row = height_px as usize;
        self.end_row = 0;
    }

    pub(super) fn close(&mut self, width_px: u32, outline: &mut Outline) {
        if self.first_row >= self.end_row {
            return;
        }
        outline.first_row = self.first_row as u16;
        let rows = self.first_row..self.end_row;
        for (left, right) in self.left[rows.clone()].iter_mut().zip(&mut self.right[rows]) {
            outline.spans.push(span(*left, *right, width_px));
            (*left, *right) = (f64::INFINITY, f64::NEG_INFINITY);
        }
    }

    /// Widens the rows whose centres an edge crosses; its ends are points in the image.
    #[inline]
    pub fn edge(&mut self, a: [f64; 2], b: [f64; 2]) {
        let (top, bottom) = if a[1] <= b[1] { (a, b) } else { (b, a) };
        let rows = self.left.len() as u32;
        let first = ceil_within(top[1] - 0.5, rows) as usize;
        let end = ceil_within(bottom[1] - 0.5, rows) as usize;
        if first >= end {
            return;
        }
        let slope = (bottom[0] - top[0]) / (bottom[1] - top[1]);
        self.first_row = self.first_row.min(first);
        self.end_row = self.end_row.max(end);
        let rows = self.left[first..end].iter_mut().zip(&mut self.right[first..end]);
        for (row, (left, right)) in (first..end).zip(rows) {
            let u = top[0] + (row as f64 + 0.5 - top[1]) * slope;
            *left = left.min(u);
            *right = right.max(u);
        }
    }

    /// Draws the part of a body's edge that stands above the ground.
    #[inline]
    pub fn standing_edge(&mut self, frame: &Frame<'_>, a: Vec3, b: Vec3) {
        if !frame.may_be_cut(a[2].min(b[2])) {
            return self.edge(frame.project(a), frame.project(b));
        }
        let (above_a, above_b) = (frame.above_ground(a), frame.above_ground(b));
        let (a, b) = match (above_a > 0.0, above_b > 0.0) {
            (true, true) => (a, b),
            (true, false) => (a, between(a, b, above_a, above_b)),
            (false, true) => (between(a, b, above_a, above_b), b),
            (false, false) => return,
        };
        self.edge(frame.project(a), frame.project(b));
    }

    /// The same for an edge and its mirror image at y = 0.
    #[inline]
    pub fn mirrored_edges(&mut self, frame: &Frame<'_>, a: Vec3, b: Vec3) {
        self.standing_edge(frame, a, b);
        self.standing_edge(frame, [a[0], -a[1], a[2]], [b[0], -b[1], b[2]]);
    }
}
