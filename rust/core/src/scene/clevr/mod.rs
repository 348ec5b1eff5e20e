//! CLEVR's published train scenes, and the places of a train pool that they take.
//!
//! Some of the paper's train images come from CLEVR. Here the pool's places for scenes of one number of objects are
//! divided into stretches of `1 / share`; in each, one place, drawn at random, has a published scene of that number, the
//! next in a seeded permutation, until all of them are placed. So every prefix of the pool holds the same share of
//! published scenes of each number, give or take one, whatever size was asked for. With a share of 1, published scenes
//! come first, as in the original.

mod read;

pub use read::read_clevr;

use super::relation::Directions;
use super::{Object, Origin, Scene, SceneError};
use crate::rng::{Permutation, StreamKey};
use crate::vocab::{N_TYPES, Vocabulary};
use std::sync::Arc;

/// The only pool that published scenes go into.
pub const POOL: &str = "train";
/// The only split of CLEVR that they come from.
pub const SPLIT: &str = "train";

/// The scenes of CLEVR's train split, by their published indices.
#[derive(Clone, Debug, PartialEq)]
pub struct ClevrScenes {
    /// Objects of the scenes with their published indices, which ascend.
    scenes: Vec<(u32, Vec<Object>)>,
    /// For each number of objects from 0 on, the numbers of the scenes that have so many.
    with_objects: Vec<Vec<usize>>,
    /// The directions of the camera before its jitter, which all published scenes have.
    directions: Directions,
    digest: String,
}

/// Scenes to be mixed into a pool, and the share of its places that they take while there are any.
#[derive(Clone, Debug)]
pub struct ClevrImport {
    scenes: Arc<ClevrScenes>,
    share_ppm: u32,
}

/// Which places of one pool have which published scene.
#[derive(Clone, Debug)]
pub(super) struct Places<'w> {
    import: &'w ClevrImport,
    /// By number of objects: the order of its published scenes, and the draws of their places.
    of_number: Vec<(Permutation, StreamKey)>,
    origin: Arc<Origin>,
}

/// The name of a published image.
pub fn image_name(index: u32) -> String {
    format!("CLEVR_{SPLIT}_{index:06}.png")
}

impl ClevrScenes {
    /// `scenes` have their published indices, which ascend.
    fn new(vocab: &Vocabulary, scenes: Vec<(u32, Vec<Object>)>, directions: Directions) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("clevrhope CLEVR scenes v1");
        for number in directions.relations.as_flattened() {
            hasher.update(&number.to_bits().to_le_bytes());
        }
        for (index, objects) in &scenes {
            hasher.update(&index.to_le_bytes());
            hasher.update(&[objects.len() as u8]);
            for object in objects {
                for (kind, &value) in object.attributes.iter().enumerate() {
                    let name = vocab.value_name(kind, usize::from(value));
                    hasher.update(&[name.len() as u8]);
                    hasher.update(name.as_bytes());
                }
                let [x, y, z] = object.position;
                let [u, v] = object.pixel.map(f64::from);
                for number in [x, y, z, object.rotation_deg, u, v, object.depth] {
                    hasher.update(&number.to_bits().to_le_bytes());
                }
            }
        }
        let most = scenes.iter().map(|(_, objects)| objects.len()).max().unwrap_or(0);
        let mut with_objects = vec![Vec::new(); most + 1];
        scenes.iter().enumerate().for_each(|(number, (_, objects))| with_objects[objects.len()].push(number));
        Self { scenes, with_objects, directions, digest: hasher.finalize().to_hex().to_string() }
    }

    /// BLAKE3 of the scenes' content, in hex: the same in any order of scenes and keys.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// For each number of objects from 0 on, how many scenes have so many.
    pub fn by_n_objects(&self) -> Vec<usize> {
        self.with_objects.iter().map(Vec::len).collect()
    }
}

impl ClevrImport {
    /// `share` of a pool's places, from one in a million to all of them; counted in millionths.
    ///
    /// # Errors
    /// `Import` for another share.
    pub fn new(scenes: Arc<ClevrScenes>, share: f64) -> Result<Self, SceneError> {
        let share_ppm = (share * 1e6).round();
        if !(1.0..=1e6).contains(&share_ppm) {
            return Err(SceneError::Import(format!(
                "a share of {share} of CLEVR's scenes; expected one above 0, up to 1"
            )));
        }
        Ok(Self { scenes, share_ppm: share_ppm as u32 })
    }

    pub fn scenes(&self) -> &ClevrScenes {
        &self.scenes
    }

    pub fn share_ppm(&self) -> u32 {
        self.share_ppm
    }

    /// The first place of a stretch, counted among a pool's places for one number of objects; in each stretch one place
    /// has a published scene.
    fn begin(&self, stretch: u64) -> u64 {
        (stretch * MILLION).div_ceil(u64::from(self.share_ppm))
    }
}

const MILLION: u64 = 1_000_000;

impl<'w> Places<'w> {
    /// `key` names the pool's stream, which decides the places and the order.
    pub(super) fn new(import: &'w ClevrImport, key: &StreamKey, pool: &str) -> Self {
        let of_number = |(n_objects, scenes): (usize, &Vec<usize>)| {
            let key = |kind: &[u8]| StreamKey::new(&[kind, key.as_bytes(), &n_objects.to_le_bytes()]);
            (Permutation::new(&key(b"order"), scenes.len() as u32), key(b"place in stretch"))
        };
        Self {
            import,
            of_number: import.scenes.with_objects.iter().enumerate().map(of_number).collect(),
            origin: Arc::new(Origin { pool: pool.to_owned(), stream: None, lights: Vec::new() }),
        }
    }

    /// The number of the published scene at the pool's place with this number of objects in a run; None if the scene
    /// there is the pool's own.
    pub(super) fn number_at(&self, run: u64, n_objects: u32) -> Option<usize> {
        let scenes = self.import.scenes.with_objects.get(n_objects as usize)?;
        let stretch = run * u64::from(self.import.share_ppm) / MILLION;
        if stretch >= scenes.len() as u64 {
            return None;
        }
        let (order, draws) = &self.of_number[n_objects as usize];
        let begin = self.import.begin(stretch);
        let length = self.import.begin(stretch + 1) - begin;
        let place = begin + u64::from(draws.at(stretch).below(length as u32));
        (place == run).then(|| scenes[order.at(stretch as u32) as usize])
    }

    pub(super) fn published_index(&self, number: usize) -> u32 {
        self.import.scenes.scenes[number].0
    }

    pub(super) fn attributes(&self, number: usize) -> Vec<[u8; N_TYPES]> {
        self.import.scenes.scenes[number].1.iter().map(|object| object.attributes).collect()
    }

    /// A published scene, as the pool has it at an index.
    pub(super) fn scene(&self, number: usize, index: u64) -> Scene {
        let scenes = &self.import.scenes;
        let (published, objects) = scenes.scenes[number].clone();
        let positions: Vec<_> = objects.iter().map(|object| object.position).collect();
        Scene {
            origin: Arc::clone(&self.origin),
            index,
            image_filename: None,
            source: Some(image_name(published).into()),
            related: scenes.directions.related(&positions),
            objects,
            directions: scenes.directions,
            staging: None,
        }
    }
}
