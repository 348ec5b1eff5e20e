//! Questions made per second for rubber_cylinder, including their texts, on one core and on all.
//!
//! `train` has scenes without the pair, and 9 questions on each that do not mention it; `complex_ood` has scenes with
//! the pair, and one question on each that mentions it. Questions are of all 90 families, balanced over windows of 250
//! scenes, which are sampled before the clock starts. The search states per kept question are printed first.

#![allow(clippy::expect_used)]

use clevrhope_core::holdout::Holdout;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::question::balance::WINDOW;
use clevrhope_core::question::instantiate::Instantiator;
use clevrhope_core::question::plan::Plan;
use clevrhope_core::question::search::{QuestionRule, SearchStats};
use clevrhope_core::rng::StreamKey;
use clevrhope_core::scene::{Pool, World};
use clevrhope_core::{SceneGraph, Vocabulary};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;

/// The number of windows of each workload.
const WINDOWS: usize = 8;
/// The number of scenes sampled for them at a time.
const SAMPLED: u64 = 2_000;

/// The task of making a split's questions on scenes that were sampled before.
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
    /// Makes all questions; returns their number and the statistics of the search.
    fn run(&self) -> (usize, SearchStats) {
        let instantiator = Instantiator::new(self.vocab, self.templates, self.plans, self.rule, Some(self.holdout));
        let window = |scenes: &[(u64, SceneGraph)]| {
            let mut workspace = instantiator.workspace();
            let scenes = scenes.iter().map(|(index, scene)| (*index, scene.view()));
            let questions = instantiator.window(&mut workspace, scenes, &self.key, self.per_scene);
            (questions.len(), workspace.stats)
        };
        let made: Vec<(usize, SearchStats)> = self.scenes.par_chunks(WINDOW).map(window).collect();
        let mut stats = SearchStats::default();
        made.iter().for_each(|(_, of_window)| stats.add(*of_window));
        (made.iter().map(|(n, _)| n).sum(), stats)
    }
}

/// The first scenes of a pool with the pair, or without it.
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

fn questions(criterion: &mut Criterion) {
    let world = clevrhope_benchmarks::world();
    let vocab = world.vocab();
    let templates = clevrhope_benchmarks::TemplateFiles::read().set(vocab);
    let plans = templates.plans(vocab);
    let holdout = Holdout::new(vocab, &["rubber", "cylinder"]).expect("both are values");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    for (name, pool, rule, per_scene) in
        [("train", "train", QuestionRule::Without, 9), ("complex_ood", "test_ood", QuestionRule::With, 1)]
    {
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
        println!(
            "{name}: {n} questions on {} scenes, {:.1} search states and {:.1} options for each, {:.2} attempts",
            workload.scenes.len(),
            stats.states as f64 / n as f64,
            stats.options as f64 / n as f64,
            stats.attempts as f64 / n as f64,
        );
        let mut group = criterion.benchmark_group(format!("questions, {name}"));
        group.throughput(Throughput::Elements(n as u64)).sample_size(20);
        group.bench_function("one core", |bencher| bencher.iter(|| one.install(|| workload.run())));
        group.bench_function("all cores", |bencher| bencher.iter(|| workload.run()));
        group.finish();
    }
}

criterion_group!(benches, questions);
criterion_main!(benches);
