//! Normals of the flat facets of Blender's icosphere.
//!
//! The mesh, an icosphere with one Catmull-Clark step, is built once. To find the facet at a point, the point is
//! projected along its radius onto a face of the icosahedron, which the subdivision cut into a regular grid.

use super::lanes::{F8, LANES, Real};
use super::vector::{V3, v3};
use crate::scene::geometry::{Vec3 as P, cross, dot, normalize};
use std::collections::BTreeMap;

/// Cells along the sides of a cube map that tells the icosahedron's face in a direction.
const CELLS: usize = 32;
/// Marks a cell with more than one face behind it.
const AMBIGUOUS: u8 = u8::MAX;

/// Facets of an icosphere of one Catmull-Clark step.
#[derive(Clone, Debug)]
pub struct Facets {
    /// Mean radius of the mesh.
    pub radius: f32,
    /// Pieces along an edge of the icosahedron.
    divisions: usize,
    /// For each face of the icosahedron, rows whose dot products with a direction are the corners' barycentric weights.
    weights: Vec<[V3; 3]>,
    /// Directions of the faces' centres, padded with zeros.
    centers: Box<[V3<F8>; 3]>,
    /// The cube map: the face behind all of a cell, or `AMBIGUOUS`.
    faces: Vec<u8>,
    /// By face, row, column, half and the one of six triangles around the piece's centre.
    normals: Vec<V3>,
}

impl Facets {
    /// Fails for subdivisions that this renderer does not support; the message leaves out the place in the look.
    pub fn new(subdivisions: u32, catmull_clark_steps: u32) -> Result<Self, String> {
        if catmull_clark_steps != 1 || !(1..=7).contains(&subdivisions) {
            return Err(format!(
                "the native renderer supports icospheres of 1 to 7 subdivisions and one Catmull-Clark step, not {subdivisions} and {catmull_clark_steps}"
            ));
        }
        let n = 1_usize << (subdivisions - 1);
        let (corners, faces) = icosahedron();
        let mut mesh = Mesh::default();
        // Small triangles by face and position: upright ones at (i, j), each followed by the upside-down one beside it.
        let mut triangles = vec![[0_usize; 3]; faces.len() * (n * (n + 1) / 2) * 2];
        for (index, face) in faces.iter().enumerate() {
            let at = |i: usize, j: usize| -> P {
                let (a, b, c) = ((n - i - j) as f64, i as f64, j as f64);
                let p: P = std::array::from_fn(|k| {
                    a * corners[face[0]][k] + b * corners[face[1]][k] + c * corners[face[2]][k]
                });
                normalize(p)
            };
            for i in 0..n {
                for j in 0..n - i {
                    let slot = 2 * piece_index(n, index, i, j);
                    triangles[slot] = [mesh.vertex(at(i, j)), mesh.vertex(at(i + 1, j)), mesh.vertex(at(i, j + 1))];
                    if i + j + 1 < n {
                        triangles[slot + 1] =
                            [mesh.vertex(at(i + 1, j + 1)), mesh.vertex(at(i, j + 1)), mesh.vertex(at(i + 1, j))];
                    }
                }
            }
        }
        let smooth = mesh.subdivided(&triangles);
        let weights = faces.iter().map(|face| inverse(face.map(|corner| corners[corner]))).collect();
        let center = |face: &[usize; 3]| {
            V3::from_f64(std::array::from_fn(|k| face.iter().map(|&corner| corners[corner][k]).sum::<f64>())).unit()
        };
        let centers = [0, 1, 2].map(|i| V3::from_lanes(|lane| faces.get(LANES * i + lane).map_or(V3::ZERO, center)));
        let normals = smooth.normals(&triangles);
        let (radius, centers) = (smooth.mean_radius as f32, Box::new(centers));
        let mut facets = Self { radius, divisions: n, weights, centers, faces: Vec::new(), normals };
        facets.faces = (0..6 * CELLS * CELLS).map(|cell| facets.face_behind(cell)).collect();
        Ok(facets)
    }

    /// The face behind all of a cube map's cell, or `AMBIGUOUS`. Faces are convex, so testing the corners suffices.
    fn face_behind(&self, cell: usize) -> u8 {
        let (side, column, row) = (cell / (CELLS * CELLS), cell / CELLS % CELLS, cell % CELLS);
        let sign = if side % 2 == 0 { 1.0 } else { -1.0 };
        // A little beyond the cell, to allow for rounding.
        let along = |step: usize, end: f32| 2.0 * (step as f32 + 0.5 + end * 0.501) / CELLS as f32 - 1.0;
        let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]].map(|[u, v]| {
            let (u, v) = (along(column, u), along(row, v));
            let corner = match side / 2 {
                0 => v3(sign, u, v),
                1 => v3(v, sign, u),
                _ => v3(u, v, sign),
            };
            self.nearest_face(corner)
        });
        if corners.iter().all(|&face| face == corners[0]) { corners[0] as u8 } else { AMBIGUOUS }
    }

    /// The face of the icosahedron in the direction of `p`.
    #[inline(always)]
    fn face(&self, p: V3) -> usize {
        let (x, y, z) = (p.x.abs(), p.y.abs(), p.z.abs());
        let (axis, u, v, w) = if x >= y && x >= z {
            (0, p.y, p.z, p.x)
        } else if y >= z {
            (1, p.z, p.x, p.y)
        } else {
            (2, p.x, p.y, p.z)
        };
        let side = 2 * axis + usize::from(w < 0.0);
        let half = 0.5 * CELLS as f32;
        let scale = half / w.abs();
        let [column, row] = [u, v].map(|x| ((x * scale + half) as usize).min(CELLS - 1));
        match self.faces[(side * CELLS + column) * CELLS + row] {
            AMBIGUOUS => self.nearest_face(p),
            face => face.into(),
        }
    }

    /// As `face`, without the cube map: the face whose centre is nearest.
    fn nearest_face(&self, p: V3) -> usize {
        let p8 = V3::splat(p);
        let along = [0, 1, 2].map(|i| self.centers[i].dot(p8));
        let most = along[0].max(along[1]).max(along[2]).0.into_iter().fold(f32::MIN, f32::max);
        along.iter().flat_map(|along| along.0).position(|along| along == most).unwrap_or(0)
    }

    /// The normal of the facet in the direction of `p`.
    pub fn normal(&self, p: V3) -> V3 {
        let face = self.face(p);
        let [wa, wb, wc] = &self.weights[face];
        let (a, b, c) = (wa.dot(p).max(0.0), wb.dot(p).max(0.0), wc.dot(p).max(0.0));
        let n = self.divisions;
        let scale = n as f32 / (a + b + c);
        let (b, c) = (b * scale, c * scale);
        let (mut i, mut j) = ((b as usize).min(n - 1), (c as usize).min(n - 1));
        if i + j >= n {
            if i > 0 { i = n - 1 - j } else { j = n - 1 - i }
        }
        let (u, v) = (b - i as f32, c - j as f32);
        let (half, weights) = if u + v <= 1.0 || i + j + 1 >= n {
            (0, [1.0 - u - v, u, v])
        } else {
            (1, [u + v - 1.0, 1.0 - u, 1.0 - v])
        };
        // The corner with the largest weight, and the side of the line from it to the centre.
        let largest = if weights[0] >= weights[1] && weights[0] >= weights[2] {
            0
        } else if weights[1] >= weights[2] {
            1
        } else {
            2
        };
        let side = usize::from(weights[(largest + 2) % 3] > weights[(largest + 1) % 3]);
        self.normals[((piece_index(n, face, i, j) * 2 + half) * 3 + largest) * 2 + side]
    }
}

/// Index of a piece among those of all faces; a face with `n` pieces along its edges has rows of n, n - 1 and so on.
#[inline(always)]
fn piece_index(n: usize, face: usize, i: usize, j: usize) -> usize {
    face * (n * (n + 1) / 2) + i * (2 * n + 1 - i) / 2 + j
}

/// Blender's icosahedron: a vertex at each pole, and the lower ring rotated by -36 degrees.
fn icosahedron() -> (Vec<P>, Vec<[usize; 3]>) {
    let z = 1.0 / 5.0_f64.sqrt();
    let ring = |degrees: [f64; 5], z_ring: f64| {
        degrees.map(|angle| {
            let (sin, cos) = libm::sincos(angle.to_radians());
            [2.0 * z * cos, 2.0 * z * sin, z_ring]
        })
    };
    let mut corners = vec![[0.0, 0.0, -1.0]];
    corners.extend(ring([-36.0, -108.0, 180.0, 108.0, 36.0], -z));
    corners.extend(ring([-72.0, -144.0, 144.0, 72.0, 0.0], z));
    corners.push([0.0, 0.0, 1.0]);
    let mut faces = Vec::with_capacity(20);
    for i in 0..5 {
        let (low, next_low) = (1 + i, 1 + (i + 1) % 5);
        let (high, next_high) = (6 + i, 6 + (i + 1) % 5);
        faces.extend([[0, low, next_low], [low, high, next_low], [high, next_high, next_low], [high, 11, next_high]]);
    }
    (corners, faces)
}

/// Rows of the inverse of the matrix whose columns are the corners.
fn inverse(corners: [P; 3]) -> [V3; 3] {
    let [a, b, c] = corners;
    let bc = cross(b, c);
    let volume = dot(a, bc);
    [bc, cross(c, a), cross(a, b)].map(|row| V3::from_f64(row.map(|x| x / volume)))
}

#[derive(Default)]
struct Mesh {
    vertices: Vec<P>,
    index_of: BTreeMap<[i64; 3], usize>,
}

/// A mesh after its Catmull-Clark step.
struct Subdivided {
    mean_radius: f64,
    vertices: Vec<P>,
    edges: BTreeMap<[usize; 2], P>,
    /// Centre of each triangle.
    centers: Vec<P>,
}

impl Subdivided {
    /// Normals of the two halves of each of the three quads that a triangle is cut into.
    fn normals(&self, triangles: &[[usize; 3]]) -> Vec<V3> {
        let mut normals = Vec::with_capacity(triangles.len() * 6);
        for (triangle, &center) in triangles.iter().zip(&self.centers) {
            for k in 0..3 {
                let (corner, next, previous) = (triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]);
                let edge = |to: usize| self.edges.get(&[corner.min(to), corner.max(to)]).copied().unwrap_or_default();
                let at = self.vertices[corner];
                normals.push(triangle_normal(at, edge(next), center));
                normals.push(triangle_normal(at, center, edge(previous)));
            }
        }
        normals
    }
}

/// The normal of a triangle, on the side from which it is counter-clockwise.
fn triangle_normal(a: P, b: P, c: P) -> V3 {
    let side = |p: P| -> P { std::array::from_fn(|k| p[k] - a[k]) };
    let normal = cross(side(b), side(c));
    let length = dot(normal, normal).sqrt();
    V3::from_f64(normal.map(|x| if length > 0.0 { x / length } else { 0.0 }))
}

impl Mesh {
    fn vertex(&mut self, p: P) -> usize {
        *self.index_of.entry(p.map(|x| (x * 1e7).round() as i64)).or_insert_with(|| {
            self.vertices.push(p);
            self.vertices.len() - 1
        })
    }

    /// One step of Catmull-Clark subdivision (1978) of triangles: the moved vertices and the edge points.
    fn subdivided(&self, triangles: &[[usize; 3]]) -> Subdivided {
        let add = |a: &mut P, b: P, scale: f64| (0..3).for_each(|k| a[k] += scale * b[k]);
        let n = self.vertices.len();
        let (mut valence, mut around, mut beside) = (vec![0.0; n], vec![[0.0; 3]; n], vec![[0.0; 3]; n]);
        let mut edges: BTreeMap<[usize; 2], P> = BTreeMap::new();
        for triangle in triangles.iter().filter(|t| t[0] != t[1]) {
            let center = self.center(triangle);
            for k in 0..3 {
                let (from, to) = (triangle[k], triangle[(k + 1) % 3]);
                valence[from] += 1.0;
                add(&mut around[from], center, 1.0);
                // Each edge is visited once in each direction.
                let half = std::array::from_fn(|i| 0.5 * (self.vertices[from][i] + self.vertices[to][i]));
                add(&mut beside[from], half, 1.0);
                let edge = edges.entry([from.min(to), from.max(to)]).or_insert([0.0; 3]);
                add(edge, center, 0.25);
                add(edge, half, 0.25);
            }
        }
        let vertices: Vec<P> = (0..n)
            .map(|i| {
                let valence: f64 = valence[i];
                std::array::from_fn(|k| {
                    (around[i][k] / valence + 2.0 * beside[i][k] / valence + (valence - 3.0) * self.vertices[i][k])
                        / valence
                })
            })
            .collect();
        let radius = |p: &P| dot(*p, *p).sqrt();
        let centers: Vec<P> = triangles.iter().map(|triangle| self.center(triangle)).collect();
        let count = vertices.len() + edges.len();
        let sum: f64 = vertices.iter().chain(edges.values()).map(radius).sum();
        Subdivided { mean_radius: sum / count as f64, vertices, edges, centers }
    }

    fn center(&self, triangle: &[usize; 3]) -> P {
        std::array::from_fn(|k| triangle.iter().map(|&v| self.vertices[v][k]).sum::<f64>() / 3.0)
    }
}
