//! Templates and synonyms, read by the engine and by the audit.

use crate::documents::damage;
use crate::{SYNONYMS, VOCAB, WORLD, checked};
use clevrhope_core::audit::{Names, TextParser};
use clevrhope_core::program::Function;
use clevrhope_core::program::encode::{ProgramVocabulary, SPECIAL_NAMES};
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::QuestionVocabulary;
use clevrhope_core::scene::{Pool, SceneGraph};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

static SCENES: LazyLock<Vec<SceneGraph>> = LazyLock::new(|| {
    let scenes = Pool::new(&WORLD, 3, "train").scenes(0..6).unwrap();
    scenes.iter().map(|scene| scene.graph(&VOCAB)).collect()
});

/// Templates of a chain, a comparison and a conjunction, of a choice and of a number.
fn templates() -> Value {
    let files: [&[u8]; 3] = [
        include_bytes!("../../../../question_templates/one_hop.json"),
        include_bytes!("../../../../question_templates/comparison.json"),
        include_bytes!("../../../../question_templates/single_and.json"),
    ];
    let own = files.map(|bytes| serde_json::from_slice::<Vec<Value>>(bytes).unwrap().swap_remove(0));
    let of_suites = json!([
        {"text": ["Is the <C> thing a <S> or a <S2>?"],
         "nodes": [
            {"type": "scene", "inputs": []},
            {"type": "filter_color", "inputs": [0], "side_inputs": ["<C>"]},
            {"type": "unique", "inputs": [1]},
            {"type": "offer_shape", "inputs": [2], "side_inputs": ["<S>"]},
            {"type": "offer_shape", "inputs": [3], "side_inputs": ["<S2>"]},
            {"type": "query_shape", "inputs": [4]}],
         "params": [{"type": "Color", "name": "<C>"}, {"type": "Shape", "name": "<S>"}, {"type": "Shape", "name": "<S2>"}]},
        {"text": ["Are <N> things <C>?"],
         "nodes": [
            {"type": "scene", "inputs": []},
            {"type": "filter_color", "inputs": [0], "side_inputs": ["<C>"]},
            {"type": "count", "inputs": [1]},
            {"type": "count_is", "inputs": [2], "side_inputs": ["<N>"]}],
         "params": [{"type": "Color", "name": "<C>"}, {"type": "Number", "name": "<N>"}]}
    ]);
    own.into_iter().chain(of_suites.as_array().into_iter().flatten().cloned()).collect()
}

/// Asks questions with templates that were read, and parses their texts.
fn use_templates(templates: &[u8], synonyms: &[u8]) -> bool {
    let files = [("t".to_owned(), templates.to_vec())];
    let set = checked(TemplateSet::from_files(&VOCAB, &files, &[], ("synonyms.json", synonyms)));
    let mut words: Vec<String> = SPECIAL_NAMES.map(str::to_owned).to_vec();
    let mut texts = Vec::new();
    if let Some(set) = &set {
        words.extend(set.words());
        set.program_width();
        let plans = set.plans(&VOCAB);
        let views: Vec<_> = SCENES.iter().enumerate().map(|(i, scene)| (i as u64, scene.view())).collect();
        let questions = QuestionGenerator::new(&VOCAB, set, &plans, QuestionRule::Any, None, 1, 3).generate(&views);
        let tokens = QuestionVocabulary::new(words.iter().map(String::as_str)).unwrap();
        for question in &questions {
            let mut row = vec![0; set.question_width()];
            tokens.encode_into(&question.text, &mut row).unwrap();
            texts.push(row);
        }
    }
    let functions = ProgramVocabulary::new(&VOCAB).extended(&VOCAB, Function::all().iter().copied());
    let names = Names::new(&words, functions.names(), &["no".to_owned(), "yes".to_owned()]);
    let parser = checked(TextParser::new(&names, &files, synonyms));
    if let Some(parser) = &parser {
        texts.iter().for_each(|text| drop(parser.read(text)));
    }
    set.is_some() && parser.is_some()
}

#[test]
fn undamaged_templates_are_read() {
    assert!(use_templates(templates().to_string().as_bytes(), SYNONYMS));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn template_files(damage in damage()) {
        use_templates(&damage.of(&templates()), SYNONYMS);
    }

    #[test]
    fn synonyms(damage in damage()) {
        let document: Value = serde_json::from_slice(SYNONYMS).unwrap();
        use_templates(templates().to_string().as_bytes(), &damage.of(&document));
    }
}
