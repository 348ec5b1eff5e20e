//! The engine's search and the plain one draw questions from the same distribution.

use crate::chi_square::p_value;
use crate::engine::{Engine, answers};
use crate::plain::{Choice, Found, Plain, Wanted};
use crate::world::{Templates, TestScene, clevr, rng};
use clevrhope_core::Vocabulary;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::question::plan::Plan;
use clevrhope_core::question::search::QuestionRule;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Families of every file: plain filters and chains, counts, truths and values, raw relations, unions, and the
/// functions that follow them.
const FAMILIES: [(&str, u32); 28] = [
    ("compare_integer", 0),
    ("compare_integer", 1),
    ("compare_integer", 3),
    ("compare_integer", 7),
    ("comparison", 0),
    ("comparison", 3),
    ("comparison", 6),
    ("comparison", 11),
    ("three_hop", 0),
    ("three_hop", 3),
    ("single_and", 0),
    ("single_and", 2),
    ("single_and", 4),
    ("same_relate", 1),
    ("same_relate", 9),
    ("same_relate", 13),
    ("same_relate", 18),
    ("same_relate", 23),
    ("single_or", 0),
    ("single_or", 2),
    ("single_or", 3),
    ("single_or", 4),
    ("one_hop", 0),
    ("one_hop", 1),
    ("one_hop", 3),
    ("two_hop", 0),
    ("two_hop", 4),
    ("zero_hop", 1),
];
const RULES: [QuestionRule; 3] = [QuestionRule::Any, QuestionRule::Without, QuestionRule::With];
/// The number of attempts in a sample, unless the plain search is slow.
const MOST: u64 = 800;
/// Maximum number of states that the plain search visits for one sample.
const STATES: u64 = 60_000;
/// Smaller samples are left out, since they have little power.
const LEAST: u64 = 100;
/// The minimum number of cases of each family that must be quick enough for the plain search.
const FEWEST_CASES: usize = 1;
/// The number of attempts that measure how slow the plain search is.
const PILOT: u64 = 20;
/// The probability that any comparison fails by chance is below this.
const ALL_BY_CHANCE: f64 = 1e-4;

/// A family on a scene under a rule, with the wanted answers.
struct Case<'a> {
    vocab: &'a Vocabulary,
    templates: &'a Templates,
    plan: &'a Plan,
    family: usize,
    scene: &'a TestScene,
    rule: QuestionRule,
    holdout: &'a Holdout,
    wanted: Vec<u32>,
    seed: u64,
}

/// The outcome of an attempt, reduced to its answer and one of its choices; None if it found nothing.
type Outcome = Option<(u32, Choice)>;

impl Case<'_> {
    fn name(&self) -> String {
        let (family, n) = (self.templates.name(self.family), self.scene.objects.len());
        format!("{family}, {n} objects, {:?}, answers {:?}", self.rule, self.wanted)
    }

    fn engine_sample(&self, n: u64) -> Vec<Option<Found>> {
        let mut engine = Engine::new(self.vocab, self.plan, self.scene, Some(self.holdout));
        let accept = answers(self.wanted.iter().copied());
        let mut rng = rng("engine", self.seed);
        (0..n).map(|_| engine.search(accept, self.rule, &mut rng)).collect()
    }

    /// A sample of attempts of the plain search: as many as take about `states` states, at most `most`; None if these
    /// are too few.
    fn plain_sample(&self, most: u64, states: u64) -> Option<Vec<Option<Found>>> {
        let plain = Plain::new(self.vocab, &self.templates.raw[self.family], self.scene);
        let answers = |answer| self.wanted.contains(&answer);
        let wanted = Wanted { answers: &answers, rule: self.rule, holdout: Some(self.holdout) };
        // The size depends only on the mean of the first attempts, so that it favours no outcome.
        let mut pilot = rng("pilot", self.seed);
        let mut taken = 0;
        for _ in 0..PILOT {
            taken += plain.search(&wanted, &mut pilot, PILOT * states / LEAST)?.1;
        }
        let n = (PILOT * states / taken).min(most);
        let mut rng = rng("plain", self.seed);
        let mut attempt = || plain.search(&wanted, &mut rng, 2 * states).map(|(found, _)| found);
        if n < LEAST { None } else { (0..n).map(|_| attempt()).collect() }
    }

    /// The p-value for each of the family's choices; None if the plain search is too slow.
    fn compare(&self) -> Option<Vec<f64>> {
        // Most questions that it tries with raw relations are degenerate.
        let states = if self.plan.relates.is_empty() { STATES } else { 6 * STATES };
        let plain = self.plain_sample(MOST, states)?;
        let engine = self.engine_sample(plain.len() as u64);
        let n_choices = plain.iter().flatten().next()?.choices.len();
        Some((0..n_choices).map(|choice| p_value(&seen(&plain, choice), &seen(&engine, choice))).collect())
    }
}

fn seen(sample: &[Option<Found>], choice: usize) -> Vec<Outcome> {
    sample.iter().map(|found| found.as_ref().map(|f| (f.answer, f.choices[choice]))).collect()
}

/// Up to three sets of answers: all, only the rarest that occurs, and every second that occurs.
fn answer_sets(
    vocab: &Vocabulary,
    plan: &Plan,
    scene: &TestScene,
    holdout: &Holdout,
    rule: QuestionRule,
) -> Vec<Vec<u32>> {
    let all: Vec<u32> = (0..plan.n_answers as u32).collect();
    let mut engine = Engine::new(vocab, plan, scene, Some(holdout));
    let mut rng = rng("answers", 0);
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for found in (0..300).filter_map(|_| engine.search(answers(all.clone()), rule, &mut rng)) {
        *counts.entry(found.answer).or_default() += 1;
    }
    let mut sets = vec![all];
    sets.extend(counts.iter().min_by_key(|(_, count)| **count).map(|(answer, _)| vec![*answer]));
    if counts.len() > 2 {
        sets.push(counts.keys().copied().step_by(2).collect());
    }
    sets
}

/// Scenes of few objects that share values; every second scene has the held-out pair.
pub fn scenes(vocab: &Vocabulary) -> Vec<TestScene> {
    let mut rng = rng("scenes", 0);
    [3, 4, 6]
        .into_iter()
        .enumerate()
        .map(|(i, n)| {
            let (rubber, cylinder) = (vocab.value(2, "rubber").unwrap(), vocab.value(3, "cylinder").unwrap());
            let scene = TestScene::random(vocab, n, &mut rng);
            let mut objects = scene.objects.clone();
            for object in &mut objects {
                object[1] %= 3;
            }
            if i % 2 == 1 {
                (objects[0][2], objects[0][3]) = (rubber as u8, cylinder as u8);
            }
            TestScene::new(vocab, objects, scene.related)
        })
        .collect()
}

#[test]
fn the_search_draws_as_the_plain_one_does() {
    let vocab = clevr();
    let templates = Templates::own(&vocab);
    let holdout = Holdout::new(&vocab, &["rubber", "cylinder"]).unwrap();
    let families: Vec<usize> = FAMILIES.iter().map(|(file, index)| templates.family(file, *index)).collect();
    check_draws(&vocab, &templates, &families, &holdout, &RULES, &scenes(&vocab));
}

/// Compares the draws of the two searches, for some families on some scenes under some rules.
pub fn check_draws(
    vocab: &Vocabulary,
    templates: &Templates,
    families: &[usize],
    holdout: &Holdout,
    rules: &[QuestionRule],
    scenes: &[TestScene],
) {
    let plans = templates.plans(vocab);
    let mut cases = Vec::new();
    for &family in families {
        let plan = &plans[family];
        for scene in scenes {
            for &rule in rules {
                for wanted in answer_sets(vocab, plan, scene, holdout, rule) {
                    let seed = cases.len() as u64;
                    cases.push(Case { vocab, templates, plan, family, scene, rule, holdout, wanted, seed });
                }
            }
        }
    }
    let compared: Vec<(usize, String, Vec<f64>)> =
        cases.par_iter().filter_map(|case| Some((case.family, case.name(), case.compare()?))).collect();
    let n_tests: usize = compared.iter().map(|(_, _, p)| p.len()).sum();
    eprintln!("{n_tests} comparisons in {} of {} cases", compared.len(), cases.len());
    for &family in families {
        let n = compared.iter().filter(|(of, ..)| *of == family).count();
        assert!(n >= FEWEST_CASES, "only {n} cases of {} were quick enough", templates.name(family));
    }
    let threshold = ALL_BY_CHANCE / n_tests as f64;
    let unlike: Vec<_> = compared.iter().filter(|(.., p)| p.iter().any(|p| *p < threshold)).collect();
    assert!(unlike.is_empty(), "{} cases differ: {unlike:#?}", unlike.len());
    // If the distributions are the same, the p-values are uniform; their mean reveals many small differences.
    let all: Vec<f64> = compared.iter().flat_map(|(.., p)| p).copied().filter(|p| *p < 1.0).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    eprintln!("mean probability {mean:.3} over {}", all.len());
    assert!(mean > 0.4, "{mean}");
}

/// The test notices a search that first picks the answer, and then a question with this answer.
#[test]
fn picking_the_answer_first_is_noticed() {
    let vocab = clevr();
    let templates = Templates::own(&vocab);
    let family = templates.family("one_hop", 0);
    let plan = templates.plan(&vocab, family);
    let holdout = Holdout::new(&vocab, &["rubber", "cylinder"]).unwrap();
    let scene = &scenes(&vocab)[1];
    let wanted: Vec<u32> = (0..plan.n_answers as u32).collect();
    let (rule, seed) = (QuestionRule::Any, 0);
    let (vocab, templates, plan, holdout) = (&vocab, &templates, &plan, &holdout);
    let case = Case { vocab, templates, plan, family, scene, rule, holdout, wanted, seed };
    let plain = case.plain_sample(4_000, 10_000_000).unwrap();
    let mut engine = Engine::new(vocab, plan, scene, None);
    let mut rng = rng("answer first", 0);
    let mut answer_first = Vec::new();
    while answer_first.len() < plain.len() {
        let answer = rng.below(4);
        answer_first.extend(engine.search(answers([answer]), rule, &mut rng).map(Some));
    }
    assert!(p_value(&seen(&plain, 0), &seen(&answer_first, 0)) < 1e-9);
}
