//! Questions that count or compare objects or images, or ask whether there are any.

use super::distractors::{Distractors, ImageSet, Kinds};
use super::matching::Pattern;
use super::meaning::{Ask, Bound, Comparison, Connective, Counted, Meaning};
use super::pairs::{Attempt, SetQuestion, add};
use super::sample::{self, edited};
use super::schedule::MOST_COUNTED;
use super::subgraph::{Structure, Subgraph};
use crate::rng::StreamRng;

/// Maximum number of times that a set is drawn until its two counts compare as required.
const COMPARISONS: u32 = 16;

/// A subgraph, and the number of objects that it describes in each scene of the window.
struct Found {
    g: Subgraph,
    pattern: Pattern,
    numbers: Vec<u8>,
}

impl Attempt<'_, '_> {
    pub(super) fn count(
        &mut self,
        structure: Structure,
        counted: Counted,
        answers: [u8; 2],
    ) -> Option<[SetQuestion; 2]> {
        self.counted(structure, counted, answers, |g| Ask::Count { counted }.of(g))
    }

    pub(super) fn verify_count(
        &mut self,
        structure: Structure,
        counted: Counted,
        (bound, number): (Bound, u8),
        counts: [u8; 2],
    ) -> Option<[SetQuestion; 2]> {
        self.counted(structure, counted, counts, |g| Ask::VerifyCount { counted, bound, number }.of(g))
    }

    fn counted(
        &mut self,
        structure: Structure,
        counted: Counted,
        counts: [u8; 2],
        meaning: impl Fn(Subgraph) -> Meaning,
    ) -> Option<[SetQuestion; 2]> {
        let found = self.found(structure, &meaning)?;
        let distractors = self.distractors_of(&[&found]);
        let all = self.scenes(|scene| found.numbers[scene] > 0);
        let by_number = self.by_number(&found.numbers);
        self.finish(meaning(found.g), &distractors, false, |rng, n, question| {
            let count = usize::from(counts[question]);
            match counted {
                Counted::Objects => with_objects(rng, &by_number, count, n),
                Counted::Images => with_images(rng, &all, count, n),
            }
        })
    }

    /// Asks for or verifies the number of images that have a given number of objects.
    pub(super) fn count_groups(
        &mut self,
        structure: Structure,
        of_image: (Bound, u8),
        verified: Option<(Bound, u8)>,
        counts: [u8; 2],
    ) -> Option<[SetQuestion; 2]> {
        let meaning = |g| match verified {
            None => Ask::CountGroupBy { of_image }.of(g),
            Some((bound, number)) => Ask::VerifyCountGroupBy { of_image, bound, number }.of(g),
        };
        let found = self.found(structure, &meaning)?;
        let distractors = self.distractors_of(&[&found]);
        let (bound, number) = of_image;
        let is_counted = |n: u8| n > 0 && bound.holds(n.into(), number.into());
        let hits = self.scenes(|scene| is_counted(found.numbers[scene]));
        let misses = self.scenes(|scene| found.numbers[scene] > 0 && !is_counted(found.numbers[scene]));
        self.finish(meaning(found.g), &distractors, false, |rng, n, question| {
            let count = usize::from(counts[question]);
            let mut set = with_images(rng, &hits, count, n)?;
            for _ in 0..rng.below((n - count) as u32 + 1) {
                // If no image is added, a distractor takes its place.
                let _ = add(rng, &mut set, &misses);
            }
            Some(set)
        })
    }

    pub(super) fn compare(
        &mut self,
        structure: Structure,
        counted: Counted,
        comparison: Comparison,
    ) -> Option<[SetQuestion; 2]> {
        let (a, b) = self.two(structure, |g, g2| Ask::CompareCount { g2, counted, comparison }.of(g))?;
        let distractors = self.distractors_of(&[&a, &b]);
        let lists = self.shared_out(&a, &b);
        let count = |numbers: &[u8], set: &ImageSet| {
            let numbers = set.scenes().iter().map(|&scene| u32::from(numbers[usize::from(scene)]));
            match counted {
                Counted::Objects => numbers.sum::<u32>(),
                Counted::Images => numbers.filter(|&n| n > 0).count() as u32,
            }
        };
        let meaning = Ask::CompareCount { g2: b.g, counted, comparison }.of(a.g);
        self.finish(meaning, &distractors, false, |rng, n, question| {
            (0..COMPARISONS).find_map(|_| {
                let mut set = ImageSet::default();
                for _ in 0..1 + rng.below(n as u32) {
                    let list = &lists[rng.below(3) as usize];
                    add(rng, &mut set, list)?;
                }
                let [x, y] = [&a, &b].map(|found| count(&found.numbers, &set));
                let is_so = match comparison {
                    Comparison::More => x > y,
                    Comparison::Fewer => x < y,
                    Comparison::AsMany => x == y,
                };
                (x.max(y) <= u32::from(MOST_COUNTED) && is_so == (question == 0)).then_some(set)
            })
        })
    }

    pub(super) fn logic(&mut self, structure: Structure, connective: Connective) -> Option<[SetQuestion; 2]> {
        let (a, b) = self.two(structure, |g, g2| Ask::VerifyLogic { g2, connective }.of(g))?;
        let distractors = self.distractors_of(&[&a, &b]);
        let [only_a, only_b, _] = self.shared_out(&a, &b);
        let meaning = Ask::VerifyLogic { g2: b.g, connective }.of(a.g);
        self.finish(meaning, &distractors, false, |rng, _, question| {
            let mut set = ImageSet::default();
            // The set shows both subgraphs, one of the two, or neither.
            let [first, second] = if rng.coin() { [&only_a, &only_b] } else { [&only_b, &only_a] };
            let n_shown = match (connective, question) {
                (Connective::And, 0) => 2,
                (Connective::And, _) | (Connective::Or, 0) => 1,
                (Connective::Or, _) => 0,
            };
            for list in [first, second].into_iter().take(n_shown) {
                add(rng, &mut set, list)?;
            }
            Some(set)
        })
    }

    /// Draws a subgraph from a random scene; None if it may not be asked about.
    fn found(&mut self, structure: Structure, meaning: &impl Fn(Subgraph) -> Meaning) -> Option<Found> {
        let first = self.scene(|_| true)?;
        let (view, wanted) = (self.view(first), self.wanted(structure, None));
        let g = sample::subgraph(&mut self.rng, self.maker.vocab, view, view.everything(), wanted)?;
        self.may_ask(&meaning(g)).then(|| self.numbered(g))
    }

    fn numbered(&self, g: Subgraph) -> Found {
        let pattern = Pattern::new(self.maker.vocab, &g);
        let numbers = self.maker.scenes.views.iter().map(|&view| pattern.members(view, &self.maker.rows));
        Found { g, pattern, numbers: numbers.map(|set| set.count_ones() as u8).collect() }
    }

    /// Draws a subgraph from a random scene, and edits one of its parts for the other subgraph.
    fn two(&mut self, structure: Structure, meaning: impl Fn(Subgraph, Subgraph) -> Meaning) -> Option<(Found, Found)> {
        let first = self.scene(|_| true)?;
        let (view, wanted) = (self.view(first), self.wanted(structure, None));
        let g = sample::subgraph(&mut self.rng, self.maker.vocab, view, view.everything(), wanted)?;
        let part = g.parts().nth(self.rng.below(g.parts().count() as u32) as usize)?;
        let g2 = edited(&mut self.rng, self.maker.vocab, &g, part)?;
        let (a, b) = if self.rng.coin() { (g, g2) } else { (g2, g) };
        self.may_ask(&meaning(a, b)).then(|| (self.numbered(a), self.numbered(b)))
    }

    /// The scenes that show only the first subgraph, only the second, and both.
    fn shared_out(&self, a: &Found, b: &Found) -> [Vec<u8>; 3] {
        let has = |found: &Found, scene: usize| found.numbers[scene] > 0;
        [(true, false), (false, true), (true, true)]
            .map(|wanted| self.scenes(|scene| (has(a, scene), has(b, scene)) == wanted))
    }

    /// The scenes by the number of objects that a subgraph describes.
    fn by_number(&self, numbers: &[u8]) -> Vec<Vec<u8>> {
        (0..=MOST_COUNTED).map(|n| self.scenes(|scene| n > 0 && numbers[scene] == n)).collect()
    }

    /// Distractors for some subgraphs, from scenes that have none of them.
    fn distractors_of(&mut self, found: &[&Found]) -> Distractors {
        let mut kinds = Kinds::default();
        for each in found {
            kinds.add(&mut self.rng, &each.pattern, each.g.parts());
        }
        let is_free = |scene: usize| found.iter().all(|each| each.numbers[scene] == 0);
        self.distractors(&kinds, is_free, |_, _| [false; 2])
    }
}

/// Draws fewer than `n` images that have `count` objects in all.
fn with_objects(rng: &mut StreamRng, by_number: &[Vec<u8>], count: usize, n: usize) -> Option<ImageSet> {
    let mut set = ImageSet::default();
    if count == 0 {
        return Some(set);
    }
    let n_images = 1 + rng.below(count.min(n - 1) as u32) as usize;
    let mut numbers = [1; MOST_COUNTED as usize];
    for _ in n_images..count {
        numbers[rng.below(n_images as u32) as usize] += 1;
    }
    numbers[..n_images].iter().try_for_each(|&number| add(rng, &mut set, &by_number[number]))?;
    Some(set)
}

/// Draws `count` images from a list.
fn with_images(rng: &mut StreamRng, list: &[u8], count: usize, n: usize) -> Option<ImageSet> {
    let mut set = ImageSet::default();
    if count > n {
        return None;
    }
    (0..count).try_for_each(|_| add(rng, &mut set, list))?;
    Some(set)
}
