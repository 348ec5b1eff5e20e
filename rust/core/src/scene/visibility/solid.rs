//! Solids of unit size, made from the look's shapes; all but meshes are convex.

use super::mesh::{Mesh, check_face};
use crate::scene::geometry::{Vec3, cross, dot, normalize, sub};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A shape of the look, as far as its outline goes.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ShapeSpec {
    Icosphere {
        outline_radius: f64,
    },
    /// A profile (radius, z) turned about the z axis, and flat ends.
    Revolved {
        profile_radius_z: Vec<[f64; 2]>,
    },
    /// A cube of half extent 1 with rounded edges: half of an edge's section, from the end of the
    /// flat (1, x) to the diagonal, and the exponent of the superellipse that it follows.
    RoundedCube {
        edge_profile: Vec<[f64; 2]>,
        edge_exponent: f64,
    },
    /// Any convex solid: vertices, and faces whose vertices go round counter-clockwise from outside.
    Polyhedron {
        vertices: Vec<Vec3>,
        faces: Vec<Vec<usize>>,
    },
    /// The same for any form: closed or not, with hollows and holes.
    Mesh {
        vertices: Vec<Vec3>,
        faces: Vec<Vec<usize>>,
    },
}

/// A solid of unit size about the origin; all but meshes are convex.
#[derive(Clone, Debug)]
pub enum Solid {
    Sphere { radius: f64 },
    Revolved(Revolved),
    Polyhedron(Polyhedron),
    Mesh(Mesh),
}

/// Rings about the z axis, from the top down, joined by conical facets.
#[derive(Clone, Debug)]
pub struct Revolved {
    pub rings: Vec<Ring>,
    /// Between each ring and the next one: the outward normal (radial, z) of the facet, unit length.
    pub normals: Vec<[f64; 2]>,
    pub max_radius: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    pub radius: f64,
    pub z: f64,
}

/// Faces, edges and vertices of a convex solid.
#[derive(Clone, Debug)]
pub struct Polyhedron {
    pub vertices: Vec<Vec3>,
    /// Outward unit normals and offsets: `normal . p <= offset` inside.
    pub planes: Vec<(Vec3, f64)>,
    pub faces: Vec<Face>,
    /// Two vertices and the faces on both sides.
    pub edges: Vec<Edge>,
    /// Outline seen from above, counter-clockwise.
    pub footprint: Vec<[f64; 2]>,
    /// Greatest distance of the footprint from the axis.
    pub reach: f64,
    /// Least z of a vertex.
    pub lowest: f64,
}

#[derive(Clone, Debug)]
pub struct Face {
    /// Vertices, counter-clockwise from outside.
    pub corners: Vec<u16>,
    /// Least z of a vertex.
    pub lowest: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub ends: [u16; 2],
    pub faces: [u16; 2],
}

/// How far a simplified profile may be from the original: a thirtieth of a pixel on a large object nearby.
const TOLERANCE: f64 = 0.0006;
/// Pieces that a rounded cube's profile is cut into up to its diagonal.
const BEVEL_PIECES: usize = 4;
/// Meshes with at most this many faces are tested for convexity, each face against each vertex.
const MOST_OUTLINED_FACES: usize = 4096;

impl Solid {
    /// Fails for an invalid shape, such as a polyhedron that is not convex; the error is worded to end a sentence.
    pub fn new(spec: &ShapeSpec) -> Result<Self, String> {
        match spec {
            ShapeSpec::Icosphere { outline_radius } if !(*outline_radius > 0.0 && *outline_radius <= 2.0) => {
                Err(format!("outline_radius: {outline_radius} has to be above 0 and at most 2"))
            }
            ShapeSpec::Icosphere { outline_radius } => Ok(Self::Sphere { radius: *outline_radius }),
            ShapeSpec::Revolved { profile_radius_z } => Revolved::new(profile_radius_z).map(Self::Revolved),
            ShapeSpec::RoundedCube { edge_profile, edge_exponent } => {
                rounded_cube(edge_profile, *edge_exponent).map(Self::Polyhedron)
            }
            ShapeSpec::Polyhedron { vertices, faces } => Polyhedron::new(vertices, faces).map(Self::Polyhedron),
            ShapeSpec::Mesh { vertices, faces } => {
                // A mesh that turns out to be convex has an outline, which is quicker unless it has many faces.
                if faces.len() <= MOST_OUTLINED_FACES
                    && let Ok(convex) = Polyhedron::new(vertices, faces)
                {
                    return Ok(Self::Polyhedron(convex));
                }
                Mesh::new(vertices, faces).map(Self::Mesh)
            }
        }
    }

    /// Radius of the upright cylinder about the axis that holds the solid.
    pub fn reach(&self) -> f64 {
        match self {
            Self::Sphere { radius } => *radius,
            Self::Revolved(revolved) => revolved.max_radius,
            Self::Polyhedron(polyhedron) => polyhedron.reach,
            Self::Mesh(mesh) => mesh.reach,
        }
    }
}

impl Revolved {
    fn new(profile: &[[f64; 2]]) -> Result<Self, String> {
        if profile.iter().any(|p| !(p[0] >= 0.0 && p[0] <= 2.0 && p[1].abs() <= 2.0)) {
            return Err("profile_radius_z: expected radii from 0 to 2 and heights from -2 to 2".into());
        }
        let outer = simplify(&upper_hull(profile));
        if outer.len() < 2 {
            return Err("profile_radius_z: expected at least two heights".into());
        }
        let rings: Vec<Ring> = outer.iter().map(|&[radius, z]| Ring { radius, z }).collect();
        let normals = rings
            .windows(2)
            .map(|pair| {
                let (radial, z) = (pair[0].z - pair[1].z, pair[1].radius - pair[0].radius);
                let length = (radial * radial + z * z).sqrt();
                [radial / length, z / length]
            })
            .collect();
        let max_radius = rings.iter().map(|ring| ring.radius).fold(0.0, f64::max);
        Ok(Self { rings, normals, max_radius })
    }
}

/// The outer side of the convex hull of (radius, z) points, from the top down.
fn upper_hull(profile: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut points = profile.to_vec();
    points.sort_by(|a, b| b[1].total_cmp(&a[1]).then(b[0].total_cmp(&a[0])));
    points.dedup_by(|a, b| a[1] == b[1]);
    let mut hull: Vec<[f64; 2]> = Vec::with_capacity(points.len());
    for point in points {
        while let [.., a, b] = hull[..] {
            let turn = (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0]);
            if turn < 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// Leaves out points that lie within the tolerance of the line between those kept (Douglas-Peucker).
fn simplify(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let [first, .., last] = points else { return points.to_vec() };
    let (dx, dy) = (last[0] - first[0], last[1] - first[1]);
    let length = (dx * dx + dy * dy).sqrt();
    let distance = |p: &[f64; 2]| ((p[0] - first[0]) * dy - (p[1] - first[1]) * dx).abs() / length;
    let farthest = (1..points.len() - 1).max_by(|&a, &b| distance(&points[a]).total_cmp(&distance(&points[b])));
    match farthest {
        Some(middle) if distance(&points[middle]) > TOLERANCE => {
            let mut kept = simplify(&points[..=middle]);
            kept.pop();
            kept.extend(simplify(&points[middle..]));
            kept
        }
        _ => vec![*first, *last],
    }
}

impl Polyhedron {
    fn new(vertices: &[Vec3], faces: &[Vec<usize>]) -> Result<Self, String> {
        if vertices.len() < 4 || vertices.len() > usize::from(u16::MAX) || faces.len() > usize::from(u16::MAX) {
            return Err(format!("vertices: expected 4 to 65535, got {}", vertices.len()));
        }
        if vertices.iter().flatten().any(|x| !(-2.0..=2.0).contains(x)) {
            return Err("vertices: expected coordinates from -2 to 2".into());
        }
        let mut planes = Vec::with_capacity(faces.len());
        let mut sides: BTreeMap<(u16, u16), Vec<u16>> = BTreeMap::new();
        let mut corners = Vec::with_capacity(faces.len());
        for (number, face) in faces.iter().enumerate() {
            check_face(number, face, vertices.len())?;
            planes.push(plane(face.iter().map(|&v| vertices[v])).ok_or(format!("faces[{number}]: has no area"))?);
            let face: Vec<u16> = face.iter().map(|&v| v as u16).collect();
            for (i, &a) in face.iter().enumerate() {
                let b = face[(i + 1) % face.len()];
                sides.entry((a.min(b), a.max(b))).or_default().push(number as u16);
            }
            let lowest = face.iter().map(|&v| vertices[usize::from(v)][2]).fold(f64::INFINITY, f64::min);
            corners.push(Face { corners: face, lowest });
        }
        let mut edges = Vec::with_capacity(sides.len());
        for ((a, b), faces) in sides {
            let [left, right] = faces[..] else {
                return Err(format!("faces: the edge between vertices {a} and {b} has to be in two of them"));
            };
            edges.push(Edge { ends: [a, b], faces: [left, right] });
        }
        // Quads of a rounded body are not quite flat, so a vertex may stand a little out of a plane.
        for (number, &(normal, offset)) in planes.iter().enumerate() {
            if let Some(vertex) = vertices.iter().position(|&v| dot(normal, v) > offset + 0.01) {
                return Err(format!("faces[{number}]: the solid has to be convex, but vertex {vertex} lies outside"));
            }
        }
        let footprint = convex_polygon(vertices.iter().map(|v| [v[0], v[1]]).collect());
        let reach = footprint.iter().map(|p| (p[0] * p[0] + p[1] * p[1]).sqrt()).fold(0.0, f64::max);
        let lowest = vertices.iter().map(|v| v[2]).fold(f64::INFINITY, f64::min);
        Ok(Self { vertices: vertices.to_vec(), planes, faces: corners, edges, footprint, reach, lowest })
    }
}

/// The plane of a polygon (Newell's method): unit normal and offset; None without an area.
fn plane(points: impl Iterator<Item = Vec3>) -> Option<(Vec3, f64)> {
    let points: Vec<Vec3> = points.collect();
    let mut normal = [0.0; 3];
    for i in 1..points.len() - 1 {
        let part = cross(sub(points[i], points[0]), sub(points[i + 1], points[0]));
        (0..3).for_each(|k| normal[k] += part[k]);
    }
    if dot(normal, normal) < 1e-24 {
        return None;
    }
    let normal = normalize(normal);
    Some((normal, points.iter().map(|&p| dot(normal, p)).sum::<f64>() / points.len() as f64))
}

/// The convex hull of points, counter-clockwise (Andrew's monotone chain).
fn convex_polygon(mut points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..] {
                if (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 1e-9 {
                    break;
                }
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut polygon = half(&mut points.iter().copied());
    polygon.extend(half(&mut points.iter().rev().copied()));
    polygon
}

/// A cube with rounded edges and corners, as a mesh of quads.
///
/// In a section across an edge the rounding is `|u|^p + |v|^p = offset^p` about the end of the
/// flats, at `1 - offset`, where p is the exponent; a corner is the same in three coordinates. The
/// profile says where the rounding is cut.
fn rounded_cube(edge_profile: &[[f64; 2]], exponent: f64) -> Result<Polyhedron, String> {
    let [first, .., last] = edge_profile else {
        return Err("edge_profile: expected at least two points".into());
    };
    let flat = first[1];
    if !(first[0] == 1.0 && (0.0..1.0).contains(&flat) && (last[0] - last[1]).abs() < 1e-3) {
        return Err("edge_profile: has to go from (1, where the flat ends) to the diagonal".into());
    }
    if !(1.0..=100.0).contains(&exponent) {
        return Err(format!("edge_exponent: {exponent} has to be from 1 to 100"));
    }
    let pieces = BEVEL_PIECES.min(edge_profile.len() - 1);
    let slope = |k: usize| {
        let [across, along] = edge_profile[k * (edge_profile.len() - 1) / pieces];
        (along - flat) / (across - flat)
    };
    // Grid lines of a side: the end of the flat that each is at, and how far it leans from there.
    let far = (0..=pieces).rev().map(|k| (-flat, -slope(k)));
    let lines: Vec<(f64, f64)> = far.chain((0..=pieces).map(|k| (flat, slope(k)))).collect();
    let n = lines.len();

    let mut vertices: Vec<Vec3> = Vec::new();
    let mut numbers: BTreeMap<[i64; 3], usize> = BTreeMap::new();
    let mut faces = Vec::with_capacity(6 * (n - 1) * (n - 1));
    for side in 0..6 {
        let (axis, sign) = (side / 2, if side % 2 == 0 { 1.0 } else { -1.0 });
        let mut vertex = |i: usize, j: usize| {
            let ((end_u, lean_u), (end_v, lean_v)) = (lines[i], lines[j]);
            let power = |x: f64| libm::pow(x.abs(), exponent);
            let scale = (1.0 - flat) / libm::pow(1.0 + power(lean_u) + power(lean_v), 1.0 / exponent);
            let mut p = [0.0; 3];
            p[axis] = sign * (flat + scale);
            p[(axis + 1) % 3] = end_u + scale * lean_u;
            p[(axis + 2) % 3] = end_v + scale * lean_v;
            *numbers.entry(p.map(|x| (x * 1e6).round() as i64)).or_insert_with(|| {
                vertices.push(p);
                vertices.len() - 1
            })
        };
        for i in 0..n - 1 {
            for j in 0..n - 1 {
                let mut face = vec![vertex(i, j), vertex(i + 1, j), vertex(i + 1, j + 1), vertex(i, j + 1)];
                if sign < 0.0 {
                    face.reverse();
                }
                faces.push(face);
            }
        }
    }
    Polyhedron::new(&vertices, &faces)
}
