//! The project's suites of paired tests on its own questions: every pair is executed, worded and balanced.

use crate::world::{Templates, own_folder, project_world};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::{Function, ProgramVocabulary, execute};
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::reading::QuestionReader;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::{QuestionVocabulary, tokenize};
use clevrhope_core::rng::StreamKey;
use clevrhope_core::scene::{Pool, World};
use clevrhope_core::suite::{
    Augmentation, KnownQuestions, Original, OriginalReader, Pair, PairMaker, Pairs, Relation, SearchTask, Skip, Suite,
    SuiteError, TestSearch, Tier,
};
use clevrhope_core::vocab::Answer;
use clevrhope_core::{Program, SceneGraph, Vocabulary};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// The scenes and questions of a pool, with their templates and vocabulary.
pub struct Case {
    pub vocab: Vocabulary,
    templates: Templates,
    words: Vec<String>,
    programs: ProgramVocabulary,
    pub graphs: Vec<SceneGraph>,
    pub questions: Vec<Question>,
}

const N_SCENES: u64 = 1_500;

pub static CASE: LazyLock<Case> = LazyLock::new(|| Case::new(QuestionRule::Without));
pub static OOD: LazyLock<Case> = LazyLock::new(|| Case::new(QuestionRule::With));

pub fn pair(vocab: &Vocabulary) -> Holdout {
    Holdout::new(vocab, &["rubber", "cylinder"]).unwrap()
}

impl Case {
    fn new(rule: QuestionRule) -> Self {
        Self::of(&project_world(), rule)
    }

    pub fn of(world: &World, rule: QuestionRule) -> Self {
        let vocab = world.vocab().clone();
        let holdout = pair(&vocab);
        let scenes = Pool::new(world, 5, "test_iid").scenes(0..N_SCENES).unwrap();
        let holds = |graph: &SceneGraph| holdout.members(&vocab, graph.view()) != 0;
        let is_wanted = |graph: &SceneGraph| match rule {
            QuestionRule::With => holds(graph),
            QuestionRule::Any => true,
            QuestionRule::Without | QuestionRule::Unimplied => !holds(graph),
        };
        let graphs: Vec<SceneGraph> = scenes.iter().map(|scene| scene.graph(&vocab)).filter(is_wanted).collect();
        let templates = Templates::own(&vocab);
        let plans = templates.set.plans(&vocab);
        let views: Vec<_> = graphs.iter().enumerate().map(|(i, graph)| (i as u64, graph.view())).collect();
        let questions =
            QuestionGenerator::new(&vocab, &templates.set, &plans, rule, Some(&holdout), 1, 9).generate(&views);
        let special = ["<NULL>", "<START>", "<END>", "<UNK>"].map(str::to_owned);
        let words = [&special[..], &templates.set.words()].concat();
        let programs = ProgramVocabulary::new(&vocab);
        Self { vocab, templates, words, programs, graphs, questions }
    }

    fn originals(&self) -> Vec<Original> {
        let answers: Vec<String> = self.vocab.answer_texts();
        let reader = OriginalReader::new(&self.templates.set, &self.vocab, &self.programs, &self.words, &answers);
        let words = QuestionVocabulary::new(self.words.iter().map(String::as_str)).unwrap();
        let mut buffer = Default::default();
        let read = |(row, question): (usize, &Question)| {
            let mut tokens = vec![0; 60];
            words.encode_into(&question.text, &mut tokens).unwrap();
            let program = self.programs.encode(&question.program).unwrap();
            let answer = self.vocab.answer_index(question.answer).unwrap();
            reader.read(row, &tokens, &program, i32::from(question.family), i32::from(answer), &mut buffer).unwrap()
        };
        self.questions.iter().enumerate().map(read).collect()
    }

    pub fn pairs_of(&self, suite: &Suite, rule: QuestionRule, key: &str) -> Result<Pairs, SuiteError> {
        let holdout = pair(&self.vocab);
        let maker = PairMaker::new(suite, &self.vocab, rule, Some(&holdout), StreamKey::new(&[key.as_bytes()]));
        let view = |original: Original| {
            let scene = self.graphs[self.questions[original.row].scene as usize].view();
            (original, scene)
        };
        maker.make(&self.originals().into_iter().map(view).collect::<Vec<_>>())
    }

    /// The pairs from a search for originals of every test.
    pub fn search(&self, suite: &Suite, rule: QuestionRule, per_cell: u32) -> Pairs {
        let holdout = pair(&self.vocab);
        let maker = PairMaker::new(suite, &self.vocab, rule, Some(&holdout), StreamKey::new(&[b"search"]));
        let images: Vec<_> = self.graphs[..150].iter().zip(0..).map(|(graph, i)| (i, graph.view())).collect();
        let plans = suite.plans(&self.vocab);
        let task = SearchTask { images: &images, plans: &plans, per_cell, of_dataset: true };
        let originals = self.originals();
        let known = KnownQuestions::new(originals.iter().map(|each| (each, self.questions[each.row].scene)));
        let mut all = Pairs::default();
        let search = |test: u16| {
            let mut search = TestSearch::new(&maker, task, &known, test, &all);
            while search.step(&mut all).unwrap() {}
            search
        };
        let searches: Vec<_> = (0..suite.tests.len() as u16).map(search).collect();
        all.searches = searches.iter().map(|search| search.result(&all)).collect();
        all.sort();
        all
    }

    pub fn suite(&self, name: &str) -> Suite {
        let subjects = std::fs::read(own_folder().join(format!("suites/{name}/subjects.json"))).unwrap();
        let subjects = serde_json::from_slice(&subjects).unwrap();
        let files = files(&format!("suites/{name}"), &["subjects"]);
        let templates = files_of_templates();
        Suite::new(name, &files, &subjects, &self.templates.set, &templates, &self.vocab).unwrap()
    }

    pub fn suite_of(&self, files: &[(String, Vec<u8>)]) -> Result<Suite, SuiteError> {
        let templates = files_of_templates();
        Suite::new("test", files, &BTreeMap::new(), &self.templates.set, &templates, &self.vocab)
    }

    fn of_entries(&self, entries: &str) -> Result<Suite, SuiteError> {
        self.suite_of(&[("mine".to_owned(), entries.as_bytes().to_vec())])
    }
}

fn files(folder: &str, but: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(own_folder().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .filter(|(name, _)| !but.contains(&name.as_str()))
        .collect();
    files.sort();
    files
}

fn files_of_templates() -> Vec<(String, Vec<u8>)> {
    files("", &["families", "synonyms", "covr", "nonce"])
}

pub fn by_test<'a>(suite: &'a Suite, pairs: &'a [Pair]) -> BTreeMap<&'a str, Vec<&'a Pair>> {
    let mut tests: BTreeMap<&str, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        tests.entry(&suite.tests[usize::from(pair.test)].name).or_default().push(pair);
    }
    tests
}

#[test]
fn every_pair_is_true_and_in_the_words_of_the_dataset() {
    for name in ["carets", "rad"] {
        let suite = CASE.suite(name);
        let made = CASE.pairs_of(&suite, QuestionRule::Without, name).unwrap();
        let holdout = pair(&CASE.vocab);
        let tests = by_test(&suite, &made.pairs);
        // The tests of questions that no dataset has, whose originals are searched for, come last.
        let n_own = suite.tests.iter().rev().take_while(|test| !tests.contains_key(test.name.as_str())).count();
        assert_eq!(tests.len() + n_own, suite.tests.len(), "{:?}", tests.keys());
        assert_eq!(n_own, if name == "carets" { 29 } else { 0 });
        for pair in &made.pairs {
            let original = &CASE.questions[pair.original];
            let scene = CASE.graphs[original.scene as usize].view();
            assert_eq!(pair.original_text, original.text);
            assert_ne!(pair.text, original.text);
            assert_eq!(execute(&pair.program, scene, &CASE.vocab), Ok(pair.answer), "{}", pair.text);
            assert_eq!(pair.relation.partner(original.answer), Some(pair.answer), "{}", pair.text);
            assert!(!holdout.is_mentioned_in(&pair.program), "{}", pair.text);
            let knows_all = tokenize(&pair.text).iter().all(|word| CASE.words.iter().any(|known| known == word));
            let is_in = suite.tests[usize::from(pair.test)].tier == Tier::In;
            assert!(knows_all || !is_in, "{}", pair.text);
            assert!(!is_in || CASE.programs.encode(&pair.program).is_ok(), "{}", pair.text);
        }
    }
}

#[test]
fn the_words_of_a_split_that_holds_a_pair_out_stay_so_and_others_may_name_it() {
    let suite = OOD.suite("carets");
    let any = OOD.pairs_of(&suite, QuestionRule::Any, "ood").unwrap();
    let touches: BTreeSet<(bool, bool)> =
        any.pairs.iter().map(|pair| (pair.touches.by_original, pair.touches.by_partner)).collect();
    // The original always names the pair; without its shape or material, the partner does not.
    assert_eq!(touches, BTreeSet::from([(true, false), (true, true)]));
    assert!(any.pairs.iter().all(|pair| pair.touches.in_image));
    // An answer completes the pair for the object that is asked about, whatever the question says of others.
    assert!(any.pairs.iter().any(|pair| pair.touches.by_answer));
    let strict = OOD.pairs_of(&suite, QuestionRule::Without, "ood").unwrap();
    assert!(strict.pairs.iter().all(|pair| !pair.touches.by_partner));
    assert!(strict.skipped.iter().any(|((_, skip), n)| *skip == Skip::Rule && *n > 1_000));
}

#[test]
fn answers_that_complete_the_pair_are_known() {
    let suite = OOD.suite("rad");
    let every = Case::new(QuestionRule::Any);
    let pairs = every.pairs_of(&suite, QuestionRule::Any, "any").unwrap().pairs;
    let asks = |pair: &&Pair| pair.touches.by_answer;
    assert!(pairs.iter().filter(asks).count() > 5);
    for pair in pairs.iter().filter(asks) {
        assert!(
            ["rubber", "matte", "cylinder", "material", "shape"].iter().any(|word| pair.original_text.contains(word))
        );
        assert!(pair.touches.in_image, "{}", pair.original_text);
        // If the partner asks for the answer (yes), the answer makes it mention the pair.
        assert!(pair.touches.by_partner || pair.answer != Answer::Bool(true) || pair.relation == Relation::Positive);
    }
}

#[test]
fn yes_is_half_of_the_answers_and_no_value_is_asked_for_with_yes_alone() {
    let suite = CASE.suite("rad");
    let made = CASE.pairs_of(&suite, QuestionRule::Without, "rad").unwrap();
    let mut counts: BTreeMap<(u16, String), [u32; 2]> = BTreeMap::new();
    for pair in &made.pairs {
        let Answer::Bool(truth) = pair.answer else { continue };
        let value = match pair.relation {
            Relation::Is(value) => CASE.vocab.answer_text(value),
            Relation::Positive => "above 0".to_owned(),
            _ => continue,
        };
        counts.entry((pair.test, value)).or_default()[usize::from(truth)] += 1;
    }
    assert!(counts.iter().any(|((_, value), [no, _])| value == "above 0" && *no > 20), "{counts:?}");
    // Sizes, colors, materials and shapes are asked for in two ways; and numbers if they occur often enough.
    assert!(counts.len() > 2 * (2 + 8 + 2 + 3) + 4, "{counts:?}");
    assert!(counts.values().all(|[no, yes]| no == yes), "{counts:?}");
}

#[test]
fn the_phrasing_of_a_choice_does_not_tell_which_value_is_wrong() {
    let suite = CASE.suite("carets");
    let made = CASE.pairs_of(&suite, QuestionRule::Without, "choices").unwrap();
    let reader = QuestionReader::new(&suite.templates);
    for (name, most) in [("choice_color", 0.4), ("choice_shape", 0.85)] {
        // By phrasing, the frequency of each value other than the answer as the foil.
        let mut ranks: BTreeMap<u8, [u32; 16]> = BTreeMap::new();
        for pair in &by_test(&suite, &made.pairs)[name] {
            let Answer::Value(kind, answer) = pair.answer else { panic!("{}", pair.text) };
            let foil = pair.program.steps.iter().find_map(|step| {
                (step.function == Function::Offer(kind) && step.argument != answer).then_some(step.argument)
            });
            let rank = foil.map(|foil| foil - u8::from(foil > answer)).unwrap();
            let read = reader.read(pair.family.into(), &tokenize(&pair.text), &mut Default::default());
            ranks.entry(read[0].phrasing).or_default()[usize::from(rank)] += 1;
        }
        assert!(ranks.len() >= 8, "{ranks:?}");
        for counts in ranks.values() {
            let n: u32 = counts.iter().sum();
            assert!(n >= 20 && f64::from(*counts.iter().max().unwrap()) < most * f64::from(n), "{name}: {ranks:?}");
        }
    }
}

#[test]
fn pairs_depend_on_key_and_row_alone() {
    let suite = CASE.suite("carets");
    let one = CASE.pairs_of(&suite, QuestionRule::Without, "a").unwrap().pairs;
    let two = CASE.pairs_of(&suite, QuestionRule::Without, "a").unwrap().pairs;
    let other = CASE.pairs_of(&suite, QuestionRule::Without, "b").unwrap().pairs;
    assert_eq!(one, two);
    assert_ne!(one, other);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(alone.install(|| CASE.pairs_of(&suite, QuestionRule::Without, "a").unwrap().pairs), one);
}

/// The pairs of `holdout` on questions that mention the held-out pair, by test.
fn across_the_border() -> (Suite, Vec<Pair>) {
    let suite = OOD.suite("holdout");
    let pairs = OOD.pairs_of(&suite, QuestionRule::Any, "holdout").unwrap().pairs;
    (suite, pairs)
}

#[test]
fn crossings_complete_the_pair_and_their_controls_do_not() {
    let (suite, pairs) = across_the_border();
    let tests = by_test(&suite, &pairs);
    for form in ["", "verify_"] {
        let crossings: BTreeMap<usize, &Pair> =
            tests[format!("crossing_{form}shape").as_str()].iter().map(|pair| (pair.original, *pair)).collect();
        let controls = &tests[format!("control_{form}shape").as_str()];
        assert!(controls.len() > 10);
        // Of the three shapes, one is the answer and one is held out, so the control is the third.
        assert_eq!(controls.len(), crossings.len());
        for control in controls {
            let crossing = crossings[&control.original];
            assert!(crossing.touches.by_partner && !crossing.touches.by_answer);
            assert_eq!([crossing.answer, control.answer], [Answer::Bool(false); 2]);
            // Questions say "other" for things that could be the one with which they are compared.
            let words = |pair: &Pair| {
                let words = pair.text.split(' ').filter(|word| *word != "other");
                words.map(str::to_owned).collect::<Vec<_>>()
            };
            let (one, other) = (words(crossing), words(control));
            let n_other = one.iter().zip(&other).filter(|(a, b)| a != b).count();
            assert!(one.len() == other.len() && (1..=2).contains(&n_other), "{one:?} {other:?}");
            assert!(crossing.text.contains("cylinder") && crossing.original_text != crossing.text);
        }
    }
    assert!(!tests["crossing_material"].is_empty(), "a type of two values has crossings");
    for none in ["control_material", "crossing_color", "control_size"] {
        assert!(!tests.contains_key(none), "{none}");
    }
    let iid = CASE.pairs_of(&CASE.suite("holdout"), QuestionRule::Without, "holdout").unwrap().pairs;
    let names: BTreeSet<&str> = iid.iter().map(|pair| suite.tests[usize::from(pair.test)].name.as_str()).collect();
    assert!(names.iter().all(|name| name.starts_with("values_")), "{names:?}");
    assert_eq!(names.len(), 8);
}

#[test]
fn pairs_across_the_border_begin_at_what_is_held_out() {
    let (suite, pairs) = across_the_border();
    let tests = by_test(&suite, &pairs);
    for test in ["border_material", "border_shape", "entailment_material", "entailment_shape"] {
        assert!(tests[test].len() > 20, "{test}");
        for pair in &tests[test] {
            assert!(pair.touches.by_original && !pair.touches.by_partner && !pair.is_swapped, "{}", pair.text);
            let is_yes = pair.answer == Answer::Bool(true);
            assert!(is_yes || test.starts_with("border"), "{} {}", pair.original_text, pair.text);
        }
    }
    assert!(tests["border_shape"].iter().all(|pair| pair.answer == Answer::Bool(false)));
}

#[test]
fn groups_ask_for_every_value_in_the_same_words() {
    let (suite, pairs) = across_the_border();
    for (test, pairs) in by_test(&suite, &pairs) {
        let mut groups: BTreeMap<usize, Vec<&Pair>> = BTreeMap::new();
        for pair in pairs {
            groups.entry(pair.original).or_default().push(pair);
        }
        let n = match test.rsplit('_').next() {
            _ if !test.starts_with("values_") => 1,
            Some("color") => 8,
            Some("shape") => 3,
            _ => 2,
        };
        for group in groups.values() {
            assert_eq!(group.len(), n, "{test}");
            let texts: BTreeSet<&str> = group.iter().map(|pair| pair.text.as_str()).collect();
            assert_eq!(texts.len(), n);
            if n > 1 {
                assert_eq!(group.iter().filter(|pair| pair.answer == Answer::Bool(true)).count(), 1, "{test}");
                let asked: BTreeSet<String> = group.iter().map(|pair| format!("{:?}", pair.relation)).collect();
                assert_eq!(asked.len(), n);
            }
        }
    }
}

/// No search for originals, for each test.
fn without_search<'a>(suite: &Suite) -> Vec<Option<TestSearch<'a>>> {
    suite.tests.iter().map(|_| None).collect()
}

#[test]
fn what_is_added_to_a_train_set_depends_on_the_questions_before_it() {
    let suite = CASE.suite("rad");
    let holdout = pair(&CASE.vocab);
    let key = StreamKey::new(&[b"train"]);
    let maker = PairMaker::new(&suite, &CASE.vocab, QuestionRule::Without, Some(&holdout), key);
    let originals: Vec<_> = CASE
        .originals()
        .into_iter()
        .map(|original| {
            let scene = CASE.graphs[CASE.questions[original.row].scene as usize].view();
            (original, scene)
        })
        .collect();
    let added = |n: usize| {
        let originals = &originals[..n];
        let texts = maker.texts(originals);
        let mut added = Augmentation::new(&maker, originals, &texts, 10, without_search(&suite));
        for _ in 0..added.n_blocks() {
            added.add(0).unwrap();
        }
        added.pairs
    };
    let (few, many) = (added(505), added(2_000));
    assert_eq!((few.len(), many.len()), (50, 200));
    assert_eq!(few, many[..50]);
    assert!(many.iter().enumerate().all(|(k, pair)| pair.original < 10 * (k + 1) && !pair.touches.by_partner));
    let counts: Vec<usize> = by_test(&suite, &many).values().map(Vec::len).collect();
    assert_eq!((counts.len(), counts.iter().min(), counts.iter().max()), (10, Some(&20), Some(&20)));
}

/// The number of values that a question filters by.
fn n_values(program: &Program) -> usize {
    program.steps.iter().filter(|step| matches!(step.function, Function::Filter(_))).count()
}

/// Whether partners leave a value out or add one, and keep the answer.
fn is_of_steps(test: &str) -> bool {
    test == "ontology" || test.starts_with("extension_")
}

#[test]
fn a_general_question_is_answered_no_more_often_than_a_specific_one() {
    let suite = CASE.suite("carets");
    let made = CASE.pairs_of(&suite, QuestionRule::Without, "steps").unwrap();
    // By whether the question that is called the original is the specific one, the pairs answered no and yes.
    let mut counts = [[0u32; 2]; 2];
    let mut kinds: BTreeMap<(bool, bool), u32> = BTreeMap::new();
    for pair in made.pairs.iter().filter(|pair| is_of_steps(&suite.tests[usize::from(pair.test)].name)) {
        let original = n_values(&CASE.questions[pair.original].program);
        assert_eq!(original.abs_diff(n_values(&pair.program)), 1, "{}", pair.text);
        let (is_specific, is_yes) = (original > n_values(&pair.program), pair.answer == Answer::Bool(true));
        counts[usize::from(is_specific != pair.is_swapped)][usize::from(is_yes)] += 1;
        *kinds.entry((is_specific, is_yes)).or_default() += 1;
    }
    // The question of the dataset is general or specific, with yes or no.
    assert!(kinds.len() == 4 && kinds.values().all(|&n| n > 5), "{kinds:?}");
    let shares = counts.map(|[no, yes]| f64::from(yes) / f64::from(no + yes));
    assert!((shares[0] - shares[1]).abs() < 0.2, "{counts:?}");
}

#[test]
fn the_form_of_an_added_question_does_not_give_its_answer_away() {
    let suite = CASE.suite("carets");
    let holdout = pair(&CASE.vocab);
    let key = StreamKey::new(&[b"added"]);
    let maker = PairMaker::new(&suite, &CASE.vocab, QuestionRule::Without, Some(&holdout), key);
    let view = |each: Original| (each.clone(), CASE.graphs[CASE.questions[each.row].scene as usize].view());
    let originals: Vec<_> = CASE.originals().into_iter().map(view).collect();
    let texts = maker.texts(&originals);
    let mut added = Augmentation::new(&maker, &originals, &texts, 10, without_search(&suite));
    for _ in 0..added.n_blocks() {
        added.add(0).unwrap();
    }
    let mut n = 0;
    for (name, pairs) in by_test(&suite, &added.pairs) {
        let mut kinds: BTreeMap<(bool, bool), u32> = BTreeMap::new();
        for pair in &pairs {
            let is_specific = n_values(&pair.program) > n_values(&CASE.questions[pair.original].program);
            *kinds.entry((is_specific, pair.answer == Answer::Bool(true))).or_default() += 1;
        }
        let (least, most) = (kinds.values().min().unwrap(), kinds.values().max().unwrap());
        if is_of_steps(name) {
            assert!(kinds.len() == 4 && most - least <= 1, "{name}: {kinds:?}");
            n += 1;
        } else if ["fewer_more", "antonym_relation", "negation"].contains(&name) {
            // Where originals are few, one that would be answered otherwise is taken.
            assert!(kinds.len() == 2 && (most - least <= 1 || name == "antonym_relation"), "{name}: {kinds:?}");
            n += 1;
        }
    }
    assert_eq!(n, 7);
}

#[test]
fn bad_entries_are_named() {
    let entry = |keys: &str| format!(r#"[{{"test": "t", "tier": "in", {keys}, "relation": "same"}}]"#);
    let cases = [
        (
            entry(r#""source": ["one_hob 1"]"#),
            "mine.json[0]: source: unknown family \"one_hob 1\" (did you mean \"one_hop 1\"?)",
        ),
        (entry(r#""source": []"#), "mine.json[0]: source: names no family"),
        (
            entry(r#""source": ["one_hop 1"], "change": {"<Z9>": null}"#),
            "mine.json[0].change: unknown parameter \"<Z9>\" (did you mean \"<Z>\"?)",
        ),
        (
            entry(r#""source": ["one_hop 1"], "change": {"<R>": {"convers": "<R>"}}"#),
            "mine.json[0].change.<R>: {\"convers\":\"<R>\"} is not an expression (did you mean \"converse\"?)",
        ),
        (
            entry(r#""source": ["zero_hop 4"], "change": {"<C>": {"coin": ["answer", "foll"]}}"#),
            "mine.json[0].change.<C>: a coin of [\"answer\",\"foll\"]; expected [\"answer\", \"foil\"] or [\"foil\", ",
        ),
        (
            entry(r#""source": ["one_hop 1"], "change": {"<R>": {"value": "lefft"}}"#),
            "mine.json[0].change.<R>: unknown relation \"lefft\" (did you mean \"left\"?)",
        ),
        (
            entry(r#""source": ["one_hop 1"], "change": {"<Z>": "<C>"}"#),
            "mine.json[0].change.<Z>: \"<C>\" is a parameter of another type",
        ),
        (
            entry(r#""source": ["one_hop 1"], "change": {"<R>": {"other": "<R>"}}"#),
            "mine.json[0].change.<R>: \"other\" is for attributes",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "family": "one_hop 1""#),
            "mine.json[0].change: no value for \"<R>\", a parameter that zero_hop 1 does not have",
        ),
        (
            entry(
                r#""source": ["zero_hop 0"], "then": [{"type": "exst", "inputs": ["asked"]}], "text": ["Is there {X}?"]"#,
            ),
            "mine.json[0]: text[0] has \"{X}\", but subjects.json has no noun phrases for zero_hop 0",
        ),
        (
            entry(
                r#""source": ["same_relate 0"], "then": [{"type": "exst", "inputs": ["asked"]}], "text": ["Is there?"]"#,
            ),
            "mine.json[0].then[0]: unknown function \"exst\" (did you mean \"exist\"?)",
        ),
        (
            entry(
                r#""source": ["same_relate 0"], "then": [{"type": "count", "inputs": ["asked"]}], "text": ["Whence the <Z> <C> <M> <S>?"]"#,
            ),
            "mine.json[0]: text: \"Whence\" is not a word of the dataset's questions, as a test in distribution needs",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "when": {"answer": ["yess"]}"#),
            "mine.json[0].when: unknown answer \"yess\" (did you mean \"yes\"?)",
        ),
        (entry(r#""source": ["zero_hop 1"], "when": {"single": [0]}"#), "mine.json[0].when: node 0 is not a filter"),
        (
            entry(r#""source": ["zero_hop 1"], "family": "zero_hop""#),
            "mine.json[0]: family: \"zero_hop\" is more than one family",
        ),
        (
            entry(r#""source": ["one_hop 99"]"#),
            "mine.json[0]: source: unknown family \"one_hop 99\"; one_hop has the families 0 to 5",
        ),
        (
            entry(r#""sauce": ["zero_hop 1"]"#),
            "mine.json[0]: unknown key \"sauce\" (did you mean \"source\"?); known: test, tier, type, source, when, ",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "when": {"singel": [1]}"#),
            "mine.json[0]: unknown key \"singel\" (did you mean \"single\"?); known: answer, ",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "wording": "synonym""#),
            "mine.json[0]: unknown value \"synonym\" (did you mean \"synonyms\"?); known: keep, phrasing, synonyms",
        ),
        (entry(r#""type": "x""#), "mine.json[0]: the key \"source\" is missing"),
        (
            entry(r#""source": ["zero_hop 1"], "text": "Is there?""#),
            "mine.json[0]: string \"Is there?\", where a list is expected",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "when": {"single": ["<Z>"]}"#),
            "mine.json[0]: single and alone hold numbers of nodes, or objects such as {\"node\": 2, ",
        ),
        ("{}".to_owned(), "mine.json: expected a list of tests"),
        (
            entry(
                r#""source": ["same_relate 0"], "then": [{"type": "exist", "inputs": ["asked"]}], "text": ["Is there a thing?"]"#,
            ),
            "mine.json[0]: text: \"Is there a thing?\" does not name <Z>, so it does not say what its program asks",
        ),
        (
            entry(
                r#""source": ["same_relate 0"], "then": [{"type": "exist", "inputs": ["asked"]}], "text": ["Is there {Y} the <Z> <C> <M> <S>?"]"#,
            ),
            "mine.json[0]: text[0]: unknown \"{Y}\"; \"{X}\" stands for the source's noun phrases",
        ),
        (
            entry(
                r#""source": ["zero_hop 4"], "params": [{"type": "Color", "name": "<V>"}], "change": {"<V>": "answer"}, "then": [{"type": "verify_color", "inputs": ["asked"], "side_inputs": ["<V>"]}], "text": ["Is the <Z> <C> <M> <S> the <V> thing?"]"#,
            ),
            "mine.json[0]: then: \"verify_color\" is not a function of the dataset's questions, as a test in ",
        ),
        (entry(r#""source": ["zero_hop 1"], "control_of": "u""#), "test: t: control_of: no other test \"u\""),
        (
            entry(r#""source": ["zero_hop 1"], "sides": "coin", "cell": ["10"]"#),
            "mine.json[0]: cell: where a coin decides on sides, nobody knows the cell before",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "cell": ["2"]"#),
            "mine.json[0]: unknown value \"2\"; known: 00, 01, 10, 11",
        ),
        (
            entry(r#""source": ["zero_hop 4"], "family": "zero_hop 1", "change": {"<S>": "each"}"#),
            "mine.json[0].change.<S>: the answer of zero_hop 4 is of the type color; this parameter is not",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "change": {"<S>": "unsen"}"#),
            "mine.json[0].change.<S>: \"unsen\" is not an expression (did you mean \"unseen\"?)",
        ),
        (
            entry(r#""source": ["one_hop 1"], "change": {"<C>": {"other": "<C>"}, "<S>": {"other": "<S>"}}"#),
            "mine.json[0].change: expected one foil, or one coin",
        ),
        (
            entry(r#""source": ["zero_hop 1"], "sides": "coin""#).replace("\"same\"", "\"positive\""),
            "mine.json[0]: sides: a coin needs a relation that holds both ways, same or flip",
        ),
        (
            entry(r#""source": ["zero_hop 1"]"#).replace("\"t\"", "\"a/b\""),
            "mine.json[0]: test: \"a/b\" cannot be the name of a test; use letters, digits, - and _",
        ),
        ("[]".to_owned(), "test: contains no tests"),
    ];
    for (entries, expected) in cases {
        let error = CASE.of_entries(&entries).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_relation_that_execution_refutes_is_named_with_both_questions() {
    let wrong =
        r#"[{"test": "t", "tier": "in", "source": ["zero_hop 1"], "change": {"<S>": null}, "relation": "flip"}]"#;
    let suite = CASE.of_entries(wrong).unwrap();
    let error = CASE.pairs_of(&suite, QuestionRule::Any, "t").unwrap_err().to_string();
    assert!(error.starts_with("mine.json[0]: the relation does not hold: \""), "{error}");
    let says = |answer: &str, wanted: &str| {
        error.contains(&format!("is answered {answer}, but \""))
            && error.ends_with(&format!("is answered {answer}, not {wanted}"))
    };
    assert!(says("yes", "no") || says("no", "yes"), "{error}");
}

#[test]
fn a_text_that_does_not_say_what_its_program_asks_is_named() {
    let suite = CASE.suite("carets");
    let mut pairs = CASE.pairs_of(&suite, QuestionRule::Any, "t").unwrap().pairs;
    suite.check_texts(&pairs).unwrap();
    let own = pairs.iter().position(|pair| suite.templates.families()[usize::from(pair.family)].file.contains('/'));
    let place = own.unwrap();
    pairs[place].text.push_str(" at all?");
    let error = suite.check_texts(&pairs).unwrap_err().to_string();
    assert!(error.contains(".json[") && error.contains("]: text: \""), "{error}");
    assert!(error.ends_with("at all?\" cannot be read back as the question that it asks"), "{error}");
}
