//! Shapes of triangles, as rays meet them.

use super::bvh::{Bounds, Bvh};
use super::mesh_spec::{MeshSpec, corner_normals};
use super::vector::{V3, v3};

/// A mesh, ready for rays.
#[derive(Clone, Debug)]
pub struct Mesh {
    tree: Bvh,
    triangles: Vec<Triangle>,
    /// Greatest distance of a corner from the origin.
    pub bound: f32,
    /// Middle and half of the sides of the box that holds it.
    middle: V3,
    half: V3,
}

#[derive(Clone, Copy, Debug)]
struct Triangle {
    corners: [V3; 3],
    /// Shading normals at the corners.
    normals: [V3; 3],
}

/// Boxes are larger than their triangles by this, which is more than a point of the surface lies off it.
const MARGIN: f32 = 1e-4;

impl Mesh {
    /// Errors, as the end of a sentence, for faces and normals that are not there.
    pub fn new(spec: &MeshSpec) -> Result<Self, String> {
        let normals = corner_normals(spec)?;
        let vertices: Vec<V3> = spec.vertices.iter().map(|&v| V3::from_f64(v)).collect();
        if vertices.iter().any(|v| !v.length().is_finite()) {
            return Err("vertices: expected finite coordinates".into());
        }
        let mut triangles = Vec::with_capacity(2 * spec.faces.len());
        for (face, normals) in spec.faces.iter().zip(&normals) {
            for last in 2..face.len() {
                let corners = [0, last - 1, last];
                triangles.push(Triangle {
                    corners: corners.map(|corner| vertices[face[corner]]),
                    normals: corners.map(|corner| normals[corner]),
                });
            }
        }
        if triangles.is_empty() {
            return Err("faces: expected at least one".into());
        }
        let boxes: Vec<Bounds> = triangles.iter().map(|each| Bounds::of(&each.corners).widened(MARGIN)).collect();
        let (tree, order) = Bvh::new(&boxes);
        let bound = triangles.iter().flat_map(|each| each.corners).map(V3::length).fold(0.0, f32::max);
        let all = triangles.iter().fold(Bounds::NONE, |all, each| all.with(Bounds::of(&each.corners)));
        Ok(Self {
            tree,
            triangles: order.iter().map(|&item| triangles[item as usize]).collect(),
            bound,
            middle: all.middle(),
            half: (all.high - all.low) * 0.5,
        })
    }

    /// Distance at which a ray first meets a triangle, from either side; infinite if it meets none.
    pub fn hit(&self, origin: V3, direction: V3) -> f32 {
        let shear = Shear::new(direction);
        let mut nearest = f32::INFINITY;
        self.tree.along(origin, direction, f32::INFINITY, |items, limit| {
            for triangle in &self.triangles[items] {
                if let Some(t) = shear.met(origin, &triangle.corners)
                    && t < nearest
                {
                    (nearest, *limit) = (t, t);
                }
            }
            false
        });
        nearest
    }

    /// Whether a ray meets a triangle within `distance`.
    pub fn blocks(&self, origin: V3, direction: V3, distance: f32) -> bool {
        let shear = Shear::new(direction);
        let mut met = false;
        self.tree.along(origin, direction, distance, |items, _| {
            met = self.triangles[items]
                .iter()
                .any(|triangle| shear.met(origin, &triangle.corners).is_some_and(|t| t < distance));
            met
        });
        met
    }

    /// Whether a point lies within a closed mesh: a ray from there leaves it once more than it enters.
    pub fn contains(&self, point: V3) -> bool {
        // Upwards, but along no plane or edge that a mesh is likely to have.
        let direction = v3(0.0713, 0.1097, 1.0).unit();
        let shear = Shear::new(direction);
        let mut inside = false;
        self.tree.along(point, direction, f32::INFINITY, |items, _| {
            for triangle in &self.triangles[items] {
                inside ^= shear.met(point, &triangle.corners).is_some();
            }
            false
        });
        inside
    }

    /// The shading normal where a ray has met the mesh, on the side that it came from.
    pub fn normal(&self, point: V3, direction: V3) -> V3 {
        let mut nearest = (f32::INFINITY, V3::ZERO, V3::ZERO);
        self.tree.about(point, |items| {
            for triangle in &self.triangles[items] {
                let (distance2, flat, smooth) = triangle.nearby(point);
                if distance2 < nearest.0 {
                    nearest = (distance2, flat, smooth);
                }
            }
        });
        let (distance2, flat, smooth) = nearest;
        if !distance2.is_finite() {
            return -direction;
        }
        let side = if flat.dot(direction) > 0.0 { -1.0 } else { 1.0 };
        mirroring_outwards(flat.unit() * side, smooth.unit() * side, -direction)
    }

    /// What Blender takes for the direction around the mesh's axis: round the middle of its box, as if that were
    /// as wide as deep.
    pub fn around(&self, point: V3) -> V3 {
        let aside = point - self.middle;
        v3(-aside.y / self.half.y.max(1e-6), aside.x / self.half.x.max(1e-6), 0.0)
    }
}

impl Triangle {
    /// The square of a point's distance, the triangle's own normal, and its shading normal there, of any length.
    fn nearby(&self, point: V3) -> (f32, V3, V3) {
        let [a, b, c] = self.corners;
        let (ab, ac, ap) = (b - a, c - a, point - a);
        let flat = ab.cross(ac);
        let area2 = flat.dot(flat);
        if area2 <= 0.0 {
            return (f32::INFINITY, V3::ZERO, V3::ZERO);
        }
        // Where the point is over the triangle, moved onto it.
        let v = (ap.cross(ac).dot(flat) / area2).clamp(0.0, 1.0);
        let w = (ab.cross(ap).dot(flat) / area2).clamp(0.0, 1.0);
        let sum = (v + w).max(1.0);
        let (v, w) = (v / sum, w / sum);
        let off = ap - ab * v - ac * w;
        (off.dot(off), flat, self.normals[0] * (1.0 - v - w) + self.normals[1] * v + self.normals[2] * w)
    }
}

/// A shading normal, turned towards the triangle's own where a mirror would show what is behind the triangle.
///
/// As in Cycles, what it then mirrors lies just above the triangle's plane.
fn mirroring_outwards(flat: V3, smooth: V3, v: V3) -> V3 {
    let along = flat.dot(v);
    let least = (0.9 * along).min(0.01);
    if flat.dot(smooth * (2.0 * smooth.dot(v)) - v) >= least {
        return smooth;
    }
    // In the plane of both normals: the normal halfway between the viewer and that least direction.
    let aside = (smooth - flat * smooth.dot(flat)).unit();
    let across = aside.dot(v);
    let length = (across * across + along * along).sqrt();
    let up = least / length;
    let out = (1.0 - up * up).max(0.0).sqrt();
    (aside * (across / length + out) + flat * (along / length + up)).unit()
}

/// A ray's direction turned and sheared to the axis (0, 0, 1) (Woop, Benthin and Wald 2013).
struct Shear {
    /// The axis that the direction is longest along, and the two others.
    x: usize,
    y: usize,
    z: usize,
    shear: V3,
}

impl Shear {
    #[inline]
    fn new(d: V3) -> Self {
        let size = v3(d.x.abs(), d.y.abs(), d.z.abs());
        let z = if size.x > size.y && size.x > size.z {
            0
        } else if size.y > size.z {
            1
        } else {
            2
        };
        let (mut x, mut y) = ((z + 1) % 3, (z + 2) % 3);
        if d[z] < 0.0 {
            (x, y) = (y, x);
        }
        Self { x, y, z, shear: v3(d[x] / d[z], d[y] / d[z], 1.0 / d[z]) }
    }

    /// Distance to a triangle. Of two that share an edge, a ray through it meets at least one.
    #[inline]
    fn met(&self, origin: V3, corners: &[V3; 3]) -> Option<f32> {
        let turned = corners.map(|corner| {
            let p = corner - origin;
            let z = p[self.z];
            v3(p[self.x] - self.shear.x * z, p[self.y] - self.shear.y * z, self.shear.z * z)
        });
        let [a, b, c] = turned;
        let mut sides = [c.x * b.y - c.y * b.x, a.x * c.y - a.y * c.x, b.x * a.y - b.y * a.x];
        if sides.contains(&0.0) {
            let exact = |a: V3, b: V3| (f64::from(a.x) * f64::from(b.y) - f64::from(a.y) * f64::from(b.x)) as f32;
            sides = [exact(c, b), exact(a, c), exact(b, a)];
        }
        let [u, v, w] = sides;
        if (u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0) {
            return None;
        }
        let sum = u + v + w;
        if sum == 0.0 {
            return None;
        }
        let t = (u * a.z + v * b.z + w * c.z) / sum;
        (t > 0.0).then_some(t)
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh_spec::Shading;
    use super::*;
    use crate::rng::StreamKey;

    /// A ring of `n` by `n` quads about the z axis.
    fn torus(n: usize) -> MeshSpec {
        let turn = |i: usize| libm::sincos(std::f64::consts::TAU * i as f64 / n as f64);
        let vertices = (0..n * n)
            .map(|k| {
                let ((sin, cos), (up, out)) = (turn(k / n), turn(k % n));
                let radius = 0.7 + 0.3 * out;
                [radius * cos, radius * sin, 0.3 * up]
            })
            .collect();
        let faces = (0..n * n)
            .map(|k| {
                let (i, j) = (k / n, k % n);
                let (after, above) = ((i + 1) % n, (j + 1) % n);
                vec![i * n + j, after * n + j, after * n + above, i * n + above]
            })
            .collect();
        let shading = Shading::Smooth;
        MeshSpec { vertices, faces, shading, smooth_angle_deg: None, normals: vec![], face_normals: vec![] }
    }

    fn random_direction(rng: &mut crate::rng::StreamRng) -> V3 {
        loop {
            let d = v3(rng.uniform(-1.0, 1.0) as f32, rng.uniform(-1.0, 1.0) as f32, rng.uniform(-1.0, 1.0) as f32);
            if (0.01..=1.0).contains(&d.length()) {
                return d.unit();
            }
        }
    }

    #[test]
    fn the_tree_finds_what_a_search_of_all_triangles_finds() {
        let mesh = Mesh::new(&torus(32)).unwrap();
        let mut rng = StreamKey::new(&[b"rays"]).at(0);
        let (mut met, mut blocked) = (0, 0);
        for _ in 0..4_000 {
            let origin = random_direction(&mut rng) * 1.5;
            let direction = (random_direction(&mut rng) * 0.8 - origin).unit();
            let shear = Shear::new(direction);
            let by_all = mesh
                .triangles
                .iter()
                .filter_map(|triangle| shear.met(origin, &triangle.corners))
                .fold(f32::INFINITY, f32::min);
            let by_tree = mesh.hit(origin, direction);
            assert_eq!(by_tree, by_all);
            met += usize::from(by_tree.is_finite());
            let distance = rng.uniform(0.1, 2.0) as f32;
            assert_eq!(mesh.blocks(origin, direction, distance), by_all < distance);
            blocked += usize::from(by_all < distance);
        }
        assert!((500..3_500).contains(&met) && blocked > 300, "{met} {blocked}");
    }

    #[test]
    fn no_ray_slips_between_triangles() {
        let mesh = Mesh::new(&torus(24)).unwrap();
        let mut rng = StreamKey::new(&[b"edges"]).at(0);
        for triangle in &mesh.triangles {
            // From within the ring through its edges and corners.
            for share in [0.0, 1.0, 0.5, rng.uniform(0.0, 1.0) as f32] {
                let [a, b, _] = triangle.corners;
                let place = a + (b - a) * share;
                let flat = v3(place.x, place.y, 0.0).unit() * 0.7;
                let direction = (place - flat).unit();
                assert!(mesh.hit(flat, direction) < 0.31, "{place:?}");
            }
        }
    }

    #[test]
    fn a_ring_has_its_hole_and_its_round_normals() {
        let mesh = Mesh::new(&torus(64)).unwrap();
        assert!(mesh.contains(v3(0.7, 0.0, 0.0)) && mesh.contains(v3(-0.5, -0.5, 0.05)));
        assert!(!mesh.contains(V3::ZERO) && !mesh.contains(v3(0.7, 0.0, 0.31)));
        assert!(mesh.hit(v3(0.0, 0.0, 2.0), v3(0.0, 0.0, -1.0)).is_infinite());
        assert!((mesh.bound - 1.0).abs() < 1e-6);
        let mut rng = StreamKey::new(&[b"normals"]).at(0);
        let mut met = 0;
        for _ in 0..2_000 {
            let origin = random_direction(&mut rng) * 1.5;
            let direction = (random_direction(&mut rng) * 0.8 - origin).unit();
            let t = mesh.hit(origin, direction);
            if t.is_infinite() {
                continue;
            }
            met += 1;
            let point = origin + direction * t;
            let middle = v3(point.x, point.y, 0.0).unit() * 0.7;
            let normal = mesh.normal(point, direction);
            assert!(normal.dot((point - middle).unit()) > 0.999, "{point:?}");
            // From within it looks inwards.
            assert!(mesh.normal(point, -direction).dot(normal) < -0.999);
        }
        assert!(met > 300, "{met}");
    }

    #[test]
    fn no_normal_mirrors_what_is_behind_its_triangle() {
        let flat = v3(0.0, 0.0, 1.0);
        let smooth = v3(0.3, 0.1, 1.0).unit();
        let mirrored = |normal: V3, v: V3| (normal * (2.0 * normal.dot(v)) - v).z;
        let steep = v3(0.4, 0.0, 1.0).unit();
        assert_eq!(mirroring_outwards(flat, smooth, steep), smooth);
        for height in [0.005_f32, 0.05, 0.3] {
            let v = v3(-1.0, 0.2, height).unit();
            assert!(mirrored(smooth, v) < 0.0);
            let normal = mirroring_outwards(flat, smooth, v);
            assert!((mirrored(normal, v) - (0.9 * v.z).min(0.01)).abs() < 1e-5, "{v:?}");
            assert!(normal.dot(flat) > smooth.dot(flat));
        }
    }

    #[test]
    fn thousands_of_equal_triangles_end_in_a_tree() {
        let mut spec = torus(8);
        spec.faces = vec![spec.faces[0].clone(); 3_000];
        let mesh = Mesh::new(&spec).unwrap();
        let [a, b, c] = mesh.triangles[0].corners;
        let middle = (a + b + c) / 3.0;
        assert!(mesh.hit(middle * 3.0, -middle.unit()).is_finite());
    }
}
