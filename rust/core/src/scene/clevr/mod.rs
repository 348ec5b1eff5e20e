//! CLEVR's published train scenes, and the places of a train pool that they take.
//!
//! Some of the paper's train images come from CLEVR. Here a pool's places are divided into runs of `1 / share`; in each
//! run, one place, drawn at random, has a published scene, the next in a seeded permutation. So every prefix of the
//! pool holds the same share of published scenes, give or take one, whatever size was asked for.

mod read;

pub use read::read_clevr;

use super::relation::Directions;
use super::{Object, Origin, Scene, SceneError};
use crate::rng::{Permutation, StreamKey};
use crate::vocab::Vocabulary;
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
    /// The directions of the camera before its jitter, which all published scenes have.
    directions: Directions,
    digest: String,
}

/// Scenes to be mixed into a pool, and how many of its places they take.
#[derive(Clone, Debug)]
pub struct ClevrImport {
    scenes: Arc<ClevrScenes>,
    share_ppm: u32,
}

/// Which places of one pool have which published scene.
#[derive(Clone, Debug)]
pub(super) struct Places<'w> {
    import: &'w ClevrImport,
    order: Permutation,
    draws: StreamKey,
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
        Self { scenes, directions, digest: hasher.finalize().to_hex().to_string() }
    }

    pub fn n_scenes(&self) -> usize {
        self.scenes.len()
    }

    /// BLAKE3 of the scenes' content, in hex: the same in any order of scenes and keys.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The published index of the scene with this number.
    pub fn published_index(&self, number: usize) -> u32 {
        self.scenes[number].0
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

    /// How many of a pool's first places the scenes are spread over; later places have none.
    pub fn reach(&self) -> u64 {
        self.run_begins(self.scenes.n_scenes() as u64)
    }

    /// The first place of a run; in each run one place has a published scene.
    fn run_begins(&self, run: u64) -> u64 {
        (run * MILLION).div_ceil(u64::from(self.share_ppm))
    }
}

const MILLION: u64 = 1_000_000;

impl<'w> Places<'w> {
    /// `key` names the pool's stream, which decides the places and the order.
    pub(super) fn new(import: &'w ClevrImport, key: &StreamKey, pool: &str) -> Self {
        Self {
            import,
            order: Permutation::new(&StreamKey::new(&[b"order", key.as_bytes()]), import.scenes.n_scenes() as u32),
            draws: StreamKey::new(&[b"place in run", key.as_bytes()]),
            origin: Arc::new(Origin { pool: pool.to_owned(), stream: None, lights: Vec::new() }),
        }
    }

    /// The number of the published scene at a pool's index; None for a place of the pool's own.
    pub(super) fn number_at(&self, index: u64) -> Option<usize> {
        if index >= self.import.reach() {
            return None;
        }
        let run = index * u64::from(self.import.share_ppm) / MILLION;
        let begin = self.import.run_begins(run);
        let length = self.import.run_begins(run + 1) - begin;
        let place = begin + u64::from(self.draws.at(run).below(length as u32));
        (place == index).then(|| self.order.at(run as u32) as usize)
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
