//! Originals of suites that are searched for: true pairs, full cells, balanced answers, plausible conjunctions.

use crate::suites::{CASE, OOD, by_test, pair};
use clevrhope_core::program::execute;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::tokenize;
use clevrhope_core::suite::{Pair, Relation};
use clevrhope_core::vocab::Answer;
use std::collections::{BTreeMap, BTreeSet};

/// The image's number and the two programs, sorted, of a pair that was searched for.
fn asked(pair: &Pair) -> (usize, [&clevrhope_core::Program; 2]) {
    let found = pair.found.as_ref().unwrap();
    let mut both = [&found.0.program, &pair.program];
    both.sort_by_key(|program| format!("{program:?}"));
    (found.1, both)
}

#[test]
fn searched_pairs_are_true_and_fill_their_cells() {
    const PER_CELL: u32 = 12;
    for (case, rule) in [(&*CASE, QuestionRule::Without), (&*OOD, QuestionRule::Any)] {
        let holdout = pair(&case.vocab);
        let known: BTreeSet<(u64, String)> =
            case.questions.iter().map(|each| (each.scene, format!("{:?}", each.program))).collect();
        for name in ["carets", "rad"] {
            let suite = case.suite(name);
            let made = case.search(&suite, rule, PER_CELL);
            let mut seen = BTreeSet::new();
            for pair in &made.pairs {
                let (original, image) = &**pair.found.as_ref().unwrap();
                let scene = case.graphs[*image].view();
                assert_eq!(
                    execute(&original.program, scene, &case.vocab),
                    Ok(original.answer),
                    "{}",
                    pair.original_text
                );
                assert_eq!(execute(&pair.program, scene, &case.vocab), Ok(pair.answer), "{}", pair.text);
                assert_eq!(pair.relation.partner(original.answer), Some(pair.answer), "{}", pair.text);
                assert_ne!(pair.text, pair.original_text);
                assert_eq!(pair.touches.by_original, holdout.is_mentioned_in(&original.program));
                assert_eq!(pair.touches.by_partner, holdout.is_mentioned_in(&pair.program));
                assert!(!known.contains(&(*image as u64, format!("{:?}", original.program))), "{}", pair.original_text);
                let is_new = seen.insert((pair.test, format!("{:?}", asked(pair))));
                assert!(is_new, "{} {}", suite.tests[usize::from(pair.test)].name, pair.original_text);
            }
            for result in &made.searches {
                let test = &suite.tests[usize::from(result.test)];
                let mine = || made.pairs.iter().filter(|pair| pair.test == result.test);
                for cell in 0..4 {
                    let n = mine().filter(|pair| pair.cell() == cell).count() as u32;
                    assert!(n <= PER_CELL && (result.is_possible[cell] || n == 0), "{} {cell}: {n}", test.name);
                    assert_eq!(result.lacks[cell], if result.is_possible[cell] { PER_CELL - n } else { 0 });
                    // Few images suffice to fill all cells.
                    assert_eq!(result.lacks[cell], 0, "{} {cell}", test.name);
                }
                let is_strict = rule == QuestionRule::Without;
                assert!(!is_strict || result.is_possible == [true, false, false, false], "{}", test.name);
            }
        }
    }
}

/// The pairs of each original that was searched for, by the place of its image and its program.
fn by_original<'a>(pairs: &[&'a Pair]) -> BTreeMap<(usize, String), Vec<&'a Pair>> {
    let mut found: BTreeMap<(usize, String), Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        let (original, image) = &**pair.found.as_ref().unwrap();
        found.entry((*image, format!("{:?}", original.program))).or_default().push(pair);
    }
    found
}

#[test]
fn crossings_are_found_with_their_controls_and_groups_are_whole() {
    const PER_CELL: u32 = 6;
    let suite = OOD.suite("holdout");
    let made = OOD.search(&suite, QuestionRule::Any, PER_CELL);
    let tests = by_test(&suite, &made.pairs);
    assert!(made.searches.iter().all(|search| search.lacks == [0; 4]), "all cells are full");
    assert!(made.pairs.is_sorted_by_key(|pair| pair.test));
    for form in ["", "verify_"] {
        let crossings = by_original(&tests[&*format!("crossing_{form}shape")]);
        let controls = by_original(&tests[&*format!("control_{form}shape")]);
        assert_eq!(crossings.len(), 2 * PER_CELL as usize);
        assert!(crossings.keys().eq(controls.keys()));
        for (original, pairs) in &crossings {
            let ([crossing], [control]) = (&pairs[..], &controls[original][..]) else { panic!("{original:?}") };
            assert_eq!([crossing.answer, control.answer], [Answer::Bool(false); 2]);
            assert!(crossing.touches.by_partner && crossing.original_text == control.original_text);
            assert!(crossing.text.contains("cylinder") && !crossing.touches.by_answer);
            assert_eq!(control.touches.by_partner, control.touches.by_original, "{}", control.text);
        }
        assert_eq!(tests[&*format!("crossing_{form}material")].len(), 2 * PER_CELL as usize);
        assert!(!tests.contains_key(&*format!("control_{form}material")), "there is no third material");
        for (kind, n) in [("color", 8), ("shape", 3), ("material", 2)] {
            for pairs in by_original(&tests[&*format!("values_{form}{kind}")]).values() {
                let texts: BTreeSet<&str> = pairs.iter().map(|pair| &*pair.text).collect();
                let n_yes = pairs.iter().filter(|pair| pair.answer == Answer::Bool(true)).count();
                assert_eq!((pairs.len(), texts.len(), n_yes), (n, n, 1), "{texts:?}");
            }
        }
    }
    // If questions may not mention the pair, only groups have pairs.
    let made = CASE.search(&suite, QuestionRule::Without, PER_CELL);
    for search in &made.searches {
        let name = &suite.tests[usize::from(search.test)].name;
        assert_eq!(search.is_possible, [name.starts_with("values_"), false, false, false], "{name}");
        assert_eq!(search.lacks, [0; 4], "{name}");
    }
}

#[test]
fn cells_that_a_test_cannot_have_are_known() {
    let suite = OOD.suite("carets");
    let made = OOD.search(&suite, QuestionRule::Any, 1);
    let possible: BTreeMap<&str, [bool; 4]> =
        made.searches.iter().map(|each| (&*suite.tests[usize::from(each.test)].name, each.is_possible)).collect();
    let ends = [true, false, false, true];
    for name in ["rephrase", "order", "converse", "negation", "negation_and", "extension_size", "antonym_verify_color"]
    {
        assert_eq!(possible[name], ends, "{name}");
    }
    for name in ["ontology", "extension_material", "antonym_material", "antonym_verify_shape"] {
        assert_eq!(possible[name], [true; 4], "{name}");
    }
    // A choice may name the answer that completes the pair.
    assert_eq!(possible["choice_shape"], [true, true, false, true]);
    let suite = OOD.suite("rad");
    let made = OOD.search(&suite, QuestionRule::Any, 2);
    let possible = made.searches.iter().map(|each| (&*suite.tests[usize::from(each.test)].name, each.is_possible));
    for (name, possible) in possible {
        let completes = name.ends_with("_shape") || name.ends_with("_material");
        assert_eq!(possible, [true, completes, false, true], "{name}");
    }
}

#[test]
fn searched_answers_and_values_are_balanced() {
    for name in ["carets", "rad"] {
        let suite = OOD.suite(name);
        let made = OOD.search(&suite, QuestionRule::Any, 24);
        for (test, pairs) in by_test(&suite, &made.pairs) {
            let mut asked: BTreeMap<String, [u32; 2]> = BTreeMap::new();
            for pair in &pairs {
                if let Relation::Is(value) = pair.relation {
                    let cell = pair.cell();
                    asked.entry(format!("{cell} {value:?}")).or_default()
                        [usize::from(pair.answer == Answer::Bool(true))] += 1;
                }
            }
            assert!(asked.values().all(|[no, yes]| no == yes), "{test}: {asked:?}");
            // Neither does the value that both questions ask about, or the two values, tell the answer.
            let mut verified: BTreeMap<(usize, u8), [u32; 2]> = BTreeMap::new();
            for pair in pairs.iter().filter(|_| test.contains("_verify_")) {
                let (original, _) = pair.found.as_deref().unwrap();
                for (program, answer) in [(&original.program, original.answer), (&pair.program, pair.answer)] {
                    let value = program.steps.last().unwrap().argument;
                    verified.entry((pair.cell(), value)).or_default()[usize::from(answer == Answer::Bool(true))] += 1;
                }
            }
            assert_eq!(verified.is_empty(), !test.contains("_verify_"));
            assert!(verified.values().all(|[no, yes]| no == yes), "{test}: {verified:?}");
            // Half of the yes/no questions are answered yes.
            if ["rephrase_and", "rephrase_or", "order_and", "rephrase_verify_color", "rephrase_relation"]
                .contains(&test)
            {
                let yes = pairs.iter().filter(|pair| pair.answer == Answer::Bool(true)).count();
                assert!(yes.abs_diff(pairs.len() - yes) <= 6, "{test}: {yes} of {}", pairs.len());
            }
        }
    }
}

#[test]
fn conjunctions_are_plausible_and_choices_name_the_answer_once() {
    let suite = CASE.suite("carets");
    let made = CASE.search(&suite, QuestionRule::Without, 40);
    let tests = by_test(&suite, &made.pairs);
    let text = |program: &clevrhope_core::Program| {
        let step = |step: &clevrhope_core::program::Step| format!("{}[{}]", step.function, step.argument);
        program.steps.iter().map(step).collect::<Vec<_>>()
    };
    for name in ["rephrase_and", "order_or", "negation_and"] {
        for pair in &tests[name] {
            let (original, image) = &**pair.found.as_ref().unwrap();
            let steps = text(&original.program);
            let ends: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].starts_with("exist")).collect();
            let (a, b) = (&steps[1..ends[0]], &steps[ends[0] + 2..ends[1]]);
            assert!(!a.iter().all(|value| b.contains(value)) && !b.iter().all(|value| a.contains(value)), "{steps:?}");
            let scene = CASE.graphs[*image].view();
            for step in &original.program.steps {
                if let clevrhope_core::program::Function::Filter(kind) = step.function {
                    let row = CASE.vocab.value_row(usize::from(kind), usize::from(step.argument));
                    assert_ne!(scene.members[row], 0, "{}", pair.original_text);
                }
            }
        }
    }
    let mut places = [0; 3];
    for pair in &tests["order_choice3_color"] {
        let original = &pair.found.as_ref().unwrap().0;
        let offered: Vec<u8> = original
            .program
            .steps
            .iter()
            .filter(|step| matches!(step.function, clevrhope_core::program::Function::Offer(_)))
            .map(|step| step.argument)
            .collect();
        assert_eq!(offered.iter().collect::<BTreeSet<_>>().len(), 3);
        let Answer::Value(_, answer) = original.answer else { panic!("{:?}", original.answer) };
        places[offered.iter().position(|&value| value == answer).unwrap()] += 1;
        assert_ne!(original.program, pair.program);
    }
    assert!(places.iter().all(|&n| n > 3), "{places:?}");
    let said =
        |name: &str| tests[name].iter().flat_map(|pair| [&pair.text, &pair.original_text]).cloned().collect::<Vec<_>>();
    for text in said("rephrase_verify_material") {
        assert!(tokenize(&text).iter().rev().all(|word| *word != "metallic") || text.contains("metallic "), "{text}");
        assert!(!text.contains("of matte") && !text.contains("of shiny"), "{text}");
    }
}

#[test]
fn a_search_is_the_same_on_one_thread_and_on_many() {
    let suite = OOD.suite("carets");
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| OOD.search(&suite, QuestionRule::Any, 5)).pairs
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn faults_in_originals_are_named() {
    const FAMILY: &str = r#"{"text": ["Is it so?", "Is the <C> <S> <V>?"], "nodes": [{"type": "scene", "inputs": []},
        {"type": "filter_unique", "inputs": [0], "side_inputs": ["<Z>", "<C>", "<M>", "<S>"]},
        {"type": "verify_color", "inputs": [1], "side_inputs": ["<V>"]}], "params": [{"type": "Size", "name": "<Z>"},
        {"type": "Color", "name": "<C>"}, {"type": "Material", "name": "<M>"}, {"type": "Shape", "name": "<S>"},
        {"type": "Color", "name": "<V>"}]}"#;
    let fault = |family: &str, entry: &str| {
        let entry = format!(r#"[{{"test": "t", "tier": "beyond", "relation": "same", {entry}}}]"#);
        let files =
            [("mine".to_owned(), entry.into_bytes()), ("originals".to_owned(), format!("[{family}]").into_bytes())];
        CASE.suite_of(&files).unwrap_err().to_string()
    };
    let said = fault(FAMILY, r#""source": ["originals 1"]"#);
    assert!(
        said.starts_with("mine.json[0]: source: unknown family \"originals 1\"; originals has the families 0 to 0"),
        "{said}"
    );
    let said = fault(FAMILY, r#""source": ["originals 0"], "when": {"offered": ["<V>"]}"#);
    assert!(said.starts_with("mine.json[0].when: offered: \"<V>\" is not of the answers' type, "), "{said}");
    let said = fault(FAMILY, r#""source": ["originals 0"], "when": {"apart": [0, 1]}"#);
    assert!(said.ends_with("node 0 is not a filter"), "{said}");
    let entry = r#"[{"test": "t", "tier": "in", "relation": "same", "source": ["originals"]}]"#;
    let files = [("mine", entry.to_owned()), ("originals", format!("[{FAMILY}]"))];
    let said = CASE.suite_of(&files.map(|(name, text)| (name.to_owned(), text.into_bytes()))).unwrap_err().to_string();
    assert!(said.starts_with("mine.json[0]: source: \"so\" is not a word of the dataset's questions"), "{said}");
    let said = fault(&FAMILY.replace("verify_color", "verify_colour"), r#""source": ["originals 0"]"#);
    assert!(said.starts_with("originals.json[0].nodes[2]: unknown function \"verify_colour\""), "{said}");
    let said = fault(
        &FAMILY.replace(r#""Color", "name": "<V>""#, r#""Color", "name": "<V>", "words": "noun""#),
        r#""source": ["originals 0"]"#,
    );
    assert!(said.ends_with("unknown value \"noun\"; known: name"), "{said}");
}
