//! Reads scenes or scene graphs from JSON; a fault names its file, scene and place.

use super::PixelCoords;
use crate::message::{json_cause, json_message, shown};
use crate::scene::geometry::Vec3;
use crate::scene::relation::Directions;
use crate::scene::{Fault, Object, Origin, Scene, SceneError, SceneGraph, Seen, Staging, StreamId, image_filename};
use crate::vocab::{MAX_OBJECTS, N_TYPES, RELATION_NAMES, TYPE_NAMES, Vocabulary};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Reads a scene file: CLEVR's `{"info", "scenes"}`, a list of scenes, or one scene.
///
/// `file` names it in messages. Scenes of one pool share an `Origin`.
pub fn read_scenes(bytes: &[u8], file: &str, vocab: &Vocabulary) -> Result<Vec<Scene>, SceneError> {
    let mut scenes: Vec<Scene> = Vec::new();
    for (index, raw) in raw_scenes(bytes, file)?.iter().enumerate() {
        let mut scene = scene(raw, vocab).map_err(|fault| fault.at(file, index))?;
        if let Some(last) = scenes.last().filter(|last| last.origin == scene.origin) {
            scene.origin = Arc::clone(&last.origin);
        }
        scenes.push(scene);
    }
    Ok(scenes)
}

/// Reads only what programs and questions see, so scenes without positions and images can be read too.
///
/// Relations are the file's `relationships`; where there are none, they follow from `3d_coords`
/// and `directions`.
pub fn read_graphs(bytes: &[u8], file: &str, vocab: &Vocabulary) -> Result<Vec<SceneGraph>, SceneError> {
    let graph = |raw| {
        let fields = Fields::within(String::new(), raw)?;
        let objects = objects(&fields)?;
        let attributes = objects.iter().map(|object| attributes(object, vocab)).collect::<Result<Vec<_>, _>>()?;
        let related = match fields.optional("relationships", relationships(objects.len()))? {
            Some(related) => related,
            None => {
                let position = |object: &Fields<'_>| object.required("3d_coords", typed);
                let positions = objects.iter().map(position).collect::<Result<Vec<Vec3>, _>>()?;
                fields.required("directions", directions)?.related(&positions)
            }
        };
        Ok::<_, Fault>(SceneGraph::from_masks(vocab, attributes, related))
    };
    let scenes = raw_scenes(bytes, file)?;
    scenes.iter().enumerate().map(|(index, raw)| graph(raw).map_err(|fault| fault.at(file, index))).collect()
}

/// The scenes of a file, not examined yet.
fn raw_scenes(bytes: &[u8], file: &str) -> Result<Vec<Value>, SceneError> {
    let root: Value = serde_json::from_slice(bytes).map_err(|e| SceneError::Json(json_message(file, &e)))?;
    match root {
        Value::Array(scenes) => Ok(scenes),
        Value::Object(mut root) => match root.remove("scenes") {
            Some(Value::Array(scenes)) => Ok(scenes),
            None if root.contains_key("objects") => Ok(vec![Value::Object(root)]),
            _ => Err(SceneError::Json(format!("{file}: scenes: missing; expected a list of scenes"))),
        },
        _ => Err(SceneError::Json(format!("{file}: expected a list of scenes, or an object with \"scenes\""))),
    }
}

/// An object in the file, and its place there.
struct Fields<'a> {
    place: String,
    entries: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn within(place: String, value: &'a Value) -> Result<Self, Fault> {
        match value.as_object() {
            Some(entries) => Ok(Self { place: if place.is_empty() { place } else { place + "." }, entries }),
            None => Err(Fault { place, problem: format!("expected an object, got {}", shortened(value)) }),
        }
    }

    fn required<T>(&self, key: &str, read: impl FnOnce(&'a Value) -> Result<T, String>) -> Result<T, Fault> {
        self.optional(key, read)?
            .ok_or_else(|| Fault { place: format!("{}{key}", self.place), problem: "missing".into() })
    }

    fn optional<T>(&self, key: &str, read: impl FnOnce(&'a Value) -> Result<T, String>) -> Result<Option<T>, Fault> {
        let fault = |problem| Fault { place: format!("{}{}", self.place, shown(key)), problem };
        self.entries.get(key).map(|value| read(value).map_err(fault)).transpose()
    }

    /// The result of `read` for an object that may be missing.
    fn object<T>(&self, key: &str, read: impl FnOnce(Fields<'a>) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
        let object = |value| read(Fields::within(format!("{}{key}", self.place), value)?);
        self.entries.get(key).map(object).transpose()
    }
}

/// A value as a message quotes it.
fn shortened(value: &Value) -> String {
    shown(&value.to_string()).into_owned()
}

fn typed<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|e| format!("{}, got {}", json_cause(&e), shortened(value)))
}

fn scene(raw: &Value, vocab: &Vocabulary) -> Result<Scene, Fault> {
    let fields = Fields::within(String::new(), raw)?;
    let objects: Vec<Object> =
        objects(&fields)?.iter().map(|object| read_object(object, vocab)).collect::<Result<_, _>>()?;
    let directions = fields.required("directions", directions)?;
    let related = match fields.optional("relationships", relationships(objects.len()))? {
        Some(related) => related,
        None => directions.related(&objects.iter().map(|object| object.position).collect::<Vec<_>>()),
    };
    let camera = fields.object("camera", |camera| camera.required("location", typed))?;
    let lights = fields.object("lights", |lights| {
        let light = |name: &String| lights.required(name, typed).map(|location| (name.clone(), location));
        lights.entries.keys().map(light).collect::<Result<Vec<(String, Vec3)>, _>>()
    })?;
    let (names, locations) = lights.unwrap_or_default().into_iter().unzip();
    let stream = fields.object("stream", |stream| {
        Ok(StreamId { world: stream.required("world", typed)?, seed: stream.required("seed", typed)? })
    })?;
    let pool: String = fields.required("split", typed)?;
    let index = fields.required("image_index", typed)?;
    let filename: Option<Box<str>> = fields.optional("image_filename", typed)?;
    Ok(Scene {
        image_filename: filename.filter(|name| **name != *image_filename(&pool, index)),
        source: fields.optional("source", typed)?,
        origin: Arc::new(Origin { pool, stream, lights: names }),
        index,
        objects,
        related,
        directions,
        staging: camera.map(|camera| Staging { camera, lights: locations }),
    })
}

fn objects<'a>(scene: &Fields<'a>) -> Result<Vec<Fields<'a>>, Fault> {
    let list = scene.required("objects", |value| {
        let list = value.as_array().ok_or_else(|| format!("expected a list, got {}", shortened(value)))?;
        let n = list.len();
        (n <= MAX_OBJECTS).then_some(list).ok_or_else(|| format!("{n} objects are more than {MAX_OBJECTS}"))
    })?;
    list.iter().enumerate().map(|(i, object)| Fields::within(format!("objects[{i}]"), object)).collect()
}

fn attributes(object: &Fields<'_>, vocab: &Vocabulary) -> Result<[u8; N_TYPES], Fault> {
    let mut attributes = [0; N_TYPES];
    for (kind, name) in TYPE_NAMES.into_iter().enumerate() {
        attributes[kind] = object.required(name, |value| {
            let text = value.as_str().ok_or_else(|| format!("expected a {name}, got {}", shortened(value)))?;
            vocab.known_value(kind, text).map_err(|error| error.to_string())
        })?;
    }
    Ok(attributes)
}

fn read_object(object: &Fields<'_>, vocab: &Vocabulary) -> Result<Object, Fault> {
    let (pixel, depth) = object.required("pixel_coords", typed::<PixelCoords>)?.place_and_depth();
    let sight = match object.optional("visible_pixels", typed)? {
        Some(visible_px) => Some(Seen {
            visible_px,
            visible_fraction: object.required("visible_fraction", typed)?,
            bbox: object.required("bbox", typed)?,
        }),
        None => None,
    };
    Ok(Object {
        attributes: attributes(object, vocab)?,
        position: object.required("3d_coords", typed)?,
        rotation_deg: object.required("rotation", typed)?,
        pixel,
        depth,
        sight,
    })
}

fn directions(value: &Value) -> Result<Directions, String> {
    let direction = |name: &str| {
        let direction = value.get(name).ok_or_else(|| format!("\"{name}\" is missing"))?;
        typed::<Vec3>(direction).map_err(|e| format!("\"{name}\": {e}"))
    };
    let mut relations = [[0.0; 3]; RELATION_NAMES.len()];
    for (relation, name) in relations.iter_mut().zip(RELATION_NAMES) {
        *relation = direction(name)?;
    }
    Ok(Directions { relations, above: direction("above")?, below: direction("below")? })
}

/// Reads `relationships`, lists of objects' numbers, into sets by `relation * n_objects + object`.
fn relationships(n_objects: usize) -> impl Fn(&Value) -> Result<Vec<u32>, String> {
    move |value| {
        let mut sets = Vec::with_capacity(RELATION_NAMES.len() * n_objects);
        for name in RELATION_NAMES {
            let lists = value.get(name).and_then(Value::as_array).filter(|lists| lists.len() == n_objects);
            let lists = lists.ok_or_else(|| format!("\"{name}\": expected a list for each of {n_objects} objects"))?;
            for (i, list) in lists.iter().enumerate() {
                let fault = |got: &Value| {
                    format!("\"{name}\"[{i}]: expected numbers of objects below {n_objects}, got {}", shortened(got))
                };
                let mut set = 0u32;
                for item in list.as_array().ok_or_else(|| fault(list))? {
                    let object = item.as_u64().filter(|&o| o < n_objects as u64).ok_or_else(|| fault(item))?;
                    set |= 1 << object;
                }
                sets.push(set);
            }
        }
        Ok(sets)
    }
}
