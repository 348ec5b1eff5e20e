//! Texts parsed per second, on one core and on all: 90 families, whose questions are made before the clock starts.

#![allow(clippy::expect_used)]

use clevrhope_core::audit::{Names, TextParser};
use clevrhope_core::program::encode::ProgramVocabulary;
use clevrhope_core::question::generator::QuestionGenerator;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::question::tokens::tokenize;
use clevrhope_core::scene::Pool;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;

const SCENES: u64 = 2_000;

fn parse(criterion: &mut Criterion) {
    let world = clevrhope_benchmarks::world();
    let vocab = world.vocab();
    let read = clevrhope_benchmarks::TemplateFiles::read();
    let templates = read.set(vocab);

    let words = templates.words();
    let names = Names::new(&words, ProgramVocabulary::new(vocab).names(), &[]);
    let parser = TextParser::new(&names, &read.files, &read.synonyms).expect("the project's own templates are valid");
    let pool = Pool::new(&world, 1, "train");
    let scenes = pool.map_scenes(0..SCENES, |scene| scene.graph(vocab)).expect("scenes can be sampled");
    let scenes: Vec<_> = scenes.iter().enumerate().map(|(i, scene)| (i as u64, scene.view())).collect();
    let plans = templates.plans(vocab);
    let questions = QuestionGenerator::new(vocab, &templates, &plans, QuestionRule::Any, None, 1, 9).generate(&scenes);
    let number = |word: &str| words.iter().position(|known| known == word).map_or(-1, |i| i as i32);
    let texts: Vec<Vec<i32>> =
        questions.iter().map(|question| tokenize(&question.text).into_iter().map(number).collect()).collect();

    let mut group = criterion.benchmark_group("texts read backwards");
    group.throughput(Throughput::Elements(texts.len() as u64)).sample_size(20);
    let all = || texts.par_iter().with_min_len(256).map(|text| parser.read(text).len()).sum::<usize>();
    assert!(all() >= texts.len(), "a text was not read");
    group.bench_function("one core", |b| b.iter(|| texts.iter().map(|text| parser.read(text).len()).sum::<usize>()));
    group.bench_function("all cores", |b| b.iter(all));
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
