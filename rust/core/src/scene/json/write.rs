//! Writes scenes as JSON: the same bytes for the same scene everywhere.
//!
//! Numbers were rounded when the scene was sampled, so their shortest decimal form is the rounded
//! one.

use crate::scene::{Object, Scene};
use crate::vocab::{N_TYPES, RELATION_NAMES, TYPE_NAMES, Vocabulary};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Appends a scene as one JSON object.
pub fn write_scene(scene: &Scene, vocab: &Vocabulary, out: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(out, &SceneJson { scene, vocab })
}

/// The order of an object's attributes in CLEVR's files, by attribute type.
const WRITTEN_ORDER: [usize; N_TYPES] = [3, 0, 1, 2];

struct SceneJson<'a> {
    scene: &'a Scene,
    vocab: &'a Vocabulary,
}

impl Serialize for SceneJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let scene = self.scene;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("split", &scene.origin.pool)?;
        map.serialize_entry("image_index", &scene.index)?;
        map.serialize_entry("image_filename", &scene.image_filename())?;
        if let Some(source) = &scene.source {
            map.serialize_entry("source", source)?;
        }
        map.serialize_entry(
            "objects",
            &Seq(scene.objects.iter().map(|object| ObjectJson { object, vocab: self.vocab })),
        )?;
        let n = scene.n_objects();
        let numbers = |&set: &u32| Seq((0..n as u32).filter(move |object| set >> object & 1 == 1));
        let sets = |relation: usize| Seq(scene.related[relation * n..][..n].iter().map(numbers));
        map.serialize_entry(
            "relationships",
            &Map(RELATION_NAMES.iter().enumerate().map(|(r, name)| (*name, sets(r)))),
        )?;
        let directions = &scene.directions;
        let named = RELATION_NAMES.iter().copied().zip(&directions.relations);
        map.serialize_entry(
            "directions",
            &Map(named.chain([("above", &directions.above), ("below", &directions.below)])),
        )?;
        if let Some(staging) = &scene.staging {
            map.serialize_entry("camera", &Map([("location", &staging.camera)].into_iter()))?;
            let lights = scene.origin.lights.iter().map(String::as_str).zip(&staging.lights);
            map.serialize_entry("lights", &Map(lights))?;
        }
        if let Some(stream) = &scene.origin.stream {
            map.serialize_entry(
                "stream",
                &StreamJson { world: &stream.world, seed: stream.seed, pool: &scene.origin.pool, index: scene.index },
            )?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct StreamJson<'a> {
    world: &'a str,
    seed: u64,
    pool: &'a str,
    index: u64,
}

struct ObjectJson<'a> {
    object: &'a Object,
    vocab: &'a Vocabulary,
}

impl Serialize for ObjectJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let object = self.object;
        let mut map = serializer.serialize_map(None)?;
        for kind in WRITTEN_ORDER {
            let value = usize::from(object.attributes[kind]);
            map.serialize_entry(TYPE_NAMES[kind], self.vocab.value_name(kind, value))?;
        }
        map.serialize_entry("3d_coords", &object.position)?;
        map.serialize_entry("rotation", &object.rotation_deg)?;
        map.serialize_entry("pixel_coords", &(object.pixel[0], object.pixel[1], object.depth))?;
        if let Some(seen) = &object.sight {
            map.serialize_entry("visible_pixels", &seen.visible_px)?;
            map.serialize_entry("visible_fraction", &seen.visible_fraction)?;
            map.serialize_entry("bbox", &seen.bbox)?;
        }
        map.end()
    }
}

/// An iterator that is written as a list, or as an object.
struct Seq<I>(I);
struct Map<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Seq<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

impl<'a, V: Serialize, I: Iterator<Item = (&'a str, V)> + Clone> Serialize for Map<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.clone())
    }
}
