//! Questions about the only object that a subgraph describes.

use super::distractors::{ImageSet, Kinds};
use super::matching::{Pattern, members};
use super::meaning::Ask;
use super::pairs::{Attempt, SetQuestion, add, some};
use super::sample::{self, edited, pick};
use super::subgraph::{Relation, Structure};
use super::template::Template;
use crate::scene::SceneView;
use crate::scene::world::SHAPE;
use crate::vocab::CONVERSE;

impl Attempt<'_, '_> {
    /// Asks about a value of the only object that a subgraph describes: verifies it, offers a choice, or queries it.
    pub(super) fn attribute(
        &mut self,
        template: Template,
        structure: Structure,
        kind: u8,
        values: [u8; 2],
    ) -> Option<[SetQuestion; 2]> {
        let rows = self.maker.rows;
        // The second scene, which is searched for, tends to have more objects than the first, which is drawn. So either
        // can show either answer.
        let [a, b] = if self.rng.coin() { values } else { [values[1], values[0]] };
        let having = |view: SceneView<'_>, value| rows.having(view, kind, value);
        let views = self.maker.scenes.views;
        let first = self.scene(|scene| having(views[scene], a) != 0)?;
        let (view, wanted) = (self.view(first), self.wanted(structure, Some(kind)));
        let g = sample::subgraph(&mut self.rng, self.maker.vocab, view, having(view, a), wanted)?;
        let meaning = match template {
            Template::VerifyAttr => Ask::VerifyAttr { kind, value: values[0] }.of(g),
            Template::ChooseAttr => {
                let values = if self.rng.coin() { [a, b] } else { [b, a] };
                Ask::ChooseAttr { kind, values }.of(g)
            }
            _ => Ask::QueryAttr { kind }.of(g),
        };
        let pattern = Pattern::new(self.maker.vocab, &g);
        if pattern.members(view, &rows).count_ones() != 1 || !self.may_ask(&meaning) {
            return None;
        }
        let found = self.members(&pattern);
        let is_second = |scene: usize| found[scene].count_ones() == 1 && found[scene] & having(views[scene], b) != 0;
        let second = self.scene(is_second)?;
        let mut kinds = Kinds::default();
        kinds.add(&mut self.rng, &pattern, g.parts());
        // Whether a reader who overlooks the contradicted part would give a wrong answer.
        let contradicts = |view: SceneView<'_>, set: u32| match template {
            Template::VerifyAttr => [a, b].map(|own| match own == values[0] {
                true => set & !having(view, own) != 0,
                false => set & having(view, values[0]) != 0,
            }),
            Template::ChooseAttr => [set & having(view, b) != 0, set & having(view, a) != 0],
            _ => [set & !having(view, a) != 0, set & !having(view, b) != 0],
        };
        let distractors = self.distractors(&kinds, |scene| found[scene] == 0, contradicts);
        self.finish(meaning, &distractors, true, |_, _, question| of_scenes(&[[first, second][question]]))
    }

    /// Asks for the shape of the only object to which the only object of a subgraph has a relation.
    pub(super) fn object(
        &mut self,
        template: Template,
        structure: Structure,
        shapes: [u8; 2],
    ) -> Option<[SetQuestion; 2]> {
        let rows = self.maker.rows;
        let [a, b] = shapes;
        let first = self.scene(|_| true)?;
        let view = self.view(first);
        let root = pick(&mut self.rng, view.everything())?;
        let relation = sample::reached(&mut self.rng, self.maker.vocab, view, root, a)?;
        let wanted = self.wanted(inner(structure), None);
        let g = sample::subgraph(&mut self.rng, self.maker.vocab, view, 1 << root, wanted)?;
        if let Relation::Same(kind) = relation
            && g.root().names(kind)
        {
            return None;
        }
        let meaning = match template {
            Template::QueryObject => Ask::QueryObject { relation }.of(g),
            _ => {
                let shapes = if self.rng.coin() { [a, b] } else { [b, a] };
                Ask::ChooseObject { relation, shapes }.of(g)
            }
        };
        let pattern = Pattern::new(self.maker.vocab, &g);
        if pattern.members(view, &rows).count_ones() != 1 || !self.may_ask(&meaning) {
            return None;
        }
        let found = self.members(&pattern);
        let views = self.maker.scenes.views;
        let is_second = |scene: usize| {
            found[scene].count_ones() == 1 && {
                let reached = rows.reached(views[scene], relation, found[scene].trailing_zeros() as usize);
                reached.count_ones() == 1 && reached & rows.having(views[scene], SHAPE as u8, b) != 0
            }
        };
        let second = self.scene(is_second)?;
        let mut kinds = Kinds::default();
        kinds.add(&mut self.rng, &pattern, g.parts());
        let contradicts = |view: SceneView<'_>, set: u32| {
            let reached = members(set).fold(0, |all, object| all | rows.reached(view, relation, object));
            let [is_a, is_b] = [a, b].map(|shape| rows.having(view, SHAPE as u8, shape));
            match template {
                Template::QueryObject => [reached & !is_a != 0, reached & !is_b != 0],
                _ => [reached & is_b != 0, reached & is_a != 0],
            }
        };
        let distractors = self.distractors(&kinds, |scene| found[scene] == 0, contradicts);
        self.finish(meaning, &distractors, true, |_, _, question| of_scenes(&[[first, second][question]]))
    }

    /// Asks which relation of an axis the only object of a subgraph has to the only described object of its image.
    pub(super) fn relation(&mut self, structure: Structure, relation: u8) -> Option<[SetQuestion; 2]> {
        let (rows, vocab) = (self.maker.rows, self.maker.vocab);
        // As with values, the drawn scene can show either relation.
        let relation = if self.rng.coin() { relation } else { CONVERSE[usize::from(relation)] };
        let converse = CONVERSE[usize::from(relation)];
        let first = self.scene(|_| true)?;
        let view = self.view(first);
        let to = pick(&mut self.rng, view.everything())?;
        let roots = view.related(usize::from(relation), to);
        let wanted = self.wanted(inner(structure), None);
        let g = sample::subgraph(&mut self.rng, vocab, view, roots, wanted)?;
        let object = sample::object(&mut self.rng, vocab, &view.attributes[to], 0, None)?;
        if g.objects[..g.n_objects()].contains(&object) {
            return None;
        }
        let relations = if self.rng.coin() { relation } else { converse };
        let meaning = Ask::ChooseRelation { object, relation: relations }.of(g);
        let (pattern, other) = (Pattern::new(vocab, &g), Pattern::new(vocab, &super::Subgraph::single(object)));
        let is_only = |view: SceneView<'_>, set: u32, relation: u8| {
            let others = other.members(view, &rows);
            set.count_ones() == 1
                && others.count_ones() == 1
                && view.related(usize::from(relation), others.trailing_zeros() as usize) & set != 0
        };
        if !is_only(view, pattern.members(view, &rows), relation) || !self.may_ask(&meaning) {
            return None;
        }
        let (found, views) = (self.members(&pattern), self.maker.scenes.views);
        let second = self.scene(|scene| is_only(views[scene], found[scene], converse))?;
        let mut kinds = Kinds::default();
        kinds.add(&mut self.rng, &pattern, g.parts());
        let contradicts = |view: SceneView<'_>, set: u32| {
            let others = other.members(view, &rows);
            [converse, relation].map(|each| some(others, |other| view.related(usize::from(each), other) & set != 0))
        };
        let distractors = self.distractors(&kinds, |scene| found[scene] == 0, contradicts);
        self.finish(meaning, &distractors, true, |_, _, question| of_scenes(&[[first, second][question]]))
    }

    /// Asks whether the only objects of two subgraphs, in two images, have the same value of a type.
    pub(super) fn same_attribute(&mut self, structure: Structure, kind: u8) -> Option<[SetQuestion; 2]> {
        let (rows, vocab) = (self.maker.rows, self.maker.vocab);
        let first = self.scene(|_| true)?;
        let view = self.view(first);
        let wanted = self.wanted(structure, Some(kind));
        let g = sample::subgraph(&mut self.rng, vocab, view, view.everything(), wanted)?;
        let pattern = Pattern::new(vocab, &g);
        if pattern.members(view, &rows).count_ones() != 1 {
            return None;
        }
        let part = g.parts().nth(self.rng.below(g.parts().count() as u32) as usize)?;
        let g2 = edited(&mut self.rng, vocab, &g, part)?;
        let meaning = Ask::VerifySameAttr { g2, kind }.of(g);
        if !self.may_ask(&meaning) {
            return None;
        }
        let pattern2 = Pattern::new(vocab, &g2);
        let (found, found2) = (self.members(&pattern), self.members(&pattern2));
        let is_only = |set: u32, other: u32| set.count_ones() == 1 && other == 0;
        let firsts = self.scenes(|scene| is_only(found[scene], found2[scene]));
        let seconds = self.scenes(|scene| is_only(found2[scene], found[scene]));
        let views = self.maker.scenes.views;
        let value = |scene: u8, set: &[u32]| {
            let scene = usize::from(scene);
            views[scene].attributes[set[scene].trailing_zeros() as usize][usize::from(kind)]
        };
        let mut kinds = Kinds::default();
        kinds.add(&mut self.rng, &pattern, g.parts());
        kinds.add(&mut self.rng, &pattern2, g2.parts());
        if firsts.is_empty() || seconds.is_empty() {
            return None;
        }
        let is_free = |scene: usize| found[scene] == 0 && found2[scene] == 0;
        let distractors = self.distractors(&kinds, is_free, |_, _| [false; 2]);
        self.finish(meaning, &distractors, false, |rng, _, question| {
            let mut set = ImageSet::default();
            add(rng, &mut set, &firsts)?;
            let own = value(set.scenes()[0], &found);
            let fits = |&&scene: &&u8| (value(scene, &found2) == own) == (question == 0);
            let n = seconds.iter().filter(fits).count() as u32;
            let second = *seconds.iter().filter(fits).nth(rng.below(n) as usize)?;
            set.push(second)?;
            Some(set)
        })
    }
}

/// The structure that remains without the edge to the object that is asked about.
fn inner(structure: Structure) -> Structure {
    if structure == Structure::V { Structure::Edge } else { Structure::Single }
}

fn of_scenes(scenes: &[usize]) -> Option<ImageSet> {
    let mut set = ImageSet::default();
    scenes.iter().try_for_each(|&scene| set.push(scene as u8))?;
    Some(set)
}
