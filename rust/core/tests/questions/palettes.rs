//! Pools with a palette, and splits over them: the drawn values, the numbers of objects, and the values in questions.

use crate::chi_square::p_value;
use crate::mention::{Words, program_mentions};
use crate::world::{Templates, next_windows, own_folder, project_world};
use clevrhope_core::Vocabulary;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::execute;
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::scene::{Palette, Pool, World};
use clevrhope_core::split::{DiversityMode, PoolScenes, SceneRule, SplitRule, SplitStream, seen_palette};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

const SEED: u64 = 11;
/// CoGenT's condition A, as in the original file.
const COGENT_A: &str = r#"{"cube": ["gray", "blue", "brown", "yellow"],
    "cylinder": ["red", "green", "purple", "cyan"],
    "sphere": ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"]}"#;

static WORLD: LazyLock<World> = LazyLock::new(project_world);
static TEMPLATES: LazyLock<Arc<Templates>> = LazyLock::new(|| Arc::new(Templates::own(WORLD.vocab())));

/// The values of every object of a world's first scenes, scene by scene.
fn drawn(world: &World, n: u64) -> Vec<Vec<[u8; 4]>> {
    let scenes = Pool::new(world, SEED, "train").scenes(0..n).unwrap();
    scenes.iter().map(|scene| scene.objects.iter().map(|object| object.attributes).collect()).collect()
}

fn seen(pair: &[&str; 2], diversity: usize, mode: DiversityMode) -> Palette {
    let holdout = Holdout::new(WORLD.vocab(), pair).unwrap();
    seen_palette(WORLD.vocab(), &holdout, diversity, mode, SEED, "seen").unwrap()
}

#[test]
fn a_palette_keeps_the_numbers_of_objects() {
    let numbers = |world: &World| -> Vec<usize> { drawn(world, 3_000).iter().map(Vec::len).collect() };
    let without = numbers(&WORLD);
    let palettes = [
        seen(&["cyan", "cylinder"], 4, DiversityMode::Nested),
        seen(&["cyan", "cylinder"], 24, DiversityMode::Nested),
        Palette::from_json(WORLD.vocab(), "A", COGENT_A.as_bytes(), "A").unwrap(),
    ];
    for palette in palettes {
        let with = numbers(&WORLD.with_palette(palette.clone()));
        let p = p_value(&with, &without);
        assert!(p > 1e-3, "{}: p {p}", palette.name());
        // Compares the numbers with the requested uniform distribution from 3 to 10, too.
        let expected = 3_000.0 / 8.0;
        let chi2: f64 =
            (3..=10).map(|n| (with.iter().filter(|&&m| m == n).count() as f64 - expected).powi(2) / expected).sum();
        assert!(chi2 < 24.3, "{chi2}"); // 0.1% point of chi-square with 7 degrees of freedom
    }
}

#[test]
fn a_row_of_combinations_is_drawn_uniformly_and_no_other() {
    let palette = seen(&["cyan", "cylinder"], 8, DiversityMode::Nested);
    let objects = drawn(&WORLD.with_palette(palette.clone()), 2_000).concat();
    let mut counts: BTreeMap<(u8, u8), u32> = BTreeMap::new();
    objects.iter().for_each(|values| *counts.entry((values[1], values[3])).or_default() += 1);
    assert_eq!(counts.len(), 7);
    assert!(counts.keys().all(|&(color, shape)| palette.allows([0, color, 0, shape])), "{counts:?}");
    let expected = objects.len() as f64 / 7.0;
    let chi2: f64 = counts.values().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    assert!(chi2 < 22.5, "{chi2} {counts:?}"); // 0.1% point of chi-square with 6 degrees of freedom
}

#[test]
fn cogents_conditions_can_be_sampled() {
    let vocab = WORLD.vocab();
    let palette = Palette::from_json(vocab, "A", COGENT_A.as_bytes(), "A.json").unwrap();
    assert_eq!(palette.combinations().count(), 16);
    let objects = drawn(&WORLD.with_palette(palette.clone()), 2_000).concat();
    assert!(objects.iter().all(|values| palette.allows(*values)));
    let shown: BTreeSet<(u8, u8)> = objects.iter().map(|values| (values[1], values[3])).collect();
    assert_eq!(shown.len(), 16, "every combination allowed occurs");
    // The original draws a shape first, so a third of the objects are spheres, though half of the combinations are.
    let spheres = objects.iter().filter(|values| vocab.value_name(3, values[3].into()) == "sphere").count();
    let share = spheres as f64 / objects.len() as f64;
    assert!((0.31..0.36).contains(&share), "{share}");
}

#[test]
fn a_palette_is_part_of_the_world() {
    let vocab = WORLD.vocab();
    let of = |text: &str, name: &str| {
        WORLD.with_palette(Palette::from_json(vocab, name, text.as_bytes(), "A").unwrap()).fingerprint().to_owned()
    };
    assert_ne!(of(COGENT_A, "A"), WORLD.fingerprint());
    assert_eq!(of(COGENT_A, "A"), of(COGENT_A, "another name"));
    assert_ne!(of(COGENT_A, "A"), of(&COGENT_A.replace("\"gray\", \"blue\"", "\"blue\""), "A"));
}

/// The first window of a split over a pool with a palette.
fn questions(world: &Arc<World>, pair: &[&str; 2], with: bool) -> Vec<Question> {
    let (name, scenes, questions, per_scene) = if with {
        ("complex_ood", SceneRule::With, QuestionRule::With, 1)
    } else {
        ("train", SceneRule::Without, QuestionRule::Without, 9)
    };
    let rule = SplitRule { name: name.to_owned(), scenes, questions, per_scene };
    let pool_scenes = Arc::new(PoolScenes::new(Arc::clone(world), SEED, name));
    let holdout = Holdout::new(WORLD.vocab(), pair).unwrap();
    let mut stream = SplitStream::new(pool_scenes, Arc::new(TEMPLATES.set.clone()), rule, Some(holdout)).unwrap();
    next_windows(&mut stream, 1).unwrap().questions
}

/// Every single value of two types, and every pair with one value of each, that no object of a palette has.
fn absent(vocab: &Vocabulary, palette: &Palette) -> Vec<BTreeSet<(u8, u8)>> {
    let [first, second] = palette.kinds() else { panic!("{:?}", palette.kinds()) };
    let value = |kind: usize, value: usize| (kind as u8, value as u8);
    let mut sets: Vec<BTreeSet<(u8, u8)>> = Vec::new();
    for a in 0..vocab.n_values(*first) {
        sets.push([value(*first, a)].into());
        for b in 0..vocab.n_values(*second) {
            sets.push([value(*first, a), value(*second, b)].into());
        }
    }
    sets.extend((0..vocab.n_values(*second)).map(|b| [value(*second, b)].into()));
    let has = |set: &BTreeSet<(u8, u8)>| {
        palette.combinations().any(|values| set.iter().all(|&(kind, value)| values[usize::from(kind)] == value))
    };
    sets.retain(|set| !has(set));
    sets
}

#[test]
fn questions_name_nothing_that_no_object_could_be() {
    let vocab = WORLD.vocab();
    let synonyms = std::fs::read(own_folder().join("synonyms.json")).unwrap();
    let synonyms = serde_json::from_slice(&synonyms).unwrap();
    for (pair, diversity) in
        [(["cyan", "cylinder"], 4), (["cyan", "cylinder"], 8), (["cyan", "cylinder"], 24), (["rubber", "cylinder"], 4)]
    {
        let palette = seen(&pair, diversity, DiversityMode::Nested);
        let held: BTreeSet<(u8, u8)> = pair
            .iter()
            .map(|name| vocab.find_value(name).unwrap())
            .map(|(kind, value)| (kind as u8, value as u8))
            .collect();
        let mut held_values = [0; 4];
        held.iter().for_each(|&(kind, value)| held_values[usize::from(kind)] = value);
        for with in [false, true] {
            let combinations = palette.combinations().chain(with.then_some(held_values)).collect();
            let palette = Palette::of_combinations(palette.name(), palette.kinds(), combinations).unwrap();
            let absent = absent(vocab, &palette);
            assert!(diversity < 24 || absent.len() == usize::from(!with), "{absent:?}");
            let phrases: Vec<Words> = absent
                .iter()
                .filter(|set| set.len() == 2)
                .map(|set| {
                    let names: Vec<&str> = set.iter().map(|&(k, v)| vocab.value_name(k.into(), v.into())).collect();
                    Words::new(vocab, &synonyms, [names[0], names[1]])
                })
                .collect();
            let world = Arc::new(WORLD.with_palette(palette));
            let pool = Pool::new(&world, SEED, if with { "complex_ood" } else { "train" });
            let made = questions(&world, &pair, with);
            let wanted = WINDOW * if with { 1 } else { 9 };
            assert!(made.len() > wanted * 95 / 100, "{pair:?} {diversity} {with}: {} of {wanted}", made.len());
            for question in &made {
                let text = &question.text;
                assert_eq!(program_mentions(&question.program, &held), with, "{text}");
                let named = absent.iter().find(|set| program_mentions(&question.program, set));
                assert!(named.is_none(), "{pair:?} {diversity} {with}: {text} names {named:?}");
                assert!(!phrases.iter().any(|words| words.in_one_phrase(text)), "{pair:?} {diversity} {with}: {text}");
            }
            for question in made.iter().step_by(50) {
                let scene = pool.scene(question.scene).unwrap().graph(vocab);
                assert_eq!(execute(&question.program, scene.view(), vocab), Ok(question.answer), "{}", question.text);
            }
        }
    }
}
