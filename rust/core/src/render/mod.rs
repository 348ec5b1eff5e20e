//! The native renderer: the images that Cycles makes of this world, without Blender.
//!
//! Two renderers share shapes, lights and materials: `reference` traces paths plainly; `fast` finds each kind of
//! light in its own way, and is compared with it.

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
pub mod surface;
pub mod vector;
