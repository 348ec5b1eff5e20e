//! Finds the relations of a program that its answer needs.
//!
//! A relation is needed if the question with "anywhere" in its place has another answer, or none. That question's
//! program is built here, with `scene` in place of the relation and its input, and executed.

use super::program::ProgramReader;
use super::token::MOST_TOKENS;
use crate::program::Function;
use crate::scene::SceneView;
use std::cmp::Reverse;

impl ProgramReader {
    /// For each relation, in the order of execution, whether the answer needs it; None for a program without an
    /// answer.
    pub fn relations_needed(&self, program: &[i32], scene: SceneView<'_>) -> Option<Vec<bool>> {
        if program.len() > MOST_TOKENS {
            return None;
        }
        let relates = self.relates(program)?;
        if relates.is_empty() {
            return Some(Vec::new());
        }
        let answer = self.answer(program, scene);
        let anywhere = self.tokens.number_of(Function::Scene)?;
        let without = |&(first, end): &(usize, usize)| {
            let shorter = [&program[..first], &[anywhere], &program[end..]].concat();
            self.answer(&shorter, scene) != answer
        };
        (answer >= 0).then(|| relates.iter().map(without).collect())
    }

    /// The start of each relation's tokens and the end of its input's tokens; None if the row is not a program.
    fn relates(&self, program: &[i32]) -> Option<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        for (first, &token) in program.iter().enumerate() {
            if self.tokens.get(token).is_some_and(|token| token.function == Function::Relate) {
                let mut rest = &program[first..];
                self.skip(&mut rest)?;
                found.push((first, program.len() - rest.len()));
            }
        }
        // A relation's input is executed before the relation, and first inputs before second ones.
        found.sort_by_key(|&(first, end)| (end, Reverse(first)));
        Some(found)
    }

    /// Skips the tokens of the next step and its inputs.
    fn skip(&self, rest: &mut &[i32]) -> Option<()> {
        let mut steps = 1usize;
        while steps > 0 {
            steps = steps - 1 + self.tokens.next(rest)?.function.arity();
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::vocabulary;
    use crate::scene::SceneGraph;

    const FUNCTIONS: [&str; 8] = [
        "<NULL>",
        "scene",
        "unique",
        "count",
        "filter_shape[cube]",
        "filter_shape[sphere]",
        "relate[left]",
        "equal_integer",
    ];

    /// The result on a scene of a cube and a sphere to its left.
    fn needed(program: &[&str]) -> Option<Vec<bool>> {
        let vocab = vocabulary();
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let reader =
            ProgramReader::new(&vocab, &names(&FUNCTIONS), &names(&["no", "yes", "0", "1", "2"]), &[]).unwrap();
        let value = |name| vocab.value(3, name).unwrap() as u8;
        let attributes = vec![[0, 0, 0, value("cube")], [0, 0, 0, value("sphere")]];
        let sets = vec![0b10, 0b00, 0b00, 0b01, 0, 0, 0, 0];
        let graph = SceneGraph::from_masks(&vocab, attributes, sets);
        let number = |name: &&str| FUNCTIONS.iter().position(|each| each == name).unwrap() as i32;
        reader.relations_needed(&program.iter().map(number).collect::<Vec<_>>(), graph.view())
    }

    const LEFT_OF_THE_CUBE: [&str; 4] = ["relate[left]", "unique", "filter_shape[cube]", "scene"];

    #[test]
    fn a_relation_that_changes_the_answer_is_needed_and_another_is_not() {
        // One thing is left of the cube, and there are two anywhere.
        assert_eq!(needed(&[&["count"], &LEFT_OF_THE_CUBE[..]].concat()), Some(vec![true]));
        // One sphere is left of the cube, and there is one anywhere.
        let spheres = [&["count", "filter_shape[sphere]"], &LEFT_OF_THE_CUBE[..]].concat();
        assert_eq!(needed(&spheres), Some(vec![false]));
        assert_eq!(needed(&["count", "scene"]), Some(vec![]));
    }

    #[test]
    fn relations_are_listed_in_the_order_of_execution() {
        // Left of the sphere that is left of the cube: the first finds the only sphere, the second nothing.
        let inner = [&["filter_shape[sphere]"], &LEFT_OF_THE_CUBE[..]].concat();
        let chain = [&["count", "relate[left]", "unique"], &inner[..]].concat();
        assert_eq!(needed(&chain), Some(vec![false, true]));
        // As many things left of the cube as spheres left of it: the first of the two is needed.
        let both = [&["equal_integer", "count"], &LEFT_OF_THE_CUBE[..], &["count"], &inner[..]].concat();
        assert_eq!(needed(&both), Some(vec![true, false]));
    }

    #[test]
    fn what_has_no_answer_needs_nothing() {
        assert_eq!(needed(&["count", "relate[left]", "unique", "scene"]), None);
        assert_eq!(needed(&["count", "relate[left]"]), None);
    }
}
