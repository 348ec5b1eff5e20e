//! Whether a program, given as tokens in prefix order, mentions the held-out values, and its answer on a scene.
//!
//! The description of a step is a list of alternatives, each a set of values that its objects are asked to have. By
//! its effect, a function keeps the description of its input, adds a value to each alternative, takes the alternatives
//! of either input, joins each with each, or starts a new description that asks for nothing. (A likeness starts a new
//! one as well; `implication` handles it.) The program mentions the held-out values if an alternative of some step has
//! all of them.

use super::error::{AuditError, MOST_VALUES};
use super::token::{MOST_TOKENS, Tokens};
use crate::program::{Effect, Function};
use crate::scene::SceneView;
use crate::vocab::{TYPE_NAMES, Vocabulary};

/// A `unique` was applied to a set without exactly one member.
pub const NO_ANSWER: i32 = -1;
/// The tokens are not a program.
pub const NO_PROGRAM: i32 = -2;
/// The output is not among the answers.
pub const UNKNOWN_ANSWER: i32 = -3;
/// There is no scene.
pub const NO_SCENE: i32 = -4;

/// The output of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Set(u32),
    Object(usize),
    Number(u32),
    Truth(bool),
    Attribute(usize, u8),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NotUnique,
    NoProgram,
}

/// A list of alternatives: bit `a` stands for the one with the held-out values of `a`'s bits.
type Alternatives = u16;
const ANYTHING: Alternatives = 1;

/// Reads programs of one vocabulary with respect to its held-out values.
#[derive(Clone, Debug)]
pub struct ProgramReader {
    pub(super) tokens: Tokens,
    /// The bits of all held-out values; 0 if nothing is held out.
    pub(super) held_out: u8,
    /// By type, the bit of its held-out value; 0 for other types.
    pub(super) bits: [u8; TYPE_NAMES.len()],
    yes_no: [i32; 2],
    numbers: Vec<i32>,
    /// By type and value.
    values: Vec<Vec<i32>>,
}

impl ProgramReader {
    /// `functions` and `answers` are the names of `vocab.json` by number; `pair` holds the held-out values, each as type
    /// and value.
    ///
    /// # Errors
    /// Held-out values that are not in the vocabulary, or too many of them.
    pub fn new(
        vocab: &Vocabulary,
        functions: &[String],
        answers: &[String],
        pair: &[(String, String)],
    ) -> Result<Self, AuditError> {
        if pair.len() > MOST_VALUES {
            return Err(AuditError::TooMany(pair.len()));
        }
        let held = find_values(vocab, pair)?;
        let mut bits = [0; TYPE_NAMES.len()];
        held.iter().enumerate().for_each(|(i, &(kind, _))| bits[kind] = 1 << i);
        let number = |name: &str| answers.iter().position(|answer| answer == name).map_or(UNKNOWN_ANSWER, |i| i as i32);
        let values_of = |kind: usize| (0..vocab.n_values(kind)).map(|v| number(vocab.value_name(kind, v))).collect();
        Ok(Self {
            tokens: Tokens::new(vocab, functions, |kind, value| {
                held.iter().position(|&one| one == (kind, value)).map_or(0, |i| 1 << i)
            }),
            bits,
            held_out: (0..pair.len()).fold(0, |bits, i| bits | 1 << i),
            yes_no: [number("no"), number("yes")],
            numbers: (0..=usize::from(vocab.largest_count())).map(|n| number(&n.to_string())).collect(),
            values: (0..TYPE_NAMES.len()).map(values_of).collect(),
        })
    }

    /// Whether some set of the program is asked for all held-out values.
    pub fn mentions(&self, program: &[i32]) -> bool {
        if !self.names_all(program) {
            return false;
        }
        let mut found = false;
        let mut rest = program;
        while !rest.is_empty() {
            self.describe(&mut rest, &mut found);
        }
        found
    }

    /// Whether values are held out and all of them are named somewhere in the program. Otherwise it does not ask for
    /// them in any way, which holds for most programs.
    pub(super) fn names_all(&self, program: &[i32]) -> bool {
        if program.len() > MOST_TOKENS {
            return false;
        }
        let named = program.iter().filter_map(|&token| self.tokens.get(token)).fold(0, |all, token| all | token.values);
        named == u64::from(self.held_out) && named != 0
    }

    /// The alternatives of the next step, whose tokens are consumed; sets `found` if one has all values.
    fn describe(&self, rest: &mut &[i32], found: &mut bool) -> Alternatives {
        let Some(token) = self.tokens.next(rest) else { return ANYTHING };
        let described = match token.function.effect() {
            Effect::Keeps => return self.describe(rest, found),
            Effect::Adds => added(self.describe(rest, found), token.values as u8),
            Effect::TakesEither => self.describe(rest, found) | self.describe(rest, found),
            Effect::Joins => joined(self.describe(rest, found), self.describe(rest, found)),
            Effect::StartsAnew | Effect::Likens(_) | Effect::Compares(_) | Effect::Identifies => {
                for _ in 0..token.function.arity() {
                    self.describe(rest, found);
                }
                ANYTHING
            }
        };
        *found |= described >> self.held_out & 1 == 1;
        described
    }

    /// The answer's number, `NO_ANSWER`, `NO_PROGRAM` or `UNKNOWN_ANSWER`.
    pub fn answer(&self, program: &[i32], scene: SceneView<'_>) -> i32 {
        if program.len() > MOST_TOKENS {
            return NO_PROGRAM;
        }
        let mut rest = program;
        let value = self.value(&mut rest, scene);
        match value {
            Err(Fault::NotUnique) => NO_ANSWER,
            Err(Fault::NoProgram) => NO_PROGRAM,
            Ok(_) if !rest.is_empty() => NO_PROGRAM,
            Ok(Value::Truth(truth)) => self.yes_no[usize::from(truth)],
            Ok(Value::Number(n)) => self.numbers.get(n as usize).copied().unwrap_or(UNKNOWN_ANSWER),
            Ok(Value::Attribute(kind, value)) => self.values[kind][usize::from(value)],
            Ok(Value::Set(_) | Value::Object(_)) => NO_PROGRAM,
        }
    }

    fn value(&self, rest: &mut &[i32], scene: SceneView<'_>) -> Result<Value, Fault> {
        let token = self.tokens.next(rest).ok_or(Fault::NoProgram)?;
        Ok(match token.function {
            Function::Scene => Value::Set((0..scene.attributes.len()).fold(0, |set, object| set | 1 << object)),
            Function::Filter(_) => Value::Set(self.set(rest, scene)? & scene.members[token.argument]),
            Function::Unique => match self.set(rest, scene)? {
                set if set.is_power_of_two() => Value::Object(set.trailing_zeros() as usize),
                _ => return Err(Fault::NotUnique),
            },
            Function::Relate => {
                Value::Set(scene.related[token.argument * scene.attributes.len() + self.object(rest, scene)?])
            }
            Function::Union => Value::Set(self.set(rest, scene)? | self.set(rest, scene)?),
            Function::Intersect => Value::Set(self.set(rest, scene)? & self.set(rest, scene)?),
            Function::Count => Value::Number(self.set(rest, scene)?.count_ones()),
            Function::Exist => Value::Truth(self.set(rest, scene)? != 0),
            Function::Query(kind) => {
                let kind = usize::from(kind);
                Value::Attribute(kind, scene.attributes[self.object(rest, scene)?][kind])
            }
            Function::Same(kind) => {
                let (kind, this) = (usize::from(kind), self.object(rest, scene)?);
                let like =
                    |&other: &usize| other != this && scene.attributes[other][kind] == scene.attributes[this][kind];
                Value::Set((0..scene.attributes.len()).filter(like).fold(0, |set, other| set | 1 << other))
            }
            Function::EqualInteger | Function::Equal(_) | Function::EqualObject => {
                match (self.value(rest, scene)?, self.value(rest, scene)?) {
                    (Value::Number(a), Value::Number(b)) => Value::Truth(a == b),
                    (Value::Object(a), Value::Object(b)) => Value::Truth(a == b),
                    (Value::Attribute(k, a), Value::Attribute(l, b)) if k == l => Value::Truth(a == b),
                    _ => return Err(Fault::NoProgram),
                }
            }
            Function::LessThan => Value::Truth(self.number(rest, scene)? < self.number(rest, scene)?),
            Function::GreaterThan => Value::Truth(self.number(rest, scene)? > self.number(rest, scene)?),
            Function::And => {
                let (a, b) = (self.truth(rest, scene)?, self.truth(rest, scene)?);
                Value::Truth(a && b)
            }
            Function::Or => {
                let (a, b) = (self.truth(rest, scene)?, self.truth(rest, scene)?);
                Value::Truth(a || b)
            }
            Function::Not => Value::Truth(!self.truth(rest, scene)?),
            Function::Verify(_) => {
                let object = self.object(rest, scene)?;
                Value::Truth(scene.members[token.argument] >> object & 1 == 1)
            }
            Function::Offer(_) => Value::Object(self.object(rest, scene)?),
            Function::CountIs => Value::Truth(self.number(rest, scene)? as usize == token.argument),
            Function::VerifyRelation => {
                let (first, second) = (self.object(rest, scene)?, self.object(rest, scene)?);
                let related = scene.related[token.argument * scene.attributes.len() + second];
                Value::Truth(related >> first & 1 == 1)
            }
            // The audit does not execute the functions for tests; all others are matched above.
            #[cfg(test)]
            _ => return Err(Fault::NoProgram),
        })
    }

    fn set(&self, rest: &mut &[i32], scene: SceneView<'_>) -> Result<u32, Fault> {
        if let Value::Set(set) = self.value(rest, scene)? { Ok(set) } else { Err(Fault::NoProgram) }
    }

    fn object(&self, rest: &mut &[i32], scene: SceneView<'_>) -> Result<usize, Fault> {
        if let Value::Object(object) = self.value(rest, scene)? { Ok(object) } else { Err(Fault::NoProgram) }
    }

    fn number(&self, rest: &mut &[i32], scene: SceneView<'_>) -> Result<u32, Fault> {
        if let Value::Number(number) = self.value(rest, scene)? { Ok(number) } else { Err(Fault::NoProgram) }
    }

    fn truth(&self, rest: &mut &[i32], scene: SceneView<'_>) -> Result<bool, Fault> {
        if let Value::Truth(truth) = self.value(rest, scene)? { Ok(truth) } else { Err(Fault::NoProgram) }
    }
}

/// The numbers of values, each given as type and value.
pub(super) fn find_values(vocab: &Vocabulary, values: &[(String, String)]) -> Result<Vec<(usize, usize)>, AuditError> {
    let find = |(kind, value): &(String, String)| {
        let found = TYPE_NAMES.iter().position(|name| name == kind);
        let found = found.and_then(|kind| Some((kind, vocab.value(kind, value)?)));
        found.ok_or_else(|| AuditError::Value { kind: kind.clone(), value: value.clone() })
    };
    values.iter().map(find).collect()
}

/// Each alternative with a value added.
fn added(alternatives: Alternatives, bit: u8) -> Alternatives {
    (0..16).filter(|a| alternatives >> a & 1 == 1).fold(0, |all, a| all | 1 << (a | u16::from(bit)))
}

/// Each alternative joined with each of the other list.
fn joined(first: Alternatives, second: Alternatives) -> Alternatives {
    (0..16u8).filter(|a| second >> a & 1 == 1).fold(0, |all, a| all | added(first, a))
}
