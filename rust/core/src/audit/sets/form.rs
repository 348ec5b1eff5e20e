//! Derives the template of a program, its variant and the form of its description from its functions.

use super::tree::{Node, is_relation};
use crate::program::Function;

/// The templates of COVR; files have their own list, which numbers them.
pub const TEMPLATES: [&str; 15] = [
    "verify_attr",
    "choose_attr",
    "query_attr",
    "compare_count",
    "count",
    "verify_count",
    "count_group_by",
    "verify_count_group_by",
    "verify_logic",
    "verify_quantifier",
    "verify_quantifier_attr",
    "verify_same_attr",
    "query_object",
    "choose_object",
    "choose_relation",
];

/// The forms of descriptions, in the order of their numbers in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Single,
    Edge,
    Chain,
    V,
}

impl Node<'_> {
    fn has(&self, wanted: Function) -> bool {
        self.any(&|function| function == wanted)
    }

    /// The template's name; None if the program has no template.
    pub fn template(&self) -> Option<&'static str> {
        let reaches = self.has(Function::AssertUnique);
        let of_groups = self.has(Function::GroupByImages);
        Some(match self.function {
            Function::Verify(_) => "verify_attr",
            Function::Choose(_) if reaches => "choose_object",
            Function::Choose(_) => "choose_attr",
            Function::Query(_) if reaches => "query_object",
            Function::Query(_) => "query_attr",
            Function::EqualInteger | Function::GreaterThan | Function::LessThan => "compare_count",
            Function::Count | Function::CountImages if of_groups => "count_group_by",
            Function::Count | Function::CountImages => "count",
            Function::CountIs | Function::CountAtLeast | Function::CountAtMost if of_groups => "verify_count_group_by",
            Function::CountIs | Function::CountAtLeast | Function::CountAtMost => "verify_count",
            Function::And | Function::Or => "verify_logic",
            Function::All | Function::Some | Function::None => "verify_quantifier",
            Function::AllSame(_) => "verify_quantifier_attr",
            Function::Equal(_) => "verify_same_attr",
            Function::ChooseRelation => "choose_relation",
            _ => return None,
        })
    }

    /// The number of the variant, which decides the phrasings of a question of its template: what is counted, how
    /// numbers are compared or descriptions joined, the quantifier and the kind of its condition.
    pub fn variant(&self) -> i8 {
        let of_images = i8::from(self.has(Function::UniqueImages));
        match self.function {
            Function::LessThan | Function::Or | Function::Some => 2 + self.by_relation() + of_images,
            Function::EqualInteger | Function::None => 4 + self.by_relation() + of_images,
            _ => self.by_relation() + of_images,
        }
    }

    fn by_relation(&self) -> i8 {
        i8::from(self.related_condition().is_some())
    }

    /// The number of the form of its description, including objects related to the described set outside of it.
    pub fn structure(&self) -> Option<i8> {
        let described = *self.described().first()?;
        let own = form(described);
        let outside = self.has(Function::AssertUnique) || self.function == Function::ChooseRelation;
        let whole = match self.related_condition() {
            Some(condition) if condition.inputs.get(1).is_some_and(|others| is_relation(others.function)) => {
                Form::Chain
            }
            None if !outside => own,
            _ if own == Form::Single => Form::Edge,
            _ => Form::V,
        };
        Some(whole as i8)
    }
}

/// The form of a set: its members, with the objects to which they are related.
fn form(set: &Node<'_>) -> Form {
    match &set.inputs[..] {
        [kept, others] if is_relation(set.function) => match (is_relation(kept.function), is_relation(others.function))
        {
            (false, false) => Form::Edge,
            (false, true) => Form::Chain,
            (true, _) => Form::V,
        },
        _ => Form::Single,
    }
}
