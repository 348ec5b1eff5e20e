//! The project's look and the benchmark's scenes, for tests.

use super::stage::{Placement, Studio};

pub const LOOK: &[u8] = include_bytes!("../../../../blender_assets/look.json");

pub fn studio() -> Studio {
    Studio::from_json(LOOK, "look.json").unwrap()
}

pub fn placements() -> Vec<Placement> {
    serde_json::from_slice(include_bytes!("../../../../benchmarks/engine/placements.json")).unwrap()
}
