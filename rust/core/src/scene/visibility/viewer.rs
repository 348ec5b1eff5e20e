//! The viewer: outlines of all bodies, which of them hide which, and what is left to see.

use super::body::Body;
use super::depth_buffer::{DepthBuffer, has_hollows};
use super::order::{Depth, Order, order};
use super::outline::Tracer;
use super::rows::{Outline, Span};
use super::sight::Sight;
use crate::scene::camera::Camera;
use crate::scene::ground::Ground;

/// Pixels of a row in which a body is hidden by one that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    hidden: usize,
    row: u16,
    span: Span,
}

/// Finds what is seen; holds its buffers, so one viewer serves many scenes.
#[derive(Clone, Debug, Default)]
pub struct Viewer {
    tracer: Tracer,
    outlines: Vec<Outline>,
    /// Pairs (hidden, hiding) of bodies that stand apart.
    hiding: Vec<(usize, usize)>,
    /// What bodies that meet hide of each other.
    runs: Vec<Run>,
    hiders: Vec<usize>,
    taken: Vec<Span>,
    sights: Vec<Sight>,
}

impl Viewer {
    /// What is seen of each body, in order; None if one of them has fewer than `min_pixels`.
    pub fn view(&mut self, bodies: &[Body<'_>], camera: &Camera, ground: &Ground, min_pixels: u32) -> Option<&[Sight]> {
        if has_hollows(bodies) {
            self.sights = DepthBuffer::new(bodies, camera, ground, &mut self.tracer).sights();
            return self.sights.iter().all(|sight| sight.visible_px >= min_pixels).then_some(&self.sights);
        }
        self.outline(bodies, camera, ground, min_pixels)?;
        self.relate(bodies, camera);
        self.sights.clear();
        for body in 0..bodies.len() {
            let sight = self.sight(body);
            if sight.visible_px < min_pixels {
                return None;
            }
            self.sights.push(sight);
        }
        Some(&self.sights)
    }

    /// The whole image, row by row: 0 where there is no body, otherwise 1 + the number of the nearest body.
    pub fn ids(&mut self, bodies: &[Body<'_>], camera: &Camera, ground: &Ground) -> Vec<u8> {
        if has_hollows(bodies) {
            return DepthBuffer::new(bodies, camera, ground, &mut self.tracer).ids;
        }
        // Without a minimum number of pixels, the outlines are always found.
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
        self.runs.clear();
        for (j, second) in bodies.iter().enumerate() {
            for (i, first) in bodies[..j].iter().enumerate() {
                if boxes_overlap(&self.outlines[i], &self.outlines[j]) {
                    match order(first, second, camera.location) {
                        Order::FirstInFront => self.hiding.push((j, i)),
                        Order::SecondInFront => self.hiding.push((i, j)),
                        Order::ByPixel => self.compare(bodies, [i, j], camera),
                    }
                }
            }
        }
        self.runs.sort_unstable();
    }

    /// Finds what two bodies that meet hide of each other, pixel by pixel.
    fn compare(&mut self, bodies: &[Body<'_>], pair: [usize; 2], camera: &Camera) {
        let depths = pair.map(|body| Depth::new(&bodies[body], camera.location));
        let outlines = pair.map(|body| &self.outlines[body]);
        for (row, span) in (outlines[0].first_row..).zip(&outlines[0].spans) {
            let other = outlines[1].span(row);
            for column in span[0].max(other[0])..span[1].min(other[1]) {
                let hidden = pair[usize::from(first_is_nearer(&depths, camera, column, row))];
                match self.runs.last_mut() {
                    Some(run) if run.hidden == hidden && run.row == row && run.span[1] == column => run.span[1] += 1,
                    _ => self.runs.push(Run { hidden, row, span: [column, column + 1] }),
                }
            }
        }
    }

    fn sight(&mut self, body: usize) -> Sight {
        let own = &self.outlines[body];
        self.hiders.clear();
        self.hiders.extend(self.hiding.iter().filter(|(hidden, _)| *hidden == body).map(|(_, hiding)| *hiding));
        let runs = &self.runs[self.runs.partition_point(|run| run.hidden < body)..];
        let mut runs = &runs[..runs.partition_point(|run| run.hidden == body)];
        if self.hiders.is_empty() && runs.is_empty() {
            return Sight { visible_px: own.area, total_px: own.area, bbox: own.bbox };
        }
        let mut visible_px = 0;
        let mut bbox = [u16::MAX, u16::MAX, 0, 0];
        for (row, &span) in (own.first_row..).zip(&own.spans) {
            self.taken.clear();
            for &hiding in &self.hiders {
                let other = self.outlines[hiding].span(row);
                let both = [other[0].max(span[0]), other[1].min(span[1])];
                if both[0] < both[1] {
                    self.taken.push(both);
                }
            }
            while let Some((run, rest)) = runs.split_first().filter(|(run, _)| run.row == row) {
                self.taken.push(run.span);
                runs = rest;
            }
            let [left, right, count] = remaining(span, &mut self.taken);
            if count > 0 {
                visible_px += u32::from(count);
                bbox = [bbox[0].min(left), bbox[1].min(row), bbox[2].max(right), row + 1];
            }
        }
        Sight { visible_px, total_px: own.area, bbox: if visible_px > 0 { bbox } else { [0; 4] } }
    }

    /// Fills an image with the numbers of the nearest bodies, by their outlines.
    fn fill(&self, bodies: &[Body<'_>], camera: &Camera) -> Vec<u8> {
        let (width, height) = (camera.lens.width_px as usize, camera.lens.height_px as usize);
        let mut ids = vec![0u8; width * height];
        for (j, body) in bodies.iter().enumerate() {
            let rivals: Vec<(Order, [Depth<'_>; 2])> = bodies[..j]
                .iter()
                .map(|earlier| {
                    (order(earlier, body, camera.location), [earlier, body].map(|b| Depth::new(b, camera.location)))
                })
                .collect();
            let outline = &self.outlines[j];
            for (row, span) in (outline.first_row..).zip(&outline.spans) {
                for column in span[0]..span[1] {
                    let pixel = &mut ids[usize::from(row) * width + usize::from(column)];
                    let nearer = match usize::from(*pixel).checked_sub(1) {
                        None => true,
                        Some(i) => match &rivals[i] {
                            (Order::FirstInFront, _) => false,
                            (Order::SecondInFront, _) => true,
                            (Order::ByPixel, depths) => !first_is_nearer(depths, camera, column, row),
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

/// Compares depths at a pixel's centre.
fn first_is_nearer(depths: &[Depth<'_>; 2], camera: &Camera, column: u16, row: u16) -> bool {
    let ray = camera.ray(f64::from(column) + 0.5, f64::from(row) + 0.5);
    depths[0].along(ray) <= depths[1].along(ray)
}

fn boxes_overlap(a: &Outline, b: &Outline) -> bool {
    let ([ax0, ay0, ax1, ay1], [bx0, by0, bx1, by1]) = (a.bbox, b.bbox);
    ax0 < bx1 && bx0 < ax1 && ay0 < by1 && by0 < ay1
}

/// First pixel, end and number of the pixels of a span that are in none of the taken spans.
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

#[cfg(test)]
mod tests {
    use super::super::mesh::Mesh;
    use super::super::solid::Solid;
    use super::*;
    use crate::rng::StreamKey;
    use crate::scene::camera::Lens;
    use crate::scene::ground::GroundSpec;

    /// A ground that rises fast enough to bury the feet of what stands on it.
    fn slope() -> Ground {
        let profile_x_z = vec![[-9.0, -0.4], [0.0, 0.02], [1.0, 0.1], [9.0, 1.5]];
        Ground::new(&GroundSpec { rotation_z_rad: 2.0, translation: [0.0; 3], profile_x_z }).unwrap()
    }

    fn solids() -> Vec<Solid> {
        let shapes = [
            r#"{"kind": "icosphere", "outline_radius": 0.999}"#,
            r#"{"kind": "revolved", "profile_radius_z": [[0.9, 1], [1, 0.9], [1, -0.9], [0.95, -1]]}"#,
            r#"{"kind": "revolved", "profile_radius_z": [[0.1, 1], [1, -0.8], [0.4, -1]]}"#,
            r#"{"kind": "rounded_cube", "edge_profile": [[1, 0.75], [0.998, 0.82], [0.94845, 0.94845]], "edge_exponent": 3}"#,
            r#"{"kind": "polyhedron", "vertices": [[1, 1, -1], [-1, 1, -1], [0, -1, -1], [0, 0, 1]],
                "faces": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]}"#,
        ];
        shapes.iter().map(|json| Solid::new(&serde_json::from_str(json).unwrap()).unwrap()).collect()
    }

    /// The depth at which a ray meets a body, and whether that is above the ground; None if it misses the body.
    fn meets(
        body: &Body<'_>,
        depth: &Depth<'_>,
        ray: [f64; 3],
        camera: &Camera,
        ground: &Ground,
    ) -> Option<(f64, bool)> {
        let distance = depth.along(ray);
        let hit: [f64; 3] = std::array::from_fn(|i| camera.location[i] + distance * ray[i]);
        if let Solid::Polyhedron(solid) = body.solid {
            let [cos, sin] = body.turn;
            let [x, y, z]: [f64; 3] = std::array::from_fn(|i| (hit[i] - body.position[i]) / body.radius);
            let own = [cos * x + sin * y, cos * y - sin * x, z];
            if solid.planes.iter().any(|&(normal, offset)| crate::scene::geometry::dot(normal, own) > offset + 1e-3) {
                return None;
            }
        }
        let mut planes = Vec::new();
        ground.planes(hit[0], hit[1], 0.0, &mut planes);
        let stands = planes.iter().all(|plane| hit[2] > plane.at(hit[0], hit[1]));
        distance.is_finite().then_some((distance, stands))
    }

    /// The image found ray by ray, without outlines, spans or order.
    fn ids_by_rays(bodies: &[Body<'_>], camera: &Camera, ground: &Ground) -> Vec<u8> {
        let depths: Vec<Depth<'_>> = bodies.iter().map(|body| Depth::new(body, camera.location)).collect();
        let lens = &camera.lens;
        let pixel = |i: u32| {
            let ray = camera.ray(f64::from(i % lens.width_px) + 0.5, f64::from(i / lens.width_px) + 0.5);
            let met = bodies.iter().zip(&depths).zip(1u8..);
            met.filter_map(|((body, depth), id)| meets(body, depth, ray, camera, ground).map(|met| (met, id)))
                .min_by(|a, b| a.0.0.total_cmp(&b.0.0))
                .map_or(0, |((_, stands), id)| if stands { id } else { 0 })
        };
        (0..lens.height_px * lens.width_px).map(pixel).collect()
    }

    /// Four bodies on the slope, crowded enough to hide and to meet each other.
    fn crowd(solids: &[Solid], case: u64) -> (Vec<Body<'_>>, Camera) {
        let mut rng = StreamKey::new(&[b"crowd"]).at(case);
        let bodies = (0..4).map(|_| {
            let (sin, cos) = libm::sincos(rng.uniform(0.0, 6.3));
            let radius = rng.uniform(0.3, 0.8);
            Body {
                solid: &solids[rng.below(solids.len() as u32) as usize],
                radius,
                position: [rng.uniform(-1.5, 1.5), rng.uniform(-1.5, 1.5), radius],
                turn: [cos, sin],
            }
        });
        let bodies = bodies.collect();
        let location = [rng.uniform(4.0, 8.0), rng.uniform(-8.0, -4.0), rng.uniform(2.0, 6.0)];
        (bodies, Camera::looking_at(location, [0.0; 3], Lens::new(35.0, 32.0, 240, 160, 0.1)))
    }

    fn counted(ids: &[u8], body: usize, width: usize) -> (u32, [u16; 4]) {
        let pixels = || ids.iter().enumerate().filter(|(_, id)| usize::from(**id) == body + 1).map(|(i, _)| i);
        let (x, y) = (|i: usize| (i % width) as u16, |i: usize| (i / width) as u16);
        let least = |f: &dyn Fn(usize) -> u16| pixels().map(f).min().unwrap_or(0);
        let most = |f: &dyn Fn(usize) -> u16| pixels().map(f).max().map_or(0, |last| last + 1);
        (pixels().count() as u32, [least(&x), least(&y), most(&x), most(&y)])
    }

    #[test]
    fn outlines_and_order_agree_with_rays() {
        let (solids, ground) = (solids(), slope());
        let (mut differing, mut covered, mut partly_hidden) = (0, 0, 0);
        for case in 0..40 {
            let (bodies, camera) = crowd(&solids, case);
            let mut viewer = Viewer::default();
            let ids = viewer.ids(&bodies, &camera, &ground);
            let by_rays = ids_by_rays(&bodies, &camera, &ground);
            let differing_here = ids.iter().zip(&by_rays).filter(|(a, b)| a != b).count();
            let covered_here = by_rays.iter().filter(|id| **id > 0).count();
            assert!(differing_here * 50 < covered_here, "case {case}: {differing_here} of {covered_here}");
            differing += differing_here;
            covered += covered_here;
            let sights = viewer.view(&bodies, &camera, &ground, 0).unwrap().to_vec();
            for (body, sight) in sights.iter().enumerate() {
                assert_eq!((sight.visible_px, sight.bbox), counted(&ids, body, 240), "case {case}, body {body}");
                partly_hidden += usize::from(0 < sight.visible_px && sight.visible_px < sight.total_px);
            }
        }
        assert!(differing * 200 < covered, "{differing} of {covered}");
        assert!(partly_hidden > 40, "{partly_hidden}");
    }

    #[test]
    fn spheres_are_exact() {
        let (solids, ground) = (&solids()[..1], slope());
        for case in 0..20 {
            let (mut bodies, camera) = crowd(solids, case);
            bodies.truncate(1);
            let ids = Viewer::default().ids(&bodies, &camera, &ground);
            assert_eq!(ids, ids_by_rays(&bodies, &camera, &ground), "case {case}");
        }
    }

    #[test]
    fn taken_spans_may_overlap() {
        assert_eq!(remaining([10, 20], &mut []), [10, 20, 10]);
        assert_eq!(remaining([10, 20], &mut [[15, 20], [10, 12]]), [12, 15, 3]);
        assert_eq!(remaining([10, 20], &mut [[12, 18], [13, 14], [17, 19]]), [10, 20, 3]);
        assert_eq!(remaining([10, 20], &mut [[10, 15], [15, 20]])[2], 0);
    }

    #[test]
    fn meshes_show_what_the_same_convex_solids_show() {
        let (solids, ground) = (solids(), slope());
        let as_meshes: Vec<Solid> = solids
            .iter()
            .map(|solid| match solid {
                Solid::Polyhedron(solid) => {
                    let faces: Vec<Vec<usize>> =
                        solid.faces.iter().map(|face| face.corners.iter().map(|&v| usize::from(v)).collect()).collect();
                    Solid::Mesh(Mesh::new(&solid.vertices, &faces).unwrap())
                }
                other => other.clone(),
            })
            .collect();
        let (mut differing, mut covered, mut n_meshes) = (0, 0, 0);
        for case in 0..30 {
            let (bodies, camera) = crowd(&solids, case);
            let (twins, _) = crowd(&as_meshes, case);
            n_meshes += twins.iter().filter(|body| matches!(body.solid, Solid::Mesh(_))).count();
            let mut viewer = Viewer::default();
            let ids = viewer.ids(&bodies, &camera, &ground);
            let by_depth = viewer.ids(&twins, &camera, &ground);
            differing += ids.iter().zip(&by_depth).filter(|(a, b)| a != b).count();
            covered += ids.iter().filter(|id| **id > 0).count();
            let sights = viewer.view(&twins, &camera, &ground, 0).unwrap().to_vec();
            let alone = viewer.view(&bodies, &camera, &ground, 0).unwrap().to_vec();
            for (body, (sight, convex)) in sights.iter().zip(&alone).enumerate() {
                assert_eq!((sight.visible_px, sight.bbox), counted(&by_depth, body, 240), "case {case}, body {body}");
                let apart = sight.total_px.abs_diff(convex.total_px);
                assert!(apart <= 3 + convex.total_px / 50, "case {case}: {sight:?} {convex:?}");
            }
        }
        assert!(n_meshes > 20, "{n_meshes}");
        assert!(differing * 200 < covered, "{differing} of {covered}");
    }

    #[test]
    fn a_hollow_shows_what_stands_behind_it() {
        // A frame without its middle: two upright posts, one of them far from the other.
        let posts = r#"{"kind": "mesh", "vertices": [
            [-1, 0, -1], [-0.8, 0, -1], [-0.8, 0, 1], [-1, 0, 1], [0.8, 0, -1], [1, 0, -1], [1, 0, 1], [0.8, 0, 1]],
            "faces": [[0, 1, 2, 3], [4, 5, 6, 7]]}"#;
        let ball = r#"{"kind": "icosphere", "outline_radius": 1.0}"#;
        let [posts, ball] = [posts, ball].map(|json| Solid::new(&serde_json::from_str(json).unwrap()).unwrap());
        assert!(matches!(posts, Solid::Mesh(_)));
        let body = |solid, radius, y| Body { solid, radius, position: [0.0, y, radius], turn: [1.0, 0.0] };
        let bodies = [body(&posts, 1.0, 0.0), body(&ball, 0.5, 2.0)];
        let camera = Camera::looking_at([0.0, -9.0, 2.0], [0.0; 3], Lens::new(35.0, 32.0, 240, 160, 0.1));
        let sights = Viewer::default().view(&bodies, &camera, &slope(), 0).unwrap().to_vec();
        assert_eq!(sights[1].visible_px, sights[1].total_px);
        let [left, top, right, bottom] = sights[0].bbox;
        let area = u32::from(right - left) * u32::from(bottom - top);
        assert!(sights[0].visible_px > 300 && sights[0].visible_px * 4 < area, "{:?}", sights[0]);
        let most = sights.iter().map(|sight| sight.visible_px).min().unwrap();
        let mut viewer = Viewer::default();
        assert!(viewer.view(&bodies, &camera, &slope(), most).is_some());
        assert!(viewer.view(&bodies, &camera, &slope(), most + 1).is_none());
    }
}
