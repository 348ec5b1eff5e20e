//! On small scenes, each family can ask exactly the questions in a list of all choices.

use crate::engine::{Engine, answers};
use crate::plain::{Choice, Found, Listed, Plain};
use crate::world::{Templates, TestScene, rng, tiny};
use clevrhope_core::Vocabulary;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::question::plan::Plan;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::template::{NodeKind, Tail};
use clevrhope_core::scene::Palette;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Sets of up to this many questions must be covered completely.
const WHOLE: usize = 500;
/// In larger sets, up to this many pairs of consecutive choices must be covered; if there are more, single choices.
const PAIRS: usize = 1_500;
/// The number of attempts for each part to be covered, after which a missing part is a fault.
const ATTEMPTS: usize = 150;
const RULES: [QuestionRule; 3] = [QuestionRule::Any, QuestionRule::Without, QuestionRule::With];

/// A part of a question: its answer, and one choice, two consecutive choices or all of up to five, as their place
/// followed by a nibble for each value.
type Part = (u32, u128);

/// The part of a question that is distinguished.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Grain {
    Whole,
    Pairs,
    Singles,
}

impl Grain {
    fn parts(self, answer: u32, choices: &[Choice]) -> impl Iterator<Item = Part> {
        assert!(choices.len() <= 5, "no nibbles for {} choices", choices.len());
        let length = match self {
            Self::Whole => choices.len(),
            Self::Pairs => choices.len().min(2),
            Self::Singles => 1,
        };
        choices.windows(length).enumerate().map(move |(place, part)| {
            let values = part.iter().flatten().map(|value| value.map_or(0, |v| u128::from(v) + 1));
            (answer, values.fold(place as u128, |all, value| all << 4 | value))
        })
    }
}

/// The questions in a list of all choices under one rule: their parts, each with the fewest trivial relations of a
/// question that has it.
#[derive(Default)]
struct Reachable {
    whole: HashMap<Part, u32>,
    pairs: HashMap<Part, u32>,
    singles: HashMap<Part, u32>,
    answers: BTreeSet<u32>,
}

impl Reachable {
    fn add(&mut self, question: &Listed<'_>) {
        self.answers.insert(question.answer);
        let grains = [Grain::Singles, Grain::Pairs, Grain::Whole];
        for (grain, set) in grains.iter().zip([&mut self.singles, &mut self.pairs, &mut self.whole]) {
            if *grain == Grain::Whole && set.len() > WHOLE {
                continue;
            }
            for part in grain.parts(question.answer, question.choices) {
                let fewest = set.entry(part).or_insert(question.n_trivial);
                *fewest = question.n_trivial.min(*fewest);
            }
        }
    }

    /// The finest grain that sampling can cover, and its parts.
    fn grain(&self) -> (Grain, &HashMap<Part, u32>) {
        if self.whole.len() <= WHOLE {
            (Grain::Whole, &self.whole)
        } else if self.pairs.len() <= PAIRS {
            (Grain::Pairs, &self.pairs)
        } else {
            (Grain::Singles, &self.singles)
        }
    }
}

/// A family on a scene.
struct Case<'a> {
    vocab: &'a Vocabulary,
    templates: &'a Templates,
    plan: &'a Plan,
    family: usize,
    scene: &'a TestScene,
    holdout: &'a Holdout,
    rules: &'a [QuestionRule],
    seed: u64,
}

impl Case<'_> {
    /// The reachable questions without a rule, and by rule.
    fn list(&self) -> (Reachable, Vec<Reachable>) {
        let mut all = Reachable::default();
        let mut by_rule: Vec<Reachable> = self.rules.iter().map(|_| Reachable::default()).collect();
        let plain = Plain::new(self.vocab, &self.templates.raw[self.family], self.scene);
        plain.all(self.holdout, &mut |question| {
            all.add(&question);
            for (rule, reachable) in self.rules.iter().zip(&mut by_rule) {
                let is_allowed = match rule {
                    QuestionRule::Any => true,
                    QuestionRule::Without => !question.names_absent && !question.mentions,
                    QuestionRule::Unimplied => {
                        !question.names_absent && !self.holdout.is_implied_in(&question.program())
                    }
                    QuestionRule::With => !question.names_absent && question.mentions,
                };
                if is_allowed {
                    reachable.add(&question);
                }
            }
        });
        (all, by_rule)
    }

    /// Checks all rules; returns whether there are any questions, and the faults.
    fn check(&self) -> (bool, Vec<String>) {
        let mut faults = Vec::new();
        let (all, by_rule) = self.list();
        for (&rule, reachable) in self.rules.iter().zip(&by_rule) {
            let fault = self.check_answers(rule, reachable).or_else(|| self.check_parts(rule, reachable));
            let (family, n) = (self.templates.name(self.family), self.scene.objects.len());
            faults.extend(fault.map(|fault| format!("{family}, {n} objects, {rule:?}: {fault}")));
        }
        (!all.answers.is_empty(), faults)
    }

    /// Checks that a search for one answer finds a question exactly if there is one.
    fn check_answers(&self, rule: QuestionRule, reachable: &Reachable) -> Option<String> {
        let mut rng = rng("one answer", self.seed);
        let mut engine = Engine::new(self.vocab, self.plan, self.scene, Some(self.holdout));
        for answer in 0..self.plan.n_answers as u32 {
            let is_listed = reachable.answers.contains(&answer);
            // A question may depend on an option that is offered only in some attempts.
            let attempts = if is_listed { 400 } else { 5 };
            let found = (0..attempts).find_map(|_| engine.search(answers([answer]), rule, &mut rng));
            match (is_listed, found) {
                (true, None) => return Some(format!("no question with answer {answer} in {attempts} attempts")),
                (false, Some(found)) => return Some(format!("{found:?} is not listed")),
                (_, Some(found)) if found.answer != answer => {
                    return Some(format!("asked for {answer}, got {found:?}"));
                }
                _ => {}
            }
        }
        None
    }

    /// Checks that sampling gives exactly the parts that are listed.
    fn check_parts(&self, rule: QuestionRule, reachable: &Reachable) -> Option<String> {
        let (grain, listed) = reachable.grain();
        let mut rng = rng("parts", self.seed);
        let mut engine = Engine::new(self.vocab, self.plan, self.scene, Some(self.holdout));
        for &wanted in &reachable.answers {
            // Two trivial relations in one question are too rare to wait for.
            let common = listed.iter().filter(|((answer, _), n_trivial)| *answer == wanted && **n_trivial < 2);
            let mut missing: HashSet<Part> = common.map(|(part, _)| *part).collect();
            for _ in 0..ATTEMPTS * missing.len().max(4) {
                let Some(Found { answer, choices }) = engine.search(answers([wanted]), rule, &mut rng) else {
                    continue;
                };
                for part in grain.parts(answer, &choices) {
                    missing.remove(&part);
                    if !listed.contains_key(&part) {
                        return Some(format!("answer {answer}, {choices:?} is not listed"));
                    }
                }
                if missing.is_empty() {
                    break;
                }
            }
            if let Some((_, part)) = missing.iter().next() {
                return Some(format!("answer {wanted}: {} {grain:?} never came up, {part:x} for one", missing.len()));
            }
        }
        None
    }
}

/// Scenes of two objects that differ only in shape or in everything, and of three: at random places, or in a row.
fn scenes(vocab: &Vocabulary) -> Vec<TestScene> {
    let mut rng = rng("small scenes", 0);
    let row = |objects: Vec<[u8; 4]>| {
        let n = objects.len() as u8;
        let before: Vec<Vec<u8>> = (0..n).map(|o| (0..o).collect()).collect();
        let after: Vec<Vec<u8>> = (0..n).map(|o| (o + 1..n).collect()).collect();
        TestScene::new(vocab, objects, vec![before, after, vec![Vec::new(); n.into()], vec![Vec::new(); n.into()]])
    };
    vec![
        row(vec![[0, 0, 0, 0], [0, 0, 0, 1]]),
        TestScene::placed(vocab, vec![[0, 1, 0, 0], [1, 0, 0, 1]], &mut rng),
        row(vec![[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]),
        TestScene::placed(vocab, vec![[1, 1, 0, 1], [1, 0, 0, 1], [1, 0, 0, 0]], &mut rng),
    ]
}

#[test]
fn every_family_reaches_what_a_list_of_all_choices_gives() {
    let vocab = tiny();
    let templates = Templates::own(&vocab);
    let plans = templates.plans(&vocab);
    let holdout = Holdout::new(&vocab, &["rubber", "cylinder"]).unwrap();
    check_families(&vocab, &templates, &plans, &holdout, &RULES, &scenes(&vocab));
}

/// The last description of a question with two relations and "and" is the only one to name the pair about as often as
/// its share of the slots, wherever such a question exists.
#[test]
fn a_slot_after_relations_is_found_wherever_there_is_a_question() {
    let vocab = tiny();
    let templates = Templates::own(&vocab);
    let holdout = Holdout::new(&vocab, &["rubber", "cylinder"]).unwrap();
    let [_, _, material, shape] = *holdout.values();
    let mut rng = rng("slots", 0);
    let mut asked = [0, 0];
    for (n, index) in [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)] {
        let family = templates.family("single_and", index);
        let plan = templates.plan(&vocab, family);
        let mut objects = vec![[0, 0, 0, 0]; 3];
        for (i, object) in objects.iter_mut().take(n).enumerate() {
            *object = [i as u8 % 2, i as u8 / 2, material.unwrap(), shape.unwrap()];
        }
        let scene = TestScene::placed(&vocab, objects, &mut rng);
        // Other descriptions may name it by chance as well.
        let only_the_last = |choices: &[Choice]| {
            let names = |choice: &Choice| choice[3..] == [material, shape];
            choices.iter().position(names) == Some(choices.len() - 1)
        };
        let mut listed = BTreeSet::new();
        let mut with_answer = BTreeSet::new();
        Plain::new(&vocab, &templates.raw[family], &scene).all(&holdout, &mut |question| {
            if question.mentions {
                with_answer.insert(question.answer);
            }
            if only_the_last(question.choices) {
                listed.insert(question.answer);
            }
        });
        let mut engine = Engine::new(&vocab, &plan, &scene, Some(&holdout));
        for answer in with_answer {
            let draw = |_| engine.search(answers([answer]), QuestionRule::With, &mut rng).unwrap();
            let n_last = (0..300).map(draw).filter(|found| only_the_last(&found.choices)).count();
            let is_right = if listed.contains(&answer) { n_last > 40 } else { n_last == 0 };
            assert!(is_right, "{}, {n} of 3 objects, answer {answer}: {n_last} of 300", templates.name(family));
            asked[usize::from(listed.contains(&answer))] += 1;
        }
    }
    assert!(asked[0] >= 2 && asked[1] >= 6, "{asked:?}");
}

#[test]
#[ignore = "slow: make test-slow"]
fn with_a_palette_every_family_reaches_what_names_nothing_absent() {
    let vocab = tiny();
    let templates = Templates::own(&vocab);
    let plans = templates.plans(&vocab);
    let palette = br#"{"cube": ["red"], "cylinder": ["red", "blue"]}"#;
    let palette = Palette::from_json(&vocab, "p", palette, "p").unwrap();
    let holdout = Holdout::new(&vocab, &["blue", "cylinder"]).unwrap().within(&vocab, &palette).unwrap();
    check_families(&vocab, &templates, &plans, &holdout, &RULES, &scenes(&vocab));
}

/// Compares every family with a list of all choices, on small scenes, under some rules.
pub fn check_families(
    vocab: &Vocabulary,
    templates: &Templates,
    plans: &[Plan],
    holdout: &Holdout,
    rules: &[QuestionRule],
    scenes: &[TestScene],
) {
    let mut cases = Vec::new();
    for (family, plan) in plans.iter().enumerate() {
        for scene in scenes.iter().take(n_scenes_for(plan)) {
            let seed = cases.len() as u64;
            cases.push(Case { vocab, templates, plan, family, scene, holdout, rules, seed });
        }
    }
    let checked: Vec<(usize, bool, Vec<String>)> = cases
        .par_iter()
        .map(|case| {
            let (has_questions, faults) = case.check();
            (case.family, has_questions, faults)
        })
        .collect();
    let faults: Vec<&String> = checked.iter().flat_map(|(_, _, faults)| faults).collect();
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
    let with_question: BTreeSet<usize> =
        checked.iter().filter(|(_, has, _)| *has).map(|(family, ..)| *family).collect();
    let silent: Vec<String> =
        (0..plans.len()).filter(|f| !with_question.contains(f)).map(|f| templates.name(f)).collect();
    assert!(silent.is_empty(), "nothing to ask on any of these scenes: {silent:?}");
}

/// The number of scenes on which all choices of a family can be listed in about a second.
fn n_scenes_for(plan: &Plan) -> usize {
    let n_choices = plan.nodes.iter().filter(|node| node.is_choice).count();
    let n_counts = plan.nodes.iter().filter(|node| node.kind == NodeKind::RelateFilter(Tail::Count)).count();
    match (n_choices, n_counts) {
        (0..=2, _) => 4,
        _ if !plan.relates.is_empty() => 4,
        (_, 2) => 1,
        _ => 2,
    }
}
