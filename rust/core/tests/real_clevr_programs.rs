//! All programs of the available real CLEVR questions give the original answers, with every executor.

#![allow(clippy::unwrap_used)] // In a test, a panic is the message.

use clevrhope_core::program::question_file::{QuestionRecord, read_questions};
use clevrhope_core::program::{
    IllFormed, ProgramTable, ProgramVocabulary, SceneTable, execute, execute_batch, execute_tokens, trace,
};
use clevrhope_core::vocab::{RELATION_NAMES, TYPE_NAMES};
use clevrhope_core::{SceneGraph, Vocabulary};
use serde_json::Value;
use std::path::PathBuf;

/// The folder of third-party data, or None if it is missing.
fn test_data() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("CLEVRHOPE_TEST_DATA").map_or_else(beside, PathBuf::from);
    folder.join("real_clevr").is_dir().then_some(folder)
}

fn scenes(vocab: &Vocabulary, bytes: &[u8]) -> Vec<SceneGraph> {
    let file: Value = serde_json::from_slice(bytes).unwrap();
    let scene = |scene: &Value| {
        let attribute =
            |object: &Value, kind: usize| vocab.value(kind, object[TYPE_NAMES[kind]].as_str().unwrap()).unwrap() as u8;
        let objects = scene["objects"].as_array().unwrap();
        let attributes = objects.iter().map(|object| std::array::from_fn(|kind| attribute(object, kind))).collect();
        let related = RELATION_NAMES.map(|name| serde_json::from_value(scene["relationships"][name].clone()).unwrap());
        SceneGraph::new(vocab, attributes, &related)
    };
    file["scenes"].as_array().unwrap().iter().map(scene).collect()
}

#[test]
fn original_programs_give_original_answers() {
    let Some(folder) = test_data() else {
        eprintln!("skipped: no real CLEVR files in CLEVRHOPE_TEST_DATA or ../shared/data");
        return;
    };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let vocab = Vocabulary::from_properties_json(&read("clevr_v1/properties.json"), "properties.json", 10).unwrap();
    let mut n_questions = 0;
    for split in ["train", "val"] {
        let scenes = scenes(&vocab, &read(&format!("real_clevr/CLEVR_{split}_scenes.json")));
        let name = format!("real_clevr/CLEVR_{split}_questions.json");
        let questions = read_questions(&read(&name), &vocab, &name).unwrap();
        n_questions += questions.len();
        check(&vocab, &scenes, &questions);
    }
    assert!(n_questions >= 40, "{n_questions} questions");
}

/// Compares the answers of single calls, traces, the batch and the batch from tokens with the files' answers.
fn check(vocab: &Vocabulary, scenes: &[SceneGraph], questions: &[QuestionRecord]) {
    let texts = vocab.answer_texts();
    let expected: Vec<u16> = questions
        .iter()
        .map(|question| texts.iter().position(|text| Some(text) == question.answer.as_ref()).unwrap() as u16)
        .collect();
    let programs: Vec<_> = questions.iter().map(|question| question.program.clone().unwrap()).collect();
    let numbers: Vec<u32> = questions.iter().map(|question| question.image_index as u32).collect();
    for (i, program) in programs.iter().enumerate() {
        let scene = scenes[numbers[i] as usize].view();
        let answer = execute(program, scene, vocab).unwrap();
        assert_eq!(vocab.answer_index(answer), Some(expected[i]), "{}", questions[i].text);
        assert_eq!(trace(program, scene, vocab).len(), program.steps.len());
    }

    let table = SceneTable::new(vocab, &scenes.iter().map(SceneGraph::view).collect::<Vec<_>>());
    let pairs: Vec<(u32, u32)> = (0..).zip(numbers.iter().copied()).collect();
    assert_eq!(execute_batch(&ProgramTable::new(vocab, &programs), &table, &pairs, vocab).as_ref(), Ok(&expected));

    let vocabulary = ProgramVocabulary::new(vocab);
    let mut rows = vec![[0; 48]; programs.len()];
    for (program, row) in programs.iter().zip(&mut rows) {
        vocabulary.encode_into(program, row).unwrap();
    }
    let tokens = rows.as_flattened();
    let answers = execute_tokens(&vocabulary, tokens, 48, &table, &numbers, vocab, IllFormed::Refuse);
    assert_eq!(answers.as_ref(), Ok(&expected));
}
