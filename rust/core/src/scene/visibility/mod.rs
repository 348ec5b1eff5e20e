//! How much of each body is seen: an object-id raster, exact at pixel centres.
//!
//! A convex body covers one span of each row, and hides another body by removing its own span from the other's. No
//! image is filled in unless the ids are asked for, or a body is a mesh that may have hollows.

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
