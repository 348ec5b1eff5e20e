//! The catalogue of functions: one entry each, from which everything else about a function follows.
//!
//! An entry reads `Variant "name" (inputs) [argument] -> output, effect => |facts, argument, a, b| meaning`.
//! A variant with a number exists once for each attribute type, and its name ends in the type's
//! (`filter_color`). Type checking, execution (of one program or of many), tracing, JSON, tokens and
//! held-out checks all use these entries, so a new function is a new entry here. Only the audit has
//! meanings of its own (`audit::program`), and it does not compile until the new one is added.
//!
//! Meanings are those of CLEVR's question engine (Johnson et al. 2017), on 32-bit words: a set is a mask of
//! object numbers, an object its number, an integer itself, a truth value 0 or 1, an attribute value its
//! number within its type. The inputs of a meaning have the types that its entry states.

use super::facts::{Apply, Facts, Invalid, Once};
use crate::message::{shown, suggestion};
use crate::vocab::{N_TYPES, TYPE_NAMES};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::LazyLock;

/// The type of a step's output and of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    Set,
    Object,
    Integer,
    Bool,
    /// A value of this attribute type.
    Value(u8),
}

/// What a step takes in addition to the outputs of earlier steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Argument {
    Nothing,
    /// A value of this attribute type.
    Value(u8),
    Relation,
}

/// How the description of a function's output follows from those of its inputs.
///
/// The description of an object is that of the set that it was taken from. Numbers and truth values have
/// descriptions too: they may still be about described objects. `holdout` and the audit each read programs by
/// these effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The output's description is empty.
    StartsAnew,
    /// The output's description is the input's.
    Keeps,
    /// Adds a value, the function's argument, to the input's description.
    Adds,
    /// The output fits the description of either input.
    TakesEither,
    /// The output fits the descriptions of both inputs.
    Joins,
    /// The output is of objects that have the input's value of this type; its description is otherwise empty.
    Likens(u8),
    /// Asks whether the inputs have the same value of this type.
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

/// Writes the enum and the methods that are read off the entries.
macro_rules! catalogue {
    ($(
        $(#[$attribute:meta])*
        $variant:ident $(($kind:ident))? $name:literal ($($input:expr),*) [$argument:expr] -> $output:expr, $effect:expr
            => |$facts:pat_param, $value:pat_param, $a:pat_param, $b:pat_param| $meaning:expr;
    )*) => {
        /// A function of a program; those that exist for each attribute type carry the type's number.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Function {
            $($(#[$attribute])* $variant $((catalogue!(@number $kind)))?,)*
        }

        #[allow(unused_doc_comments)] // An entry's attributes stand at each of its arms.
        impl Function {
            /// Every function in the catalogue's order, those for tests last.
            fn catalogue() -> &'static [Self] {
                static ALL: LazyLock<Vec<Function>> = LazyLock::new(|| {
                    let mut all = Vec::new();
                    $($(#[$attribute])* { catalogue!(@each all $variant $($kind)?); })*
                    all
                });
                &ALL
            }

            /// The function's number; `N_TYPES` numbers are reserved for each variant.
            #[inline]
            pub(super) const fn number(self) -> usize {
                enum Variant {
                    $($(#[$attribute])* $variant,)*
                }
                match self {
                    $($(#[$attribute])* Self::$variant $(($kind))? => Variant::$variant as usize * N_TYPES $(+ $kind as usize)?,)*
                }
            }

            /// The types of its inputs, argument and output.
            #[inline]
            #[allow(unused_variables)] // Not every entry's types depend on the attribute type.
            pub const fn signature(self) -> Signature {
                use Argument::*;
                use Type::{Bool, Integer, Object, Set};
                match self {
                    $($(#[$attribute])* Self::$variant $(($kind))? => Signature {
                        inputs: at_most_two(&[$($input),*]),
                        argument: $argument,
                        output: $output,
                    },)*
                }
            }

            /// How its output is described.
            #[inline]
            #[allow(unused_variables)] // Not every effect depends on the attribute type.
            pub const fn effect(self) -> Effect {
                use Effect::*;
                match self {
                    $($(#[$attribute])* Self::$variant $(($kind))? => $effect,)*
                }
            }

            /// The name without the attribute type, and the type if there is one.
            const fn name_parts(self) -> (&'static str, Option<u8>) {
                match self {
                    $($(#[$attribute])* Self::$variant $(($kind))? => ($name, catalogue!(@option $($kind)?)),)*
                }
            }

            /// Passes the function's meaning to `to`, which applies it once or many times.
            #[inline(always)]
            #[allow(unused_variables)]
            pub(super) fn apply<A: Apply>(self, to: A) -> A::Done {
                match self {
                    $($(#[$attribute])* Self::$variant $(($kind))? => to.apply(
                        #[inline(always)]
                        |$facts: A::Facts, $value: u8, $a: u32, $b: u32| Ok(u32::from($meaning))
                    ),)*
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
    /// All objects.
    Scene "scene" () [Nothing] -> Set, StartsAnew => |facts, _, _, _| facts.everything();
    /// The members of a set that have a value.
    Filter(kind) "filter" (Set) [Value(kind)] -> Set, Adds => |facts, value, set, _| set & facts.having(kind, value);
    /// The only member of a set; for any other set the program has no answer.
    Unique "unique" (Set) [Nothing] -> Object, Keeps
        => |_, _, set, _| if set.count_ones() == 1 { set.trailing_zeros() } else { return Err(Invalid) };
    /// The objects that stand in a relation to an object.
    Relate "relate" (Object) [Relation] -> Set, StartsAnew => |facts, relation, object, _| facts.related(relation, object);
    Union "union" (Set, Set) [Nothing] -> Set, TakesEither => |_, _, a, b| a | b;
    Intersect "intersect" (Set, Set) [Nothing] -> Set, Joins => |_, _, a, b| a & b;
    Count "count" (Set) [Nothing] -> Integer, StartsAnew => |_, _, set, _| set.count_ones();
    Exist "exist" (Set) [Nothing] -> Bool, StartsAnew => |_, _, set, _| set != 0;
    /// An object's value of a type.
    Query(kind) "query" (Object) [Nothing] -> Type::Value(kind), Keeps => |facts, _, object, _| facts.value(kind, object);
    /// The other objects that have an object's value of a type.
    Same(kind) "same" (Object) [Nothing] -> Set, Likens(kind)
        => |facts, _, object, _| facts.having(kind, facts.value(kind, object) as u8) & !(1 << object);
    /// Whether two values of a type are the same.
    Equal(kind) "equal" (Type::Value(kind), Type::Value(kind)) [Nothing] -> Bool, Compares(kind) => |_, _, a, b| a == b;
    EqualInteger "equal_integer" (Integer, Integer) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a == b;
    LessThan "less_than" (Integer, Integer) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a < b;
    GreaterThan "greater_than" (Integer, Integer) [Nothing] -> Bool, StartsAnew => |_, _, a, b| a > b;
    EqualObject "equal_object" (Object, Object) [Nothing] -> Bool, Identifies => |_, _, a, b| a == b;
    // Functions for tests: one of each effect.
    #[cfg(test)]
    Verify(kind) "verify" (Object) [Value(kind)] -> Bool, Adds => |facts, value, object, _| facts.value(kind, object) == u32::from(value);
    #[cfg(test)]
    First "first" (Set) [Nothing] -> Set, Keeps => |_, _, set, _| set & set.wrapping_neg();
    #[cfg(test)]
    Others "others" (Set) [Nothing] -> Set, StartsAnew => |facts, _, set, _| facts.everything() & !set;
    #[cfg(test)]
    Either "either" (Set, Set) [Nothing] -> Set, TakesEither => |_, _, a, b| a ^ b;
    #[cfg(test)]
    Overlap "overlap" (Set, Set) [Nothing] -> Bool, Joins => |_, _, a, b| a & b != 0;
    #[cfg(test)]
    Like(kind) "like" (Object) [Nothing] -> Set, Likens(kind) => |facts, _, object, _| facts.having(kind, facts.value(kind, object) as u8);
    #[cfg(test)]
    Differ(kind) "differ" (Type::Value(kind), Type::Value(kind)) [Nothing] -> Bool, Compares(kind) => |_, _, a, b| a != b;
    #[cfg(test)]
    DifferObject "differ_object" (Object, Object) [Nothing] -> Bool, Identifies => |_, _, a, b| a != b;
}

const fn at_most_two(types: &[Type]) -> [Option<Type>; 2] {
    match types {
        [] => [None, None],
        [one] => [Some(*one), None],
        [one, two, ..] => [Some(*one), Some(*two)],
    }
}

/// Number of functions for tests, at the catalogue's end.
const N_FOR_TESTS: usize = if cfg!(test) { 5 + 3 * N_TYPES } else { 0 };

impl Function {
    /// Every function in the catalogue's order.
    pub fn all() -> &'static [Self] {
        let all = Self::catalogue();
        &all[..all.len() - N_FOR_TESTS]
    }

    /// The functions for tests, which `all` does not list, so that they do not change the numbers of tokens.
    #[cfg(test)]
    pub(crate) fn for_tests() -> &'static [Self] {
        &Self::catalogue()[Self::all().len()..]
    }

    /// The function's output on a scene. `argument` is the value or relation, `inputs` are the inputs' outputs (0
    /// where there are fewer than two).
    #[inline(always)]
    pub(crate) fn meaning<F: Facts>(self, facts: F, argument: u8, inputs: [u32; 2]) -> Result<u32, Invalid> {
        self.apply(Once(facts, argument, inputs))
    }

    /// The function of a name as CLEVR's files spell it; an error suggests a similar name.
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

/// The name in CLEVR's metadata (`ObjectSet`, `Integer`); for a value, the name of its attribute type.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set => "ObjectSet",
            Self::Object => "Object",
            Self::Integer => "Integer",
            Self::Bool => "Bool",
            Self::Value(kind) => TYPE_NAMES[usize::from(*kind)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_that_of_clevr() {
        let names: Vec<String> = Function::all().iter().map(ToString::to_string).collect();
        assert_eq!(
            names.join(" "),
            "scene filter_size filter_color filter_material filter_shape unique relate union intersect count exist \
             query_size query_color query_material query_shape same_size same_color same_material same_shape \
             equal_size equal_color equal_material equal_shape equal_integer less_than greater_than equal_object"
        );
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
        assert_eq!(Function::Scene.arity(), 0);
        assert_eq!(Function::Union.arity(), 2);
    }
}
