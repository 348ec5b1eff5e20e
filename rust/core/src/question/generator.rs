//! Questions on scenes that do not come from a pool.

use super::instantiate::{Instantiator, Question};
use super::plan::Plan;
use super::search::QuestionRule;
use super::template::TemplateSet;
use crate::holdout::Holdout;
use crate::question::balance::WINDOW;
use crate::rng::StreamKey;
use crate::scene::SceneView;
use crate::vocab::Vocabulary;
use rayon::prelude::*;

/// Makes questions on given scenes, balanced over windows of 250 scenes.
pub struct QuestionGenerator<'a> {
    instantiator: Instantiator<'a>,
    key: StreamKey,
    per_scene: u32,
}

impl<'a> QuestionGenerator<'a> {
    /// `plans` are those of `templates`.
    pub fn new(
        vocab: &'a Vocabulary,
        templates: &'a TemplateSet,
        plans: &'a [Plan],
        rule: QuestionRule,
        holdout: Option<&'a Holdout>,
        seed: u64,
        per_scene: u32,
    ) -> Self {
        let held_out = holdout.map(|holdout| holdout.describe(vocab)).unwrap_or_default();
        let key = StreamKey::new(&[
            b"question on given scenes",
            templates.fingerprint().as_bytes(),
            &seed.to_le_bytes(),
            held_out.as_bytes(),
            &per_scene.to_le_bytes(),
        ]);
        Self { instantiator: Instantiator::new(vocab, templates, plans, rule, holdout), key, per_scene }
    }

    /// The questions on the scenes, which are given with their indices; the last window may be shorter. Uses all cores.
    ///
    /// The random draws for a scene depend only on its index.
    pub fn generate(&self, scenes: &[(u64, SceneView<'_>)]) -> Vec<Question> {
        let windows = scenes.par_chunks(WINDOW).map_init(
            || self.instantiator.workspace(),
            |workspace, window| self.instantiator.window(workspace, window.iter().copied(), &self.key, self.per_scene),
        );
        windows.collect::<Vec<_>>().concat()
    }
}
