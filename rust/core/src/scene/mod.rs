//! Scenes: what is in a picture, where, and how it is seen.

pub mod graph;

pub use graph::{SceneGraph, SceneView};
