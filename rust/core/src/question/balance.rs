//! How often each family and each of its answers was used in a window in; what may come next out.
//!
//! CLEVR's rejection rule: an answer waits while its family has given it more than 1.1 times as often
//! as the second most frequent answer, or more than 5 times the median (the median at least 5).

use super::plan::{AnswerSet, Plan};
use crate::rng::StreamRng;

/// What the median of a family's counts is taken for at least.
const LEAST_MEDIAN: u32 = 5;

/// A window's counters.
pub struct Balance {
    /// Questions so far, by family.
    questions: Vec<u16>,
    families: Vec<Counts>,
    /// `questions` of the families not yet tried on the scene at hand, `TRIED` for all others.
    untried: Vec<u16>,
}

/// More questions than a family can have in a window.
const TRIED: u16 = u16::MAX;

struct Counts {
    answers: Vec<u32>,
    acceptable: AnswerSet,
}

impl Balance {
    /// Counters at zero, for families with so many answers each.
    pub fn new<'a>(plans: impl Iterator<Item = &'a Plan>) -> Self {
        let families: Vec<Counts> = plans.map(|plan| Counts::new(plan.n_answers)).collect();
        Self { questions: vec![0; families.len()], untried: vec![TRIED; families.len()], families }
    }

    /// Back to zero: a new window.
    pub fn reset(&mut self) {
        self.questions.fill(0);
        for family in &mut self.families {
            *family = Counts::new(family.answers.len());
        }
    }

    /// A new scene, on which the families given may be tried.
    pub fn start(&mut self, among: &[u16]) {
        self.untried.fill(TRIED);
        for &family in among {
            self.untried[usize::from(family)] = self.questions[usize::from(family)];
        }
    }

    /// The next family to try on the scene: the least used, ties broken at random.
    pub fn next_family(&mut self, rng: &mut StreamRng) -> Option<u16> {
        let least = self.untried.iter().copied().fold(TRIED, u16::min);
        if least == TRIED {
            return None;
        }
        let count = |families: &[u16]| families.iter().map(|&used| u16::from(used == least)).sum::<u16>();
        let mut drawn = rng.below(u32::from(count(&self.untried))) as u16;
        // Whole stretches are passed over at once.
        const STRETCH: usize = 16;
        let mut start = 0;
        for stretch in self.untried.chunks(STRETCH) {
            let ties = count(stretch);
            if drawn < ties {
                break;
            }
            drawn -= ties;
            start += STRETCH;
        }
        let mut tied = (start..self.untried.len()).filter(|&family| self.untried[family] == least);
        let family = tied.nth(usize::from(drawn))?;
        self.untried[family] = TRIED;
        Some(family as u16)
    }

    /// The answers that a family may give next.
    pub fn acceptable(&self, family: u16) -> AnswerSet {
        self.families[usize::from(family)].acceptable
    }

    /// Counts a question.
    pub fn accept(&mut self, family: u16, answer: u32) {
        let questions = &mut self.questions[usize::from(family)];
        *questions = (*questions + 1).min(TRIED - 1);
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

/// The rule, on a family's counts by answer. A family with one answer has no second: it may repeat it.
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
