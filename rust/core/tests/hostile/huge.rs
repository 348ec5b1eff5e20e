//! Documents and rows that are huge, deep or circular.

use crate::{LOOK, PROPERTIES, SYNONYMS, VOCAB, checked, world};
use clevrhope_core::audit::{AbsentReader, FinishedScenes, Names, ProgramReader, QuestionRow, TextParser, Word};
use clevrhope_core::program::encode::ProgramVocabulary;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::scene::{Palette, SceneGraph};
use clevrhope_core::{Program, scene};
use serde_json::{Value, json};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// The numbers of functions' names.
fn numbers(functions: &ProgramVocabulary, names: &[&str]) -> Vec<i32> {
    let number = |name: &&str| functions.names().iter().position(|known| known == name).unwrap() as i32;
    names.iter().map(number).collect()
}

#[test]
fn programs_of_any_length_are_refused_or_run() {
    let chain = |n: usize| {
        let node = |i: usize| match i {
            0 => json!({"function": "scene", "inputs": []}),
            i if i + 1 == n => json!({"function": "count", "inputs": [i - 1]}),
            i => json!({"function": "union", "inputs": [i - 1, i - 1]}),
        };
        Value::from((0..n).map(node).collect::<Vec<_>>())
    };
    let read = |document: &Value| Program::from_json(document.to_string().as_bytes(), &VOCAB, "p");
    assert_eq!(read(&chain(100_000)).unwrap_err().to_string(), "p: 100000 nodes; a program has at most 256");
    let program = read(&chain(256)).unwrap();
    // As a tree, it would have 2^255 tokens.
    assert!(checked(ProgramVocabulary::new(&VOCAB).encode(&program)).is_none());
    let row = json!({"question": "Any?", "image_index": 0, "image_filename": "a", "answer": 3,
        "question_family_index": 0, "program": chain(100).as_array().unwrap().iter().map(|node| {
            let mut node = node.clone();
            node["value_inputs"] = json!([]);
            node
        }).collect::<Vec<_>>()});
    let names = Names::new(&[], &[], &[]);
    assert_eq!(
        QuestionRow::read(row.to_string().as_bytes(), 3, &names).unwrap_err().to_string(),
        "row 3: a program of too many tokens"
    );
}

#[test]
fn rows_of_any_width_are_no_programs() {
    let functions = ProgramVocabulary::new(&VOCAB);
    let answers = names(&["no", "yes", "0", "1"]);
    let pair = [("color", "red"), ("shape", "cube")].map(|(kind, value)| (kind.to_owned(), value.to_owned()));
    let reader = ProgramReader::new(&VOCAB, functions.names(), &answers, &pair).unwrap();
    let scene = SceneGraph::new(&VOCAB, vec![[0, 1, 0, 0]], &vec![vec![Vec::new()]; 4]);
    let seen = [("red".to_owned(), "cube".to_owned()), ("blue".to_owned(), "cube".to_owned())];
    let words: [Word; 0] = [];
    let absent = AbsentReader::new(&VOCAB, functions.names(), &[], &words, ["color", "shape"], &seen).unwrap();
    for name in ["filter_color[red]", "union", "intersect", "relate[left]", "same_shape", "equal_shape", "less_than"] {
        let row = numbers(&functions, &[name, "filter_color[red]", "filter_shape[cube]"]).repeat(300_000);
        assert_eq!(reader.answer(&row, scene.view()), -2, "{name}");
        assert_eq!(reader.relations_needed(&row, scene.view()), None, "{name}");
        assert!(!reader.mentions(&row) && !reader.implies(&row), "{name}");
        assert!(absent.in_program(&row), "{name}");
    }
}

#[test]
fn alternatives_do_not_grow_without_bound() {
    let functions = ProgramVocabulary::new(&VOCAB);
    let pair = [("color", "red"), ("shape", "cube")].map(|(kind, value)| (kind.to_owned(), value.to_owned()));
    let reader = ProgramReader::new(&VOCAB, functions.names(), &names(&["no"]), &pair).unwrap();
    // Every pair of values was seen, so only its bound ends the search.
    let all = |kind: usize| VOCAB.types()[kind].values.iter();
    let seen: Vec<(String, String)> =
        all(1).flat_map(|color| all(3).map(move |shape| (color.clone(), shape.clone()))).collect();
    let words: [Word; 0] = [];
    let absent = AbsentReader::new(&VOCAB, functions.names(), &[], &words, ["color", "shape"], &seen).unwrap();
    let mut row = numbers(&functions, &["count"]);
    let colors: Vec<String> = all(1).map(|color| format!("filter_color[{color}]")).collect();
    for i in 0..60 {
        row.extend(numbers(
            &functions,
            &["intersect", "union", &colors[i % 8], "scene", &colors[(i + 1) % 8], "scene"],
        ));
    }
    row.extend(numbers(&functions, &["scene"]));
    absent.in_program(&row);
    let mut row = numbers(&functions, &["exist"]);
    for _ in 0..50 {
        let things =
            ["intersect", "union", "same_color", "unique", "filter_color[red]", "scene", "filter_shape[cube]", "scene"];
        row.extend(numbers(&functions, &things));
    }
    row.extend(numbers(&functions, &["scene"]));
    reader.implies(&row);
}

/// A template file with one family.
fn family(text: &str, params: &Value, nodes: &Value) -> Vec<u8> {
    json!([{"text": [text], "params": params, "nodes": nodes}]).to_string().into_bytes()
}

#[test]
fn templates_that_would_grow_without_bound_are_refused() {
    let functions = ProgramVocabulary::new(&VOCAB);
    let words = names(&["<NULL>", "<START>", "<END>", "<UNK>", "a"]);
    let parse = |bytes: Vec<u8>| {
        let names = Names::new(&words, functions.names(), &names(&["no", "yes"]));
        TextParser::new(&names, &[("t".to_owned(), bytes)], b"{}").map(drop).map_err(|error| error.to_string())
    };
    let read = |bytes: Vec<u8>| {
        let files = [("t".to_owned(), bytes)];
        TemplateSet::from_files(&VOCAB, &files, &[], ("s", b"{}")).map(drop).map_err(|error| error.to_string())
    };
    let chain = |n: usize, inputs: fn(usize) -> Value| {
        let node = |i: usize| {
            if i == 0 { json!({"type": "scene", "inputs": []}) } else { json!({"type": "filter", "inputs": inputs(i)}) }
        };
        Value::from((0..n).map(node).collect::<Vec<_>>())
    };
    let none = json!([]);
    let long = family("a", &none, &chain(100_000, |i| json!([i - 1])));
    assert_eq!(parse(long.clone()).unwrap_err(), "t[0]: 100000 nodes; at most 256 are read");
    assert_eq!(read(long).unwrap_err(), "t.json[0].nodes: expected 1 to 16 nodes, got 100000");
    // Macros without parameters add nothing to the program, however often they are expanded.
    let twice = family("a", &none, &chain(100, |i| json!([i - 1, i - 1])));
    assert_eq!(parse(twice).unwrap_err(), "t[0]: a program of too many functions");
    let wordy = family(&"a ".repeat(60_000), &none, &chain(1, |_| json!([])));
    assert_eq!(parse(wordy).unwrap_err(), "t[0]: a phrasing of 60000 words; at most 1000 are read");
    let count = json!([{"type": "scene", "inputs": []}, {"type": "count", "inputs": [0]}]);
    for (name, place) in [
        ("", "t.json[0].params[0]: \"\" is not a parameter name"),
        ("a", "t.json[0].params[0]: \"a\" is not a parameter name"),
    ] {
        let error = read(family("a", &json!([{"type": "Size", "name": name}]), &count)).unwrap_err();
        assert!(error.starts_with(place), "{error}");
    }
    let glued: String = (0..40).map(|i| format!("<Z{i}>")).collect();
    let params: Vec<Value> = (0..40).map(|i| json!({"type": "Color", "name": format!("<Z{i}>")})).collect();
    let nodes: Vec<Value> = std::iter::once(json!({"type": "scene", "inputs": []}))
        .chain((0..10).map(|i| json!({"type": "filter_color", "inputs": [i], "side_inputs": [format!("<Z{i}>")]})))
        .chain([json!({"type": "count", "inputs": [10]})])
        .collect();
    let glued_few: String = (0..10).map(|i| format!("<Z{i}>")).collect();
    assert!(read(family(&glued, &json!(params), &json!(nodes))).unwrap_err().contains("is set by 0 nodes"));
    let error = read(family(&glued_few, &json!(params[..10]), &json!(nodes))).unwrap_err();
    assert!(error.contains("two parameters in one word"), "{error}");
}

#[test]
fn long_names_are_shown_short_by_every_reader() {
    let long = "x".repeat(100_000);
    let spoilt = |bytes: &[u8], good: &str| {
        let text = std::str::from_utf8(bytes).unwrap();
        assert!(text.contains(good), "{good}");
        text.replacen(good, &long, 1).into_bytes()
    };
    for good in ["sphere", "gray", "shapes"] {
        assert!(checked(world(&spoilt(PROPERTIES, good), LOOK)).is_none(), "{good}");
    }
    for good in ["icosphere", "rubber", "camera", "ground", "cylinder"] {
        checked(world(PROPERTIES, &spoilt(LOOK, good)));
        checked(clevrhope_core::render::stage::Studio::from_json(&spoilt(LOOK, good), "look.json"));
    }
    let templates: &[u8] = include_bytes!("../../../../question_templates/one_hop.json");
    for good in ["scene", "<Z>", "Size", "text", "relate_filter", "What", "unique"] {
        let files = [("t".to_owned(), spoilt(templates, good))];
        checked(TemplateSet::from_files(&VOCAB, &files, &[], ("s.json", SYNONYMS)));
        let functions = ProgramVocabulary::new(&VOCAB);
        checked(TextParser::new(&Names::new(&[], functions.names(), &[]), &files, SYNONYMS));
    }
    for palette in [
        json!({&long: ["red"]}),
        json!({"cube": [&long]}),
        json!({"cube": &long}),
        json!({"types": [&long], "rows": [[["red"]]]}),
    ] {
        assert!(checked(Palette::from_json(&VOCAB, "p", palette.to_string().as_bytes(), "p.json")).is_none());
    }
    let scenes = crate::scenes::SCENES.to_string();
    for good in ["cube", "train", "sphere", "left", "directions"] {
        let bytes = spoilt(scenes.as_bytes(), good);
        checked(scene::json::read_scenes(&bytes, "s.json", &VOCAB));
        checked(scene::json::read_graphs(&bytes, "s.json", &VOCAB));
        checked(FinishedScenes::from_json(&bytes, "s.json", &VOCAB));
        checked(scene::clevr::read_clevr(&bytes[..], "s.json", &crate::WORLD));
    }
    let program = crate::programs::program().to_string();
    for good in ["scene", "red", "left", "filter_color"] {
        assert!(checked(Program::from_json(&spoilt(program.as_bytes(), good), &VOCAB, "p")).is_none(), "{good}");
    }
    assert!(checked(VOCAB.find_value(&long)).is_none());
    assert!(checked(VOCAB.type_index(&long)).is_none());
}

#[test]
fn a_palette_of_many_combinations_is_read_in_time() {
    let values = |letter: char, definition: &str| {
        (0..60).map(|i| format!("\"{letter}{i}\": {definition}")).collect::<Vec<_>>().join(",")
    };
    let properties = format!(
        "{{\"sizes\": {{\"small\": 0.35}}, \"colors\": {{{}}}, \"materials\": {{{}}}, \"shapes\": {{{}}}}}",
        values('c', "[1, 2, 3]"),
        values('m', "\"rubber\""),
        values('s', "\"sphere\"")
    );
    let vocab = clevrhope_core::Vocabulary::from_properties_json(properties.as_bytes(), "p.json", 10).unwrap();
    let mut row = Vec::new();
    for i in 0..60 * 60 * 20 {
        row.push(json!([format!("c{}", i % 60), format!("m{}", i / 60 % 60), format!("s{}", i / 3600)]));
    }
    let document = json!({"types": ["color", "material", "shape"], "rows": [row]}).to_string();
    assert_eq!(Palette::from_json(&vocab, "p", document.as_bytes(), "p.json").unwrap().combinations().count(), 72_000);
}
