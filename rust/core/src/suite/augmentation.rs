//! Questions added to a train set: after every `every` questions, a partner of one of the questions so far, or, of a
//! test on questions that no dataset has, a question that was searched for on one of their images.
//!
//! An added question depends only on the questions before it, so a larger set extends a smaller one.

use super::error::SuiteError;
use super::expression::Substitute;
use super::original::Original;
use super::pairs::{Found, Given, Pair, PairMaker, Pairs};
use super::partner::Step;
use super::search::TestSearch;
use crate::question::text_buffer::TextBuffer;
use crate::rng::{StreamKey, StreamRng};
use crate::scene::SceneView;
use crate::vocab::Answer;
use std::collections::{BTreeMap, VecDeque};

/// A pair, and its kind if it has one.
type KindPair = (Pair, Option<Kind>);

/// Picks partners for a train set. Tests take turns: the least used test comes first, and uses the latest of its unused
/// originals. As far as the originals permit, its partners are answered yes as often as no. Where partners leave a value
/// out or add one, these two forms and the two answers take turns, so that the form does not give the answer away; such
/// a test waits until it has an original for its turn.
pub struct Augmentation<'a> {
    maker: &'a PairMaker<'a>,
    originals: &'a [(Original, SceneView<'a>)],
    texts: &'a [String],
    every: usize,
    tests: Vec<Turns<'a>>,
    buffer: TextBuffer,
    /// One for each block so far.
    pub pairs: Vec<Pair>,
}

/// The number of kinds of partners.
const N_KINDS: usize = 6;

/// A kind of partners with the answers yes and no: twice the number of their step, and 1 more for yes.
type Kind = usize;

fn kind(step: Step, truth: bool) -> Kind {
    2 * step as usize + usize::from(truth)
}

/// The partners that a test has added, and the originals that it has left.
struct Turns<'a> {
    key: StreamKey,
    /// The search for originals; None for a test on the train set's own questions.
    search: Option<TestSearch<'a>>,
    /// Pairs that were found and not yet added.
    found: VecDeque<Pair>,
    /// After a search in vain, the number of images from which the next one starts.
    next_search: usize,
    n_added: usize,
    /// The kinds that take turns; those answered no and yes alone, unless partners differ in how much they say.
    kinds: Vec<Kind>,
    /// Whether a kind that has no original for its turn is waited for.
    waits: bool,
    /// By kind, the number of partners.
    n_of_kind: [usize; N_KINDS],
    /// Originals that were not examined yet, the latest last.
    unread: Vec<usize>,
    /// By kind of their partners, originals that were examined too early.
    read: [Vec<usize>; N_KINDS],
    /// By type of answer, how many more partners that ask for each value were answered yes than no: 0 or 1.
    owed: BTreeMap<Option<u8>, [u32; 256]>,
}

impl<'a> Augmentation<'a> {
    /// Starts with no pairs; `texts` are the texts of the originals, and `every` is at least 1. `searches` has, for each
    /// test, the search for its originals, whose images are in the order in which the originals show them first.
    pub fn new(
        maker: &'a PairMaker<'a>,
        originals: &'a [(Original, SceneView<'a>)],
        texts: &'a [String],
        every: usize,
        searches: Vec<Option<TestSearch<'a>>>,
    ) -> Self {
        let turns = |(test, search): (usize, Option<TestSearch<'a>>)| {
            let steps = maker.steps(test as u16);
            let waits = !steps.is_empty();
            Turns {
                key: maker.key_of(test as u16),
                search,
                found: VecDeque::new(),
                next_search: 1,
                n_added: 0,
                kinds: if waits { steps } else { vec![(Step::None, false), (Step::None, true)] }
                    .into_iter()
                    .map(|(step, truth)| kind(step, truth))
                    .collect(),
                waits,
                n_of_kind: [0; N_KINDS],
                unread: Vec::new(),
                read: Default::default(),
                owed: BTreeMap::new(),
            }
        };
        let tests = searches.into_iter().enumerate().map(turns).collect();
        Self { maker, originals, texts, every, tests, buffer: TextBuffer::default(), pairs: Vec::new() }
    }

    /// The number of pairs in the end: one for each `every` originals.
    pub fn n_blocks(&self) -> usize {
        self.originals.len() / self.every
    }

    /// Adds the pair of the next block of originals; `n_images` is the number of images that the originals so far show.
    ///
    /// # Errors
    /// No test has a partner for any original so far, or an entry's relation does not hold.
    pub fn add(&mut self, n_images: usize) -> Result<(), SuiteError> {
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
        // If every test waits, one of them stops waiting.
        for waits in [true, false] {
            for &test in &order {
                let next = match self.searched(test, n_images)? {
                    Some(pair) => Some((pair, None)),
                    None => self.next(test, waits)?,
                };
                if let Some((pair, kind)) = next {
                    self.tests[test].n_added += 1;
                    kind.into_iter().for_each(|kind| self.tests[test].n_of_kind[kind] += 1);
                    self.pairs.push(pair);
                    return Ok(());
                }
            }
        }
        Err(SuiteError::Augmentation { suite: self.maker.suite_name().to_owned(), n: end })
    }

    /// The next pair of a test whose originals are searched for; None for other tests, and if none was found.
    fn searched(&mut self, test: usize, n_images: usize) -> Result<Option<Pair>, SuiteError> {
        let turns = &mut self.tests[test];
        let Some(search) = &mut turns.search else { return Ok(None) };
        if turns.found.is_empty() && n_images >= turns.next_search {
            search.n_images = n_images;
            search.resume();
            let mut made = Pairs::default();
            while made.pairs.is_empty() && search.step(&mut made)? {}
            // A search in vain is repeated when there are twice as many images.
            turns.next_search = if made.pairs.is_empty() { 2 * n_images } else { 1 };
            turns.found.extend(made.pairs);
        }
        Ok(turns.found.pop_front())
    }

    /// The next pair of a test and its kind; None if none of its originals is left, or none for its turn if it `waits`.
    fn next(&mut self, test: usize, waits: bool) -> Result<Option<(Pair, Option<Kind>)>, SuiteError> {
        let turns = &self.tests[test];
        let least = turns.kinds.iter().map(|&kind| turns.n_of_kind[kind]).min().unwrap_or(0);
        let (rarer, others): (Vec<Kind>, Vec<Kind>) =
            turns.kinds.iter().partition(|&&kind| turns.n_of_kind[kind] == least);
        let waits = waits && turns.waits;
        if !others.is_empty()
            && let Some(place) = self.read(test, &rarer)
        {
            return self.pair(test, place).map(|(pair, _)| pair);
        }
        while let Some(place) = self.tests[test].unread.pop() {
            let (Some((pair, kind)), is_drawn) = self.pair(test, place)? else { continue };
            match kind {
                Some(kind) if others.contains(&kind) && !is_drawn => self.tests[test].read[kind].push(place),
                _ => return Ok(Some((pair, kind))),
            }
        }
        let left = if waits { rarer } else { [others, rarer].concat() };
        match self.read(test, &left) {
            Some(place) => self.pair(test, place).map(|(pair, _)| pair),
            None => Ok(None),
        }
    }

    /// Takes the latest original of the first of some kinds that has one.
    fn read(&mut self, test: usize, kinds: &[Kind]) -> Option<usize> {
        kinds.iter().find_map(|&kind| self.tests[test].read[kind].pop())
    }

    /// The pair of an original and its kind, if it has one, and whether its answer was chosen here and is therefore final.
    fn pair(&mut self, test: usize, place: usize) -> Result<(Option<KindPair>, bool), SuiteError> {
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
        let step = case.step();
        let made = self.maker.pair(test as u16, case, given, &mut rng, &mut self.buffer)?;
        let with_kind = |pair: Pair| {
            let kind = if let Answer::Bool(truth) = pair.answer { Some(kind(step, truth)) } else { None };
            (pair, kind)
        };
        Ok((made.ok().map(with_kind), is_drawn))
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
