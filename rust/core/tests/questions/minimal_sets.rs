//! For every pair, the minimal sets have CLEVR-HOPE's numbers of images and questions, and fair groups.

use crate::world::{Templates, project_world};
use clevrhope_core::Vocabulary;
use clevrhope_core::holdout::Holdout;
use clevrhope_core::program::execute;
use clevrhope_core::question::instantiate::Question;
use clevrhope_core::split::{DiversityMode, MinimalKind, MinimalPool, seen_palette};
use clevrhope_core::vocab::Answer;
use std::collections::{BTreeMap, BTreeSet};

/// CLEVR-HOPE's pairs by diversity.
const PAIRS: [(usize, &[[&str; 2]]); 4] = [
    (4, &[["large", "rubber"], ["small", "rubber"], ["large", "metal"], ["small", "metal"]]),
    (
        6,
        &[
            ["rubber", "cylinder"],
            ["metal", "cylinder"],
            ["rubber", "cube"],
            ["metal", "cube"],
            ["rubber", "sphere"],
            ["large", "cylinder"],
            ["small", "cylinder"],
            ["small", "cube"],
            ["large", "cube"],
            ["small", "sphere"],
        ],
    ),
    (
        16,
        &[
            ["rubber", "cyan"],
            ["rubber", "brown"],
            ["rubber", "purple"],
            ["metal", "red"],
            ["metal", "gray"],
            ["large", "cyan"],
            ["small", "brown"],
            ["small", "purple"],
            ["small", "red"],
            ["large", "gray"],
        ],
    ),
    (24, &[["cyan", "cylinder"], ["brown", "sphere"], ["red", "cylinder"], ["gray", "cube"], ["purple", "sphere"]]),
];

/// The numbers of a minimal set.
struct Row {
    grids: usize,
    grids_with_the_pair: usize,
    combinations: usize,
    copies: usize,
    groups_with_the_pair: usize,
    ood_questions: usize,
    iid_images: usize,
    iid_questions: usize,
    /// The share of the answer no in IID, in tenths of a percent.
    iid_no: u32,
}

const fn row(numbers: [usize; 8], iid_no: u32) -> Row {
    let [
        grids,
        grids_with_the_pair,
        combinations,
        copies,
        groups_with_the_pair,
        ood_questions,
        iid_images,
        iid_questions,
    ] = numbers;
    Row {
        grids,
        grids_with_the_pair,
        combinations,
        copies,
        groups_with_the_pair,
        ood_questions,
        iid_images,
        iid_questions,
        iid_no,
    }
}

/// The table by diversity, computed from the paper's six bounds.
const TABLE: [Row; 4] = [
    row([1, 1, 24, 40, 960, 3_840, 2_880, 8_640], 667),
    row([3, 2, 16, 20, 640, 2_560, 3_200, 10_880], 706),
    row([28, 7, 6, 5, 210, 840, 3_150, 11_970], 737),
    row([84, 14, 4, 2, 112, 448, 2_576, 9_968], 742),
];

fn images(questions: &[Question]) -> BTreeSet<u64> {
    questions.iter().map(|question| question.scene).collect()
}

fn no_share(questions: &[Question]) -> f64 {
    questions.iter().filter(|q| q.answer == Answer::Bool(false)).count() as f64 / questions.len() as f64
}

/// The indices of the four images of each place.
fn images_of(places: &[u64]) -> Vec<u64> {
    places.iter().flat_map(|place| place * 4..place * 4 + 4).collect()
}

#[test]
fn the_numbers_are_the_papers_for_all_pairs() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    let mut pairs = BTreeSet::new();
    for ((diversity, of_it), row) in PAIRS.into_iter().zip(&TABLE) {
        for pair in of_it {
            pairs.insert(pair);
            let holdout = Holdout::new(vocab, pair).unwrap();
            let pool = MinimalPool::new(vocab, &holdout, None).unwrap();
            let n: usize = (0..4).filter(|&k| holdout.values()[k].is_some()).map(|k| vocab.n_values(k)).product();
            assert_eq!(n, diversity, "{pair:?}");
            let shape = (pool.n_grids(), pool.n_combinations(), pool.copies(), pool.corners());
            assert_eq!(shape, (row.grids, row.combinations, row.copies, 4), "{pair:?}");
            let places: Vec<u64> = (0..pool.n_places()).collect();
            let held = places.iter().filter(|&&place| pool.held_corner(place, &holdout).is_some()).count();
            assert_eq!(held, row.grids_with_the_pair * row.combinations * row.copies, "{pair:?}");
            let ask = |kind| pool.questions(&templates.set, 3, &holdout, kind, &places).unwrap();

            let ood = ask(MinimalKind::Ood);
            assert_eq!((ood.len(), images(&ood).len()), (row.ood_questions, row.ood_questions), "{pair:?}");
            assert_eq!(ood.len(), 4 * row.groups_with_the_pair, "{pair:?}");
            assert_eq!(no_share(&ood), 0.75, "{pair:?}");
            let shows = |question: &Question| shows_pair(&pool, &holdout, question.scene);
            assert_eq!(4 * ood.iter().filter(|q| shows(q)).count(), ood.len(), "{pair:?}");
            assert!(ood.iter().all(|question| holdout.is_mentioned_in(&question.program)), "{pair:?}");

            let iid = ask(MinimalKind::Iid);
            assert_eq!((iid.len(), images(&iid).len()), (row.iid_questions, row.iid_images), "{pair:?}");
            assert!((no_share(&iid) - f64::from(row.iid_no) / 1000.0).abs() < 0.0005, "{pair:?} {}", no_share(&iid));
            assert!(!iid.iter().any(shows), "{pair:?}");
            assert!(!iid.iter().any(|question| holdout.is_mentioned_in(&question.program)), "{pair:?}");
            check_groups(&pool, vocab, &ood);
        }
    }
    assert_eq!(pairs.len(), 29);
}

#[test]
fn a_palette_leaves_the_groups_of_what_it_shows() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    let holdout = Holdout::new(vocab, &["cyan", "cylinder"]).unwrap();
    for (diversity, mode, numbers) in [
        // The paper's numbers for types with as few values.
        (4, DiversityMode::Nested, Some((3_840, 8_640))),
        (4, DiversityMode::Grid, Some((3_840, 8_640))),
        // 960 groups over 6 grids, of which 3 hold the pair, by 4 combinations: 40 copies.
        (8, DiversityMode::Grid, Some((1_920, 12_000))),
        (8, DiversityMode::Nested, None),
        (16, DiversityMode::Nested, None),
        // The paper's numbers.
        (24, DiversityMode::Nested, Some((448, 9_968))),
    ] {
        for seed in 0..4 {
            let palette = seen_palette(vocab, &holdout, diversity, mode, seed, "seen").unwrap();
            let pool = MinimalPool::new(vocab, &holdout, Some(&palette)).unwrap();
            assert_eq!(pool.name(), "minimal_color_shape-seen");
            let places: Vec<u64> = (0..pool.n_places()).collect();
            let ask = |kind| pool.questions(&templates.set, seed, &holdout, kind, &places).unwrap();
            let (iid, ood) = (ask(MinimalKind::Iid), ask(MinimalKind::Ood));
            assert!(numbers.is_none_or(|numbers| numbers == (ood.len(), iid.len())), "{} {}", ood.len(), iid.len());
            assert!(!ood.is_empty() && ood.len().is_multiple_of(4), "{diversity} {seed}: {}", ood.len());
            check_groups(&pool, vocab, &ood);
            assert_eq!(no_share(&ood), 0.75, "{diversity} {seed}");
            assert!((0.66..0.76).contains(&no_share(&iid)), "{diversity} {seed}: {}", no_share(&iid));

            let shown = |question: &Question| pool.attributes(question.scene / 4, (question.scene % 4) as usize);
            for question in &ood {
                let seen = palette.allows(shown(question));
                assert!(seen || shows_pair(&pool, &holdout, question.scene), "{:?}", shown(question));
                assert!(holdout.is_mentioned_in(&question.program));
            }
            let within = holdout.clone().within(vocab, &palette).unwrap();
            for question in &iid {
                assert!(palette.allows(shown(question)), "{:?}", shown(question));
                assert!(!within.absent().unwrap().is_named_in(&question.program), "{}", question.text);
            }
        }
    }
}

#[test]
fn a_palettes_minimal_pool_is_found_by_its_name() {
    let world = project_world();
    let vocab = world.vocab().clone();
    let holdout = Holdout::new(&vocab, &["cyan", "cylinder"]).unwrap();
    let palette = seen_palette(&vocab, &holdout, 4, DiversityMode::Nested, 1, "seen").unwrap();
    let own = MinimalPool::new(&vocab, &holdout, Some(&palette)).unwrap();
    assert!(MinimalPool::named(&world, "minimal_color_shape-seen").is_none());
    assert_eq!(MinimalPool::named(&world, "minimal_color_shape").unwrap().unwrap().n_grids(), 84);
    let world = world.with_palette(palette.clone());
    assert!(MinimalPool::named(&world, "minimal_color_shape").is_none());
    let found = MinimalPool::named(&world, "minimal_color_shape-seen").unwrap().unwrap();
    assert_eq!((found.n_places(), found.n_grids()), (own.n_places(), 1));
    assert!(MinimalPool::named(&world, "minimal_size_shape-seen").unwrap().is_err());
    let scenes = found.scenes_at(&world, 1, &images_of(&[0, 5])).unwrap();
    assert_eq!(scenes.len(), 8);
    assert!(scenes.iter().all(|scene| scene.image_filename().starts_with("HOPE_minimal_color_shape-seen_")));
    assert_eq!(scenes.iter().filter(|scene| palette.allows(scene.objects[0].attributes)).count(), 6);
}

fn shows_pair(pool: &MinimalPool, holdout: &Holdout, scene: u64) -> bool {
    let shown = pool.attributes(scene / 4, (scene % 4) as usize);
    (0..4).all(|kind| holdout.values()[kind].is_none_or(|value| value == shown[kind]))
}

/// Checks that the four questions of a group have the same sentence and place. The first image matches the sentence;
/// the others change the first value, the second, or both, and nothing else.
fn check_groups(pool: &MinimalPool, vocab: &Vocabulary, ood: &[Question]) {
    for group in ood.chunks(4) {
        let shown: Vec<[u8; 4]> = group.iter().map(|q| pool.attributes(q.scene / 4, (q.scene % 4) as usize)).collect();
        let changed: Vec<Vec<usize>> =
            shown.iter().map(|values| (0..4).filter(|&kind| values[kind] != shown[0][kind]).collect()).collect();
        assert!(changed[1].len() == 1 && changed[2].len() == 1 && changed[1] != changed[2], "{changed:?}");
        assert_eq!(changed[3], [changed[1].clone(), changed[2].clone()].concat());
        assert!(group.iter().all(|q| q.text == group[0].text && q.program == group[0].program));
        assert!(group.iter().all(|q| q.scene / 4 == group[0].scene / 4));
        let answers: Vec<bool> = group.iter().map(|q| q.answer == Answer::Bool(true)).collect();
        assert_eq!(answers, [true, false, false, false]);
        group[0].program.check(vocab, &group[0].text).unwrap();
        assert_eq!(group[0].program.steps.len(), 4, "two values and nothing else");
    }
}

#[test]
fn every_combination_of_the_other_values_is_used_equally_often() {
    let world = project_world();
    let vocab = world.vocab();
    let holdout = Holdout::new(vocab, &["rubber", "cylinder"]).unwrap();
    let pool = MinimalPool::new(vocab, &holdout, None).unwrap();
    let mut counts: BTreeMap<[u8; 4], usize> = BTreeMap::new();
    for place in 0..pool.n_places() {
        (0..4).for_each(|corner| *counts.entry(pool.attributes(place, corner)).or_default() += 1);
    }
    assert_eq!(counts.len(), 2 * 8 * 2 * 3);
    // Each shape is in two of the three grids.
    assert!(counts.values().all(|&n| n == 2 * pool.copies()), "{counts:?}");
}

#[test]
fn a_places_images_differ_in_the_values_alone_and_answers_hold() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    for pair in [["rubber", "cylinder"], ["large", "cyan"]] {
        let holdout = Holdout::new(vocab, &pair).unwrap();
        let pool = MinimalPool::new(vocab, &holdout, None).unwrap();
        let (with, without): (Vec<u64>, Vec<u64>) =
            (0..pool.n_places()).step_by(7).partition(|&place| pool.held_corner(place, &holdout).is_some());
        let places = [&with[..3], &without[..2]].concat();
        let scenes = pool.scenes_at(&world, 5, &images_of(&places)).unwrap();
        assert_eq!(scenes.len(), 20);
        let mut staged = BTreeSet::new();
        for images in scenes.chunks(4) {
            let place = |i: usize| {
                let object = &images[i].objects[0];
                (object.position[0], object.position[1], object.rotation_deg, images[i].staging.clone())
            };
            assert!((0..4).all(|i| images[i].objects.len() == 1 && place(i) == place(0)));
            staged.insert(format!("{:?}", place(0)));
        }
        assert_eq!(staged.len(), places.len(), "a place is drawn anew for each");
        for kind in [MinimalKind::Ood, MinimalKind::Iid] {
            for question in pool.questions(&templates.set, 5, &holdout, kind, &places).unwrap() {
                let scene = scenes.iter().find(|scene| scene.index == question.scene).unwrap();
                let answer = execute(&question.program, scene.graph(vocab).view(), vocab);
                assert_eq!(answer, Ok(question.answer), "{}", question.text);
            }
        }
    }
}

#[test]
fn shared_places_are_40_for_all_pairs_and_decide_the_wording() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    let mut all_images = BTreeSet::new();
    let mut texts_of_cubes = Vec::new();
    for ((_, pairs), (row, n_places)) in PAIRS.iter().zip(TABLE.iter().zip([40u64, 40, 35, 28])) {
        for pair in *pairs {
            let holdout = Holdout::new(vocab, pair).unwrap();
            let pool = MinimalPool::new(vocab, &holdout, None).unwrap().shared(vocab).unwrap();
            assert_eq!(pool.name(), "minimal");
            let places: Vec<u64> = (0..pool.n_places()).collect();
            let ask = |kind| pool.questions(&templates.set, 3, &holdout, kind, &places).unwrap();
            let (ood, iid) = (ask(MinimalKind::Ood), ask(MinimalKind::Iid));
            assert_eq!((ood.len(), iid.len()), (row.ood_questions, row.iid_questions), "{pair:?}");
            let shared: BTreeSet<u64> = ood.iter().map(|question| question.scene / 96).collect();
            assert!(shared.iter().copied().eq(0..n_places), "{pair:?}: {shared:?}");
            // At each place a group for each combination of the other values, with one wording.
            let mut groups: BTreeMap<u64, Vec<&[Question]>> = BTreeMap::new();
            ood.chunks_exact(4).for_each(|group| groups.entry(group[0].scene / 96).or_default().push(group));
            for (place, groups) in &groups {
                assert_eq!(groups.len(), row.combinations);
                for group in groups {
                    assert!(group.iter().all(|question| question.scene / 96 == *place));
                    assert!(group.iter().all(|question| question.text == groups[0][0].text));
                    assert_eq!(group.iter().map(|question| question.scene).collect::<BTreeSet<_>>().len(), 4);
                }
            }
            all_images.extend(images(&ood).into_iter().chain(images(&iid)));
            if pair.contains(&"cube") {
                let text = |group: &[Question]| group[0].text.replace(pair[0], "").replace("block", "cube");
                texts_of_cubes.push((pair[0], text(groups[&0][0])));
            }
        }
    }
    assert!(all_images.into_iter().eq(0..3_840), "all pairs together show every object at every place");
    // Pairs of a place are asked for in the same words.
    let words = |text: &str| text.split(' ').count();
    assert!(texts_of_cubes.iter().all(|(_, text)| words(text) == words(&texts_of_cubes[0].1)), "{texts_of_cubes:?}");
}

#[test]
fn an_image_of_a_shared_place_shows_what_is_asked_for() {
    let world = project_world();
    let vocab = world.vocab();
    let templates = Templates::own(vocab);
    for pair in [&["rubber", "cylinder"], &["cyan", "cylinder"]] {
        let holdout = Holdout::new(vocab, pair).unwrap();
        let pool = MinimalPool::new(vocab, &holdout, None).unwrap().shared(vocab).unwrap();
        let places: Vec<u64> = (0..pool.n_places()).step_by(7).collect();
        let ood = pool.questions(&templates.set, 3, &holdout, MinimalKind::Ood, &places).unwrap();
        let iid = pool.questions(&templates.set, 3, &holdout, MinimalKind::Iid, &places).unwrap();
        let indices: Vec<u64> = images(&ood).into_iter().chain(images(&iid)).collect();
        let scenes = MinimalPool::named(&world, "minimal").unwrap().unwrap().scenes_at(&world, 3, &indices).unwrap();
        let scenes: BTreeMap<u64, _> = scenes.into_iter().map(|scene| (scene.index, scene)).collect();
        for question in ood.iter().chain(&iid) {
            let graph = scenes[&question.scene].graph(vocab);
            assert_eq!(execute(&question.program, graph.view(), vocab), Ok(question.answer), "{}", question.text);
        }
        let has_pair = |question: &&Question| holdout.members(vocab, scenes[&question.scene].graph(vocab).view()) != 0;
        assert_eq!(ood.iter().filter(has_pair).count(), ood.len() / 4);
        assert_eq!(iid.iter().filter(has_pair).count(), 0);
        for (a, b) in scenes.values().zip(scenes.values().skip(1)) {
            let same_place = a.index / 96 == b.index / 96;
            let at = |scene: &clevrhope_core::Scene| (scene.objects[0].position[..2].to_vec(), scene.staging.clone());
            assert_eq!(at(a) == at(b), same_place);
        }
    }
    let palette =
        seen_palette(vocab, &Holdout::new(vocab, &["cyan", "cylinder"]).unwrap(), 8, DiversityMode::Nested, 1, "p")
            .unwrap();
    let holdout = Holdout::new(vocab, &["cyan", "cylinder"]).unwrap();
    let pool = MinimalPool::new(vocab, &holdout, Some(&palette)).unwrap();
    let error = pool.shared(vocab).unwrap_err().to_string();
    assert!(error.contains("palette p has not all the objects that shared places show"), "{error}");
}
