//! Programs, question files and entries of questions as JSON.

use crate::documents::damage;
use crate::{VOCAB, checked};
use clevrhope_core::Program;
use clevrhope_core::audit::{Names, QuestionRow};
use clevrhope_core::program::encode::ProgramVocabulary;
use clevrhope_core::program::question_file::read_questions;
use clevrhope_core::program::{Function, ProgramTable, execute, execute_on_set, trace};
use clevrhope_core::scene::{SceneGraph, SceneSet};
use proptest::prelude::*;
use serde_json::{Value, json};

pub fn program() -> Value {
    json!([
        {"inputs": [], "function": "scene", "value_inputs": []},
        {"inputs": [0], "function": "filter_color", "value_inputs": ["red"]},
        {"inputs": [1], "function": "unique", "value_inputs": []},
        {"inputs": [2], "function": "relate", "value_inputs": ["left"]},
        {"inputs": [2], "function": "same_shape", "value_inputs": []},
        {"inputs": [3, 4], "function": "intersect", "value_inputs": []},
        {"inputs": [5], "type": "count", "side_inputs": []},
        {"inputs": [1], "function": "count", "value_inputs": []},
        {"inputs": [6, 7], "function": "less_than", "value_inputs": []},
        {"inputs": [7], "function": "count_is", "value_inputs": ["3"]},
        {"inputs": [2], "function": "offer_shape", "value_inputs": ["cube"]},
        {"inputs": [10, 2], "function": "verify_relation", "value_inputs": ["left"]},
        {"inputs": [8, 9], "function": "or", "value_inputs": []},
        {"inputs": [12, 11], "function": "and", "value_inputs": []}
    ])
}

/// A program over several images, with the separate program of a condition.
fn covr_program() -> Value {
    json!([
        {"operation": "find", "arguments": ["cube"]},
        {"operation": "scene", "dependencies": [], "arguments": []},
        {"operation": "with_relation", "dependencies": [0, 1], "arguments": ["left"]},
        {"operation": "with_relation_object", "dependencies": [2, 1], "arguments": ["same_color"]},
        {"operation": "all", "dependencies": [3], "arguments": [[
            {"operation": "scene"}, {"operation": "filter", "dependencies": [0], "arguments": ["red"]}]]},
        {"operation": "group_by_images", "dependencies": [2]},
        {"operation": "keep_if_values_count_eq", "dependencies": [5], "arguments": [1]},
        {"operation": "count", "dependencies": [6]},
        {"operation": "leq", "dependencies": [7], "arguments": [2]},
        {"operation": "unique", "dependencies": [2]},
        {"operation": "choose_attr", "dependencies": [9], "arguments": ["red", "blue"]},
        {"operation": "choose_relation", "dependencies": [9, 1], "arguments": ["left", "right"]},
        {"operation": "logic_or", "dependencies": [4, 8]}
    ])
}

fn question() -> Value {
    json!({"split": "val", "question_index": 3, "question": "Are there fewer things, left of it; than red ones?",
           "image_index": 4, "image_filename": "a.png", "answer": "yes", "question_family_index": 8, "program": program()})
}

/// Passes a program that was read to every function that takes programs.
fn use_program(program: &Program) {
    let tokens = ProgramVocabulary::new(&VOCAB).extended(&VOCAB, Function::all().iter().copied());
    let mut row = [0; 40];
    checked(tokens.encode(program));
    checked(tokens.encode_into(program, &mut row));
    let nothing = SceneGraph::new(&VOCAB, Vec::new(), &vec![Vec::new(); 4]);
    let one = SceneGraph::new(&VOCAB, vec![[0, 1, 0, 0]], &vec![vec![Vec::new()]; 4]);
    for scene in [nothing.view(), one.view()] {
        let _ = execute(program, scene, &VOCAB);
        trace(program, scene, &VOCAB);
    }
    ProgramTable::new(&VOCAB, [program]);
    let mut json = Vec::new();
    program.write_json(&VOCAB, &mut json);
    assert_eq!(Program::from_json(&json, &VOCAB, "again").as_ref(), Ok(program));
    let set = SceneSet::new([one.view(), nothing.view()]).unwrap();
    let _ = execute_on_set(program, &set, &VOCAB);
    json.clear();
    if program.write_covr_json(&VOCAB, &mut json).is_ok() {
        Program::from_covr_json(&json, &VOCAB, "again").unwrap();
    }
}

fn names() -> Names {
    let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let functions = ProgramVocabulary::new(&VOCAB);
    Names::new(&names(&["<NULL>", "<START>", "<END>", "<UNK>", "red"]), functions.names(), &names(&["no", "yes"]))
}

#[test]
fn undamaged_documents_are_read() {
    use_program(&Program::from_json(program().to_string().as_bytes(), &VOCAB, "p").unwrap());
    use_program(&Program::from_covr_json(covr_program().to_string().as_bytes(), &VOCAB, "p").unwrap());
    let file = json!({"questions": [question()]}).to_string();
    assert_eq!(read_questions(file.as_bytes(), &VOCAB, "q.json").unwrap().len(), 1);
    let row = json!({"inputs": [0], "function": "count", "value_inputs": []});
    let mut question = question();
    question["program"] = json!([{"inputs": [], "function": "scene", "value_inputs": []}, row]);
    assert_eq!(QuestionRow::read(question.to_string().as_bytes(), 0, &names()).unwrap().program.len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn programs(damage in damage()) {
        if let Some(program) = checked(Program::from_json(&damage.of(&program()), &VOCAB, "p.json")) {
            use_program(&program);
        }
    }

    #[test]
    fn programs_over_images(damage in damage()) {
        if let Some(program) = checked(Program::from_covr_json(&damage.of(&covr_program()), &VOCAB, "p.json")) {
            use_program(&program);
        }
    }

    #[test]
    fn question_files(damage in damage()) {
        let document = json!({"info": {}, "questions": [question(), question()]});
        for question in checked(read_questions(&damage.of(&document), &VOCAB, "q.json")).into_iter().flatten() {
            question.program.iter().for_each(use_program);
        }
    }

    #[test]
    fn rows_of_questions(damage in damage()) {
        checked(QuestionRow::read(&damage.of(&question()), 7, &names()));
    }
}
