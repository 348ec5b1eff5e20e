//! Scene files for all readers, properties, constraints and palettes.

use crate::documents::damage;
use crate::{PROPERTIES, VOCAB, WORLD, checked, world};
use clevrhope_core::Vocabulary;
use clevrhope_core::audit::FinishedScenes;
use clevrhope_core::program::SceneTable;
use clevrhope_core::rng::StreamKey;
use clevrhope_core::scene::clevr::{image_name, read_clevr};
use clevrhope_core::scene::{Asset, ClevrImport, Palette, Pool, SceneConfig, SceneGraph, World, json};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};

/// Two scenes as the engine writes them.
pub static SCENES: LazyLock<Value> = LazyLock::new(|| {
    let scenes = Pool::new(&WORLD, 3, "train").scenes(0..2).unwrap();
    let row = |scene: &clevrhope_core::Scene| {
        let mut row = Vec::new();
        json::write_scene(scene, WORLD.vocab(), &mut row).unwrap();
        serde_json::from_slice::<Value>(&row).unwrap()
    };
    json!({"info": {"split": "train"}, "scenes": scenes.iter().map(row).collect::<Vec<_>>()})
});

/// A world with CLEVR's directions, and two scenes in CLEVR's form.
static CLEVR: LazyLock<(World, Value)> = LazyLock::new(|| {
    let config = SceneConfig::from_json(br#"{"directions": "clevr"}"#, "config").unwrap();
    let asset = |file, bytes| Asset { file, bytes };
    let world = World::new(asset("properties.json", PROPERTIES), asset("look.json", crate::LOOK), config).unwrap();
    let rows: Vec<Value> = Pool::new(&world, 1, "published")
        .scenes(0..2)
        .unwrap()
        .into_iter()
        .map(|mut scene| {
            (scene.staging, scene.image_filename) = (None, None);
            scene.objects.iter_mut().for_each(|object| object.sight = None);
            let mut row = Vec::new();
            json::write_scene(&scene, world.vocab(), &mut row).unwrap();
            let mut row: Value = serde_json::from_slice(&row).unwrap();
            (row["split"], row["image_filename"]) = ("train".into(), image_name(scene.index as u32).into());
            row
        })
        .collect();
    (world, json!({"info": {"split": "train"}, "scenes": rows}))
});

fn palette() -> Value {
    json!({"types": ["color", "shape"], "rows": [[["red", "cube"], ["blue", "cube"]], [["red", "sphere"]]]})
}

fn cogent() -> Value {
    json!({"cube": ["gray", "blue"], "cylinder": ["red", "green"], "sphere": ["gray", "red"]})
}

#[test]
fn undamaged_documents_are_read() {
    let scenes = SCENES.to_string();
    assert_eq!(json::read_scenes(scenes.as_bytes(), "s.json", &VOCAB).unwrap().len(), 2);
    assert_eq!(json::read_graphs(scenes.as_bytes(), "s.json", &VOCAB).unwrap().len(), 2);
    assert_eq!(FinishedScenes::from_json(scenes.as_bytes(), "s.json", &VOCAB).unwrap().0.len(), 2);
    assert_eq!(
        read_clevr(CLEVR.1.to_string().as_bytes(), "s.json", &CLEVR.0).unwrap().by_n_objects().iter().sum::<usize>(),
        2
    );
    for document in [palette(), cogent()] {
        Palette::from_json(&VOCAB, "p", document.to_string().as_bytes(), "p.json").unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn scene_files(damage in damage()) {
        let bytes = damage.of(&SCENES);
        if let Some(scenes) = checked(json::read_scenes(&bytes, "s.json", &VOCAB)) {
            let graphs: Vec<SceneGraph> = scenes.iter().map(|scene| scene.graph(&VOCAB)).collect();
            SceneTable::new(&VOCAB, &graphs.iter().map(SceneGraph::view).collect::<Vec<_>>());
            for scene in &scenes {
                WORLD.object_ids(scene);
                json::write_scene(scene, &VOCAB, &mut Vec::new()).unwrap();
            }
        }
        checked(json::read_graphs(&bytes, "s.json", &VOCAB));
        if let Some(scenes) = checked(FinishedScenes::from_json(&bytes, "s.json", &VOCAB)) {
            assert!(scenes.view(scenes.0.len()).is_none());
        }
    }

    #[test]
    fn published_scene_files(damage in damage()) {
        let (world, document) = &*CLEVR;
        if let Some(scenes) = checked(read_clevr(&damage.of(document)[..], "s.json", world)) {
            let world = world.with_import(ClevrImport::new(Arc::new(scenes), 1.0).unwrap());
            Pool::new(&world, 1, "train").scene(0).unwrap();
        }
    }

    #[test]
    fn properties(damage in damage()) {
        let document: Value = serde_json::from_slice(PROPERTIES).unwrap();
        let bytes = damage.of(&document);
        if let Some(vocab) = checked(Vocabulary::from_properties_json(&bytes, "p.json", 10)) {
            assert_eq!(vocab.answer_texts().len(), vocab.n_answers());
        }
        if let Some(world) = checked(world(&bytes, crate::LOOK)) {
            checked(Pool::new(&world, 1, "train").scene(0));
        }
    }

    #[test]
    fn constraints(damage in damage()) {
        let document = serde_json::to_value(SceneConfig::default()).unwrap();
        checked(SceneConfig::from_json(&damage.of(&document), "c.json"));
    }

    #[test]
    fn palettes(damage in damage()) {
        for document in [palette(), cogent()] {
            if let Some(palette) = checked(Palette::from_json(&VOCAB, "p", &damage.of(&document), "p.json")) {
                let values = palette.draw(&VOCAB, &mut StreamKey::new(&[b"hostile"]).at(0));
                assert!(palette.allows(values));
            }
        }
    }
}
