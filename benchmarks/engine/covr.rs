//! Questions over several images, with their programs, made per second; scenes are sampled before the clock starts.
//!
//! The attempts per pair and the cells that remain empty are printed first, by template.

#![allow(clippy::expect_used)]

use clevrhope_core::covr::{
    DistractorChoice, PairPlace, Phrasings, SetQuestion, SetQuestions, SetRule, SetStream, Template,
};
use clevrhope_core::holdout::Holdout;
use clevrhope_core::scene::World;
use clevrhope_core::split::{PoolScenes, SceneRule};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::sync::Arc;

const PHRASINGS: &[u8] = include_bytes!("../../question_templates/covr.json");
/// The number of windows of a workload.
const WINDOWS: usize = 8;

fn rule(name: &str, scenes: SceneRule, places: &[PairPlace]) -> SetRule {
    SetRule {
        name: name.to_owned(),
        scenes,
        places: places.to_vec(),
        implied: false,
        distractors: DistractorChoice::Edited,
        half: None,
        paraphrased: false,
    }
}

/// A stream with enough scenes for all windows.
fn stream(world: &Arc<World>, rule: SetRule) -> SetStream {
    let pool_scenes = Arc::new(PoolScenes::new(world.clone(), 0, "train"));
    let pair = Holdout::new(world.vocab(), &["rubber", "cylinder"]).expect("values of different types");
    let phrasings = Phrasings::read(PHRASINGS, "covr.json", world.vocab()).expect("the project's own phrasings");
    let mut stream =
        SetStream::new(pool_scenes, Arc::new(phrasings), rule, Some(pair)).expect("a world with all values");
    while stream.scenes.waiting_windows() < WINDOWS {
        stream.scenes.find_window().expect("scenes without the pair");
    }
    stream
}

fn print(name: &str, made: &SetQuestions) {
    println!("{name}: {} questions of {} windows", made.questions.len(), WINDOWS);
    for template in Template::ALL {
        let of = |question: &&SetQuestion| question.meaning.template() == template;
        let (n, place) = (made.questions.iter().filter(of).count() / 2, template as usize);
        let attempts = made.attempts[place] as f64 / n.max(1) as f64;
        println!(
            "  {:<24}{n:>6} pairs{attempts:>8.1} attempts each{:>6} skipped",
            template.name(),
            made.skipped[place]
        );
    }
}

fn questions(criterion: &mut Criterion) {
    let world = Arc::new(clevrhope_benchmarks::world());
    let without = rule("covr_train", SceneRule::Without, &[PairPlace::Nowhere]);
    let with = rule("covr_test_ood", SceneRule::Any, &[PairPlace::Mentioned, PairPlace::Distractor]);
    for rule in [without, with] {
        let made = stream(&world, rule.clone()).ask(WINDOWS).expect("questions");
        print(&rule.name, &made);
        let mut group = criterion.benchmark_group("covr");
        group.throughput(Throughput::Elements(made.questions.len() as u64)).sample_size(10);
        group.bench_function(&rule.name, |bencher| {
            let set_up = || stream(&world, rule.clone());
            bencher.iter_batched(set_up, |mut stream| stream.ask(WINDOWS).expect("questions"), BatchSize::PerIteration);
        });
    }
}

criterion_group!(benches, questions);
criterion_main!(benches);
