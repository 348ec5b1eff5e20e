//! The widths of a dataset's rows: upper bounds on the lengths of the questions and programs of all families.
//!
//! The bounds hold for all values, so the rows of a folder keep the same width when it is extended.

use super::template::{Constraint, Family, NodeKind, TemplateSet};

impl TemplateSet {
    /// Maximum number of tokens of a question, `<START>` and `<END>` included.
    pub fn question_width(&self) -> usize {
        let longest = |family: &Family| {
            let unset = family.always_unset();
            let lengths = family.phrasings.iter().map(|p| p.most_tokens(&family.params, &unset, self.lexicon()));
            lengths.max().unwrap_or(0)
        };
        2 + self.families().iter().map(longest).max().unwrap_or(0)
    }

    /// Maximum number of tokens of a program in prefix order, `<START>` and `<END>` included.
    pub fn program_width(&self) -> usize {
        2 + self.families().iter().map(Family::most_functions).max().unwrap_or(0)
    }
}

impl Family {
    /// For each parameter, whether a constraint keeps it unset.
    fn always_unset(&self) -> Vec<bool> {
        let is_null = |param: usize| {
            self.constraints.iter().any(|c| matches!(c, Constraint::Null(p) if usize::from(*p) == param))
        };
        (0..self.params.len()).map(is_null).collect()
    }

    /// Maximum number of functions of a program written as a tree, where a shared node counts twice.
    fn most_functions(&self) -> usize {
        let unset = self.always_unset();
        let filters = |params: &[u8]| params.iter().filter(|&&p| !unset[usize::from(p)]).count();
        let mut sizes: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = match node.kind {
                NodeKind::Plain(_) | NodeKind::Relate | NodeKind::Apply(_) => 1,
                // A relation counts as a function, as does each filter.
                NodeKind::Filter(tail) | NodeKind::RelateFilter(tail) => {
                    filters(&node.params) + usize::from(tail.function().is_some())
                }
            };
            let inputs = node.inputs.iter().map(|&input| sizes[usize::from(input)]);
            sizes.push(own + inputs.sum::<usize>());
        }
        sizes.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::vocabulary;

    const TEMPLATE: &str = r#"[{"text": ["What is <R> the [very] <Z> <C> <M> <S>, or <S2>s?", "Well?"],
        "nodes": [{"type": "scene", "inputs": []},
            {"type": "filter_unique", "inputs": [0], "side_inputs": ["<Z>", "<C>", "<M>", "<S>"]},
            {"type": "relate_filter_count", "inputs": [1], "side_inputs": ["<R>", "<Z2>", "<C2>", "<M2>", "<S2>"]}],
        "params": [{"type": "Size", "name": "<Z>"}, {"type": "Color", "name": "<C>"},
            {"type": "Material", "name": "<M>"}, {"type": "Shape", "name": "<S>"}, {"type": "Relation", "name": "<R>"},
            {"type": "Size", "name": "<Z2>"}, {"type": "Color", "name": "<C2>"},
            {"type": "Material", "name": "<M2>"}, {"type": "Shape", "name": "<S2>"}],
        "constraints": [{"type": "NULL", "params": ["<C>"]}, {"type": "NULL", "params": ["<M2>"]}]}]"#;

    #[test]
    fn widths_count_everything_that_can_be_said() {
        let files = [("a".to_owned(), TEMPLATE.as_bytes().to_vec())];
        let synonyms = br#"{"left": ["left of", "on the left side of"], "thing": ["kind of thing"]}"#;
        let templates = TemplateSet::from_files(&vocabulary(), &files, &[], ("s", synonyms)).unwrap();
        // What is | on the left side of | the very small rubber | kind of thing | , or | kind of things
        assert_eq!(templates.question_width(), 2 + 2 + 5 + 4 + 3 + 2 + 3);
        // scene, 3 filters, unique; relate, 3 filters, count
        assert_eq!(templates.program_width(), 2 + 5 + 5);
    }
}
