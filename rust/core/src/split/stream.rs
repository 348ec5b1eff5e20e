//! A split as a stream: the questions of a rule on a pool's scenes, window by window.
//!
//! A window is 250 consecutive scenes of the pool that satisfy the rule's scene predicate. Windows know
//! nothing of each other, so they are made in parallel, and a longer split only extends a shorter one.

use super::object_counts::{BLOCK, EmptyBlocks, by_number, thin};
use super::scan::{CHUNK, PoolScan};
use crate::holdout::Holdout;
use crate::question::balance::WINDOW;
use crate::question::instantiate::{Instantiator, Question, Stopwatch};
use crate::question::plan::Plan;
use crate::question::search::{QuestionRule, SearchStats};
use crate::question::template::TemplateSet;
use crate::rng::StreamKey;
use crate::scene::{SceneError, SceneGraph, SceneView};
use crate::vocab::Vocabulary;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// How many scenes are looked at for one window before a split is given up as starved.
const MOST_SCANNED_FOR_A_WINDOW: u64 = 500_000;
/// How many scenes in a row may be ineligible before a split is given up.
const MOST_SCANNED_FOR_NOTHING: u64 = 50_000;
/// How many windows in a row may give no question before a split is given up as starved.
const MOST_EMPTY_WINDOWS: u32 = 4;

#[derive(Debug, Error)]
pub enum SplitError {
    #[error(transparent)]
    Scene(#[from] SceneError),
    #[error(transparent)]
    Holdout(#[from] crate::holdout::HoldoutError),
    #[error("{pair}: {problem}")]
    Diversity { pair: String, problem: String },
    #[error("split {split}: {problem}")]
    Impossible { split: String, problem: String },
}

/// Which scenes a split takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneRule {
    Any,
    Without,
    With,
}

/// What makes a split of a pool.
#[derive(Clone, Debug)]
pub struct SplitRule {
    pub name: String,
    pub scenes: SceneRule,
    pub questions: QuestionRule,
    /// Questions wanted on a scene; one that gives fewer contributes fewer.
    pub per_scene: u32,
    /// Eligible scenes are thinned until all numbers of objects are equally frequent.
    pub match_objects: bool,
}

/// A run of windows: their questions in order, and what they took.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    pub questions: Vec<Question>,
    /// Eligible scenes in these windows.
    pub scenes: usize,
    pub stats: SearchStats,
    /// Nanoseconds of each attempt, where a stopwatch was given.
    pub attempt_ns: Vec<u64>,
}

/// A split as a stream of windows.
pub struct SplitStream {
    scan: Arc<PoolScan>,
    templates: Arc<TemplateSet>,
    plans: Arc<Vec<Plan>>,
    rule: SplitRule,
    holdout: Option<Holdout>,
    key: StreamKey,
    /// Names the draws of scenes that stay when they are thinned.
    matching: StreamKey,
    /// The next scene of the pool to look at.
    next: u64,
    /// Eligible scenes that wait to be asked about, in order; windows are cut from the front.
    waiting: VecDeque<Eligible>,
    /// Scenes looked at since the last window was whole.
    looked_at: u64,
    /// Blocks that thinning left empty.
    empty_blocks: EmptyBlocks,
    /// Windows in a row that gave no question.
    empty_windows: u32,
    stopwatch: Option<Stopwatch>,
}

/// An eligible scene: its index, and the chunk that holds it.
type Eligible = (u64, Arc<Vec<SceneGraph>>);

impl SplitStream {
    /// In a pool with a palette, a split that holds something out names only what the palette has.
    ///
    /// # Errors
    /// `Impossible` when no template can say what the rule asks for.
    pub fn new(
        scan: Arc<PoolScan>,
        templates: Arc<TemplateSet>,
        rule: SplitRule,
        holdout: Option<Holdout>,
    ) -> Result<Self, SplitError> {
        let vocab = scan.world().vocab();
        let holdout = match (holdout, scan.world().palette()) {
            (Some(holdout), Some(palette)) => Some(holdout.within(vocab, palette)?),
            (holdout, _) => holdout,
        };
        let plans = Arc::new(templates.plans(vocab));
        let key = question_key(&scan, &templates, &rule, holdout.as_ref());
        let matching = StreamKey::new(&[b"match objects", key.as_bytes()]);
        let stream = Self {
            templates,
            plans,
            rule,
            holdout,
            key,
            matching,
            next: 0,
            waiting: VecDeque::new(),
            looked_at: 0,
            empty_blocks: EmptyBlocks::default(),
            empty_windows: 0,
            stopwatch: None,
            scan,
        };
        if stream.instantiator().usable_families().is_empty() {
            return Err(stream.fault(format!(
                "no template can mention {}: its parameters leave one of the values unset",
                stream.holdout_text()
            )));
        }
        Ok(stream)
    }

    /// Has each attempt timed from now on, for benchmarks; questions stay the same.
    pub fn time_attempts(&mut self, stopwatch: Stopwatch) {
        self.stopwatch = Some(stopwatch);
    }

    /// Passes over the next windows, as many as `ask` would ask about; gives the indices of their scenes, in order.
    pub fn skip_windows(&mut self, count: usize) -> Vec<u64> {
        self.take_windows(count).map(|(index, _)| index).collect()
    }

    /// How many windows are whole and wait to be asked about.
    pub fn waiting_windows(&self) -> usize {
        self.waiting.len() / WINDOW
    }

    /// Looks at some more scenes of the pool for eligible ones, for a fraction of a second.
    pub fn look_further(&mut self) -> Result<(), SplitError> {
        let found = self.waiting.len() % WINDOW;
        if let Some((number, times, blocks)) = self.empty_blocks.too_many() {
            return Err(self.no_scenes_of(number, times, blocks));
        }
        // Whole blocks are counted where scenes are thinned.
        let is_nothing = found == 0 && !self.rule.match_objects;
        let most = if is_nothing { MOST_SCANNED_FOR_NOTHING } else { MOST_SCANNED_FOR_A_WINDOW };
        if self.looked_at >= most {
            return Err(self.no_scenes(found, self.looked_at));
        }
        let whole = self.waiting_windows();
        let began = self.next;
        let mut eligible = self.eligible_in_chunk()?;
        if self.rule.match_objects {
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
        let eligible = eligible.map(|index| (index, Arc::clone(&chunk))).collect();
        self.next = end;
        Ok(eligible)
    }

    /// A block's eligible scenes, thinned.
    fn matched(&mut self, eligible: Vec<Eligible>, block: u64) -> Vec<Eligible> {
        let config = self.scan.world().config();
        let range = config.min_objects as usize..=config.max_objects as usize;
        let n_objects = |(index, chunk): &Eligible| graph(chunk, *index).n_objects();
        let by_number = by_number(&eligible, n_objects, range);
        self.empty_blocks.count(block, &by_number);
        thin(eligible, by_number, &self.matching, block)
    }

    /// The scenes of the next windows, at most `count` and at most those that are whole.
    fn take_windows(&mut self, count: usize) -> impl Iterator<Item = Eligible> {
        self.waiting.drain(..count.min(self.waiting_windows()) * WINDOW)
    }

    /// The questions of the next windows, at most `count` and at most those that are whole. Uses all cores; what it
    /// returns does not depend on their number.
    pub fn ask(&mut self, count: usize) -> Result<Windows, SplitError> {
        let scenes: Vec<Eligible> = self.take_windows(count).collect();
        let windows: Vec<&[Eligible]> = scenes.chunks_exact(WINDOW).collect();
        let instantiator = self.instantiator();
        let made: Vec<Windows> = windows
            .par_iter()
            .map_init(
                || instantiator.workspace().timed_by(self.stopwatch),
                |workspace, window| {
                    let scenes = window.iter().map(|(index, chunk)| (*index, graph(chunk, *index)));
                    let questions = instantiator.window(workspace, scenes, &self.key, self.rule.per_scene);
                    let stats = std::mem::take(&mut workspace.stats);
                    let attempt_ns = std::mem::take(&mut workspace.attempt_ns);
                    Windows { questions, scenes: window.len(), stats, attempt_ns }
                },
            )
            .collect();
        let mut all = Windows::default();
        for window in made {
            self.empty_windows = if window.questions.is_empty() { self.empty_windows + 1 } else { 0 };
            if self.empty_windows == MOST_EMPTY_WINDOWS {
                return Err(self.no_questions());
            }
            all.scenes += window.scenes;
            all.questions.extend(window.questions);
            all.stats.add(window.stats);
            all.attempt_ns.extend(window.attempt_ns);
        }
        Ok(all)
    }

    /// The index after the last scene looked at.
    pub fn scanned(&self) -> u64 {
        self.next
    }

    fn instantiator(&self) -> Instantiator<'_> {
        let vocab = self.scan.world().vocab();
        Instantiator::new(vocab, &self.templates, &self.plans, self.rule.questions, self.holdout.as_ref())
    }

    fn is_eligible(&self, scene: SceneView<'_>) -> bool {
        let Some(holdout) = &self.holdout else { return self.rule.scenes == SceneRule::Any };
        match self.rule.scenes {
            SceneRule::Any => true,
            SceneRule::Without => holdout.members(self.scan.world().vocab(), scene) == 0,
            SceneRule::With => holdout.members(self.scan.world().vocab(), scene) != 0,
        }
    }

    fn holdout_text(&self) -> String {
        self.holdout.as_ref().map_or_else(|| "nothing".to_owned(), |h| h.describe(self.scan.world().vocab()))
    }

    /// What scenes have to be, worded to follow "scenes that".
    fn predicate(&self) -> String {
        match self.rule.scenes {
            SceneRule::Any => "are any".to_owned(),
            SceneRule::Without => format!("are without {}", self.holdout_text()),
            SceneRule::With => format!("hold {}", self.holdout_text()),
        }
    }

    fn fault(&self, problem: String) -> SplitError {
        SplitError::Impossible { split: self.rule.name.clone(), problem }
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
        let matched = if self.rule.match_objects { ", thinned to equal numbers of objects" } else { "" };
        self.fault(format!(
            "only {found} of the {scanned} scenes of pool {pool} looked at {predicate}{matched}; a window needs {WINDOW}"
        ))
    }

    fn no_questions(&self) -> SplitError {
        let (pool, holdout) = (self.scan.pool(), self.holdout_text());
        let predicate = match self.rule.questions {
            QuestionRule::Any => "could be asked".to_owned(),
            QuestionRule::Without => format!("avoids mentioning {holdout}"),
            QuestionRule::Unimplied => format!("avoids mentioning and implying {holdout}"),
            QuestionRule::With => format!("mentions {holdout}"),
        };
        let n_scenes = MOST_EMPTY_WINDOWS as usize * WINDOW;
        self.fault(format!("no question on {n_scenes} scenes of pool {pool} {predicate}"))
    }
}

fn graph(chunk: &[SceneGraph], index: u64) -> SceneView<'_> {
    chunk[(index % CHUNK) as usize].view()
}

/// Names the stream of a split's questions: all that decides them but the scenes' own indices.
fn question_key(scan: &PoolScan, templates: &TemplateSet, rule: &SplitRule, holdout: Option<&Holdout>) -> StreamKey {
    let vocab: &Vocabulary = scan.world().vocab();
    let holdout = holdout.map(|h| h.describe(vocab)).unwrap_or_default();
    let per_scene = rule.per_scene.to_le_bytes();
    let seed = scan.seed().to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![
        b"question",
        scan.world().fingerprint().as_bytes(),
        templates.fingerprint().as_bytes(),
        &seed,
        scan.pool().as_bytes(),
        rule.name.as_bytes(),
        holdout.as_bytes(),
        &per_scene,
    ];
    // The other predicates follow from the split's name.
    if rule.questions == QuestionRule::Unimplied {
        parts.push(b"unimplied");
    }
    StreamKey::new(&parts)
}
