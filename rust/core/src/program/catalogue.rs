//! The catalogue of functions: one entry each, from which everything else about a function follows.
//!
//! An entry reads `Variant "name" (inputs) [argument] -> output, effect => |facts, argument, a, b| meaning`, and stands
//! in the section of its origin. A variant with a number exists once for each attribute type, and its name ends in the
//! type's (`filter_color`). Type checking, execution (of one program or of many), tracing, JSON, tokens and held-out
//! checks all use these entries, so a new function is a new entry here. Only the audit has its own meanings
//! (`audit::program`), and it does not compile until the new function is added.
//!
//! The meanings are those of CLEVR's question engine (Johnson et al. 2017) and, for several images, of COVR's (Bogin et
//! al. 2021). They work on words of 32 bits for one scene and 64 for several: a set is a mask of object numbers, an
//! object is its number, an integer is itself, a truth value is 0 or 1, an attribute value is its number within its
//! type, groups are the set of their members, and images are a mask of their numbers. The inputs of a meaning have the
//! types that its entry states.

use super::facts::{Apply, Facts, Invalid, Once, Word, WordOf, union};
use crate::message::{shown, suggestion};
use crate::vocab::{CONVERSE, N_TYPES, TYPE_NAMES};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::LazyLock;

/// The type of a step's output and of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Set,
    Object,
    /// The members of a set, by image; an image without members has no group.
    Groups,
    Images,
    Integer,
    Bool,
    /// A value of this attribute type.
    Value(u8),
    Relation,
}

impl Type {
    /// Whether a program can end in this type, that is, whether its outputs are answers.
    #[inline]
    pub const fn is_answer(self) -> bool {
        match self {
            Self::Set | Self::Object | Self::Groups | Self::Images => false,
            Self::Integer | Self::Bool | Self::Value(_) | Self::Relation => true,
        }
    }
}

/// What a step takes in addition to the outputs of earlier steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Argument {
    Nothing,
    /// A value of this attribute type.
    Value(u8),
    Relation,
    /// A number from 0 to the vocabulary's largest count.
    Number,
}

/// Which programs a function is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// CLEVR's questions use it, so every dataset has its tokens.
    ClevrQuestions,
    /// CLEVR's question engine has it, but no question of CLEVR uses it.
    ClevrEngine,
    /// Suites of paired tests use it; CLEVR does not have it.
    Suites,
    /// COVR's questions about several images use it; templates, whose questions are about one image, cannot.
    Covr,
    /// Only templates of one's own use it.
    OwnTemplates,
    /// Only this crate's own tests use it.
    Tests,
}

/// How the description of a function's output follows from those of its inputs.
///
/// Numbers and truth values have descriptions too, since they may still be about described objects. `holdout` and the
/// audit each read programs by these effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The output's description is empty.
    StartsAnew,
    /// The output's description is the input's; with two inputs, the first one's.
    Keeps,
    /// Adds a value, the function's argument, to the input's description, or to an empty one if there is no input.
    Adds,
    /// The output fits the description of either input.
    TakesEither,
    /// The output fits the descriptions of both inputs.
    Joins,
    /// The output fits the descriptions of both inputs, and a value, the function's argument, is added.
    JoinsAndAdds,
    /// The output is of objects that have the input's value of this type; its description is otherwise empty.
    Likens(u8),
    /// The output fits the first input's description, and is of objects that have the second one's value of this type.
    JoinsLikeness(u8),
    /// Asks whether the inputs have the same value of this type; of a single input, whether its members have.
    Compares(u8),
    /// Asks whether the inputs are the same object.
    Identifies,
}

/// The types of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The inputs' types in order; None where the function takes fewer than two.
    pub inputs: [Option<Type>; 2],
    pub argument: Argument,
    pub output: Type,
}

/// Writes the enum and the methods that are derived from the entries.
macro_rules! catalogue {
    ($($origin:ident {$(
        $(#[$attribute:meta])*
        $variant:ident $(($kind:ident))? $name:literal ($($input:expr),*) [$argument:expr] -> $output:expr, $effect:expr
            => |$facts:pat_param, $value:pat_param, $a:pat_param, $b:pat_param| $meaning:expr;
    )*})*) => {
        /// A function of a program; those that exist for each attribute type carry the type's number.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Function {
            $($($(#[$attribute])* $variant $((catalogue!(@number $kind)))?,)*)*
        }

        #[allow(unused_doc_comments)] // An entry's attributes are repeated at each of its arms.
        impl Function {
            /// Every function in the catalogue's order, those for tests last.
            fn catalogue() -> &'static [Self] {
                static ALL: LazyLock<Vec<Function>> = LazyLock::new(|| {
                    let mut all = Vec::new();
                    $($($(#[$attribute])* { catalogue!(@each all $variant $($kind)?); })*)*
                    all
                });
                &ALL
            }

            /// The function's number; `N_TYPES` numbers are reserved for each variant.
            #[inline]
            pub(crate) const fn number(self) -> usize {
                enum Variant {
                    $($($(#[$attribute])* $variant,)*)*
                }
                match self {
                    $($($(#[$attribute])* Self::$variant $(($kind))? => {
                        Variant::$variant as usize * N_TYPES $(+ $kind as usize)?
                    })*)*
                }
            }

            /// The types of its inputs, argument and output.
            #[inline]
            #[allow(unused_variables)] // Not every entry's types depend on the attribute type.
            pub const fn signature(self) -> Signature {
                use Argument::*;
                use Type::{Bool, Groups, Images, Integer, Object, Set};
                match self {
                    $($($(#[$attribute])* Self::$variant $(($kind))? => Signature {
                        inputs: at_most_two(&[$($input),*]),
                        argument: $argument,
                        output: $output,
                    },)*)*
                }
            }

            /// How its output is described.
            #[inline]
            #[allow(unused_variables)] // Not every effect depends on the attribute type.
            pub const fn effect(self) -> Effect {
                use Effect::*;
                match self {
                    $($($(#[$attribute])* Self::$variant $(($kind))? => $effect,)*)*
                }
            }

            /// Whose programs it is for.
            #[allow(unused_variables)]
            pub const fn origin(self) -> Origin {
                match self {
                    $($($(#[$attribute])* Self::$variant $(($kind))? => Origin::$origin,)*)*
                }
            }

            /// The name without the attribute type, and the type if there is one.
            const fn name_parts(self) -> (&'static str, Option<u8>) {
                match self {
                    $($($(#[$attribute])* Self::$variant $(($kind))? => ($name, catalogue!(@option $($kind)?)),)*)*
                }
            }

            /// Passes the function's meaning to `to`, which applies it once or many times.
            #[inline(always)]
            #[allow(unused_variables)]
            pub(super) fn apply<A: Apply>(self, to: A) -> A::Done {
                match self {
                    $($($(#[$attribute])* Self::$variant $(($kind))? => to.apply(
                        #[inline(always)]
                        |$facts: A::Facts, $value: u8, $a: WordOf<A>, $b: WordOf<A>| Ok(WordOf::<A>::from($meaning))
                    ),)*)*
                }
            }
        }
    };
    (@number $kind:ident) => { u8 };
    (@each $all:ident $variant:ident) => { $all.push(Function::$variant) };
    (@each $all:ident $variant:ident $kind:ident) => { $all.extend((0..N_TYPES as u8).map(Function::$variant)) };
    (@option) => { None };
    (@option $kind:ident) => { Some($kind) };
}

catalogue! {
    ClevrQuestions {
        /// All objects.
        Scene "scene" () [Nothing] -> Set, StartsAnew => |facts, _, _, _| facts.everything();
        /// The members of a set that have a value.
        Filter(kind) "filter" (Set) [Value(kind)] -> Set, Adds => |facts, value, set, _| set & facts.having(kind, value);
        /// The only member of a set; for any other set the program has no answer.
        Unique "unique" (Set) [Nothing] -> Object, Keeps
            => |_, _, set, _| if set.n_members() == 1 { set.first() } else { return Err(Invalid) };
        /// The objects that stand in a relation to an object.
        Relate "relate" (Object) [Relation] -> Set, StartsAnew
            => |facts, relation, object, _| facts.related(relation, object);
        Union "union" (Set, Set) [Nothing] -> Set, TakesEither => |_, _, a, b| a | b;
        Intersect "intersect" (Set, Set) [Nothing] -> Set, Joins => |_, _, a, b| a & b;
        Count "count" (Set) [Nothing] -> Integer, StartsAnew => |_, _, set, _| set.n_members();
        Exist "exist" (Set) [Nothing] -> Bool, StartsAnew => |_, _, set, _| !set.is_empty();
        /// An object's value of a type.
        Query(kind) "query" (Object) [Nothing] -> Type::Value(kind), Keeps
            => |facts, _, object, _| u32::from(facts.value(kind, object));
        /// The other objects that have an object's value of a type.
        Same(kind) "same" (Object) [Nothing] -> Set, Likens(kind)
            => |facts, _, object, _| facts.having(kind, facts.value(kind, object)) & !object.single();
        /// Whether two values of a type are the same.
        Equal(kind) "equal" (Type::Value(kind), Type::Value(kind)) [Nothing] -> Bool, Compares(kind)
            => |_, _, a, b| a == b;
        EqualInteger "equal_integer" (Integer, Integer) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a == b;
        LessThan "less_than" (Integer, Integer) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a < b;
        GreaterThan "greater_than" (Integer, Integer) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a > b;
    }
    ClevrEngine {
        EqualObject "equal_object" (Object, Object) [Nothing] -> Bool, Identifies => |_, _, a, b| a == b;
    }
    Suites {
        And "and" (Bool, Bool) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a & b;
        Or "or" (Bool, Bool) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a | b;
        Not "not" (Bool) [Nothing] -> Bool, StartsAnew => |_, _, truth, _| truth.is_empty();
        /// Whether an object has a value.
        Verify(kind) "verify" (Object) [Value(kind)] -> Bool, Adds
            => |facts, value, object, _| facts.value(kind, object) == value;
        /// The object itself, with a value named that it may have: `offer_color[red]`, `offer_color[blue]`, then
        /// `query_color` is a choice question. The values offered are alternatives, but no held-out conjunction has two
        /// values of one type, so adding all of them to the object's description asks for the same as adding each to an
        /// alternative of its own.
        Offer(kind) "offer" (Object) [Value(kind)] -> Object, Adds => |_, _, object, _| object;
        /// Whether an integer is this number.
        CountIs "count_is" (Integer) [Number] -> Bool, StartsAnew => |_, number, n, _| n.number() == usize::from(number);
        /// Whether the first object stands in a relation to the second.
        VerifyRelation "verify_relation" (Object, Object) [Relation] -> Bool, StartsAnew
            => |facts, relation, a, b| facts.related(relation, b).has(a);
    }
    Covr {
        /// The members of the first set that stand in a relation to some member of the second.
        WithRelation "with_relation" (Set, Set) [Relation] -> Set, Keeps => |facts, relation, set, others| {
            set & union(others.members().map(|other| facts.related(relation, other)))
        };
        /// The members of the first set to which some member of the second stands in a relation.
        WithRelationObject "with_relation_object" (Set, Set) [Relation] -> Set, Keeps => |facts, relation, set, others| {
            let has_other = |&object: &_| !(facts.related(relation, object) & others).is_empty();
            union(set.members().filter(has_other).map(Word::single))
        };
        /// The members of the first set that share a value with another object of their image that is in the second
        /// set.
        WithSame(kind) "with_same" (Set, Set) [Nothing] -> Set, JoinsLikeness(kind)
            => |facts, _, set, others| set & union(others.members().map(|other| facts.alike(kind, other)));
        /// The set itself, if it has exactly one member.
        AssertUnique "assert_unique" (Set) [Nothing] -> Set, Keeps
            => |_, _, set, _| if set.n_members() == 1 { set } else { return Err(Invalid) };
        /// Whether all members of the first set are in the second.
        All "all" (Set, Set) [Nothing] -> Bool, Joins => |_, _, scope, condition| (scope & !condition).is_empty();
        /// Whether some member of the first set is in the second.
        Some "some" (Set, Set) [Nothing] -> Bool, Joins => |_, _, scope, condition| !(scope & condition).is_empty();
        /// Whether no member of the first set is in the second.
        None "none" (Set, Set) [Nothing] -> Bool, Joins => |_, _, scope, condition| (scope & condition).is_empty();
        /// Whether all members of a set have the same value of a type.
        AllSame(kind) "all_same" (Set) [Nothing] -> Bool, Compares(kind)
            => |facts, _, set, _| set.is_empty()
                || (set & !facts.having(kind, facts.value(kind, set.first()))).is_empty();
        /// The images that members of a set are in.
        UniqueImages "unique_images" (Set) [Nothing] -> Images, Keeps => |facts, _, set, _| facts.images(set);
        CountImages "count_images" (Images) [Nothing] -> Integer, StartsAnew => |_, _, images, _| images.n_members();
        GroupByImages "group_by_images" (Set) [Nothing] -> Groups, Keeps => |_, _, set, _| set;
        /// The groups with exactly as many members as the number says.
        KeepIfValuesCountEq "keep_if_values_count_eq" (Groups) [Number] -> Groups, Keeps
            => |facts, number, groups, _| facts.members_by_image(groups, |n| n == u32::from(number));
        /// The groups with at least as many members.
        KeepIfValuesCountGeq "keep_if_values_count_geq" (Groups) [Number] -> Groups, Keeps
            => |facts, number, groups, _| facts.members_by_image(groups, |n| n >= u32::from(number));
        /// The groups with at most as many members.
        KeepIfValuesCountLeq "keep_if_values_count_leq" (Groups) [Number] -> Groups, Keeps
            => |facts, number, groups, _| facts.members_by_image(groups, |n| n <= u32::from(number));
        /// The images of groups.
        Keys "keys" (Groups) [Nothing] -> Images, Keeps => |facts, _, groups, _| facts.images(groups);
        CountGroups "count_groups" (Groups) [Nothing] -> Integer, StartsAnew
            => |facts, _, groups, _| facts.images(groups).n_members();
        CountAtLeast "count_at_least" (Integer) [Number] -> Bool, StartsAnew
            => |_, number, n, _| n.number() >= usize::from(number);
        CountAtMost "count_at_most" (Integer) [Number] -> Bool, StartsAnew
            => |_, number, n, _| n.number() <= usize::from(number);
        /// A value that `choose` may choose.
        Option(kind) "option" () [Value(kind)] -> Type::Value(kind), Adds => |_, value, _, _| u32::from(value);
        /// An object's value of a type, if it is the argument or the second input: `choose_color[red]` of an object and
        /// `option_color[blue]`. Unlike `offer`, this fails if the object has neither value.
        Choose(kind) "choose" (Object, Type::Value(kind)) [Value(kind)] -> Type::Value(kind), JoinsAndAdds
            => |facts, value, object, option| match facts.value(kind, object) {
                chosen if chosen == value || usize::from(chosen) == option.number() => u32::from(chosen),
                _ => return Err(Invalid),
            };
        /// Which of a relation and its converse holds between an object and the only member of a set in the object's
        /// image: `choose_relation[left]` answers left or right.
        ChooseRelation "choose_relation" (Object, Set) [Relation] -> Type::Relation, StartsAnew
            => |facts, relation, object, set| {
                let others = set & facts.image_of(object);
                let converse = CONVERSE[usize::from(relation)];
                match others.n_members() {
                    1 if facts.related(relation, others.first()).has(object) => u32::from(relation),
                    1 if facts.related(converse, others.first()).has(object) => u32::from(converse),
                    _ => return Err(Invalid),
                }
            };
    }
    OwnTemplates {
        /// The first count less the second; there is no answer below 0, since counts are answers from 0 on.
        Subtraction "subtraction" (Integer, Integer) [Nothing] -> Integer, StartsAnew
            => |_, _, a, b| match a.number().checked_sub(b.number()) {
                Some(difference) => difference as u32,
                None => return Err(Invalid),
            };
    }
    Tests {
        // One of each effect.
        #[cfg(test)]
        Lacks(kind) "lacks" (Object) [Value(kind)] -> Bool, Adds
            => |facts, value, object, _| facts.value(kind, object) != value;
        #[cfg(test)]
        First "first" (Set) [Nothing] -> Set, Keeps => |_, _, set, _| if set.is_empty() { set } else { set.first().single() };
        #[cfg(test)]
        Others "others" (Set) [Nothing] -> Set, StartsAnew => |facts, _, set, _| facts.everything() & !set;
        #[cfg(test)]
        Either "either" (Set, Set) [Nothing] -> Set, TakesEither => |_, _, a, b| a ^ b;
        #[cfg(test)]
        Overlap "overlap" (Set, Set) [Nothing] -> Bool, Joins => |_, _, a, b| !(a & b).is_empty();
        #[cfg(test)]
        Like(kind) "like" (Object) [Nothing] -> Set, Likens(kind)
            => |facts, _, object, _| facts.having(kind, facts.value(kind, object));
        #[cfg(test)]
        Differ(kind) "differ" (Type::Value(kind), Type::Value(kind)) [Nothing] -> Bool, Compares(kind)
            => |_, _, a, b| a != b;
        #[cfg(test)]
        DifferObject "differ_object" (Object, Object) [Nothing] -> Bool, Identifies => |_, _, a, b| a != b;
    }
}

const fn at_most_two(types: &[Type]) -> [Option<Type>; 2] {
    match types {
        [] => [None, None],
        [one] => [Some(*one), None],
        [one, two, ..] => [Some(*one), Some(*two)],
    }
}

impl Function {
    /// Every function in the catalogue's order, except those for tests.
    pub fn all() -> &'static [Self] {
        let all = Self::catalogue();
        &all[..all.partition_point(|function| function.origin() != Origin::Tests)]
    }

    /// The functions for tests, which `all` does not list.
    #[cfg(test)]
    pub(crate) fn for_tests() -> &'static [Self] {
        &Self::catalogue()[Self::all().len()..]
    }

    /// The function's output on a scene. `argument` is the value, relation or number; `inputs` are the outputs of the
    /// steps that it is applied to (0 where there are fewer than two).
    #[inline(always)]
    pub(crate) fn meaning<F: Facts>(self, facts: F, argument: u8, inputs: [F::Word; 2]) -> Result<F::Word, Invalid> {
        self.apply(Once(facts, argument, inputs))
    }

    /// The function with this name in CLEVR's files; an error suggests a similar name.
    pub fn from_name(name: &str) -> Result<Self, String> {
        static BY_NAME: LazyLock<FxHashMap<String, Function>> =
            LazyLock::new(|| Function::catalogue().iter().map(|function| (function.to_string(), *function)).collect());
        BY_NAME.get(name).copied().ok_or_else(|| {
            let names: Vec<String> = Self::all().iter().map(ToString::to_string).collect();
            format!("unknown function \"{}\"{}", shown(name), suggestion(name, names.iter().map(String::as_str)))
        })
    }

    /// Number of its inputs.
    #[inline]
    pub const fn arity(self) -> usize {
        match self.signature().inputs {
            [None, _] => 0,
            [Some(_), None] => 1,
            [Some(_), Some(_)] => 2,
        }
    }

    /// The attribute type of the value that it adds to its input's description; None if it adds none.
    pub const fn added_type(self) -> Option<u8> {
        let adds = match self.effect() {
            Effect::Adds | Effect::JoinsAndAdds => true,
            Effect::StartsAnew | Effect::Keeps | Effect::TakesEither | Effect::Joins => false,
            Effect::Likens(_) | Effect::JoinsLikeness(_) | Effect::Compares(_) | Effect::Identifies => false,
        };
        match self.signature().argument {
            Argument::Value(kind) if adds => Some(kind),
            Argument::Value(_) | Argument::Nothing | Argument::Relation | Argument::Number => None,
        }
    }

    /// The attribute type whose values it asks for or compares; None if it only picks out what has a given value.
    pub const fn asked_type(self) -> Option<u8> {
        match self {
            Self::Filter(_) => None,
            _ => self.attribute_type(),
        }
    }

    /// The attribute type of a function that exists once for each type.
    pub const fn attribute_type(self) -> Option<u8> {
        self.name_parts().1
    }
}

/// The name as CLEVR's files spell it: `unique`, `filter_color`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name_parts() {
            (stem, None) => f.write_str(stem),
            (stem, Some(kind)) => write!(f, "{stem}_{}", TYPE_NAMES[usize::from(kind)]),
        }
    }
}

/// The name in CLEVR's metadata (`ObjectSet`, `Integer`) if it has one; for a value, the name of its attribute type.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set => "ObjectSet",
            Self::Object => "Object",
            Self::Groups => "Groups",
            Self::Images => "Images",
            Self::Integer => "Integer",
            Self::Bool => "Bool",
            Self::Value(kind) => TYPE_NAMES[usize::from(*kind)],
            Self::Relation => "Relation",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the functions of an origin, in the catalogue's order.
    fn names(origin: Origin) -> String {
        let functions = Function::all().iter().filter(|function| function.origin() == origin);
        functions.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_catalogue_is_that_of_clevr_and_of_suites() {
        assert_eq!(
            names(Origin::ClevrQuestions),
            "scene filter_size filter_color filter_material filter_shape unique relate union intersect count exist \
             query_size query_color query_material query_shape same_size same_color same_material same_shape \
             equal_size equal_color equal_material equal_shape equal_integer less_than greater_than"
        );
        assert_eq!(names(Origin::ClevrEngine), "equal_object");
        assert_eq!(
            names(Origin::Suites),
            "and or not verify_size verify_color verify_material verify_shape offer_size offer_color offer_material \
             offer_shape count_is verify_relation"
        );
        assert_eq!(
            names(Origin::Covr),
            "with_relation with_relation_object with_same_size with_same_color with_same_material with_same_shape \
             assert_unique all some none all_same_size all_same_color all_same_material all_same_shape unique_images \
             count_images group_by_images keep_if_values_count_eq keep_if_values_count_geq keep_if_values_count_leq \
             keys count_groups count_at_least count_at_most option_size option_color option_material option_shape \
             choose_size choose_color choose_material choose_shape choose_relation"
        );
        assert_eq!(names(Origin::OwnTemplates), "subtraction");
        assert_eq!(names(Origin::Tests), "");
        assert!(Function::for_tests().iter().all(|function| function.origin() == Origin::Tests));
    }

    #[test]
    fn numbers_of_functions_do_not_move() {
        let number = |name| Function::from_name(name).unwrap().number();
        let numbers = ["scene", "filter_shape", "query_size", "equal_shape", "greater_than", "equal_object", "and"];
        assert_eq!(numbers.map(number), [0, 7, 32, 43, 52, 56, 60]);
        assert_eq!(["verify_relation", "with_relation", "choose_relation"].map(number), [84, 88, 168]);
        assert!(Function::all().is_sorted_by_key(|function| function.number()));
    }

    #[test]
    fn a_name_is_read_back_to_its_function() {
        for function in Function::all() {
            assert_eq!(Function::from_name(&function.to_string()), Ok(*function));
        }
        for name in ["filter", "filter_", "query_weight", "scene_color", ""] {
            assert!(Function::from_name(name).is_err(), "{name}");
        }
        let error = Function::from_name("querry_color").unwrap_err();
        assert_eq!(error, "unknown function \"querry_color\" (did you mean \"query_color\"?)");
    }

    #[test]
    fn signatures_follow_the_attribute_type() {
        let filter = Function::Filter(1).signature();
        assert_eq!(filter.inputs, [Some(Type::Set), None]);
        assert_eq!((filter.argument, filter.output), (Argument::Value(1), Type::Set));
        assert_eq!(Function::Equal(3).signature().inputs, [Some(Type::Value(3)); 2]);
        let verify = Function::VerifyRelation.signature();
        assert_eq!((verify.inputs, verify.argument), ([Some(Type::Object); 2], Argument::Relation));
        assert_eq!(Function::CountIs.signature().argument, Argument::Number);
        assert_eq!(Function::Scene.arity(), 0);
        assert_eq!(Function::Union.arity(), 2);
    }

    #[test]
    fn all_functions_of_a_type_but_its_filter_ask_about_it() {
        for function in [Function::Query(1), Function::Same(1), Function::Equal(1), Function::Verify(1)] {
            assert_eq!(function.asked_type(), Some(1), "{function}");
        }
        for function in [Function::Filter(1), Function::Relate, Function::Count] {
            assert_eq!(function.asked_type(), None, "{function}");
        }
    }

    #[test]
    fn functions_that_add_a_value_say_of_which_type() {
        for function in [Function::Filter(2), Function::Verify(2), Function::Offer(2)] {
            assert_eq!(function.added_type(), Some(2), "{function}");
        }
        for function in [Function::Relate, Function::CountIs, Function::VerifyRelation, Function::Query(2)] {
            assert_eq!(function.added_type(), None, "{function}");
        }
    }
}
