//! The scenes of a pool that a split may ask about, place by place.
//!
//! The number of objects comes first: place j of a split has as many objects as scene j of the pool, and takes the next
//! scene of that number, in the pool's order, that satisfies the split's predicate. So a predicate does not change how
//! many objects scenes have, although fewer scenes satisfy it the more objects they have, or the fewer. If all scenes
//! satisfy it, place j takes scene j. Which scenes do is known before they are placed.

use super::error::SplitError;
use super::pool_scenes::{PlacedScene, PoolScenes};
use crate::holdout::Holdout;
use crate::question::balance::WINDOW;
use crate::scene::{Pool, SceneView};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many scenes of one number of objects may be ineligible in a row before a split is given up.
const MOST_TRIED: u64 = 100_000;

/// Which scenes a split takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneRule {
    Any,
    Without,
    With,
}

/// The eligible scenes of a pool that are waiting for questions.
pub struct EligibleScenes {
    pool_scenes: Arc<PoolScenes>,
    /// The split's name, for messages.
    name: String,
    scenes: SceneRule,
    holdout: Option<Holdout>,
    /// The number of places that have a scene.
    n_found: u64,
    /// For each number of objects, from the smallest on, the next run of the pool to look for it in.
    next_runs: Vec<u64>,
    /// Indices in the pool, whole windows of them, in the order of the places.
    waiting: VecDeque<u64>,
}

/// An eligible scene: its index, and what questions see of it.
#[derive(Clone)]
pub struct Eligible {
    pub index: u64,
    placed: Arc<PlacedScene>,
}

impl Eligible {
    pub fn view(&self) -> SceneView<'_> {
        self.placed.graph.view()
    }
}

impl EligibleScenes {
    pub fn new(pool_scenes: Arc<PoolScenes>, name: &str, scenes: SceneRule, holdout: Option<Holdout>) -> Self {
        let next_runs = vec![0; pool_scenes.world().config().run_length() as usize];
        Self { pool_scenes, name: name.to_owned(), scenes, holdout, n_found: 0, next_runs, waiting: VecDeque::new() }
    }

    pub fn pool_scenes(&self) -> &PoolScenes {
        &self.pool_scenes
    }

    pub fn holdout(&self) -> Option<&Holdout> {
        self.holdout.as_ref()
    }

    /// Number of complete windows that are waiting for questions.
    pub fn waiting_windows(&self) -> usize {
        self.waiting.len() / WINDOW
    }

    /// Finds the scenes of one more window, which takes a fraction of a second and places none of them.
    ///
    /// # Errors
    /// `Impossible` if hardly any scene of some number of objects is eligible.
    pub fn find_window(&mut self) -> Result<(), SplitError> {
        let pool_scenes = Arc::clone(&self.pool_scenes);
        let pool = pool_scenes.stream();
        let window: Result<Vec<u64>, SplitError> = (0..WINDOW).map(|_| self.next(&pool)).collect();
        self.waiting.extend(window?);
        Ok(())
    }

    /// The scene of the next place.
    fn next(&mut self, pool: &Pool<'_>) -> Result<u64, SplitError> {
        let n_objects = pool.n_objects(self.n_found);
        let cursor = (n_objects - pool.world().config().min_objects) as usize;
        let first = self.next_runs[cursor];
        let found = (first..first + MOST_TRIED).find_map(|run| {
            let index = pool.index_of(run, n_objects);
            self.is_eligible(pool, index).then_some((run, index))
        });
        let (run, index) = found.ok_or_else(|| self.no_scenes(n_objects))?;
        self.next_runs[cursor] = run + 1;
        self.n_found += 1;
        Ok(index)
    }

    /// Skips the next windows, at most `count` and only complete ones. Returns the indices of their scenes, in order.
    pub fn skip_windows(&mut self, count: usize) -> Vec<u64> {
        self.waiting.drain(..count.min(self.waiting_windows()) * WINDOW).collect()
    }

    /// The scenes of the next windows, at most `count` and only complete ones, placed.
    pub fn take_windows(&mut self, count: usize) -> Result<Vec<Eligible>, SplitError> {
        let indices = self.skip_windows(count);
        let placed = self.pool_scenes.scenes(&indices)?;
        Ok(indices.into_iter().zip(placed).map(|(index, placed)| Eligible { index, placed }).collect())
    }

    /// Places the scenes of one of the windows that are waiting, so that to take it is quick.
    pub fn place_window(&mut self, window: usize) -> Result<(), SplitError> {
        let indices: Vec<u64> = self.waiting.iter().skip(window * WINDOW).take(WINDOW).copied().collect();
        self.pool_scenes.scenes(&indices)?;
        Ok(())
    }

    fn is_eligible(&self, pool: &Pool<'_>, index: u64) -> bool {
        let Some(holdout) = &self.holdout else { return self.scenes == SceneRule::Any };
        let has_pair = || pool.attributes(index).iter().any(|values| holdout.is_met_by(values));
        match self.scenes {
            SceneRule::Any => true,
            SceneRule::Without => !has_pair(),
            SceneRule::With => has_pair(),
        }
    }

    /// The held-out values, for messages.
    pub fn holdout_text(&self) -> String {
        self.holdout.as_ref().map_or_else(|| "nothing".to_owned(), |h| h.describe(self.pool_scenes.world().vocab()))
    }

    /// An error of the split.
    pub fn fault(&self, problem: String) -> SplitError {
        SplitError::Impossible { split: self.name.clone(), problem }
    }

    fn no_scenes(&self, n_objects: u32) -> SplitError {
        let (pool, held) = (self.pool_scenes.pool(), self.holdout_text());
        let predicate = if self.scenes == SceneRule::With { "holds" } else { "is without" };
        let s = if n_objects == 1 { "" } else { "s" };
        self.fault(format!(
            "of {MOST_TRIED} scenes of {n_objects} object{s} in a row of pool {pool}, none {predicate} {held}, and each \
             number of objects must be equally frequent; hold out another pair, or change world.min_objects or \
             world.max_objects"
        ))
    }
}
