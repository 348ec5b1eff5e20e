//! All pairs of a suite on the questions of one file, as questions in the order of the new file.

use super::augmentation::Augmentation;
use super::error::SuiteError;
use super::original::Original;
use super::pairs::{Pair, PairMaker, Pairs, question};
use super::search::{KnownQuestions, SearchTask, TestSearch};
use crate::question::instantiate::Question;
use crate::scene::SceneView;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Why pairs were not made: a fault of the suite, or a check between two steps that stopped the work.
pub enum Stop<E> {
    Fault(SuiteError),
    Stopped(E),
}

impl<E> From<SuiteError> for Stop<E> {
    fn from(fault: SuiteError) -> Self {
        Self::Fault(fault)
    }
}

/// The questions of a file, each with its scene and the scene's index in its pool.
pub struct FileQuestions<'a> {
    pub originals: &'a [(Original, SceneView<'a>)],
    pub images: &'a [i32],
}

/// Pairs, and their questions in the order of the new file.
pub type FilePairs = (Pairs, Vec<Question>);

impl PairMaker<'_> {
    /// The pairs of all tests, and for each pair its two questions; uses all cores.
    ///
    /// Originals are searched for until each cell of a test has `per_cell` pairs: those of the suite's own families, and
    /// with `of_dataset` of the dataset's as well. `check` is called between steps.
    ///
    /// # Errors
    /// An entry's relation does not hold, a partner's words do not mean its program, or a check failed.
    pub fn file_pairs<E: Send>(
        &self,
        file: FileQuestions<'_>,
        per_cell: u32,
        of_dataset: bool,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<FilePairs, Stop<E>> {
        let FileQuestions { originals, images } = file;
        let (texts, vocab) = (self.texts(originals), self.at.vocab);
        let shown: BTreeMap<u64, _> =
            originals.iter().zip(images).map(|((_, view), &image)| (image as u64, *view)).collect();
        let shown: Vec<_> = shown.into_iter().collect();
        let plans = self.suite.plans(vocab);
        let task = SearchTask { images: &shown, plans: &plans, per_cell, of_dataset };
        let asked = originals.iter().zip(images).map(|((original, _), &image)| (original, image as u64));
        let known = KnownQuestions::new(asked.filter(|_| of_dataset));
        let mut made = Pairs::default();
        for test in 0..self.n_tests() as u16 {
            self.make_test(test, originals, &texts, &mut made)?;
            check().map_err(Stop::Stopped)?;
        }
        let mut searches = Vec::with_capacity(self.n_tests());
        for test in 0..self.n_tests() as u16 {
            let mut search = TestSearch::new(self, task, &known, test, &made);
            while search.step(&mut made)? {
                check().map_err(Stop::Stopped)?;
            }
            searches.push(search);
        }
        made.searches = searches.iter().map(|search| search.result(&made)).collect();
        made.sort();
        self.suite.check_texts(&made.pairs)?;
        let both = |pair: &Pair| match &pair.found {
            Some(found) => pair.questions((&found.0, shown[found.1].1), shown[found.1].0, vocab),
            None => {
                let (original, view) = &originals[pair.original];
                pair.questions((original, *view), images[pair.original] as u64, vocab)
            }
        };
        let questions = made.pairs.iter().flat_map(both).collect();
        Ok((made, questions))
    }

    /// The pairs of a train set, and all its questions, with a question of the suite after each `every` of them: a partner
    /// of one of them, or of a pair whose original was searched for, the second question.
    ///
    /// `check` is called between blocks of questions.
    ///
    /// # Errors
    /// No test has a partner for any question of a block, an entry's relation does not hold, or a check failed.
    pub fn added_pairs<E>(
        &self,
        file: FileQuestions<'_>,
        every: usize,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<FilePairs, Stop<E>> {
        let FileQuestions { originals, images } = file;
        let (texts, vocab) = (self.texts(originals), self.at.vocab);
        // The images in the order in which they are shown first, and how many are shown up to each original.
        let mut shown = Vec::new();
        let mut is_new = FxHashSet::default();
        let mut n_shown = Vec::with_capacity(originals.len());
        for ((_, view), &image) in originals.iter().zip(images) {
            if is_new.insert(image) {
                shown.push((image as u64, *view));
            }
            n_shown.push(shown.len());
        }
        let (plans, known) = (self.suite.plans(vocab), KnownQuestions::default());
        let task = SearchTask { images: &shown, plans: &plans, per_cell: u32::MAX, of_dataset: false };
        let search = |test: u16| {
            let search = TestSearch::new(self, task, &known, test, &Pairs::default());
            search.has_sources().then_some(search)
        };
        let searches = (0..self.n_tests() as u16).map(search).collect();
        let mut added = Augmentation::new(self, originals, &texts, every, searches);
        for block in 0..added.n_blocks() {
            added.add(n_shown[(block + 1) * every - 1])?;
            check().map_err(Stop::Stopped)?;
        }
        let pairs = added.pairs;
        self.suite.check_texts(&pairs)?;
        let questions = texts.par_iter().enumerate().flat_map_iter(|(row, text)| {
            let own = question(&originals[row].0, text, originals[row].1, images[row] as u64, vocab);
            let pair = pairs.get(row / every).filter(|_| (row + 1) % every == 0);
            let partner = pair.map(|pair| match &pair.found {
                Some(found) => {
                    let (image, view) = shown[found.1];
                    let [_, second] = pair.questions((&found.0, view), image, vocab);
                    second
                }
                None => {
                    let (view, image) = (originals[pair.original].1, images[pair.original] as u64);
                    pair.partner(view, image, vocab)
                }
            });
            std::iter::once(own).chain(partner)
        });
        let questions = questions.collect();
        Ok((Pairs { pairs, ..Default::default() }, questions))
    }
}
