//! Scenes from the outside: what is sampled meets every constraint, as read back from its JSON.

#![allow(clippy::unwrap_used)]

use clevrhope_core::scene::{Asset, Pool, SceneConfig, World, json};

const PROPERTIES: &[u8] = include_bytes!("../../../blender_assets/properties.json");
const LOOK: &[u8] = include_bytes!("../../../blender_assets/look.json");

fn world(config: SceneConfig) -> World {
    let properties = Asset { file: "properties.json", bytes: PROPERTIES };
    World::new(properties, Asset { file: "look.json", bytes: LOOK }, config).unwrap()
}

#[test]
fn scenes_survive_their_json() {
    let world = world(SceneConfig::default());
    let scenes = Pool::new(&world, 1, "train").scenes(0..50).unwrap();
    let mut bytes = Vec::new();
    json::write_scene_file(&scenes, world.vocab(), &serde_json::json!({"split": "train"}), &mut bytes).unwrap();
    assert_eq!(json::read_scenes(&bytes, "s.json", world.vocab()).unwrap(), scenes);
    let graphs: Vec<_> = scenes.iter().map(|scene| scene.graph(world.vocab())).collect();
    assert_eq!(json::read_graphs(&bytes, "s.json", world.vocab()).unwrap(), graphs);
}
