//! Programs as trees: the sets that a question describes, and the program without their last leaves.

use crate::audit::token::{MOST_TOKENS, Tokens};
use crate::program::Function;

/// A step of a program, with its inputs.
#[derive(Clone, Debug)]
pub struct Node<'t> {
    pub function: Function,
    /// Its token, followed by those of its inputs.
    pub tokens: &'t [i32],
    pub inputs: Vec<Node<'t>>,
}

impl<'t> Node<'t> {
    /// The tree of a program; None if its tokens are not one program.
    pub fn read(names: &Tokens, program: &'t [i32]) -> Option<Self> {
        let mut rest = program;
        let tree = (program.len() <= MOST_TOKENS).then(|| Self::next(names, &mut rest))??;
        rest.is_empty().then_some(tree)
    }

    fn next(names: &Tokens, rest: &mut &'t [i32]) -> Option<Self> {
        let begin = *rest;
        let function = names.next(rest)?.function;
        let inputs = (0..function.arity()).map(|_| Self::next(names, rest)).collect::<Option<_>>()?;
        Some(Self { function, tokens: &begin[..begin.len() - rest.len()], inputs })
    }

    /// Whether a step of this subtree passes a test.
    pub fn any(&self, is_wanted: &impl Fn(Function) -> bool) -> bool {
        is_wanted(self.function) || self.inputs.iter().any(|input| input.any(is_wanted))
    }

    /// The step itself if it passes a test, otherwise the outermost steps of its inputs' subtrees that do.
    fn outermost<'a>(&'a self, is_wanted: &impl Fn(Function) -> bool, found: &mut Vec<&'a Self>) {
        if is_wanted(self.function) {
            found.push(self);
        } else {
            self.inputs.iter().for_each(|input| input.outermost(is_wanted, found));
        }
    }

    /// The steps that count objects or images, from whose outputs the answer follows.
    pub fn numbers(&self) -> Vec<&Self> {
        let mut found = Vec::new();
        let is_number = |function| matches!(function, Function::Count | Function::CountImages | Function::CountGroups);
        self.outermost(&is_number, &mut found);
        found
    }

    /// The sets that the question describes: those whose members it counts, looks for, asks about or quantifies over.
    /// The objects to which a set's only member is related are not a separate set.
    pub fn described(&self) -> Vec<&Self> {
        let mut found = Vec::new();
        self.find_described(&mut found);
        found
    }

    fn find_described<'a>(&'a self, found: &mut Vec<&'a Self>) {
        match self.function {
            Function::Unique if self.any(&|function| function == Function::AssertUnique) => {
                self.inputs.iter().for_each(|input| input.find_described(found));
            }
            Function::Unique
            | Function::AssertUnique
            | Function::Count
            | Function::Exist
            | Function::UniqueImages
            | Function::GroupByImages
            | Function::AllSame(_)
            | Function::All
            | Function::Some
            | Function::None => found.extend(self.inputs.first()),
            Function::ChooseRelation => self.inputs.iter().take(1).for_each(|input| input.find_described(found)),
            _ => self.inputs.iter().for_each(|input| input.find_described(found)),
        }
    }

    /// The condition of a quantifier, if it is a relation to some object.
    pub fn related_condition(&self) -> Option<&Self> {
        let is_quantifier = matches!(self.function, Function::All | Function::Some | Function::None);
        self.inputs.get(1).filter(|condition| is_quantifier && is_relation(condition.function))
    }

    /// The tokens of the program without the last leaf of each set that it describes, or of a quantifier's condition;
    /// None if there is no such leaf, or if nothing of the condition would remain.
    pub fn cut(&self) -> Option<Vec<i32>> {
        let cuts: Option<Vec<_>> = match self.related_condition() {
            Some(condition) => {
                let others = condition.inputs.get(1)?;
                Some(vec![(others, is_relation(others.function).then(|| others.inputs.first())??)])
            }
            None => self.described().into_iter().map(last_leaf).collect(),
        };
        let cuts = cuts.filter(|cuts| !cuts.is_empty())?;
        let mut tokens = Vec::with_capacity(self.tokens.len());
        self.write(&cuts, &mut tokens);
        Some(tokens)
    }

    /// Appends the tokens of the step, with some steps replaced by others.
    fn write(&self, replaced: &[(&Self, &Self)], tokens: &mut Vec<i32>) {
        match replaced.iter().find(|(step, _)| std::ptr::eq(*step, self)) {
            Some((_, other)) => tokens.extend(other.tokens),
            None => {
                tokens.extend(self.tokens.first());
                self.inputs.iter().for_each(|input| input.write(replaced, tokens));
            }
        }
    }
}

/// Whether a function keeps the members of a set that are related to others.
pub fn is_relation(function: Function) -> bool {
    matches!(function, Function::WithRelation | Function::WithRelationObject | Function::WithSame(_))
}

/// The step of a set that ends in its last leaf, and the step that replaces it when the leaf is cut. The leaf is the
/// end of a chain if the set has one, otherwise the objects to which its members are related last.
fn last_leaf<'a, 't>(set: &'a Node<'t>) -> Option<(&'a Node<'t>, &'a Node<'t>)> {
    let [kept, others] = &set.inputs[..] else { return None };
    let whole = if is_relation(others.function) { others } else { set };
    let left = if is_relation(others.function) { others.inputs.first()? } else { kept };
    is_relation(set.function).then_some((whole, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples;

    /// Applies `use_tree` to a program's tree and the names of its tokens.
    fn with_tree<T>(program: &str, use_tree: impl Fn(&Node<'_>, &[String]) -> T) -> T {
        let mut names: Vec<String> = program.split(' ').map(str::to_owned).collect();
        names.sort();
        names.dedup();
        let tokens: Vec<i32> =
            program.split(' ').map(|name| names.iter().position(|each| each == name).unwrap() as i32).collect();
        let known = Tokens::new(&samples::vocabulary(), &names, |_, _| 0);
        use_tree(&Node::read(&known, &tokens).unwrap(), &names)
    }

    fn cut(program: &str) -> Option<String> {
        with_tree(program, |tree, names| {
            let words: Vec<&str> = tree.cut()?.iter().map(|&token| names[token as usize].as_str()).collect();
            Some(words.join(" "))
        })
    }

    const CUBE: &str = "filter_shape[cube] scene";
    const RED: &str = "filter_color[red] scene";

    #[test]
    fn the_last_leaf_is_cut() {
        let edge = format!("with_relation[left] {CUBE} {RED}");
        let chain = format!("with_relation[left] {CUBE} with_same_size {RED} scene");
        let v = format!("with_same_size {edge} scene");
        for (whole, left) in [
            (format!("count {edge}"), format!("count {CUBE}")),
            (format!("count {chain}"), format!("count {edge}")),
            (format!("count {v}"), format!("count {edge}")),
            (
                format!("query_shape unique with_relation_object[front] scene assert_unique {edge}"),
                format!("query_shape unique with_relation_object[front] scene assert_unique {CUBE}"),
            ),
            (
                format!("choose_relation[left] unique {edge} {RED}"),
                format!("choose_relation[left] unique {CUBE} {RED}"),
            ),
            (format!("and exist {chain} exist {v}"), format!("and exist {edge} exist {edge}")),
            (format!("all {edge} {RED}"), format!("all {CUBE} {RED}")),
            (
                format!("some {CUBE} with_relation[front] scene {edge}"),
                format!("some {CUBE} with_relation[front] scene {CUBE}"),
            ),
        ] {
            assert_eq!(cut(&whole).as_deref(), Some(&*left), "{whole}");
        }
        for exempt in [
            format!("count {CUBE}"),
            format!("greater_than count {edge} count {CUBE}"),
            format!("none {edge} with_relation[front] scene {CUBE}"),
            format!("query_shape unique with_same_color scene assert_unique {CUBE}"),
        ] {
            assert_eq!(cut(&exempt), None, "{exempt}");
        }
    }

    #[test]
    fn functions_say_what_template_and_structure_it_is() {
        let edge = format!("with_relation[left] {CUBE} {RED}");
        let chain = format!("with_same_size {CUBE} {edge}");
        for (program, template, structure, variant) in [
            (format!("count {chain}"), "count", 2, 0),
            (format!("count_images unique_images {edge}"), "count", 1, 1),
            (
                format!("count_is[2] count_images keys keep_if_values_count_eq[1] group_by_images {CUBE}"),
                "verify_count_group_by",
                0,
                0,
            ),
            (format!("less_than count {edge} count {CUBE}"), "compare_count", 1, 2),
            (format!("none {edge} with_relation[front] scene {CUBE}"), "verify_quantifier", 3, 5),
            (format!("some {CUBE} with_relation[front] scene {edge}"), "verify_quantifier", 2, 3),
            (format!("query_shape unique with_same_color scene assert_unique {CUBE}"), "query_object", 1, 0),
            (format!("choose_relation[left] unique {edge} {RED}"), "choose_relation", 3, 0),
        ] {
            let found = with_tree(&program, |tree, _| (tree.template(), tree.structure(), tree.variant()));
            assert_eq!(found, (Some(template), Some(structure), variant), "{program}");
        }
    }
}
