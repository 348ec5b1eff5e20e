//! Programs executed per second: from packed programs and from HDF5 tokens, on all cores; one by one; and on sets of
//! several scenes, which are built for each program.
//!
//! The workload is like a dataset: scenes of 3 to 10 objects, with 50 questions per scene in the shapes of CLEVR's nine
//! template files. Every question has an answer on its scene, because a program that fails early would be cheap.
//! Programs and pairs repeat only by chance. `in order` has the questions of a scene together, as files do; `shuffled`
//! has them in random order.

#![allow(clippy::unwrap_used)] // In a benchmark, a panic is the message.

use clevrhope_core::program::{
    Argument, Function, IllFormed, ProgramTable, ProgramVocabulary, SceneTable, Step, execute, execute_batch,
    execute_on_set, execute_sets, execute_tokens,
};
use clevrhope_core::rng::{StreamKey, StreamRng};
use clevrhope_core::scene::SceneSet;
use clevrhope_core::vocab::N_TYPES;
use clevrhope_core::{Program, SceneGraph, Vocabulary};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const N_SCENES: u64 = 20_000;
const QUESTIONS_A_SCENE: usize = 50;

/// The shapes of CLEVR's families in prefix order, each about as often as in CLEVR. `F` is a run of filters, and `K` an
/// attribute type, the same in the whole shape.
const SHAPES: [&str; 30] = [
    "count F scene",
    "exist F scene",
    "query_K unique F scene",
    "count F relate unique F scene",
    "exist F relate unique F scene",
    "query_K unique F relate unique F scene",
    "count F relate unique F relate unique F scene",
    "query_K unique F relate unique F relate unique F scene",
    "exist F relate unique F relate unique F relate unique F scene",
    "query_K unique F relate unique F relate unique F relate unique F scene",
    "count F intersect relate unique F scene relate unique F scene",
    "query_K unique F intersect relate unique F scene relate unique F scene",
    "count union F scene F scene",
    "count F union F scene F relate unique F scene",
    "equal_K query_K unique F scene query_K unique F scene",
    "equal_K query_K unique F relate unique F scene query_K unique F scene",
    "equal_K query_K unique F scene query_K unique F relate unique F scene",
    "equal_K query_K unique F relate unique F scene query_K unique F relate unique F scene",
    "equal_integer count F scene count F scene",
    "less_than count F scene count F relate unique F scene",
    "greater_than count F relate unique F scene count F scene",
    "count same_K unique F scene",
    "exist same_K unique F scene",
    "count F same_K unique F scene",
    "exist F same_K unique F scene",
    "query_K unique F same_K unique F scene",
    "query_K unique F same_K unique F scene",
    "count F same_K unique F scene",
    "exist F same_K unique F scene",
    "query_K unique F same_K unique F scene",
];

const N_SETS: u64 = 10_000;
const QUESTIONS_A_SET: usize = 10;

/// The shapes of COVR's templates.
const SET_SHAPES: [&str; 16] = [
    "verify_K unique with_relation F scene F scene",
    "choose_K unique with_relation F scene F scene option_K",
    "query_K unique with_relation F scene with_relation F scene F scene",
    "greater_than count with_relation F scene F scene count F scene",
    "count_images unique_images with_relation F scene F scene",
    "count_at_least count with_relation F scene with_relation F scene F scene",
    "count_groups keep_if_values_count_geq group_by_images with_relation F scene F scene",
    "count_is count_images keys keep_if_values_count_eq group_by_images F scene",
    "and exist with_relation F scene F scene exist with_same_K F scene F scene",
    "all F scene with_relation scene F scene",
    "some with_relation F scene F scene F scene",
    "none F scene with_same_K scene F scene",
    "all_same_K with_relation F scene F scene",
    "equal_K query_K unique F scene query_K unique with_relation F scene F scene",
    "query_shape unique with_relation_object scene assert_unique F scene",
    "choose_relation unique F scene F scene",
];

/// The questions of a dataset, scene by scene.
struct Workload {
    vocab: Vocabulary,
    scenes: Vec<SceneGraph>,
    programs: Vec<Program>,
    /// (program, scene) of each question.
    pairs: Vec<(u32, u32)>,
}

impl Workload {
    fn new() -> Self {
        let properties = concat!(env!("CARGO_MANIFEST_DIR"), "/../../blender_assets/properties.json");
        let vocab =
            Vocabulary::from_properties_json(&std::fs::read(properties).unwrap(), "properties.json", 10).unwrap();
        let key = StreamKey::new(&[b"benchmark of programs"]);
        let mut work = Self { vocab, scenes: Vec::new(), programs: Vec::new(), pairs: Vec::new() };
        for number in 0..N_SCENES {
            let mut rng = key.at(number);
            let scene = scene(&work.vocab, &mut rng);
            for _ in 0..QUESTIONS_A_SCENE {
                let program = question(&work.vocab, &scene, &mut rng);
                work.pairs.push((work.programs.len() as u32, number as u32));
                work.programs.push(program);
            }
            work.scenes.push(scene);
        }
        work
    }

    fn scene_table(&self) -> SceneTable {
        SceneTable::new(&self.vocab, &self.scenes.iter().map(SceneGraph::view).collect::<Vec<_>>())
    }

    /// The pairs in random order.
    fn shuffled(&self) -> Vec<(u32, u32)> {
        let mut pairs = self.pairs.clone();
        StreamKey::new(&[b"benchmark order"]).at(0).shuffle(&mut pairs);
        pairs
    }

    /// The programs as in an HDF5 file: rows of tokens, as wide as the longest program needs.
    fn tokens(&self) -> (ProgramVocabulary, Vec<i32>, usize) {
        let vocabulary = ProgramVocabulary::new(&self.vocab);
        let width = self.programs.iter().map(|program| program.steps.len()).max().unwrap() + 2;
        let mut tokens = vec![0; self.programs.len() * width];
        for (program, row) in self.programs.iter().zip(tokens.chunks_exact_mut(width)) {
            vocabulary.encode_into(program, row).unwrap();
        }
        (vocabulary, tokens, width)
    }
}

/// Questions over five scenes, set by set.
struct Sets {
    sets: Vec<[i32; 5]>,
    programs: Vec<Program>,
    /// (program, set) of each question.
    pairs: Vec<(u32, u32)>,
}

impl Sets {
    fn new(work: &Workload) -> Self {
        let key = StreamKey::new(&[b"benchmark of sets"]);
        let mut made = Self { sets: Vec::new(), programs: Vec::new(), pairs: Vec::new() };
        for number in 0..N_SETS {
            let mut rng = key.at(number);
            let row: [i32; 5] = std::array::from_fn(|_| rng.below(N_SCENES as u32) as i32);
            let Ok(set) = SceneSet::of_row(&work.scenes, &row) else { continue };
            let first = made.programs.len();
            while made.programs.len() < first + QUESTIONS_A_SET {
                let shape = SET_SHAPES[rng.below(SET_SHAPES.len() as u32) as usize];
                let tries = (0..200).map(|_| {
                    let scene = &work.scenes[row[rng.below(5) as usize] as usize];
                    instantiate(shape, &work.vocab, scene, &mut rng)
                });
                let has_answer = |program: &Program| execute_on_set(program, &set, &work.vocab).is_ok();
                let Some(program) = tries.into_iter().find(has_answer) else { continue };
                made.pairs.push((made.programs.len() as u32, made.sets.len() as u32));
                made.programs.push(program);
            }
            made.sets.push(row);
        }
        made
    }
}

/// A scene of 3 to 10 objects with random values and relations.
fn scene(vocab: &Vocabulary, rng: &mut StreamRng) -> SceneGraph {
    let n = 3 + rng.below(8) as usize;
    let attributes = (0..n).map(|_| std::array::from_fn(|kind| rng.below(vocab.n_values(kind) as u32) as u8)).collect();
    let places: Vec<[f64; 2]> = (0..n).map(|_| [rng.unit(), rng.unit()]).collect();
    let beyond = |axis: usize, sign: f64| -> Vec<Vec<u8>> {
        let further = |a: &[f64; 2], b: &[f64; 2]| sign * (b[axis] - a[axis]) > 0.03;
        places.iter().map(|a| (0..n as u8).filter(|&b| further(a, &places[usize::from(b)])).collect()).collect()
    };
    SceneGraph::new(vocab, attributes, &[beyond(0, -1.0), beyond(0, 1.0), beyond(1, 1.0), beyond(1, -1.0)])
}

/// A question of a random shape that has an answer on the scene.
fn question(vocab: &Vocabulary, scene: &SceneGraph, rng: &mut StreamRng) -> Program {
    loop {
        let shape = SHAPES[rng.below(SHAPES.len() as u32) as usize];
        // A shape that rarely has an answer on a scene gets many tries, so that long questions are not rare.
        for _ in 0..200 {
            let program = instantiate(shape, vocab, scene, rng);
            if execute(&program, scene.view(), vocab).is_ok() {
                return program;
            }
        }
    }
}

/// A program of a shape, in which each run of filters describes some object of the scene.
fn instantiate(shape: &str, vocab: &Vocabulary, scene: &SceneGraph, rng: &mut StreamRng) -> Program {
    let kind = rng.below(N_TYPES as u32) as u8;
    let mut steps: Vec<Step> = Vec::new();
    let mut open = Vec::new();
    for word in shape.split(' ').rev() {
        if word == "F" {
            let object = scene.view().attributes[rng.below(scene.n_objects() as u32) as usize];
            for (kind, value) in (0..).zip(object) {
                if rng.below(8) < 5 {
                    let inputs = [open.pop().unwrap_or(0), 0];
                    open.push(steps.len() as u8);
                    steps.push(Step { function: Function::Filter(kind), argument: value, inputs });
                }
            }
            continue;
        }
        let function = match word {
            "query_K" => Function::Query(kind),
            "same_K" => Function::Same(kind),
            "equal_K" => Function::Equal(kind),
            "verify_K" => Function::Verify(kind),
            "choose_K" => Function::Choose(kind),
            "option_K" => Function::Option(kind),
            "with_same_K" => Function::WithSame(kind),
            "all_same_K" => Function::AllSame(kind),
            name => Function::from_name(name).unwrap(),
        };
        let mut inputs = [0; 2];
        (0..function.arity()).for_each(|input| inputs[input] = open.pop().unwrap());
        let argument = match function.signature().argument {
            Argument::Nothing => 0,
            wanted => rng.below(wanted.n_choices(vocab).min(4) as u32) as u8,
        };
        open.push(steps.len() as u8);
        steps.push(Step { function, argument, inputs });
    }
    Program { steps }
}

fn programs(criterion: &mut Criterion) {
    let work = Workload::new();
    let n_steps: usize = work.programs.iter().map(|program| program.steps.len()).sum();
    println!(
        "{} questions of {:.1} steps on {} scenes, {} threads",
        work.pairs.len(),
        n_steps as f64 / work.programs.len() as f64,
        work.scenes.len(),
        rayon::current_num_threads()
    );
    let (scenes, table) = (work.scene_table(), ProgramTable::new(&work.vocab, &work.programs));
    let (vocabulary, tokens, width) = work.tokens();
    let shuffled = work.shuffled();
    let scene_numbers: Vec<u32> = work.pairs.iter().map(|pair| pair.1).collect();

    let mut group = criterion.benchmark_group("programs");
    group.sample_size(30).throughput(Throughput::Elements(work.pairs.len() as u64));
    for (order, pairs) in [("in order", &work.pairs), ("shuffled", &shuffled)] {
        group.bench_function(format!("batch, {order}"), |bencher| {
            bencher.iter(|| execute_batch(&table, &scenes, black_box(pairs), &work.vocab).unwrap());
        });
    }
    group.bench_function("from tokens", |bencher| {
        let run = || {
            let tokens = black_box(tokens.as_slice());
            execute_tokens(&vocabulary, tokens, width, &scenes, &scene_numbers, &work.vocab, IllFormed::Refuse)
        };
        bencher.iter(|| run().unwrap());
    });

    let sets = Sets::new(&work);
    group.throughput(Throughput::Elements(sets.pairs.len() as u64));
    group.bench_function("on sets of five scenes", |bencher| {
        let run = || execute_sets(&sets.programs, &work.scenes, &sets.sets, black_box(&sets.pairs), &work.vocab);
        bencher.iter(|| run().unwrap());
    });

    group.throughput(Throughput::Elements(1000));
    let some = &work.pairs[..1000];
    group.bench_function("one by one", |bencher| {
        bencher.iter(|| {
            for &(program, scene) in some {
                let (program, scene) = (&work.programs[program as usize], &work.scenes[scene as usize]);
                black_box(execute(program, scene.view(), &work.vocab).unwrap());
            }
        });
    });
    group.bench_function("written as JSON", |bencher| {
        let write = |mut out: Vec<u8>| {
            work.programs[..1000].iter().for_each(|program| program.write_json(&work.vocab, &mut out));
            out
        };
        bencher.iter_batched(|| Vec::with_capacity(1 << 20), write, BatchSize::LargeInput);
    });
    let json: Vec<Vec<u8>> = work.programs[..1000]
        .iter()
        .map(|program| {
            let mut out = Vec::new();
            program.write_json(&work.vocab, &mut out);
            out
        })
        .collect();
    group.bench_function("read from JSON", |bencher| {
        bencher.iter(|| json.iter().for_each(|text| drop(Program::from_json(text, &work.vocab, "program").unwrap())));
    });
    group.finish();
}

criterion_group!(benches, programs);
criterion_main!(benches);
