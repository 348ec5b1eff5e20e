//! Texts of questions over sets of images written per second, on one core.
//!
//! The workload is one question of each template about a subgraph with two relations, in all phrasings.

#![allow(clippy::expect_used)]

use clevrhope_core::covr::{
    Ask, Bound, Comparison, Condition, Connective, Counted, Meaning, Object, Phrasings, Quantifier, Relation,
    Structure, Subgraph,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// A large cube that is left of a sphere that is behind a cylinder.
fn chain() -> Subgraph {
    let object = |shape, attribute| Object { shape: Some(shape), attribute };
    let objects = [object(0, Some((0, 0))), object(1, None), object(2, None)];
    Subgraph { structure: Structure::Chain, objects, relations: [Relation::Spatial(0), Relation::Spatial(2)] }
}

fn meanings() -> Vec<Meaning> {
    let (g, g2) = (chain(), Subgraph { structure: Structure::V, ..chain() });
    let (counted, bound, of_image) = (Counted::Objects, Bound::Exactly, (Bound::AtMost, 2));
    let condition = Condition::Related(Relation::Same(1), g.objects[2], None);
    let relation = Relation::Spatial(3);
    vec![
        Ask::VerifyAttr { kind: 1, value: 0 }.of(g),
        Ask::ChooseAttr { kind: 1, values: [0, 1] }.of(g),
        Ask::QueryAttr { kind: 1 }.of(g),
        Ask::CompareCount { g2, counted: Counted::Images, comparison: Comparison::More }.of(g),
        Ask::Count { counted }.of(g),
        Ask::VerifyCount { counted, bound, number: 1 }.of(g),
        Ask::CountGroupBy { of_image }.of(g),
        Ask::VerifyCountGroupBy { of_image, bound, number: 3 }.of(g),
        Ask::VerifyLogic { g2, connective: Connective::Or }.of(g),
        Ask::VerifyQuantifier { quantifier: Quantifier::All, condition }.of(g),
        Ask::VerifyQuantifierAttr { kind: 1 }.of(g),
        Ask::VerifySameAttr { g2, kind: 1 }.of(g),
        Ask::QueryObject { relation }.of(g),
        Ask::ChooseObject { relation, shapes: [0, 1] }.of(g),
        Ask::ChooseRelation { object: g.objects[2], relation: 3 }.of(g),
    ]
}

fn texts(c: &mut Criterion) {
    let file = include_bytes!("../../question_templates/covr.json");
    let phrasings =
        Phrasings::read(file, "covr.json", clevrhope_benchmarks::world().vocab()).expect("the project's own are valid");
    let meanings = meanings();
    let mut group = c.benchmark_group("covr_texts");
    group.throughput(Throughput::Elements(meanings.iter().map(|meaning| phrasings.n(meaning) as u64).sum()));
    let mut text = String::new();
    group.bench_function("written", |b| {
        b.iter(|| {
            for meaning in &meanings {
                for phrasing in 0..phrasings.n(meaning) {
                    text.clear();
                    phrasings.write(meaning, phrasing, &mut text);
                    std::hint::black_box(&text);
                }
            }
        });
    });
    group.finish();
}

criterion_group!(benches, texts);
criterion_main!(benches);
