//! The objects that a question is about.

use super::execute::outputs;
use super::{Invalid, Program, Type};
use crate::scene::SceneView;
use crate::vocab::Vocabulary;

/// The objects in the sets that are counted, tested for members, or reduced to one member: those that enter `unique`,
/// `count` and `exist`, or any other function from a set to something else. Returned as a mask of object numbers.
///
/// On a scene of only these objects, a CLEVR program has the same answer; callers check this by execution.
///
/// # Errors
/// `Invalid`: the program has no answer on the scene.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn foreground(program: &Program, scene: SceneView<'_>, vocab: &Vocabulary) -> Result<u32, Invalid> {
    let words = outputs(program, scene, vocab)?;
    let mut objects = 0;
    for step in &program.steps {
        let signature = step.function.signature();
        if signature.output != Type::Set {
            let sets = signature.inputs.iter().zip(step.inputs).filter(|(kind, _)| **kind == Some(Type::Set));
            sets.for_each(|(_, input)| objects |= words[usize::from(input)]);
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, program};
    use super::*;

    #[test]
    fn it_holds_what_is_counted_and_the_ends_of_relations() {
        // Objects: 0 large red rubber cube, 1 small red metal cube, 2 large blue metal sphere; from left to right.
        let (vocab, scene) = (samples::vocabulary(), samples::three_objects());
        let cases = [
            ("scene; count 0", 0b111),
            ("scene; filter_color[red] 0; count 1", 0b011),
            ("scene; filter_shape[cylinder] 0; exist 1", 0),
            ("scene; filter_color[blue] 0; unique 1; query_shape 2", 0b100),
            ("scene; filter_color[blue] 0; unique 1; relate[left] 2; filter_size[small] 3; count 4", 0b110),
            ("scene; filter_color[blue] 0; unique 1; same_material 2; count 3", 0b110),
            ("scene; filter_color[red] 0; filter_size[large] 0; intersect 1 2; count 3", 0b001),
            ("scene; filter_color[red] 0; filter_shape[sphere] 0; union 1 2; exist 3", 0b111),
            ("scene; filter_size[small] 0; count 1; filter_shape[sphere] 0; count 3; less_than 2 4", 0b110),
        ];
        for (nodes, objects) in cases {
            assert_eq!(foreground(&program(nodes), scene.view(), &vocab), Ok(objects), "{nodes}");
        }
        assert_eq!(foreground(&program("scene; unique 0; query_size 1"), scene.view(), &vocab), Err(Invalid));
    }
}
