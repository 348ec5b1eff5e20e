//! Scenes: what is in an image, where, and how it is seen.
//!
//! Properties, look and constraints make a [`World`]; a world, a seed and a name make a [`Pool`],
//! an endless stream of [`Scene`]s; a scene goes to and from JSON, and gives a [`SceneGraph`]. Several scenes that are
//! asked about together are a [`SceneSet`].

pub mod camera;
pub mod clevr;
pub mod config;
mod edit;
pub mod geometry;
pub mod graph;
pub mod ground;
pub mod json;
pub mod look;
pub mod palette;
mod rejections;
pub mod relation;
pub mod sample;
pub mod set;
pub mod view;
pub mod visibility;
pub mod world;

pub use clevr::{ClevrImport, ClevrScenes};
pub use config::{DirectionsFrom, SceneConfig};
pub use graph::{SceneGraph, SceneView};
pub use palette::Palette;
pub use rejections::Rejections;
pub use relation::Directions;
pub use sample::Pool;
pub use set::{MAX_IMAGES, MAX_SET_OBJECTS, SceneSet, SceneSetError};
pub use world::{Asset, World};

use crate::vocab::{N_TYPES, VocabError, Vocabulary};
use geometry::Vec3;
use std::sync::Arc;
use thiserror::Error;

/// What can be wrong with scenes, or with what they are made from.
#[derive(Debug, Error)]
pub enum SceneError {
    #[error(transparent)]
    Vocab(#[from] VocabError),
    #[error("{0}")]
    Json(String),
    #[error("scene constraints: {key} is {value}, but has to be {expected}")]
    Config { key: &'static str, value: String, expected: String },
    #[error("{file}: {place}: {problem}")]
    Invalid { file: String, place: String, problem: String },
    #[error("{0}")]
    Import(String),
    #[error("{file}: scenes[{index}].{place}: {problem}")]
    Scene { file: String, index: usize, place: String, problem: String },
    #[error(
        "scene {index} of pool \"{pool}\" (seed {seed}) could not be sampled: {n_objects} objects, {rejections}; \
         ask for fewer objects or loosen the constraint that rejected most"
    )]
    Exhausted { pool: String, seed: u64, index: u64, n_objects: usize, rejections: Rejections },
}

/// What is wrong with a scene in a file, and where.
struct Fault {
    place: String,
    problem: String,
}

impl Fault {
    fn at(self, file: &str, index: usize) -> SceneError {
        SceneError::Scene { file: file.to_owned(), index, place: self.place, problem: self.problem }
    }
}

/// One scene, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    pub origin: Arc<Origin>,
    /// Index in its pool, which never changes.
    pub index: u64,
    /// If None, the name is made from the pool and the index.
    pub image_filename: Option<Box<str>>,
    /// The name under which the image was published, for a scene from elsewhere.
    pub source: Option<Box<str>>,
    pub objects: Vec<Object>,
    /// By `relation * n_objects + object`: the objects that stand in the relation to the object.
    pub related: Vec<u32>,
    pub directions: Directions,
    /// Where the image is taken from and lit from; published CLEVR scenes do not record it.
    pub staging: Option<Staging>,
}

/// What the scenes of a pool have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The pool's name; `split` in scene files.
    pub pool: String,
    /// What the scenes are a function of, together with their index; None for scenes from elsewhere.
    pub stream: Option<StreamId>,
    /// Names of the lights that have a position.
    pub lights: Vec<String>,
}

/// What a pool's stream of scenes depends on besides the pool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamId {
    /// Fingerprint of the world.
    pub world: String,
    pub seed: u64,
}

/// The parts of the camera and the lights that differ from scene to scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Staging {
    pub camera: Vec3,
    /// In the order of `Origin::lights`.
    pub lights: Vec<Vec3>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    /// Value number by attribute type.
    pub attributes: [u8; N_TYPES],
    /// The position of its centre.
    pub position: Vec3,
    pub rotation_deg: f64,
    /// Where its centre falls in the image, right and down, and its depth.
    pub pixel: [i32; 2],
    pub depth: f64,
    /// What is seen of it; published CLEVR scenes do not record it.
    pub sight: Option<Seen>,
}

/// What is seen of an object in its image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub visible_px: u32,
    /// The visible share of the pixels that it would have if no other object were there.
    pub visible_fraction: f64,
    /// Tight box of the visible pixels: x and y of the first pixel, x and y one past the last.
    pub bbox: [u16; 4],
}

/// The file name of an image of a pool.
pub fn image_filename(pool: &str, index: u64) -> String {
    format!("HOPE_{pool}_{index:06}.png")
}

impl Scene {
    pub fn n_objects(&self) -> usize {
        self.objects.len()
    }

    /// The file name of the scene's image, unique over all pools.
    pub fn image_filename(&self) -> String {
        self.image_filename.as_deref().map_or_else(|| image_filename(&self.origin.pool, self.index), str::to_owned)
    }

    /// What programs and questions see of the scene.
    pub fn graph(&self, vocab: &Vocabulary) -> SceneGraph {
        SceneGraph::from_masks(vocab, self.objects.iter().map(|o| o.attributes).collect(), self.related.clone())
    }
}
