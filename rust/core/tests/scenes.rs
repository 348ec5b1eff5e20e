//! Tests of scenes from the outside: read back from their JSON, sampled scenes meet every constraint.

#![allow(clippy::unwrap_used)]

use clevrhope_core::rng::StreamRng;
use clevrhope_core::scene::{Asset, DirectionsFrom, Pool, Scene, SceneConfig, SceneError, World, json};
use proptest::prelude::*;
use serde_json::Value;

const PROPERTIES: &[u8] = include_bytes!("../../../blender_assets/properties.json");
const LOOK: &[u8] = include_bytes!("../../../blender_assets/look.json");

fn world(config: SceneConfig) -> World {
    let properties = Asset { file: "properties.json", bytes: PROPERTIES };
    World::new(properties, Asset { file: "look.json", bytes: LOOK }, config).unwrap()
}

/// A world whose look has only what determines scenes, so that changes of shaders do not affect these tests.
fn plain_world() -> World {
    let mut look: Value = serde_json::from_slice(LOOK).unwrap();
    let root = look.as_object_mut().unwrap();
    root.retain(|key, _| ["camera", "lights", "ground", "shapes"].contains(&key.as_str()));
    root.insert("materials".into(), serde_json::json!({"rubber": {}, "metal": {}}));
    let look = look.to_string();
    let properties = Asset { file: "properties.json", bytes: PROPERTIES };
    World::new(properties, Asset { file: "look.json", bytes: look.as_bytes() }, SceneConfig::default()).unwrap()
}

fn file(world: &World, scenes: &[Scene]) -> Vec<u8> {
    let mut bytes = br#"{"info": {"split": "train"}, "scenes": ["#.to_vec();
    for (number, scene) in scenes.iter().enumerate() {
        bytes.extend_from_slice(if number == 0 { b"" } else { b",\n" });
        json::write_scene(scene, world.vocab(), &mut bytes).unwrap();
    }
    bytes.extend_from_slice(b"]}");
    bytes
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn vector(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// Checks a scene, as read from its JSON, against the constraints, in independent code.
fn check(scene: &Value, config: &SceneConfig) {
    let objects = scene["objects"].as_array().unwrap();
    let n = objects.len() as u32;
    assert!((config.min_objects..=config.max_objects).contains(&n));
    let place = |i: usize| vector(&objects[i]["3d_coords"]);
    let radius = |i: usize| if objects[i]["size"] == "large" { 0.7 } else { 0.35 };
    let directions = ["left", "right", "front", "behind"].map(|name| (name, vector(&scene["directions"][name])));
    for (i, object) in objects.iter().enumerate() {
        let position = place(i);
        assert!(position[..2].iter().all(|x| x.abs() <= config.position_range));
        assert_eq!(position[2], radius(i));
        assert!((0.0..360.0).contains(&number(&object["rotation"])));
        assert!(object["visible_pixels"].as_u64().unwrap() >= u64::from(config.min_pixels));
        let fraction = number(&object["visible_fraction"]);
        assert!(0.0 < fraction && fraction <= 1.0);
        for j in 0..i {
            let other = place(j);
            let (dx, dy) = (position[0] - other[0], position[1] - other[1]);
            assert!((dx * dx + dy * dy).sqrt() - radius(i) - radius(j) >= config.min_distance);
            for (_, direction) in &directions {
                let offset = dx * direction[0] + dy * direction[1];
                assert!(!(0.0 < offset && offset < config.margin), "{offset}");
            }
        }
    }
    for (name, direction) in &directions {
        for i in 0..objects.len() {
            let related = (0..objects.len()).filter(|&j| {
                let offset: f64 = (0..3).map(|k| (place(j)[k] - place(i)[k]) * direction[k]).sum();
                offset > 0.2
            });
            let listed: Vec<usize> = vector(&scene["relationships"][name][i]).into_iter().map(|j| j as usize).collect();
            assert_eq!(listed, related.collect::<Vec<_>>());
        }
    }
    let camera = vector(&scene["camera"]["location"]);
    assert!(camera.iter().zip([7.48113, -6.50764, 5.34367]).all(|(x, middle)| (x - middle).abs() <= 0.5));
    let behind = &directions[3].1;
    let seen_from = if config.directions == DirectionsFrom::Camera { camera } else { vec![7.48113, -6.50764] };
    let distance = (seen_from[0] * seen_from[0] + seen_from[1] * seen_from[1]).sqrt();
    assert!((behind[0] + seen_from[0] / distance).abs() < 1e-9 && (behind[1] + seen_from[1] / distance).abs() < 1e-9);
    let key = vector(&scene["lights"]["key"]);
    assert!(key.iter().zip([6.44671, -2.90517, 4.2584]).all(|(x, middle)| (x - middle).abs() <= 1.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_constraint_holds_in_the_file(
        seed in any::<u64>(),
        first in 0u64..1 << 40,
        min_objects in 1u32..6,
        more in 0u32..4,
        margin in 0.0..0.5,
        min_distance in 0.0..0.4,
        min_pixels in 1u32..400,
        clevr in any::<bool>(),
    ) {
        let directions = if clevr { DirectionsFrom::Clevr } else { DirectionsFrom::Camera };
        let max_objects = min_objects + more;
        let config = SceneConfig { min_objects, max_objects, margin, min_distance, min_pixels, directions, ..SceneConfig::default() };
        let world = world(config.clone());
        let scenes = Pool::new(&world, seed, "train").scenes(first..first + 4).unwrap();
        let bytes = file(&world, &scenes);
        let read: Value = serde_json::from_slice(&bytes).unwrap();
        for scene in read["scenes"].as_array().unwrap() {
            check(scene, &config);
        }
        prop_assert_eq!(json::read_scenes(&bytes, "s.json", world.vocab()).unwrap(), scenes);
    }
}

#[test]
fn what_is_seen_is_what_the_id_image_shows() {
    let world = world(SceneConfig::default());
    for scene in Pool::new(&world, 1, "train").scenes(0..60).unwrap() {
        let ids = world.object_ids(&scene).unwrap();
        for (object, id) in scene.objects.iter().zip(1u8..) {
            let pixels: Vec<usize> = (0..ids.len()).filter(|&i| ids[i] == id).collect();
            let seen = object.sight.unwrap();
            assert_eq!(seen.visible_px as usize, pixels.len());
            let [x0, y0, x1, y1] = seen.bbox.map(usize::from);
            assert!(pixels.iter().all(|i| (x0..x1).contains(&(i % 480)) && (y0..y1).contains(&(i / 480))));
            for touched in [
                pixels.iter().any(|i| i % 480 == x0),
                pixels.iter().any(|i| i % 480 == x1 - 1),
                pixels.iter().any(|i| i / 480 == y0),
                pixels.iter().any(|i| i / 480 == y1 - 1),
            ] {
                assert!(touched);
            }
        }
    }
}

#[test]
fn scenes_and_graphs_survive_their_json() {
    let world = world(SceneConfig::default());
    let scenes = Pool::new(&world, 1, "train").scenes(0..50).unwrap();
    let bytes = file(&world, &scenes);
    let read = json::read_scenes(&bytes, "s.json", world.vocab()).unwrap();
    assert_eq!(read, scenes);
    assert_eq!(file(&world, &read), bytes);
    let graphs: Vec<_> = scenes.iter().map(|scene| scene.graph(world.vocab())).collect();
    assert_eq!(json::read_graphs(&bytes, "s.json", world.vocab()).unwrap(), graphs);
}

#[test]
fn a_scene_depends_on_its_index_alone() {
    let world = world(SceneConfig::default());
    let pool = Pool::new(&world, 3, "val");
    let all = pool.scenes(0..40).unwrap();
    for threads in [1, 3] {
        let few = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(few.install(|| pool.scenes(0..40)).unwrap(), all);
    }
    assert_eq!(pool.scenes(0..7).unwrap(), all[..7]);
    assert_eq!(pool.scenes([31, 5, 5]).unwrap(), [31, 5, 5].map(|i| all[i].clone()));
    assert_eq!(pool.scene(17).unwrap(), all[17]);
    let others = [Pool::new(&world, 4, "val"), Pool::new(&world, 3, "train")];
    assert!(others.iter().all(|other| other.scene(0).unwrap().objects != all[0].objects));
}

#[test]
fn numbers_of_objects_and_values_are_uniform() {
    let world = world(SceneConfig::default());
    let scenes = Pool::new(&world, 8, "train").scenes(0..2000).unwrap();
    let chi_square = |counts: &[u32]| {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum::<f64>()
    };
    // By place in a run of eight scenes and number of objects: each number once a run, in any order.
    let mut counts = [[0u32; 8]; 8];
    for run in scenes.chunks_exact(8) {
        let mut numbers: Vec<usize> = run.iter().map(Scene::n_objects).collect();
        numbers.iter().enumerate().for_each(|(place, number)| counts[place][number - 3] += 1);
        numbers.sort_unstable();
        assert_eq!(numbers, (3..=10).collect::<Vec<_>>());
    }
    // 0.1% point with 7 degrees of freedom, for each of eight places.
    assert!(counts.iter().all(|counts| chi_square(counts) < 29.8), "{counts:?}");
    let mut colors = [0u32; 8];
    scenes.iter().flat_map(|scene| &scene.objects).for_each(|o| colors[usize::from(o.attributes[1])] += 1);
    assert!(chi_square(&colors) < 24.3, "{colors:?}");
}

#[test]
fn what_objects_are_is_known_before_they_are_placed() {
    let world = world(SceneConfig::default());
    let pool = Pool::new(&world, 8, "train");
    for scene in pool.scenes(0..200).unwrap() {
        assert_eq!(scene.n_objects(), pool.n_objects(scene.index) as usize);
        let attributes: Vec<_> = scene.objects.iter().map(|object| object.attributes).collect();
        assert_eq!(attributes, pool.attributes(scene.index));
        assert_eq!(pool.index_of(scene.index / 8, scene.n_objects() as u32), scene.index);
    }
}

#[test]
fn a_full_scene_has_as_many_large_objects_as_an_empty_one() {
    // Large objects are harder to place: were values drawn again with each restart, 42% of ten objects would be large.
    for number in [3, 10] {
        let world = world(SceneConfig { min_objects: number, max_objects: number, ..SceneConfig::default() });
        let scenes = Pool::new(&world, 8, "train").scenes(0..12_000 / u64::from(number)).unwrap();
        let large = scenes.iter().flat_map(|scene| &scene.objects).filter(|object| object.attributes[0] == 0).count();
        let all: usize = scenes.iter().map(Scene::n_objects).sum();
        let share = large as f64 / all as f64;
        assert!((share - 0.5).abs() < 3.3 * 0.5 / (all as f64).sqrt(), "{share} of {all}");
    }
}

#[test]
fn the_first_scene_is_golden() {
    let world = plain_world();
    let mut line = Vec::new();
    json::write_scene(&Pool::new(&world, 0, "train").scene(0).unwrap(), world.vocab(), &mut line).unwrap();
    // This guards the stream: if it changes, every dataset changes, and the version has to change, too.
    assert_eq!(String::from_utf8(line).unwrap(), include_str!("golden/first_scene.json").trim_end());
}

#[test]
fn a_fingerprint_is_of_content_and_changes_with_all_of_it() {
    let base = world(SceneConfig::default());
    let spaced = String::from_utf8(LOOK.to_vec()).unwrap().replace(": 1.0,", ":  1,");
    let with = |properties: &[u8], look: &[u8], config: SceneConfig| {
        let properties = Asset { file: "properties.json", bytes: properties };
        World::new(properties, Asset { file: "look.json", bytes: look }, config).unwrap()
    };
    assert_ne!(spaced.as_bytes(), LOOK);
    assert_eq!(with(PROPERTIES, spaced.as_bytes(), SceneConfig::default()).fingerprint(), base.fingerprint());
    let brighter = String::from_utf8(LOOK.to_vec()).unwrap().replace("78.5398", "79.5398");
    let redder = String::from_utf8(PROPERTIES.to_vec()).unwrap().replace("[173, 35, 35]", "[174, 35, 35]");
    for other in [
        with(PROPERTIES, brighter.as_bytes(), SceneConfig::default()),
        with(redder.as_bytes(), LOOK, SceneConfig::default()),
        world(SceneConfig { margin: 0.41, ..SceneConfig::default() }),
    ] {
        assert_ne!(other.fingerprint(), base.fingerprint());
    }
}

#[test]
fn images_of_a_place_differ_in_attributes_alone() {
    let world = world(SceneConfig::default());
    let pool = Pool::new(&world, 2, "minimal_material_shape");
    let images = [[0, 1, 0, 0], [0, 1, 0, 1], [0, 1, 1, 2], [1, 1, 1, 2]];
    let all = one_object_images(&pool, 20, &images).unwrap();
    for (place, scenes) in all.chunks(images.len()).enumerate() {
        let first = &scenes[0];
        for (i, (scene, attributes)) in scenes.iter().zip(images).enumerate() {
            let [object] = scene.objects[..] else { panic!("one object expected") };
            assert_eq!((scene.index, object.attributes), ((4 * place + i) as u64, attributes));
            assert_eq!(scene.staging, first.staging);
            assert_eq!(object.position[..2], first.objects[0].position[..2]);
            assert_eq!(object.position[2], world.radius(attributes[0]));
            assert_eq!(object.rotation_deg, first.objects[0].rotation_deg);
            assert!(object.sight.unwrap().visible_px >= 100);
        }
        assert_eq!(one_object_images(&pool, 20, &images[1..3]).unwrap()[2 * place].directions, scenes[1].directions);
    }
    assert_ne!(all[0].staging, all[4].staging);
}

/// The images of a pool's first places, each with one object, which has the values of one of `images`.
fn one_object_images(pool: &Pool<'_>, n_places: u64, images: &[[u8; 4]]) -> Result<Vec<Scene>, SceneError> {
    let n_images = images.len() as u64;
    let indices: Vec<u64> = (0..n_places * n_images).collect();
    let values = |_, _: &mut StreamRng| images.iter().map(|values| vec![*values]).collect();
    pool.arranged(&indices, n_images, |rng| vec![pool.draw_position(rng)], values)
}

#[test]
fn constraints_that_cannot_be_met_end_in_a_sentence() {
    let crowded = SceneConfig { min_objects: 20, max_objects: 20, ..SceneConfig::default() };
    let hidden = SceneConfig { min_pixels: 60_000, ..SceneConfig::default() };
    for (config, cause) in [
        (crowded, "20 objects, 10001 attempts failed (10001 because tries_per_object ran out"),
        (hidden, " because of min_pixels)"),
    ] {
        let world = world(config);
        let pool = Pool::new(&world, 7, "train");
        let error = pool.scenes(5..9).unwrap_err();
        assert!(matches!(error, SceneError::Exhausted { index: 5, .. }), "{error}");
        let message = error.to_string();
        assert!(message.starts_with("scene 5 of pool \"train\" (seed 7) could not be sampled: "), "{message}");
        assert!(message.contains(cause), "{message}");
    }
    let unseen = world(SceneConfig { min_pixels: 60_000, ..SceneConfig::default() });
    assert!(
        one_object_images(&Pool::new(&unseen, 7, "m"), 1, &[[0; 4]]).unwrap_err().to_string().contains("min_pixels")
    );
    let properties = Asset { file: "properties.json", bytes: PROPERTIES };
    let config = SceneConfig { max_objects: 40, ..SceneConfig::default() };
    let error = World::new(properties, Asset { file: "look.json", bytes: LOOK }, config).unwrap_err().to_string();
    assert_eq!(
        error,
        "scene constraints: max_objects is 40, but has to be at most 32, since a set of objects is a 32-bit mask"
    );
}

#[test]
fn assets_that_the_look_lacks_are_named() {
    let cases = [
        (
            "\"sphere\": \"sphere\"",
            "\"sphere\": \"spere\"",
            "properties.json: shapes.sphere: the look has no shape \"spere\" (did you mean \"sphere\"?)",
        ),
        (
            "\"metal\": \"metal\"",
            "\"metal\": \"gold\"",
            "properties.json: materials.metal: the look has no material \"gold\"; it has rubber, metal",
        ),
    ];
    for (old, new, message) in cases {
        let properties = String::from_utf8(PROPERTIES.to_vec()).unwrap().replace(old, new);
        let properties = Asset { file: "properties.json", bytes: properties.as_bytes() };
        let look = Asset { file: "look.json", bytes: LOOK };
        let error = World::new(properties, look, SceneConfig::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let cases = [
        ("\"lens_mm\": 35.0", "\"lens_mm\": 0", "look.json: camera.lens_mm: 0 has to be above 0"),
        ("\"kind\": \"icosphere\"", "\"kind\": \"ball\"", "look.json: shapes.sphere: unknown variant `ball`"),
        ("\"edge_exponent\": 3.0", "\"edge_exponent\": 0.5", "look.json: shapes.cube: edge_exponent: 0.5 has to be"),
        ("\"ground\": {", "\"grund\": {", "look.json: ground: missing"),
        ("\"camera\": {", "\"camera\" {", "look.json:2:"),
    ];
    for (old, new, message) in cases {
        let look = String::from_utf8(LOOK.to_vec()).unwrap().replacen(old, new, 1);
        let properties = Asset { file: "properties.json", bytes: PROPERTIES };
        let look = Asset { file: "look.json", bytes: look.as_bytes() };
        let error = World::new(properties, look, SceneConfig::default()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn faults_in_a_scene_file_name_scene_place_and_value() {
    let world = world(SceneConfig::default());
    let scenes = Pool::new(&world, 1, "train").scenes(0..2).unwrap();
    let whole: Value = serde_json::from_slice(&file(&world, &scenes)).unwrap();
    let message = |change: &dyn Fn(&mut Value)| {
        let mut changed = whole.clone();
        change(&mut changed["scenes"][1]);
        json::read_scenes(changed.to_string().as_bytes(), "s.json", world.vocab()).unwrap_err().to_string()
    };
    let object_without = |scene: &mut Value, key: &str| scene["objects"][2].as_object_mut().unwrap().remove(key);
    assert_eq!(
        message(&|scene| scene["objects"][0]["shape"] = "cilinder".into()),
        "s.json: scenes[1].objects[0].shape: unknown shape \"cilinder\" (did you mean \"cylinder\"?); \
         known: cube, sphere, cylinder"
    );
    assert_eq!(
        message(&|scene| drop(object_without(scene, "3d_coords"))),
        "s.json: scenes[1].objects[2].3d_coords: missing"
    );
    let related = message(&|scene| scene["relationships"]["left"][0] = serde_json::json!([1, 77]));
    assert!(
        related.starts_with("s.json: scenes[1].relationships: \"left\"[0]: expected numbers of objects"),
        "{related}"
    );
    assert!(related.ends_with("got 77"), "{related}");
    let short = message(&|scene| scene["directions"]["front"] = serde_json::json!([1, 2]));
    assert!(short.starts_with("s.json: scenes[1].directions: \"front\": invalid length 2"), "{short}");
    let broken = json::read_scenes(b"{\"scenes\": [\n{\"objects\" []}]}", "s.json", world.vocab()).unwrap_err();
    assert!(broken.to_string().starts_with("s.json:2:12: expected `:`"), "{broken}");
    let none = json::read_scenes(b"{\"info\": {}}", "s.json", world.vocab()).unwrap_err();
    assert_eq!(none.to_string(), "s.json: scenes: missing; expected a list of scenes");
}

#[test]
fn graphs_need_no_places_and_no_images() {
    let world = world(SceneConfig::default());
    let bare = br#"{"objects": [
        {"size": "small", "color": "red", "material": "metal", "shape": "cube", "3d_coords": [0, 0, 0.35]},
        {"size": "small", "color": "red", "material": "metal", "shape": "cube", "3d_coords": [1, 0, 0.35]}],
        "directions": {"left": [-1, 0, 0], "right": [1, 0, 0], "front": [0, -1, 0], "behind": [0, 1, 0],
        "above": [0, 0, 1], "below": [0, 0, -1]}}"#;
    let graph = &json::read_graphs(bare, "bare.json", world.vocab()).unwrap()[0];
    assert_eq!((graph.view().related(1, 0), graph.view().related(0, 0)), (0b10, 0));
}

#[test]
fn an_edited_scene_keeps_what_is_not_edited() {
    const COLOR: usize = 1;
    let world = world(SceneConfig::default());
    let (pool, edits) = (Pool::new(&world, 3, "test"), Pool::new(&world, 3, "edited"));
    for scene in pool.scenes(0..40).unwrap() {
        let all: Vec<_> = scene.objects.iter().map(|object| object.attributes).enumerate().collect();
        let copy = edits.edited(&scene, 7, &all).unwrap();
        assert_eq!((&copy.objects, &copy.related, &copy.staging), (&scene.objects, &scene.related, &scene.staging));
        assert_eq!((copy.image_filename().as_str(), &copy.origin.stream), ("HOPE_edited_000007.png", &None));

        let kept: Vec<_> = all.iter().copied().step_by(2).collect();
        let removal = edits.edited(&scene, 0, &kept).unwrap();
        let n = scene.n_objects();
        for (place, &(object, _)) in kept.iter().enumerate() {
            let (before, after) = (&scene.objects[object], &removal.objects[place]);
            assert_eq!((before.position, before.pixel), (after.position, after.pixel));
            assert!(after.sight.unwrap().visible_px >= before.sight.unwrap().visible_px);
            for relation in 0..4 {
                let stands = |&(other, _): &(usize, _)| scene.related[relation * n + object] >> other & 1;
                let expected = kept.iter().rev().fold(0, |set, other| set << 1 | stands(other));
                assert_eq!(removal.related[relation * kept.len() + place], expected);
            }
        }

        let mut other = all.clone();
        other[0].1[COLOR] = (other[0].1[COLOR] + 1) % world.vocab().n_values(COLOR) as u8;
        let edit = edits.edited(&scene, 0, &other).unwrap();
        assert_eq!(edit.objects[0].attributes, other[0].1);
        assert_eq!((edit.objects[0].sight, &edit.objects[1..]), (scene.objects[0].sight, &scene.objects[1..]));
    }
}

#[test]
fn objects_do_not_grow_into_each_other() {
    const SIZE: usize = 0;
    let world = world(SceneConfig::default());
    let pool = Pool::new(&world, 3, "test");
    let (mut n_grown, mut n_refused) = (0, 0);
    for scene in pool.scenes(0..60).unwrap() {
        let sizes: Vec<_> = scene.objects.iter().map(|object| world.radius(object.attributes[SIZE])).collect();
        for object in 0..scene.n_objects() {
            let mut objects: Vec<_> = scene.objects.iter().map(|object| object.attributes).enumerate().collect();
            objects[object].1[SIZE] = 1 - objects[object].1[SIZE];
            let radius = world.radius(objects[object].1[SIZE]);
            let [x, y, _] = scene.objects[object].position;
            let gap = |other: usize| {
                let [a, b, _] = scene.objects[other].position;
                libm::hypot(x - a, y - b) - radius - sizes[other]
            };
            let near = (0..scene.n_objects()).any(|other| other != object && gap(other) < world.config().min_distance);
            match pool.edited(&scene, 0, &objects) {
                Some(edited) => {
                    n_grown += 1;
                    assert!(!near);
                    assert_eq!(edited.objects[object].position, [x, y, radius]);
                }
                None => n_refused += 1,
            }
        }
    }
    assert!(n_grown > 50 && n_refused > 5, "{n_grown} {n_refused}");
}
