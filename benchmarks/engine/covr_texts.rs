//! Texts of questions over sets of images written per second, on one core.
//!
//! The workload is one question of each template about a subgraph with two relations, in all phrasings.

#![allow(clippy::expect_used)]

use clevrhope_core::covr::{
    Bound, Comparison, Condition, Connective, Counted, Meaning, Object, Phrasings, Quantifier, Relation, Structure,
    Subgraph,
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
        Meaning::VerifyAttr { g, kind: 1, value: 0 },
        Meaning::ChooseAttr { g, kind: 1, values: [0, 1] },
        Meaning::QueryAttr { g, kind: 1 },
        Meaning::CompareCount { g, g2, counted: Counted::Images, comparison: Comparison::More },
        Meaning::Count { g, counted },
        Meaning::VerifyCount { g, counted, bound, number: 1 },
        Meaning::CountGroupBy { g, of_image },
        Meaning::VerifyCountGroupBy { g, of_image, bound, number: 3 },
        Meaning::VerifyLogic { g, g2, connective: Connective::Or },
        Meaning::VerifyQuantifier { g, quantifier: Quantifier::All, condition },
        Meaning::VerifyQuantifierAttr { g, kind: 1 },
        Meaning::VerifySameAttr { g, g2, kind: 1 },
        Meaning::QueryObject { g, relation },
        Meaning::ChooseObject { g, relation, shapes: [0, 1] },
        Meaning::ChooseRelation { g, object: g.objects[2], relation: 3 },
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
