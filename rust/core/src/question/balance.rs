//! Balancing of families and answers within a window.
//!
//! CLEVR's rejection rule: an answer is rejected while its family has given it more than 1.1 times as often
//! as the second most frequent answer, or more than 5 times the median (the median at least 5).

use super::plan::{AnswerSet, Plan};
use crate::rng::StreamRng;

/// Number of scenes in a window: the CLEVR generator resets its counters after this many.
pub const WINDOW: usize = 250;

/// Lower bound for the median of a family's counts.
const LEAST_MEDIAN: u32 = 5;

/// The counters of a window.
pub struct Balance {
    /// Number of questions so far, by family; `TAKEN` for families that are never tried.
    questions: Vec<Lanes>,
    families: Vec<Counts>,
    /// The same for the current scene, in which families that were already tried are `TAKEN` too.
    untried: Vec<Lanes>,
    /// The minimum of `untried`, and how often it occurs; unknown while that is 0.
    least: u16,
    n_least: u16,
}

/// Marks a family as unavailable: more questions than a family can have in a window.
const TAKEN: u16 = u16::MAX;
/// Number of families that are processed at once; the last group is padded.
const LANES: usize = 16;
type Lanes = [u16; LANES];

struct Counts {
    answers: Vec<u32>,
    acceptable: AnswerSet,
}

impl Balance {
    /// Counters at zero for the families of these plans; only those in `among` are tried.
    pub fn new<'a>(plans: impl Iterator<Item = &'a Plan>, among: &[u16]) -> Self {
        let families: Vec<Counts> = plans.map(|plan| Counts::new(plan.n_answers)).collect();
        let mut questions = vec![[TAKEN; LANES]; families.len().div_ceil(LANES)];
        among.iter().for_each(|&family| questions.as_flattened_mut()[usize::from(family)] = 0);
        Self { untried: questions.clone(), questions, families, least: TAKEN, n_least: 0 }
    }

    /// Starts a new window, with counters at zero.
    pub fn reset(&mut self) {
        self.questions.as_flattened_mut().iter_mut().filter(|used| **used != TAKEN).for_each(|used| *used = 0);
        for family in &mut self.families {
            *family = Counts::new(family.answers.len());
        }
    }

    /// Starts a new scene.
    pub fn start(&mut self) {
        self.untried.copy_from_slice(&self.questions);
        self.n_least = 0;
    }

    /// The next family to try on the scene: the least used one, ties broken at random.
    pub fn next_family(&mut self, rng: &mut StreamRng) -> Option<u16> {
        if self.n_least == 0 {
            self.least = self.untried.as_flattened().iter().copied().fold(TAKEN, u16::min);
            self.n_least = self.untried.iter().map(|lanes| count(lanes, self.least)).sum();
        }
        let least = self.least;
        if least == TAKEN {
            return None;
        }
        let mut drawn = rng.below(u32::from(self.n_least)) as u16;
        for (i, lanes) in self.untried.iter_mut().enumerate() {
            let ties = count(lanes, least);
            if drawn < ties {
                let mut tied = (0..LANES).filter(|&place| lanes[place] == least);
                let place = tied.nth(usize::from(drawn))?;
                lanes[place] = TAKEN;
                self.n_least -= 1;
                return Some((i * LANES + place) as u16);
            }
            drawn -= ties;
        }
        None
    }

    /// The answers that are accepted from the family's next question.
    pub fn acceptable(&self, family: u16) -> AnswerSet {
        self.families[usize::from(family)].acceptable
    }

    /// Counts a question.
    pub fn accept(&mut self, family: u16, answer: u32) {
        let questions = &mut self.questions.as_flattened_mut()[usize::from(family)];
        *questions = (*questions + 1).min(TAKEN - 1);
        let family = &mut self.families[usize::from(family)];
        family.answers[answer as usize] += 1;
        family.acceptable = acceptable(&family.answers);
    }
}

impl Counts {
    fn new(n_answers: usize) -> Self {
        Self { answers: vec![0; n_answers], acceptable: AnswerSet::first(n_answers) }
    }
}

/// Number of families in these lanes that were used exactly `used` times.
#[inline]
fn count(lanes: &Lanes, used: u16) -> u16 {
    lanes.iter().map(|&of_family| u16::from(of_family == used)).sum()
}

/// The answers that a family with these counts accepts. A family with one answer has no second, so it may repeat it.
pub fn acceptable(counts: &[u32]) -> AnswerSet {
    let (mut first, mut second, mut frequent) = (0, 0, 0);
    for &count in counts {
        second = second.max(count.min(first));
        first = first.max(count);
        frequent += usize::from(count > LEAST_MEDIAN);
    }
    let second = if counts.len() < 2 { f64::INFINITY } else { f64::from(second) };
    let middle = counts.len() / 2;
    let median = if frequent < counts.len() - middle {
        LEAST_MEDIAN
    } else {
        let mut sorted = counts.to_vec();
        sorted.sort_unstable();
        sorted.get(middle).copied().unwrap_or(LEAST_MEDIAN)
    };
    let mut set = AnswerSet::EMPTY;
    for (answer, &count) in counts.iter().enumerate() {
        if f64::from(count) <= 1.1 * second && count <= 5 * median {
            set.insert(answer);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(counts: &[u32]) -> Vec<usize> {
        let set = acceptable(counts);
        (0..counts.len()).filter(|&a| set.contains(a as u32)).collect()
    }

    #[test]
    fn the_rule_is_that_of_clevr() {
        assert_eq!(accepted(&[0, 0]), [0, 1]);
        assert_eq!(accepted(&[0, 1]), [0]);
        assert_eq!(accepted(&[10, 11]), [0, 1]); // 11 is 1.1 times 10, not more
        assert_eq!(accepted(&[10, 12]), [0]);
        assert_eq!(accepted(&[26, 26, 0, 0, 0]), [2, 3, 4]); // over 5 times a median of at least 5
        assert_eq!(accepted(&[25, 25, 0, 0, 0]), [0, 1, 2, 3, 4]);
        assert_eq!(accepted(&[9]), [0]);
    }
}
