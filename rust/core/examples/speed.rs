//! Questions made a second for rubber_cylinder, text included, on one core and on all.
//!
//! `train`: scenes without the pair, 9 questions each that do not mention it; `complex_ood`: scenes with
//! it, one question each that does. All 90 families, balanced over windows of 250 scenes, which are
//! sampled before the clock starts. Search states for each question kept are printed first.

#![allow(clippy::expect_used)]

use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::instantiate::Instantiator;
use clevrhope_core::question::plan::Plan;
use clevrhope_core::question::search::{QuestionRule, SearchStats};
use clevrhope_core::rng::StreamKey;
use clevrhope_core::scene::{Asset, Pool, SceneConfig, World};
use clevrhope_core::split::{Holdout, WINDOW};
use clevrhope_core::{SceneGraph, Vocabulary};

/// Windows of each workload.
const WINDOWS: usize = 8;
/// Scenes sampled for them at a time.
const SAMPLED: u64 = 2_000;

fn world() -> World {
    let properties =
        Asset { file: "properties.json", bytes: include_bytes!("../../../blender_assets/properties.json") };
    let look = Asset { file: "look.json", bytes: include_bytes!("../../../blender_assets/look.json") };
    World::new(properties, look, SceneConfig::default()).expect("the project's own assets are valid")
}

fn templates(vocab: &Vocabulary) -> TemplateSet {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../question_templates");
    let read = |file: &str| std::fs::read(format!("{folder}/{file}")).expect("the project's own templates are there");
    let order: serde_json::Value = serde_json::from_slice(&read("families.json")).expect("it is JSON");
    let order: Vec<String> = order["files"]
        .as_array()
        .expect("a list of files")
        .iter()
        .filter_map(|file| file.as_str()?.strip_suffix(".json").map(str::to_owned))
        .collect();
    let files: Vec<(String, Vec<u8>)> =
        order.iter().map(|name| (name.clone(), read(&format!("{name}.json")))).collect();
    TemplateSet::from_files(vocab, &files, &order, ("synonyms.json", &read("synonyms.json")))
        .expect("the project's own templates are valid")
}

/// A split's questions on scenes sampled beforehand.
struct Workload<'a> {
    vocab: &'a Vocabulary,
    templates: &'a TemplateSet,
    plans: &'a [Plan],
    holdout: &'a Holdout,
    rule: QuestionRule,
    per_scene: u32,
    scenes: Vec<(u64, SceneGraph)>,
    key: StreamKey,
}

impl Workload<'_> {
    /// Makes all questions; how many, and the work that it took.
    #[inline(never)]
    fn run(&self) -> (usize, SearchStats) {
        let instantiator = Instantiator::new(self.vocab, self.templates, self.plans, self.rule, Some(self.holdout));
        let window = |scenes: &[(u64, SceneGraph)]| {
            let mut workspace = instantiator.workspace();
            let scenes = scenes.iter().map(|(index, scene)| (*index, scene.view()));
            let questions = instantiator.window(&mut workspace, scenes, &self.key, self.per_scene);
            (questions.len(), workspace.stats())
        };
        let made: Vec<(usize, SearchStats)> = self.scenes.chunks(WINDOW).map(window).collect();
        let mut stats = SearchStats::default();
        made.iter().for_each(|(_, of_window)| stats.add(*of_window));
        (made.iter().map(|(n, _)| n).sum(), stats)
    }
}

/// The first scenes of a pool that have the pair, or that do not.
fn scenes(world: &World, name: &str, holdout: &Holdout, with: bool) -> Vec<(u64, SceneGraph)> {
    let pool = Pool::new(world, 0, name);
    let mut chosen = Vec::new();
    for first in (0..).step_by(SAMPLED as usize) {
        let graphs =
            pool.map_scenes(first..first + SAMPLED, |scene| scene.graph(world.vocab())).expect("scenes can be sampled");
        let indexed = (first..).zip(graphs);
        chosen.extend(indexed.filter(|(_, scene)| (holdout.members(world.vocab(), scene.view()) != 0) == with));
        if chosen.len() >= WINDOWS * WINDOW {
            break;
        }
    }
    chosen.truncate(WINDOWS * WINDOW);
    chosen
}

fn cpu() -> u64 {
    std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap()
}

fn main() {
    let world = world();
    let vocab = world.vocab();
    let templates = templates(vocab);
    let plans = templates.plans(vocab);
    let holdout = Holdout::new(vocab, &["rubber", "cylinder"]).expect("both are values");
    let only = std::env::args().nth(1);
    for (name, pool, rule, per_scene) in
        [("train", "train", QuestionRule::Without, 9), ("complex_ood", "test_ood", QuestionRule::With, 1)]
    {
        if only.as_deref().is_some_and(|o| o != name) {
            continue;
        }
        let workload = Workload {
            vocab,
            templates: &templates,
            plans: &plans,
            holdout: &holdout,
            rule,
            per_scene,
            scenes: scenes(&world, pool, &holdout, rule == QuestionRule::With),
            key: StreamKey::new(&[b"bench questions", name.as_bytes()]),
        };
        let (n, stats) = workload.run();
        let reps = std::env::var("REPS").map_or(if per_scene == 9 { 16 } else { 60 }, |r| r.parse().unwrap());
        let mut times: Vec<f64> = (0..reps)
            .map(|_| {
                let t = cpu();
                workload.run();
                (cpu() - t) as f64 / 1e9
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "{name}: {n} q, states {:.2} options {:.1} attempts {:.2}; {:.0}/s median {:.0}/s best",
            stats.states as f64 / n as f64,
            stats.options as f64 / n as f64,
            stats.attempts as f64 / n as f64,
            n as f64 / times[reps / 2],
            n as f64 / times[0]
        );
    }
}
