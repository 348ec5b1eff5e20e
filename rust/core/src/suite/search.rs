//! Originals that a suite searches for on a split's images: of its own families, which no dataset has, and of the
//! dataset's families where a test is rare among the dataset's questions.
//!
//! Pairs of a test are in four cells, by which of the two questions mention the held-out values. Each cell is filled up
//! to a number of pairs, by attempts that cycle through the images. An attempt is for one cell and one family: it looks
//! for a question whose answer keeps the family's answers in the cell balanced, by CLEVR's rule, and makes its partner
//! or partners: a crossing also gets its control, and a group has a pair for each value. Attempts are made in blocks,
//! whose results are taken in order, so the result does not depend on threads.

use super::cells::{Cell, SearchResult, possible_cells};
use super::entry::N_CELLS;
use super::entry::Sides;
use super::error::SuiteError;
use super::expression::{Expression, Substitute, answer_value};
use super::original::Original;
use super::pairs::{Given, Pair, PairMaker, Pairs};
use super::partner::Needs;
use super::test::Case;
use crate::program::{Function, Program};
use crate::question::balance::acceptable;
use crate::question::instantiate::{MAX_OPTIONS, answer_of};
use crate::question::param::MAX_PARAMS;
use crate::question::plan::{AnswerSet, Plan};
use crate::question::reading::Reading;
use crate::question::search::{QuestionRule, Searcher, Task, Verdict, chosen_values};
use crate::question::text_buffer::TextBuffer;
use crate::question::wording::Worded;
use crate::rng::{StreamKey, StreamRng};
use crate::scene::SceneView;
use crate::vocab::Answer;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Attempts in a block.
const BLOCK: u64 = 256;
/// The search gives up a cell after this many attempts in a row without a pair.
const MOST_IN_VAIN: u64 = 16 * BLOCK;

/// A search for originals on the images of a file.
#[derive(Clone, Copy, Debug)]
pub struct SearchTask<'a> {
    /// The index and scene of each image of the split's questions, without repetitions.
    pub images: &'a [(u64, SceneView<'a>)],
    /// One plan for each family that originals can have.
    pub plans: &'a [Plan],
    /// The number of pairs wanted in each cell of a test.
    pub per_cell: u32,
    /// Whether originals of the dataset's families are searched for as well.
    pub of_dataset: bool,
}

/// A question's image and program: two questions that agree in both are the same question, whatever their families.
type Known = (u64, Program);

/// The questions of a split; the search does not return them again.
#[derive(Clone, Debug, Default)]
pub struct KnownQuestions(FxHashSet<Known>);

impl KnownQuestions {
    /// Collects the questions of a split, each with the index of its image.
    pub fn new<'a>(questions: impl Iterator<Item = (&'a Original, u64)>) -> Self {
        Self(questions.map(|(each, image)| (image, each.program.clone())).collect())
    }
}

/// The queue of pairs that wait for one with the other answer: the type of the values asked for, the cell, and the two
/// values, the smaller one first; they are equal unless the two questions of a pair ask for different values.
type Queue = (Option<u8>, Cell, u8, u8);

/// The result of a successful attempt: an original and its pairs.
struct Found {
    /// The original's family.
    family: u16,
    /// A pair and the pairs of its controls, or a group.
    pairs: Vec<Pair>,
    /// The original and its first partner.
    known: [Known; 2],
    /// The cell as written in files, and `unswapped` before sides were swapped. A group's cell is the last in which it
    /// has a pair.
    cell: Cell,
    unswapped: Cell,
    /// The number of the answer among its family's answers.
    answer: u32,
    /// If values are balanced: the queue, and whether the pair waits in it (true) or completes a waiting pair.
    queue: Option<(Queue, bool)>,
}

/// A family from which a test takes originals.
struct Source {
    family: u16,
    /// By cell, the answers that originals can have; empty if the cell cannot have any.
    answers: [Vec<u32>; N_CELLS],
    /// By cell and answer, the number of originals found.
    counts: [Vec<u32>; N_CELLS],
    /// The controls that an original can have.
    controls: Vec<u16>,
}

/// The search for a test's originals.
pub struct TestSearch<'a> {
    maker: &'a PairMaker<'a>,
    task: SearchTask<'a>,
    known: &'a KnownQuestions,
    test: u16,
    key: StreamKey,
    sources: Vec<Source>,
    is_possible: [bool; N_CELLS],
    counts: [u32; N_CELLS],
    in_vain: [u64; N_CELLS],
    n_attempts: u64,
    /// The number of images, from the first, that are searched.
    pub n_images: usize,
    seen: FxHashSet<Known>,
    waiting: BTreeMap<Queue, Vec<Found>>,
}

/// The buffers of one thread.
struct Worker {
    searcher: Searcher,
    buffer: TextBuffer,
}

impl<'a> TestSearch<'a> {
    /// Starts a search for originals of a test; `made` has the test's pairs so far.
    pub fn new(
        maker: &'a PairMaker<'a>,
        task: SearchTask<'a>,
        known: &'a KnownQuestions,
        test: u16,
        made: &Pairs,
    ) -> Self {
        let paired = &maker.suite.tests[usize::from(test)];
        let key = StreamKey::new(&[b"searched originals", maker.key.as_bytes(), paired.name.as_bytes()]);
        let tests = &maker.suite.tests;
        let controls: Vec<u16> = (0..)
            .zip(tests)
            .filter(|(_, other)| other.control_of.as_ref() == Some(&paired.name))
            .map(|(n, _)| n)
            .collect();
        // Pairs of controls are found together with the pairs that they are compared with, but values cannot be
        // balanced in several tests at once.
        let is_searched = paired.control_of.is_none()
            && (controls.is_empty()
                || ![test].iter().chain(&controls).any(|&each| tests[usize::from(each)].is_balanced()));
        let mut sources = Vec::new();
        let mut is_possible = [false; N_CELLS];
        for (&family, cases) in &paired.cases {
            let of_dataset = usize::from(family) < maker.suite.n_of_dataset;
            let source = Source::new(maker, &task.plans[usize::from(family)], family, cases, &controls);
            for cell in 0..N_CELLS {
                let can_be = !source.answers[cell].is_empty();
                is_possible[cell] |= can_be;
                is_possible[exchanged(cell)] |= can_be && paired.sides == Sides::Coin;
            }
            if is_searched && (task.of_dataset || !of_dataset) {
                sources.push(source);
            }
        }
        Self {
            maker,
            task,
            known,
            test,
            key,
            sources,
            is_possible,
            counts: counts_of(made, test),
            in_vain: [0; N_CELLS],
            n_attempts: 0,
            n_images: task.images.len(),
            seen: FxHashSet::default(),
            waiting: BTreeMap::new(),
        }
    }

    /// Makes the attempts of a block and adds their pairs; false if nothing was left to search for. Uses all cores.
    ///
    /// # Errors
    /// The relation of an entry does not hold for a pair.
    pub fn step(&mut self, all: &mut Pairs) -> Result<bool, SuiteError> {
        let open: Vec<Cell> = (0..N_CELLS).filter(|&cell| self.is_open(cell)).collect();
        if open.is_empty() || self.n_images == 0 || self.sources.is_empty() {
            return Ok(false);
        }
        let (vocab, holdout) = (self.maker.at.vocab, self.maker.at.holdout);
        let attempts = (0..BLOCK as usize).into_par_iter().with_min_len(BLOCK as usize / 8);
        let worker = || Worker { searcher: Searcher::new(vocab, holdout), buffer: TextBuffer::default() };
        let found: Vec<Option<Found>> = attempts
            .map_init(worker, |worker, place| self.attempt(worker, self.n_attempts + place as u64, &open))
            .collect::<Result<_, _>>()?;
        self.n_attempts += BLOCK;
        open.iter().for_each(|&cell| self.in_vain[cell] += BLOCK);
        for found in found.into_iter().flatten() {
            self.take(found, all);
        }
        Ok(true)
    }

    /// Whether it has families to search, of any of the dataset's or the suite's that its task allows.
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Searches again in cells that were given up.
    pub fn resume(&mut self) {
        self.in_vain = [0; N_CELLS];
    }

    /// The result of the search; `made` has the pairs of all tests.
    pub fn result(&self, made: &Pairs) -> SearchResult {
        let counts = counts_of(made, self.test);
        let lacks =
            |cell: Cell| if self.is_possible[cell] { self.task.per_cell.saturating_sub(counts[cell]) } else { 0 };
        SearchResult { test: self.test, is_possible: self.is_possible, lacks: std::array::from_fn(lacks) }
    }

    fn is_open(&self, cell: Cell) -> bool {
        self.is_possible[cell] && self.counts[cell] < self.task.per_cell && self.in_vain[cell] < MOST_IN_VAIN
    }

    /// Makes one attempt; its draws depend only on its number, which determines the image.
    fn attempt(&self, worker: &mut Worker, number: u64, open: &[Cell]) -> Result<Option<Found>, SuiteError> {
        let mut rng = self.key.at(number);
        let place = (number % self.n_images as u64) as usize;
        let (image, scene) = self.task.images[place];
        let cell = open[rng.below(open.len() as u32) as usize];
        let is_swapped = self.maker.suite.tests[usize::from(self.test)].sides == Sides::Coin && rng.coin();
        let unswapped = if is_swapped { exchanged(cell) } else { cell };
        let fitting: Vec<&Source> = self.sources.iter().filter(|each| !each.answers[unswapped].is_empty()).collect();
        if fitting.is_empty() {
            return Ok(None);
        }
        let source = fitting[rng.below(fitting.len() as u32) as usize];
        let accept = source.acceptable(unswapped);
        let Some((original, answer)) =
            self.question(worker, (number, scene), source.family, unswapped, accept, &mut rng)
        else {
            return Ok(None);
        };
        let Some(Ok(case)) = self.maker.case(self.test, &original, scene) else { return Ok(None) };
        if !self.has_other_value(&original) {
            return Ok(None);
        }
        let Some((substitutes, mut queue)) = self.substitutes(case, &original, scene, unswapped, &mut rng) else {
            return Ok(None);
        };
        let Some(controls) = self.controls_of(source, &original, scene, &mut rng) else { return Ok(None) };
        let partners = substitutes.into_iter().map(|substitute| (self.test, case, substitute)).chain(controls);
        let family = &self.maker.at.templates.families()[usize::from(original.family)];
        let text = family.say(&original.reading, self.maker.at.templates.lexicon(), &mut worker.buffer);
        let mut pairs = Vec::new();
        for (test, case, substitute) in partners {
            let given = Given { place: 0, original: &original, scene, text: &text, substitute };
            // Partners of one original draw the same numbers, so their words differ only in the values.
            let Ok(mut pair) = self.maker.pair(test, case, given, &mut rng.clone(), &mut worker.buffer)? else {
                return Ok(None);
            };
            pair.is_swapped = is_swapped;
            if is_swapped {
                pair.touches.by_answer = self.maker.is_completed(&pair.program, pair.answer);
            }
            pair.found = Some(Box::new((original.clone(), place)));
            pairs.push(pair);
        }
        let known = |program: &Program| (image, program.clone());
        let Some(first) = pairs.first() else { return Ok(None) };
        queue = queue.or_else(|| case.queue_of_verified(&original, &first.program, cell));
        let known = [known(&original.program), known(&first.program)];
        let made = pairs.iter().filter(|pair| pair.test == self.test).map(Pair::cell).max();
        let family = original.family;
        Ok((made == Some(cell)).then_some(Found { family, pairs, known, cell, unswapped, answer, queue }))
    }

    /// Whether an original that asks whether an object has a value could also ask for another value. If not, the
    /// split's rule would give away the answer.
    fn has_other_value(&self, original: &Original) -> bool {
        let Some((kind, value)) = verified(&original.program) else { return true };
        let mut program = original.program.clone();
        (0..self.maker.at.vocab.n_values(usize::from(kind)) as u8).filter(|&other| other != value).any(|other| {
            program.steps.iter_mut().last().into_iter().for_each(|step| step.argument = other);
            self.maker.at.rule.allows(&program, self.maker.at.holdout)
        })
    }

    /// For each control of an original, the value that replaces the answer; None if one of the controls is impossible.
    #[allow(clippy::type_complexity)] // Test, case and substitute.
    fn controls_of(
        &self,
        source: &Source,
        original: &Original,
        scene: SceneView<'_>,
        rng: &mut StreamRng,
    ) -> Option<Vec<(u16, &Case, Option<Substitute>)>> {
        let mut control = |&test: &u16| {
            let case = self.maker.case(test, original, scene)?.ok()?;
            let Needs::Foil { foils, .. } = case.needs(original, scene, self.maker.at).ok()? else {
                return Some((test, case, None));
            };
            let foil = foils[rng.below(foils.len() as u32) as usize];
            Some((test, case, Some(Substitute { is_answer: false, foil })))
        };
        source.controls.iter().map(&mut control).collect()
    }

    /// Searches for a question of a family that mentions the held-out values if originals of the cell do; also returns
    /// the number of its answer.
    fn question(
        &self,
        worker: &mut Worker,
        (number, scene): (u64, SceneView<'_>),
        family: u16,
        cell: Cell,
        accept: AnswerSet,
        rng: &mut StreamRng,
    ) -> Option<(Original, u32)> {
        let (at, plan) = (self.maker.at, &self.task.plans[usize::from(family)]);
        if !accept.meets(plan.possible) {
            return None;
        }
        let rule = match (at.rule, at.holdout) {
            (_, None) => QuestionRule::Any,
            (QuestionRule::Any, Some(_)) if cell & 2 != 0 => QuestionRule::With,
            (QuestionRule::Any, Some(_)) => QuestionRule::Without,
            (rule, Some(_)) => rule,
        };
        worker.searcher.options.load(scene);
        let task = Task::new(scene, at.vocab, plan, accept, rule, at.holdout, MAX_OPTIONS);
        if worker.searcher.attempt(&task, rng) != Verdict::Found {
            return None;
        }
        let (source, lexicon) = (&at.templates.families()[usize::from(family)], at.templates.lexicon());
        let worded = Worded { words: [0; MAX_PARAMS], kept: rng.word() as u32 };
        let phrasing = rng.below(source.phrasings.len() as u32) as u8;
        let mut reading = Reading { phrasing, values: [None; MAX_PARAMS], worded };
        for (place, node) in plan.nodes.iter().enumerate().filter(|(_, node)| node.is_choice) {
            let choice = worker.searcher.choices()[place];
            let chosen = chosen_values(node.kind, choice, worker.searcher.options.combinations());
            for (&param, &value) in plan.params_of[place].iter().zip(&*chosen) {
                reading.values[usize::from(param)] = value;
            }
        }
        for (place, param) in source.params.iter().enumerate() {
            let n = lexicon.words(param, reading.values[place]).len() as u32;
            reading.worded.words[place] = rng.below(n.max(1)) as u8;
        }
        let (program, outputs) = source.program(&reading.values);
        let word = worker.searcher.answer(plan);
        let answer = answer_of(source.output(), word);
        Some((Original { row: number as usize, family, answer, reading, program, outputs }, word))
    }

    /// The values that replace an original's answer, one for each pair of a group, or one for a single pair in the
    /// cell; None if no value can.
    #[allow(clippy::type_complexity)] // Substitutes if the test needs them, and the queue if values are balanced.
    fn substitutes(
        &self,
        case: &Case,
        original: &Original,
        scene: SceneView<'_>,
        cell: Cell,
        rng: &mut StreamRng,
    ) -> Option<(Vec<Option<Substitute>>, Option<(Queue, bool)>)> {
        let at = self.maker.at;
        let (mut foils, answer_fits) = match case.needs(original, scene, at).ok()? {
            Needs::Nothing => return Some((vec![None], None)),
            Needs::Truth => {
                // Yes waits for a no.
                let truth = matches!(original.answer, Answer::Integer(number) if number > 0);
                return Some((vec![None], Some(((None, cell, 0, 0), truth))));
            }
            Needs::Each(substitutes) => return Some((substitutes.into_iter().map(Some).collect(), None)),
            Needs::Foil { foils, answer_fits } => (foils, answer_fits),
        };
        let is_in_cell = |substitute: Substitute| {
            let draft = case.draft(original, Some(substitute), scene, at);
            draft.is_ok_and(|draft| self.maker.mentions(&draft.program) == (cell & 1 != 0))
        };
        if !case.is_balanced() {
            let is_answer = rng.coin();
            foils.retain(|&foil| is_in_cell(Substitute { is_answer, foil }));
            let foil = *foils.get(rng.below((foils.len() as u32).max(1)) as usize)?;
            return Some((vec![Some(Substitute { is_answer, foil })], None));
        }
        let answer = answer_value(original.answer).filter(|_| answer_fits)?;
        let kind = if let Answer::Value(kind, _) = original.answer { Some(kind) } else { None };
        // The foils that were asked for with yes before, and wait for a no.
        let waits = |&foil: &u8| self.waiting.get(&(kind, cell, foil, foil)).is_some_and(|queue| !queue.is_empty());
        let as_no: Vec<u8> = foils
            .iter()
            .copied()
            .filter(waits)
            .filter(|&foil| is_in_cell(Substitute { is_answer: false, foil }))
            .collect();
        if !as_no.is_empty() {
            let foil = as_no[rng.below(as_no.len() as u32) as usize];
            return Some((vec![Some(Substitute { is_answer: false, foil })], Some(((kind, cell, foil, foil), false))));
        }
        let yes = Substitute { is_answer: true, foil: *foils.first()? };
        is_in_cell(yes).then_some((vec![Some(yes)], Some(((kind, cell, answer, answer), true))))
    }

    /// Takes the result of an attempt, if it is still wanted.
    fn take(&mut self, found: Found, all: &mut Pairs) {
        let (cell, unswapped) = (found.cell, found.unswapped);
        let source = self.sources.iter_mut().find(|source| source.family == found.family);
        let Some(source) = source.filter(|source| source.acceptable(unswapped).contains(found.answer)) else { return };
        // A pair of the same two questions with their sides exchanged is not a new pair.
        let is_known = |each: &Known| self.known.0.contains(each) || self.seen.contains(each);
        let is_known = found.known.iter().any(is_known);
        if self.counts[cell] >= self.task.per_cell || is_known {
            return;
        }
        let all_found = match found.queue {
            None => vec![found],
            Some((queue, true)) => {
                source.add(unswapped, found.answer);
                self.seen.insert(found.known[0].clone());
                self.waiting.entry(queue).or_default().push(found);
                return;
            }
            Some((queue, false)) => match self.waiting.get_mut(&queue).and_then(Vec::pop) {
                Some(first) => vec![first, found],
                None => return,
            },
        };
        if let Some(last) = all_found.last() {
            source.add(unswapped, last.answer);
            self.seen.insert(last.known[0].clone());
        }
        self.in_vain[cell] = 0;
        for pair in all_found.into_iter().flat_map(|found| found.pairs) {
            if pair.test == self.test {
                self.counts[pair.cell()] += 1;
            }
            all.pairs.push(pair);
        }
    }
}

impl Source {
    fn new(maker: &PairMaker<'_>, plan: &Plan, family: u16, cases: &[Case], controls: &[u16]) -> Self {
        let mut answers: [Vec<u32>; N_CELLS] = Default::default();
        let source = &maker.at.templates.families()[usize::from(family)];
        for case in cases {
            let possible = possible_cells(case, source, maker.at);
            // If the answer completes the held-out combination, no other value of its type can.
            let is_crossing = case.values.iter().any(|value| matches!(value, Expression::Unseen | Expression::Seen));
            let completes = |answer| match (answer, maker.at.holdout) {
                (Answer::Value(kind, value), Some(holdout)) => {
                    is_crossing && holdout.bits(usize::from(kind), value) != 0
                }
                _ => false,
            };
            for cell in (0..N_CELLS).filter(|&cell| possible[cell] && case.cells[cell]) {
                let may = |number: &u32| {
                    let (wanted, answer) = (&case.condition.answers, answer_of(source.output(), *number));
                    plan.possible.contains(*number)
                        && (wanted.is_empty() || wanted.contains(&answer))
                        && !completes(answer)
                };
                answers[cell].extend((0..plan.n_answers as u32).filter(may));
            }
        }
        for list in &mut answers {
            list.sort_unstable();
            list.dedup();
        }
        let counts = std::array::from_fn(|cell| vec![0; answers[cell].len()]);
        let can_have = |control: &&u16| {
            let cases = maker.suite.tests[usize::from(**control)].cases.get(&family);
            cases.into_iter().flatten().any(|case| possible_cells(case, source, maker.at).contains(&true))
        };
        Self { family, answers, counts, controls: controls.iter().filter(can_have).copied().collect() }
    }

    /// The answers that a cell accepts next.
    fn acceptable(&self, cell: Cell) -> AnswerSet {
        let among = acceptable(&self.counts[cell]);
        let mut set = AnswerSet::EMPTY;
        for (place, &answer) in (0..).zip(&self.answers[cell]) {
            if among.contains(place) {
                set.insert(answer as usize);
            }
        }
        set
    }

    fn add(&mut self, cell: Cell, answer: u32) {
        if let Some(place) = self.answers[cell].iter().position(|&known| known == answer) {
            self.counts[cell][place] += 1;
        }
    }
}

impl Pair {
    /// The pair's cell as written in files.
    pub fn cell(&self) -> Cell {
        let cell = usize::from(self.touches.by_original) * 2 + usize::from(self.touches.by_partner);
        if self.is_swapped { exchanged(cell) } else { cell }
    }
}

/// The type and value, if a program asks whether an object has a value.
fn verified(program: &Program) -> Option<(u8, u8)> {
    let step = program.steps.last()?;
    if let Function::Verify(kind) = step.function { Some((kind, step.argument)) } else { None }
}

impl Case {
    /// The queue of a pair of questions that ask whether an object has a value, and the pair's side in it. The sides
    /// ensure that each value is asked for as often with yes as with no: if the two questions ask for different values,
    /// the sides differ in which of these the object has.
    fn queue_of_verified(&self, original: &Original, partner: &Program, cell: Cell) -> Option<(Queue, bool)> {
        let ((kind, own), (_, other)) = (verified(&original.program)?, verified(partner)?);
        if own == other && !self.condition.answers.is_empty() {
            return None;
        }
        let is_yes = original.answer == Answer::Bool(true);
        let queue = (Some(kind), cell, own.min(other), own.max(other));
        Some((queue, is_yes == (own <= other)))
    }
}

/// By cell, the number of pairs of a test.
fn counts_of(made: &Pairs, test: u16) -> [u32; N_CELLS] {
    let mut counts = [0; N_CELLS];
    made.pairs.iter().filter(|pair| pair.test == test).for_each(|pair| counts[pair.cell()] += 1);
    counts
}

/// The cell of a pair with its sides swapped.
fn exchanged(cell: Cell) -> Cell {
    (cell & 1) << 1 | cell >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_exchanged() {
        assert_eq!([0, 1, 2, 3].map(exchanged), [0, 2, 1, 3]);
    }
}
