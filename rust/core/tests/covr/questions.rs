//! Checks the questions of a window using only their programs and scenes.

use crate::assets;
use clevrhope_core::covr::{
    Ask, Cut, DistractorChoice, Meaning, PROGRAM_WIDTH, PairPlace, Phrasings, SetQuestion, SetQuestions, SetRule,
    SetStream, Structure, Template,
};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::{Function, Output, ProgramVocabulary, execute_on_set, trace_on_set};
use clevrhope_core::scene::{Asset, Palette, SceneConfig, SceneSet, World};
use clevrhope_core::split::{PoolScenes, SceneRule, SplitError};
use clevrhope_core::vocab::Answer;
use clevrhope_core::{Pool, Program, SceneGraph};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PHRASINGS: &[u8] = include_bytes!("../../../../question_templates/covr.json");
const PROPERTIES: &str = include_str!("../../../../blender_assets/properties.json");
const WINDOW: usize = 250;

fn rule(name: &str) -> SetRule {
    SetRule {
        name: name.to_owned(),
        scenes: SceneRule::Any,
        places: vec![PairPlace::Nowhere],
        implied: false,
        distractors: DistractorChoice::Edited,
        half: None,
        paraphrased: false,
    }
}

fn stream_of(world: &Arc<World>, rule: SetRule, pair: Option<&[&str]>) -> Result<SetStream, SplitError> {
    let pool_scenes = Arc::new(PoolScenes::new(world.clone(), 7, "train"));
    let phrasings = Phrasings::read(PHRASINGS, "covr.json", world.vocab()).unwrap();
    let pair = pair.map(|names| Holdout::new(world.vocab(), names).unwrap());
    SetStream::new(pool_scenes, Arc::new(phrasings), rule, pair)
}

#[test]
fn a_rule_that_contradicts_itself_is_refused() {
    let world = Arc::new(assets::world());
    let refused = |rule, pair| stream_of(&world, rule, pair).err().unwrap().to_string();
    let nowhere = SetRule { places: Vec::new(), ..rule("covr_test") };
    assert!(refused(nowhere, None).contains("no place of the held-out values is given"));
    assert!(refused(SetRule { half: Some(7), ..rule("covr_test") }, None).contains("half 7 of the programs"));
    for place in [PairPlace::Mentioned, PairPlace::Distractor] {
        let without_pair = SetRule { places: vec![PairPlace::Nowhere, place], ..rule("covr_test") };
        assert!(refused(without_pair, None).contains("none are held out"));
    }
}

fn ask(stream: &mut SetStream, n_windows: usize) -> SetQuestions {
    while stream.scenes.waiting_windows() < n_windows {
        stream.scenes.find_window().unwrap();
    }
    stream.ask(n_windows).unwrap()
}

fn questions(rule: SetRule, pair: Option<&[&str]>, n_windows: usize) -> Vec<SetQuestion> {
    ask(&mut stream_of(&Arc::new(assets::world()), rule, pair).unwrap(), n_windows).questions
}

/// The first scenes of the pool, which include all scenes of the questions.
struct Scenes {
    world: World,
    graphs: Vec<SceneGraph>,
}

impl Scenes {
    fn new(world: World, n: u64) -> Self {
        let pool = Pool::new(&world, 7, "train");
        let graphs = (0..n).map(|index| pool.scene(index).unwrap().graph(world.vocab())).collect();
        Self { world, graphs }
    }

    fn set(&self, question: &SetQuestion) -> SceneSet<'_> {
        SceneSet::new(question.indices().iter().map(|&index| self.graphs[index as usize].view())).unwrap()
    }

    fn answer(&self, program: &Program, question: &SetQuestion) -> Option<Answer> {
        execute_on_set(program, &self.set(question), self.world.vocab()).ok()
    }

    /// The images, a bit each, that show an object of the last set of the program's first subgraph.
    fn shown(&self, question: &SetQuestion) -> u32 {
        let set = self.set(question);
        let outputs = trace_on_set(&question.program, &set, self.world.vocab());
        let steps = &question.program.steps;
        let is_end = |place: usize| {
            !matches!(
                steps[place].function,
                Function::Scene | Function::Filter(_) | Function::WithRelation | Function::WithSame(_)
            )
        };
        let end = (0..steps.len()).find(|&place| is_end(place)).unwrap();
        match &outputs[usize::from(steps[end].inputs[0])] {
            Output::Set(members) => {
                members.iter().fold(0, |images, &object| images | 1 << set.place(usize::from(object)).0)
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn windows_have_each_number_of_objects_equally_often_and_questions_use_all_images() {
    for (scenes, place) in [(SceneRule::Without, PairPlace::Nowhere), (SceneRule::Any, PairPlace::Mentioned)] {
        let rule = SetRule { scenes, places: vec![place], ..rule("a") };
        let mut stream = stream_of(&Arc::new(assets::world()), rule, Some(&["rubber", "cylinder"])).unwrap();
        let asked = ask(&mut stream, 4).questions;
        let world = assets::world();
        let pool = Pool::new(&world, 7, "train");
        let used: BTreeSet<u64> = asked.iter().flat_map(|question| question.indices().to_vec()).collect();
        let mut counts = BTreeMap::new();
        for &index in &used {
            *counts.entry(pool.n_objects(index)).or_insert(0) += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), (3..=10).collect::<Vec<_>>());
        assert!(counts.values().all(|n| (120..=125).contains(n)), "{scenes:?}: {counts:?}");
    }
}

#[test]
fn two_and_two_have_one_text_and_two_answers() {
    let (scenes, asked) = (Scenes::new(assets::world(), 1_000), questions(rule("a"), None, 4));
    assert!(asked.len() > 3_900, "{}", asked.len());
    let phrasings = Phrasings::read(PHRASINGS, "covr.json", scenes.world.vocab()).unwrap();
    for pair in asked.chunks_exact(2) {
        let [first, second] = [&pair[0], &pair[1]];
        assert_eq!((first.meaning, first.phrasing, &first.program), (second.meaning, second.phrasing, &second.program));
        assert_eq!(first.text(&phrasings), second.text(&phrasings));
        assert_ne!(first.answer, second.answer);
        assert_eq!(first.n_images, second.n_images);
        assert!(
            usize::from(first.phrasing) + 1 < phrasings.n(&first.meaning),
            "the last phrasing is for another split"
        );
        for question in pair {
            assert_eq!(scenes.answer(&question.program, question), Some(question.answer), "{question:?}");
            assert!((3..=5).contains(&question.n_images) && question.source < question.n_images);
        }
    }
}

/// Whether a template asks about the only object of a description.
fn asks_about_one(template: Template) -> bool {
    use Template::*;
    matches!(template, VerifyAttr | ChooseAttr | QueryAttr | QueryObject | ChooseObject | ChooseRelation)
}

#[test]
fn the_source_alone_shows_what_is_unique_and_another_image_nearly_does() {
    let (scenes, asked) = (Scenes::new(assets::world(), 500), questions(rule("a"), None, 2));
    let mut n_contradicting = 0;
    let mut n = 0;
    for question in asked.iter().filter(|question| asks_about_one(question.meaning.template())) {
        assert_eq!(scenes.shown(question), 1 << question.source, "{question:?}");
        // A reader who only uses the shape could take another object for it: in some other image, an object has
        // another value.
        if let Meaning { g, ask: Ask::QueryAttr { kind } } = question.meaning {
            let Answer::Value(_, answer) = question.answer else { panic!("{question:?}") };
            let others =
                question.indices().iter().enumerate().filter(|(place, _)| *place != usize::from(question.source));
            let other_values = others.flat_map(|(_, &index)| {
                let view = scenes.graphs[index as usize].view();
                view.attributes.iter().map(move |values| values[usize::from(kind)])
            });
            n += 1;
            n_contradicting += u32::from(other_values.into_iter().any(|value| value != answer));
            assert!(g.structure != Structure::Single);
        }
    }
    assert!(n > 100 && n_contradicting == n, "{n_contradicting} of {n}");
}

#[test]
fn nothing_that_the_answer_needs_can_be_left_out() {
    let asked = questions(rule("a"), None, 2);
    let mut cuts: BTreeMap<(Template, i8), u32> = BTreeMap::new();
    for question in &asked {
        *cuts.entry((question.meaning.template(), question.cut as i8)).or_default() += 1;
    }
    // Only an answer that follows from numbers, but is none itself, can stay when they change.
    let of_numbers = [Template::CompareCount, Template::VerifyCount, Template::VerifyCountGroupBy];
    let exempt = [Template::VerifyLogic, Template::VerifyQuantifier, Template::VerifyQuantifierAttr];
    for template in Template::ALL {
        let stays = cuts.contains_key(&(template, 0));
        assert_eq!(stays, exempt.contains(&template), "{template:?} {cuts:?}");
        assert!(cuts[&(template, 1)] > 10, "{template:?} {cuts:?}");
        let stays_by_numbers = cuts.contains_key(&(template, 2));
        assert_eq!(stays_by_numbers, of_numbers.contains(&template), "{template:?} {cuts:?}");
    }
    // With random distractors, relations are superfluous more often.
    let random = questions(SetRule { distractors: DistractorChoice::Random, ..rule("a") }, None, 2);
    let stays =
        random.iter().filter(|each| asks_about_one(each.meaning.template()) && each.cut == Cut::Nothing).count();
    assert!(stays > 50, "{stays}");
}

#[test]
fn templates_come_equally_often_and_their_answers_too() {
    let asked = questions(rule("a"), None, 8);
    let mut templates = BTreeMap::new();
    let mut counts: BTreeMap<u8, u32> = BTreeMap::new();
    for question in &asked {
        *templates.entry(question.meaning.template()).or_insert(0u32) += 1;
        if let (Template::Count, Answer::Integer(count)) = (question.meaning.template(), question.answer) {
            *counts.entry(count).or_default() += 1;
        }
    }
    assert_eq!(templates.len(), 15);
    assert!(templates.values().all(|&n| (510..=536).contains(&n)), "{templates:?}");
    assert_eq!(counts.len(), 5, "{counts:?}");
    assert!(counts.values().all(|&n| (90..=125).contains(&n)), "{counts:?}");
}

#[test]
fn windows_know_nothing_of_each_other() {
    let world = Arc::new(assets::world());
    let together = ask(&mut stream_of(&world, rule("a"), None).unwrap(), 3).questions;
    let mut stream = stream_of(&world, rule("a"), None).unwrap();
    let apart: Vec<SetQuestion> = (0..3).flat_map(|_| ask(&mut stream, 1).questions).collect();
    assert_eq!(together, apart);
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let alone = one_thread.install(|| ask(&mut stream_of(&world, rule("a"), None).unwrap(), 3).questions);
    assert_eq!(together, alone);
    for question in &together {
        let windows: BTreeSet<u64> = question.indices().iter().map(|index| index / WINDOW as u64).collect();
        assert_eq!(windows.len(), 1, "the images of a set are of one window");
    }
}

#[test]
fn a_pair_is_held_out_of_questions_and_images() {
    let world = assets::world();
    let pair = Holdout::new(world.vocab(), &["rubber", "cylinder"]).unwrap();
    let scenes = Scenes::new(world, 3_000);
    let vocab = scenes.world.vocab();
    let shows = |index: u64| pair.members(vocab, scenes.graphs[index as usize].view()) != 0;
    let without = questions(SetRule { scenes: SceneRule::Without, ..rule("a") }, Some(&["rubber", "cylinder"]), 2);
    for question in &without {
        assert!(!pair.is_mentioned_in(&question.program) && !question.indices().iter().any(|&index| shows(index)));
    }
    // The pair is held out only from the words: images may show it, and often do.
    let words = questions(rule("a"), Some(&["rubber", "cylinder"]), 2);
    let n_shown = words.iter().filter(|each| each.indices().iter().any(|&index| shows(index))).count();
    assert!(n_shown > words.len() / 2 && !words.iter().any(|each| pair.is_mentioned_in(&each.program)));
    let places = vec![PairPlace::Mentioned, PairPlace::Distractor];
    let ood = questions(SetRule { places, ..rule("ood") }, Some(&["rubber", "cylinder"]), 2);
    assert!(ood.len() > 1_900, "{}", ood.len());
    let mut by_place = [0; 3];
    for question in &ood {
        by_place[question.place as usize] += 1;
        let shown = question.indices().iter().enumerate().filter(|(_, index)| shows(**index));
        let shown = shown.fold(0, |images, (place, _)| images | 1 << place);
        match question.place {
            PairPlace::Mentioned => assert!(pair.is_mentioned_in(&question.program)),
            PairPlace::Distractor => {
                assert!(!pair.is_mentioned_in(&question.program) && shown != 0);
                if asks_about_one(question.meaning.template()) {
                    assert_eq!(shown & scenes.shown(question), 0, "{question:?}");
                }
            }
            PairPlace::Nowhere => panic!("{question:?}"),
        }
    }
    assert!(by_place[1] > 900 && by_place[2] > 900, "{by_place:?}");
}

#[test]
fn every_pair_can_be_mentioned() {
    let world = Arc::new(assets::world());
    let rule = SetRule { places: vec![PairPlace::Mentioned], ..rule("ood") };
    // A pair without a shape can only be mentioned if one of its values is asked for.
    let pairs =
        [(["large", "rubber"], 3), (["rubber", "cyan"], 3), (["large", "cylinder"], 15), (["cyan", "cube"], 15)];
    for (pair, n) in pairs {
        let made = ask(&mut stream_of(&world, rule.clone(), Some(&pair)).unwrap(), 1);
        let holdout = Holdout::new(world.vocab(), &pair).unwrap();
        assert!(made.questions.iter().all(|each| holdout.is_mentioned_in(&each.program)));
        let templates: BTreeSet<Template> = made.questions.iter().map(|each| each.meaning.template()).collect();
        assert_eq!(templates.len(), n, "{pair:?}: {templates:?}");
        assert!(made.questions.len() > 900, "{pair:?}: {}", made.questions.len());
    }
    let error = stream_of(&world, rule.clone(), Some(&["large", "rubber", "red"])).err().unwrap();
    assert_eq!(
        error.to_string(),
        "split ood: no question over several images can mention large red rubber: it names at most a shape, one other \
         value and the value that it asks for"
    );
    assert!(stream_of(&world, rule, Some(&["large", "rubber", "cube"])).is_ok());
}

#[test]
fn halves_share_no_text_and_a_paraphrase_changes_words_alone() {
    let half = |half| questions(SetRule { half: Some(half), ..rule("a") }, None, 1);
    let programs = |asked: Vec<SetQuestion>| -> BTreeSet<String> {
        asked.iter().map(|question| format!("{:?}", question.program)).collect()
    };
    let (first, second) = (half(0), half(1));
    assert!(first.len() > 900 && second.len() > 900);
    assert!(programs(first).is_disjoint(&programs(second)));
    let (plain, said) = (questions(rule("a"), None, 1), questions(SetRule { paraphrased: true, ..rule("a") }, None, 1));
    assert_eq!(plain.len(), said.len());
    for (plain, said) in plain.iter().zip(said) {
        assert!(plain.phrasing < said.phrasing);
        assert_eq!(plain, &SetQuestion { phrasing: plain.phrasing, ..said });
    }
}

#[test]
fn programs_have_room() {
    let world = assets::world();
    let tokens = ProgramVocabulary::new(world.vocab()).extended(world.vocab(), clevrhope_core::covr::functions());
    let n_tokens = |question: &SetQuestion| {
        let mut row = [0; PROGRAM_WIDTH];
        tokens.encode_into(&question.program, &mut row).unwrap()
    };
    let asked = questions(rule("a"), None, 4);
    assert_eq!(asked.iter().map(n_tokens).max(), Some(PROGRAM_WIDTH));
}

fn world(properties: &str, config: SceneConfig) -> Arc<World> {
    let look = Asset { file: "look.json", bytes: include_bytes!("../../../../blender_assets/look.json") };
    Arc::new(World::new(Asset { file: "properties.json", bytes: properties.as_bytes() }, look, config).unwrap())
}

#[test]
fn a_poor_world_is_told_what_it_lacks() {
    let mut poor: serde_json::Value = serde_json::from_str(PROPERTIES).unwrap();
    let shapes = poor["shapes"].as_object_mut().unwrap();
    shapes.retain(|name, _| name == "cube");
    let error = stream_of(&world(&poor.to_string(), SceneConfig::default()), rule("covr_train"), None).err().unwrap();
    assert_eq!(
        error.to_string(),
        "split covr_train: no question of template query_object can be asked in this world: it has one shape; add a \
         second one"
    );
}

#[test]
fn nothing_is_asked_about_an_attribute_of_one_value() {
    let mut properties: serde_json::Value = serde_json::from_str(PROPERTIES).unwrap();
    properties["sizes"].as_object_mut().unwrap().retain(|name, _| name == "large");
    let world = world(&properties.to_string(), SceneConfig::default());
    let asked = ask(&mut stream_of(&world, rule("a"), None).unwrap(), 2).questions;
    let types = |question: &SetQuestion| -> BTreeSet<Option<u8>> {
        question.program.steps.iter().map(|step| step.function.asked_type()).collect()
    };
    let types: BTreeSet<Option<u8>> = asked.iter().flat_map(types).collect();
    assert_eq!(types, [None, Some(1), Some(2), Some(3)].into());
}

#[test]
fn sets_of_crowded_scenes_have_at_most_64_objects() {
    let config =
        SceneConfig { min_objects: 10, max_objects: 16, min_distance: 0.1, margin: 0.1, ..SceneConfig::default() };
    let world = world(PROPERTIES, config);
    let made = ask(&mut stream_of(&world, rule("a"), None).unwrap(), 1);
    let pool = Pool::new(&world, 7, "train");
    let n_objects: Vec<usize> = (0..WINDOW as u64).map(|index| pool.scene(index).unwrap().n_objects()).collect();
    let of_set =
        |question: &SetQuestion| question.indices().iter().map(|&index| n_objects[index as usize]).sum::<usize>();
    assert!(made.questions.len() > 500, "{}", made.questions.len());
    assert!(made.questions.iter().all(|question| of_set(question) <= 64));
    assert!(made.questions.iter().any(|question| of_set(question) > 60));
}

#[test]
fn a_template_without_questions_is_named() {
    let world = assets::world();
    let cubes = r#"{"cube": ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"]}"#;
    let palette = Palette::from_json(world.vocab(), "cubes", cubes.as_bytes(), "cubes.json").unwrap();
    let world = Arc::new(world.with_palette(palette));
    let mut stream = stream_of(&world, rule("covr_train"), None).unwrap();
    while stream.scenes.waiting_windows() < 3 {
        stream.scenes.find_window().unwrap();
    }
    let error = stream.ask(3).unwrap_err().to_string();
    assert!(
        error
            .contains("questions of template query_object could be asked about scenes of pool train; scenes with more"),
        "{error}"
    );
}
