//! How often each family and each of its answers was used in a window in; what may come next out.
//!
//! CLEVR's rejection rule: an answer waits while its family has given it more than 1.1 times as often
//! as the second most frequent answer, or more than 5 times the median (the median at least 5).

use super::plan::{AnswerSet, Plan};
use crate::rng::StreamRng;

/// A window's counters.
pub struct Balance {
    families: Vec<Counts>,
    /// Families not yet tried on the scene at hand.
    untried: Vec<u16>,
}

struct Counts {
    questions: u32,
    answers: Vec<u32>,
    acceptable: AnswerSet,
}

impl Balance {
    /// Counters at zero, for families with so many answers each.
    pub fn new<'a>(plans: impl Iterator<Item = &'a Plan>) -> Self {
        let families = plans.map(|plan| Counts::new(plan.n_answers)).collect();
        Self { families, untried: Vec::new() }
    }

    /// Back to zero: a new window.
    pub fn reset(&mut self) {
        for family in &mut self.families {
            *family = Counts::new(family.answers.len());
        }
    }

    /// A new scene, on which the families given may be tried.
    pub fn start(&mut self, among: &[u16]) {
        self.untried.clear();
        self.untried.extend_from_slice(among);
    }

    /// The next family to try on the scene: the least used, ties broken at random.
    pub fn next_family(&mut self, rng: &mut StreamRng) -> Option<u16> {
        let used = |family: u16| self.families[usize::from(family)].questions;
        let least = self.untried.iter().map(|&family| used(family)).min()?;
        let ties = self.untried.iter().filter(|&&family| used(family) == least).count();
        let drawn = rng.below(ties as u32) as usize;
        let mut tied = self.untried.iter().enumerate().filter(|&(_, &family)| used(family) == least);
        let (place, &family) = tied.nth(drawn)?;
        self.untried.remove(place);
        Some(family)
    }

    /// The answers that a family may give next.
    pub fn acceptable(&self, family: u16) -> AnswerSet {
        self.families[usize::from(family)].acceptable
    }

    /// Counts a question.
    pub fn accept(&mut self, family: u16, answer: u32) {
        let family = &mut self.families[usize::from(family)];
        family.questions += 1;
        family.answers[answer as usize] += 1;
        family.acceptable = acceptable(&family.answers);
    }
}

impl Counts {
    fn new(n_answers: usize) -> Self {
        Self { questions: 0, answers: vec![0; n_answers], acceptable: AnswerSet::first(n_answers) }
    }
}

/// The rule, on a family's counts by answer. A family with one answer has no second: it may repeat it.
pub fn acceptable(counts: &[u32]) -> AnswerSet {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let second = if sorted.len() < 2 { f64::INFINITY } else { f64::from(sorted[sorted.len() - 2]) };
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0).max(5);
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
