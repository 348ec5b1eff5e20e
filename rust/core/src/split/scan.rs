//! The scenes of a pool as graphs, made once, in order, for all splits over the pool.

use crate::scene::{Pool, Scene, SceneError, SceneGraph, World};
use std::sync::{Arc, Mutex, PoisonError};

/// Scenes made at a time: enough to keep all cores busy, few enough that the work can be interrupted.
pub const CHUNK: u64 = 250;

/// How many of a pool's first scenes are kept whole, in some 700 MB: making them again for their files would take a
/// tenth of the time of a dataset's text. Of later scenes, only the graphs are kept.
const MOST_KEPT: u64 = 600_000;

/// A run of consecutive scenes.
struct Chunk {
    graphs: Arc<Vec<SceneGraph>>,
    /// Empty if the scenes are not kept.
    scenes: Vec<Arc<Scene>>,
}

/// The graphs of a pool's first scenes, shared by all splits over the pool.
pub struct PoolScan {
    world: Arc<World>,
    seed: u64,
    pool: String,
    chunks: Mutex<Vec<Chunk>>,
}

impl PoolScan {
    pub fn new(world: Arc<World>, seed: u64, pool: &str) -> Self {
        Self { world, seed, pool: pool.to_owned(), chunks: Mutex::default() }
    }

    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// The graphs of the scenes from `number * CHUNK` on; they and all scenes before them are made on first use.
    pub fn chunk(&self, number: u64) -> Result<Arc<Vec<SceneGraph>>, SceneError> {
        // A thread that panicked while it held the lock left only whole chunks.
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = Pool::new(&self.world, self.seed, &self.pool);
        while chunks.len() as u64 <= number {
            let first = chunks.len() as u64 * CHUNK;
            let look_at = |scene: Scene| (scene.graph(self.world.vocab()), Arc::new(scene));
            let (graphs, mut scenes): (_, Vec<_>) = pool.map_scenes(first..first + CHUNK, look_at)?.into_iter().unzip();
            if first >= MOST_KEPT {
                scenes = Vec::new();
            }
            chunks.push(Chunk { graphs: Arc::new(graphs), scenes });
        }
        Ok(Arc::clone(&chunks[number as usize].graphs))
    }

    /// Scenes by index, in the order given; scenes that were not kept are made again.
    pub fn scenes(&self, indices: &[u64]) -> Result<Vec<Arc<Scene>>, SceneError> {
        let kept: Vec<Option<Arc<Scene>>> = {
            let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
            let find = |&index: &u64| {
                let chunk = chunks.get(usize::try_from(index / CHUNK).ok()?)?;
                chunk.scenes.get((index % CHUNK) as usize).map(Arc::clone)
            };
            indices.iter().map(find).collect()
        };
        let missing = indices.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(&index, _)| index);
        let mut made = Pool::new(&self.world, self.seed, &self.pool).scenes(missing)?.into_iter();
        Ok(kept.into_iter().filter_map(|kept| kept.or_else(|| made.next().map(Arc::new))).collect())
    }

    /// How many scenes have been looked at.
    pub fn scanned(&self) -> u64 {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).len() as u64 * CHUNK
    }
}
