//! The native renderer's images of six scenes, on one core.
//!
//! The program keeps its symbols, so that this shows where time goes:
//! `perf record cargo bench -p clevrhope-benchmarks --bench render -- --profile-time 10`

#![allow(clippy::expect_used)]

use clevrhope_core::render::fast::{self, Effort, far_ground::Patches};
use clevrhope_core::render::stage::{Placement, Studio};
use clevrhope_core::render::stop::Stop;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const LOOK: &[u8] = include_bytes!("../../blender_assets/look.json");
/// The placements of the first reference scenes.
const PLACEMENTS: &[u8] = include_bytes!("placements.json");
const SIZE_PX: [u32; 2] = [480, 320];

fn rendering(criterion: &mut Criterion) {
    let studio = Studio::from_json(LOOK, "look.json").expect("the project's own look is valid");
    let patches = Patches::new(studio.ground());
    let placements: Vec<Placement> = serde_json::from_slice(PLACEMENTS).expect("the placements are valid");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    let mut group = criterion.benchmark_group("images");
    group.throughput(Throughput::Elements(placements.len() as u64)).sample_size(10);
    for (quality, effort) in [("draft", Effort::DRAFT), ("standard", Effort::STANDARD)] {
        group.bench_function(format!("{quality}, one core"), |bencher| {
            bencher.iter(|| {
                one.install(|| {
                    for placement in &placements {
                        let [width, height] = SIZE_PX;
                        let stage = studio.stage(placement, width, height).expect("the placements fit the look");
                        black_box(fast::render(&stage, &patches, effort, &Stop::default()));
                    }
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, rendering);
criterion_main!(benches);
