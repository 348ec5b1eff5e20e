//! Questions added to a train set: after every `every` questions, a partner of one of the questions so far.
//!
//! An added question depends only on the questions before it, so a larger set extends a smaller one.

use super::error::SuiteError;
use super::expression::Substitute;
use super::original::Original;
use super::pairs::{Found, Given, Pair, PairMaker};
use crate::question::text_buffer::TextBuffer;
use crate::rng::{StreamKey, StreamRng};
use crate::scene::SceneView;
use crate::vocab::Answer;
use std::collections::BTreeMap;

/// Picks partners for a train set. Tests take turns: the least used test comes first, and uses the latest of its unused
/// originals. As far as the originals permit, its partners are answered yes as often as no.
pub struct Augmentation<'a> {
    maker: &'a PairMaker<'a>,
    originals: &'a [(Original, SceneView<'a>)],
    texts: &'a [String],
    every: usize,
    tests: Vec<Turns>,
    buffer: TextBuffer,
    /// One for each block so far.
    pub pairs: Vec<Pair>,
}

/// The partners that a test has added, and the originals that it has left.
struct Turns {
    key: StreamKey,
    n_added: usize,
    /// The numbers of partners answered no and yes.
    n_answered: [usize; 2],
    /// Originals that were not examined yet, the latest last.
    unread: Vec<usize>,
    /// Originals whose partners are answered no and yes.
    read: [Vec<usize>; 2],
    /// By type of answer, how many more partners that ask for each value were answered yes than no: 0 or 1.
    owed: BTreeMap<Option<u8>, [u32; 256]>,
}

impl<'a> Augmentation<'a> {
    /// Starts with no pairs; `texts` are the texts of the originals, and `every` is at least 1.
    pub fn new(
        maker: &'a PairMaker<'a>,
        originals: &'a [(Original, SceneView<'a>)],
        texts: &'a [String],
        every: usize,
    ) -> Self {
        let turns = |test: usize| Turns {
            key: maker.key_of(test as u16),
            n_added: 0,
            n_answered: [0; 2],
            unread: Vec::new(),
            read: [Vec::new(), Vec::new()],
            owed: BTreeMap::new(),
        };
        let tests = (0..maker.n_tests()).map(turns).collect();
        Self { maker, originals, texts, every, tests, buffer: TextBuffer::default(), pairs: Vec::new() }
    }

    /// The number of pairs in the end: one for each `every` originals.
    pub fn n_blocks(&self) -> usize {
        self.originals.len() / self.every
    }

    /// Adds the pair of the next block of originals.
    ///
    /// # Errors
    /// No test has a partner for any original so far, or an entry's relation does not hold.
    pub fn add(&mut self) -> Result<(), SuiteError> {
        let end = (self.pairs.len() + 1) * self.every;
        for place in end - self.every..end {
            let family = self.originals[place].0.family;
            for (test, turns) in self.tests.iter_mut().enumerate() {
                if self.maker.takes(test as u16, family) {
                    turns.unread.push(place);
                }
            }
        }
        let mut order: Vec<usize> = (0..self.tests.len()).collect();
        order.sort_by_key(|&test| self.tests[test].n_added);
        for test in order {
            if let Some(pair) = self.next(test)? {
                self.tests[test].n_added += 1;
                if let Answer::Bool(truth) = pair.answer {
                    self.tests[test].n_answered[usize::from(truth)] += 1;
                }
                self.pairs.push(pair);
                return Ok(());
            }
        }
        Err(SuiteError::Augmentation { suite: self.maker.suite_name().to_owned(), n: end })
    }

    /// The next pair of a test; None if none of its originals is left.
    fn next(&mut self, test: usize) -> Result<Option<Pair>, SuiteError> {
        let [n_no, n_yes] = self.tests[test].n_answered;
        let rarer = usize::from(n_yes < n_no);
        if n_no != n_yes
            && let Some(place) = self.tests[test].read[rarer].pop()
        {
            return self.pair(test, place).map(|(pair, _)| pair);
        }
        while let Some(place) = self.tests[test].unread.pop() {
            let (Some(pair), is_drawn) = self.pair(test, place)? else { continue };
            match pair.answer {
                Answer::Bool(truth) if !is_drawn && n_no != n_yes && usize::from(truth) != rarer => {
                    self.tests[test].read[usize::from(truth)].push(place);
                }
                _ => return Ok(Some(pair)),
            }
        }
        let read = &mut self.tests[test].read;
        match read[1 - rarer].pop().or_else(|| read[rarer].pop()) {
            Some(place) => self.pair(test, place).map(|(pair, _)| pair),
            None => Ok(None),
        }
    }

    /// The pair of an original, if it has one, and whether its answer was chosen here and is therefore final.
    fn pair(&mut self, test: usize, place: usize) -> Result<(Option<Pair>, bool), SuiteError> {
        let (original, scene) = &self.originals[place];
        let turns = &mut self.tests[test];
        let Some(Ok(found)) = self.maker.find(test as u16, &self.originals[place], &turns.key) else {
            return Ok((None, false));
        };
        let mut rng = turns.key.at(original.row as u64);
        let (substitute, is_drawn) = match found {
            Found::Ready(substitute) => (substitute, false),
            Found::Truth(..) => (None, false),
            Found::Group(_) => return Ok((None, false)), // Partners that belong together are only used in tests.
            Found::Waits(waiting) => {
                let owed = turns.owed.entry(waiting.kind()).or_insert([0; 256]);
                let mut values = StreamKey::new(&[b"values", turns.key.as_bytes()]).at(original.row as u64);
                let candidate = &waiting.candidate;
                match balanced(owed, candidate.answer, &candidate.foils, &mut values) {
                    Some(substitute) => (Some(substitute), true),
                    None => return Ok((None, true)),
                }
            }
        };
        let Some(Ok(case)) = self.maker.case(test as u16, original, *scene) else { return Ok((None, false)) };
        let _ = rng.coin(); // Balancing a whole file also draws a coin here.
        let given = Given { place, original, scene: *scene, text: &self.texts[place], substitute };
        let made = self.maker.pair(test as u16, case, given, &mut rng, &mut self.buffer)?;
        Ok((made.ok(), is_drawn))
    }
}

/// The value that a partner asks for: one that was asked for with yes and not yet with no, if it is a foil here, and
/// otherwise the answer. None if the answer was already asked for with yes more often than with no.
fn balanced(owed: &mut [u32; 256], answer: u8, foils: &[u8], rng: &mut StreamRng) -> Option<Substitute> {
    let total: u32 = foils.iter().map(|&foil| owed[usize::from(foil)]).sum();
    let mut drawn = if total > 0 { rng.below(total) } else { 0 };
    for &foil in foils {
        let n = &mut owed[usize::from(foil)];
        if drawn < *n {
            *n -= 1;
            return Some(Substitute { is_answer: false, foil });
        }
        drawn -= *n;
    }
    let n = &mut owed[usize::from(answer)];
    if *n > 0 {
        return None;
    }
    *n = 1;
    foils.first().map(|&foil| Substitute { is_answer: true, foil })
}
