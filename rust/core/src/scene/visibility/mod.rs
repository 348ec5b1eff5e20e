//! How much of each body is seen: an object-id raster, exact at pixel centres.
//!
//! Bodies are convex, so each covers one span of a row, and a body hides another by removing its own span from the
//! other's. No image is filled in unless the ids are asked for, or a body is a mesh with hollows.

mod body;
mod depth_buffer;
mod frame;
mod layer;
mod mesh;
mod order;
mod outline;
mod polyhedron;
mod revolution;
mod rows;
mod sight;
mod solid;
mod sphere;
mod viewer;

pub use body::Body;
pub use sight::Sight;
pub use solid::{ShapeSpec, Solid};
pub use viewer::Viewer;
