//! CLEVR's train scenes in a train pool: generated scenes in the published form, real scenes, and invalid files.

#![allow(clippy::unwrap_used)]

use clevrhope_core::scene::clevr::{image_name, read_clevr};
use clevrhope_core::scene::{Asset, ClevrImport, ClevrScenes, Pool, SceneConfig, SceneError, World, json};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

const PROPERTIES: &[u8] = include_bytes!("../../../blender_assets/properties.json");
const LOOK: &[u8] = include_bytes!("../../../blender_assets/look.json");

fn world(config: Value) -> World {
    let config = SceneConfig::from_json(config.to_string().as_bytes(), "config").unwrap();
    let asset = |file, bytes| Asset { file, bytes };
    World::new(asset("properties.json", PROPERTIES), asset("look.json", LOOK), config).unwrap()
}

fn clevr_world() -> World {
    world(json!({"directions": "clevr"}))
}

/// Our own scenes in CLEVR's published form.
fn published(n: u64) -> Vec<Value> {
    let world = clevr_world();
    let scenes = Pool::new(&world, 1, "published").scenes(0..n).unwrap();
    let published = |mut scene: clevrhope_core::scene::Scene| {
        scene.staging = None;
        scene.objects.iter_mut().for_each(|object| object.sight = None);
        let mut row = Vec::new();
        json::write_scene(&scene, world.vocab(), &mut row).unwrap();
        let mut row: Value = serde_json::from_slice(&row).unwrap();
        row["split"] = "train".into();
        row["image_filename"] = image_name(scene.index as u32).into();
        row.as_object_mut().unwrap().remove("stream");
        row
    };
    scenes.into_iter().map(published).collect()
}

fn file(scenes: &[Value]) -> Vec<u8> {
    json!({"info": {"split": "train", "version": "1.0"}, "scenes": scenes}).to_string().into_bytes()
}

fn read(bytes: &[u8]) -> Result<ClevrScenes, SceneError> {
    read_clevr(bytes, "S.json", &clevr_world())
}

fn mixed(scenes: &[Value], share: f64) -> World {
    clevr_world().with_import(ClevrImport::new(Arc::new(read(&file(scenes)).unwrap()), share).unwrap())
}

/// By number of objects from 3 on: for each of the pool's first places for that number, the published scene there.
fn by_number(pool: &Pool<'_>, n: u64) -> Vec<Vec<Option<u32>>> {
    let place = |run, n_objects| pool.published_index(pool.index_of(run, n_objects));
    (3..=10).map(|n_objects| (0..n).map(|run| place(run, n_objects)).collect()).collect()
}

#[test]
fn every_beginning_of_the_pool_has_its_share_of_each_number_and_each_scene_comes_once() {
    let scenes = published(120);
    let counts = {
        let n_objects = |scene: &Value| scene["objects"].as_array().unwrap().len();
        (3..=10).map(|n| scenes.iter().filter(|scene| n_objects(scene) == n).count()).collect::<Vec<_>>()
    };
    assert_eq!(counts, [15; 8], "each number occurs once in eight scenes");
    for share in [0.21, 0.5, 0.999_999, 1.0, 0.03] {
        let world = mixed(&scenes, share);
        assert_eq!(world.import().unwrap().scenes().by_n_objects(), [vec![0; 3], counts.clone()].concat());
        let pool = Pool::new(&world, 7, "train");
        let reach = (15.0 / share).ceil() as u64;
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        for (number, places) in (3..).zip(by_number(&pool, reach + 100)) {
            let mut n_seen = 0;
            for (place, published) in (0..).zip(places) {
                if let Some(published) = published {
                    assert!(seen.insert(published), "{published} is there twice");
                    assert_eq!(scenes[published as usize]["objects"].as_array().unwrap().len(), number);
                    order.push(published);
                    n_seen += 1;
                }
                if place < reach {
                    let wanted = (place + 1) as f64 * share;
                    assert!((f64::from(n_seen) - wanted).abs() < 1.0 + 1e-6, "{n_seen} of {place} at {share}");
                }
            }
            assert_eq!(n_seen, 15);
        }
        assert_eq!(seen.len(), 120);
        assert!(!order.is_sorted(), "the order is drawn");
        let other = Pool::new(&world, 8, "train");
        assert!((0..reach).any(|i| pool.published_index(i) != other.published_index(i)));
    }
}

#[test]
fn places_of_a_number_are_drawn_evenly() {
    let world = mixed(&published(96), 0.25);
    let mut counts = [0u32; 4];
    for seed in 0..100 {
        let pool = Pool::new(&world, seed, "train");
        for places in by_number(&pool, 48) {
            (0..48).filter(|&place| places[place].is_some()).for_each(|place| counts[place % 4] += 1);
        }
    }
    assert_eq!(counts.iter().sum::<u32>(), 9600);
    let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 2400.0).powi(2) / 2400.0).sum();
    assert!(chi2 < 16.3, "{counts:?}"); // 0.1% point of chi-square with 3 degrees of freedom
}

#[test]
fn with_a_share_of_one_published_scenes_of_each_number_come_first() {
    let world = mixed(&published(64), 1.0);
    let pool = Pool::new(&world, 7, "train");
    assert!((0..64).all(|index| pool.published_index(index).is_some()));
    assert!((64..200).all(|index| pool.published_index(index).is_none()));
}

#[test]
fn scenes_say_what_was_published_and_survive_json() {
    let scenes = published(40);
    let world = mixed(&scenes, 0.5);
    let pool = Pool::new(&world, 3, "train");
    let (mut n_published, all) = (0, pool.scenes(0..80).unwrap());
    for scene in &all {
        let mut row = Vec::new();
        json::write_scene(scene, world.vocab(), &mut row).unwrap();
        assert_eq!(json::read_scenes(&row, "row", world.vocab()).unwrap(), std::slice::from_ref(scene));
        assert_eq!(scene.image_filename(), format!("HOPE_train_{:06}.png", scene.index));
        let Some(index) = pool.published_index(scene.index) else {
            assert!(scene.source.is_none() && scene.staging.is_some());
            continue;
        };
        n_published += 1;
        let row: Value = serde_json::from_slice(&row).unwrap();
        let theirs = &scenes[index as usize];
        assert_eq!(row["source"], theirs["image_filename"]);
        for key in ["objects", "relationships", "directions"] {
            assert_eq!(row[key], theirs[key], "{key} of {index}");
        }
        assert!(scene.origin.stream.is_none() && row.get("camera").is_none());
    }
    assert_eq!(n_published, 40);
}

#[test]
fn only_the_train_pool_has_them_and_another_import_is_another_world() {
    let scenes = published(30);
    let world = mixed(&scenes, 1.0);
    for name in ["val", "test_iid", "test_ood", "train-CoGenT_A"] {
        let pool = Pool::new(&world, 3, name);
        assert!((0..50).all(|index| pool.published_index(index).is_none()));
        assert!(pool.scenes(0..30).unwrap().iter().all(|scene| scene.source.is_none()));
    }
    let others = [mixed(&scenes, 0.5), mixed(&scenes[..29], 1.0), clevr_world()];
    assert!(others.iter().all(|other| other.fingerprint() != world.fingerprint()));
    let backwards: Vec<Value> = scenes.iter().rev().cloned().collect();
    assert_eq!(mixed(&backwards, 1.0).fingerprint(), world.fingerprint(), "the file's order does not count");
}

#[test]
fn what_is_not_clevrs_is_refused_by_file_and_number() {
    let good = published(3);
    let spoilt = |change: &dyn Fn(&mut Value)| {
        let mut scenes = good.clone();
        change(&mut scenes[1]);
        file(&scenes)
    };
    let whole = file(&good);
    let n = good[1]["objects"].as_array().unwrap().len();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (spoilt(&|s| s["split"] = "val".into()), "S.json: scenes[1].split: \"val\"; only scenes of CLEVR's train"),
        (
            spoilt(&|s| s["image_filename"] = "CLEVR_val_000001.png".into()),
            "S.json: scenes[1].image_filename: \"CLEVR_val_000001.png\", not CLEVR_train_000001.png; only",
        ),
        (spoilt(&|s| s["image_index"] = 0.into()), "scenes[1].image_filename"),
        (
            spoilt(&|s| s["objects"][0]["color"] = "pruple".into()),
            "scenes[1].objects[0].color: unknown color \"pruple\" (did you mean \"purple\"?); known: ",
        ),
        (spoilt(&|s| s["objects"][0]["3d_coords"][2] = 0.5.into()), "scenes[1].objects[0].3d_coords: z is 0.5, but a"),
        (
            spoilt(&|s| s["relationships"]["left"][0] = json!([99])),
            "scenes[1].relationships.left[0]: [99] is not what coordinates and directions give",
        ),
        (spoilt(&|s| s["relationships"]["left"] = json!([])), "scenes[1].relationships.left: 0 lists, but"),
        (
            spoilt(&|s| s["directions"]["right"] = json!([1.0, 0.0, 0.0])),
            "scenes[1].directions.right: [1.0, 0.0, 0.0], but CLEVR's camera, not jittered, has",
        ),
        (
            spoilt(&|s| s["directions"]["above"] = json!([0.0, 0.0, 0.99])),
            "scenes[1].directions: not those of the scenes before",
        ),
        (spoilt(&|s| s["objects"] = json!([])), "scenes[1].objects: 0, but this world's scenes have 3 to 10"),
        (
            spoilt(&|s| drop(s.as_object_mut().unwrap().remove("objects"))),
            "scenes[1]: not as CLEVR's scene files have it (missing field `objects`)",
        ),
        (
            spoilt(&|s| s["objects"][n - 1]["rotation"] = "far".into()),
            "scenes[1]: not as CLEVR's scene files have it (invalid type: string \"far\"",
        ),
        (file(&[good[0].clone(), good[0].clone()]), "S.json: two scenes have image_index 0"),
        (file(&[]), "S.json: no scene in it"),
        (b"{\"info\": {}}".to_vec(), "S.json: no list \"scenes\" in it"),
        (b"{\"info\": {\"split\": \"val\"}, \"scenes\": []}".to_vec(), "S.json: info.split: \"val\"; only scenes"),
        (b"[]".to_vec(), "S.json: not as CLEVR's scene files have it (invalid type: sequence"),
        (whole[..whole.len() / 2].to_vec(), "S.json: scenes[1]: the file breaks off here"),
        ([whole.as_slice(), b"x"].concat(), "S.json: broken JSON (trailing characters"),
    ];
    for (bytes, message) in cases {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains(message), "{error}\nnot: {message}");
        assert!(!error.contains('\n'));
    }
    assert!(read(&["\u{feff}".as_bytes(), &whole].concat()).is_ok(), "a byte order mark");
    let camera = read_clevr(whole.as_slice(), "S.json", &world(json!({}))).unwrap_err().to_string();
    assert!(camera.contains("directions is \"camera\", but has to be \"clevr\" where"), "{camera}");
    let few = read_clevr(whole.as_slice(), "S.json", &world(json!({"directions": "clevr", "max_objects": 3})));
    assert!(few.unwrap_err().to_string().contains("but this world's scenes have 3 to 3"));
    for share in [0.0, -0.1, 1.1, f64::NAN] {
        let scenes = Arc::new(read(&whole).unwrap());
        assert!(ClevrImport::new(scenes, share).unwrap_err().to_string().contains("expected one above 0, up to 1"));
    }
}

#[test]
fn the_real_files_train_scenes_go_in_as_they_are_and_its_val_scenes_do_not() {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("CLEVRHOPE_TEST_DATA").map_or_else(beside, PathBuf::from).join("real_clevr");
    if !folder.is_dir() {
        return eprintln!("skipped: no real CLEVR files in CLEVRHOPE_TEST_DATA or ../shared/data");
    }
    let real = |split: &str| std::fs::read(folder.join(format!("CLEVR_{split}_scenes.json"))).unwrap();
    let world = clevr_world().with_import(ClevrImport::new(Arc::new(read(&real("train")).unwrap()), 1.0).unwrap());
    let pool = Pool::new(&world, 0, "train");
    let theirs = json::read_scenes(&real("train"), "train", world.vocab()).unwrap();
    assert_eq!(theirs.len(), 20);
    // Some of its numbers of objects are more frequent than others, so the last of the 20 comes later.
    let indices: Vec<u64> = (0..8 * 20).filter(|&index| pool.published_index(index).is_some()).collect();
    assert_eq!(indices.len(), 20);
    for scene in pool.scenes(indices.iter().copied()).unwrap() {
        let published = &theirs[pool.published_index(scene.index).unwrap() as usize];
        assert_eq!(scene.source, published.image_filename);
        assert_eq!(scene.objects, published.objects);
        assert_eq!((&scene.related, scene.directions), (&published.related, published.directions));
    }
    // The decimals are the same, too: the published text is written again.
    let text = String::from_utf8(real("train")).unwrap();
    let mut row = Vec::new();
    json::write_scene(&pool.scene(indices[0]).unwrap(), world.vocab(), &mut row).unwrap();
    let row: Value = serde_json::from_slice(&row).unwrap();
    for object in row["objects"].as_array().unwrap() {
        for number in object["3d_coords"].as_array().unwrap() {
            assert!(text.contains(&number.to_string()), "{number} is not in the file");
        }
    }
    assert!(read(&real("val")).unwrap_err().to_string().contains("\"val\"; only scenes of CLEVR's train split"));
}
