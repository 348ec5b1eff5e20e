//! A pool in, its scenes as graphs out: made once, in order, for every split that asks.

use crate::scene::{Pool, SceneError, SceneGraph, World};
use std::sync::{Arc, Mutex, PoisonError};

/// Scenes made at a time: enough to keep all cores busy, few enough to be interrupted.
pub const CHUNK: u64 = 250;

/// The graphs of a pool's first scenes, shared by all splits over the pool.
pub struct PoolScan {
    world: Arc<World>,
    seed: u64,
    pool: String,
    chunks: Mutex<Vec<Arc<Vec<SceneGraph>>>>,
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

    /// Scenes `number * CHUNK` and following; made now, with those before them, if nobody asked yet.
    pub fn chunk(&self, number: u64) -> Result<Arc<Vec<SceneGraph>>, SceneError> {
        // A thread that died while it held the lock has left whole chunks only.
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = Pool::new(&self.world, self.seed, &self.pool);
        while chunks.len() as u64 <= number {
            let first = chunks.len() as u64 * CHUNK;
            let graphs = pool.map_scenes(first..first + CHUNK, |scene| scene.graph(self.world.vocab()))?;
            chunks.push(Arc::new(graphs));
        }
        Ok(Arc::clone(&chunks[number as usize]))
    }

    /// How many scenes have been looked at.
    pub fn scanned(&self) -> u64 {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).len() as u64 * CHUNK
    }
}
