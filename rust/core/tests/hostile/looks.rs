//! Look files, read by the sampler and the renderer, and placements to render.

use crate::documents::damage;
use crate::{LOOK, PROPERTIES, checked, world};
use clevrhope_core::render::fast::far_ground::Patches;
use clevrhope_core::render::fast::{Effort, render};
use clevrhope_core::render::passes::passes;
use clevrhope_core::render::stage::Studio;
use clevrhope_core::render::stop::Stop;
use clevrhope_core::scene::Pool;
use proptest::prelude::*;
use serde_json::{Value, json};

/// One object of each shape and material.
fn placement() -> Value {
    let thing = |shape: &str, material: &str, x: f64| {
        json!({"shape": shape, "material": material, "color": [0.2, 0.4, 0.6], "radius": 0.7,
               "location": [x, 0.5, 0.7], "rotation_z_rad": 0.3})
    };
    json!({"camera": [7.4, -6.5, 5.3], "lights": {"key": [6.4, -2.9, 4.2]},
           "things": [thing("cube", "rubber", -1.5), thing("sphere", "metal", 0.0), thing("cylinder", "rubber", 1.5)]})
}

/// Renders a placement with a look, if both are valid.
fn draw(look: &[u8], placement: &[u8]) {
    let Some(studio) = checked(Studio::from_json(look, "look.json")) else { return };
    let Some(placement) = checked(Studio::placement(placement)) else { return };
    if let Some(stage) = checked(studio.stage(&placement, 12, 8)) {
        passes(&stage, &Stop::default());
        let patches = Patches::new(studio.ground());
        let image = render(&stage, &patches, Effort::DRAFT, &Stop::default()).unwrap();
        assert_eq!(image.len(), 12 * 8 * 3);
    }
}

#[test]
fn an_undamaged_look_is_drawn_in_images_of_any_size() {
    let studio = Studio::from_json(LOOK, "look.json").unwrap();
    let placement = Studio::placement(placement().to_string().as_bytes()).unwrap();
    for [width, height] in [[1, 1], [8_192, 1], [1, 8_192], [3, 7]] {
        let stage = studio.stage(&placement, width, height).unwrap();
        assert_eq!(passes(&stage, &Stop::default()).unwrap().mask.len(), (width * height) as usize);
    }
    for [width, height] in [[0, 8], [8, 0], [8_193, 8], [8, u32::MAX]] {
        let error = studio.stage(&placement, width, height).unwrap_err().to_string();
        assert!(error.ends_with("has to be from 1 to 8192 pixels"), "{error}");
    }
}

#[test]
fn what_32_bits_cannot_render_is_refused() {
    let studio = Studio::from_json(LOOK, "look.json").unwrap();
    let refused = |pointer: &str, value: Value| {
        let mut document = placement();
        *document.pointer_mut(pointer).unwrap() = value;
        let placement = Studio::placement(document.to_string().as_bytes()).unwrap();
        studio.stage(&placement, 12, 8).unwrap_err().to_string()
    };
    for pointer in ["/camera/0", "/lights/key/1", "/things/0/radius", "/things/1/location/2", "/things/2/color/0"] {
        for value in [1e308, -1e30] {
            let problem = format!("look.json: a scene: {value:e} is too large a number; expected at most 1000000");
            assert_eq!(refused(pointer, json!(value)), problem, "{pointer}");
        }
    }
    for radius in [0.0, -0.7, 1e-300] {
        let error = refused("/things/0/radius", json!(radius));
        assert_eq!(error, format!("look.json: a scene: a radius of {radius:e}; expected at least 0.001"));
    }
}

#[test]
fn grounds_that_would_take_room_without_bound_are_refused() {
    let with = |key: &str, value: Value| {
        let mut document: Value = serde_json::from_slice(LOOK).unwrap();
        document["ground"][key] = value;
        Studio::from_json(document.to_string().as_bytes(), "look.json").map(drop).map_err(|error| error.to_string())
    };
    let profiles = [
        json!([[0, 0]]),
        json!([[0, 0], [1e-9, 6]]),
        json!([[0, 0], [4, 0]]),
        json!([[0, 0], [999, 0]]),
        json!([[0, 0], [6, 900]]),
        json!([[900_000, 0], [900_010, 0]]),
        json!([[0, 0], [1e308, 1]]),
        json!((0..20_000).map(|i| json!([f64::from(i) / 1e3, 0])).collect::<Vec<_>>()),
    ];
    for profile in profiles {
        let error = with("profile_x_z", profile).unwrap_err();
        assert!(error.starts_with("look.json: ground"), "{error}");
        assert!(error.len() < 300, "{error}");
    }
    for sides in [json!([0, 0]), json!([0, -9]), json!([-500, 500])] {
        assert!(with("local_y", sides).unwrap_err().contains("5 to 300 long and wide"));
    }
    assert_eq!(with("local_y", json!([-30, 20])), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn looks(damage in damage()) {
        let document: Value = serde_json::from_slice(LOOK).unwrap();
        let bytes = damage.of(&document);
        if let Some(world) = checked(world(PROPERTIES, &bytes)) {
            checked(Pool::new(&world, 1, "train").scene(0));
        }
        checked(Studio::from_json(&bytes, "look.json"));
    }

    #[test]
    fn placements(damage in damage()) {
        draw(LOOK, &damage.of(&placement()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn looks_that_are_drawn(damage in damage(), section in prop::sample::select(vec!["ground", "lights", "shapes", "materials", "camera"])) {
        let mut document: Value = serde_json::from_slice(LOOK).unwrap();
        document[section] = serde_json::from_slice(&damage.of(&document[section])).unwrap_or(Value::Null);
        draw(document.to_string().as_bytes(), placement().to_string().as_bytes());
    }
}
