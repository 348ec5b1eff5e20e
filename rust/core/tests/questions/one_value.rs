//! Nothing is asked about an attribute that has one value: every answer would be known without an image.

use crate::suites::Case;
use crate::world::{Templates, TestScene, rng, world_of_one_size};
use clevrhope_core::Program;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::search::QuestionRule;
use std::collections::BTreeSet;

const SIZE: u8 = 0;

fn asks_about_size(program: &Program) -> bool {
    program.steps.iter().any(|step| step.function.asked_type() == Some(SIZE))
}

#[test]
fn the_only_size_is_named_but_never_asked_for_or_compared() {
    let world = world_of_one_size();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    let families = templates.set.families();
    let scenes: Vec<TestScene> = (0..500).map(|i| TestScene::random(vocab, 6, &mut rng("one size", i))).collect();
    let views: Vec<_> = (0..).zip(&scenes).map(|(i, scene)| (i, scene.graph.view())).collect();
    let plans = templates.set.plans(vocab);
    let questions =
        QuestionGenerator::new(vocab, &templates.set, &plans, QuestionRule::Any, None, 10, 9).generate(&views);
    assert!(!questions.iter().any(|question| asks_about_size(&question.program)));
    assert!(questions.iter().any(|question| question.text.contains("large")));
    // All other families are asked, those about the other attributes among them.
    let asked: BTreeSet<usize> = questions.iter().map(|question| usize::from(question.family)).collect();
    let is_about_size = |family: &usize| families[*family].asks_of_one_value(vocab) == Some(SIZE);
    let (about_size, others): (BTreeSet<usize>, _) = (0..families.len()).partition(is_about_size);
    assert_eq!((asked, about_size.len()), (others, 19));
}

#[test]
fn nor_is_it_in_paired_tests() {
    let case = Case::of(&world_of_one_size(), QuestionRule::Without);
    for name in ["carets", "rad"] {
        let suite = case.suite(name);
        let made = case.pairs_of(&suite, QuestionRule::Without, name).unwrap();
        let found = case.search(&suite, QuestionRule::Without, 3);
        assert!(made.pairs.len() > 1000 && found.pairs.len() > 20, "{} {}", made.pairs.len(), found.pairs.len());
        for pair in made.pairs.iter().chain(&found.pairs) {
            assert!(!asks_about_size(&pair.program), "{}", pair.text);
            let original = pair.found.as_ref().map(|found| &found.0.program);
            assert!(!original.is_some_and(asks_about_size), "{}", pair.original_text);
        }
    }
}
