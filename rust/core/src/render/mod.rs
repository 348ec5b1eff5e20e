//! The native renderer: the images that Cycles makes of this world, without Blender.
//!
//! Shapes, lights and materials say what is there; two renderers share them. `reference` traces
//! paths plainly; `fast` finds each kind of light in its own way, and is held against it.

pub mod facets;
pub mod fast;
pub mod film;
pub mod light;
pub mod material;
pub mod passes;
pub mod reference;
pub mod shader;
pub mod shape;
pub mod sheet;
pub mod stage;
pub mod vector;
