//! The questions of a window, pair by pair, in the order of the schedule.

use super::distractors::WindowScenes;
use super::matching::Rows;
use super::pairs::{Attempt, Maker, SetQuestion};
use super::phrasing::Phrasings;
use super::rule::{PairPlace, SetRule};
use super::schedule::{Cell, Schedule};
use super::template::Template;
use crate::holdout::Holdout;
use crate::rng::StreamKey;
use crate::scene::SceneView;
use crate::vocab::Vocabulary;

/// The number of pairs that are wanted from a window of 250 scenes.
pub const PAIRS_A_WINDOW: u64 = 500;
/// Maximum number of attempts at a pair; then its cell is skipped.
const MOST_ATTEMPTS: u64 = 250;

/// Questions in pairs with the same text, and the numbers of attempts and skipped cells.
#[derive(Clone, Debug, Default)]
pub struct SetQuestions {
    pub questions: Vec<SetQuestion>,
    /// By template: the number of attempts, and in `skipped` of cells that could not be filled.
    pub attempts: [u64; Template::ALL.len()],
    pub skipped: [u64; Template::ALL.len()],
}

impl SetQuestions {
    pub fn add(&mut self, other: Self) {
        self.questions.extend(other.questions);
        for (own, other) in [(&mut self.attempts, &other.attempts), (&mut self.skipped, &other.skipped)] {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        }
    }
}

/// Everything that the windows of a split have in common.
pub(super) struct Windows<'a> {
    pub vocab: &'a Vocabulary,
    pub rule: &'a SetRule,
    pub holdout: Option<&'a Holdout>,
    pub schedule: &'a Schedule,
    /// The cells of questions that mention the held-out pair.
    pub mentioning: &'a Schedule,
    pub phrasings: &'a Phrasings,
    pub key: StreamKey,
}

impl Windows<'_> {
    /// Makes the questions of a window; `indices` are its scenes' indices in their pool.
    pub fn questions(&self, window: u64, indices: &[u64], views: &[SceneView<'_>]) -> SetQuestions {
        let has_pair = |view: &SceneView<'_>| self.holdout.is_some_and(|pair| pair.members(self.vocab, *view) != 0);
        let have_pair: Vec<bool> = views.iter().map(has_pair).collect();
        let maker = Maker {
            vocab: self.vocab,
            rows: Rows::new(self.vocab),
            rule: self.rule,
            holdout: self.holdout,
            scenes: WindowScenes { views, have_pair: &have_pair },
            indices,
        };
        let mut made = SetQuestions::default();
        for number in window * PAIRS_A_WINDOW..(window + 1) * PAIRS_A_WINDOW {
            let (place, cell) = self.cell(number);
            let template = cell.template as usize;
            let key = StreamKey::new(&[b"pair", self.key.as_bytes(), &number.to_le_bytes()]);
            let found = (0..MOST_ATTEMPTS).find_map(|attempt| {
                made.attempts[template] += 1;
                Attempt { maker: &maker, rng: key.at(attempt), place }.pair(cell)
            });
            match found {
                Some(mut pair) => {
                    let phrasing = self.phrasing(&pair[0], &key);
                    pair.iter_mut().for_each(|question| question.phrasing = phrasing);
                    made.questions.extend(pair);
                }
                None => made.skipped[template] += 1,
            }
        }
        made
    }
    /// The place of the held-out pair in a pair of questions, and their cell. Each place goes through its own cells.
    fn cell(&self, number: u64) -> (PairPlace, Cell) {
        let places = &self.rule.places;
        let n = places.len() as u64;
        let at = (number % n) as usize;
        let count = |some: &[PairPlace]| some.iter().filter(|&&place| place == places[at]).count() as u64;
        let number = number / n * count(places) + count(&places[..at]);
        let schedule = if places[at] == PairPlace::Mentioned { self.mentioning } else { self.schedule };
        (places[at], schedule.cell(number))
    }

    /// The phrasing of a question: the last of its list in a paraphrased split, a random one of the others elsewhere.
    fn phrasing(&self, question: &SetQuestion, pair: &StreamKey) -> u16 {
        let last = self.phrasings.n(&question.meaning) as u32 - 1;
        let drawn = StreamKey::new(&[b"phrasing", pair.as_bytes()]).at(0).below(last);
        (if self.rule.paraphrased { last } else { drawn }) as u16
    }
}
