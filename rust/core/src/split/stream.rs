//! A split as a stream: the questions of a rule on a pool's scenes, window by window.
//!
//! A window is 250 consecutive places of the split, each with a scene that satisfies the rule's scene predicate. Windows
//! do not depend on each other, so they are made in parallel, and a longer split only extends a shorter one.

use super::eligible::{Eligible, EligibleScenes, SceneRule};
use super::error::SplitError;
use super::pool_scenes::PoolScenes;
use crate::holdout::Holdout;
use crate::question::balance::WINDOW;
use crate::question::instantiate::{Instantiator, Question, Stopwatch};
use crate::question::plan::{AnswerSet, Plan};
use crate::question::search::{QuestionRule, SearchStats};
use crate::question::template::TemplateSet;
use crate::rng::StreamKey;
use crate::vocab::Vocabulary;
use rayon::prelude::*;
use std::sync::Arc;

/// How many windows in a row may give no question before a split is given up as starved.
const MOST_EMPTY_WINDOWS: u32 = 4;

/// What makes a split of a pool.
#[derive(Clone, Debug)]
pub struct SplitRule {
    pub name: String,
    pub scenes: SceneRule,
    pub questions: QuestionRule,
    /// Questions wanted on each scene; a scene that gives fewer contributes fewer.
    pub per_scene: u32,
}

/// A run of windows: their questions in order, and the work that they took.
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
    /// The scenes that it may ask about.
    pub scenes: EligibleScenes,
    templates: Arc<TemplateSet>,
    plans: Arc<Vec<Plan>>,
    rule: SplitRule,
    key: StreamKey,
    /// Windows in a row that gave no question.
    empty_windows: u32,
    stopwatch: Option<Stopwatch>,
}

impl SplitStream {
    /// In a pool with a palette, a split that holds something out names only what the palette has.
    ///
    /// # Errors
    /// `Impossible` if no template can say what the rule asks for.
    pub fn new(
        pool_scenes: Arc<PoolScenes>,
        templates: Arc<TemplateSet>,
        rule: SplitRule,
        holdout: Option<Holdout>,
    ) -> Result<Self, SplitError> {
        let vocab = pool_scenes.world().vocab();
        let holdout = match (holdout, pool_scenes.world().palette()) {
            (Some(holdout), Some(palette)) => Some(holdout.within(vocab, palette)?),
            (holdout, _) => holdout,
        };
        let plans = Arc::new(templates.plans(vocab));
        let key = question_key(&pool_scenes, &templates, &rule, holdout.as_ref());
        let scenes = EligibleScenes::new(pool_scenes, &rule.name, rule.scenes, holdout);
        let stream = Self { scenes, templates, plans, rule, key, empty_windows: 0, stopwatch: None };
        if stream.instantiator().usable_families().is_empty() {
            let pair = stream.scenes.holdout_text();
            let problem = if stream.plans.iter().all(|plan| plan.possible == AnswerSet::EMPTY) {
                "every template asks for or compares an attribute that has one value, so all answers are known"
                    .to_owned()
            } else {
                format!("no template can mention {pair}: its parameters leave one of the values unset")
            };
            return Err(stream.scenes.fault(problem));
        }
        Ok(stream)
    }

    /// Times each attempt from now on, for benchmarks; the questions stay the same.
    pub fn time_attempts(&mut self, stopwatch: Stopwatch) {
        self.stopwatch = Some(stopwatch);
    }

    /// The questions of the next windows, at most `count` and only complete ones. Uses all cores; the result does not
    /// depend on their number.
    pub fn ask(&mut self, count: usize) -> Result<Windows, SplitError> {
        let scenes: Vec<Eligible> = self.scenes.take_windows(count)?;
        let windows: Vec<&[Eligible]> = scenes.chunks_exact(WINDOW).collect();
        let instantiator = self.instantiator();
        let made: Vec<Windows> = windows
            .par_iter()
            .map_init(
                || instantiator.workspace().timed_by(self.stopwatch),
                |workspace, window| {
                    let scenes = window.iter().map(|scene| (scene.index, scene.view()));
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

    fn instantiator(&self) -> Instantiator<'_> {
        let vocab = self.scenes.pool_scenes().world().vocab();
        Instantiator::new(vocab, &self.templates, &self.plans, self.rule.questions, self.scenes.holdout())
    }

    fn no_questions(&self) -> SplitError {
        let (pool, holdout) = (self.scenes.pool_scenes().pool(), self.scenes.holdout_text());
        let predicate = match self.rule.questions {
            QuestionRule::Any => "could be asked".to_owned(),
            QuestionRule::Without => format!("avoids mentioning {holdout}"),
            QuestionRule::Unimplied => format!("avoids mentioning and implying {holdout}"),
            QuestionRule::With => format!("mentions {holdout}"),
        };
        let n_scenes = MOST_EMPTY_WINDOWS as usize * WINDOW;
        self.scenes.fault(format!("no question on {n_scenes} scenes of pool {pool} {predicate}"))
    }
}

/// Names the stream of a split's questions: everything that determines them except the scenes' own indices.
fn question_key(
    pool_scenes: &PoolScenes,
    templates: &TemplateSet,
    rule: &SplitRule,
    holdout: Option<&Holdout>,
) -> StreamKey {
    let vocab: &Vocabulary = pool_scenes.world().vocab();
    let in_chains = holdout.is_some_and(Holdout::is_in_chains);
    let holdout = holdout.map(|h| h.describe(vocab)).unwrap_or_default();
    let per_scene = rule.per_scene.to_le_bytes();
    let seed = pool_scenes.seed().to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![
        b"question",
        pool_scenes.world().fingerprint().as_bytes(),
        templates.fingerprint().as_bytes(),
        &seed,
        pool_scenes.pool().as_bytes(),
        rule.name.as_bytes(),
        holdout.as_bytes(),
        &per_scene,
    ];
    // The other predicates follow from the split's name.
    if rule.questions == QuestionRule::Unimplied {
        parts.push(b"unimplied");
    }
    if in_chains {
        parts.push(b"in chains");
    }
    StreamKey::new(&parts)
}
