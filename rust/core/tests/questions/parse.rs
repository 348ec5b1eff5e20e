//! The audit's parser reads the engine's texts back, and notices a changed word.

use crate::world::{Templates, TestScene, clevr, own_folder, rng, test_data};
use clevrhope_core::Vocabulary;
use clevrhope_core::article::takes_an;
use clevrhope_core::audit::{Names, ProgramReader, Rows, TextParser, parse_rows};
use clevrhope_core::program::encode::ProgramVocabulary;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::reading::QuestionReader;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::tokenize;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// Questions of a folder of templates on random scenes, and the folder's parser.
struct Case {
    templates: Templates,
    words: Vec<String>,
    functions: ProgramVocabulary,
    parser: TextParser,
    programs: ProgramReader,
    scenes: Vec<TestScene>,
    questions: Vec<Question>,
}

static OWN: LazyLock<Case> = LazyLock::new(|| {
    let folder = own_folder();
    let order: Value = serde_json::from_slice(&std::fs::read(folder.join("families.json")).unwrap()).unwrap();
    let order =
        order["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap().trim_end_matches(".json").to_owned());
    let synonyms = std::fs::read(folder.join("synonyms.json")).unwrap();
    Case::new(Templates::own(&clevr()), &folder, order.collect(), &synonyms)
});

impl Case {
    fn new(templates: Templates, folder: &Path, order: Vec<String>, synonyms: &[u8]) -> Self {
        let vocab = clevr();
        let functions = ProgramVocabulary::new(&vocab);
        let special = ["<NULL>", "<START>", "<END>", "<UNK>"].map(str::to_owned);
        let words = [&special[..], &templates.set.words()].concat();
        let answers = answers(&vocab);
        let names = Names::new(&words, functions.names(), &answers);
        let files: Vec<(String, Vec<u8>)> =
            order.into_iter().map(|name| (name.clone(), std::fs::read(folder.join(name + ".json")).unwrap())).collect();
        let parser = TextParser::new(&names, &files, synonyms).unwrap();
        let programs = ProgramReader::new(&vocab, functions.names(), &answers, &[]).unwrap();
        let mut draws = rng("parse", 0);
        let scenes: Vec<TestScene> = (0..1_500).map(|i| TestScene::random(&vocab, 3 + i % 8, &mut draws)).collect();
        let views: Vec<_> = scenes.iter().enumerate().map(|(i, scene)| (i as u64, scene.graph.view())).collect();
        let plans = templates.plans(&vocab);
        let questions =
            QuestionGenerator::new(&vocab, &templates.set, &plans, QuestionRule::Any, None, 1, 12).generate(&views);
        Self { templates, words, functions, parser, programs, scenes, questions }
    }

    /// The numbers of a text's words; -1 for unknown words.
    fn tokens(&self, text: &str) -> Vec<i32> {
        let number = |word: &str| self.words.iter().position(|w| w == word).map_or(-1, |i| i as i32);
        tokenize(text).into_iter().map(number).collect()
    }

    fn program(&self, question: &Question) -> Vec<i32> {
        let marked = self.functions.encode(&question.program).unwrap();
        marked[1..marked.len() - 1].to_vec()
    }
}

fn answers(vocab: &Vocabulary) -> Vec<String> {
    let values =
        (0..4).flat_map(|kind| (0..vocab.n_values(kind)).map(move |value| vocab.value_name(kind, value).to_owned()));
    ["no", "yes"].map(str::to_owned).into_iter().chain((0..=10).map(|n| n.to_string())).chain(values).collect()
}

/// Checks that the text of every question has its stored program among its meanings, in its family.
fn assert_all_read_back(case: &Case) {
    let mut families = BTreeSet::new();
    for question in &case.questions {
        let readings = case.parser.read(&case.tokens(&question.text));
        let program = case.program(question);
        let name = case.templates.name(usize::from(question.family));
        assert!(
            readings.iter().any(|r| r.family == question.family && r.program == program),
            "{name}: {} -> {readings:?}, not {program:?}",
            question.text
        );
        families.insert(question.family);
    }
    assert_eq!(families.len(), case.parser.n_families(), "some family was not asked");
}

#[test]
fn every_question_of_every_family_is_read_back() {
    assert_all_read_back(&OWN);
    assert_eq!(OWN.parser.n_families(), 90);
}

#[test]
fn every_phrasing_is_met() {
    let wordings: BTreeSet<(u16, Vec<String>)> = OWN
        .questions
        .iter()
        .map(|q| {
            // Phrasings differ in the words that do not name values.
            let own = ["thing", "object", "things", "objects"];
            let of_values: Vec<&str> = clevr_words();
            let kept = tokenize(&q.text).into_iter().filter(|w| {
                !own.contains(w) && !of_values.contains(w) && !of_values.contains(&w.trim_end_matches('s'))
            });
            (q.family, kept.map(str::to_owned).collect())
        })
        .collect();
    let phrasings: usize = OWN.templates.set.families().iter().map(|family| family.phrasings.len()).sum();
    assert!(wordings.len() >= phrasings, "{} wordings were met", wordings.len());
}

fn clevr_words() -> Vec<&'static str> {
    "gray red blue green brown purple cyan yellow large big small tiny rubber matte metal metallic shiny cube block \
     sphere ball cylinder"
        .split_whitespace()
        .collect()
}

/// Whether the text has "a" before the sound of a vowel.
fn has_misfit(text: &str) -> bool {
    let words = tokenize(text);
    words.windows(2).any(|two| two[0].eq_ignore_ascii_case("a") && takes_an(two[1]))
}

/// A family that asks whether some object exists, and the words for it.
const IS_THERE: &str = r#"[{"text": ["Is there a <Z> <C> <M> <S>?", "A <Z> <C> <M> <S>, is there [one]?"],
    "params": [{"type": "Size", "name": "<Z>"}, {"type": "Color", "name": "<C>"}, {"type": "Material", "name": "<M>"},
    {"type": "Shape", "name": "<S>"}], "nodes": [{"type": "scene", "inputs": []},
    {"type": "filter_exist", "inputs": [0], "side_inputs": ["<Z>", "<C>", "<M>", "<S>"]}]}]"#;
const THING: &[u8] = br#"{"thing": ["thing", "object"], "cube": ["cube", "octet"], "red": ["orange"]}"#;

#[test]
fn an_article_that_does_not_fit_is_never_written() {
    assert!(OWN.questions.iter().all(|question| !has_misfit(&question.text)));
    let (vocab, files) = (clevr(), [("is_there".to_owned(), IS_THERE.as_bytes().to_vec())]);
    let set = TemplateSet::from_files(&vocab, &files, &[], ("synonyms.json", THING)).unwrap();
    let plans = set.plans(&vocab);
    let views: Vec<_> = OWN.scenes.iter().enumerate().map(|(i, scene)| (i as u64, scene.graph.view())).collect();
    let questions = QuestionGenerator::new(&vocab, &set, &plans, QuestionRule::Any, None, 1, 12).generate(&views);
    let count = |words: &str| questions.iter().filter(|question| question.text.contains(words)).count();
    // "octet" may follow another word; after an article, its synonym is used.
    let counts = ["a cube", " octet", "an orange", "An orange", "a octet"].map(count);
    assert!(counts[..4].iter().all(|&n| n > 3), "{counts:?}");
    for question in &questions {
        assert!(!has_misfit(&question.text), "{}", question.text);
    }
}

#[test]
fn an_article_that_does_not_fit_is_read() {
    let vocab = clevr();
    let words = "<NULL> <START> <END> <UNK> Is is there a an A An , thing object cube octet one red small orange \
                 sphere unicorn hourglass";
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let functions = ProgramVocabulary::new(&vocab);
    let names = Names::new(&words, functions.names(), &answers(&vocab));
    let files = [("is_there".to_owned(), IS_THERE.as_bytes().to_vec())];
    let spheres = r#"["orange"], "sphere": ["unicorn", "hourglass"]}"#;
    let own = String::from_utf8_lossy(THING).replace(r#"["orange"]}"#, spheres);
    let parser = TextParser::new(&names, &files, own.as_bytes()).unwrap();
    let set = TemplateSet::from_files(&vocab, &files, &[], ("synonyms.json", own.as_bytes())).unwrap();
    let reader = QuestionReader::new(&set);
    let read = |text: &str| {
        let number = |word: &str| words.iter().position(|known| known == word).unwrap() as i32;
        let readings = parser.read(&tokenize(text).into_iter().map(number).collect::<Vec<_>>());
        readings.into_iter().map(|reading| reading.program).collect::<Vec<_>>()
    };
    // The original generator ignores vowels: it writes "a object" if it draws that word for a thing.
    for (misfit, fit) in [
        ("Is there a object?", "Is there an object?"),
        ("A object, is there one?", "An object, is there one?"),
        ("Is there a small octet?", "Is there a small cube?"),
        ("Is there a octet?", "Is there an octet?"),
        ("Is there a orange cube?", "Is there an orange cube?"),
        // Earlier versions looked at letters.
        ("Is there an unicorn?", "Is there a unicorn?"),
        ("Is there a hourglass?", "Is there an hourglass?"),
    ] {
        assert_eq!(read(misfit), read(fit), "{misfit}");
        assert_eq!(read(misfit).len(), 1, "{misfit}");
    }
    let values = |text: &str| {
        let readings = reader.read(0, &tokenize(text), &mut Default::default());
        readings.into_iter().map(|reading| reading.values).collect::<Vec<_>>()
    };
    for (misfit, fit) in [
        ("Is there a orange cube?", "Is there an orange cube?"),
        ("Is there an unicorn?", "Is there a unicorn?"),
        ("A orange cube, is there one?", "An orange cube, is there one?"),
    ] {
        assert_eq!(values(misfit), values(fit), "{misfit}");
        assert_eq!(values(misfit).len(), 1, "{misfit}");
    }
    for text in ["Is there an thing?", "An cube, is there?", "Is there an small object?", "Is there a a object?"] {
        assert!(read(text).is_empty(), "{text}");
    }
}

#[test]
fn texts_of_the_original_generator_are_read() {
    let Some(data) = test_data().filter(|data| data.join("real_clevr").is_dir()) else {
        eprintln!("skipped: no real CLEVR files in CLEVRHOPE_TEST_DATA or ../shared/data");
        return;
    };
    let folder = data.join("clevr_v1/templates");
    let file_names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut order: Vec<String> =
        file_names.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    order.sort();
    let synonyms = std::fs::read(data.join("clevr_v1/synonyms.json")).unwrap();
    let case = Case::new(Templates::read(&clevr(), &folder, &order, &synonyms), &folder, order, &synonyms);
    let mut n_read = 0;
    for split in ["train", "val"] {
        let path = data.join(format!("real_clevr/CLEVR_{split}_questions.json"));
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for question in file["questions"].as_array().unwrap() {
            let text = question["question"].as_str().unwrap();
            // The original generator writes "a object" if it draws that word for "thing".
            for text in [text.to_owned(), text.replace(" a thing", " a object")] {
                assert!(!case.parser.read(&case.tokens(&text)).is_empty(), "{text}");
                n_read += 1;
            }
        }
    }
    assert!(n_read >= 80, "{n_read} texts");
}

#[test]
fn foreign_templates_are_read_back() {
    let Some(data) = test_data() else {
        eprintln!("skipped: no folder of foreign templates");
        return;
    };
    let synonyms = std::fs::read(own_folder().join("synonyms.json")).unwrap();
    let folder = data.join("closure_templates");
    let mut order: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    order.sort();
    let templates = Templates::read(&clevr(), &folder, &order, &synonyms);
    let case = Case::new(templates, &folder, order, &synonyms);
    assert!(case.questions.len() > 1_000);
    for question in &case.questions {
        let readings = case.parser.read(&case.tokens(&question.text));
        let program = case.program(question);
        assert!(readings.iter().any(|r| r.family == question.family && r.program == program), "{}", question.text);
    }
}

/// The agreement of a question, perhaps changed, on its own scene.
fn agreement(
    case: &Case,
    question: &Question,
    text: &str,
    program: &[i32],
    family: i32,
    answer: i32,
) -> clevrhope_core::audit::Agreement {
    let marked = |tokens: &[i32]| [&[1], tokens, &[2]].concat();
    let (questions, programs) = (marked(&case.tokens(text)), marked(program));
    let rows = Rows {
        questions: &questions,
        question_width: questions.len(),
        programs: &programs,
        program_width: programs.len(),
        scenes: &[question.scene as i64],
        scenes_width: 1,
    };
    let view = |scene: usize| case.scenes.get(scene).map(|scene| scene.graph.view());
    parse_rows(&case.parser, &case.programs, rows, &[family], &[answer], view)[0].0
}

#[test]
fn text_program_family_and_answer_agree_or_it_is_said_which_does_not() {
    let case = &*OWN;
    for question in case.questions.iter().step_by(97) {
        let (text, program, family) = (question.text.as_str(), case.program(question), i32::from(question.family));
        let scene = case.scenes[question.scene as usize].graph.view();
        let answer = case.programs.answer(&program, scene);
        let found = agreement(case, question, text, &program, family, answer);
        assert!(
            !(found.is_unread || found.is_other_program || found.is_other_family || found.is_other_answer),
            "{text}"
        );
        assert!(agreement(case, question, text, &program, family, answer + 1).is_other_answer);
        assert!(agreement(case, question, text, &program, 1_000, answer).is_other_family);
        assert!(agreement(case, question, text, &program[1..], family, answer).is_other_program);
        let unread = agreement(case, question, &format!("{text} Indeed"), &program, family, answer);
        assert!(unread.is_unread && !unread.is_other_program);
    }
}

#[test]
fn equal_rows_have_equal_digests_and_others_do_not() {
    let case = &*OWN;
    let texts: BTreeSet<&str> = case.questions.iter().map(|q| q.text.as_str()).collect();
    let digest = |text: &str| {
        let questions = [&[1], &case.tokens(text)[..], &[2]].concat();
        let rows = Rows {
            questions: &questions,
            question_width: questions.len(),
            programs: &[1, 2],
            program_width: 2,
            scenes: &[0],
            scenes_width: 1,
        };
        parse_rows(&case.parser, &case.programs, rows, &[0], &[0], |_| None)[0].1
    };
    let digests: BTreeSet<u64> = texts.iter().map(|text| digest(text)).collect();
    // Texts that differ only in marks that are not tokens have the same row.
    let rows: BTreeSet<Vec<i32>> = texts.iter().map(|text| case.tokens(text)).collect();
    assert_eq!(digests.len(), rows.len());
}

/// The value that a word names, if it names one.
fn value_of(word: &str) -> Option<&'static str> {
    let groups = [
        "gray",
        "red",
        "blue",
        "green",
        "brown",
        "purple",
        "cyan",
        "yellow",
        "large big",
        "small tiny",
        "rubber matte",
        "metal metallic shiny",
        "cube block",
        "sphere ball",
        "cylinder",
    ];
    groups.into_iter().find(|group| group.split(' ').any(|w| w == word))
}

proptest! {
    /// Replacing a word for a value by another keeps the meaning only if the other is a synonym.
    #[test]
    fn another_value_is_another_program(pick in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), with in 0usize..22) {
        let case = &*OWN;
        let question = &case.questions[pick.index(case.questions.len())];
        let mut words = tokenize(&question.text);
        let of_values: Vec<usize> = (0..words.len()).filter(|&i| value_of(words[i]).is_some()).collect();
        prop_assume!(!of_values.is_empty());
        let at = of_values[place.index(of_values.len())];
        let (old, new) = (words[at], clevr_words()[with]);
        words[at] = new;
        let readings = case.parser.read(&case.tokens(&words.join(" ")));
        let program = case.program(question);
        let keeps = readings.iter().any(|reading| reading.program == program);
        // An article may have to change with the word, but never the meaning.
        prop_assert!(!keeps || value_of(old) == value_of(new), "{} with {new}", question.text);
    }

    /// The parser reads arbitrary words without panicking.
    #[test]
    fn any_words_are_read_without_a_fault(tokens in prop::collection::vec(-1i32..90, 0..40)) {
        OWN.parser.read(&tokens);
    }
}

/// Two families with the same phrasing, one that counts and one that asks for existence, and a third with another.
fn two_meanings() -> (TextParser, ProgramReader, Vec<String>, ProgramVocabulary) {
    let vocab = clevr();
    let family = |text: &str, last: &str| {
        let params = "[{\"type\": \"Size\", \"name\": \"<Z>\"}, {\"type\": \"Color\", \"name\": \"<C>\"}, \
                      {\"type\": \"Material\", \"name\": \"<M>\"}, {\"type\": \"Shape\", \"name\": \"<S>\"}]";
        format!(
            "{{\"text\": [\"{text}\"], \"params\": {params}, \"constraints\": [], \"nodes\": [\
             {{\"type\": \"scene\", \"inputs\": []}}, {{\"type\": \"{last}\", \"inputs\": [0], \
             \"side_inputs\": [\"<Z>\", \"<C>\", \"<M>\", \"<S>\"]}}]}}"
        )
    };
    let files = [
        ("a", family("Say of <Z> <C> <M> <S>s [all].", "filter_count")),
        ("b", family("Say of <Z> <C> <M> <S>s.", "filter_exist")),
        ("c", family("Are there <Z> <C> <M> <S>s?", "filter_exist")),
    ];
    let files: Vec<_> = files.map(|(name, json)| (name.to_owned(), format!("[{json}]").into_bytes())).into();
    let words: Vec<String> =
        "<NULL> <START> <END> <UNK> Say of all red cubes things Are there".split(' ').map(str::to_owned).collect();
    let functions = ProgramVocabulary::new(&vocab);
    let names = Names::new(&words, functions.names(), &answers(&vocab));
    let parser = TextParser::new(&names, &files, b"{}").unwrap();
    let programs = ProgramReader::new(&vocab, functions.names(), &answers(&vocab), &[]).unwrap();
    (parser, programs, words, functions)
}

#[test]
fn a_text_of_two_meanings_keeps_both_and_is_ambiguous_where_their_answers_differ() {
    let (parser, programs, words, functions) = two_meanings();
    let vocab = clevr();
    let number = |names: &[String], name: &str| names.iter().position(|known| known == name).unwrap() as i32;
    let marked = |names: &[String], text: &str| {
        [&[1], &text.split(' ').map(|word| number(names, word)).collect::<Vec<_>>()[..], &[2]].concat()
    };
    let view = |scene: usize| (scene == 0).then(|| OWN.scenes[0].graph.view());
    let look = |text: &str, program: &str, family: i32, scene: i64| {
        let (questions, programs_) = (marked(&words, text), marked(functions.names(), program));
        let given = programs.answer(&programs_[1..programs_.len() - 1], OWN.scenes[0].graph.view());
        let rows = Rows {
            questions: &questions,
            question_width: questions.len(),
            programs: &programs_,
            program_width: programs_.len(),
            scenes: &[scene],
            scenes_width: 1,
        };
        parse_rows(&parser, &programs, rows, &[family], &[given], view)[0].0
    };
    assert_eq!(vocab.value_name(1, 1), "red");
    let count = "count filter_shape[cube] filter_color[red] scene";
    let exist = "exist filter_shape[cube] filter_color[red] scene";
    // A number is never a yes or no, so the answers of the two meanings differ on any image.
    for (program, family) in [(count, 0), (exist, 1)] {
        let found = look("Say of red cubes", program, family, 0);
        assert!(found.has_several && found.is_ambiguous);
        assert!(!(found.is_unread || found.is_other_program || found.is_other_family || found.is_other_answer));
    }
    assert!(look("Say of red cubes", exist, 2, 0).is_other_family);
    let without_image = look("Say of red cubes", count, 0, -1);
    assert!(without_image.has_several && !without_image.is_ambiguous);
    // Only one of the two families has the optional word.
    let found = look("Say of red cubes all", count, 0, 0);
    assert!(!found.has_several && !found.is_ambiguous && !found.is_other_program);
    assert!(look("Say of red cubes all", exist, 1, 0).is_other_program);
    assert!(look("Are there red cubes all", exist, 2, 0).is_unread);
}
