//! The native renderer: it makes the images that Cycles makes of these scenes, without Blender.
//!
//! Two integrators share shapes, lights and materials: `reference` is a plain path tracer; `fast` computes each
//! kind of light in its own way, and is tested against it.

mod bvh;
pub mod facets;
pub mod fast;
pub mod film;
pub mod lanes;
pub mod light;
pub mod material;
pub mod mesh;
pub mod mesh_spec;
mod nearest;
pub mod passes;
pub mod principled;
pub mod reference;
pub mod rough;
pub mod shader_graph;
pub mod shape;
pub mod sheet;
pub mod stage;
pub mod stop;
pub mod surface;
#[cfg(test)]
mod test_scenes;
pub mod vector;
