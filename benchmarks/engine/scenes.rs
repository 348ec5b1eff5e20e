//! Scenes sampled per second, with exact visibility at 480 x 320, on one core and on all; scenes written per second.

#![allow(clippy::expect_used)]

use clevrhope_core::scene::{Pool, json};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SCENES: u64 = 2_000;

fn sampling(criterion: &mut Criterion) {
    let world = clevrhope_benchmarks::world();
    let pool = Pool::new(&world, 0, "train");
    let mut group = criterion.benchmark_group("scenes");
    group.throughput(Throughput::Elements(SCENES)).sample_size(10);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    group.bench_function("sampled, one core", |bencher| {
        bencher.iter(|| one.install(|| pool.map_scenes(0..SCENES, |scene| scene.n_objects())));
    });
    group.bench_function("sampled, all cores", |bencher| {
        bencher.iter(|| pool.map_scenes(0..SCENES, |scene| scene.n_objects()));
    });
    let scenes = pool.scenes(0..SCENES).expect("the default constraints can be met");
    let mut bytes = Vec::new();
    group.bench_function("written, one core", |bencher| {
        bencher.iter(|| {
            bytes.clear();
            for scene in &scenes {
                json::write_scene(scene, world.vocab(), &mut bytes).expect("writing to memory does not fail");
            }
            black_box(bytes.len())
        });
    });
    group.finish();
}

criterion_group!(benches, sampling);
criterion_main!(benches);
