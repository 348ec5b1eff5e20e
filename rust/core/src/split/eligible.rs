//! The scenes of a pool that a split may ask about, in order: those that satisfy its predicate, possibly thinned.

use super::error::SplitError;
use super::object_counts::{BLOCK, EmptyBlocks, by_number, thin};
use super::scan::{CHUNK, PoolScan};
use crate::holdout::Holdout;
use crate::question::balance::WINDOW;
use crate::rng::StreamKey;
use crate::scene::{SceneGraph, SceneView};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How many scenes are scanned for one window before a split is given up as starved.
const MOST_SCANNED_FOR_A_WINDOW: u64 = 500_000;
/// How many scenes in a row may be ineligible before a split is given up.
const MOST_SCANNED_FOR_NOTHING: u64 = 50_000;

/// Which scenes a split takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneRule {
    Any,
    Without,
    With,
}

/// The eligible scenes of a pool that are waiting for questions.
pub struct EligibleScenes {
    scan: Arc<PoolScan>,
    /// The split's name, for messages.
    name: String,
    scenes: SceneRule,
    holdout: Option<Holdout>,
    /// Names the draws by which scenes are thinned until all numbers of objects are equally frequent; None if scenes
    /// are not thinned.
    matching: Option<StreamKey>,
    /// The next scene of the pool to look at.
    next: u64,
    /// In order; windows are taken from the front.
    waiting: VecDeque<Eligible>,
    /// Scenes looked at since the last window became complete.
    looked_at: u64,
    /// Blocks that thinning left empty.
    empty_blocks: EmptyBlocks,
}

/// An eligible scene: its index, and the chunk that holds it.
#[derive(Clone)]
pub struct Eligible {
    pub index: u64,
    chunk: Arc<Vec<SceneGraph>>,
}

impl Eligible {
    pub fn view(&self) -> SceneView<'_> {
        graph(&self.chunk, self.index)
    }
}

impl EligibleScenes {
    /// Scenes are thinned if `matching` is given.
    pub fn new(
        scan: Arc<PoolScan>,
        name: &str,
        scenes: SceneRule,
        holdout: Option<Holdout>,
        matching: Option<StreamKey>,
    ) -> Self {
        Self {
            scan,
            name: name.to_owned(),
            scenes,
            holdout,
            matching,
            next: 0,
            waiting: VecDeque::new(),
            looked_at: 0,
            empty_blocks: EmptyBlocks::default(),
        }
    }

    pub fn scan(&self) -> &PoolScan {
        &self.scan
    }

    pub fn holdout(&self) -> Option<&Holdout> {
        self.holdout.as_ref()
    }

    /// Number of complete windows that are waiting for questions.
    pub fn waiting_windows(&self) -> usize {
        self.waiting.len() / WINDOW
    }

    /// Looks at some more scenes of the pool for eligible ones, for a fraction of a second.
    pub fn look_further(&mut self) -> Result<(), SplitError> {
        let found = self.waiting.len() % WINDOW;
        if let Some((number, times, blocks)) = self.empty_blocks.too_many() {
            return Err(self.no_scenes_of(number, times, blocks));
        }
        // Where scenes are thinned, empty blocks are counted instead.
        let is_nothing = found == 0 && self.matching.is_none();
        let most = if is_nothing { MOST_SCANNED_FOR_NOTHING } else { MOST_SCANNED_FOR_A_WINDOW };
        if self.looked_at >= most {
            return Err(self.no_scenes(found, self.looked_at));
        }
        let whole = self.waiting_windows();
        let began = self.next;
        let mut eligible = self.eligible_in_chunk()?;
        if self.matching.is_some() {
            while !self.next.is_multiple_of(BLOCK) {
                eligible.extend(self.eligible_in_chunk()?);
            }
            eligible = self.matched(eligible, began / BLOCK);
        }
        self.looked_at += self.next - began;
        self.waiting.extend(eligible);
        if self.waiting_windows() > whole {
            self.looked_at = 0;
        }
        Ok(())
    }

    /// The eligible scenes of the next chunk.
    fn eligible_in_chunk(&mut self) -> Result<Vec<Eligible>, SplitError> {
        let chunk = self.scan.chunk(self.next / CHUNK)?;
        let end = (self.next / CHUNK + 1) * CHUNK;
        let eligible = (self.next..end).filter(|&index| self.is_eligible(graph(&chunk, index)));
        let eligible = eligible.map(|index| Eligible { index, chunk: Arc::clone(&chunk) }).collect();
        self.next = end;
        Ok(eligible)
    }

    /// A block's eligible scenes, thinned.
    fn matched(&mut self, eligible: Vec<Eligible>, block: u64) -> Vec<Eligible> {
        let config = self.scan.world().config();
        let range = config.min_objects as usize..=config.max_objects as usize;
        let n_objects = |scene: &Eligible| scene.view().n_objects();
        let by_number = by_number(&eligible, n_objects, range);
        self.empty_blocks.count(block, &by_number);
        match &self.matching {
            Some(key) => thin(eligible, by_number, key, block),
            None => eligible,
        }
    }

    /// Skips the next windows, at most `count` and only complete ones. Returns the indices of their scenes, in order.
    pub fn skip_windows(&mut self, count: usize) -> Vec<u64> {
        self.take_windows(count).map(|scene| scene.index).collect()
    }

    /// The scenes of the next windows, at most `count` and only complete ones.
    pub fn take_windows(&mut self, count: usize) -> impl Iterator<Item = Eligible> {
        self.waiting.drain(..count.min(self.waiting_windows()) * WINDOW)
    }

    /// The index after the last scene looked at.
    pub fn scanned(&self) -> u64 {
        self.next
    }

    fn is_eligible(&self, scene: SceneView<'_>) -> bool {
        let Some(holdout) = &self.holdout else { return self.scenes == SceneRule::Any };
        match self.scenes {
            SceneRule::Any => true,
            SceneRule::Without => holdout.members(self.scan.world().vocab(), scene) == 0,
            SceneRule::With => holdout.members(self.scan.world().vocab(), scene) != 0,
        }
    }

    /// The held-out values, for messages.
    pub fn holdout_text(&self) -> String {
        self.holdout.as_ref().map_or_else(|| "nothing".to_owned(), |h| h.describe(self.scan.world().vocab()))
    }

    /// The property that scenes must have, worded to follow "scenes that".
    fn predicate(&self) -> String {
        match self.scenes {
            SceneRule::Any => "are any".to_owned(),
            SceneRule::Without => format!("are without {}", self.holdout_text()),
            SceneRule::With => format!("hold {}", self.holdout_text()),
        }
    }

    /// An error of the split.
    pub fn fault(&self, problem: String) -> SplitError {
        SplitError::Impossible { split: self.name.clone(), problem }
    }

    fn no_scenes_of(&self, number: usize, times: u64, blocks: Range<u64>) -> SplitError {
        let (n_blocks, first, s) =
            (blocks.end - blocks.start, blocks.start * BLOCK, if number == 1 { "" } else { "s" });
        let (pool, predicate) = (self.scan.pool(), self.predicate());
        self.fault(format!(
            "of {n_blocks} blocks of {BLOCK} scenes of pool {pool} in a row, from scene {first} on, none has scenes of \
             every number of objects that {predicate}, so none is left with equal numbers of objects; {times} of these \
             blocks have none with {number} object{s}"
        ))
    }

    fn no_scenes(&self, found: usize, scanned: u64) -> SplitError {
        let (pool, predicate) = (self.scan.pool(), self.predicate());
        let matched = if self.matching.is_some() { ", thinned to equal numbers of objects" } else { "" };
        self.fault(format!(
            "only {found} of the {scanned} scenes of pool {pool} looked at {predicate}{matched}; a window needs {WINDOW}"
        ))
    }
}

fn graph(chunk: &[SceneGraph], index: u64) -> SceneView<'_> {
    chunk[(index % CHUNK) as usize].view()
}
