//! Reads programs as tokens in prefix order: whether they mention the held-out values, and their answers on scenes.
//!
//! The program mentions the held-out values if an alternative of some step (`walk`) has all of them. A reader of chains
//! starts a new description where alternatives would be taken of either input, or joined.

use super::error::{AuditError, MOST_VALUES};
use super::token::{MOST_TOKENS, Tokens};
use super::walk::{Values, Walk};
use crate::program::Function;
use crate::scene::SceneView;
use crate::vocab::{RELATION_NAMES, TYPE_NAMES, Vocabulary};

/// A function has no output for its inputs, such as `unique` on a set with other than one member.
pub const NO_ANSWER: i32 = -1;
/// The tokens are not a program.
pub const NO_PROGRAM: i32 = -2;
/// The output is not among the answers.
pub const UNKNOWN_ANSWER: i32 = -3;
/// There is no scene.
pub const NO_SCENE: i32 = -4;

/// Maximum number of images of a question.
pub const MOST_IMAGES: usize = 5;

/// Objects of images, a mask of bits for each; 0 for those that a question does not have.
type Objects = [u32; MOST_IMAGES];

/// The output of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Set(Objects),
    /// The number of an image, and of an object in it.
    Object(usize, usize),
    /// The members of groups; each image that has members is a group.
    Groups(Objects),
    /// By image, whether it is included.
    Images([bool; MOST_IMAGES]),
    Number(u32),
    Truth(bool),
    Attribute(usize, u8),
    Relation(usize),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NoOutput,
    NoProgram,
}

/// Reads programs of one vocabulary, with its held-out values.
#[derive(Clone, Debug)]
pub struct ProgramReader {
    pub(super) tokens: Tokens,
    /// The bits of all held-out values; 0 if nothing is held out.
    pub(super) held_out: u8,
    /// Whether only chains of filters count as mentions.
    in_chains: bool,
    /// By type, the bit of its held-out value; 0 for other types.
    pub(super) bits: [u8; TYPE_NAMES.len()],
    yes_no: [i32; 2],
    numbers: Vec<i32>,
    /// By type and value.
    values: Vec<Vec<i32>>,
    relations: [i32; RELATION_NAMES.len()],
}

impl ProgramReader {
    /// `functions` and `answers` are the names of `vocab.json` by number; `pair` has the held-out values, each as type
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
            in_chains: false,
            held_out: (0..pair.len()).fold(0, |bits, i| bits | 1 << i),
            yes_no: [number("no"), number("yes")],
            numbers: (0..=usize::from(vocab.largest_count())).map(|n| number(&n.to_string())).collect(),
            values: (0..TYPE_NAMES.len()).map(values_of).collect(),
            relations: RELATION_NAMES.map(number),
        })
    }

    /// The same reader, for which only chains of filters mention the values.
    pub fn in_chains(self) -> Self {
        Self { in_chains: true, ..self }
    }

    /// Whether only chains of filters count as mentions.
    pub fn is_in_chains(&self) -> bool {
        self.in_chains
    }

    /// Whether the program asks some set for all held-out values.
    pub fn mentions(&self, program: &[i32]) -> bool {
        if !self.names_all(program) {
            return false;
        }
        let all = Values(self.held_out.into());
        self.walk(self.in_chains).any(program, &|alternatives: &[Values]| alternatives.contains(&all))
    }

    pub(super) fn walk(&self, in_chains: bool) -> Walk<'_> {
        Walk { tokens: &self.tokens, in_chains, bits: self.bits }
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

    /// The answer's number, `NO_ANSWER`, `NO_PROGRAM` or `UNKNOWN_ANSWER`.
    pub fn answer(&self, program: &[i32], scene: SceneView<'_>) -> i32 {
        self.answer_on_set(program, &[scene])
    }

    /// The answer on a set of up to `MOST_IMAGES` images, as `answer`.
    pub fn answer_on_set(&self, program: &[i32], scenes: &[SceneView<'_>]) -> i32 {
        if program.len() > MOST_TOKENS {
            return NO_PROGRAM;
        }
        let mut rest = program;
        let value = self.value(&mut rest, scenes);
        match value {
            Err(Fault::NoOutput) => NO_ANSWER,
            Err(Fault::NoProgram) => NO_PROGRAM,
            Ok(_) if !rest.is_empty() => NO_PROGRAM,
            Ok(Value::Truth(truth)) => self.yes_no[usize::from(truth)],
            Ok(Value::Number(n)) => self.numbers.get(n as usize).copied().unwrap_or(UNKNOWN_ANSWER),
            Ok(Value::Attribute(kind, value)) => self.values[kind][usize::from(value)],
            Ok(Value::Relation(relation)) => self.relations[relation],
            Ok(Value::Set(_) | Value::Object(..) | Value::Groups(_) | Value::Images(_)) => NO_PROGRAM,
        }
    }

    /// The number of members, in each image, of the set that some tokens compute; None if they do not compute a set.
    pub(super) fn sizes_on_set(&self, set: &[i32], scenes: &[SceneView<'_>]) -> Option<Objects> {
        let mut rest = set;
        Some(self.set(&mut rest, scenes).ok()?.map(u32::count_ones))
    }

    /// The number that some tokens compute; None if they do not compute a number.
    pub(super) fn number_on_set(&self, number: &[i32], scenes: &[SceneView<'_>]) -> Option<u32> {
        let mut rest = number;
        self.number(&mut rest, scenes).ok()
    }

    fn value(&self, rest: &mut &[i32], scenes: &[SceneView<'_>]) -> Result<Value, Fault> {
        let token = self.tokens.next(rest).ok_or(Fault::NoProgram)?;
        let all = |image: usize| (0..scenes[image].attributes.len()).fold(0, |set, object| set | 1 << object);
        let related = |relation: usize, (image, object): (usize, usize)| -> u32 {
            scenes[image].related[relation * scenes[image].attributes.len() + object]
        };
        // The objects of an image that have the same value as one of its objects, which is included.
        let alike = |kind: usize, (image, object): (usize, usize)| {
            let values = scenes[image].attributes;
            let like = |&other: &usize| values[other][kind] == values[object][kind];
            (0..values.len()).filter(like).fold(0u32, |set, other| set | 1 << other)
        };
        let alone = |image: usize, objects: u32| -> Objects {
            std::array::from_fn(|other| if other == image { objects } else { 0 })
        };
        Ok(match token.function {
            Function::Scene => Value::Set(each_image(scenes, all)),
            Function::Filter(_) => {
                let set = self.set(rest, scenes)?;
                Value::Set(each_image(scenes, |image| set[image] & scenes[image].members[token.argument]))
            }
            Function::Unique => {
                let set = self.set(rest, scenes)?;
                match set.iter().position(|&members| members != 0) {
                    Some(image) if size(set) == 1 => Value::Object(image, set[image].trailing_zeros() as usize),
                    _ => return Err(Fault::NoOutput),
                }
            }
            Function::Relate => {
                let object = self.object(rest, scenes)?;
                Value::Set(alone(object.0, related(token.argument, object)))
            }
            Function::Union => {
                let (a, b) = (self.set(rest, scenes)?, self.set(rest, scenes)?);
                Value::Set(std::array::from_fn(|image| a[image] | b[image]))
            }
            Function::Intersect => Value::Set(both(self.set(rest, scenes)?, self.set(rest, scenes)?)),
            Function::Count => Value::Number(size(self.set(rest, scenes)?)),
            Function::Exist => Value::Truth(size(self.set(rest, scenes)?) > 0),
            Function::Query(kind) => {
                let (kind, (image, object)) = (usize::from(kind), self.object(rest, scenes)?);
                Value::Attribute(kind, scenes[image].attributes[object][kind])
            }
            Function::Same(kind) => {
                let (kind, (this, object)) = (usize::from(kind), self.object(rest, scenes)?);
                let value = scenes[this].attributes[object][kind];
                Value::Set(each_image(scenes, |image| {
                    let like = |&other: &usize| {
                        scenes[image].attributes[other][kind] == value && (image, other) != (this, object)
                    };
                    (0..scenes[image].attributes.len()).filter(like).fold(0, |set, other| set | 1 << other)
                }))
            }
            Function::EqualInteger | Function::Equal(_) | Function::EqualObject => {
                match (self.value(rest, scenes)?, self.value(rest, scenes)?) {
                    (Value::Number(a), Value::Number(b)) => Value::Truth(a == b),
                    (Value::Object(i, a), Value::Object(j, b)) => Value::Truth((i, a) == (j, b)),
                    (Value::Attribute(k, a), Value::Attribute(l, b)) if k == l => Value::Truth(a == b),
                    _ => return Err(Fault::NoProgram),
                }
            }
            Function::LessThan => Value::Truth(self.number(rest, scenes)? < self.number(rest, scenes)?),
            Function::GreaterThan => Value::Truth(self.number(rest, scenes)? > self.number(rest, scenes)?),
            Function::Subtraction => {
                let (all, taken) = (self.number(rest, scenes)?, self.number(rest, scenes)?);
                Value::Number(all.checked_sub(taken).ok_or(Fault::NoOutput)?)
            }
            Function::And => {
                let (a, b) = (self.truth(rest, scenes)?, self.truth(rest, scenes)?);
                Value::Truth(a && b)
            }
            Function::Or => {
                let (a, b) = (self.truth(rest, scenes)?, self.truth(rest, scenes)?);
                Value::Truth(a || b)
            }
            Function::Not => Value::Truth(!self.truth(rest, scenes)?),
            Function::Verify(_) => {
                let (image, object) = self.object(rest, scenes)?;
                Value::Truth(scenes[image].members[token.argument] >> object & 1 == 1)
            }
            Function::Offer(_) => {
                let (image, object) = self.object(rest, scenes)?;
                Value::Object(image, object)
            }
            Function::CountIs => Value::Truth(self.number(rest, scenes)? as usize == token.argument),
            Function::CountAtLeast => Value::Truth(self.number(rest, scenes)? as usize >= token.argument),
            Function::CountAtMost => Value::Truth(self.number(rest, scenes)? as usize <= token.argument),
            Function::VerifyRelation => {
                let (first, second) = (self.object(rest, scenes)?, self.object(rest, scenes)?);
                Value::Truth(first.0 == second.0 && related(token.argument, second) >> first.1 & 1 == 1)
            }
            Function::WithRelation => {
                let (set, others) = (self.set(rest, scenes)?, objects(self.set(rest, scenes)?));
                Value::Set(members(set, |(image, object)| {
                    others.iter().any(|&other| other.0 == image && related(token.argument, other) >> object & 1 == 1)
                }))
            }
            Function::WithRelationObject => {
                let (set, others) = (self.set(rest, scenes)?, self.set(rest, scenes)?);
                Value::Set(members(set, |object| related(token.argument, object) & others[object.0] != 0))
            }
            Function::WithSame(kind) => {
                let (set, others) = (self.set(rest, scenes)?, self.set(rest, scenes)?);
                Value::Set(members(set, |(image, object)| {
                    alike(usize::from(kind), (image, object)) & others[image] & !(1 << object) != 0
                }))
            }
            Function::AssertUnique => match self.set(rest, scenes)? {
                set if size(set) == 1 => Value::Set(set),
                _ => return Err(Fault::NoOutput),
            },
            Function::All | Function::Some | Function::None => {
                let (scope, condition) = (self.set(rest, scenes)?, self.set(rest, scenes)?);
                let (n, n_both) = (size(scope), size(both(scope, condition)));
                Value::Truth(match token.function {
                    Function::All => n_both == n,
                    Function::Some => n_both > 0,
                    _ => n_both == 0,
                })
            }
            Function::AllSame(kind) => {
                let value = |(image, object): (usize, usize)| scenes[image].attributes[object][usize::from(kind)];
                let members = objects(self.set(rest, scenes)?);
                Value::Truth(members.windows(2).all(|pair| value(pair[0]) == value(pair[1])))
            }
            Function::UniqueImages => Value::Images(self.set(rest, scenes)?.map(|members| members != 0)),
            Function::Keys => Value::Images(self.groups(rest, scenes)?.map(|members| members != 0)),
            Function::CountImages => match self.value(rest, scenes)? {
                Value::Images(images) => Value::Number(images.map(u32::from).iter().sum()),
                _ => return Err(Fault::NoProgram),
            },
            Function::GroupByImages => Value::Groups(self.set(rest, scenes)?),
            Function::KeepIfValuesCountEq | Function::KeepIfValuesCountGeq | Function::KeepIfValuesCountLeq => {
                let wanted = |n: usize| match token.function {
                    Function::KeepIfValuesCountEq => n == token.argument,
                    Function::KeepIfValuesCountGeq => n >= token.argument,
                    _ => n <= token.argument,
                };
                let kept = |members: u32| if wanted(members.count_ones() as usize) { members } else { 0 };
                Value::Groups(self.groups(rest, scenes)?.map(kept))
            }
            Function::CountGroups => {
                Value::Number(self.groups(rest, scenes)?.map(|members| u32::from(members != 0)).iter().sum())
            }
            Function::Option(kind) => Value::Attribute(usize::from(kind), self.value_number(kind, token.argument)?),
            Function::Choose(kind) => {
                let (image, object) = self.object(rest, scenes)?;
                let Value::Attribute(_, option) = self.value(rest, scenes)? else { return Err(Fault::NoProgram) };
                let value = scenes[image].attributes[object][usize::from(kind)];
                if ![option, self.value_number(kind, token.argument)?].contains(&value) {
                    return Err(Fault::NoOutput);
                }
                Value::Attribute(usize::from(kind), value)
            }
            Function::ChooseRelation => {
                let (image, object) = self.object(rest, scenes)?;
                let beside = objects(alone(image, self.set(rest, scenes)?[image]));
                let [other] = beside[..] else { return Err(Fault::NoOutput) };
                // Opposite relations are neighbors in the list of names.
                let axis = [token.argument, token.argument ^ 1];
                let holds = |relation: &usize| related(*relation, other) >> object & 1 == 1;
                Value::Relation(axis.into_iter().find(holds).ok_or(Fault::NoOutput)?)
            }
            // The audit does not execute the functions for tests; all others are matched above.
            #[cfg(test)]
            _ => return Err(Fault::NoProgram),
        })
    }

    /// The number of a value within its type, given its row among a scene's sets.
    fn value_number(&self, kind: u8, row: usize) -> Result<u8, Fault> {
        let before: usize = self.values[..usize::from(kind)].iter().map(Vec::len).sum();
        row.checked_sub(before).map(|number| number as u8).ok_or(Fault::NoProgram)
    }

    fn set(&self, rest: &mut &[i32], scenes: &[SceneView<'_>]) -> Result<Objects, Fault> {
        if let Value::Set(set) = self.value(rest, scenes)? { Ok(set) } else { Err(Fault::NoProgram) }
    }

    fn groups(&self, rest: &mut &[i32], scenes: &[SceneView<'_>]) -> Result<Objects, Fault> {
        if let Value::Groups(groups) = self.value(rest, scenes)? { Ok(groups) } else { Err(Fault::NoProgram) }
    }

    /// An object's image, and its number in it.
    fn object(&self, rest: &mut &[i32], scenes: &[SceneView<'_>]) -> Result<(usize, usize), Fault> {
        if let Value::Object(image, object) = self.value(rest, scenes)? {
            Ok((image, object))
        } else {
            Err(Fault::NoProgram)
        }
    }

    fn number(&self, rest: &mut &[i32], scenes: &[SceneView<'_>]) -> Result<u32, Fault> {
        if let Value::Number(number) = self.value(rest, scenes)? { Ok(number) } else { Err(Fault::NoProgram) }
    }

    fn truth(&self, rest: &mut &[i32], scenes: &[SceneView<'_>]) -> Result<bool, Fault> {
        if let Value::Truth(truth) = self.value(rest, scenes)? { Ok(truth) } else { Err(Fault::NoProgram) }
    }
}

/// The objects of each image that a question has.
fn each_image(scenes: &[SceneView<'_>], objects: impl Fn(usize) -> u32) -> Objects {
    std::array::from_fn(|image| if image < scenes.len() { objects(image) } else { 0 })
}

/// The objects of a set, each as its image and its number there.
fn objects(set: Objects) -> Vec<(usize, usize)> {
    let of_image = |image: usize| (0..32).filter(move |object| set[image] >> object & 1 == 1);
    (0..MOST_IMAGES).flat_map(|image| of_image(image).map(move |object| (image, object))).collect()
}

/// The members of a set for which a condition holds.
fn members(set: Objects, holds: impl Fn((usize, usize)) -> bool) -> Objects {
    objects(set).into_iter().filter(|&object| holds(object)).fold([0; MOST_IMAGES], |mut kept, (image, object)| {
        kept[image] |= 1 << object;
        kept
    })
}

fn both(a: Objects, b: Objects) -> Objects {
    std::array::from_fn(|image| a[image] & b[image])
}

fn size(set: Objects) -> u32 {
    set.iter().map(|members| members.count_ones()).sum()
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
