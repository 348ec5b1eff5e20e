//! Splits over a pool do not depend on threads or on where they are cut, are balanced, and follow their rule.

use crate::mention::{Words, program_mentions};
use crate::world::{Templates, look_for, next_windows, own_folder, project_world};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::catalogue::Type;
use clevrhope_core::program::{Function, execute};
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::scene::world::Asset;
use clevrhope_core::scene::{Pool, SceneConfig, World};
use clevrhope_core::split::{PoolScenes, SceneRule, SplitRule, SplitStream};
use clevrhope_core::vocab::Answer;
use clevrhope_core::{SceneGraph, Vocabulary};
use rayon::ThreadPoolBuilder;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, LazyLock};

const SEED: u64 = 11;
const TRAIN: (&str, SceneRule, QuestionRule, u32) = ("train", SceneRule::Without, QuestionRule::Without, 9);
const OOD: (&str, SceneRule, QuestionRule, u32) = ("test_ood", SceneRule::With, QuestionRule::With, 1);

/// A world whose images are small, so that its scenes are quick to sample.
static WORLD: LazyLock<Arc<World>> = LazyLock::new(|| Arc::new(project_world()));
static TEMPLATES: LazyLock<Arc<Templates>> = LazyLock::new(|| Arc::new(Templates::own(WORLD.vocab())));

fn holdout(vocab: &Vocabulary) -> Holdout {
    Holdout::new(vocab, &["rubber", "cylinder"]).unwrap()
}

/// The first windows of a split, taken in steps of `at_a_time` windows.
fn questions(split: (&str, SceneRule, QuestionRule, u32), at_a_time: &[usize], n_threads: usize) -> Vec<Vec<Question>> {
    let (pool, scenes, questions, per_scene) = split;
    let rule = SplitRule { name: pool.to_owned(), scenes, questions, per_scene };
    let pool_scenes = Arc::new(PoolScenes::new(Arc::clone(&WORLD), SEED, pool));
    let templates = Arc::new(TEMPLATES.set.clone());
    let holdout = holdout(WORLD.vocab());
    let threads = ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
    threads.install(|| {
        let mut stream = SplitStream::new(pool_scenes, templates, rule, Some(holdout)).unwrap();
        at_a_time.iter().map(|&count| next_windows(&mut stream, count).unwrap().questions).collect()
    })
}

/// The split's first scenes, found by examining each object of each scene of the pool: for each place the first scene
/// with as many objects as the pool's scene there that has, or has not, the pair, and that no place before it has.
fn eligible(split: (&str, SceneRule, QuestionRule, u32), n: usize) -> Vec<(u64, SceneGraph)> {
    let vocab = WORLD.vocab();
    let (rubber, cylinder) = (vocab.value(2, "rubber").unwrap() as u8, vocab.value(3, "cylinder").unwrap() as u8);
    let pool = Pool::new(&WORLD, SEED, split.0);
    let mut queues: BTreeMap<usize, VecDeque<(u64, SceneGraph)>> = BTreeMap::new();
    let mut places = VecDeque::new();
    let mut found = Vec::new();
    for index in 0.. {
        let scene = pool.scene(index).unwrap();
        let has = scene.objects.iter().any(|o| o.attributes[2] == rubber && o.attributes[3] == cylinder);
        places.push_back(scene.n_objects());
        if has == (split.1 == SceneRule::With) {
            queues.entry(scene.n_objects()).or_default().push_back((index, scene.graph(vocab)));
        }
        while let Some(next) = places.front().and_then(|n_objects| queues.get_mut(n_objects)?.pop_front()) {
            places.pop_front();
            found.push(next);
            if found.len() == n {
                return found;
            }
        }
    }
    found
}

#[test]
fn a_split_is_the_same_at_any_number_of_threads_and_a_prefix_of_a_longer_one() {
    for split in [TRAIN, OOD] {
        let whole = questions(split, &[2], 1).concat();
        assert_eq!(whole, questions(split, &[2], 5).concat());
        let apart = questions(split, &[1, 1], 2);
        assert!(!apart[0].is_empty() && !apart[1].is_empty());
        assert_eq!(whole, apart.concat());
    }
}

/// A world with so many values that three given ones hardly ever meet, and one or two objects per scene.
fn rare_world() -> World {
    let values = |letter: char, definition: &str| {
        let entries: Vec<String> = (0..60).map(|i| format!("\"{letter}{i}\": {definition}")).collect();
        format!("{{{}}}", entries.join(","))
    };
    let (colors, materials, shapes) = (values('c', "[1, 2, 3]"), values('m', "\"rubber\""), values('s', "\"sphere\""));
    let sizes = "{\"small\": 0.35}";
    let text =
        format!("{{\"sizes\": {sizes}, \"colors\": {colors}, \"materials\": {materials}, \"shapes\": {shapes}}}");
    let properties = Asset { file: "properties.json", bytes: text.as_bytes() };
    let look = Asset { file: "look.json", bytes: include_bytes!("../../../../blender_assets/look.json") };
    let config =
        SceneConfig { width: 48, height: 32, min_pixels: 1, min_objects: 1, max_objects: 2, ..SceneConfig::default() };
    World::new(properties, look, config).unwrap()
}

/// The scenes of a split's next windows, without questions.
fn skip_windows(stream: &mut SplitStream, count: usize) -> Vec<u64> {
    look_for(stream, count).unwrap();
    stream.scenes.skip_windows(count)
}

#[test]
fn a_split_that_a_number_of_objects_starves_says_so() {
    let world = Arc::new(rare_world());
    let templates = Arc::new(Templates::own(world.vocab()).set);
    let holdout = Holdout::new(world.vocab(), &["c0", "m0", "s0"]).unwrap();
    let (pool, scenes, questions, per_scene) = OOD;
    let pool_scenes = Arc::new(PoolScenes::new(world, SEED, pool));
    let rule = SplitRule { name: "complex_ood".to_owned(), scenes, questions, per_scene };
    let mut stream = SplitStream::new(Arc::clone(&pool_scenes), templates, rule, Some(holdout)).unwrap();
    let error = next_windows(&mut stream, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "split complex_ood: of 100000 scenes of 1 object in a row of pool test_ood, none holds c0 m0 s0, and each \
         number of objects must be equally frequent; hold out another pair, or change world.min_objects or \
         world.max_objects"
    );
    assert_eq!(pool_scenes.n_kept(), 0, "no scene is placed to find this out");
}

#[test]
fn each_place_takes_the_next_scene_that_has_its_number_of_objects() {
    for (pool, scenes, questions, per_scene) in [TRAIN, OOD] {
        let rule = SplitRule { name: pool.to_owned(), scenes, questions, per_scene };
        let pool_scenes = Arc::new(PoolScenes::new(Arc::clone(&WORLD), SEED, pool));
        let templates = Arc::new(TEMPLATES.set.clone());
        let held = holdout(WORLD.vocab());
        let open =
            || SplitStream::new(pool_scenes.clone(), templates.clone(), rule.clone(), Some(held.clone())).unwrap();
        let indices = skip_windows(&mut open(), 4);
        let wanted: Vec<u64> = eligible((pool, scenes, questions, per_scene), 1000).iter().map(|(i, _)| *i).collect();
        assert_eq!(indices, wanted);
        let mut counts = BTreeMap::new();
        for &index in &indices {
            *counts.entry(pool_scenes.stream().n_objects(index)).or_insert(0) += 1;
        }
        assert_eq!(counts, (3..=10).map(|number| (number, 125)).collect());
        let in_two = [skip_windows(&mut open(), 3), skip_windows(&mut open(), 4)[750..].to_vec()].concat();
        assert_eq!(in_two, indices);
        let window = next_windows(&mut open(), 1).unwrap();
        assert!(window.questions.iter().all(|question| indices[..WINDOW].contains(&question.scene)));
        assert_eq!(pool_scenes.n_kept(), WINDOW, "only what is asked about is placed");
    }
}

#[test]
fn each_description_of_an_ood_question_is_about_equally_likely_to_name_the_pair() {
    let vocab = WORLD.vocab();
    let (rubber, cylinder) = (vocab.value(2, "rubber").unwrap() as u8, vocab.value(3, "cylinder").unwrap() as u8);
    // By the number of relations before it, how many questions with three relations name the pair there.
    let mut counts = [0_u32; 4];
    for question in questions(OOD, &[16], 2).concat() {
        let steps = &question.program.steps;
        let asks_for_named = matches!(steps.last().unwrap().function, Function::Query(2 | 3));
        if asks_for_named || steps.iter().filter(|step| step.function == Function::Relate).count() != 3 {
            continue; // the last description does not name what is asked for
        }
        let descriptions = steps.split(|step| step.function == Function::Relate);
        let named = descriptions.map(|steps| {
            let has = |kind, value| steps.iter().any(|s| s.function == Function::Filter(kind) && s.argument == value);
            has(2, rubber) && has(3, cylinder)
        });
        // Of several, any may be there by chance.
        if let [only] = named.enumerate().filter(|(_, named)| *named).collect::<Vec<_>>()[..] {
            counts[only.0] += 1;
        }
    }
    let n: u32 = counts.iter().sum();
    assert!(n > 150, "{counts:?}");
    assert!(counts.iter().all(|&count| (0.15..0.4).contains(&(f64::from(count) / f64::from(n)))), "{counts:?}");
}

#[test]
fn if_all_scenes_are_eligible_each_place_takes_its_own() {
    let rule = SplitRule { name: "val".to_owned(), scenes: SceneRule::Any, questions: QuestionRule::Any, per_scene: 9 };
    let pool_scenes = Arc::new(PoolScenes::new(Arc::clone(&WORLD), SEED, "val"));
    let mut stream = SplitStream::new(pool_scenes, Arc::new(TEMPLATES.set.clone()), rule, None).unwrap();
    assert!(skip_windows(&mut stream, 2).into_iter().eq(0..500));
}

#[test]
fn scenes_come_in_the_order_of_places_with_at_most_as_many_questions_as_wanted() {
    for split in [TRAIN, OOD] {
        let made = questions(split, &[1, 1], 2);
        let scenes = eligible(split, 2 * WINDOW);
        for (window, made) in made.iter().enumerate() {
            let own: Vec<u64> = scenes[window * WINDOW..][..WINDOW].iter().map(|(index, _)| *index).collect();
            let places: Vec<_> = made.iter().map(|each| own.iter().position(|&index| index == each.scene)).collect();
            assert!(places.is_sorted(), "{places:?}");
            let mut families: BTreeMap<u64, Vec<u16>> = BTreeMap::new();
            for question in made {
                assert!(own.contains(&question.scene), "scene {} is not of window {window}", question.scene);
                families.entry(question.scene).or_default().push(question.family);
            }
            for (scene, families) in &families {
                assert!(families.len() <= split.3 as usize, "scene {scene}");
                let different: BTreeSet<_> = families.iter().collect();
                assert_eq!(different.len(), families.len(), "scene {scene} has a family twice");
            }
            // Few scenes have too little to ask about.
            let wanted = WINDOW * split.3 as usize;
            assert!(made.len() > wanted * 98 / 100, "{} of {wanted} questions", made.len());
        }
    }
}

/// CLEVR's rule, computed from the counts.
fn may_be_kept(counts: &[u32], answer: usize) -> bool {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let (second, median) = (sorted[sorted.len() - 2], sorted[sorted.len() / 2].max(5));
    f64::from(counts[answer]) <= 1.1 * f64::from(second) && f64::from(counts[answer]) <= 5.0 * f64::from(median)
}

#[test]
fn every_question_was_in_balance_when_it_was_taken() {
    let vocab = WORLD.vocab();
    for split in [TRAIN, OOD] {
        for made in questions(split, &[1, 1], 2) {
            let mut uses = vec![0u32; TEMPLATES.raw.len()];
            let mut counts: Vec<Vec<u32>> = TEMPLATES
                .set
                .families()
                .iter()
                .map(|family| match family.output() {
                    Type::Bool => vec![0; 2],
                    Type::Value(kind) => vec![0; vocab.n_values(kind.into())],
                    _ => vec![0; usize::from(vocab.largest_count()) + 1],
                })
                .collect();
            for of_scene in made.chunk_by(|a, b| a.scene == b.scene) {
                let before = uses.clone();
                let order: Vec<u32> = of_scene.iter().map(|question| before[usize::from(question.family)]).collect();
                assert!(order.is_sorted(), "scene {}: families used {order:?} times", of_scene[0].scene);
                for question in of_scene {
                    let family = usize::from(question.family);
                    let answer = match question.answer {
                        Answer::Bool(truth) => usize::from(truth),
                        Answer::Integer(n) => n.into(),
                        Answer::Value(_, value) | Answer::Relation(value) => value.into(),
                    };
                    assert!(may_be_kept(&counts[family], answer), "{question:?} after {:?}", counts[family]);
                    counts[family][answer] += 1;
                    uses[family] += 1;
                }
            }
        }
    }
}

#[test]
fn every_question_keeps_its_rule_in_program_and_words_and_its_answer() {
    let vocab = WORLD.vocab();
    let synonyms = std::fs::read(own_folder().join("synonyms.json")).unwrap();
    let words = Words::new(vocab, &serde_json::from_slice(&synonyms).unwrap(), ["rubber", "cylinder"]);
    let pair: BTreeSet<(u8, u8)> = ["rubber", "cylinder"]
        .iter()
        .map(|name| vocab.find_value(name).unwrap())
        .map(|(kind, value)| (kind as u8, value as u8))
        .collect();
    for split in [TRAIN, OOD] {
        let scenes: BTreeMap<u64, SceneGraph> = eligible(split, WINDOW).into_iter().collect();
        for question in questions(split, &[1], 2).concat() {
            let wanted = split.2 == QuestionRule::With;
            assert_eq!(program_mentions(&question.program, &pair), wanted, "{}", question.text);
            if wanted {
                assert!(words.anywhere(&question.text), "{}", question.text);
            } else {
                assert!(!words.in_one_phrase(&question.text), "{}", question.text);
            }
            let scene = scenes[&question.scene].view();
            assert_eq!(execute(&question.program, scene, vocab), Ok(question.answer), "{}", question.text);
        }
    }
}

#[test]
fn a_small_set_shows_all_families() {
    let made = questions(TRAIN, &[1], 2).concat();
    let families: BTreeSet<u16> = made[..90].iter().map(|question| question.family).collect();
    assert!(families.len() >= 85, "{} families in 90 questions", families.len());
    // No single file's families come first, because ties are broken at random.
    let first: BTreeSet<&str> =
        made[..9].iter().map(|q| TEMPLATES.set.families()[usize::from(q.family)].file.as_str()).collect();
    assert!(first.len() >= 3, "{first:?}");
}
