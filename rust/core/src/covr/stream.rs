//! A split of questions over several images as a stream: windows of a pool's eligible scenes.

use super::phrasing::Phrasings;
use super::rule::{PairPlace, SetRule};
use super::schedule::Schedule;
use super::template::Template;
use super::window::{SetQuestions, Windows};
use crate::holdout::Holdout;
use crate::question::balance::WINDOW;
use crate::rng::StreamKey;
use crate::scene::SceneView;
use crate::split::{Eligible, EligibleScenes, PoolScenes, SplitError};
use rayon::prelude::*;
use std::sync::Arc;

/// A split is given up if it has no question of a template after this many of its cells.
const MOST_SKIPPED: u64 = 60;

/// A split as a stream of windows.
pub struct SetStream {
    /// The scenes from which its sets are made.
    pub scenes: EligibleScenes,
    phrasings: Arc<Phrasings>,
    rule: SetRule,
    key: StreamKey,
    schedule: Schedule,
    /// The cells of questions that mention the held-out pair; None if no question should.
    mentioning: Option<Schedule>,
    /// The number of the next window.
    window: u64,
    /// By template, whether it had a question so far, and in `skipped` the number of cells that could not be filled.
    asked: [bool; Template::ALL.len()],
    skipped: [u64; Template::ALL.len()],
}

impl SetStream {
    /// In a pool with a palette, a split that holds something out names only values that the palette has.
    ///
    /// # Errors
    /// `Impossible` if the rule contradicts itself, the world is too poor for a template, or no question can mention
    /// the held-out values.
    pub fn new(
        pool_scenes: Arc<PoolScenes>,
        phrasings: Arc<Phrasings>,
        rule: SetRule,
        holdout: Option<Holdout>,
    ) -> Result<Self, SplitError> {
        let world = pool_scenes.world().clone();
        let holdout = match (holdout, world.palette()) {
            (Some(holdout), Some(palette)) => Some(holdout.within(world.vocab(), palette)?),
            (holdout, _) => holdout,
        };
        let key = key(&pool_scenes, &rule, holdout.as_ref());
        let impossible = |problem: String| SplitError::Impossible { split: rule.name.clone(), problem };
        rule.check(holdout.is_some()).map_err(impossible)?;
        let schedule = Schedule::new(key, world.vocab(), world.config().max_objects);
        let schedule = schedule.map_err(|error| impossible(error.to_string()))?;
        let mentioned = holdout.as_ref().filter(|_| rule.places.contains(&PairPlace::Mentioned));
        let mentioning = mentioned.map(|pair| schedule.mentioning(pair, world.vocab())).transpose();
        let mentioning = mentioning.map_err(|error| impossible(error.to_string()))?;
        let (asked, skipped) = Default::default();
        let scenes = EligibleScenes::new(pool_scenes, &rule.name, rule.scenes, holdout);
        Ok(Self { scenes, phrasings, rule, key, schedule, mentioning, window: 0, asked, skipped })
    }

    /// Makes the questions of the next windows, at most `count`, and only of complete windows. Uses all cores; the
    /// result does not depend on their number.
    ///
    /// # Errors
    /// `Impossible` if a template has no question after many attempts; names the template.
    pub fn ask(&mut self, count: usize) -> Result<SetQuestions, SplitError> {
        let scenes: Vec<Eligible> = self.scenes.take_windows(count)?;
        let windows = Windows {
            vocab: self.scenes.pool_scenes().world().vocab(),
            rule: &self.rule,
            holdout: self.scenes.holdout(),
            schedule: &self.schedule,
            mentioning: self.mentioning.as_ref().unwrap_or(&self.schedule),
            phrasings: &self.phrasings,
            key: self.key,
        };
        let of_window = |(number, scenes): (usize, &[Eligible])| {
            let indices: Vec<u64> = scenes.iter().map(|scene| scene.index).collect();
            let views: Vec<SceneView<'_>> = scenes.iter().map(Eligible::view).collect();
            windows.questions(self.window + number as u64, &indices, &views)
        };
        let made: Vec<SetQuestions> = scenes.par_chunks_exact(WINDOW).enumerate().map(of_window).collect();
        let mut all = SetQuestions::default();
        for window in made {
            self.window += 1;
            self.check(&window)?;
            all.add(window);
        }
        Ok(all)
    }

    /// Fails if a template has had no question so far, and many cells that could not be filled.
    fn check(&mut self, window: &SetQuestions) -> Result<(), SplitError> {
        for question in &window.questions {
            self.asked[question.meaning.template() as usize] = true;
        }
        for template in Template::ALL {
            let skipped = &mut self.skipped[template as usize];
            *skipped += window.skipped[template as usize];
            if !self.asked[template as usize] && *skipped >= MOST_SKIPPED {
                let (pool, template) = (self.scenes.pool_scenes().pool(), template.name());
                let problem = format!(
                    "none of {skipped} questions of template {template} could be asked about scenes of pool {pool}; \
                     scenes with more objects, or with more combinations of values, make it possible"
                );
                return Err(self.scenes.fault(problem));
            }
        }
        Ok(())
    }
}

/// The key of the stream of a split's questions: everything that determines them but the scenes themselves. The
/// phrasings are not part of it.
fn key(pool_scenes: &PoolScenes, rule: &SetRule, holdout: Option<&Holdout>) -> StreamKey {
    let world = pool_scenes.world();
    let holdout = holdout.map(|holdout| holdout.describe(world.vocab())).unwrap_or_default();
    let choices: Vec<u8> = rule.places.iter().map(|&place| place as u8).collect();
    let choice = [rule.distractors as u8, u8::from(rule.implied), rule.scenes as u8];
    StreamKey::new(&[
        b"questions over several images",
        world.fingerprint().as_bytes(),
        &pool_scenes.seed().to_le_bytes(),
        pool_scenes.pool().as_bytes(),
        rule.name.as_bytes(),
        holdout.as_bytes(),
        &choices,
        &choice,
    ])
}
