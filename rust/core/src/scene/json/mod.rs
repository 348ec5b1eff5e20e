//! Reads and writes CLEVR's scene files, with what this project adds to them.
//!
//! CLEVR's keys are as in CLEVR's files. Added are `camera` and `lights` (where they stand, so that a scene can be
//! rendered again), `stream` (what the scene is a function of) or `source` (the name under which the image was
//! published), and for each object `visible_pixels`, `visible_fraction` and `bbox` (x and y of the first visible pixel,
//! x and y one past the last). Files without these additions can be read too.

mod read;
mod write;

pub use read::{read_graphs, read_scenes};
pub use write::write_scene;
