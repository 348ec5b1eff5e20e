//! Visual tests: the same question about an edited image.

use super::original::Original;
use super::pairs::word_of;
use crate::holdout::Holdout;
use crate::program::{Invalid, execute};
use crate::question::TemplateSet;
use crate::question::instantiate::{Question, relations_needed};
use crate::question::text_buffer::TextBuffer;
use crate::rng::StreamRng;
use crate::scene::{Pool, Scene, SceneGraph, SceneView};
use crate::split::SceneRule;
use crate::vocab::{Answer, N_TYPES, Vocabulary};
use rayon::prelude::*;

/// A change of one value of one object of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueEdit {
    pub object: usize,
    /// Number of the attribute type.
    pub kind: usize,
    pub value: u8,
}

/// Looks for edits that exchange yes and no.
#[derive(Clone, Copy, Debug)]
pub struct EditSearch<'a> {
    pub vocab: &'a Vocabulary,
    /// The pool of edited scenes; its world defines the palette, the distances between objects and their visibility.
    pub pool: &'a Pool<'a>,
    pub holdout: Option<&'a Holdout>,
    /// Whether the scenes of the split must show the held-out values, must not, or may.
    pub rule: SceneRule,
}

impl EditSearch<'_> {
    /// Draws an edit that exchanges yes and no, uniformly from those that the split's rule, the palette and the world's
    /// constraints allow; None if there is none, or the answer is not yes or no.
    pub fn find(&self, original: &Original, scene: &Scene, rng: &mut StreamRng) -> Option<ValueEdit> {
        let Answer::Bool(truth) = original.answer else { return None };
        let mut edits = self.edits(scene);
        rng.shuffle(&mut edits);
        edits.into_iter().find(|&edit| {
            let objects = edit.objects(scene);
            self.may_show(objects[edit.object].1, scene, &objects)
                && self.answer(original, scene, &objects) == Ok(Answer::Bool(!truth))
                && self.pool.edited(scene, 0, &objects).is_some()
        })
    }

    /// All edits: for each type of each object, every other value.
    fn edits(&self, scene: &Scene) -> Vec<ValueEdit> {
        let mut edits = Vec::new();
        for (object, of) in scene.objects.iter().enumerate() {
            for kind in 0..N_TYPES {
                let others = (0..self.vocab.n_values(kind) as u8).filter(|&value| value != of.attributes[kind]);
                edits.extend(others.map(|value| ValueEdit { object, kind, value }));
            }
        }
        edits
    }

    fn graph(&self, scene: &Scene, objects: &[(usize, [u8; N_TYPES])]) -> SceneGraph {
        // Relations are measured along the ground, so they do not depend on values.
        let attributes = objects.iter().map(|(_, attributes)| *attributes).collect();
        SceneGraph::from_masks(self.vocab, attributes, scene.related.clone())
    }

    fn answer(
        &self,
        original: &Original,
        scene: &Scene,
        objects: &[(usize, [u8; N_TYPES])],
    ) -> Result<Answer, Invalid> {
        execute(&original.program, self.graph(scene, objects).view(), self.vocab)
    }

    /// Whether the palette allows an object with these values, and the split's rule a scene with these objects.
    fn may_show(&self, edited: [u8; N_TYPES], scene: &Scene, objects: &[(usize, [u8; N_TYPES])]) -> bool {
        let in_palette = self.pool.world().palette().is_none_or(|palette| palette.allows(edited));
        let is_shown = |holdout: &Holdout| holdout.members(self.vocab, self.graph(scene, objects).view()) != 0;
        in_palette
            && match (self.holdout, self.rule) {
                (None, _) | (_, SceneRule::Any) => true,
                (Some(holdout), SceneRule::Without) => !is_shown(holdout),
                (Some(holdout), SceneRule::With) => is_shown(holdout),
            }
    }
}

impl ValueEdit {
    /// The number and values of each of a scene's objects after the edit.
    pub fn objects(&self, scene: &Scene) -> Vec<(usize, [u8; N_TYPES])> {
        let mut objects: Vec<_> = scene.objects.iter().map(|object| object.attributes).enumerate().collect();
        objects[self.object].1[self.kind] = self.value;
        objects
    }
}

/// Asks questions of the dataset about other scenes, each given with its index in its pool; uses all cores.
///
/// # Errors
/// The place in the list of the first question without an answer on its scene.
pub fn questions_on(
    templates: &TemplateSet,
    vocab: &Vocabulary,
    asked: &[(&Original, SceneView<'_>, u64)],
) -> Result<Vec<Question>, usize> {
    let ask = |buffer: &mut TextBuffer,
               (place, &(original, view, scene)): (usize, &(&Original, SceneView<'_>, u64))| {
        let answer = execute(&original.program, view, vocab).map_err(|Invalid| place)?;
        let (relation_needed, n_relations) = relations_needed(&original.program.steps, word_of(answer), view, vocab);
        let family = &templates.families()[usize::from(original.family)];
        let text = family.say(&original.reading, templates.lexicon(), buffer);
        let (program, family) = (original.program.clone(), original.family);
        Ok(Question { scene, family, answer, text, program, relation_needed, n_relations })
    };
    asked.par_iter().enumerate().map_init(TextBuffer::default, ask).collect()
}
