//! A split's families and answers in order in, whether its windows can have been balanced out.
//!
//! CLEVR's rule, in code of the audit's own: an answer waits while its family has given it more than 1.1 times
//! as often as the second most frequent answer, or more than 5 times the median (at least 5); the counts begin
//! anew with each window. Scenes that gave no question are in no file, so a window can show fewer images than
//! it had scenes: windows are looked for whose questions all came when the rule allowed them.

use std::collections::BTreeSet;

/// Questions of a split in order, a column each.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub families: &'a [i32],
    pub answers: &'a [i32],
    /// Images; an image's questions are next to each other.
    pub images: &'a [i32],
}

/// What was found out about a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balanced {
    /// Windows were found; how many.
    Windows(usize),
    /// However windows are laid, this row came when the rule forbade it: no other lies further behind.
    Broken(usize),
}

/// Looks for windows of `window` scenes, at most `unseen` of them without a question.
///
/// `answers_of` holds the answers that each family can have.
pub fn balanced(asked: Asked<'_>, answers_of: &[Vec<i32>], window: usize, unseen: usize) -> Balanced {
    let n_rows = asked.families.len().min(asked.answers.len()).min(asked.images.len());
    let changes = |row: &usize| *row == 0 || asked.images[*row] != asked.images[row - 1];
    let mut begins: Vec<usize> = (0..n_rows).filter(changes).collect();
    let n_images = begins.len();
    begins.push(n_rows);
    let mut counts = Counts::new(answers_of);
    // Images at which a window can begin, given all windows before it, and with how many of them.
    let mut starts: BTreeSet<(usize, usize)> = BTreeSet::from([(0, 0)]);
    let mut furthest = 0;
    let soonest = |start: usize| start.saturating_add(window - unseen.min(window - 1));
    while let Some((start, before)) = starts.pop_first() {
        let last = start.saturating_add(window).min(n_images);
        let end = counts.first_refused(asked, begins[start]..begins[last]);
        let Some(refused) = end else {
            if last == n_images {
                return Balanced::Windows(before + usize::from(n_images > start));
            }
            starts.extend((soonest(start)..=last).map(|next| (next, before + 1)));
            thin(&mut starts);
            continue;
        };
        furthest = furthest.max(refused);
        // The window may have ended before the image whose question was refused.
        let image = begins.partition_point(|&begin| begin <= refused) - 1;
        starts.extend((soonest(start)..=image).map(|next| (next, before + 1)));
        thin(&mut starts);
    }
    Balanced::Broken(furthest)
}

/// Of the ways to an image, keeps the first.
fn thin(starts: &mut BTreeSet<(usize, usize)>) {
    let mut last = None;
    starts.retain(|&(start, _)| last.replace(start) != Some(start));
}

/// How often each family gave each answer.
struct Counts<'a> {
    answers_of: &'a [Vec<i32>],
    counts: Vec<Vec<u32>>,
    sorted: Vec<u32>,
}

impl<'a> Counts<'a> {
    fn new(answers_of: &'a [Vec<i32>]) -> Self {
        let counts = answers_of.iter().map(|answers| vec![0; answers.len()]).collect();
        Self { answers_of, counts, sorted: Vec::new() }
    }

    /// The first of some rows that the rule refuses, counted from zero; one whose family or answer is none, too.
    fn first_refused(&mut self, asked: Asked<'_>, rows: std::ops::Range<usize>) -> Option<usize> {
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
        rows.into_iter().find(|&row| !self.accepts(asked.families[row], asked.answers[row]))
    }

    /// Whether an answer may come now; counts it if so.
    fn accepts(&mut self, family: i32, answer: i32) -> bool {
        let Ok(family) = usize::try_from(family) else { return false };
        let Some(answers) = self.answers_of.get(family) else { return false };
        let Some(place) = answers.iter().position(|&known| known == answer) else { return false };
        let counts = &mut self.counts[family];
        self.sorted.clone_from(counts);
        self.sorted.sort_unstable();
        let median = self.sorted[self.sorted.len() / 2].max(5);
        let second = self.sorted.len().checked_sub(2).map(|i| self.sorted[i]);
        let too_frequent = second.is_some_and(|second| 10 * counts[place] > 11 * second);
        let accepted = !too_frequent && counts[place] <= 5 * median;
        counts[place] += u32::from(accepted);
        accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERS: [i32; 3] = [4, 5, 6];

    fn of(answers: &[i32], window: usize, unseen: usize) -> Balanced {
        let families = vec![0; answers.len()];
        let images: Vec<i32> = (0..answers.len() as i32).collect();
        let asked = Asked { families: &families, answers, images: &images };
        balanced(asked, &[ANSWERS.to_vec()], window, unseen)
    }

    #[test]
    fn the_first_two_answers_of_a_window_differ() {
        assert_eq!(of(&[4, 5, 6, 4, 5], 5, 0), Balanced::Windows(1));
        assert_eq!(of(&[4, 4, 5, 6, 5], 5, 0), Balanced::Broken(1));
        assert_eq!(of(&[], 5, 0), Balanced::Windows(0));
    }

    #[test]
    fn an_answer_may_be_a_tenth_more_frequent_than_the_next_and_not_more() {
        let even: Vec<i32> = [4, 5].repeat(10);
        assert_eq!(of(&[&even[..], &[4]].concat(), 30, 0), Balanced::Windows(1));
        assert_eq!(of(&[&even[..], &[4, 4]].concat(), 30, 0), Balanced::Windows(1)); // 11 is not over 1.1 times 10
        assert_eq!(of(&[&even[..], &[4, 4, 4]].concat(), 30, 0), Balanced::Broken(22));
    }

    #[test]
    fn an_answer_may_be_five_times_the_median_and_not_more() {
        // The third answer never comes, so with two of five the median is zero, taken for five.
        let rows: Vec<i32> = [0, 1].repeat(27);
        let families = vec![0; rows.len()];
        let images: Vec<i32> = (0..rows.len() as i32).collect();
        let asked = Asked { families: &families, answers: &rows, images: &images };
        assert_eq!(balanced(asked, &[vec![0, 1, 2, 3, 4]], 100, 0), Balanced::Broken(52));
        assert_eq!(balanced(asked, &[vec![0, 1]], 100, 0), Balanced::Windows(1));
    }

    #[test]
    fn counts_begin_anew_with_each_window() {
        assert_eq!(of(&[4, 5, 4, 5, 4, 5], 3, 0), Balanced::Windows(2));
        assert_eq!(of(&[4, 5, 4, 4, 5, 4], 3, 0), Balanced::Windows(2));
        assert_eq!(of(&[4, 5, 4, 4, 4, 5], 3, 0), Balanced::Broken(4));
    }

    #[test]
    fn scenes_without_questions_shorten_a_window() {
        // A window of three scenes, one unseen, and then another.
        let rows = [4, 5, 5, 4, 5];
        assert_eq!(of(&rows, 3, 0), Balanced::Windows(2));
        let rows = [4, 5, 6, 6, 4, 5, 4];
        assert_eq!(of(&rows, 4, 0), Balanced::Windows(2));
        let rows = [4, 5, 4, 4, 5, 6];
        assert_eq!(of(&rows, 4, 0), Balanced::Broken(3));
        assert_eq!(of(&rows, 4, 1), Balanced::Windows(2));
    }

    #[test]
    fn what_no_family_can_answer_is_refused() {
        assert_eq!(of(&[4, 5, 9], 5, 0), Balanced::Broken(2));
        let asked = Asked { families: &[0, 7], answers: &[4, 4], images: &[0, 0] };
        assert_eq!(balanced(asked, &[ANSWERS.to_vec()], 5, 0), Balanced::Broken(1));
    }

    #[test]
    fn a_image_is_in_one_window() {
        // Two images of two questions each: a window may not begin between questions of one image.
        let asked = Asked { families: &[0; 4], answers: &[4, 5, 4, 4], images: &[0, 0, 1, 1] };
        assert_eq!(balanced(asked, &[ANSWERS.to_vec()], 2, 1), Balanced::Broken(3));
    }
}
