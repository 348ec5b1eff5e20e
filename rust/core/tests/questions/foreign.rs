//! The original 90 templates and CLOSURE's load unchanged, and their questions are correct.

use crate::plain::{Value, run};
use crate::world::{Templates, TestScene, clevr, rng, test_data};
use clevrhope_core::Vocabulary;
use clevrhope_core::program::{Function, Step, execute};
use clevrhope_core::question::instantiate::{Instantiator, Question};
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::vocab::Answer;
use std::path::Path;

const SYNONYMS: &str = "clevr_v1/synonyms.json";

/// Scenes of three to ten objects, some of which share values.
fn scenes(vocab: &Vocabulary, n: u64) -> Vec<TestScene> {
    (0..n).map(|i| TestScene::random(vocab, 3 + i as usize % 8, &mut rng("foreign scenes", i))).collect()
}

/// Balanced questions of every family on every scene.
fn questions(vocab: &Vocabulary, templates: &Templates, scenes: &[TestScene]) -> Vec<Question> {
    let plans = templates.plans(vocab);
    let instantiator = Instantiator::new(vocab, &templates.set, &plans, QuestionRule::Any, None);
    let mut workspace = instantiator.workspace();
    let indexed = scenes.iter().enumerate().map(|(i, scene)| (i as u64, scene.graph.view()));
    let key = clevrhope_core::rng::StreamKey::new(&[b"foreign"]);
    instantiator.window(&mut workspace, indexed, &key, templates.raw.len() as u32)
}

/// The answer of the plain executor.
fn plain_answer(steps: &[Step], scene: &TestScene) -> Option<Answer> {
    match (run(steps, scene)?, steps.last()?.function) {
        (Value::Word(word), Function::Query(kind)) => Some(Answer::Value(kind, word as u8)),
        (Value::Word(word), Function::Count) => Some(Answer::Integer(word as u8)),
        (Value::Word(word), _) => Some(Answer::Bool(word == 1)),
        (other, _) => panic!("{other:?} is no answer"),
    }
}

/// Recomputes every field of a question.
fn check(vocab: &Vocabulary, templates: &Templates, scene: &TestScene, question: &Question) {
    let place = format!("{}: {}", templates.name(question.family.into()), question.text);
    question.program.check(vocab, &place).unwrap();
    let steps = &question.program.steps;
    assert_eq!(execute(&question.program, scene.graph.view(), vocab), Ok(question.answer), "{place}");
    assert_eq!(plain_answer(steps, scene), Some(question.answer), "{place}");
    let relations: Vec<usize> = (0..steps.len()).filter(|&i| steps[i].function == Function::Relate).collect();
    assert_eq!(usize::from(question.n_relations), relations.len(), "{place}");
    for (bit, &at) in relations.iter().enumerate() {
        let mut without = steps.clone();
        without[at] = Step { function: Function::Scene, argument: 0, inputs: [0, 0] };
        let is_needed = plain_answer(&without, scene) != Some(question.answer);
        assert_eq!(question.relation_needed >> bit & 1 == 1, is_needed, "{place}, relation {bit}");
    }
    assert_eq!(question.relation_needed >> relations.len(), 0, "{place}");
    for leftover in ["<", ">", "[", "]", "  "] {
        assert!(!question.text.contains(leftover), "{place}");
    }
}

/// The families that have no question on a few hundred random scenes.
fn silent(vocab: &Vocabulary, templates: &Templates, n_scenes: u64) -> Vec<String> {
    let scenes = scenes(vocab, n_scenes);
    let questions = questions(vocab, templates, &scenes);
    let mut counts = vec![0; templates.raw.len()];
    for question in &questions {
        counts[usize::from(question.family)] += 1;
        check(vocab, templates, &scenes[question.scene as usize], question);
    }
    (0..counts.len()).filter(|&family| counts[family] == 0).map(|family| templates.name(family)).collect()
}

#[test]
fn our_own_templates_ask_questions_that_hold() {
    let vocab = clevr();
    let templates = Templates::own(&vocab);
    assert_eq!(templates.raw.len(), 90);
    assert_eq!(silent(&vocab, &templates, 200), Vec::<String>::new());
}

fn read(vocab: &Vocabulary, folder: &str) -> Option<Templates> {
    let Some(data) = test_data() else {
        eprintln!("skipped: no original templates in CLEVRHOPE_TEST_DATA or ../shared/data");
        return None;
    };
    let synonyms = std::fs::read(data.join(SYNONYMS)).unwrap();
    Some(Templates::read(vocab, Path::new(&data.join(folder)), &[], &synonyms))
}

#[test]
fn the_originals_templates_ask_questions_that_hold() {
    let vocab = clevr();
    let Some(templates) = read(&vocab, "clevr_v1/templates") else { return };
    assert_eq!(templates.raw.len(), 90);
    assert_eq!(silent(&vocab, &templates, 200), Vec::<String>::new());
}

#[test]
fn closures_templates_ask_questions_that_hold() {
    let vocab = clevr();
    let Some(templates) = read(&vocab, "closure_templates") else { return };
    assert_eq!(templates.raw.len(), 48);
    assert_eq!(silent(&vocab, &templates, 300), Vec::<String>::new());
}

/// Our families are the original ones: they have the same programs, constraints and parameters.
#[test]
fn our_families_are_the_originals_in_other_words() {
    let vocab = clevr();
    let Some(original) = read(&vocab, "clevr_v1/templates") else { return };
    let own = Templates::own(&vocab);
    for (file, index) in own.set.families().iter().map(|f| (f.file.clone(), f.index_in_file)) {
        let (ours, theirs) = (own.family(&file, index), original.family(&file, index));
        let kinds = |t: &Templates, family: usize| -> Vec<String> {
            t.raw[family].nodes.iter().map(|node| node.kind.clone()).collect()
        };
        assert_eq!(kinds(&own, ours), kinds(&original, theirs), "{file}[{index}]");
        let (a, b) = (own.plan(&vocab, ours), original.plan(&vocab, theirs));
        let ties = |plan: &clevrhope_core::question::plan::Plan| -> Vec<_> {
            plan.nodes.iter().map(|node| (node.inputs, node.forbidden, node.differs_from.clone())).collect()
        };
        assert_eq!(ties(&a), ties(&b), "{file}[{index}]");
    }
}
