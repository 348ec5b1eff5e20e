//! Every reader of external bytes handles invalid files: it returns a result or a short message, never panics, and uses
//! bounded time and memory.

#![allow(clippy::unwrap_used)] // In a test, a panic is the message.

mod documents;
mod huge;
mod looks;
mod numbers;
mod programs;
mod rows;
mod scenes;
mod templates;

use clevrhope_core::Vocabulary;
use clevrhope_core::scene::{Asset, SceneConfig, World};
use std::sync::LazyLock;

pub const PROPERTIES: &[u8] = include_bytes!("../../../../blender_assets/properties.json");
pub const LOOK: &[u8] = include_bytes!("../../../../blender_assets/look.json");
pub const SYNONYMS: &[u8] = include_bytes!("../../../../question_templates/synonyms.json");

/// Maximum number of bytes of a message, however long the value in question is.
const LONGEST_MESSAGE: usize = 2_000;

/// CLEVR's values.
pub static VOCAB: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary::from_properties_json(PROPERTIES, "properties.json", 10).unwrap());

/// A world whose images are small.
pub static WORLD: LazyLock<World> = LazyLock::new(|| world(PROPERTIES, LOOK).unwrap());

/// A world with CLEVR's constraints except for small images, which gives up a scene early.
pub fn world(properties: &[u8], look: &[u8]) -> Result<World, String> {
    let config = SceneConfig { width: 48, height: 32, min_pixels: 1, max_restarts: 50, ..SceneConfig::default() };
    let (properties, look) =
        (Asset { file: "properties.json", bytes: properties }, Asset { file: "look.json", bytes: look });
    World::new(properties, look, config).map_err(|error| error.to_string())
}

/// The value that was read; checks the message if reading failed.
#[track_caller]
pub fn checked<T>(read: Result<T, impl ToString>) -> Option<T> {
    match read {
        Ok(content) => Some(content),
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() < LONGEST_MESSAGE, "{} bytes: {:.300}", message.len(), message);
            assert!(!message.chars().any(|c| c.is_control()), "{message:?}");
            None
        }
    }
}
