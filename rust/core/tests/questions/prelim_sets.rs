//! For every value, the preliminary sets ask about it in groups and sets of images in which nothing else changes.

use crate::world::{Templates, clevr, project_world};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::execute;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::scene::{Asset, Pool, Scene, SceneConfig, World};
use clevrhope_core::split::{CountingPool, MinimalKind, MinimalPool};
use clevrhope_core::vocab::{Answer, N_TYPES, Vocabulary};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The type, number and name of every value.
fn values(vocab: &Vocabulary) -> Vec<(usize, u8, String)> {
    (0..N_TYPES)
        .flat_map(|kind| (0..vocab.n_values(kind)).map(move |value| (kind, value)))
        .map(|(kind, value)| (kind, value as u8, vocab.value_name(kind, value).to_owned()))
        .collect()
}

/// The parts of a scene that are the same in all images of its set.
fn staged(scene: &Scene) -> String {
    let places: Vec<_> = scene.objects.iter().map(|o| (o.position[0], o.position[1], o.rotation_deg)).collect();
    format!("{places:?} {:?}", scene.staging)
}

fn check_question(question: &Question, scene: &Scene, vocab: &Vocabulary, name: &str) {
    assert_eq!(question.scene, scene.index);
    let answer = execute(&question.program, scene.graph(vocab).view(), vocab);
    assert_eq!(answer, Ok(question.answer), "{}", question.text);
    assert_eq!(question.program.steps.len(), 3, "{name}: one value and nothing else");
}

#[test]
fn existence_has_the_numbers_that_follow_from_the_minimal_sets() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    // By type: grids, grids with a value, combinations of the other types' values, copies.
    let table = [(1, 1, 48, 20), (28, 7, 12, 2), (1, 1, 48, 20), (3, 2, 32, 10)];
    assert_eq!(values(vocab).len(), 15);
    for (kind, value, name) in values(vocab) {
        let (grids, with_value, combinations, copies) = table[kind];
        let holdout = Holdout::of_one(vocab, &name).unwrap();
        let pool = MinimalPool::new(vocab, &holdout, None).unwrap();
        assert_eq!(
            (pool.n_grids(), pool.n_combinations(), pool.copies(), pool.corners()),
            (grids, combinations, copies, 2)
        );
        let places: Vec<u64> = (0..pool.n_places()).collect();
        let questions = pool.questions(&templates.set, 3, &holdout, MinimalKind::Ood, &places).unwrap();
        assert_eq!(questions.len(), 2 * with_value * combinations * copies, "{name}");

        let indices: Vec<u64> = questions.iter().map(|question| question.scene).collect();
        let scenes = pool.scenes_at(&world, 3, &indices).unwrap();
        let mut others: BTreeMap<[u8; N_TYPES], usize> = BTreeMap::new();
        let mut texts = BTreeSet::new();
        for (group, images) in questions.chunks(2).zip(scenes.chunks(2)) {
            group.iter().zip(images).for_each(|(question, scene)| check_question(question, scene, vocab, &name));
            assert_eq!((group[0].answer, group[1].answer), (Answer::Bool(true), Answer::Bool(false)));
            assert_eq!((&group[0].text, &group[0].program), (&group[1].text, &group[1].program));
            assert_eq!(staged(&images[0]), staged(&images[1]));
            let shown = [0, 1].map(|i| images[i].objects[0].attributes);
            assert!(images.iter().all(|scene| scene.objects.len() == 1));
            assert!(shown[0][kind] == value && shown[1][kind] != value);
            assert!((0..N_TYPES).all(|k| k == kind || shown[0][k] == shown[1][k]));
            *others.entry(shown[1]).or_default() += 1;
            texts.insert(group[0].text.clone());
        }
        assert_eq!(others.len(), with_value * combinations, "{name}");
        assert!(others.values().all(|&n| n == copies), "each other value as often as any");
        assert!(texts.len() >= 6, "every phrasing is used: {texts:?}");
    }
}

#[test]
fn counting_sets_count_from_none_to_all_and_change_nothing_else() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    let positions = CountingPool::positions(&world);
    for (kind, value, name) in values(vocab) {
        let pool = CountingPool::new(vocab, kind).unwrap();
        let n_sets = 100;
        let questions = pool.questions(&templates.set, 3, value, 0..n_sets).unwrap();
        assert_eq!(questions.len() as u64, 6 * n_sets);
        let indices: Vec<u64> = questions.iter().map(|question| question.scene).collect();
        let scenes = pool.scenes_at(&world, 3, &indices).unwrap();
        let (mut texts, mut staging) = (BTreeSet::new(), BTreeSet::new());
        let mut distractors = vec![0_usize; vocab.n_values(kind)];
        let mut last_to_turn = [0_usize; 5];
        for (set, images) in questions.chunks(6).zip(scenes.chunks(6)) {
            set.iter().zip(images).for_each(|(question, scene)| check_question(question, scene, vocab, &name));
            let answers: Vec<Answer> = set.iter().map(|question| question.answer).collect();
            assert_eq!(answers, [0, 1, 2, 3, 4, 5].map(Answer::Integer));
            assert!(set.iter().all(|q| q.text == set[0].text && q.program == set[0].program));
            for scene in images {
                assert_eq!(staged(scene), staged(&images[0]));
                let ground: Vec<[f64; 2]> = scene.objects.iter().map(|o| [o.position[0], o.position[1]]).collect();
                assert_eq!(ground, positions);
            }
            for pair in images.windows(2) {
                let changed: Vec<(usize, usize)> = (0..5)
                    .flat_map(|object| (0..N_TYPES).map(move |k| (object, k)))
                    .filter(|&(object, k)| {
                        pair[0].objects[object].attributes[k] != pair[1].objects[object].attributes[k]
                    })
                    .collect();
                assert!(matches!(changed[..], [(_, k)] if k == kind), "{name}: {changed:?}");
            }
            images[0].objects.iter().for_each(|o| distractors[usize::from(o.attributes[kind])] += 1);
            let last = images[4].objects.iter().position(|o| o.attributes[kind] != value).unwrap();
            last_to_turn[last] += 1;
            texts.insert(set[0].text.clone());
            staging.insert(staged(&images[0]));
        }
        assert_eq!(staging.len() as u64, n_sets, "camera, lights and rotations are drawn anew for each set");
        assert!(texts.len() >= 5, "every phrasing is used: {texts:?}");
        // The counts are uniform, within five standard deviations.
        let near = |n: usize, of: f64, among: f64| (n as f64 - of / among).abs() < 5.0 * (of / among).sqrt();
        assert_eq!(distractors[usize::from(value)], 0);
        let among = vocab.n_values(kind) as f64 - 1.0;
        let mut others = distractors.iter().enumerate().filter(|&(v, _)| v != usize::from(value));
        assert!(others.all(|(_, &n)| near(n, 5.0 * n_sets as f64, among)), "{name}: {distractors:?}");
        assert!(last_to_turn.iter().all(|&n| near(n, n_sets as f64, 5.0)), "{name}: {last_to_turn:?}");
    }
}

#[test]
fn sets_are_a_function_of_their_number_and_their_value() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    let kind = vocab.type_index("color").unwrap();
    let pool = CountingPool::new(vocab, kind).unwrap();
    let many = pool.questions(&templates.set, 3, 2, 0..9).unwrap();
    assert_eq!(many[6 * 4..6 * 6], pool.questions(&templates.set, 3, 2, 4..6).unwrap());
    let indices: Vec<u64> = many.iter().map(|question| question.scene).collect();
    let scenes = pool.scenes_at(&world, 3, &indices).unwrap();
    let mut backwards: Vec<u64> = indices.iter().rev().copied().collect();
    backwards.dedup();
    let again = pool.scenes_at(&world, 3, &backwards).unwrap();
    assert!(again.iter().rev().eq(&scenes));
    assert_ne!(pool.scenes_at(&world, 4, &indices[..1]).unwrap(), scenes[..1]);
    let own: BTreeSet<u64> = indices.into_iter().collect();
    let others: BTreeSet<u64> = pool.questions(&templates.set, 3, 3, 0..9).unwrap().iter().map(|q| q.scene).collect();
    assert!(own.is_disjoint(&others), "no two values share a set");

    let most = (1 << 31) / 48;
    assert_eq!(pool.questions(&templates.set, 3, 7, most - 1..most).unwrap()[5].scene, 48 * most - 1);
    let error = pool.questions(&templates.set, 3, 7, most..most + 1).unwrap_err().to_string();
    assert_eq!(error, "split counting_color: 44739243 sets, but a pool has room for 44739242 of each value");
}

#[test]
fn pools_are_found_by_name_and_a_type_needs_two_values() {
    let world = project_world();
    assert_eq!(CountingPool::named(&world, "counting_shape").unwrap().unwrap().name(), "counting_shape");
    assert!(CountingPool::named(&world, "counting_weight").is_none());
    assert_eq!(MinimalPool::named(&world, "minimal_shape").unwrap().unwrap().name(), "minimal_shape");
    assert!(MinimalPool::named(&world, "minimal_").is_none());
    let one = Vocabulary::from_properties_json(
        br#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3]}, "materials": {"rubber": "r", "metal": "m"},
            "shapes": {"cube": "c", "sphere": "s"}}"#,
        "p",
        10,
    )
    .unwrap();
    let error = CountingPool::new(&one, 1).unwrap_err().to_string();
    assert_eq!(error, "split counting_color: color has one value, so no object can be without it");
}

#[test]
fn without_a_template_that_counts_there_are_no_sets() {
    let vocab = clevr();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../question_templates");
    let zero_hop = std::fs::read(folder.join("zero_hop.json")).unwrap();
    let mut families: Vec<Value> = serde_json::from_slice(&zero_hop).unwrap();
    families.retain(|family| family["nodes"][1]["type"] != "filter_count");
    let files = [("zero_hop".to_owned(), serde_json::to_vec(&families).unwrap())];
    let synonyms = std::fs::read(folder.join("synonyms.json")).unwrap();
    let templates = TemplateSet::from_files(&vocab, &files, &[], ("synonyms.json", &synonyms)).unwrap();
    let error = CountingPool::new(&vocab, 1).unwrap().questions(&templates, 1, 0, 0..1).unwrap_err().to_string();
    let wanted = "no template asks for a count alone (scene, then filter_count, without constraints)";
    assert_eq!(error, format!("split counting_color: {wanted}"));
}

/// The project's world with images of full size.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../blender_assets");
    let read = |name: &str| std::fs::read(assets.join(name)).unwrap();
    let (properties, look) = (read("properties.json"), read("look.json"));
    let asset = |file: &'static str, bytes| Asset { file, bytes };
    World::new(asset("properties.json", &properties), asset("look.json", &look), SceneConfig::default()).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_object_is_well_seen_at_the_five_positions(
        place in any::<u64>(),
        objects in prop::array::uniform5((0u8..2, 0u8..8, 0u8..2, 0u8..3).prop_map(|(z, c, m, s)| [z, c, m, s])),
    ) {
        let n_draws = AtomicUsize::new(0);
        let pool = Pool::new(&WORLD, 7, "any");
        let scenes = pool.arranged(&[place], 1, |_| CountingPool::positions(&WORLD).to_vec(), |_, _| {
            n_draws.fetch_add(1, Ordering::Relaxed);
            vec![objects.to_vec()]
        });
        let scene = scenes.unwrap().remove(0);
        let config = WORLD.config();
        prop_assert_eq!(n_draws.into_inner(), 1, "a constraint was not met at the first try");
        for (i, a) in scene.objects.iter().enumerate() {
            let seen = a.sight.unwrap();
            let [left, top, right, bottom] = seen.bbox;
            prop_assert!(left > 0 && top > 0 && u32::from(right) < config.width && u32::from(bottom) < config.height,
                "object {i} is cut off: {:?}", seen.bbox);
            prop_assert!(seen.visible_px >= config.min_pixels, "object {i}: {} pixels", seen.visible_px);
            prop_assert!(seen.visible_fraction >= 0.4, "object {i}: {}", seen.visible_fraction);
            for b in &scene.objects[i + 1..] {
                let (dx, dy) = (a.position[0] - b.position[0], a.position[1] - b.position[1]);
                let gap = libm::hypot(dx, dy) - a.position[2] - b.position[2];
                prop_assert!(gap >= config.min_distance, "gap {gap}");
                for along in [scene.directions.right(), scene.directions.behind()] {
                    prop_assert!((dx * along[0] + dy * along[1]).abs() >= config.margin);
                }
            }
        }
    }
}
