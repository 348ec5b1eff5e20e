//! Reads CLEVR_train_scenes.json as a stream, and refuses what is not CLEVR's.
//!
//! The published file is one line of some 200 MB, so it is parsed scene by scene and is never whole in memory.

use super::{ClevrScenes, SPLIT, image_name};
use crate::message::{json_cause, shown};
use crate::scene::config::DirectionsFrom;
use crate::scene::json::PixelCoords;
use crate::scene::relation::Directions;
use crate::scene::world::{SIZE, World};
use crate::scene::{Fault, Object, SceneError};
use crate::vocab::{N_TYPES, RELATION_NAMES, TYPE_NAMES};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{BufRead, BufReader, Read};

/// How far published directions and heights may be from this world's: they are rounded to 32-bit floats.
const NEAR: f64 = 1e-4;
/// Bytes read from the input at once: they take a hundredth of a second to parse.
const BYTES_AT_ONCE: usize = 1 << 20;
/// Some editors begin a text in UTF-8 with it.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Reads the scenes of CLEVR's train split; `file` names it in messages.
///
/// # Errors
/// `Config` for a world whose directions are not CLEVR's. `Import` for a file that cannot be read, breaks off, has no
/// scenes or says that they are of another split. `Scene`, with its number, for a scene of another split, with a name,
/// value, size or number of objects that this world does not have, or with relationships or directions that are not
/// CLEVR's.
pub fn read_clevr(input: impl Read, file: &str, world: &World) -> Result<ClevrScenes, SceneError> {
    if world.config().directions != DirectionsFrom::Clevr {
        return Err(SceneError::Config {
            key: "directions",
            value: "\"camera\"".into(),
            expected: "\"clevr\" where CLEVR's scenes are mixed in, since they do not say where their camera stood"
                .into(),
        });
    }
    let reading = Reading {
        file,
        world,
        number: Cell::new(None),
        has_list: Cell::new(false),
        scenes: RefCell::default(),
        directions: Cell::new(None),
        fault: RefCell::default(),
    };
    let mut input = BufReader::with_capacity(BYTES_AT_ONCE, input);
    if input.fill_buf().is_ok_and(|begin| begin.starts_with(BYTE_ORDER_MARK)) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let parsed = FileSeed(&reading).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    if let Err(error) = parsed {
        return Err(reading.fault.take().unwrap_or_else(|| reading.parse_error(&error)));
    }
    if !reading.has_list.get() {
        return Err(SceneError::Import(format!("{file}: no list \"scenes\" in it, as CLEVR's scene files have")));
    }
    let mut scenes = reading.scenes.into_inner();
    scenes.sort_by_key(|(index, _)| *index);
    if let Some(twice) = scenes.windows(2).find(|two| two[0].0 == two[1].0) {
        return Err(SceneError::Import(format!("{file}: two scenes have image_index {}", twice[0].0)));
    }
    match reading.directions.get() {
        Some(directions) => Ok(ClevrScenes::new(world.vocab(), scenes, directions)),
        None => Err(SceneError::Import(format!("{file}: no scene in it"))),
    }
}

#[derive(Deserialize)]
struct Info {
    split: Option<String>,
}

#[derive(Deserialize)]
struct RawScene {
    split: String,
    image_index: u32,
    image_filename: String,
    objects: Vec<RawObject>,
    relationships: RawRelationships,
    directions: RawDirections,
}

#[derive(Deserialize)]
struct RawObject {
    size: String,
    color: String,
    material: String,
    shape: String,
    #[serde(rename = "3d_coords")]
    coords: [f64; 3],
    rotation: f64,
    pixel_coords: PixelCoords,
}

// The fields of the next two types are in the order of `RELATION_NAMES`.
#[derive(Deserialize)]
struct RawRelationships {
    left: Vec<Vec<u32>>,
    right: Vec<Vec<u32>>,
    behind: Vec<Vec<u32>>,
    front: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
struct RawDirections {
    left: [f64; 3],
    right: [f64; 3],
    behind: [f64; 3],
    front: [f64; 3],
    above: [f64; 3],
    below: [f64; 3],
}

fn fault(place: impl Into<String>, problem: impl Into<String>) -> Fault {
    Fault { place: place.into(), problem: problem.into() }
}

/// What is known so far while the file is parsed.
struct Reading<'a> {
    file: &'a str,
    world: &'a World,
    /// The number of the scene that is being read.
    number: Cell<Option<usize>>,
    has_list: Cell<bool>,
    scenes: RefCell<Vec<(u32, Vec<Object>)>>,
    directions: Cell<Option<Directions>>,
    /// The fault that was found, if it says more than the parser's error.
    fault: RefCell<Option<SceneError>>,
}

impl Reading<'_> {
    fn add(&self, raw: RawScene) -> Result<(), Fault> {
        if raw.split != SPLIT {
            return Err(fault("split", format!("\"{}\"; {ONLY_TRAIN}", shown(&raw.split))));
        }
        if raw.image_filename != image_name(raw.image_index) {
            let published = image_name(raw.image_index);
            return Err(fault(
                "image_filename",
                format!("\"{}\", not {published}; {ONLY_TRAIN}", shown(&raw.image_filename)),
            ));
        }
        let objects = raw
            .objects
            .iter()
            .enumerate()
            .map(|(i, object)| self.object(object).map_err(|e| fault(format!("objects[{i}].{}", e.place), e.problem)))
            .collect::<Result<Vec<_>, _>>()?;
        let config = self.world.config();
        let (least, most) = (config.min_objects as usize, config.max_objects as usize);
        if !(least..=most).contains(&objects.len()) {
            return Err(fault("objects", format!("{}, but this world's scenes have {least} to {most}", objects.len())));
        }
        let directions = self.directions(&raw.directions)?;
        let positions: Vec<_> = objects.iter().map(|object| object.position).collect();
        check_relationships(&raw.relationships, &directions.related(&positions), objects.len())?;
        self.scenes.borrow_mut().push((raw.image_index, objects));
        Ok(())
    }

    fn object(&self, raw: &RawObject) -> Result<Object, Fault> {
        let vocab = self.world.vocab();
        let mut attributes = [0; N_TYPES];
        for (kind, text) in [&raw.size, &raw.color, &raw.material, &raw.shape].into_iter().enumerate() {
            attributes[kind] =
                vocab.known_value(kind, text).map_err(|error| fault(TYPE_NAMES[kind], error.to_string()))?;
        }
        let height = self.world.radius(attributes[SIZE]);
        if (raw.coords[2] - height).abs() > NEAR {
            let problem = format!("z is {}, but a {} object's centre is at {height}", raw.coords[2], raw.size);
            return Err(fault("3d_coords", problem));
        }
        let (pixel, depth) = raw.pixel_coords.place_and_depth();
        Ok(Object { attributes, position: raw.coords, rotation_deg: raw.rotation, pixel, depth, sight: None })
    }

    /// The scene's directions: CLEVR's, and the same as those of the scenes before it.
    fn directions(&self, raw: &RawDirections) -> Result<Directions, Fault> {
        let relations = [raw.left, raw.right, raw.behind, raw.front];
        let found = Directions { relations, above: raw.above, below: raw.below };
        let camera = &self.world.look().camera;
        let ours = Directions::from_camera(camera.location, camera.target);
        let near = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= NEAR);
        for (name, (theirs, ours)) in RELATION_NAMES.iter().zip(found.relations.iter().zip(&ours.relations)) {
            if !near(theirs, ours) {
                let problem = format!("{theirs:?}, but CLEVR's camera, not jittered, has {ours:?}");
                return Err(fault(format!("directions.{name}"), problem));
            }
        }
        if self.directions.get().is_some_and(|before| before != found) {
            return Err(fault("directions", "not those of the scenes before; CLEVR's scenes all have the same"));
        }
        self.directions.set(Some(found));
        Ok(found)
    }

    /// A fault that the parser found, in a sentence.
    fn parse_error(&self, error: &serde_json::Error) -> SceneError {
        let cause = json_cause(error);
        let place = self.number.get().map_or_else(String::new, |number| format!("scenes[{number}]: "));
        SceneError::Import(match error.classify() {
            Category::Io => format!("{}: {place}cannot be read ({cause})", self.file),
            Category::Data => format!("{}: {place}not as CLEVR's scene files have it ({cause})", self.file),
            Category::Eof => format!("{}: {place}the file breaks off here", self.file),
            Category::Syntax => format!("{}: {place}broken JSON ({cause}, column {})", self.file, error.column()),
        })
    }
}

const ONLY_TRAIN: &str =
    "only scenes of CLEVR's train split may be trained on, since models are tuned on its val and tested on its test";

/// Checks that the file's lists follow from coordinates and directions.
fn check_relationships(raw: &RawRelationships, related: &[u32], n_objects: usize) -> Result<(), Fault> {
    let by_relation = [&raw.left, &raw.right, &raw.behind, &raw.front];
    for (relation, (name, lists)) in RELATION_NAMES.iter().zip(by_relation).enumerate() {
        if lists.len() != n_objects {
            let problem = format!("{} lists, but there are {n_objects} objects", lists.len());
            return Err(fault(format!("relationships.{name}"), problem));
        }
        for (object, list) in lists.iter().enumerate() {
            let set = list.iter().fold(0u64, |set, &other| set | 1u64.checked_shl(other).unwrap_or(1 << 63));
            if set != u64::from(related[relation * n_objects + object]) {
                let problem = format!("{} is not what coordinates and directions give", shown(&format!("{list:?}")));
                return Err(fault(format!("relationships.{name}[{object}]"), problem));
            }
        }
    }
    Ok(())
}

/// The whole file: an object with `scenes`, before or after `info`.
struct FileSeed<'a>(&'a Reading<'a>);
/// The list of scenes.
struct ListSeed<'a>(&'a Reading<'a>);

impl<'de> DeserializeSeed<'de> for FileSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with \"info\" and \"scenes\"")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "scenes" => map.next_value_seed(ListSeed(self.0))?,
                "info" => {
                    let split = map.next_value::<Info>()?.split.unwrap_or_else(|| SPLIT.to_owned());
                    if split != SPLIT {
                        let message = format!("{}: info.split: \"{}\"; {ONLY_TRAIN}", self.0.file, shown(&split));
                        self.0.fault.replace(Some(SceneError::Import(message)));
                        return Err(de::Error::custom("another split"));
                    }
                }
                _ => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for ListSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of scenes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let reading = self.0;
        reading.has_list.set(true);
        for number in 0.. {
            reading.number.set(Some(number));
            let Some(raw) = seq.next_element::<RawScene>()? else { break };
            if let Err(fault) = reading.add(raw) {
                reading.fault.replace(Some(fault.at(reading.file, number)));
                return Err(de::Error::custom("no scene of CLEVR's"));
            }
        }
        reading.number.set(None);
        Ok(())
    }
}
