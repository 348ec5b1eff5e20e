//! Execution of one program on one scene: its answer, or the outputs of all steps.

use super::facts::Facts;
use super::{Invalid, MAX_STEPS, Program, Step, Type};
use crate::scene::SceneView;
use crate::vocab::{Answer, Vocabulary};

impl Facts for (SceneView<'_>, &Vocabulary) {
    #[inline(always)]
    fn everything(self) -> u32 {
        self.0.everything()
    }

    #[inline(always)]
    fn having(self, kind: u8, value: u8) -> u32 {
        self.0.members[self.1.value_row(usize::from(kind), usize::from(value))]
    }

    #[inline(always)]
    fn related(self, relation: u8, object: u32) -> u32 {
        self.0.related(usize::from(relation), object as usize)
    }

    #[inline(always)]
    fn value(self, kind: u8, object: u32) -> u32 {
        u32::from(self.0.attributes[object as usize][usize::from(kind)])
    }
}

/// A step's output.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// Object numbers, ascending.
    Set(Vec<u8>),
    Object(u8),
    /// An integer, a truth value or an attribute value.
    Answer(Answer),
}

impl Output {
    /// The output of a type that a word stands for.
    fn new(output: Type, word: u32) -> Self {
        match answer(output, word) {
            Some(answer) => Self::Answer(answer),
            None if output == Type::Set => Self::Set((0..32).filter(|object| word >> object & 1 == 1).collect()),
            None => Self::Object(word as u8),
        }
    }
}

/// The answer that a word of a type stands for; None for sets and objects.
#[inline]
pub(super) fn answer(output: Type, word: u32) -> Option<Answer> {
    match output {
        Type::Set | Type::Object => None,
        Type::Integer => Some(Answer::Integer(word as u8)),
        Type::Bool => Some(Answer::Bool(word != 0)),
        Type::Value(kind) => Some(Answer::Value(kind, word as u8)),
    }
}

/// The answer of a checked program on a scene of the same vocabulary.
///
/// Every step is executed, as in CLEVR's question engine, even if the last step does not depend on it.
///
/// # Errors
/// `Invalid`: `unique` was applied to a set without exactly one object. This is common and cheap.
///
/// # Panics
/// When the steps would not pass `Program::check`.
#[inline]
pub fn execute(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Result<Answer, Invalid> {
    run_to_answer(&program.steps, (scene, vocab), &mut [0; MAX_STEPS])
}

/// The answer of checked steps; `words` holds the outputs of all steps afterwards.
#[inline(always)]
pub(super) fn run_to_answer<F: Facts>(
    steps: &[Step],
    facts: F,
    words: &mut [u32; MAX_STEPS],
) -> Result<Answer, Invalid> {
    run(steps, facts, words).map_err(|_| Invalid)?;
    let last = steps.last().ok_or(Invalid)?;
    // A checked program ends in a type that has answers.
    answer(last.function.signature().output, words[steps.len() - 1]).ok_or(Invalid)
}

/// The word of each step's output: a set as a mask, an object or integer as a number, a truth value as 0 or 1, a value
/// as its number.
///
/// # Errors
/// `Invalid`: `unique` was applied to a set without exactly one object.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn outputs(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Result<[u32; MAX_STEPS], Invalid> {
    let mut words = [0; MAX_STEPS];
    run(&program.steps, (scene, vocab), &mut words).map_err(|_| Invalid)?;
    Ok(words)
}

/// The outputs of the steps in order, up to the first `unique` that fails: all of them when the program has an
/// answer, else those before the failed step.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn trace(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Vec<Output> {
    let mut words = [0; MAX_STEPS];
    let done = run(&program.steps, (scene, vocab), &mut words).map_or_else(|failed| failed, |()| program.steps.len());
    let steps = program.steps.iter().zip(words).take(done);
    steps.map(|(step, word)| Output::new(step.function.signature().output, word)).collect()
}

/// Writes the output of each step into `words`; an error is the number of the failed step.
#[inline(always)]
fn run<F: Facts>(steps: &[Step], facts: F, words: &mut [u32; MAX_STEPS]) -> Result<(), usize> {
    for (i, step) in steps.iter().enumerate() {
        let inputs = step.inputs.map(|input| words[usize::from(input)]);
        words[i] = step.function.meaning(facts, step.argument, inputs).map_err(|Invalid| i)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, program};
    use super::*;

    // Objects: 0 large red rubber cube, 1 small red metal cube, 2 large blue metal sphere;
    // from left to right 0, 1, 2.
    fn run_on_three(nodes: &str) -> (Result<Answer, Invalid>, Vec<Output>) {
        let (vocab, scene) = (samples::vocabulary(), samples::three_objects());
        let program = program(nodes);
        (execute(&program, scene.view(), &vocab), trace(&program, scene.view(), &vocab))
    }

    #[test]
    fn each_function_means_what_clevr_means() {
        let cases = [
            ("scene; count 0", Answer::Integer(3)),
            ("scene; filter_color[red] 0; count 1", Answer::Integer(2)),
            ("scene; filter_shape[cylinder] 0; exist 1", Answer::Bool(false)),
            ("scene; filter_color[blue] 0; unique 1; query_shape 2", Answer::Value(3, 1)),
            ("scene; filter_color[blue] 0; unique 1; relate[left] 2; count 3", Answer::Integer(2)),
            ("scene; filter_color[blue] 0; unique 1; same_material 2; count 3", Answer::Integer(1)),
            ("scene; filter_color[red] 0; filter_shape[sphere] 0; union 1 2; count 3", Answer::Integer(3)),
            ("scene; filter_color[red] 0; filter_size[large] 0; intersect 1 2; count 3", Answer::Integer(1)),
            ("scene; filter_color[red] 0; count 1; count 0; less_than 2 3", Answer::Bool(true)),
            ("scene; filter_color[red] 0; count 1; count 0; greater_than 2 3", Answer::Bool(false)),
            (
                "scene; filter_color[red] 0; count 1; filter_material[metal] 0; count 3; equal_integer 2 4",
                Answer::Bool(true),
            ),
            (
                "scene; filter_color[blue] 0; unique 1; filter_shape[sphere] 0; unique 3; equal_object 2 4",
                Answer::Bool(true),
            ),
            (
                "scene; filter_color[blue] 0; unique 1; query_size 2; filter_material[rubber] 0; unique 4; query_size 5; \
                 equal_size 3 6",
                Answer::Bool(true),
            ),
        ];
        for (nodes, answer) in cases {
            assert_eq!(run_on_three(nodes).0, Ok(answer), "{nodes}");
        }
    }

    #[test]
    fn the_functions_of_suites_mean_what_they_say() {
        const BLUE: &str = "scene; filter_color[blue] 0; unique 1";
        let truth = |nodes: &str| match run_on_three(nodes).0 {
            Ok(Answer::Bool(truth)) => truth,
            other => panic!("{nodes}: {other:?}"),
        };
        for (shape, expected) in [("sphere", true), ("cube", false), ("cylinder", false)] {
            assert_eq!(truth(&format!("{BLUE}; verify_shape[{shape}] 2")), expected, "{shape}");
        }
        assert!(truth(&format!("{BLUE}; verify_size[large] 2")) && !truth(&format!("{BLUE}; verify_size[small] 2")));
        for n in 0..=10 {
            assert_eq!(truth(&format!("scene; count 0; count_is[{n}] 1")), n == 3, "{n}");
        }
        // Is the blue thing left of the small one; is the small one left of the blue one?
        let two = format!("{BLUE}; filter_size[small] 0; unique 3");
        assert!(
            !truth(&format!("{two}; verify_relation[left] 2 4")) && truth(&format!("{two}; verify_relation[left] 4 2"))
        );
        assert!(truth(&format!("{two}; verify_relation[right] 2 4")));
        assert!(!truth(&format!("{BLUE}; verify_relation[left] 2 2")));
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let is = |truth| if truth { "exist 0" } else { "exist 1" };
            let both =
                |function| truth(&format!("scene; filter_shape[cylinder] 0; {}; {}; {function} 2 3", is(a), is(b)));
            assert_eq!((both("and"), both("or")), (a && b, a || b));
            assert_eq!(truth(&format!("scene; filter_shape[cylinder] 0; {}; not 2", is(a))), !a);
        }
    }

    #[test]
    fn an_offer_gives_the_object_back_whatever_its_value() {
        let (answer, outputs) = run_on_three(
            "scene; filter_color[blue] 0; unique 1; offer_shape[cube] 2; offer_shape[cylinder] 3; query_shape 4",
        );
        assert_eq!(answer, Ok(Answer::Value(3, 1)));
        assert_eq!(outputs[2..5], [2, 2, 2].map(Output::Object));
    }

    #[test]
    fn verifying_a_value_is_finding_the_object_among_those_that_have_it() {
        let vocab = samples::vocabulary();
        let mut counts = [0; 2];
        for seed in 0..200 {
            let scene = samples::random_scene(&vocab, 2, seed);
            for value in ["red", "blue"] {
                let filtered = "scene; filter_shape[cube] 0";
                let run = |nodes: String| execute(&program(&nodes), scene.view(), &vocab);
                let verified = run(format!("{filtered}; unique 1; verify_color[{value}] 2"));
                let found = run(format!("{filtered}; filter_color[{value}] 1; exist 2"));
                if let Ok(Answer::Bool(truth)) = verified {
                    assert_eq!(found, verified);
                    counts[usize::from(truth)] += 1;
                }
            }
        }
        assert!(counts.iter().all(|&n| n > 20), "{counts:?}");
    }

    #[test]
    fn a_trace_gives_every_output() {
        let (_, outputs) = run_on_three("scene; filter_color[blue] 0; unique 1; relate[left] 2; exist 3");
        let sets = [vec![0, 1, 2], vec![2], vec![0, 1]].map(Output::Set);
        let [everything, blue, left] = sets;
        assert_eq!(outputs, [everything, blue, Output::Object(2), left, Output::Answer(Answer::Bool(true))]);
    }

    #[test]
    fn a_unique_that_fails_ends_the_program() {
        for filter in ["filter_color[red]", "filter_shape[cylinder]"] {
            let (answer, outputs) = run_on_three(&format!("scene; {filter} 0; unique 1; query_size 2"));
            assert_eq!((answer, outputs.len()), (Err(Invalid), 2), "{filter}");
        }
        // Also where the last step does not depend on it.
        assert_eq!(run_on_three("scene; unique 0; count 0").0, Err(Invalid));
    }
}
