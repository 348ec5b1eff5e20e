//! Execution of one program on one scene or one set of scenes: its answer, or the outputs of all steps.

use super::facts::{Facts, Word};
use super::{Invalid, MAX_STEPS, Program, Step, Type};
use crate::scene::{SceneSet, SceneView};
use crate::vocab::{Answer, Vocabulary};

impl Facts for (SceneView<'_>, &Vocabulary) {
    type Word = u32;

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
    fn value(self, kind: u8, object: u32) -> u8 {
        self.0.attributes[object as usize][usize::from(kind)]
    }
}

impl Facts for (&SceneSet<'_>, &Vocabulary) {
    type Word = u64;

    #[inline(always)]
    fn everything(self) -> u64 {
        below(self.0.n_objects() as u32)
    }

    #[inline(always)]
    fn having(self, kind: u8, value: u8) -> u64 {
        let row = self.1.value_row(usize::from(kind), usize::from(value));
        let views = self.0.views().iter().enumerate();
        views.fold(0, |all, (image, view)| all | moved(view.members[row], self.0.start(image)))
    }

    #[inline(always)]
    fn related(self, relation: u8, object: u64) -> u64 {
        let (image, object) = self.0.place(object as usize);
        moved(self.0.views()[image].related(usize::from(relation), object), self.0.start(image))
    }

    #[inline(always)]
    fn value(self, kind: u8, object: u64) -> u8 {
        let (image, object) = self.0.place(object as usize);
        self.0.views()[image].attributes[object][usize::from(kind)]
    }

    #[inline(always)]
    fn n_images(self) -> u32 {
        self.0.n_images() as u32
    }

    #[inline(always)]
    fn image(self, number: u32) -> u64 {
        let image = number as usize;
        below(self.0.start(image + 1)) & !below(self.0.start(image))
    }

    #[inline(always)]
    fn image_of(self, object: u64) -> u64 {
        self.image(self.0.place(object as usize).0 as u32)
    }
}

/// The set of the objects with numbers below this one, which is at most 64.
#[inline(always)]
fn below(number: u32) -> u64 {
    ((1u128 << number) - 1) as u64
}

/// A scene's objects, renumbered for a set of scenes in which the scene's first object has the number `start`. (`start`
/// is 64 for a scene without objects that follows 64 objects.)
#[inline(always)]
fn moved(objects: u32, start: u32) -> u64 {
    u64::from(objects).checked_shl(start).unwrap_or(0)
}

/// A step's output.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// Object numbers, ascending; those of groups are given in this form too.
    Set(Vec<u8>),
    Object(u8),
    /// Image numbers, ascending.
    Images(Vec<u8>),
    /// An integer, a truth value, an attribute value or a relation.
    Answer(Answer),
}

impl Output {
    /// The output that a word of this type stands for.
    fn new<W: Word>(output: Type, word: W) -> Self {
        let members = || word.members().map(|member| member.number() as u8).collect();
        match (answer(output, word), output) {
            (Some(answer), _) => Self::Answer(answer),
            (None, Type::Set | Type::Groups) => Self::Set(members()),
            (None, Type::Images) => Self::Images(members()),
            (None, _) => Self::Object(word.number() as u8),
        }
    }
}

/// The answer that a word of a type stands for; None for a type that has no answers.
#[inline]
pub(super) fn answer<W: Word>(output: Type, word: W) -> Option<Answer> {
    let number = word.number() as u8;
    match output {
        Type::Set | Type::Object | Type::Groups | Type::Images => None,
        Type::Integer => Some(Answer::Integer(number)),
        Type::Bool => Some(Answer::Bool(number != 0)),
        Type::Value(kind) => Some(Answer::Value(kind, number)),
        Type::Relation => Some(Answer::Relation(number)),
    }
}

/// The answer of a checked program on a scene of the same vocabulary.
///
/// Every step is executed, as in CLEVR's question engine, even if the last step does not depend on it.
///
/// # Errors
/// `Invalid`: a function had no output, such as `unique` of a set without exactly one object. This is common and cheap.
///
/// # Panics
/// When the steps would not pass `Program::check`.
#[inline]
pub fn execute(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Result<Answer, Invalid> {
    run_to_answer(&program.steps, (scene, vocab), &mut [0; MAX_STEPS])
}

/// The answer of a checked program on several scenes of the same vocabulary.
///
/// # Errors
/// `Invalid`, as `execute`.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn execute_on_set(program: &Program, set: &SceneSet<'_>, vocab: &Vocabulary) -> Result<Answer, Invalid> {
    run_to_answer(&program.steps, (set, vocab), &mut [0; MAX_STEPS])
}

/// The answer of checked steps; `words` holds the outputs of all steps afterwards.
#[inline(always)]
pub(super) fn run_to_answer<F: Facts>(
    steps: &[Step],
    facts: F,
    words: &mut [F::Word; MAX_STEPS],
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
/// `Invalid`, as `execute`.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn outputs(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Result<[u32; MAX_STEPS], Invalid> {
    let mut words = [0; MAX_STEPS];
    run(&program.steps, (scene, vocab), &mut words).map_err(|_| Invalid)?;
    Ok(words)
}

/// The same on several scenes; objects are numbered as in the set (`SceneSet::place`).
///
/// # Errors
/// `Invalid`, as `execute`.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn outputs_on_set(program: &Program, set: &SceneSet<'_>, vocab: &Vocabulary) -> Result<[u64; MAX_STEPS], Invalid> {
    let mut words = [0; MAX_STEPS];
    run(&program.steps, (set, vocab), &mut words).map_err(|_| Invalid)?;
    Ok(words)
}

/// The outputs of the steps in order, up to the first step without one, such as a `unique` that fails: all of them when
/// the program has an answer.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn trace(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Vec<Output> {
    traced(program, (scene, vocab))
}

/// The same on several scenes; objects are numbered as in the set (`SceneSet::place`).
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn trace_on_set(program: &Program, set: &SceneSet<'_>, vocab: &Vocabulary) -> Vec<Output> {
    traced(program, (set, vocab))
}

fn traced<F: Facts>(program: &Program, facts: F) -> Vec<Output> {
    let mut words = [F::Word::default(); MAX_STEPS];
    let done = run(&program.steps, facts, &mut words).map_or_else(|failed| failed, |()| program.steps.len());
    let steps = program.steps.iter().zip(words).take(done);
    steps.map(|(step, word)| Output::new(step.function.signature().output, word)).collect()
}

/// Writes the output of each step into `words`; an error is the number of the step that failed.
#[inline(always)]
fn run<F: Facts>(steps: &[Step], facts: F, words: &mut [F::Word; MAX_STEPS]) -> Result<(), usize> {
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
    fn a_difference_is_a_count_or_there_is_none() {
        const RED: &str = "scene; filter_color[red] 0; count 0; count 1";
        assert_eq!(run_on_three(&format!("{RED}; subtraction 2 3")).0, Ok(Answer::Integer(1)));
        assert_eq!(run_on_three(&format!("{RED}; subtraction 3 3")).0, Ok(Answer::Integer(0)));
        assert_eq!(run_on_three(&format!("{RED}; subtraction 3 2")).0, Err(Invalid));
        let compared = format!("{RED}; subtraction 2 3; count_is[1] 4");
        assert_eq!(run_on_three(&compared).0, Ok(Answer::Bool(true)));
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

    /// The outputs on two images. Objects: 0, 1 and 2 as above; 3 small red metal sphere, 4 large blue rubber cube.
    fn run_on_two_images(nodes: &str) -> Vec<Output> {
        let (vocab, scenes) = (samples::vocabulary(), [samples::three_objects(), samples::two_objects()]);
        let set = SceneSet::new(scenes.iter().map(|scene| scene.view())).unwrap();
        let program = program(nodes);
        let (answer, outputs) = (execute_on_set(&program, &set, &vocab), trace_on_set(&program, &set, &vocab));
        match outputs.get(program.steps.len() - 1) {
            Some(last) => assert_eq!(Some(last), answer.ok().map(Output::Answer).as_ref(), "{nodes}"),
            None => assert_eq!(answer, Err(Invalid), "{nodes}"),
        }
        outputs
    }

    const RED_AND_SPHERES: &str = "scene; filter_color[red] 0; filter_shape[sphere] 0";

    #[test]
    fn relations_hold_within_an_image() {
        let cases: [(&str, &[u8]); 7] = [
            ("with_relation[left] 1 2", &[0, 1]),
            ("with_relation[right] 1 2", &[]),
            ("with_relation_object[left] 2 1", &[2]),
            ("with_relation_object[right] 1 2", &[0, 1]),
            ("with_same_size 1 2", &[0]),
            ("with_same_material 1 0", &[1]),
            ("intersect 1 2", &[3]),
        ];
        for (step, members) in cases {
            let outputs = run_on_two_images(&format!("{RED_AND_SPHERES}; {step}; count 3"));
            assert_eq!(outputs[3], Output::Set(members.to_vec()), "{step}");
            assert_eq!(outputs[4], Output::Answer(Answer::Integer(members.len() as u8)), "{step}");
        }
        assert_eq!(run_on_two_images(&format!("{RED_AND_SPHERES}; assert_unique 2; count 3")).len(), 3);
        let blue_cube = "scene; filter_color[blue] 0; filter_shape[cube] 1; assert_unique 2; unique 3";
        let outputs = run_on_two_images(&format!("{blue_cube}; relate[left] 4; same_color 4; count 5"));
        let [set, object] = [Output::Set(vec![4]), Output::Object(4)];
        assert_eq!(outputs[3..7], [set, object, Output::Set(vec![3]), Output::Set(vec![2])]);
    }

    #[test]
    fn quantifiers_ask_whether_members_are_in_another_set() {
        const SETS: &str = "scene; filter_color[red] 0; filter_shape[cube] 0; filter_shape[cylinder] 0";
        let cases = [
            ("all 1 2", false),
            ("some 1 2", true),
            ("none 1 2", false),
            ("all 1 0", true),
            ("all 3 2", true),
            ("some 3 2", false),
            ("none 3 2", true),
            ("all_same_color 1", true),
            ("all_same_size 1", false),
            ("all_same_size 3", true),
        ];
        for (step, truth) in cases {
            let outputs = run_on_two_images(&format!("{SETS}; {step}"));
            assert_eq!(outputs[4], Output::Answer(Answer::Bool(truth)), "{step}");
        }
    }

    #[test]
    fn images_and_groups_are_those_of_members() {
        let last_two = |step: &str, count: &str| {
            let outputs = run_on_two_images(&format!("{RED_AND_SPHERES}; filter_size[large] 1; {step}; {count}"));
            (outputs[outputs.len() - 2].clone(), outputs[outputs.len() - 1].clone())
        };
        let number = |n| Output::Answer(Answer::Integer(n));
        let [images, groups] =
            [|images: &[u8]| Output::Images(images.into()), |members: &[u8]| Output::Set(members.into())];
        assert_eq!(last_two("unique_images 2", "count_images 4"), (images(&[0, 1]), number(2)));
        assert_eq!(last_two("unique_images 3", "count_images 4"), (images(&[0]), number(1)));
        assert_eq!(last_two("group_by_images 1", "count_groups 4"), (groups(&[0, 1, 3]), number(2)));
        let kept: [(&str, &[u8], u8); 6] = [
            ("eq[2]", &[0, 1], 1),
            ("eq[0]", &[], 0),
            ("geq[1]", &[0, 1, 3], 2),
            ("geq[3]", &[], 0),
            ("leq[1]", &[3], 1),
            ("leq[2]", &[0, 1, 3], 2),
        ];
        for (test, members, n) in kept {
            let step = format!("group_by_images 1; keep_if_values_count_{test} 4");
            assert_eq!(last_two(&step, "count_groups 5"), (groups(members), number(n)), "{test}");
        }
        let step = "group_by_images 1; keep_if_values_count_leq[1] 4; keys 5";
        assert_eq!(last_two(step, "count_images 6"), (images(&[1]), number(1)));
        for (test, truth) in [("least[3]", true), ("least[4]", false), ("most[3]", true), ("most[2]", false)] {
            let truth = Output::Answer(Answer::Bool(truth));
            assert_eq!(last_two("count 1", &format!("count_at_{test} 4")), (number(3), truth), "{test}");
        }
    }

    #[test]
    fn a_choice_fails_if_neither_is_true() {
        const OBJECTS: &str = "scene; filter_shape[cube] 0; filter_color[blue] 1; unique 2; filter_shape[sphere] 0; \
                               filter_size[small] 4; unique 5";
        let chosen = |steps: &str| {
            let outputs = run_on_two_images(&format!("{OBJECTS}; {steps}"));
            outputs.get(6 + steps.split(';').count()).cloned()
        };
        let blue = Some(Output::Answer(Answer::Value(1, 1)));
        assert_eq!(chosen("option_color[red]; choose_color[blue] 3 7"), blue);
        assert_eq!(chosen("option_color[blue]; choose_color[red] 3 7"), blue);
        assert_eq!(chosen("option_shape[sphere]; choose_shape[cylinder] 3 7"), None);
        let relation = |relation| Some(Output::Answer(Answer::Relation(relation)));
        assert_eq!(chosen("choose_relation[left] 6 1"), relation(0));
        assert_eq!(chosen("choose_relation[right] 6 1"), relation(0));
        assert_eq!(chosen("choose_relation[front] 6 1"), relation(2));
        assert_eq!(chosen("choose_relation[left] 3 4"), relation(1));
        // The only member in the image is the object itself; then there are two members; then none.
        assert_eq!(chosen("choose_relation[left] 3 2"), None);
        assert_eq!(chosen("choose_relation[left] 3 0"), None);
        assert_eq!(chosen("filter_shape[cylinder] 0; choose_relation[left] 3 7"), None);
        assert_eq!(chosen("verify_relation[left] 6 3"), Some(Output::Answer(Answer::Bool(true))));
    }

    #[test]
    fn a_scene_is_a_set_of_one() {
        let vocab = samples::vocabulary();
        let mut n_answers = 0;
        for seed in 0..2_000 {
            let (program, scene) = (samples::random_program(&vocab, seed), samples::random_scene(&vocab, 5, seed));
            let set = SceneSet::new([scene.view()]).unwrap();
            let answer = execute(&program, scene.view(), &vocab);
            assert_eq!(execute_on_set(&program, &set, &vocab), answer, "{program:?}");
            assert_eq!(trace_on_set(&program, &set, &vocab), trace(&program, scene.view(), &vocab), "{program:?}");
            n_answers += u32::from(answer.is_ok());
        }
        assert!(n_answers > 300, "{n_answers}");
    }

    #[test]
    fn a_unique_that_fails_ends_the_program() {
        for filter in ["filter_color[red]", "filter_shape[cylinder]"] {
            let (answer, outputs) = run_on_three(&format!("scene; {filter} 0; unique 1; query_size 2"));
            assert_eq!((answer, outputs.len()), (Err(Invalid), 2), "{filter}");
        }
        // This also holds where the last step does not depend on it.
        assert_eq!(run_on_three("scene; unique 0; count 0").0, Err(Invalid));
    }
}
