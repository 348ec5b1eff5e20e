//! A mesh of any form.

use crate::message::shown;
use crate::scene::geometry::Vec3;

/// Triangles of a solid that may have hollows and holes, of unit size about the origin.
#[derive(Clone, Debug)]
pub struct Mesh {
    pub(super) triangles: Vec<[Vec3; 3]>,
    /// Greatest distance from the axis.
    pub reach: f64,
}

impl Mesh {
    /// Fails for invalid faces; the error is worded to end a sentence. A face's corners go round a convex polygon.
    pub fn new(vertices: &[Vec3], faces: &[Vec<usize>]) -> Result<Self, String> {
        let mut triangles = Vec::with_capacity(2 * faces.len());
        for (number, face) in faces.iter().enumerate() {
            check_face(number, face, vertices.len())?;
            triangles.extend(face[1..].windows(2).map(|pair| [face[0], pair[0], pair[1]].map(|v| vertices[v])));
        }
        if triangles.is_empty() {
            return Err("faces: expected at least one".into());
        }
        let reach = vertices.iter().map(|v| (v[0] * v[0] + v[1] * v[1]).sqrt()).fold(0.0, f64::max);
        Ok(Self { triangles, reach })
    }
}

/// Fails for a face that does not consist of three or more of `n_vertices`; the error is worded to end a sentence.
pub fn check_face(number: usize, face: &[usize], n_vertices: usize) -> Result<(), String> {
    if face.len() >= 3 && face.iter().all(|&vertex| vertex < n_vertices) {
        return Ok(());
    }
    let got = format!("{face:?}");
    Err(format!("faces[{number}]: expected three or more indices of vertices, got {}", shown(&got)))
}
