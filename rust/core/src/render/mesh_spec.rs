//! A mesh as the look describes it, and the shading normals of its faces' corners, computed as Blender does.

use super::vector::V3;
use crate::scene::geometry::{Vec3, cross, dot, sub};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A mesh as the look describes it. A face is a convex polygon, counter-clockwise as seen from outside.
#[derive(Clone, Debug, Deserialize)]
pub struct MeshSpec {
    pub vertices: Vec<[f64; 3]>,
    pub faces: Vec<Vec<usize>>,
    pub shading: Shading,
    /// Edges whose faces meet at a larger angle stay sharp; only for a smooth mesh without normals of its own.
    #[serde(default)]
    pub smooth_angle_deg: Option<f64>,
    /// Custom normals of a smooth mesh, if any, and the index among them of each corner of each face.
    #[serde(default)]
    pub normals: Vec<[f64; 3]>,
    #[serde(default)]
    pub face_normals: Vec<Vec<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shading {
    Flat,
    Smooth,
}

/// For each face, the shading normal of each corner.
///
/// Fails for indices of vertices or normals that are out of range; the message leaves out the place in the look.
pub fn corner_normals(spec: &MeshSpec) -> Result<Vec<Vec<V3>>, String> {
    for (number, face) in spec.faces.iter().enumerate() {
        if face.len() < 3 || face.iter().any(|&vertex| vertex >= spec.vertices.len()) {
            return Err(format!("faces[{number}]: expected three or more indices of vertices"));
        }
    }
    let flat: Vec<Vec3> = spec.faces.iter().map(|face| face_normal(&spec.vertices, face)).collect();
    if spec.shading == Shading::Flat {
        return Ok(spec
            .faces
            .iter()
            .zip(&flat)
            .map(|(face, &normal)| vec![V3::from_f64(normal); face.len()])
            .collect());
    }
    if !spec.normals.is_empty() {
        return own_normals(spec);
    }
    // For each corner, a number that it has in common with the corners that share its normal.
    let groups = match spec.smooth_angle_deg {
        None => spec.faces.concat(),
        Some(angle_deg) => smooth_groups(&spec.faces, &flat, libm::cos(angle_deg.to_radians())),
    };
    let most = groups.iter().max().map_or(0, |&most| most + 1);
    let mut sums = vec![[0.0; 3]; most];
    let mut group = groups.iter();
    for (face, normal) in spec.faces.iter().zip(&flat) {
        for (corner, &group) in (0..face.len()).zip(&mut group) {
            let angle = corner_angle(&spec.vertices, face, corner);
            (0..3).for_each(|k| sums[group][k] += angle * normal[k]);
        }
    }
    let mut group = groups.iter();
    let faces = spec.faces.iter().zip(&flat);
    Ok(faces
        .map(|(face, &own)| {
            let (corners, groups) = (0..face.len(), &mut group);
            corners.zip(groups).map(|(_, &group)| V3::from_f64(unit(sums[group]).unwrap_or(own))).collect()
        })
        .collect())
}

/// The mesh's custom normals.
fn own_normals(spec: &MeshSpec) -> Result<Vec<Vec<V3>>, String> {
    if spec.face_normals.len() != spec.faces.len() {
        return Err("face_normals: expected one list for each face".into());
    }
    let each = |(number, (face, own)): (usize, (&Vec<usize>, &Vec<usize>))| {
        let normals: Option<Vec<V3>> =
            own.iter().map(|&normal| spec.normals.get(normal).and_then(|&n| unit(n)).map(V3::from_f64)).collect();
        let normals = normals.filter(|normals| normals.len() == face.len());
        normals.ok_or_else(|| format!("face_normals[{number}]: expected the number of a normal for each corner"))
    };
    spec.faces.iter().zip(&spec.face_normals).enumerate().map(each).collect()
}

/// For each corner, face by face, the index of a corner that represents its smooth group: the corners at one vertex
/// whose faces are connected across edges that are not sharp.
fn smooth_groups(faces: &[Vec<usize>], normals: &[Vec3], min_cos: f64) -> Vec<usize> {
    // For each edge, its faces and their corners at the edge's lower and higher vertex.
    let mut edges: BTreeMap<[usize; 2], Vec<[usize; 3]>> = BTreeMap::new();
    let mut first = 0;
    for (number, face) in faces.iter().enumerate() {
        for corner in 0..face.len() {
            let after = (corner + 1) % face.len();
            let (mut low, mut high) = (corner, after);
            if face[low] > face[high] {
                (low, high) = (high, low);
            }
            edges.entry([face[low], face[high]]).or_default().push([number, first + low, first + high]);
        }
        first += face.len();
    }
    let mut groups: Vec<usize> = (0..first).collect();
    for sides in edges.values() {
        if let [a, b] = sides[..]
            && dot(normals[a[0]], normals[b[0]]) >= min_cos
        {
            for end in 1..3 {
                let (a, b) = (root(&mut groups, a[end]), root(&mut groups, b[end]));
                groups[a.max(b)] = a.min(b);
            }
        }
    }
    for corner in 0..first {
        groups[corner] = root(&mut groups, corner);
    }
    groups
}

/// The representative of a corner's group (union-find with path halving).
fn root(groups: &mut [usize], mut corner: usize) -> usize {
    while groups[corner] != corner {
        groups[corner] = groups[groups[corner]];
        corner = groups[corner];
    }
    corner
}

/// A face's unit normal; straight up for a face without area.
fn face_normal(vertices: &[Vec3], face: &[usize]) -> Vec3 {
    let mut sum = [0.0; 3];
    for pair in face[1..].windows(2) {
        let [a, b, c] = [face[0], pair[0], pair[1]].map(|v| vertices[v]);
        let part = cross(sub(b, a), sub(c, a));
        (0..3).for_each(|k| sum[k] += part[k]);
    }
    unit(sum).unwrap_or([0.0, 0.0, 1.0])
}

/// The angle between a face's edges at a corner.
fn corner_angle(vertices: &[Vec3], face: &[usize], corner: usize) -> f64 {
    let at = |i: usize| vertices[face[i % face.len()]];
    let (here, before, after) = (at(corner), at(corner + face.len() - 1), at(corner + 1));
    match (unit(sub(before, here)), unit(sub(after, here))) {
        (Some(a), Some(b)) => libm::acos(dot(a, b).clamp(-1.0, 1.0)),
        _ => 0.0,
    }
}

fn unit(v: Vec3) -> Option<Vec3> {
    let length = dot(v, v).sqrt();
    (length > 1e-20).then(|| v.map(|x| x / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cube with a slightly wider waist: the four edges around it are nearly flat, the others close to right angles.
    fn barrel(smooth_angle_deg: Option<f64>) -> MeshSpec {
        let ring = |r: f64, z: f64| [[r, r, z], [-r, r, z], [-r, -r, z], [r, -r, z]];
        let vertices = [ring(0.9, -1.0), ring(1.0, 0.0), ring(0.9, 1.0)].concat();
        let mut faces = vec![vec![3, 2, 1, 0], vec![8, 9, 10, 11]];
        for row in [0, 4] {
            faces.extend((0..4).map(|k| vec![row + k, row + (k + 1) % 4, row + 4 + (k + 1) % 4, row + 4 + k]));
        }
        let shading = Shading::Smooth;
        MeshSpec { vertices, faces, shading, smooth_angle_deg, normals: vec![], face_normals: vec![] }
    }

    #[test]
    fn edges_beyond_the_angle_stay_sharp() {
        let sharp = corner_normals(&barrel(Some(30.0))).unwrap();
        assert!(sharp[1].iter().all(|normal| (normal.z - 1.0).abs() < 1e-6));
        // The waist is smooth, upright edges are sharp: a side's normal at the waist is horizontal and straight out.
        let waist = sharp[2][2];
        assert!((waist.y - 1.0).abs() < 1e-6, "{waist:?}");
        let round = corner_normals(&barrel(None)).unwrap();
        assert!((round[2][2].dot(round[2][2]) - 1.0).abs() < 1e-5 && round[2][2].x < -0.5, "{:?}", round[2][2]);
    }

    #[test]
    fn custom_normals_are_used_and_checked() {
        let mut spec = barrel(Some(30.0));
        spec.normals = vec![[0.0, 0.0, 2.0]];
        spec.face_normals = spec.faces.iter().map(|face| vec![0; face.len()]).collect();
        let normals = corner_normals(&spec).unwrap();
        assert!(normals.iter().flatten().all(|normal| *normal == V3 { x: 0.0, y: 0.0, z: 1.0 }));
        spec.face_normals[3][1] = 1;
        let problem = corner_normals(&spec).unwrap_err();
        assert_eq!(problem, "face_normals[3]: expected the number of a normal for each corner");
    }
}
