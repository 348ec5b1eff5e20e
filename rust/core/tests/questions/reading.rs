//! Every question text of the engine is read back to the values, the program and the words from which it was made.

use crate::world::{Templates, TestScene, clevr, rng};
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::reading::QuestionReader;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::tokenize;
use std::collections::BTreeSet;

fn questions(templates: &Templates) -> Vec<Question> {
    let vocab = clevr();
    let mut draws = rng("reading", 0);
    let scenes: Vec<TestScene> = (0..500).map(|i| TestScene::random(&vocab, 3 + i % 8, &mut draws)).collect();
    let views: Vec<_> = scenes.iter().enumerate().map(|(i, scene)| (i as u64, scene.graph.view())).collect();
    let plans = templates.set.plans(&vocab);
    QuestionGenerator::new(&vocab, &templates.set, &plans, QuestionRule::Any, None, 3, 12).generate(&views)
}

#[test]
fn questions_are_read_back_to_what_they_were_made_of() {
    let templates = Templates::own(&clevr());
    let reader = QuestionReader::new(&templates.set);
    let mut buffer = Default::default();
    let (mut families, mut phrasings) = (BTreeSet::new(), BTreeSet::new());
    let questions = questions(&templates);
    assert!(questions.len() > 5_000);
    for question in &questions {
        let family = usize::from(question.family);
        let readings = reader.read(family, &tokenize(&question.text), &mut buffer);
        assert_eq!(readings.len(), 1, "{}", question.text);
        let source = &templates.set.families()[family];
        assert_eq!(source.program(&readings[0].values).0, question.program, "{}", question.text);
        assert_eq!(source.say(&readings[0], templates.set.lexicon(), &mut buffer), question.text);
        families.insert(family);
        phrasings.insert((family, readings[0].phrasing));
    }
    assert_eq!(families.len(), 90);
    assert!(phrasings.len() > 480, "{}", phrasings.len());
}

#[test]
fn other_words_are_not_read() {
    let templates = Templates::own(&clevr());
    let reader = QuestionReader::new(&templates.set);
    let mut buffer = Default::default();
    let exists = templates.set.families().iter().position(|f| f.file == "zero_hop" && f.index_in_file == 1).unwrap();
    let mut read = |text: &str| reader.read(exists, &tokenize(text), &mut buffer).len();
    assert_eq!(read("Is there any red cube?"), 1);
    assert_eq!(read("Is there any red cubes?"), 0);
    assert_eq!(read("Is there any cube red?"), 0);
    assert_eq!(read("Is there any crimson cube?"), 0);
    assert_eq!(read("How many red cubes are visible?"), 0);
    assert_eq!(read(""), 0);
}
