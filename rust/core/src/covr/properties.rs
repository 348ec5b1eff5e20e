//! The properties of questions by which COVR's compositional splits hold questions out.
//!
//! The definitions are those of Bogin et al. 2021: the names in capitals in `PROPERTIES` are the splits' names in
//! tables 7 and 8, and the splitters of COVR's public code (`splits/splitters`) define them. Most of these splitters
//! only look at the outer program; here a quantifier's condition is part of the program, since the question names it
//! too.

use super::template::Template;
use crate::program::{Argument, Function, Program, Step};
use crate::scene::world;
use crate::vocab::{Answer, CONVERSE, N_TYPES, RELATION_NAMES, TYPE_NAMES, Vocabulary};
use thiserror::Error;

/// The type whose values COVR calls names; it calls the values of the other types attributes.
const NAME: u8 = world::SHAPE as u8;
const COLOR: u8 = world::COLOR as u8;
/// The number to which the `num-3` properties refer.
const THREE: u8 = 3;
/// Anonymised programs whose hash is below this have the property `program`: a fifth of them.
const HELD_OUT_HASHES: u64 = u64::MAX / 5;
/// Maximum number of terms of a vocabulary, so that a mask of them is not negative as a signed 64-bit number.
pub const MAX_TERMS: usize = 63;

/// A question whose properties are computed. Its program has passed `Program::check`.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub program: &'a Program,
    pub template: Template,
    pub answer: Answer,
}

type Holds = fn(&Question<'_>) -> bool;

/// The properties other than templates, with their names on the command line.
const PROPERTIES: [(&str, Holds); 16] = [
    // HAS-COUNT: the program counts objects, images or groups.
    ("has-count", |q| q.uses(|f| matches!(f, Function::Count | Function::CountImages | Function::CountGroups))),
    // HAS-ATTR: the program has an operator `filter`. COVR's `find` does not count, though it is a filter here.
    ("has-attr", |q| q.places().any(|at| matches!(q.step(at).function, Function::Filter(_)) && !q.is_find(at))),
    // HAS-GROUPBY.
    ("has-groupby", |q| q.uses(|f| f == Function::GroupByImages)),
    // HAS-LOGIC.
    ("has-logic", |q| q.uses(|f| matches!(f, Function::And | Function::Or))),
    // HAS-LOGIC-AND.
    ("has-logic-and", |q| q.uses(|f| f == Function::And)),
    // HAS-QUANT.
    ("has-quant", |q| q.uses(is_quantifier)),
    // HAS-QUANT-ALL.
    ("has-quant-all", |q| q.uses(|f| matches!(f, Function::All | Function::AllSame(_)))),
    // HAS-QUANT-COMPSCOPE: the scope of a quantifier is the output of an operator other than `find`. All objects of
    // the images are not a composed scope here; COVR's splitter would count `scene`, but COVR has no such questions.
    ("compscope", |q| {
        let scope = |at: u8| is_quantifier(q.step(at).function).then(|| q.step(at).inputs[0]);
        q.places().filter_map(scope).any(|at| q.step(at).function != Function::Scene && !q.is_find(at))
    }),
    // HAS-COMPAR.
    ("has-compar", |q| q.template == Template::CompareCount),
    // HAS-COMPAR-MORE.
    ("has-compar-more", |q| q.template == Template::CompareCount && q.uses(|f| f == Function::GreaterThan)),
    // RM/V/C, without the ternary relations, which only COVR's other source of images has: the output of an operator
    // with a relation is an input of another such operator.
    ("v-c", |q| {
        let is_fed = |step: &Step| step.sources().iter().any(|&at| has_relation(q.step(at).function));
        q.program.steps.iter().any(|step| has_relation(step.function) && is_fed(step))
    }),
    // HAS-NUM-3.
    ("num-3", names_three),
    // HAS-NUM-3-ANS-3.
    ("num-3-ans-3", |q| names_three(q) || q.answer == Answer::Integer(THREE)),
    // HAS-SAMEATTR-COLOR: in both templates that ask for the same value, as in COVR's splitter; table 8 filters
    // more questions (27,300) than one of these templates has (16,700).
    ("sameattr-color", |q| match q.template {
        Template::VerifySameAttr => q.uses(|f| f == Function::Equal(COLOR)),
        Template::VerifyQuantifierAttr => q.uses(|f| f == Function::AllSame(COLOR)),
        _ => false,
    }),
    // ANS-NUM.
    ("ans-num", |q| matches!(q.answer, Answer::Integer(_))),
    // Program Split: COVR draws 20% of the anonymised programs of its files; here the hash of the program decides.
    ("program", |q| anonymised_hash(q.program) < HELD_OUT_HASHES),
];

/// The names of all properties, by number: those of `PROPERTIES`, then a "tpl-..." for each template.
pub fn property_names() -> Vec<String> {
    let of_template = |template: Template| format!("tpl-{}", template.name().replace('_', "-"));
    PROPERTIES.iter().map(|(name, _)| (*name).to_owned()).chain(Template::ALL.map(of_template)).collect()
}

impl<'a> Question<'a> {
    /// Whether the question has each property, in the order of `property_names`.
    pub fn properties(&self) -> impl Iterator<Item = bool> {
        let of_template = Template::ALL.map(|template| template == self.template);
        PROPERTIES.iter().map(|(_, holds)| holds(self)).chain(of_template)
    }

    fn uses(&self, function: impl Fn(Function) -> bool) -> bool {
        self.program.steps.iter().any(|step| function(step.function))
    }

    /// The numbers of the program's steps.
    fn places(&self) -> impl Iterator<Item = u8> + use<> {
        (0..self.program.steps.len()).map(|at| at as u8)
    }

    fn step(&self, at: u8) -> &'a Step {
        &self.program.steps[usize::from(at)]
    }

    fn is_find(&self, at: u8) -> bool {
        is_find(self.program, self.step(at))
    }
}

/// Whether a step is the filter of what COVR calls `find`, all objects of a shape.
fn is_find(program: &Program, step: &Step) -> bool {
    let is_scene = |at: u8| program.steps[usize::from(at)].function == Function::Scene;
    step.function == Function::Filter(NAME) && is_scene(step.inputs[0])
}

/// Whether the question names the number three.
fn names_three(question: &Question<'_>) -> bool {
    let is_three = |step: &Step| step.function.signature().argument == Argument::Number && step.argument == THREE;
    question.program.steps.iter().any(is_three)
}

fn is_quantifier(function: Function) -> bool {
    matches!(function, Function::All | Function::Some | Function::None | Function::AllSame(_))
}

fn has_relation(function: Function) -> bool {
    matches!(function, Function::WithRelation | Function::WithRelationObject | Function::WithSame(_))
}

/// A hash of the program without its values, relations, numbers and types, the same on every machine.
///
/// As in COVR's splitter, the names of the operations and their connections are kept. These names distinguish the shape
/// from the other types (`find`, `query_name`, `choose_name`). A step that several others use counts for each of them.
/// Having the same value is a symmetric relation, so it counts as `with_relation` in either direction.
fn anonymised_hash(program: &Program) -> u64 {
    let mut digests: Vec<blake3::Hash> = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        let mut hasher = blake3::Hasher::new_derive_key("clevrhope COVR programs v1");
        hasher.update(anonymised(step, is_find(program, step)).to_string().as_bytes());
        for &source in step.sources() {
            hasher.update(digests[usize::from(source)].as_bytes());
        }
        digests.push(hasher.finalize());
    }
    let mut first = [0; 8];
    if let Some(last) = digests.last() {
        first.copy_from_slice(&last.as_bytes()[..8]);
    }
    u64::from_le_bytes(first)
}

/// The function that stands for all functions with the same name in COVR as the step's.
fn anonymised(step: &Step, is_find: bool) -> Function {
    match step.function {
        Function::Filter(_) if is_find => Function::Filter(NAME),
        Function::Filter(_) => Function::Filter(0),
        Function::Query(kind) if kind != NAME => Function::Query(0),
        Function::Choose(kind) if kind != NAME => Function::Choose(0),
        Function::Option(_) => Function::Option(0),
        Function::Verify(_) => Function::Verify(0),
        Function::Equal(_) => Function::Equal(0),
        Function::AllSame(_) => Function::AllSame(0),
        Function::WithSame(_) => Function::WithRelation,
        function => function,
    }
}

/// The terms of a vocabulary do not fit into a mask.
#[derive(Debug, Error)]
#[error(
    "{n} terms of questions (values, relations, and \"same\" with each type) are more than the {MAX_TERMS} that a \
     mask has room for; lexical splits need a vocabulary of fewer values"
)]
pub struct TooManyTerms {
    n: usize,
}

/// The terms that questions name, by number: every value, relation and `same_<type>`.
pub struct Terms<'a>(&'a Vocabulary);

impl<'a> Terms<'a> {
    /// The terms of a vocabulary.
    ///
    /// # Errors
    /// The vocabulary has more than `MAX_TERMS` terms.
    pub fn new(vocab: &'a Vocabulary) -> Result<Self, TooManyTerms> {
        let n = vocab.n_values_in_all() + vocab.n_relations() + N_TYPES;
        if n <= MAX_TERMS { Ok(Self(vocab)) } else { Err(TooManyTerms { n }) }
    }

    /// The names of the terms, by number: values in the order of their types, relations, then `same_size` and so on.
    pub fn names(&self) -> Vec<String> {
        let values = self.0.types().iter().flat_map(|kind| kind.values.iter().cloned());
        let same = TYPE_NAMES.map(|kind| format!("same_{kind}"));
        values.chain(RELATION_NAMES.map(str::to_owned)).chain(same).collect()
    }

    /// A mask, with a bit per term, of the terms that a question names and its answer if that is a value or relation.
    ///
    /// COVR's lexical splitter leaves out the relations of `with_relation_object`, which questions name like any other;
    /// here they are included. The types that are asked for (`all_same`, `query_attr`) are not terms, as in COVR.
    pub fn mask(&self, question: &Question<'_>) -> i64 {
        let answer = match question.answer {
            Answer::Value(kind, value) => self.value(kind, value),
            Answer::Relation(relation) => self.relation(relation),
            Answer::Bool(_) | Answer::Integer(_) => 0,
        };
        question.program.steps.iter().fold(answer, |mask, step| mask | self.of_step(step))
    }

    fn of_step(&self, step: &Step) -> i64 {
        let argument = match step.function.signature().argument {
            Argument::Value(kind) => self.value(kind, step.argument),
            Argument::Relation => self.relation(step.argument),
            Argument::Nothing | Argument::Number => 0,
        };
        let further = match step.function {
            Function::ChooseRelation => self.relation(CONVERSE[usize::from(step.argument)]),
            Function::WithSame(kind) => self.same(kind),
            _ => 0,
        };
        argument | further
    }

    fn value(&self, kind: u8, value: u8) -> i64 {
        1 << self.0.value_row(usize::from(kind), usize::from(value))
    }

    fn relation(&self, relation: u8) -> i64 {
        1 << (self.0.n_values_in_all() + usize::from(relation))
    }

    fn same(&self, kind: u8) -> i64 {
        1 << (self.0.n_values_in_all() + self.0.n_relations() + usize::from(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::samples::{program, vocabulary};

    /// The names of the properties of a question, except "program".
    fn properties(text: &str, template: Template, answer: Answer) -> Vec<String> {
        let program = program(text);
        let question = Question { program: &program, template, answer };
        let named = property_names().into_iter().zip(question.properties());
        named.filter(|(name, holds)| *holds && name != "program").map(|(name, _)| name).collect()
    }

    fn terms(text: &str, answer: Answer) -> Vec<String> {
        let (vocab, program) = (vocabulary(), program(text));
        let terms = Terms::new(&vocab).unwrap();
        let mask = terms.mask(&Question { program: &program, template: Template::Count, answer });
        terms.names().into_iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, name)| name).collect()
    }

    const YES: Answer = Answer::Bool(true);

    #[test]
    fn names_are_words_of_an_expression_and_differ() {
        let mut names = property_names();
        assert_eq!(names[names.len() - 1], "tpl-choose-relation");
        let is_plain = |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(names.iter().all(is_plain));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), PROPERTIES.len() + Template::ALL.len());
    }

    #[test]
    fn scopes_are_composed_unless_they_are_a_find_or_everything() {
        let cases = [
            ("scene; scene; filter_color[red] 1; all 0 2", false),
            ("scene; filter_shape[cube] 0; filter_color[red] 0; some 1 2", false),
            ("scene; filter_color[red] 0; none 1 0", true),
            ("scene; filter_shape[cube] 0; filter_shape[cube] 1; none 2 0", true),
            ("scene; filter_shape[cube] 0; with_relation[left] 1 0; all_same_color 2", true),
            ("scene; filter_shape[cube] 0; all_same_color 1", false),
            ("scene; filter_color[red] 0; exist 1", false),
        ];
        for (text, expected) in cases {
            let found = properties(text, Template::VerifyQuantifier, YES);
            assert_eq!(found.contains(&"compscope".to_owned()), expected, "{text}");
        }
    }

    #[test]
    fn relations_are_composed_where_one_feeds_another_directly() {
        let cases = [
            ("scene; with_relation[left] 0 0; with_same_color 0 1; count 2", true),
            ("scene; with_same_size 0 0; with_relation_object[left] 1 0; count 2", true),
            ("scene; with_relation[left] 0 0; assert_unique 1; with_relation[left] 0 2; count 3", false),
            ("scene; with_relation[left] 0 0; with_relation[left] 0 0; all 1 2", false),
        ];
        for (text, expected) in cases {
            assert_eq!(properties(text, Template::Count, YES).contains(&"v-c".to_owned()), expected, "{text}");
        }
    }

    #[test]
    fn the_number_is_three_in_the_question_or_in_the_answer() {
        let number = Answer::Integer;
        let text = "scene; count 0";
        assert_eq!(properties(text, Template::Count, number(2)), ["has-count", "ans-num", "tpl-count"]);
        let found = properties(text, Template::Count, number(3));
        assert_eq!(found, ["has-count", "num-3-ans-3", "ans-num", "tpl-count"]);
        let grouped = "scene; group_by_images 0; keep_if_values_count_geq[3] 1; count_groups 2";
        let found = properties(grouped, Template::CountGroupBy, number(1));
        assert_eq!(found, ["has-count", "has-groupby", "num-3", "num-3-ans-3", "ans-num", "tpl-count-group-by"]);
        // The argument 3 of the fourth relation is not a number.
        let related = properties("scene; with_relation[front] 0 0; count 1", Template::Count, number(0));
        assert_eq!(related, ["has-count", "ans-num", "tpl-count"]);
    }

    #[test]
    fn color_is_asked_for_by_two_templates() {
        let same = "scene; unique 0; query_color 1; query_color 1; equal_color 2 3";
        let has = |text: &str, template| properties(text, template, YES).contains(&"sameattr-color".to_owned());
        assert_eq!(TYPE_NAMES[usize::from(COLOR)], "color");
        assert!(has(same, Template::VerifySameAttr));
        assert!(!has(&same.replace("color", "size"), Template::VerifySameAttr));
        assert!(has("scene; all_same_color 0", Template::VerifyQuantifierAttr));
        assert!(!has("scene; all_same_shape 0", Template::VerifyQuantifierAttr));
    }

    #[test]
    fn anonymised_programs_differ_in_operations_alone() {
        let hash = |text: &str| anonymised_hash(&program(text));
        let alike = [
            ("scene; filter_shape[cube] 0; count 1", "scene; filter_shape[sphere] 0; count 1"),
            ("scene; filter_color[red] 0; count 1", "scene; filter_size[small] 0; count 1"),
            ("scene; with_relation[left] 0 0; count 1", "scene; with_same_color 0 0; count 1"),
            ("scene; count 0; count_is[2] 1", "scene; count 0; count_is[3] 1"),
            ("scene; all_same_size 0", "scene; all_same_color 0"),
            ("scene; unique 0; query_size 1", "scene; unique 0; query_color 1"),
            ("scene; scene; all 0 1", "scene; all 0 0"),
        ];
        for (a, b) in alike {
            assert_eq!(hash(a), hash(b), "{a} and {b}");
        }
        let different = [
            ("scene; filter_shape[cube] 0; count 1", "scene; filter_color[red] 0; count 1"),
            ("scene; unique 0; query_shape 1", "scene; unique 0; query_color 1"),
            ("scene; count 0; count_is[2] 1", "scene; count 0; count_at_most[2] 1"),
            ("scene; with_relation[left] 0 0; count 1", "scene; with_relation_object[left] 0 0; count 1"),
            (
                "scene; filter_shape[cube] 0; with_relation[left] 0 1; count 2",
                "scene; filter_shape[cube] 0; with_relation[left] 1 0; count 2",
            ),
        ];
        for (a, b) in different {
            assert_ne!(hash(a), hash(b), "{a} and {b}");
        }
        // Later versions must be able to make the same split again.
        assert_eq!(hash("scene; filter_shape[cube] 0; count 1"), 16_354_022_932_706_198_708);
    }

    #[test]
    fn terms_are_values_relations_and_likenesses() {
        let value = Answer::Value(1, 1);
        assert_eq!(terms("scene; filter_color[red] 0; unique 1; query_color 2", value), ["red", "blue"]);
        assert_eq!(terms("scene; unique 0; verify_color[red] 1", YES), ["red"]);
        let chosen = "scene; unique 0; option_shape[sphere]; choose_shape[cube] 1 2";
        assert_eq!(terms(chosen, Answer::Value(3, 0)), ["cube", "sphere"]);
        assert_eq!(terms("scene; with_same_color 0 0; count 1", Answer::Integer(1)), ["same_color"]);
        assert_eq!(terms("scene; with_relation_object[behind] 0 0; count 1", Answer::Integer(1)), ["behind"]);
        let relation = "scene; unique 0; choose_relation[left] 1 0";
        assert_eq!(terms(relation, Answer::Relation(1)), ["left", "right"]);
        assert!(terms("scene; all_same_color 0", YES).is_empty());
        assert!(terms("scene; count 0; count_is[1] 1", YES).is_empty());
    }

    #[test]
    fn a_vocabulary_of_many_values_has_too_many_terms() {
        let values = |n: usize| {
            let colors: Vec<String> = (0..n).map(|i| format!("\"c{i}\": [{i}, 0, 0]")).collect();
            let json = format!(
                r#"{{"sizes": {{"s": 1}}, "colors": {{{}}}, "materials": {{"m": "m"}}, "shapes": {{"cube": "c"}}}}"#,
                colors.join(", ")
            );
            Vocabulary::from_properties_json(json.as_bytes(), "properties.json", 10).unwrap()
        };
        let most = values(MAX_TERMS - 11);
        assert_eq!(Terms::new(&most).unwrap().names().len(), MAX_TERMS);
        let error = Terms::new(&values(MAX_TERMS - 10)).err().unwrap().to_string();
        assert!(error.starts_with("64 terms of questions (values, relations,"), "{error}");
    }
}
