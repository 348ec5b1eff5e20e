//! The scenes of a pool that splits ask about, each placed once for all splits over the pool.

use crate::scene::{Pool, Scene, SceneError, SceneGraph, World};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many placed scenes are kept, in some 700 MB: making them again for their files would take a tenth of the time of
/// a dataset's text. Any others are made again where they are needed.
const MOST_KEPT: usize = 600_000;

/// A scene, and what questions see of it.
pub struct PlacedScene {
    pub scene: Arc<Scene>,
    pub graph: SceneGraph,
}

/// The scenes of a pool that have been placed, shared by all splits over the pool.
pub struct PoolScenes {
    world: Arc<World>,
    seed: u64,
    pool: String,
    placed: Mutex<HashMap<u64, Arc<PlacedScene>>>,
}

impl PoolScenes {
    pub fn new(world: Arc<World>, seed: u64, pool: &str) -> Self {
        Self { world, seed, pool: pool.to_owned(), placed: Mutex::default() }
    }

    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The pool's name.
    pub fn pool(&self) -> &str {
        &self.pool
    }

    /// The pool's stream of scenes.
    pub fn stream(&self) -> Pool<'_> {
        Pool::new(&self.world, self.seed, &self.pool)
    }

    /// Scenes by index, in the order given; each is placed on first use.
    pub fn scenes(&self, indices: &[u64]) -> Result<Vec<Arc<PlacedScene>>, SceneError> {
        let kept: Vec<Option<Arc<PlacedScene>>> = {
            let placed = self.placed();
            indices.iter().map(|index| placed.get(index).map(Arc::clone)).collect()
        };
        let missing = indices.iter().zip(&kept).filter(|(_, kept)| kept.is_none()).map(|(&index, _)| index);
        let look_at = |scene: Scene| {
            let graph = scene.graph(self.world.vocab());
            Arc::new(PlacedScene { scene: Arc::new(scene), graph })
        };
        let made = self.stream().map_scenes(missing, look_at)?;
        let mut placed = self.placed();
        for scene in &made {
            if placed.len() < MOST_KEPT {
                placed.insert(scene.scene.index, Arc::clone(scene));
            }
        }
        let mut made = made.into_iter();
        Ok(kept.into_iter().filter_map(|kept| kept.or_else(|| made.next())).collect())
    }

    /// How many scenes are kept.
    pub fn n_kept(&self) -> usize {
        self.placed().len()
    }

    fn placed(&self) -> MutexGuard<'_, HashMap<u64, Arc<PlacedScene>>> {
        // A thread that panicked while it held the lock left only whole scenes.
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
