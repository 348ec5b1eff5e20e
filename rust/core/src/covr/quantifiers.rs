//! Questions about all, some or none of the objects that a subgraph describes.

use super::distractors::{ImageSet, Kinds};
use super::matching::Pattern;
use super::meaning::{Ask, Condition, Quantifier};
use super::pairs::{Attempt, SetQuestion, add};
use super::sample::{self, pick};
use super::subgraph::{Object, Relation, Structure, Subgraph};
use crate::rng::StreamRng;

/// The minimum number of objects in the scope of a quantifier.
const FEWEST: u32 = 2;
/// Maximum number of times that images are drawn for a set.
const DRAWS: u32 = 8;

impl Attempt<'_, '_> {
    pub(super) fn quantifier(
        &mut self,
        structure: Structure,
        quantifier: Quantifier,
        value_of: Option<u8>,
    ) -> Option<[SetQuestion; 2]> {
        let (rows, vocab) = (self.maker.rows, self.maker.vocab);
        let first = self.scene(|_| true)?;
        let view = self.view(first);
        let (whole, scope, condition) = if let Some(kind) = value_of {
            let wanted = self.wanted(structure, Some(kind));
            // If the question must mention a held-out value of this type, that is the value of the condition.
            let held = wanted.named.and_then(|holdout| holdout.values()[usize::from(kind)]);
            let roots = held.map_or(view.everything(), |value| rows.having(view, kind, value));
            let g = sample::subgraph(&mut self.rng, vocab, view, roots, wanted)?;
            let set = Pattern::new(vocab, &g).members(view, &rows) & roots;
            let object = pick(&mut self.rng, set)?;
            (g, g, Condition::Value(kind, view.attributes[object][usize::from(kind)]))
        } else {
            let wanted = self.wanted(structure, None);
            let whole = sample::subgraph(&mut self.rng, vocab, view, view.everything(), wanted)?;
            let (scope, condition) = divided(&whole)?;
            (whole, scope, condition)
        };
        let meaning = Ask::VerifyQuantifier { quantifier, condition }.of(scope);
        if !self.may_ask(&meaning) {
            return None;
        }
        let (pattern, whole) = (Pattern::new(vocab, &scope), Pattern::new(vocab, &whole));
        let in_scope = self.members(&pattern);
        let views = self.maker.scenes.views;
        let meeting: Vec<u32> = match condition {
            Condition::Value(kind, value) => {
                let having = views.iter().map(|&view| rows.having(view, kind, value));
                having.zip(&in_scope).map(|(having, scope)| having & scope).collect()
            }
            Condition::Related(..) => self.members(&whole),
        };
        let mut kinds = Kinds::default();
        kinds.add(&mut self.rng, &whole, scope.parts());
        let distractors = self.distractors(&kinds, |scene| in_scope[scene] == 0, |_, _| [false; 2]);
        let shown = self.scenes(|scene| in_scope[scene] != 0);
        let all = self.scenes(|scene| in_scope[scene] != 0 && meeting[scene] == in_scope[scene]);
        let not_all = self.scenes(|scene| meeting[scene] != in_scope[scene]);
        let some = self.scenes(|scene| meeting[scene] != 0);
        let none = self.scenes(|scene| in_scope[scene] != 0 && meeting[scene] == 0);
        let mut sizes = Vec::new();
        self.finish(meaning, &distractors, false, |rng, n, question| {
            let (decisive, others) = match (quantifier, question) {
                (Quantifier::All, 0) => (&all, &all),
                (Quantifier::All, _) => (&not_all, &shown),
                (Quantifier::Some, 0) | (Quantifier::None, 1) => (&some, &shown),
                (Quantifier::Some, _) | (Quantifier::None, _) => (&none, &none),
            };
            quantified(rng, n, question, &in_scope, [decisive, others], &mut sizes)
        })
    }

    /// Whether all objects that a subgraph describes have the same value of a type.
    pub(super) fn all_same(&mut self, structure: Structure, kind: u8) -> Option<[SetQuestion; 2]> {
        let (rows, vocab) = (self.maker.rows, self.maker.vocab);
        let first = self.scene(|_| true)?;
        let view = self.view(first);
        let wanted = self.wanted(structure, Some(kind));
        let g = sample::subgraph(&mut self.rng, vocab, view, view.everything(), wanted)?;
        let meaning = Ask::VerifyQuantifierAttr { kind }.of(g);
        if !self.may_ask(&meaning) {
            return None;
        }
        let pattern = Pattern::new(vocab, &g);
        let object = pick(&mut self.rng, pattern.members(view, &rows))?;
        let value = view.attributes[object][usize::from(kind)];
        let in_scope = self.members(&pattern);
        let views = self.maker.scenes.views;
        let others = |scene: usize| in_scope[scene] & !rows.having(views[scene], kind, value);
        let shown = self.scenes(|scene| in_scope[scene] != 0);
        let alike = self.scenes(|scene| in_scope[scene] != 0 && others(scene) == 0);
        let unlike = self.scenes(|scene| others(scene) != 0);
        let mut kinds = Kinds::default();
        kinds.add(&mut self.rng, &pattern, g.parts());
        let distractors = self.distractors(&kinds, |scene| in_scope[scene] == 0, |_, _| [false; 2]);
        let mut sizes = Vec::new();
        self.finish(meaning, &distractors, false, |rng, n, question| {
            let lists = if question == 0 { [&alike, &alike] } else { [&unlike, &shown] };
            quantified(rng, n, question, &in_scope, lists, &mut sizes)
        })
    }
}

/// Draws images: first one that decides the answer, then a random number of others, with at least two objects in all.
/// The second set of a pair has as many images as the first, with as many objects each (`sizes`), because more objects
/// are less likely to be all alike.
fn quantified(
    rng: &mut StreamRng,
    n: usize,
    question: usize,
    in_scope: &[u32],
    [decisive, others]: [&Vec<u8>; 2],
    sizes: &mut Vec<u32>,
) -> Option<ImageSet> {
    let size = |scene: u8| in_scope[usize::from(scene)].count_ones();
    let of_size =
        |list: &[u8], wanted: u32| -> Vec<u8> { list.iter().copied().filter(|&scene| size(scene) == wanted).collect() };
    (0..DRAWS).find_map(|_| {
        let mut set = ImageSet::default();
        if question == 0 {
            add(rng, &mut set, decisive)?;
            for _ in 0..rng.below(n as u32) {
                add(rng, &mut set, others)?;
            }
            *sizes = set.scenes().iter().map(|&scene| size(scene)).collect();
        } else {
            for (place, &wanted) in sizes.iter().enumerate() {
                add(rng, &mut set, &of_size(if place == 0 { decisive } else { others }, wanted))?;
            }
        }
        (sizes.iter().sum::<u32>() >= FEWEST).then_some(set)
    })
}

/// Divides a subgraph into a scope and a condition on its members: everything that an edge or chain says of the root,
/// or the second relation of a V.
fn divided(whole: &Subgraph) -> Option<(Subgraph, Condition)> {
    let [root, second, third] = whole.objects;
    let [first, last] = whole.relations;
    match whole.structure {
        Structure::Single => None,
        Structure::Edge => Some((Subgraph::single(root), Condition::Related(first, second, None))),
        Structure::Chain => Some((Subgraph::single(root), Condition::Related(first, second, Some((last, third))))),
        Structure::V => {
            let objects = [root, second, Object::default()];
            let scope = Subgraph { structure: Structure::Edge, objects, relations: [first, Relation::Spatial(0)] };
            Some((scope, Condition::Related(last, third, None)))
        }
    }
}
