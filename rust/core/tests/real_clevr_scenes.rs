//! Reads published CLEVR scene files, and compares what follows from their coordinates with what they state.

#![allow(clippy::unwrap_used)]

use clevrhope_core::scene::{Asset, Pool, SceneConfig, World, json};
use std::path::PathBuf;

const LOOK: &[u8] = include_bytes!("../../../blender_assets/look.json");

/// The folder of third-party data, or None if it is missing.
fn test_data() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("CLEVRHOPE_TEST_DATA").map_or_else(beside, PathBuf::from);
    if folder.join("real_clevr").is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no real CLEVR files in CLEVRHOPE_TEST_DATA or ../shared/data");
    None
}

fn world(folder: &std::path::Path) -> World {
    let properties = std::fs::read(folder.join("clevr_v1/properties.json")).unwrap();
    let properties = Asset { file: "clevr_v1/properties.json", bytes: &properties };
    World::new(properties, Asset { file: "look.json", bytes: LOOK }, SceneConfig::default()).unwrap()
}

#[test]
fn relationships_follow_from_coordinates_and_directions() {
    let Some(folder) = test_data() else { return };
    let world = world(&folder);
    let mut n_scenes = 0;
    for name in ["CLEVR_train_scenes.json", "CLEVR_val_scenes.json"] {
        let bytes = std::fs::read(folder.join("real_clevr").join(name)).unwrap();
        let scenes = json::read_scenes(&bytes, name, world.vocab()).unwrap();
        for scene in &scenes {
            let positions: Vec<_> = scene.objects.iter().map(|object| object.position).collect();
            assert_eq!(scene.directions.related(&positions), scene.related, "{name} scene {}", scene.index);
            assert!(scene.staging.is_none() && scene.origin.stream.is_none());
            assert_eq!(scene.image_filename(), format!("CLEVR_{}_{:06}.png", scene.origin.pool, scene.index));
        }
        let graphs = json::read_graphs(&bytes, name, world.vocab()).unwrap();
        assert!(graphs.iter().zip(&scenes).all(|(graph, scene)| *graph == scene.graph(world.vocab())));

        // Writing and reading a scene again neither loses nor adds anything.
        for scene in &scenes {
            let mut written = Vec::new();
            json::write_scene(scene, world.vocab(), &mut written).unwrap();
            assert_eq!(json::read_scenes(&written, name, world.vocab()).unwrap(), std::slice::from_ref(scene));
        }
        n_scenes += scenes.len();
    }
    assert_eq!(n_scenes, 120);
}

#[test]
fn scenes_can_be_sampled_with_the_original_properties_file() {
    let Some(folder) = test_data() else { return };
    let world = world(&folder);
    let scenes = Pool::new(&world, 0, "train").scenes(0..20).unwrap();
    assert!(scenes.iter().all(|scene| (3..=10).contains(&scene.n_objects())));
    assert_eq!(world.vocab().value_name(0, 0), "large");
}
