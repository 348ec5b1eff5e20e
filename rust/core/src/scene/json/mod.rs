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

use serde::Deserialize;

/// Where the centre of an object is in its image: right and down in pixels, and its depth. Files of Super-CLEVR have
/// the image's size beside it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "expected right and down in whole pixels, and the depth")]
pub enum PixelCoords {
    Alone(i32, i32, f64),
    WithSize((i32, i32, f64), (u32, u32)),
}

impl PixelCoords {
    /// The place in pixels, and the depth.
    pub fn place_and_depth(self) -> ([i32; 2], f64) {
        let (Self::Alone(u, v, depth) | Self::WithSize((u, v, depth), _)) = self;
        ([u, v], depth)
    }
}
