//! Tests that generator and audit agree on held-out values in new functions: one of each effect, and those of suites.

use super::{AbsentReader, NO_ANSWER, ProgramReader};
use crate::holdout::Holdout;
use crate::program::{Function, Origin, Program, ProgramVocabulary, Step, Type, execute, execute_on_set, samples};
use crate::question::TemplateSet;
use crate::question::instantiate::{Instantiator, Question};
use crate::question::search::QuestionRule;
use crate::rng::StreamKey;
use crate::scene::{Palette, SceneGraph, SceneSet};
use crate::vocab::{N_TYPES, RELATION_NAMES, Vocabulary};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::mem::discriminant;

const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3], "blue": [1, 2, 4]},
    "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "cylinder": "y"}}"#;
/// The held-out pair is rubber and cylinder, which no object of the palette has.
const PALETTE: &str = r#"{"cube": ["rubber", "metal"], "cylinder": ["metal"]}"#;
const MATERIAL: u8 = 2;
const SHAPE: u8 = 3;

/// Templates, each with a new function; whether some of their questions mention the pair, and imply it.
#[rustfmt::skip]
const FAMILIES: [(&str, bool, bool); 20] = [
    ("scene; filter_unique 0 <Z> <C> <M> <S>; verify_material 1 <M2>", true, true),
    ("scene; filter_unique 0 <Z> <C> <M> <S>; same_material 1; unique 2; verify_shape 3 <S2>", true, true),
    ("scene; filter_material 0 <M>; filter_size 1 <Z>; unique 2; same_material 3; unique 4; verify_shape 5 <S>",
      false, true),
    ("scene; filter_unique 0 <Z> <C> <M> <S>; offer_shape 1 <S2>; offer_shape 2 <S3>; query_shape 3", true, true),
    ("scene; filter_material 0 <M>; unique 1; offer_shape 2 <S>; query_color 3", true, true),
    ("scene; filter_shape 0 <S>; unique 1; offer_shape 2 <S2>; query_shape 3", false, false),
    ("scene; filter_material 0 <M>; filter_size 1 <Z>; unique 2; same_material 3; unique 4; offer_shape 5 <S>; \
      query_shape 6", false, true),
    ("scene; filter_shape 0 <S>; exist 1; filter_material 0 <M>; exist 3; and 2 4", false, false),
    ("scene; filter_shape 0 <S>; filter_material 1 <M>; exist 2; filter_size 0 <Z>; exist 4; or 3 5; not 6", true, true),
    ("scene; filter_shape 0 <S>; filter_material 1 <M>; count 2; count_is 3 <N>", true, true),
    ("scene; filter_shape 0 <S>; unique 1; filter_material 0 <M>; unique 3; verify_relation 2 4 <R>", false, false),
    ("scene; filter_unique 0 <Z> <C> <M> <S>; lacks_material 1 <M2>", true, true),
    ("scene; filter_unique 0 <Z> <C> <M> <S>; same_material 1; unique 2; lacks_shape 3 <S2>", true, true),
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
        "R" => "Relation",
        "N" => "Number",
        _ => "Shape",
    };
    let text = format!("{}?", params.join(" "));
    let params: Vec<Value> = params.iter().map(|param| json!({"type": kind(param), "name": param})).collect();
    json!([{"text": [text], "nodes": nodes, "params": params}]).to_string()
}

/// The readers of generator and audit, with the tokens of all functions, including those for tests.
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

    /// Whether a program mentions the pair, and implies it; checks that generator and audit agree.
    fn read(&self, program: &Program) -> (bool, bool) {
        let row = self.tokens.encode(program).unwrap();
        let tokens = &row[1..row.len() - 1];
        // No row has steps on which the answer does not depend, so decoding removes them.
        let program = &self.tokens.decode(&row, 0).unwrap();
        let (mentions, implies) = (self.holdout.is_mentioned_in(program), self.holdout.is_implied_in(program));
        assert_eq!((self.programs.mentions(tokens), self.programs.implies(tokens)), (mentions, implies), "{program:?}");
        // Only the pair is absent from the palette, so a program that names something absent mentions the pair.
        let absent = self.within_palette.absent().unwrap();
        assert_eq!((absent.is_named_in(program), self.absent.in_program(tokens)), (mentions, mentions), "{program:?}");
        (mentions, implies)
    }

    /// Asks questions of a family under a rule, on scenes with all kinds of objects.
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
                let others = |object: usize| rng.below(1 << n) & !(1 << object);
                let related = (0..n * RELATION_NAMES.len()).map(|place| place % n).map(others).collect();
                SceneGraph::from_masks(&self.vocab, values, related)
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
    // Templates do not have COVR's functions, so the effects of those are only tested on random programs.
    let mut in_templates = Function::all().iter().filter(|function| function.origin() != Origin::Covr);
    assert!(in_templates.all(|function| effects.contains(&discriminant(&function.effect()))));
    let for_suites = Function::all().iter().filter(|function| function.origin() == Origin::Suites);
    for function in Function::for_tests().iter().chain(for_suites) {
        assert_eq!(Function::all().contains(function), function.origin() == Origin::Suites);
        let name = function.to_string();
        let stem = if function.attribute_type().is_some() { name.split('_').next().unwrap() } else { &name };
        assert!(FAMILIES.iter().any(|(nodes, ..)| nodes.contains(&format!("; {stem}"))), "{function}");
    }
}

#[test]
fn questions_with_a_new_function_follow_the_held_out_rules() {
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

/// Random programs of up to 80 tokens, every second one only of functions that often describe materials and shapes.
fn random_programs(readers: &Readers, n: u64) -> impl Iterator<Item = (Program, Vec<i32>)> {
    let says_much = |function: &&Function| {
        let is_held_out = function.attribute_type().is_none_or(|kind| kind == MATERIAL || kind == SHAPE);
        is_held_out && !matches!(function.signature().output, Type::Integer)
    };
    let much: Vec<Function> = Function::all().iter().filter(says_much).copied().collect();
    (0..n).filter_map(move |seed| {
        let functions = if seed % 2 == 0 { Function::all() } else { &much };
        let program = samples::random_program_of(functions, &readers.vocab, seed);
        let row = readers.tokens.encode(&program).ok().filter(|row| row.len() <= 82)?;
        Some((readers.tokens.decode(&row, 0).unwrap(), row))
    })
}

#[test]
fn generator_and_audit_agree_on_random_programs() {
    let readers = Readers::new();
    let (mut found, mut functions) = ([0; 4], BTreeMap::new());
    for (program, _) in random_programs(&readers, 120_000) {
        let (mentions, implies) = readers.read(&program);
        found[usize::from(mentions) + 2 * usize::from(implies)] += 1;
        for step in &program.steps {
            *functions.entry(step.function.number()).or_insert(0) += 1;
        }
    }
    // Few random programs imply the pair without mentioning it; those with offers below often do.
    assert!(found[0] > 100 && found[1] == 0 && found[2] > 0 && found[3] > 100, "{found:?}");
    assert!(functions.len() == Function::all().len() && functions.values().all(|&n| n > 10), "{functions:?}");
}

#[test]
fn generator_and_audit_give_random_programs_the_same_answers() {
    let readers = Readers::new();
    let answers = readers.vocab.answer_texts_of_sets();
    let audit = ProgramReader::new(&readers.vocab, readers.tokens.names(), &answers, &[]).unwrap();
    let mut n_answered = [0; 2];
    for ((program, row), seed) in random_programs(&readers, 20_000).zip(0..) {
        let scene = samples::random_scene(&readers.vocab, 4, seed);
        let answer = execute(&program, scene.view(), &readers.vocab);
        let number = answer.ok().map(|answer| i32::from(readers.vocab.answer_index(answer).unwrap()));
        let audited = audit.answer(&row[1..row.len() - 1], scene.view());
        assert_eq!(audited, number.unwrap_or(NO_ANSWER), "{program:?}");
        let scenes = [0, 1, 2].map(|i| samples::random_scene(&readers.vocab, 3, seed + i * 100_000));
        let set = SceneSet::new(scenes.iter().map(SceneGraph::view)).unwrap();
        let of_set = execute_on_set(&program, &set, &readers.vocab).ok();
        let number_of_set = of_set.map(|answer| i32::from(readers.vocab.answer_index(answer).unwrap()));
        let audited = audit.answer_on_set(&row[1..row.len() - 1], &scenes.each_ref().map(SceneGraph::view));
        assert_eq!(audited, number_of_set.unwrap_or(NO_ANSWER), "{program:?}");
        n_answered[0] += u32::from(number.is_some());
        n_answered[1] += u32::from(number_of_set.is_some());
    }
    assert!(n_answered.iter().all(|&n| n > 3_000), "{n_answered:?}");
}

#[test]
fn verifying_a_value_mentions_what_filtering_by_it_does() {
    let readers = Readers::new();
    let mut counts = [0; 2];
    for (program, _) in random_programs(&readers, 10_000) {
        // Asks in both ways whether the only member of a random program's set is a cylinder.
        let Some(unique) = program.steps.iter().rposition(|step| step.function == Function::Unique) else { continue };
        let set = program.steps[unique].inputs[0];
        let mentions = |functions: [(Function, u8); 2]| {
            let mut steps = program.steps[..=usize::from(set)].to_vec();
            for (function, argument) in functions {
                steps.push(Step { function, argument, inputs: [(steps.len() - 1) as u8, 0] });
            }
            readers.read(&Program { steps })
        };
        for shape in 0..2 {
            let verified = mentions([(Function::Unique, 0), (Function::Verify(SHAPE), shape)]);
            assert_eq!(verified, mentions([(Function::Filter(SHAPE), shape), (Function::Exist, 0)]), "{program:?}");
            counts[usize::from(verified.0)] += 1;
        }
    }
    assert!(counts.iter().all(|&n| n > 100), "{counts:?}");
}

/// The program with offers of values of one type after each `unique`: `values` has the values for each object.
fn with_offers(program: &Program, kinds: &[u8], values: &[Vec<u8>]) -> Program {
    let (mut steps, mut places) = (Vec::new(), Vec::new());
    let mut offers = kinds.iter().zip(values);
    for step in &program.steps {
        let inputs = step.inputs.map(|input| places.get(usize::from(input)).copied().unwrap_or(0));
        steps.push(Step { inputs, ..*step });
        if step.function == Function::Unique
            && let Some((&kind, values)) = offers.next()
        {
            for &argument in values {
                let inputs = [(steps.len() - 1) as u8, 0];
                steps.push(Step { function: Function::Offer(kind), argument, inputs });
            }
        }
        places.push((steps.len() - 1) as u8);
    }
    Program { steps }
}

/// All ways to keep one value or none of each object.
fn one_of_each(values: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let Some((first, rest)) = values.split_first() else { return vec![Vec::new()] };
    let kept = std::iter::once(Vec::new()).chain(first.iter().map(|&value| vec![value]));
    let rest = one_of_each(rest);
    kept.flat_map(|kept| rest.iter().map(move |rest| [std::slice::from_ref(&kept), rest].concat())).collect()
}

/// The values offered for an object are alternatives. An offer's effect adds them all to one description. Whatever is
/// held out, this asks for the same values as a separate description for each of them.
#[test]
fn offers_of_a_type_are_alternatives() {
    let readers = Readers::new();
    let key = StreamKey::new(&[b"offers"]);
    let (mut found, mut only_by_offers) = ([0; 4], 0);
    for ((program, _), index) in random_programs(&readers, 80_000).zip(0..) {
        let n_objects = program.steps.iter().filter(|step| step.function == Function::Unique).count();
        if !(1..=4).contains(&n_objects)
            || program.steps.iter().any(|step| step.function.to_string().starts_with("offer"))
        {
            continue;
        }
        let mut rng = key.at(index);
        let kinds: Vec<u8> = (0..n_objects).map(|_| rng.below(N_TYPES as u32) as u8).collect();
        let values: Vec<Vec<u8>> =
            (0..n_objects).map(|_| (0..rng.below(4)).map(|_| rng.below(2) as u8).collect()).collect();
        let offered = readers.read(&with_offers(&program, &kinds, &values));
        let mut alternatives = (false, false);
        for kept in one_of_each(&values) {
            let (mentions, implies) = readers.read(&with_offers(&program, &kinds, &kept));
            alternatives = (alternatives.0 | mentions, alternatives.1 | implies);
        }
        assert_eq!(offered, alternatives, "{program:?} {kinds:?} {values:?}");
        found[usize::from(offered.0) + 2 * usize::from(offered.1)] += 1;
        only_by_offers += u32::from(offered.0 && !readers.read(&program).0);
    }
    assert!([0, 2, 3].iter().all(|&i| found[i] > 30) && only_by_offers > 100, "{found:?} {only_by_offers}");
}

/// Random programs of CLEVR's own functions are read as they were before suites had functions of their own.
#[test]
fn programs_of_clevrs_own_functions_are_read_as_ever() {
    let vocab = samples::vocabulary();
    let of_clevr = |function: &&Function| match function.origin() {
        Origin::ClevrQuestions | Origin::ClevrEngine => true,
        Origin::Suites | Origin::Covr | Origin::OwnTemplates | Origin::Tests => false,
    };
    let functions: Vec<Function> = Function::all().iter().filter(of_clevr).copied().collect();
    let pairs = [["rubber", "cylinder"], ["red", "cube"], ["small", "metal"]];
    let pairs = pairs.map(|pair| Holdout::new(&vocab, &pair).unwrap());
    let (mut mentioned, mut implied, mut answered) = ([0; 3], [0; 3], 0);
    let mut digest = blake3::Hasher::new();
    for seed in 0..10_000 {
        let program = samples::random_program_of(&functions, &vocab, seed);
        for (i, pair) in pairs.iter().enumerate() {
            let (mentions, implies) = (pair.is_mentioned_in(&program), pair.is_implied_in(&program));
            mentioned[i] += u32::from(mentions);
            implied[i] += u32::from(implies);
            digest.update(&[u8::from(mentions), u8::from(implies)]);
        }
        let answer = execute(&program, samples::random_scene(&vocab, 4, seed).view(), &vocab);
        let number = answer.ok().and_then(|answer| vocab.answer_index(answer));
        answered += u32::from(number.is_some());
        digest.update(&number.unwrap_or(u16::MAX).to_le_bytes());
    }
    assert_eq!((mentioned, implied, answered), ([1_880, 1_874, 2_486], [1_886, 1_879, 2_492], 6_117));
    assert_eq!(&digest.finalize().to_hex()[..16], "07f3dda66c2ecadb");
}
