//! Numbers that a caller or a file gives, however large, are no reason to allocate or loop without a bound.

use crate::{LOOK, PROPERTIES, SYNONYMS, VOCAB, WORLD, world};
use clevrhope_core::Vocabulary;
use clevrhope_core::audit::{Names, TextParser};
use clevrhope_core::covr::Phrasings;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::encode::ProgramVocabulary;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::reading::QuestionReader;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::scene::json::read_scenes;
use clevrhope_core::scene::{Pool, SceneGraph};
use clevrhope_core::split::{CountingPool, MinimalPool};
use clevrhope_core::suite::Suite;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const COUNT: &[u8] = include_bytes!("../../../../question_templates/zero_hop.json");

fn template_set(bytes: &[u8], synonyms: &[u8]) -> Result<TemplateSet, String> {
    let files = [("t".to_owned(), bytes.to_vec())];
    TemplateSet::from_files(&VOCAB, &files, &[], ("s.json", synonyms)).map_err(|error| error.to_string())
}

/// A family with this many sizes side by side, each of which may be left out, and the sizes' own filters.
fn sizes_side_by_side(n: usize) -> Value {
    let names: Vec<String> = (0..n).map(|i| format!("<Z{i}>")).collect();
    let params: Vec<Value> = names.iter().map(|name| json!({"type": "Size", "name": name})).collect();
    let filters = (0..n).map(|i| json!({"type": "filter", "inputs": [i], "side_inputs": [names[i]]}));
    let nodes: Vec<Value> = std::iter::once(json!({"type": "scene", "inputs": []}))
        .chain(filters)
        .chain([json!({"type": "count", "inputs": [n]})])
        .collect();
    json!([{"text": [format!("How many {} things?", names.join(" "))], "params": params, "nodes": nodes}])
}

#[test]
fn a_scene_is_asked_no_more_questions_than_there_are_families() {
    let set = template_set(COUNT, SYNONYMS).unwrap();
    let plans = set.plans(&VOCAB);
    let scenes = Pool::new(&WORLD, 3, "train").scenes(0..4).unwrap();
    let graphs: Vec<SceneGraph> = scenes.iter().map(|scene| scene.graph(&VOCAB)).collect();
    let views: Vec<_> = graphs.iter().enumerate().map(|(i, graph)| (i as u64, graph.view())).collect();
    let ask = |n| QuestionGenerator::new(&VOCAB, &set, &plans, QuestionRule::Any, None, 1, n).generate(&views).len();
    assert!((1..=4 * set.families().len()).contains(&ask(u32::MAX)));
}

#[test]
fn pools_of_too_many_images_are_refused() {
    let values = |letter: char, definition: &str, n: usize| {
        (0..n).map(|i| format!("\"{letter}{i}\": {definition}")).collect::<Vec<_>>().join(",")
    };
    let properties = format!(
        "{{\"sizes\": {{{}}}, \"colors\": {{{}}}, \"materials\": {{{}}}, \"shapes\": {{{}}}}}",
        values('z', "0.5", 40),
        values('c', "[1, 2, 3]", 40),
        values('m', "\"rubber\"", 40),
        values('s', "\"sphere\"", 40)
    );
    let vocab = Vocabulary::from_properties_json(properties.as_bytes(), "p.json", 10).unwrap();
    let pool = |held: &[&str]| {
        MinimalPool::new(&vocab, &Holdout::new(&vocab, held).unwrap(), None).map_err(|error| error.to_string())
    };
    let sentence = "split minimal_color_material_shape: 474552000 grids of two values of each type; \
                    at most 1048576 are possible";
    assert_eq!(pool(&["c1", "m1", "s1"]).unwrap_err(), sentence);
    let shared = pool(&["c1", "s1"]).unwrap().shared(&vocab).unwrap_err().to_string();
    assert!(shared.contains("2560000 objects at a place"), "{shared}");
    let templates = template_set(COUNT, SYNONYMS).unwrap();
    let sets = CountingPool::new(&VOCAB, 3).unwrap().questions(&templates, 1, 0, 0..1_000_000);
    let sentence = "split counting_shape: 1000000 sets in one call; at most 262144 are made at once";
    assert_eq!(sets.unwrap_err().to_string(), sentence);
}

#[test]
fn a_text_that_could_be_read_in_too_many_ways_is_not_read() {
    // 60 parameters may be left out: the audit alone allows so many.
    for (n_params, n_words, is_read) in [(4, 2, true), (12, 6, true), (60, 20, false)] {
        let file = sizes_side_by_side(n_params).to_string().into_bytes();
        let functions = ProgramVocabulary::new(&VOCAB);
        let words = ["<NULL>", "<START>", "<END>", "<UNK>", "How", "many", "small", "things"].map(str::to_owned);
        let names = Names::new(&words, functions.names(), &["0".to_owned()]);
        let parser = TextParser::new(&names, &[("t".to_owned(), file)], b"{}").unwrap();
        let text: Vec<i32> = [4, 5].into_iter().chain(vec![6; n_words]).chain([7]).collect();
        assert_eq!(!parser.read(&text).is_empty(), is_read, "{n_params} parameters");
    }
}

#[test]
fn readers_number_all_phrasings_and_words_or_the_files_are_refused() {
    let texts = |n: usize| {
        let texts: Vec<String> = (0..n).map(|i| format!("How many {i} things?")).collect();
        let nodes = json!([{"type": "scene", "inputs": []}, {"type": "count", "inputs": [0]}]);
        json!([{"text": texts, "params": [], "nodes": nodes}]).to_string().into_bytes()
    };
    let set = template_set(&texts(256), SYNONYMS).unwrap();
    let reader = QuestionReader::new(&set);
    let readings = reader.read(0, &["How", "many", "255", "things"], &mut Default::default());
    assert_eq!(readings.iter().map(|reading| reading.phrasing).collect::<Vec<_>>(), [255]);
    let error = template_set(&texts(257), SYNONYMS).unwrap_err();
    assert_eq!(error, "t.json[0].text: expected 1 to 256 phrasings, got 257");
    let words: Vec<String> = (0..257).map(|i| format!("red{i}")).collect();
    let error = template_set(&texts(1), json!({"red": words}).to_string().as_bytes()).unwrap_err();
    assert!(error.contains("\"red\" has 257 words; at most 256 are read"), "{error}");
    assert!(Vocabulary::from_properties_json(PROPERTIES, "p.json", 10).is_ok());
}

#[test]
fn a_phrasing_with_too_many_optional_parts_is_refused() {
    // Readers list all variants: those of 40 parts fill the memory.
    let file = |n: usize| {
        let nodes = json!([{"type": "scene", "inputs": []}, {"type": "count", "inputs": [0]}]);
        json!([{"text": [format!("How many{} things?", " [a]".repeat(n))], "params": [], "nodes": nodes}]).to_string()
    };
    let set = template_set(file(8).as_bytes(), SYNONYMS).unwrap();
    let readings = QuestionReader::new(&set).read(0, &["How", "many", "a", "a", "things"], &mut Default::default());
    assert_eq!(readings.len(), 1);
    let error = template_set(file(40).as_bytes(), SYNONYMS).unwrap_err();
    assert!(error.starts_with("t.json[0].text[0]: 40 optional parts in \"How many [a]"), "{error}");
    assert!(error.ends_with("; at most 8 are read"), "{error}");
}

#[test]
fn all_numbers_up_to_the_largest_are_read_in_questions() {
    let nodes = json!([{"type": "scene", "inputs": []}, {"type": "count", "inputs": [0]},
        {"type": "count_is", "inputs": [1], "side_inputs": ["<N>"]}]);
    let params = json!([{"type": "Number", "name": "<N>"}]);
    let files = [(
        "t".to_owned(),
        json!([{"text": ["Are there <N> things?"], "params": params, "nodes": nodes}]).to_string().into_bytes(),
    )];
    for largest in [10, 254, 255] {
        let vocab = Vocabulary::from_properties_json(PROPERTIES, "p.json", largest).unwrap();
        let set = TemplateSet::from_files(&vocab, &files, &[], ("s.json", b"{}")).unwrap();
        let number = largest.to_string();
        let readings = QuestionReader::new(&set).read(0, &["Are", "there", &number, "things"], &mut Default::default());
        assert_eq!(readings.iter().map(|reading| reading.values[0]).collect::<Vec<_>>(), [Some(largest)]);
    }
}

#[test]
fn phrasings_of_sets_are_numbered_or_refused() {
    let mut file: Value = serde_json::from_slice(include_bytes!("../../../../question_templates/covr.json")).unwrap();
    let list = file["choose_attr"].as_array_mut().unwrap();
    let first = list[0].as_str().unwrap().trim_end_matches('?').to_owned();
    list.extend((0..1 << 16).map(|i| json!(format!("{first}, {i}?"))));
    let n = list.len();
    let error = Phrasings::read(file.to_string().as_bytes(), "covr.json", &VOCAB).unwrap_err().to_string();
    assert_eq!(error, format!("covr.json.choose_attr: {n} sentences; at most 65536 are read"));
}

#[test]
fn suites_of_too_many_families_or_tests_are_refused() {
    let dataset = [("t".to_owned(), sizes_side_by_side(0).to_string().into_bytes())];
    let set = template_set(&dataset[0].1, SYNONYMS).unwrap();
    let suite = |file: &str, content: Value| {
        let files = [(file.to_owned(), content.to_string().into_bytes())];
        Suite::new("s", &files, &BTreeMap::new(), &set, &dataset, &VOCAB).map(drop).unwrap_err().to_string()
    };
    let families = vec![sizes_side_by_side(0)[0].clone(); 65_535];
    let sentence = "originals.json: 65535 families and the dataset's 1; at most 65535 in all are read";
    assert_eq!(suite("originals", families.into()), sentence);
    let tests = (0..4_097)
        .map(|i| json!({"test": format!("t{i}"), "tier": "in", "source": ["t 0"], "relation": "same"}))
        .collect();
    assert_eq!(suite("tests", Value::Array(tests)), "tests.json[4096]: more than 4096 tests in a suite");
}

#[test]
fn scenes_are_drawn_wherever_a_file_puts_their_objects() {
    let mut look: Value = serde_json::from_slice(LOOK).unwrap();
    look["shapes"]["cube"] = json!({"kind": "mesh", "shading": "flat",
        "vertices": [[1, 1, -1], [-1, 1, -1], [0, -1, -1], [0, 0, 1]], "faces": [[0, 2, 1], [0, 1, 3], [1, 2, 3]]});
    let world = world(PROPERTIES, look.to_string().as_bytes()).unwrap();
    let mut document = crate::scenes::SCENES["scenes"][0].clone();
    for object in document["objects"].as_array_mut().unwrap() {
        object["shape"] = "cube".into();
    }
    for place in [[1e308, 1e308, 0.7], [-1e308, 1e308, 1e308], [1e200, -1e308, 0.7], [-1e308, -1e308, 0.7]] {
        document["objects"][0]["3d_coords"] = json!(place);
        let scenes = read_scenes(document.to_string().as_bytes(), "s.json", world.vocab()).unwrap();
        let ids = world.object_ids(&scenes[0]).unwrap();
        assert!(!ids.contains(&1) && ids.contains(&2), "{place:?}");
    }
}
