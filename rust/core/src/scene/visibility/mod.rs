//! Bodies and a camera in, how much of each is seen out: an object-id raster, exact at pixel centres.
//!
//! Bodies are convex, so each covers one span of a row, and one hides another by taking its span
//! away. No picture is filled in unless somebody asks for the ids.

mod frame;
mod order;
mod outline;
mod polyhedron;
mod revolved;
mod solid;
mod sphere;

pub use outline::Body;
pub use solid::{ShapeSpec, Solid};

use super::camera::Camera;
use super::ground::Ground;
use order::{Order, entry, order};
use outline::{Outline, Span, Tracer};

/// What is seen of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sight {
    /// Pixels in which it is nearest.
    pub visible_px: u32,
    /// Pixels of the picture that it would have if it stood alone on the ground.
    pub total_px: u32,
    /// Tight box of the visible pixels: x and y of the first, x and y behind the last. All 0 if none.
    pub bbox: [u16; 4],
}

/// Finds what is seen; holds room to work in, so one serves many scenes.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    tracer: Tracer,
    outlines: Vec<Outline>,
    /// Pairs (hidden, hiding) of bodies.
    hiding: Vec<(usize, usize)>,
    /// Whether two bodies meet where both show.
    meeting: bool,
    taken: Vec<Span>,
    sights: Vec<Sight>,
}

impl Viewer {
    /// What is seen of each body, in order; stops with None when one has fewer than `min_pixels`.
    pub fn view(&mut self, bodies: &[Body<'_>], camera: &Camera, ground: &Ground, min_pixels: u32) -> Option<&[Sight]> {
        self.outline(bodies, camera, ground, min_pixels)?;
        self.relate(bodies, camera);
        self.sights.clear();
        if self.meeting {
            let ids = self.fill(bodies, camera);
            count_ids(&ids, camera.lens.width_px as usize, &self.outlines[..bodies.len()], &mut self.sights);
            return self.sights.iter().all(|s| s.visible_px >= min_pixels).then_some(&self.sights);
        }
        for body in 0..bodies.len() {
            let sight = self.sight(body);
            if sight.visible_px < min_pixels {
                return None;
            }
            self.sights.push(sight);
        }
        Some(&self.sights)
    }

    /// The whole picture, row by row: 0 where no body is, else 1 + the number of the nearest.
    pub fn ids(&mut self, bodies: &[Body<'_>], camera: &Camera, ground: &Ground) -> Vec<u8> {
        // With no least number of pixels the outlines are always found.
        let _ = self.outline(bodies, camera, ground, 0);
        self.fill(bodies, camera)
    }

    fn outline(&mut self, bodies: &[Body<'_>], camera: &Camera, ground: &Ground, min_pixels: u32) -> Option<()> {
        if self.outlines.len() < bodies.len() {
            self.outlines.resize_with(bodies.len(), Outline::default);
        }
        for (body, outline) in bodies.iter().zip(&mut self.outlines) {
            self.tracer.trace(body, camera, ground, outline);
            if outline.area < min_pixels {
                return None;
            }
        }
        Some(())
    }

    /// Finds which bodies hide which.
    fn relate(&mut self, bodies: &[Body<'_>], camera: &Camera) {
        self.hiding.clear();
        self.meeting = false;
        for (j, second) in bodies.iter().enumerate() {
            for (i, first) in bodies[..j].iter().enumerate() {
                if boxes_overlap(&self.outlines[i], &self.outlines[j]) {
                    match order(first, second, camera.location) {
                        Order::FirstInFront => self.hiding.push((j, i)),
                        Order::SecondInFront => self.hiding.push((i, j)),
                        Order::ByPixel => self.meeting = true,
                    }
                }
            }
        }
    }

    fn sight(&mut self, body: usize) -> Sight {
        let own = &self.outlines[body];
        let mut visible_px = 0;
        let mut bbox = [u16::MAX, u16::MAX, 0, 0];
        for (row, &span) in (own.first_row..).zip(&own.spans) {
            self.taken.clear();
            for &(_, hiding) in self.hiding.iter().filter(|(hidden, _)| *hidden == body) {
                let other = self.outlines[hiding].span(row);
                let both = [other[0].max(span[0]), other[1].min(span[1])];
                if both[0] < both[1] {
                    self.taken.push(both);
                }
            }
            let [left, right, count] = remaining(span, &mut self.taken);
            if count > 0 {
                visible_px += u32::from(count);
                bbox = [bbox[0].min(left), bbox[1].min(row), bbox[2].max(right), row + 1];
            }
        }
        Sight { visible_px, total_px: own.area, bbox: if visible_px > 0 { bbox } else { [0; 4] } }
    }

    /// Fills a picture with the numbers of the nearest bodies, by their outlines.
    fn fill(&self, bodies: &[Body<'_>], camera: &Camera) -> Vec<u8> {
        let (width, height) = (camera.lens.width_px as usize, camera.lens.height_px as usize);
        let mut ids = vec![0u8; width * height];
        for (j, body) in bodies.iter().enumerate() {
            let orders: Vec<Order> = bodies[..j].iter().map(|earlier| order(earlier, body, camera.location)).collect();
            let outline = &self.outlines[j];
            for (row, span) in (outline.first_row..).zip(&outline.spans) {
                for column in span[0]..span[1] {
                    let pixel = &mut ids[usize::from(row) * width + usize::from(column)];
                    let nearer = match usize::from(*pixel).checked_sub(1) {
                        None => true,
                        Some(i) => match orders[i] {
                            Order::FirstInFront => false,
                            Order::SecondInFront => true,
                            Order::ByPixel => {
                                let ray = camera.ray(f64::from(column) + 0.5, f64::from(row) + 0.5);
                                entry(body, camera.location, ray) < entry(&bodies[i], camera.location, ray)
                            }
                        },
                    };
                    if nearer {
                        *pixel = j as u8 + 1;
                    }
                }
            }
        }
        ids
    }
}

fn boxes_overlap(a: &Outline, b: &Outline) -> bool {
    a.columns[0] < b.columns[1] && b.columns[0] < a.columns[1] && a.first_row < b.end_row() && b.first_row < a.end_row()
}

/// First pixel, end and number of the pixels of a span that none of the taken ones hold.
#[inline]
fn remaining(span: Span, taken: &mut [Span]) -> [u16; 3] {
    match taken {
        [] => return [span[0], span[1], span[1] - span[0]],
        [_] => {}
        _ => taken.sort_unstable(),
    }
    let (mut begin, mut left, mut right, mut count) = (span[0], None, 0, 0);
    let mut keep = |from: u16, to: u16| {
        if from < to {
            left.get_or_insert(from);
            right = to;
            count += to - from;
        }
    };
    for &[from, to] in taken.iter() {
        keep(begin, from);
        begin = begin.max(to);
    }
    keep(begin, span[1]);
    [left.unwrap_or(0), right, count]
}

fn count_ids(ids: &[u8], width: usize, outlines: &[Outline], sights: &mut Vec<Sight>) {
    sights.extend(outlines.iter().map(|outline| Sight { total_px: outline.area, ..Sight::default() }));
    for (row, pixels) in ids.chunks_exact(width).enumerate() {
        for (column, &id) in pixels.iter().enumerate().filter(|(_, id)| **id > 0) {
            let sight = &mut sights[usize::from(id) - 1];
            let (x, y) = (column as u16, row as u16);
            if sight.visible_px == 0 {
                sight.bbox = [x, y, x, y];
            }
            sight.visible_px += 1;
            let [x0, y0, x1, y1] = sight.bbox;
            sight.bbox = [x0.min(x), y0, x1.max(x + 1), y1.max(y + 1)];
        }
    }
}
