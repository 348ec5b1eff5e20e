//! Checks whether the questions of a split, in order, can have been balanced in windows.
//!
//! This is the audit's own code for CLEVR's rule: an answer is rejected while its family has given it more than 1.1
//! times as often as the second most frequent answer, or more than 5 times the median (at least 5); the counts restart
//! with each window. Scenes without questions are in no file, so a window can have fewer images than scenes. The check
//! searches for windows in which the rule allowed every question.

use std::collections::BTreeSet;

/// The questions of a split in order, a column each.
#[derive(Clone, Copy)]
pub struct QuestionColumns<'a> {
    pub families: &'a [i32],
    pub answers: &'a [i32],
    /// Image numbers; the questions of an image are consecutive.
    pub images: &'a [i32],
}

/// The result of the search for windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSearch {
    /// This number of windows was found.
    Found(usize),
    /// The rule forbids a question, whatever the windows are; this is the last row at which the search failed.
    Refused(usize),
}

/// Searches for windows of `window` scenes, of which at most `unseen` have no question.
///
/// `answers_of` holds the answers that each family can have.
pub fn check_balance(
    columns: QuestionColumns<'_>,
    answers_of: &[Vec<i32>],
    window: usize,
    unseen: usize,
) -> WindowSearch {
    let n_rows = columns.families.len().min(columns.answers.len()).min(columns.images.len());
    let changes = |row: &usize| *row == 0 || columns.images[*row] != columns.images[row - 1];
    let mut begins: Vec<usize> = (0..n_rows).filter(changes).collect();
    let n_images = begins.len();
    begins.push(n_rows);
    let mut counts = Counts::new(answers_of);
    // Images at which a window can begin, each with the number of windows before it.
    let mut starts: BTreeSet<(usize, usize)> = BTreeSet::from([(0, 0)]);
    let mut furthest = 0;
    let fewest = window - unseen.min(window - 1);
    while let Some((start, before)) = starts.pop_first() {
        let last = start.saturating_add(window).min(n_images);
        let end = match counts.first_refused(columns, begins[start]..begins[last]) {
            None if last == n_images => return WindowSearch::Found(before + usize::from(n_images > start)),
            None => last,
            // The window may have ended before the image of the refused question.
            Some(refused) => {
                furthest = furthest.max(refused);
                begins.partition_point(|&begin| begin <= refused) - 1
            }
        };
        starts.extend((start.saturating_add(fewest)..=end).map(|next| (next, before + 1)));
        // If several numbers of windows are possible before an image, the lowest is kept.
        let mut previous = None;
        starts.retain(|&(start, _)| previous.replace(start) != Some(start));
    }
    WindowSearch::Refused(furthest)
}

/// Counts of each family's answers.
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

    /// The first of these rows that the rule refuses, counting from zero, or whose family or answer does not exist.
    fn first_refused(&mut self, columns: QuestionColumns<'_>, rows: std::ops::Range<usize>) -> Option<usize> {
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
        rows.into_iter().find(|&row| !self.accepts(columns.families[row], columns.answers[row]))
    }

    /// Whether the rule accepts an answer; counts it if so.
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

    fn of(answers: &[i32], window: usize, unseen: usize) -> WindowSearch {
        let families = vec![0; answers.len()];
        let images: Vec<i32> = (0..answers.len() as i32).collect();
        let columns = QuestionColumns { families: &families, answers, images: &images };
        check_balance(columns, &[ANSWERS.to_vec()], window, unseen)
    }

    #[test]
    fn the_first_two_answers_of_a_window_differ() {
        assert_eq!(of(&[4, 5, 6, 4, 5], 5, 0), WindowSearch::Found(1));
        assert_eq!(of(&[4, 4, 5, 6, 5], 5, 0), WindowSearch::Refused(1));
        assert_eq!(of(&[], 5, 0), WindowSearch::Found(0));
    }

    #[test]
    fn an_answer_may_be_a_tenth_more_frequent_than_the_next_and_not_more() {
        let even: Vec<i32> = [4, 5].repeat(10);
        assert_eq!(of(&[&even[..], &[4]].concat(), 30, 0), WindowSearch::Found(1));
        assert_eq!(of(&[&even[..], &[4, 4]].concat(), 30, 0), WindowSearch::Found(1)); // 11 is not over 1.1 times 10
        assert_eq!(of(&[&even[..], &[4, 4, 4]].concat(), 30, 0), WindowSearch::Refused(22));
    }

    #[test]
    fn an_answer_may_be_five_times_the_median_and_not_more() {
        // Only two of the five answers occur, so the median is 0, and the rule uses 5 instead.
        let rows: Vec<i32> = [0, 1].repeat(27);
        let families = vec![0; rows.len()];
        let images: Vec<i32> = (0..rows.len() as i32).collect();
        let columns = QuestionColumns { families: &families, answers: &rows, images: &images };
        assert_eq!(check_balance(columns, &[vec![0, 1, 2, 3, 4]], 100, 0), WindowSearch::Refused(52));
        assert_eq!(check_balance(columns, &[vec![0, 1]], 100, 0), WindowSearch::Found(1));
    }

    #[test]
    fn counts_begin_anew_with_each_window() {
        assert_eq!(of(&[4, 5, 4, 5, 4, 5], 3, 0), WindowSearch::Found(2));
        assert_eq!(of(&[4, 5, 4, 4, 5, 4], 3, 0), WindowSearch::Found(2));
        assert_eq!(of(&[4, 5, 4, 4, 4, 5], 3, 0), WindowSearch::Refused(4));
    }

    #[test]
    fn scenes_without_questions_shorten_a_window() {
        // One window of three scenes, and then another.
        let rows = [4, 5, 5, 4, 5];
        assert_eq!(of(&rows, 3, 0), WindowSearch::Found(2));
        let rows = [4, 5, 6, 6, 4, 5, 4];
        assert_eq!(of(&rows, 4, 0), WindowSearch::Found(2));
        let rows = [4, 5, 4, 4, 5, 6];
        assert_eq!(of(&rows, 4, 0), WindowSearch::Refused(3));
        assert_eq!(of(&rows, 4, 1), WindowSearch::Found(2));
    }

    #[test]
    fn what_no_family_can_answer_is_refused() {
        assert_eq!(of(&[4, 5, 9], 5, 0), WindowSearch::Refused(2));
        let columns = QuestionColumns { families: &[0, 7], answers: &[4, 4], images: &[0, 0] };
        assert_eq!(check_balance(columns, &[ANSWERS.to_vec()], 5, 0), WindowSearch::Refused(1));
    }

    #[test]
    fn an_image_is_in_one_window() {
        // Two images with two questions each: a window must not begin between questions of one image.
        let columns = QuestionColumns { families: &[0; 4], answers: &[4, 5, 4, 4], images: &[0, 0, 1, 1] };
        assert_eq!(check_balance(columns, &[ANSWERS.to_vec()], 2, 1), WindowSearch::Refused(3));
    }
}
