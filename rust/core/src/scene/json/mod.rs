//! Scenes to and from CLEVR's scene files, and what this project adds to them.
//!
//! CLEVR's keys are as CLEVR has them. Added are `camera` and `lights` (where they stand, so that
//! a scene can be rendered again), `stream` (what the scene is a function of) or `source` (the name of
//! the image that it was published with), and for each object
//! `visible_pixels`, `visible_fraction` and `bbox` (x and y of the first visible pixel, x and y
//! behind the last). Files without these additions can be read, too.

mod read;
mod write;

pub use read::{read_graphs, read_scenes};
pub use write::write_scene;
