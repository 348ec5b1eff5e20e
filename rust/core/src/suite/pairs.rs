//! The pairs of a suite on the questions of one file.

use super::balance::{Candidate, assign};
use super::cells::SearchResult;
use super::completion::completes;
use super::entry::Sides;
use super::error::SuiteError;
use super::expression::{Substitute, answer_value};
use super::original::Original;
use super::partner::{Draft, Needs, Skip, Step, Surroundings};
use super::relation::Relation;
use super::test::{Case, Suite};
use crate::holdout::Holdout;
use crate::program::Program;
use crate::question::instantiate::{Question, relations_needed};
use crate::question::search::QuestionRule;
use crate::question::text_buffer::TextBuffer;
use crate::rng::{StreamKey, StreamRng};
use crate::scene::SceneView;
use crate::vocab::{Answer, Vocabulary};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// An original and its partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The number of the test in its suite.
    pub test: u16,
    /// The original's place in the list of originals; 0 for one that was searched for.
    pub original: usize,
    /// If the original was searched for: the original, and the place of its image in the list of images.
    pub found: Option<Box<(Original, usize)>>,
    pub original_text: String,
    /// The partner's family among those of the suite's templates.
    pub family: u16,
    pub text: String,
    pub program: Program,
    pub answer: Answer,
    /// How the partner's answer follows from the original's.
    pub relation: Relation,
    /// Whether the two sides are exchanged, so that the partner counts as the original.
    pub is_swapped: bool,
    pub touches: Touches,
}

/// How a pair involves the held-out values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touches {
    /// The original mentions them together.
    pub by_original: bool,
    pub by_partner: bool,
    /// The image shows an object that has all of them.
    pub in_image: bool,
    /// The original's answer completes them: the description of the object it asks about lacks only this value.
    pub by_answer: bool,
}

/// The number of originals of each test that were skipped, by reason.
pub type SkipCounts = BTreeMap<(u16, Skip), u64>;

/// Pairs in the order of tests and originals, and the number of originals without one.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    pub pairs: Vec<Pair>,
    pub skipped: SkipCounts,
    /// The result of the search for originals of each test.
    pub searches: Vec<SearchResult>,
}

impl Pairs {
    /// Sorts the pairs by test; within a test, those whose originals were searched for come last.
    pub fn sort(&mut self) {
        self.pairs.sort_by_key(|pair| (pair.test, pair.found.is_some()));
    }
}

/// Makes the pairs of a suite on the questions of one file.
pub struct PairMaker<'a> {
    pub(super) suite: &'a Suite,
    pub(super) at: Surroundings<'a>,
    pub(super) key: StreamKey,
}

/// An original with its scene and text.
pub(super) struct Given<'a> {
    pub place: usize,
    pub original: &'a Original,
    pub scene: SceneView<'a>,
    pub text: &'a str,
    /// The value that replaces its answer.
    pub substitute: Option<Substitute>,
}

/// The value that replaces an original's answer, if the test needs one; or why the original has no partner.
type Asked = Result<Option<Substitute>, Skip>;

/// The group within which values are balanced: the answer's type, and whether the original mentions held-out values.
type Group = (Option<u8>, bool);

/// The result of a first look at an original.
pub(super) enum Found {
    Ready(Option<Substitute>),
    /// The partner asks whether a number is above 0: its answer, and whether the original mentions the held-out values.
    Truth(bool, bool),
    /// The values of the several partners of one original.
    Group(Vec<Substitute>),
    Waits(Waiting),
}

/// An original that waits for the value that its partner asks for.
pub(super) struct Waiting {
    pub candidate: Candidate,
    group: Group,
}

impl Waiting {
    /// The attribute type of its answer; None for a number.
    pub fn kind(&self) -> Option<u8> {
        self.group.0
    }
}

impl<'a> PairMaker<'a> {
    /// `rule` says whether partners may mention the held-out values; `key` is the key of the file's draws.
    pub fn new(
        suite: &'a Suite,
        vocab: &'a Vocabulary,
        rule: QuestionRule,
        holdout: Option<&'a Holdout>,
        key: StreamKey,
    ) -> Self {
        Self { suite, at: Surroundings { templates: &suite.templates, vocab, rule, holdout }, key }
    }

    /// Makes the pairs of all tests on originals with their scenes; uses all cores.
    ///
    /// # Errors
    /// The relation of an entry does not hold for one of them.
    pub fn make(&self, originals: &[(Original, SceneView<'_>)]) -> Result<Pairs, SuiteError> {
        let texts = self.texts(originals);
        let mut all = Pairs::default();
        for test in 0..self.suite.tests.len() as u16 {
            self.make_test(test, originals, &texts, &mut all)?;
        }
        Ok(all)
    }

    /// The texts of originals; uses all cores.
    pub fn texts(&self, originals: &[(Original, SceneView<'_>)]) -> Vec<String> {
        let say = |buffer: &mut TextBuffer, (original, _): &(Original, SceneView<'_>)| {
            let family = &self.at.templates.families()[usize::from(original.family)];
            family.say(&original.reading, self.at.templates.lexicon(), buffer)
        };
        originals.par_iter().map_init(TextBuffer::default, say).collect()
    }

    /// Adds the pairs of one test to `all`; `texts` are the texts of the originals.
    ///
    /// # Errors
    /// As `make`.
    pub fn make_test(
        &self,
        test: u16,
        originals: &[(Original, SceneView<'_>)],
        texts: &[String],
        all: &mut Pairs,
    ) -> Result<(), SuiteError> {
        let key = self.key_of(test);
        let asked = self.substitutes(test, originals, &key);
        let make = |buffer: &mut TextBuffer, (place, asked): (usize, Asked)| {
            let (original, scene) = &originals[place];
            let (substitute, case) = match (asked, self.case(test, original, *scene)) {
                (Ok(substitute), Some(Ok(case))) => (substitute, case),
                (Err(skip), _) | (_, Some(Err(skip))) => return Ok(Some(Err(skip))),
                (_, None) => return Ok(None),
            };
            // Partners of one original draw the same numbers, so their words differ only in the values.
            let mut rng = key.at(original.row as u64);
            let _ = rng.coin(); // This coin decided between yes and no.
            let given = Given { place, original, scene: *scene, text: &texts[place], substitute };
            self.pair(test, case, given, &mut rng, buffer).map(Some)
        };
        let made = asked.into_par_iter().map_init(TextBuffer::default, make);
        let made: Vec<Option<Result<Pair, Skip>>> = made.collect::<Result<_, SuiteError>>()?;
        for made in made.into_iter().flatten() {
            match made {
                Ok(pair) => all.pairs.push(pair),
                Err(skip) => *all.skipped.entry((test, skip)).or_default() += 1,
            }
        }
        Ok(())
    }

    /// The key of a test's draws. A control shares the draws of the test that it is compared with.
    pub(super) fn key_of(&self, test: u16) -> StreamKey {
        let test = &self.suite.tests[usize::from(test)];
        let name = test.control_of.as_ref().unwrap_or(&test.name).as_bytes();
        StreamKey::new(&[b"paired test", self.key.as_bytes(), name])
    }

    pub(super) fn suite_name(&self) -> &str {
        &self.suite.name
    }

    pub(super) fn n_tests(&self) -> usize {
        self.suite.tests.len()
    }

    /// Whether a test takes originals of a family.
    pub(super) fn takes(&self, test: u16, family: u16) -> bool {
        self.suite.tests[usize::from(test)].cases.contains_key(&family)
    }

    /// How much the partners of a test say, and the answers that they can have; empty if they all say as much as their
    /// originals.
    pub(super) fn steps(&self, test: u16) -> Vec<(Step, bool)> {
        let cases = self.suite.tests[usize::from(test)].cases.values().flatten();
        let stepping = cases.filter(|case| case.step() != Step::None);
        let answered = stepping.flat_map(|case| {
            let can_be = |truth: &bool| {
                let answers = &case.condition.answers;
                answers.is_empty() || answers.contains(&Answer::Bool(*truth))
            };
            [false, true].into_iter().filter(can_be).map(|truth| (case.step(), truth))
        });
        answered.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The case of a test whose condition an original meets, or why there is none; None if the test does not take the
    /// original's family.
    pub(super) fn case(&self, test: u16, original: &Original, scene: SceneView<'_>) -> Option<Result<&Case, Skip>> {
        let source = &self.at.templates.families()[usize::from(original.family)];
        let cases = self.suite.tests[usize::from(test)].cases.get(&original.family)?;
        let case = cases.iter().find(|case| case.condition.is_met(original, source, scene, self.at.vocab));
        Some(case.ok_or(Skip::Condition))
    }

    /// Looks for the value that an original's partner needs; None if the test does not take the original's family.
    pub(super) fn find(
        &self,
        test: u16,
        (original, scene): &(Original, SceneView<'_>),
        key: &StreamKey,
    ) -> Option<Result<Found, Skip>> {
        let case = match self.case(test, original, *scene)? {
            Ok(case) => case,
            Err(skip) => return Some(Err(skip)),
        };
        let foils = match case.needs(original, *scene, self.at) {
            Err(skip) => return Some(Err(skip)),
            Ok(Needs::Nothing) => return Some(Ok(Found::Ready(None))),
            Ok(Needs::Truth) => {
                let truth =
                    |draft: Draft| Found::Truth(draft.answer == Answer::Bool(true), self.mentions(&original.program));
                return Some(case.draft(original, None, *scene, self.at).map(truth));
            }
            Ok(Needs::Each(substitutes)) => return Some(Ok(Found::Group(substitutes))),
            Ok(Needs::Foil { foils, .. }) => foils,
        };
        let mut rng = key.at(original.row as u64);
        let is_answer = rng.coin();
        let is_balanced = case.is_balanced();
        Some(Ok(match answer_value(original.answer).filter(|_| is_balanced) {
            Some(answer) => {
                let kind = if let Answer::Value(kind, _) = original.answer { Some(kind) } else { None };
                let group = (kind, self.mentions(&original.program));
                Found::Waits(Waiting { candidate: Candidate { yes: is_answer, answer, foils }, group })
            }
            None => {
                // The partner's words continue the stream of the coin, so the foil has a stream of its own.
                let mut rng = StreamKey::new(&[b"foil", key.as_bytes()]).at(original.row as u64);
                let foil = foils[rng.below(foils.len() as u32) as usize];
                Found::Ready(Some(Substitute { is_answer, foil }))
            }
        }))
    }

    /// For each partner, the place of its original and the value that replaces the answer, or why there is no partner.
    /// Originals that the test does not take are left out.
    fn substitutes(&self, test: u16, originals: &[(Original, SceneView<'_>)], key: &StreamKey) -> Vec<(usize, Asked)> {
        let find = |original| self.find(test, original, key);
        let found: Vec<_> = originals.par_iter().map(find).collect();
        let mut asked: Vec<(usize, Asked)> = Vec::with_capacity(found.len());
        let mut groups: BTreeMap<Group, Vec<(usize, Candidate)>> = BTreeMap::new();
        let mut truths: BTreeMap<bool, [Vec<usize>; 2]> = BTreeMap::new();
        for (place, found) in found.into_iter().enumerate() {
            match found {
                None => (),
                Some(Err(skip)) => asked.push((place, Err(skip))),
                Some(Ok(Found::Ready(substitute))) => asked.push((place, Ok(substitute))),
                Some(Ok(Found::Truth(truth, mentions))) => {
                    truths.entry(mentions).or_default()[usize::from(truth)].push(asked.len());
                    asked.push((place, Ok(None)));
                }
                Some(Ok(Found::Group(each))) => asked.extend(each.into_iter().map(|one| (place, Ok(Some(one))))),
                Some(Ok(Found::Waits(waiting))) => {
                    groups.entry(waiting.group).or_default().push((asked.len(), waiting.candidate));
                    asked.push((place, Err(Skip::Surplus)));
                }
            }
        }
        for (number, group) in (0..).zip(groups.into_values()) {
            let mut rng = StreamKey::new(&[b"values", key.as_bytes()]).at(number);
            let (places, candidates): (Vec<usize>, Vec<Candidate>) = group.into_iter().unzip();
            let values = assign(&candidates, &mut rng);
            for ((place, candidate), value) in places.into_iter().zip(&candidates).zip(values) {
                if let Some(foil) = value {
                    asked[place].1 = Ok(Some(Substitute { is_answer: candidate.yes, foil }));
                }
            }
        }
        for (mentions, mut of_truth) in truths {
            let mut rng = StreamKey::new(&[b"truths", key.as_bytes()]).at(u64::from(mentions));
            let n = of_truth[0].len().min(of_truth[1].len());
            for places in &mut of_truth {
                rng.shuffle(places);
                places[n..].iter().for_each(|&place| asked[place].1 = Err(Skip::Surplus));
            }
        }
        asked
    }

    /// Makes a pair, or says why the original has none.
    ///
    /// # Errors
    /// The relation of the entry does not hold.
    pub(super) fn pair(
        &self,
        test: u16,
        case: &Case,
        given: Given<'_>,
        rng: &mut StreamRng,
        buffer: &mut TextBuffer,
    ) -> Result<Result<Pair, Skip>, SuiteError> {
        let Given { place, original, scene, text: original_text, substitute } = given;
        let mut draft = match case.draft(original, substitute, scene, self.at) {
            Ok(draft) => draft,
            Err(skip) => return Ok(Err(skip)),
        };
        let cell = usize::from(self.mentions(&original.program)) * 2 + usize::from(self.mentions(&draft.program));
        if !case.cells[cell] {
            return Ok(Err(Skip::Cell));
        }
        let text = match case.word(&mut draft, original, original_text, self.at, rng, buffer) {
            Ok(text) => text,
            Err(skip) => return Ok(Err(skip)),
        };
        case.check(original, original_text, &draft, &text, self.at.vocab)?;
        Ok(Ok(Pair {
            test,
            original: place,
            found: None,
            original_text: original_text.to_owned(),
            family: case.target,
            text,
            answer: draft.answer,
            relation: draft.relation,
            is_swapped: self.suite.tests[usize::from(test)].sides == Sides::Coin && rng.coin(),
            touches: self.touches(original, &draft.program, scene),
            program: draft.program,
        }))
    }

    pub(super) fn mentions(&self, program: &Program) -> bool {
        self.at.holdout.is_some_and(|holdout| holdout.is_mentioned_in(program))
    }

    fn touches(&self, original: &Original, partner: &Program, scene: SceneView<'_>) -> Touches {
        self.at
            .holdout
            .map_or_else(Touches::default, |holdout| Touches::of(original, partner, scene, holdout, self.at.vocab))
    }

    /// Whether a question's answer completes the held-out values.
    pub(super) fn is_completed(&self, program: &Program, answer: Answer) -> bool {
        completes(program, answer, self.at.holdout)
    }
}

impl Touches {
    /// How an original and its partner's program involve the held-out values; `scene` is the original's.
    pub fn of(
        original: &Original,
        partner: &Program,
        scene: SceneView<'_>,
        holdout: &Holdout,
        vocab: &Vocabulary,
    ) -> Self {
        Self {
            by_original: holdout.is_mentioned_in(&original.program),
            by_partner: holdout.is_mentioned_in(partner),
            in_image: holdout.members(vocab, scene) != 0,
            by_answer: completes(&original.program, original.answer, Some(holdout)),
        }
    }

    /// One bit for each field, in their order, the lowest first.
    pub fn bits(&self) -> u8 {
        let bits = [self.by_original, self.by_partner, self.in_image, self.by_answer];
        (0..).zip(bits).fold(0, |all, (place, bit)| all | u8::from(bit) << place)
    }
}

impl Pair {
    /// Both questions, the pair's original first; `scene_index` is their scene's index in its pool.
    pub fn questions(
        &self,
        (original, scene): (&Original, SceneView<'_>),
        scene_index: u64,
        vocab: &Vocabulary,
    ) -> [Question; 2] {
        let given = question(original, &self.original_text, scene, scene_index, vocab);
        let mut both = [given, self.partner(scene, scene_index, vocab)];
        if self.is_swapped {
            both.reverse();
        }
        both
    }

    /// The partner as a question; `scene_index` is its scene's index in its pool.
    pub fn partner(&self, scene: SceneView<'_>, scene_index: u64, vocab: &Vocabulary) -> Question {
        of_parts(self.family, &self.text, &self.program, self.answer, scene, scene_index, vocab)
    }
}

/// An original as a question with its text; `scene_index` is its scene's index in its pool.
pub fn question(
    original: &Original,
    text: &str,
    scene: SceneView<'_>,
    scene_index: u64,
    vocab: &Vocabulary,
) -> Question {
    of_parts(original.family, text, &original.program, original.answer, scene, scene_index, vocab)
}

fn of_parts(
    family: u16,
    text: &str,
    program: &Program,
    answer: Answer,
    scene: SceneView<'_>,
    scene_index: u64,
    vocab: &Vocabulary,
) -> Question {
    let (relation_needed, n_relations) = relations_needed(&program.steps, word_of(answer), scene, vocab);
    let (text, program) = (text.to_owned(), program.clone());
    Question { scene: scene_index, family, answer, text, program, relation_needed, n_relations }
}

/// The number that encodes an answer.
pub(super) fn word_of(answer: Answer) -> u32 {
    match answer {
        Answer::Bool(truth) => u32::from(truth),
        Answer::Integer(number) => u32::from(number),
        Answer::Value(_, value) | Answer::Relation(value) => u32::from(value),
    }
}
