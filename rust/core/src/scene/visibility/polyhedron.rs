//! The edges of a convex polyhedron's outline.

use super::frame::Frame;
use super::rows::Rows;
use super::solid::Polyhedron;
use crate::scene::geometry::dot;

/// Draws the edges between faces that face the camera and faces that do not, and where the ground cuts the faces that
/// do. `facing` is a buffer.
pub fn trace_polyhedron(solid: &Polyhedron, frame: &Frame<'_>, facing: &mut Vec<bool>, rows: &mut Rows) {
    facing.clear();
    facing.extend(solid.planes.iter().map(|&(normal, offset)| dot(normal, frame.eye) > offset));
    for edge in &solid.edges {
        if facing[usize::from(edge.faces[0])] != facing[usize::from(edge.faces[1])] {
            let [a, b] = edge.ends.map(|v| solid.vertices[usize::from(v)]);
            rows.standing_edge(frame, a, b);
        }
    }
    if !frame.may_be_cut(solid.lowest) {
        return;
    }
    for (face, _) in solid.faces.iter().zip(facing).filter(|(face, facing)| **facing && frame.may_be_cut(face.lowest)) {
        let ends = face.corners.iter().zip(face.corners.iter().cycle().skip(1));
        let mut crossings = ends
            .filter_map(|(&a, &b)| frame.crossing(solid.vertices[usize::from(a)], solid.vertices[usize::from(b)]))
            .map(|p| frame.project(p));
        if let (Some(a), Some(b)) = (crossings.next(), crossings.next()) {
            rows.edge(a, b);
        }
    }
}
