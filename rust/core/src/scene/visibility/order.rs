//! Which of two bodies can hide the other.
//!
//! Bodies whose footprints are apart have a vertical plane between them, so the one on the camera's side is in front in
//! every pixel that both cover. If footprints touch (the corners of two cubes can), the depth in each pixel decides.

use super::body::Body;
use super::solid::{Revolved, Solid};
use crate::scene::geometry::{Vec3, dot, sub};

/// Which of two bodies is nearer where both show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    FirstInFront,
    SecondInFront,
    /// They meet: compare depths.
    ByPixel,
}

/// Orders two bodies as seen from `camera`.
pub fn order(first: &Body<'_>, second: &Body<'_>, camera: Vec3) -> Order {
    let between = [second.position[0] - first.position[0], second.position[1] - first.position[1]];
    let distance = (between[0] * between[0] + between[1] * between[1]).sqrt();
    if distance <= 0.0 {
        return Order::ByPixel;
    }
    let centre_line = [between[0] / distance, between[1] / distance];
    let by_axis = |axis: [f64; 2]| separated(first, second, axis, camera);
    if let Some(order) = by_axis(centre_line) {
        return order;
    }
    // Convex polygons that are apart are separated along the normal of an edge of one of them; a polygon and a disc may
    // also be separated along the line from the disc's centre to a corner.
    let corners = [first, second].map(footprint);
    let edges = corners.iter().flat_map(|polygon| {
        polygon.iter().zip(polygon.iter().cycle().skip(1)).map(|(a, b)| [b[1] - a[1], a[0] - b[0]])
    });
    let to_corners = [(first, 1usize), (second, 0)].into_iter().flat_map(|(body, other)| {
        let disc = corners[1 - other].is_empty();
        let centre = [body.position[0], body.position[1]];
        corners[other].iter().filter(move |_| disc).map(move |c| [c[0] - centre[0], c[1] - centre[1]])
    });
    edges.chain(to_corners).find_map(by_axis).unwrap_or(Order::ByPixel)
}

/// The order of two bodies if a vertical plane perpendicular to `axis` (of any length) lies between them.
fn separated(first: &Body<'_>, second: &Body<'_>, axis: [f64; 2], camera: Vec3) -> Option<Order> {
    let ([first_low, first_high], [second_low, second_high]) = (extent(first, axis), extent(second, axis));
    let eye = axis[0] * camera[0] + axis[1] * camera[1];
    let (plane, first_is_low) = if first_high <= second_low {
        (0.5 * (first_high + second_low), true)
    } else if second_high <= first_low {
        (0.5 * (second_high + first_low), false)
    } else {
        return None;
    };
    Some(if (eye < plane) == first_is_low { Order::FirstInFront } else { Order::SecondInFront })
}

/// The least and greatest coordinate of a footprint along an axis.
fn extent(body: &Body<'_>, axis: [f64; 2]) -> [f64; 2] {
    let middle = axis[0] * body.position[0] + axis[1] * body.position[1];
    match body.solid {
        Solid::Polyhedron(solid) => {
            let [cos, sin] = body.turn;
            let own = [cos * axis[0] + sin * axis[1], cos * axis[1] - sin * axis[0]];
            let along = solid.footprint.iter().map(|p| body.radius * (own[0] * p[0] + own[1] * p[1]));
            along.fold([middle, middle], |[low, high], x| [low.min(middle + x), high.max(middle + x)])
        }
        Solid::Sphere { .. } | Solid::Revolved(_) | Solid::Mesh(_) => {
            let reach = body.reach() * (axis[0] * axis[0] + axis[1] * axis[1]).sqrt();
            [middle - reach, middle + reach]
        }
    }
}

/// Corners of a footprint in the world; none for a disc.
fn footprint(body: &Body<'_>) -> Vec<[f64; 2]> {
    let Solid::Polyhedron(solid) = body.solid else { return Vec::new() };
    let [cos, sin] = body.turn;
    let corner = |p: &[f64; 2]| {
        [
            body.position[0] + body.radius * (cos * p[0] - sin * p[1]),
            body.position[1] + body.radius * (sin * p[0] + cos * p[1]),
        ]
    };
    solid.footprint.iter().map(corner).collect()
}

/// How far along rays from the camera a body begins.
pub struct Depth<'a> {
    solid: &'a Solid,
    radius: f64,
    turn: [f64; 2],
    /// The camera in the body's own coordinates.
    eye: Vec3,
    /// The planes that face the camera, and how far it stands outside them.
    facing: Vec<(Vec3, f64)>,
}

impl<'a> Depth<'a> {
    pub fn new(body: &Body<'a>, camera: Vec3) -> Self {
        let Body { solid, radius, turn, .. } = *body;
        let eye = own(turn, radius, sub(camera, body.position));
        let facing = match solid {
            Solid::Polyhedron(solid) => {
                let outside = solid.planes.iter().map(|&(normal, offset)| (normal, dot(normal, eye) - offset));
                outside.filter(|(_, outside)| *outside > 0.0).collect()
            }
            Solid::Sphere { .. } | Solid::Revolved(_) | Solid::Mesh(_) => Vec::new(),
        };
        Self { solid, radius, turn, eye, facing }
    }

    /// The depth at which a ray of depth 1 enters the body; infinite, or behind the body, if it misses.
    pub fn along(&self, ray: Vec3) -> f64 {
        let ray = own(self.turn, self.radius, ray);
        match self.solid {
            Solid::Sphere { radius } => {
                let eye = self.eye;
                let (a, b, c) = (dot(ray, ray), dot(ray, eye), dot(eye, eye) - radius * radius);
                let discriminant = b * b - a * c;
                if discriminant < 0.0 { f64::INFINITY } else { (-b - discriminant.sqrt()) / a }
            }
            // A convex body is entered through the plane that the ray meets last. Fractions are compared by
            // cross-multiplication, since there are many planes.
            Solid::Polyhedron(_) => {
                let (mut outside, mut towards) = (0.0, 1.0);
                for &(normal, far) in &self.facing {
                    let near = -dot(normal, ray);
                    if near <= 0.0 {
                        return f64::INFINITY;
                    }
                    if far * towards > outside * near {
                        (outside, towards) = (far, near);
                    }
                }
                outside / towards
            }
            Solid::Revolved(solid) => entry_revolved(solid, self.eye, ray),
            Solid::Mesh(_) => f64::INFINITY, // pixels are filled from the mesh's own layer
        }
    }
}

/// A direction of the world in a body's own coordinates.
fn own([cos, sin]: [f64; 2], radius: f64, v: Vec3) -> Vec3 {
    [cos * v[0] + sin * v[1], cos * v[1] - sin * v[0], v[2]].map(|x| x / radius)
}

/// Where a ray meets the facets, each a piece of a cone, and the flat ends.
fn entry_revolved(solid: &Revolved, eye: Vec3, ray: Vec3) -> f64 {
    let mut nearest = f64::INFINITY;
    let ends = [solid.rings.first(), solid.rings.last()];
    for ring in ends.into_iter().flatten() {
        let t = (ring.z - eye[2]) / ray[2];
        let (x, y) = (eye[0] + t * ray[0], eye[1] + t * ray[1]);
        if x * x + y * y <= ring.radius * ring.radius {
            nearest = nearest.min(t);
        }
    }
    for pair in solid.rings.windows(2) {
        let slope = (pair[1].radius - pair[0].radius) / (pair[1].z - pair[0].z);
        // The cone x^2 + y^2 = (radius + slope z')^2, z' measured from the upper ring.
        let (radius, radius_step) = (pair[0].radius + slope * (eye[2] - pair[0].z), slope * ray[2]);
        let a = ray[0] * ray[0] + ray[1] * ray[1] - radius_step * radius_step;
        let b = eye[0] * ray[0] + eye[1] * ray[1] - radius * radius_step;
        let c = eye[0] * eye[0] + eye[1] * eye[1] - radius * radius;
        let discriminant = b * b - a * c;
        if discriminant < 0.0 {
            continue;
        }
        for t in [(-b - discriminant.sqrt()) / a, (-b + discriminant.sqrt()) / a] {
            let z = eye[2] + t * ray[2];
            if (pair[1].z..=pair[0].z).contains(&z) && radius + t * radius_step >= 0.0 {
                nearest = nearest.min(t);
            }
        }
    }
    nearest
}
