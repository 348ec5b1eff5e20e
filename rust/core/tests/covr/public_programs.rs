//! All available programs over sets of images have the outputs of COVR's public executor, and are written as read.

use clevrhope_core::program::{Output, execute_on_set, execute_sets, trace_on_set};
use clevrhope_core::scene::SceneSet;
use clevrhope_core::scene::json::read_graphs;
use clevrhope_core::{Program, SceneGraph, Vocabulary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The folder of third-party data, or None if it is missing.
fn test_data() -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("CLEVRHOPE_TEST_DATA").map_or_else(beside, PathBuf::from);
    folder.join("covr_public").is_dir().then_some(folder)
}

/// Nodes that turn the output of a program (objects, groups or images) into an answer; they never fail.
fn ending(answer: &Value, last: usize) -> Vec<Value> {
    let node = |operation: &str, input: usize| json!({"operation": operation, "dependencies": [input]});
    match answer {
        Value::Object(_) => vec![node("keys", last), node("count", last + 1)],
        Value::Array(_) => vec![node("count", last)],
        Value::String(text) if text.contains('/') => vec![node("query_name", last)],
        _ => Vec::new(),
    }
}

/// An output in the public executor's spelling, with the scene's index in place of the image's number.
fn spelled(output: &Output, set: &SceneSet<'_>, scenes: &[u64], vocab: &Vocabulary) -> Value {
    let object = |number: u8| {
        let (image, object) = set.place(number.into());
        json!(format!("{}/{object}", scenes[image]))
    };
    match output {
        Output::Set(objects) => objects.iter().map(|&number| object(number)).collect(),
        Output::Object(number) => object(*number),
        Output::Images(images) => images.iter().map(|&image| json!(scenes[usize::from(image)])).collect(),
        Output::Answer(answer) => match vocab.answer_text(*answer).as_str() {
            "yes" => json!(true),
            "no" => json!(false),
            text => text.parse::<u64>().map_or_else(|_| json!(text), |n| json!(n)),
        },
    }
}

/// An answer with sorted lists, and with groups as lists of their objects, since their order has no meaning.
fn sorted(answer: &Value) -> Value {
    let mut items: Vec<Value> = match answer {
        Value::Array(items) => items.clone(),
        Value::Object(groups) => groups.values().flat_map(|group| group.as_array().unwrap().clone()).collect(),
        other => return other.clone(),
    };
    items.sort_by_key(Value::to_string);
    items.into()
}

#[test]
fn programs_give_what_the_public_executor_gave() {
    let Some(folder) = test_data() else {
        eprintln!("skipped: no programs of COVR in CLEVRHOPE_TEST_DATA or ../shared/data");
        return;
    };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let vocab = Vocabulary::from_properties_json(&read("clevr_v1/properties.json"), "properties.json", 10).unwrap();
    let file = read("covr_public/scenes.json");
    let scenes: Vec<SceneGraph> = read_graphs(&file, "scenes.json", &vocab).unwrap();
    let content: Value = serde_json::from_slice(&file).unwrap();
    let indices = content["scenes"].as_array().unwrap().iter().map(|scene| scene["image_index"].as_u64().unwrap());
    let places: BTreeMap<u64, i32> = indices.zip(0..).collect();

    let (mut programs, mut rows, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let mut n_valid = 0;
    for (number, line) in String::from_utf8(read("covr_public/programs.jsonl")).unwrap().lines().enumerate() {
        let case: Value = serde_json::from_str(&line.replace("CHOOSE_REL", "choose_relation")).unwrap();
        let (answer, is_valid) = (&case["answer"], case["valid"].as_bool().unwrap());
        let indices: Vec<u64> = serde_json::from_value(case["scenes"].clone()).unwrap();
        let mut row = [-1; 5];
        row.iter_mut().zip(&indices).for_each(|(slot, index)| *slot = places[index]);
        let set = SceneSet::of_row(&scenes, &row).unwrap();

        let mut nodes = case["program"].as_array().unwrap().clone();
        // The type of a program's output is known only if it is valid; the others can have any ending.
        let added = if is_valid { ending(answer, nodes.len() - 1) } else { vec![json!({"operation": "scene"})] };
        let n_added = added.len();
        nodes.extend(added);
        if !is_valid {
            nodes.push(json!({"operation": "count", "dependencies": [nodes.len() - 1]}));
        }
        let place = format!("programs.jsonl[{number}]");
        let program = Program::from_covr_json(Value::from(nodes).to_string().as_bytes(), &vocab, &place).unwrap();
        let outputs = trace_on_set(&program, &set, &vocab);
        assert_eq!(outputs.len() == program.steps.len(), is_valid, "{place}");
        if is_valid {
            n_valid += 1;
            let given = spelled(&outputs[outputs.len() - 1 - n_added], &set, &indices, &vocab);
            assert_eq!(sorted(&given), sorted(answer), "{place}: {line}");
        }

        let mut written = Vec::new();
        program.write_covr_json(&vocab, &mut written).unwrap();
        let read_back = Program::from_covr_json(&written, &vocab, &place).unwrap();
        let answer = execute_on_set(&program, &set, &vocab);
        assert_eq!(execute_on_set(&read_back, &set, &vocab), answer, "{place}");
        answers.push(answer.ok().and_then(|answer| vocab.answer_index(answer)).unwrap_or(u16::MAX));
        programs.push(program);
        rows.push(row);
    }
    assert_eq!((programs.len(), n_valid), (1_000, 624));
    let pairs: Vec<(u32, u32)> = (0..programs.len() as u32).map(|number| (number, number)).collect();
    assert_eq!(execute_sets(&programs, &scenes, &rows, &pairs, &vocab), Ok(answers));
}
