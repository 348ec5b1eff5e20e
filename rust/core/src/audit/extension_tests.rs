//! Tests that generator and audit handle new functions, one of each effect, with respect to what is held out.

use super::{AbsentReader, ProgramReader};
use crate::holdout::Holdout;
use crate::program::{Function, Program, ProgramVocabulary, execute};
use crate::question::TemplateSet;
use crate::question::instantiate::{Instantiator, Question};
use crate::question::search::QuestionRule;
use crate::rng::StreamKey;
use crate::scene::{Palette, SceneGraph};
use crate::vocab::{N_TYPES, RELATION_NAMES, Vocabulary};
use serde_json::{Value, json};
use std::mem::discriminant;

const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3], "blue": [1, 2, 4]},
    "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "cylinder": "y"}}"#;
/// The held-out pair is rubber and cylinder, which no object of the palette is.
const PALETTE: &str = r#"{"cube": ["rubber", "metal"], "cylinder": ["metal"]}"#;

/// Templates with a test function each, and whether some question mentions the pair, and implies it.
#[rustfmt::skip]
const FAMILIES: [(&str, bool, bool); 9] = [
    ("scene; filter_unique 0 <Z> <C> <M> <S>; verify_material 1 <M2>", true, true),
    ("scene; filter_unique 0 <Z> <C> <M> <S>; same_material 1; unique 2; verify_shape 3 <S2>", true, true),
    ("scene; filter_shape 0 <S>; first 1; filter_material 2 <M>; exist 3", true, true),
    ("scene; filter_shape 0 <S>; others 1; filter_material 2 <M>; exist 3", false, false),
    ("scene; filter_shape 0 <S>; filter_size 0 <Z>; either 1 2; filter_material 3 <M>; exist 4", true, true),
    ("scene; filter_shape 0 <S>; filter_material 0 <M>; overlap 1 2", true, true),
    ("scene; filter_material 0 <M>; unique 1; like_material 2; filter_shape 3 <S>; exist 4", false, true),
    ("scene; filter_shape 0 <S>; unique 1; query_material 2; filter_material 0 <M>; unique 4; query_material 5; \
      differ_material 3 6", false, true),
    ("scene; filter_shape 0 <S>; unique 1; filter_material 0 <M>; unique 3; differ_object 2 4", false, true),
];

/// A template file with one family.
fn template(nodes: &str) -> String {
    let mut params: Vec<&str> = Vec::new();
    let node = |node| {
        let mut words = str::split_whitespace(node);
        let name = words.next().unwrap();
        let (sides, inputs): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('<'));
        params.extend(&sides);
        let inputs: Vec<u8> = inputs.iter().map(|input| input.parse().unwrap()).collect();
        json!({"type": name, "inputs": inputs, "side_inputs": sides})
    };
    let nodes: Vec<Value> = nodes.split("; ").map(node).collect();
    let kind = |param: &str| match &param[1..2] {
        "Z" => "Size",
        "C" => "Color",
        "M" => "Material",
        _ => "Shape",
    };
    let text = format!("{}?", params.join(" "));
    let params: Vec<Value> = params.iter().map(|param| json!({"type": kind(param), "name": param})).collect();
    json!([{"text": [text], "nodes": nodes, "params": params}]).to_string()
}

/// Generator and audit, with the tokens of all functions, including those for tests.
struct Readers {
    vocab: Vocabulary,
    holdout: Holdout,
    within_palette: Holdout,
    tokens: ProgramVocabulary,
    programs: ProgramReader,
    absent: AbsentReader,
}

impl Readers {
    fn new() -> Self {
        let vocab = Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap();
        let tokens = ProgramVocabulary::of(&vocab, Function::all().iter().chain(Function::for_tests()).copied());
        let named = |pairs: &[[&str; 2]]| -> Vec<(String, String)> {
            pairs.iter().map(|[a, b]| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        let pair = named(&[["material", "rubber"], ["shape", "cylinder"]]);
        let seen = named(&[["rubber", "cube"], ["metal", "cube"], ["metal", "cylinder"]]);
        let palette = Palette::from_json(&vocab, "p", PALETTE.as_bytes(), "p").unwrap();
        let holdout = Holdout::new(&vocab, &["rubber", "cylinder"]).unwrap();
        Self {
            programs: ProgramReader::new(&vocab, tokens.names(), &[], &pair).unwrap(),
            absent: AbsentReader::new(&vocab, tokens.names(), &[], &[], ["material", "shape"], &seen).unwrap(),
            within_palette: holdout.clone().within(&vocab, &palette).unwrap(),
            holdout,
            tokens,
            vocab,
        }
    }

    /// Whether a program mentions the pair and implies it, on which generator and audit agree.
    fn read(&self, program: &Program) -> (bool, bool) {
        let row = self.tokens.encode(program).unwrap();
        let tokens = &row[1..row.len() - 1];
        let (mentions, implies) = (self.holdout.is_mentioned_in(program), self.holdout.is_implied_in(program));
        assert_eq!((self.programs.mentions(tokens), self.programs.implies(tokens)), (mentions, implies), "{program:?}");
        // The pair is all that is absent from the palette, so whoever names something absent mentions the pair.
        let absent = self.within_palette.absent().unwrap();
        assert_eq!((absent.is_named_in(program), self.absent.in_program(tokens)), (mentions, mentions), "{program:?}");
        (mentions, implies)
    }

    /// Questions of a family under a rule, on scenes with all kinds of objects.
    fn questions(&self, nodes: &str, rule: QuestionRule, holdout: &Holdout) -> Vec<Question> {
        let files = [("for_tests".to_owned(), template(nodes).into_bytes())];
        let templates = TemplateSet::from_files(&self.vocab, &files, &[], ("synonyms.json", b"{}")).unwrap();
        let plans = templates.plans(&self.vocab);
        let key = StreamKey::new(&[b"made up"]);
        let scenes: Vec<SceneGraph> = (0..200)
            .map(|index| {
                let mut rng = key.at(index);
                let n = 2 + rng.below(4) as usize;
                let values = (0..n).map(|_| std::array::from_fn::<u8, N_TYPES, _>(|_| rng.below(2) as u8)).collect();
                SceneGraph::from_masks(&self.vocab, values, vec![0; n * RELATION_NAMES.len()])
            })
            .collect();
        let instantiator = Instantiator::new(&self.vocab, &templates, &plans, rule, Some(holdout));
        let views = (0..).zip(scenes.iter().map(SceneGraph::view));
        let questions = instantiator.window(&mut instantiator.workspace(), views, &key, 1);
        for question in &questions {
            let scene = scenes[question.scene as usize].view();
            assert_eq!(execute(&question.program, scene, &self.vocab), Ok(question.answer), "{question:?}");
        }
        questions
    }
}

#[test]
fn there_is_one_function_of_each_effect() {
    let mut effects: Vec<_> = Function::for_tests().iter().map(|function| discriminant(&function.effect())).collect();
    effects.dedup();
    assert_eq!(effects.len(), 8);
    assert!(Function::all().iter().all(|function| effects.contains(&discriminant(&function.effect()))));
    for function in Function::for_tests() {
        assert!(!Function::all().contains(function));
        let stem = function.to_string();
        let stem = stem.split('_').next().unwrap();
        assert!(FAMILIES.iter().any(|(nodes, ..)| nodes.contains(&format!("; {stem}"))), "{function}");
    }
}

#[test]
fn questions_with_a_test_function_follow_the_held_out_rules() {
    let readers = Readers::new();
    for (nodes, can_mention, can_imply) in FAMILIES {
        let read = |rule, holdout| -> Vec<(bool, bool)> {
            readers.questions(nodes, rule, holdout).iter().map(|question| readers.read(&question.program)).collect()
        };
        let any = read(QuestionRule::Any, &readers.holdout);
        assert_eq!(any.iter().any(|found| found.0), can_mention, "{nodes}");
        assert_eq!(any.iter().any(|found| found.1), can_imply, "{nodes}");
        let with = read(QuestionRule::With, &readers.holdout);
        assert!(with.iter().all(|found| found.0) && with.is_empty() != can_mention, "{nodes}");
        for holdout in [&readers.holdout, &readers.within_palette] {
            let without = read(QuestionRule::Without, holdout);
            assert!(!without.is_empty() && without.iter().all(|found| !found.0), "{nodes}");
            let unimplied = read(QuestionRule::Unimplied, holdout);
            assert!(!unimplied.is_empty() && unimplied.iter().all(|found| !found.1), "{nodes}");
        }
    }
}
