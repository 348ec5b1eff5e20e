//! Questions with the functions of suites and of templates of one's own: the search finds all of them, and the audit reads them back.

use crate::reachable::check_families;
use crate::world::{RawTemplate, Templates, TestScene, clevr, rng, tiny};
use clevrhope_core::Vocabulary;
use clevrhope_core::audit::{Names, ProgramReader, TextParser};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::{Function, ProgramVocabulary};
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::tokenize;
use clevrhope_core::scene::Palette;
use std::collections::BTreeSet;

/// The text and the nodes (with parameters) of each family.
const FAMILIES: [(&str, &str); 10] = [
    ("Is the <Z> <C> <M> <S> <C2>?", "scene; filter_unique 0 <Z> <C> <M> <S>; verify_color 1 <C2>"),
    ("Is the <Z> <C> <M> <S> a <S2>?", "scene; filter_unique 0 <Z> <C> <M> <S>; verify_shape 1 <S2>"),
    (
        "Which of <S2> and <S3> is the <Z> <C> <M> <S>?",
        "scene; filter_unique 0 <Z> <C> <M> <S>; offer_shape 1 <S2>; offer_shape 2 <S3>; query_shape 3",
    ),
    ("Are there exactly <N> <C> <S>s?", "scene; filter_color 0 <C>; filter_shape 1 <S>; count 2; count_is 3 <N>"),
    (
        "Is the <Z> <C> <M> <S> <R> the <S2>?",
        "scene; filter_unique 0 <Z> <C> <M> <S>; filter_shape 0 <S2>; unique 2; verify_relation 1 3 <R>",
    ),
    (
        "Are <C> <S>s and <S2>s both here?",
        "scene; filter_color 0 <C>; filter_shape 1 <S>; exist 2; filter_shape 0 <S2>; \
      exist 4; and 3 5",
    ),
    ("Is either a <C> or a <S2> here?", "scene; filter_color 0 <C>; exist 1; filter_shape 0 <S2>; exist 3; or 2 4"),
    ("Are no <C> <S>s here?", "scene; filter_color 0 <C>; filter_shape 1 <S>; exist 2; not 3"),
    (
        "How many <S>s remain without the <C> ones?",
        "scene; filter_shape 0 <S>; filter_color 1 <C>; count 1; count 2; subtraction 3 4",
    ),
    // There is an answer where there are enough.
    (
        "How many more <S>s than <C> things are there?",
        "scene; filter_shape 0 <S>; filter_color 0 <C>; count 1; count 2; subtraction 3 4",
    ),
];
const SYNONYMS: &[u8] =
    br#"{"0": ["zero", "no"], "1": ["one"], "2": ["two"], "left": ["left of"], "right": ["right of"]}"#;

/// A template file with these families.
fn template_file() -> String {
    let template = |(text, nodes): (&str, &str)| {
        let mut params = Vec::new();
        let node = |node: &str| {
            let mut words = node.split_whitespace();
            let kind = words.next().unwrap().to_owned();
            let (sides, inputs): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('<'));
            params.extend(sides.iter().map(|side| (*side).to_owned()));
            let inputs: Vec<usize> = inputs.iter().map(|input| input.parse().unwrap()).collect();
            serde_json::json!({"type": kind, "inputs": inputs, "side_inputs": sides})
        };
        let nodes: Vec<serde_json::Value> = nodes.split(';').map(node).collect();
        let kind = |param: &str| match &param[1..2] {
            "Z" => "Size",
            "C" => "Color",
            "M" => "Material",
            "S" => "Shape",
            "R" => "Relation",
            _ => "Number",
        };
        let params: Vec<_> = params.iter().map(|name| serde_json::json!({"type": kind(name), "name": name})).collect();
        serde_json::json!({"text": [text], "nodes": nodes, "params": params})
    };
    serde_json::Value::from(FAMILIES.map(template).to_vec()).to_string()
}

fn templates(vocab: &Vocabulary) -> Templates {
    let file = template_file();
    let files = [("suites".to_owned(), file.clone().into_bytes())];
    let set = TemplateSet::from_files(vocab, &files, &[], ("synonyms.json", SYNONYMS)).unwrap();
    let raw: Vec<RawTemplate> = serde_json::from_str(&file).unwrap();
    Templates { set, raw }
}

fn scenes(vocab: &Vocabulary) -> Vec<TestScene> {
    let mut rng = rng("scenes of suites", 0);
    vec![
        TestScene::placed(vocab, vec![[0, 0, 0, 0], [0, 1, 0, 1]], &mut rng),
        TestScene::placed(vocab, vec![[0, 1, 0, 0], [1, 0, 0, 1]], &mut rng),
        TestScene::placed(vocab, vec![[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 1]], &mut rng),
    ]
}

#[test]
fn every_family_reaches_what_a_list_of_all_choices_gives() {
    let vocab = tiny();
    let templates = templates(&vocab);
    let plans = templates.plans(&vocab);
    let rules = [QuestionRule::Any, QuestionRule::Without, QuestionRule::Unimplied, QuestionRule::With];
    for pair in [["rubber", "cylinder"], ["blue", "cylinder"]] {
        let holdout = Holdout::new(&vocab, &pair).unwrap();
        check_families(&vocab, &templates, &plans, &holdout, &rules, &scenes(&vocab));
    }
    let palette = br#"{"cube": ["red"], "cylinder": ["red", "blue"]}"#;
    let palette = Palette::from_json(&vocab, "p", palette, "p").unwrap();
    let holdout = Holdout::new(&vocab, &["blue", "cylinder"]).unwrap().within(&vocab, &palette).unwrap();
    check_families(&vocab, &templates, &plans, &holdout, &rules, &scenes(&vocab));
}

#[test]
fn the_audit_reads_questions_back_to_their_programs_and_answers() {
    let vocab = clevr();
    let templates = templates(&vocab);
    let functions = ProgramVocabulary::new(&vocab).extended(&vocab, templates.set.functions());
    let words = [&["<NULL>", "<START>", "<END>", "<UNK>"].map(str::to_owned), &templates.set.words()[..]].concat();
    let answers = vocab.answer_texts();
    let names = Names::new(&words, functions.names(), &answers);
    let files = [("suites".to_owned(), template_file().into_bytes())];
    let parser = TextParser::new(&names, &files, SYNONYMS).unwrap();
    let programs = ProgramReader::new(&vocab, functions.names(), &answers, &[]).unwrap();

    let mut draws = rng("read back", 0);
    let scenes: Vec<TestScene> = (0..300).map(|i| TestScene::random(&vocab, 2 + i % 6, &mut draws)).collect();
    let views: Vec<_> = scenes.iter().enumerate().map(|(i, scene)| (i as u64, scene.graph.view())).collect();
    let plans = templates.plans(&vocab);
    let questions =
        QuestionGenerator::new(&vocab, &templates.set, &plans, QuestionRule::Any, None, 1, 8).generate(&views);
    let mut asked = BTreeSet::new();
    for question in &questions {
        let number = |word: &str| words.iter().position(|w| w == word).map_or(-1, |i| i as i32);
        let text: Vec<i32> = tokenize(&question.text).into_iter().map(number).collect();
        let row = functions.encode(&question.program).unwrap();
        let program = &row[1..row.len() - 1];
        let readings = parser.read(&text);
        let is_its_own =
            |reading: &&clevrhope_core::audit::Reading| reading.family == question.family && reading.program == program;
        assert!(
            readings.iter().any(|reading| is_its_own(&reading)),
            "{}: {readings:?}, not {program:?}",
            question.text
        );
        let answer = i32::from(vocab.answer_index(question.answer).unwrap());
        assert_eq!(programs.answer(program, scenes[question.scene as usize].graph.view()), answer, "{}", question.text);
        assert!(parser.answers(question.family.into()).contains(&answer));
        asked.insert((question.family, answer));
    }
    // Each family has both answers; the choice has every shape, and a difference is a number.
    let n_answers = |family: u16| asked.iter().filter(|(of, _)| *of == family).count();
    assert_eq!((0..8).map(n_answers).collect::<Vec<_>>(), [2, 2, 3, 2, 2, 2, 2, 2], "{asked:?}");
    assert!((8..10).map(n_answers).all(|n| n > 3), "{asked:?}");
    assert!(questions.iter().any(|question| question.text.starts_with("Are there exactly two ")));
    let texts = || questions.iter().map(|question| question.text.as_str());
    assert!(texts().any(|text| text.starts_with("Are there exactly no ")) && texts().any(|text| text.contains(" 4 ")));
}

#[test]
fn templates_name_the_functions_that_a_vocabulary_needs() {
    let vocab = clevr();
    let names = |functions: Vec<Function>| functions.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let set = templates(&vocab).set;
    assert_eq!(
        names(set.functions()),
        "scene filter_size filter_color filter_material filter_shape unique count exist query_shape and or not \
         verify_color verify_shape offer_shape count_is verify_relation subtraction"
    );
    let own = Templates::own(&vocab).set;
    let clevr = ProgramVocabulary::new(&vocab);
    assert_eq!(clevr.extended(&vocab, own.functions()), clevr, "the project's templates need nothing but CLEVR's own");
}
