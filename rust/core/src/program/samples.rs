//! Small vocabularies, scenes and programs for tests.

use super::{Argument, Function, Program, Step};
use crate::rng::{StreamKey, StreamRng};
use crate::scene::SceneGraph;
use crate::vocab::Vocabulary;

pub fn vocabulary() -> Vocabulary {
    let properties = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [173, 35, 35], "blue": [42, 75, 215]},
        "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "sphere": "s", "cylinder": "y"}}"#;
    Vocabulary::from_properties_json(properties.as_bytes(), "properties.json", 10).unwrap()
}

/// 0 large red rubber cube, 1 small red metal cube, 2 large blue metal sphere, from left to right.
pub fn three_objects() -> SceneGraph {
    let (before, after) = (vec![vec![], vec![0], vec![0, 1]], vec![vec![1, 2], vec![2], vec![]]);
    let related = [before.clone(), after.clone(), before, after];
    SceneGraph::new(&vocabulary(), vec![[1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1]], &related)
}

/// 0 small red metal sphere, 1 large blue rubber cube, from left to right.
pub fn two_objects() -> SceneGraph {
    let (before, after) = (vec![vec![], vec![0]], vec![vec![1], vec![]]);
    let related = [before.clone(), after.clone(), before, after];
    SceneGraph::new(&vocabulary(), vec![[0, 0, 1, 1], [1, 1, 0, 0]], &related)
}

/// A scene of 0 to `most` objects; relations are arbitrary sets without the object itself.
pub fn random_scene(vocab: &Vocabulary, most: u32, seed: u64) -> SceneGraph {
    let mut rng = StreamKey::new(&[b"test scene"]).at(seed);
    let n = rng.below(most + 1) as u8;
    let attributes = (0..n).map(|_| std::array::from_fn(|kind| rng.below(vocab.n_values(kind) as u32) as u8)).collect();
    let related: Vec<Vec<Vec<u8>>> = (0..vocab.n_relations())
        .map(|_| (0..n).map(|object| (0..n).filter(|&other| other != object && rng.coin()).collect()).collect())
        .collect();
    SceneGraph::new(vocab, attributes, &related)
}

/// A program written as `scene; filter_color[red] 0; count 1`: each step is a function with its argument, then inputs.
pub fn program(text: &str) -> Program {
    let vocab = vocabulary();
    let steps = text.split(';').map(|step| {
        let mut words = step.split_whitespace();
        let head = words.next().unwrap();
        let (name, value) = head.split_once('[').unwrap_or((head, ""));
        let function = Function::from_name(name).unwrap();
        let argument = match function.signature().argument {
            Argument::Nothing => 0,
            wanted @ (Argument::Value(_) | Argument::Relation | Argument::Number) => {
                wanted.parse(value.trim_end_matches(']'), &vocab).unwrap()
            }
        };
        let mut inputs = [0; 2];
        words.zip(&mut inputs).for_each(|(word, input)| *input = word.parse().unwrap());
        Step { function, argument, inputs }
    });
    Program { steps: steps.collect() }
}

/// A well-typed program of up to 20 steps, with any functions that the types allow.
pub fn random_program(vocab: &Vocabulary, seed: u64) -> Program {
    random_program_of(Function::all(), vocab, seed)
}

/// The same with only these functions, and filters.
pub fn random_program_of(functions: &[Function], vocab: &Vocabulary, seed: u64) -> Program {
    let mut rng = StreamKey::new(&[b"test program"]).at(seed);
    let length = 2 + rng.below(18);
    let mut steps = vec![Step { function: Function::Scene, argument: 0, inputs: [0, 0] }];
    while (steps.len() as u32) < length || !ends_in_an_answer(&steps) {
        // Filters are drawn often, because few programs would get far otherwise.
        let function = if rng.below(3) == 0 { Function::Filter(rng.below(4) as u8) } else { any(&mut rng, functions) };
        steps.extend(random_step(function, &steps, vocab, &mut rng));
    }
    Program { steps }
}

fn ends_in_an_answer(steps: &[Step]) -> bool {
    steps.last().is_some_and(|step| step.function.signature().output.is_answer())
}

/// A step that applies the function to earlier steps; None when no step has the type of one of its inputs.
fn random_step(function: Function, steps: &[Step], vocab: &Vocabulary, rng: &mut StreamRng) -> Option<Step> {
    let signature = function.signature();
    let mut inputs = [0; 2];
    for (input, wanted) in inputs.iter_mut().zip(signature.inputs.into_iter().flatten()) {
        let fits = |&i: &u8| steps[usize::from(i)].function.signature().output == wanted;
        let sources: Vec<u8> = (0..steps.len() as u8).filter(fits).collect();
        *input = if sources.is_empty() { return None } else { any(rng, &sources) };
    }
    let argument = rng.below(signature.argument.n_choices(vocab) as u32) as u8;
    Some(Step { function, argument, inputs })
}

fn any<T: Copy>(rng: &mut StreamRng, items: &[T]) -> T {
    items[rng.below(items.len() as u32) as usize]
}
