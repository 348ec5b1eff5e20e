//! Finished scene files in; by scene its index, its image's name, what programs see of it, and digests that
//! tell what is where out.

use super::AuditError;
use super::relations::{Towards, misrelated};
use crate::message::{json_cause, shown};
use crate::scene::{SceneGraph, SceneView};
use crate::vocab::{MAX_OBJECTS, N_TYPES, RELATION_NAMES, Vocabulary};
use rayon::prelude::*;
use serde::Deserialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum SceneFileError {
    #[error("{file}: {error}")]
    Io { file: String, error: std::io::Error },
    #[error("{file}:{line}:{column}: {problem}")]
    Json { file: String, line: usize, column: usize, problem: String },
    #[error("{file}: scene {index}: {problem}")]
    Scene { file: String, index: i64, problem: String },
}

/// The scenes of some files, in the files' order.
#[derive(Debug, Default)]
pub struct FinishedScenes {
    /// In its pool, by scene.
    pub indices: Vec<i64>,
    pub filenames: Vec<String>,
    /// Digests of the objects, their places and rotations: the same for scenes that would look alike but for
    /// camera and lights.
    pub looks: Vec<u64>,
    /// Digests of places (x and y; z goes with the size) and rotations alone.
    pub places: Vec<u64>,
    /// Scenes, by number here, whose relationships are not what places and directions say, and the first of those.
    pub misrelated: Vec<(usize, String)>,
    /// Where cameras stood; not numbers where a scene does not say.
    pub cameras: Vec<[f64; 3]>,
    /// What scenes call behind, and left; not numbers where a scene does not say.
    pub behind: Vec<[f64; 3]>,
    pub left: Vec<[f64; 3]>,
    graphs: Vec<SceneGraph>,
}

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
    objects: Vec<Thing<'a>>,
    camera: Option<Standing>,
    directions: Option<Towards>,
    relationships: Related,
}

#[derive(Deserialize)]
struct Standing {
    location: [f64; 3],
}

#[derive(Deserialize)]
struct Thing<'a> {
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

#[derive(Deserialize)]
struct Related {
    left: Vec<Vec<usize>>,
    right: Vec<Vec<usize>>,
    front: Vec<Vec<usize>>,
    behind: Vec<Vec<usize>>,
}

impl FinishedScenes {
    /// Reads files; uses all cores.
    pub fn read(paths: &[PathBuf], vocab: &Vocabulary) -> Result<Self, SceneFileError> {
        let files: Vec<Self> = paths.par_iter().map(|path| Self::read_one(path, vocab)).collect::<Result<_, _>>()?;
        let mut all = Self::default();
        for mut file in files {
            all.indices.append(&mut file.indices);
            all.filenames.append(&mut file.filenames);
            all.looks.append(&mut file.looks);
            all.places.append(&mut file.places);
            all.cameras.append(&mut file.cameras);
            all.behind.append(&mut file.behind);
            all.left.append(&mut file.left);
            let before = all.graphs.len();
            all.misrelated.extend(file.misrelated.drain(..).map(|(scene, fault)| (before + scene, fault)));
            all.graphs.append(&mut file.graphs);
        }
        Ok(all)
    }

    fn read_one(path: &Path, vocab: &Vocabulary) -> Result<Self, SceneFileError> {
        let file = path.display().to_string();
        match std::fs::read(path) {
            Ok(bytes) => Self::from_json(&bytes, &file, vocab),
            Err(error) => Err(SceneFileError::Io { file, error }),
        }
    }

    /// The scenes of a file's bytes; `file` names it in messages.
    pub fn from_json(bytes: &[u8], file: &str, vocab: &Vocabulary) -> Result<Self, SceneFileError> {
        let file = || file.to_owned();
        let parsed: File<'_> = serde_json::from_slice(bytes).map_err(|error| SceneFileError::Json {
            file: file(),
            line: error.line(),
            column: error.column(),
            problem: match error.classify() {
                serde_json::error::Category::Data => format!("no scene file of CLEVR's kind ({})", json_cause(&error)),
                _ => format!("broken JSON ({})", json_cause(&error)),
            },
        })?;
        let mut scenes = Self::default();
        for row in parsed.scenes {
            let index = row.image_index;
            scenes.add(row, vocab).map_err(|problem| SceneFileError::Scene { file: file(), index, problem })?;
        }
        Ok(scenes)
    }

    fn add(&mut self, row: Row<'_>, vocab: &Vocabulary) -> Result<(), String> {
        let n = row.objects.len();
        if n > MAX_OBJECTS {
            return Err(format!("{n} objects, more than {MAX_OBJECTS}"));
        }
        let mut attributes = Vec::with_capacity(n);
        let (mut looks, mut place) = (0_u64, blake3::Hasher::new());
        for thing in &row.objects {
            let mut values = [0; N_TYPES];
            for (kind, name) in [&thing.size, &thing.color, &thing.material, &thing.shape].into_iter().enumerate() {
                let value =
                    vocab.value(kind, name).ok_or_else(|| format!("\"{}\" is in no vocabulary", shown(name)))?;
                values[kind] = value as u8;
            }
            let mut look = blake3::Hasher::new();
            look.update(&values);
            attributes.push(values);
            for number in [thing.coords[0], thing.coords[1], thing.rotation] {
                look.update(&number.to_bits().to_le_bytes());
                place.update(&number.to_bits().to_le_bytes());
            }
            // A sum, so that the same objects in another order look the same.
            looks = looks.wrapping_add(digest(&look));
        }
        let mut sets = Vec::with_capacity(RELATION_NAMES.len() * n);
        for name in RELATION_NAMES {
            let lists = row.relationships.named(name);
            if lists.len() != n || lists.iter().flatten().any(|&object| object >= n) {
                return Err(format!("relationships \"{name}\" do not fit its {n} objects"));
            }
            sets.extend(lists.iter().map(|list| list.iter().fold(0, |set, object| set | 1u32 << object)));
        }
        let coords: Vec<[f64; 3]> = row.objects.iter().map(|thing| thing.coords).collect();
        if let Some(fault) = misrelated(row.directions.as_ref(), &coords, &sets) {
            self.misrelated.push((self.graphs.len(), fault));
        }
        self.cameras.push(row.camera.map_or([f64::NAN; 3], |camera| camera.location));
        let towards = row.directions.as_ref();
        self.behind.push(towards.map_or([f64::NAN; 3], |towards| towards.behind));
        self.left.push(towards.map_or([f64::NAN; 3], |towards| towards.left));
        self.indices.push(row.image_index);
        self.filenames.push(row.image_filename);
        self.looks.push(looks);
        self.places.push(digest(&place));
        self.graphs.push(SceneGraph::from_masks(vocab, attributes, sets));
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.indices.len()
    }

    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    pub fn view(&self, scene: usize) -> Option<SceneView<'_>> {
        self.graphs.get(scene).map(SceneGraph::view)
    }

    /// By scene, the value numbers of each object.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = &[[u8; N_TYPES]]> {
        self.graphs.iter().map(|graph| graph.view().attributes)
    }

    /// By scene, whether one of its objects has all these values, each a type and a value.
    pub fn holding(&self, vocab: &Vocabulary, values: &[(String, String)]) -> Result<Vec<bool>, AuditError> {
        let wanted = super::program::find_values(vocab, values)?;
        let has_all = |object: &[u8; N_TYPES]| wanted.iter().all(|&(kind, value)| usize::from(object[kind]) == value);
        Ok(self.graphs.iter().map(|graph| graph.view().attributes.iter().any(has_all)).collect())
    }
}

impl Related {
    fn named(&self, relation: &str) -> &[Vec<usize>] {
        match relation {
            "left" => &self.left,
            "right" => &self.right,
            "front" => &self.front,
            _ => &self.behind,
        }
    }
}

fn digest(hasher: &blake3::Hasher) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
