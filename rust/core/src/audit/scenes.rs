//! Reads finished scene files: the scenes on which programs are executed, and digests to find scenes that look alike.

use super::error::{AuditError, FileError};
use super::relations::{ByRelation, Directions, find_wrong_relation};
use crate::message::{json_cause, shown};
use crate::scene::{SceneGraph, SceneView};
use crate::vocab::{MAX_OBJECTS, N_TYPES, RELATION_NAMES, Vocabulary};
use rayon::prelude::*;
use serde::Deserialize;
use std::borrow::Cow;
use std::path::PathBuf;

/// A scene of a finished file.
#[derive(Debug)]
pub struct FinishedScene {
    /// Its index in its pool.
    pub index: i64,
    pub filename: String,
    /// Digest of the objects, their positions and rotations: equal for scenes that look alike except for camera and
    /// lights.
    pub look: u64,
    /// Digest of only the positions (x and y; z follows from the size) and rotations.
    pub place: u64,
    /// The first relationship that contradicts positions and directions.
    pub wrong_relation: Option<String>,
    /// Position of the camera; NaN if the file does not have it.
    pub camera: [f64; 3],
    /// The directions "behind" and "left"; NaN if the file does not have them.
    pub behind: [f64; 3],
    pub left: [f64; 3],
    graph: SceneGraph,
}

/// The scenes of some files, in the files' order.
#[derive(Debug)]
pub struct FinishedScenes(pub Vec<FinishedScene>);

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    scenes: Vec<Row<'a>>,
}

#[derive(Deserialize)]
struct Row<'a> {
    image_index: i64,
    image_filename: String,
    #[serde(borrow)]
    objects: Vec<Object<'a>>,
    camera: Option<Camera>,
    directions: Option<Directions>,
    relationships: ByRelation<Vec<Vec<usize>>>,
}

#[derive(Deserialize)]
struct Camera {
    location: [f64; 3],
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow)]
    size: Cow<'a, str>,
    #[serde(borrow)]
    color: Cow<'a, str>,
    #[serde(borrow)]
    material: Cow<'a, str>,
    #[serde(borrow)]
    shape: Cow<'a, str>,
    #[serde(rename = "3d_coords")]
    coords: [f64; 3],
    rotation: f64,
}

impl FinishedScenes {
    /// Reads files; uses all cores.
    pub fn read(paths: &[PathBuf], vocab: &Vocabulary) -> Result<Self, FileError> {
        let read = |path: &PathBuf| {
            let file = path.display().to_string();
            match std::fs::read(path) {
                Ok(bytes) => Ok(Self::from_json(&bytes, &file, vocab)?.0),
                Err(error) => Err(FileError { place: file, problem: error.to_string() }),
            }
        };
        let files: Vec<Vec<FinishedScene>> = paths.par_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self(files.into_iter().flatten().collect()))
    }

    /// The scenes of a file's bytes; `file` names it in messages.
    pub fn from_json(bytes: &[u8], file: &str, vocab: &Vocabulary) -> Result<Self, FileError> {
        let parsed: File<'_> = serde_json::from_slice(bytes).map_err(|error| {
            let kind = if error.is_data() { "not a CLEVR scene file" } else { "broken JSON" };
            let place = format!("{file}:{}:{}", error.line(), error.column());
            FileError { place, problem: format!("{kind} ({})", json_cause(&error)) }
        })?;
        let scenes = parsed.scenes.into_iter().map(|row| {
            let index = row.image_index;
            row.read(vocab).map_err(|problem| FileError { place: format!("{file}: scene {index}"), problem })
        });
        Ok(Self(scenes.collect::<Result<_, _>>()?))
    }

    pub fn view(&self, scene: usize) -> Option<SceneView<'_>> {
        self.0.get(scene).map(|scene| scene.graph.view())
    }

    /// By scene, the numbers of each object's values.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = &[[u8; N_TYPES]]> {
        self.0.iter().map(|scene| scene.graph.view().attributes)
    }

    /// By scene, whether one of its objects has all these values, each given as type and value.
    pub fn holding(&self, vocab: &Vocabulary, values: &[(String, String)]) -> Result<Vec<bool>, AuditError> {
        let wanted = super::program::find_values(vocab, values)?;
        let has_all = |object: &[u8; N_TYPES]| wanted.iter().all(|&(kind, value)| usize::from(object[kind]) == value);
        Ok(self.attributes().map(|objects| objects.iter().any(has_all)).collect())
    }
}

impl Row<'_> {
    fn read(self, vocab: &Vocabulary) -> Result<FinishedScene, String> {
        let n = self.objects.len();
        if n > MAX_OBJECTS {
            return Err(format!("{n} objects, more than {MAX_OBJECTS}"));
        }
        let mut attributes = Vec::with_capacity(n);
        let (mut look, mut place) = (0_u64, blake3::Hasher::new());
        for object in &self.objects {
            let mut values = [0; N_TYPES];
            for (kind, name) in [&object.size, &object.color, &object.material, &object.shape].into_iter().enumerate() {
                let value = vocab.value(kind, name);
                values[kind] = value.ok_or_else(|| format!("\"{}\" is not in the vocabulary", shown(name)))? as u8;
            }
            let mut hasher = blake3::Hasher::new();
            hasher.update(&values);
            attributes.push(values);
            for number in [object.coords[0], object.coords[1], object.rotation] {
                hasher.update(&number.to_bits().to_le_bytes());
                place.update(&number.to_bits().to_le_bytes());
            }
            // A sum, so that the order of objects does not matter.
            look = look.wrapping_add(digest(&hasher));
        }
        let mut sets = Vec::with_capacity(RELATION_NAMES.len() * n);
        for name in RELATION_NAMES {
            let lists = self.relationships.named(name);
            if lists.len() != n || lists.iter().flatten().any(|&object| object >= n) {
                return Err(format!("relationships \"{name}\" do not fit its {n} objects"));
            }
            sets.extend(lists.iter().map(|list| list.iter().fold(0, |set, object| set | 1u32 << object)));
        }
        let coords: Vec<[f64; 3]> = self.objects.iter().map(|object| object.coords).collect();
        let directions = self.directions.as_ref();
        Ok(FinishedScene {
            index: self.image_index,
            filename: self.image_filename,
            look,
            place: digest(&place),
            wrong_relation: find_wrong_relation(directions, &coords, &sets),
            camera: self.camera.map_or([f64::NAN; 3], |camera| camera.location),
            behind: directions.map_or([f64::NAN; 3], |directions| directions.behind),
            left: directions.map_or([f64::NAN; 3], |directions| directions.left),
            graph: SceneGraph::from_masks(vocab, attributes, sets),
        })
    }
}

fn digest(hasher: &blake3::Hasher) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
