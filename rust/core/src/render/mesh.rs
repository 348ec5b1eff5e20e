//! Intersection of rays with triangle meshes.

use super::bvh::{Bounds, Bvh};
use super::mesh_spec::{MeshSpec, corner_normals};
use super::vector::{V3, v3};

/// A mesh, ready to be intersected.
#[derive(Clone, Debug)]
pub struct Mesh {
    tree: Bvh,
    triangles: Vec<Triangle>,
    /// Radius of the bounding sphere about the origin.
    pub bound: f32,
    /// Centre and half extent of the bounding box.
    center: V3,
    half_extent: V3,
}

#[derive(Clone, Copy, Debug)]
struct Triangle {
    corners: [V3; 3],
    /// Shading normals at the corners.
    normals: [V3; 3],
}

/// Bounding boxes are larger than their triangles by this, which is more than the rounding error of a hit point.
const MARGIN: f32 = 1e-4;

impl Mesh {
    /// Fails for invalid indices and coordinates; the message leaves out the place in the look.
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
        let boxes: Vec<Bounds> =
            triangles.iter().map(|triangle| Bounds::of(&triangle.corners).expanded(MARGIN)).collect();
        let (tree, order) = Bvh::new(&boxes);
        let bound = triangles.iter().flat_map(|triangle| triangle.corners).map(V3::length).fold(0.0, f32::max);
        let bounds = triangles.iter().fold(Bounds::EMPTY, |all, triangle| all.union(Bounds::of(&triangle.corners)));
        Ok(Self {
            tree,
            triangles: order.iter().map(|&item| triangles[item as usize]).collect(),
            bound,
            center: bounds.center(),
            half_extent: (bounds.high - bounds.low) * 0.5,
        })
    }

    /// The distance of the nearest hit, from either side; infinite if the ray misses.
    pub fn hit(&self, origin: V3, direction: V3) -> f32 {
        let shear = Shear::new(direction);
        let mut nearest = f32::INFINITY;
        self.tree.traverse_ray(origin, direction, f32::INFINITY, |items, limit| {
            for triangle in &self.triangles[items] {
                if let Some(t) = shear.hit(origin, &triangle.corners)
                    && t < nearest
                {
                    (nearest, *limit) = (t, t);
                }
            }
            false
        });
        nearest
    }

    /// Whether there is a hit within `distance`.
    pub fn blocks(&self, origin: V3, direction: V3, distance: f32) -> bool {
        let shear = Shear::new(direction);
        let mut is_blocked = false;
        self.tree.traverse_ray(origin, direction, distance, |items, _| {
            is_blocked = self.triangles[items]
                .iter()
                .any(|triangle| shear.hit(origin, &triangle.corners).is_some_and(|t| t < distance));
            is_blocked
        });
        is_blocked
    }

    /// Whether a point is inside a closed mesh: then a ray from it crosses the surface an odd number of times.
    pub fn contains(&self, point: V3) -> bool {
        // Upwards, but unlikely to be parallel to a face or an edge.
        let direction = v3(0.0713, 0.1097, 1.0).unit();
        let shear = Shear::new(direction);
        let mut inside = false;
        self.tree.traverse_ray(point, direction, f32::INFINITY, |items, _| {
            for triangle in &self.triangles[items] {
                inside ^= shear.hit(point, &triangle.corners).is_some();
            }
            false
        });
        inside
    }

    /// The shading normal at a hit, on the side that the ray came from.
    pub fn normal(&self, point: V3, direction: V3) -> V3 {
        let mut nearest = (f32::INFINITY, V3::ZERO, V3::ZERO);
        self.tree.traverse_point(point, |items| {
            for triangle in &self.triangles[items] {
                let (distance2, flat, smooth) = triangle.interpolate(point);
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
        ensure_valid_reflection(flat.unit() * side, smooth.unit() * side, -direction)
    }

    /// Blender's default tangent, around the vertical axis of the bounding box as if its base were a square.
    pub fn tangent(&self, point: V3) -> V3 {
        let aside = point - self.center;
        v3(-aside.y / self.half_extent.y.max(1e-6), aside.x / self.half_extent.x.max(1e-6), 0.0)
    }
}

impl Triangle {
    /// The squared distance of a point, the geometric normal, and the interpolated shading normal, not normalised.
    fn interpolate(&self, point: V3) -> (f32, V3, V3) {
        let [a, b, c] = self.corners;
        let (ab, ac, ap) = (b - a, c - a, point - a);
        let flat = ab.cross(ac);
        let area2 = flat.dot(flat);
        if area2 <= 0.0 {
            return (f32::INFINITY, V3::ZERO, V3::ZERO);
        }
        // Barycentric coordinates, clamped to the triangle.
        let v = (ap.cross(ac).dot(flat) / area2).clamp(0.0, 1.0);
        let w = (ab.cross(ap).dot(flat) / area2).clamp(0.0, 1.0);
        let sum = (v + w).max(1.0);
        let (v, w) = (v / sum, w / sum);
        let off = ap - ab * v - ac * w;
        (off.dot(off), flat, self.normals[0] * (1.0 - v - w) + self.normals[1] * v + self.normals[2] * w)
    }
}

/// The shading normal, bent towards the geometric normal where a mirror direction would be below the surface.
///
/// As in Cycles, the mirror direction is then just above the surface.
fn ensure_valid_reflection(flat: V3, smooth: V3, v: V3) -> V3 {
    let along = flat.dot(v);
    let least = (0.9 * along).min(0.01);
    if flat.dot(smooth * (2.0 * smooth.dot(v)) - v) >= least {
        return smooth;
    }
    // In the plane of both normals: the half vector between the viewer and the lowest valid direction.
    let aside = (smooth - flat * smooth.dot(flat)).unit();
    let across = aside.dot(v);
    let length = (across * across + along * along).sqrt();
    let up = least / length;
    let out = (1.0 - up * up).max(0.0).sqrt();
    (aside * (across / length + out) + flat * (along / length + up)).unit()
}

/// The transform that permutes and shears a ray's direction to (0, 0, 1) (Woop, Benthin and Wald 2013).
struct Shear {
    /// `z` is the axis along which the direction is longest.
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

    /// The distance to a triangle. Watertight: a ray through an edge shared by two triangles hits at least one of them.
    #[inline]
    fn hit(&self, origin: V3, corners: &[V3; 3]) -> Option<f32> {
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

    /// A torus of `n` by `n` quads about the z axis.
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
    fn the_tree_finds_the_same_hits_as_a_linear_search() {
        let mesh = Mesh::new(&torus(32)).unwrap();
        let mut rng = StreamKey::new(&[b"rays"]).at(0);
        let (mut hits, mut blocked) = (0, 0);
        for _ in 0..4_000 {
            let origin = random_direction(&mut rng) * 1.5;
            let direction = (random_direction(&mut rng) * 0.8 - origin).unit();
            let shear = Shear::new(direction);
            let by_all = mesh
                .triangles
                .iter()
                .filter_map(|triangle| shear.hit(origin, &triangle.corners))
                .fold(f32::INFINITY, f32::min);
            let by_tree = mesh.hit(origin, direction);
            assert_eq!(by_tree, by_all);
            hits += usize::from(by_tree.is_finite());
            let distance = rng.uniform(0.1, 2.0) as f32;
            assert_eq!(mesh.blocks(origin, direction, distance), by_all < distance);
            blocked += usize::from(by_all < distance);
        }
        assert!((500..3_500).contains(&hits) && blocked > 300, "{hits} {blocked}");
    }

    #[test]
    fn no_ray_slips_between_triangles() {
        let mesh = Mesh::new(&torus(24)).unwrap();
        let mut rng = StreamKey::new(&[b"edges"]).at(0);
        for triangle in &mesh.triangles {
            // From inside the tube through the triangle's edges and corners.
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
    fn a_torus_has_a_hole_and_smooth_normals() {
        let mesh = Mesh::new(&torus(64)).unwrap();
        assert!(mesh.contains(v3(0.7, 0.0, 0.0)) && mesh.contains(v3(-0.5, -0.5, 0.05)));
        assert!(!mesh.contains(V3::ZERO) && !mesh.contains(v3(0.7, 0.0, 0.31)));
        assert!(mesh.hit(v3(0.0, 0.0, 2.0), v3(0.0, 0.0, -1.0)).is_infinite());
        assert!((mesh.bound - 1.0).abs() < 1e-6);
        let mut rng = StreamKey::new(&[b"normals"]).at(0);
        let mut hits = 0;
        for _ in 0..2_000 {
            let origin = random_direction(&mut rng) * 1.5;
            let direction = (random_direction(&mut rng) * 0.8 - origin).unit();
            let t = mesh.hit(origin, direction);
            if t.is_infinite() {
                continue;
            }
            hits += 1;
            let point = origin + direction * t;
            let middle = v3(point.x, point.y, 0.0).unit() * 0.7;
            let normal = mesh.normal(point, direction);
            assert!(normal.dot((point - middle).unit()) > 0.999, "{point:?}");
            // Seen from inside, the normal points inwards.
            assert!(mesh.normal(point, -direction).dot(normal) < -0.999);
        }
        assert!(hits > 300, "{hits}");
    }

    #[test]
    fn no_mirror_direction_is_below_its_triangle() {
        let flat = v3(0.0, 0.0, 1.0);
        let smooth = v3(0.3, 0.1, 1.0).unit();
        let mirrored = |normal: V3, v: V3| (normal * (2.0 * normal.dot(v)) - v).z;
        let steep = v3(0.4, 0.0, 1.0).unit();
        assert_eq!(ensure_valid_reflection(flat, smooth, steep), smooth);
        for height in [0.005_f32, 0.05, 0.3] {
            let v = v3(-1.0, 0.2, height).unit();
            assert!(mirrored(smooth, v) < 0.0);
            let normal = ensure_valid_reflection(flat, smooth, v);
            assert!((mirrored(normal, v) - (0.9 * v.z).min(0.01)).abs() < 1e-5, "{v:?}");
            assert!(normal.dot(flat) > smooth.dot(flat));
        }
    }

    #[test]
    fn thousands_of_coinciding_triangles_make_a_finite_tree() {
        let mut spec = torus(8);
        spec.faces = vec![spec.faces[0].clone(); 3_000];
        let mesh = Mesh::new(&spec).unwrap();
        let [a, b, c] = mesh.triangles[0].corners;
        let middle = (a + b + c) / 3.0;
        assert!(mesh.hit(middle * 3.0, -middle.unit()).is_finite());
    }
}
