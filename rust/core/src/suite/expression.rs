//! Expressions for a partner's parameters: a parameter of the original, its answer, a foil, or a function of these.

use super::original::Original;
use crate::message::{shown, suggestion};
use crate::question::param::{Param, ParamKind, find_param};
use crate::vocab::{Answer, CONVERSE, RELATION_NAMES, Vocabulary};
use serde_json::Value;

/// The value of a parameter of a partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Unset,
    Value(u8),
    /// A parameter of the original, with the word for its value.
    Param(u8),
    /// The original's answer, which has the parameter's type.
    Answer,
    /// A value other than the original's answer.
    Foil,
    /// The answer or a foil, as a coin decides.
    AnswerOrFoil,
    /// The other of the two, by the same coin.
    FoilOrAnswer,
    /// The opposite of the original's relation.
    Converse(u8),
    /// The other value of a type that has two values.
    Other(u8),
    /// Another value of a type that has more than two.
    Another(u8),
    /// A foil that completes the held-out combination with the original's description of the object it asks about.
    Unseen,
    /// A foil that does not, for an original that also has one that does.
    Seen,
    /// Every value of the type, each in a partner of its own.
    Each,
}

/// The value that replaces an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Substitute {
    /// The coin's result: whether `AnswerOrFoil` is the answer.
    pub is_answer: bool,
    pub foil: u8,
}

const NAMES: [&str; 8] = ["coin", "converse", "foil", "answer", "other", "unseen", "seen", "each"];

impl Expression {
    /// Reads an expression for a parameter of the kind `kind`; `source` are the original's parameters.
    pub fn read(raw: &Value, kind: ParamKind, source: &[Param], vocab: &Vocabulary) -> Result<Self, String> {
        let place = |name: &Value, wanted: ParamKind| {
            let name =
                name.as_str().ok_or_else(|| format!("{} is not the name of a parameter", shown(&name.to_string())))?;
            let place = find_param(source, name)?;
            if source[usize::from(place)].kind == wanted {
                Ok(place)
            } else {
                Err(format!("\"{}\" is a parameter of another type", shown(name)))
            }
        };
        let only_key = raw.as_object().and_then(|object| object.iter().next().filter(|_| object.len() == 1));
        match (raw, only_key.map(|(key, value)| (key.as_str(), value))) {
            (Value::Null, _) => Ok(Self::Unset),
            (Value::String(name), _) if name == "answer" => Ok(Self::Answer),
            (Value::String(name), _) if name == "foil" => Ok(Self::Foil),
            (Value::String(name), _) if name == "unseen" => Ok(Self::Unseen),
            (Value::String(name), _) if name == "seen" => Ok(Self::Seen),
            (Value::String(name), _) if name == "each" => Ok(Self::Each),
            (Value::String(name), _) if name.starts_with('<') => place(raw, kind).map(Self::Param),
            (_, Some(("value", Value::String(name)))) => match kind {
                ParamKind::Attribute(kind) => {
                    vocab.known_value(usize::from(kind), name).map(Self::Value).map_err(|error| error.to_string())
                }
                ParamKind::Relation => {
                    let number = RELATION_NAMES.iter().position(|known| known == name);
                    let hint = suggestion(name, RELATION_NAMES);
                    number
                        .map(|number| Self::Value(number as u8))
                        .ok_or_else(|| format!("unknown relation \"{}\"{hint}", shown(name)))
                }
                ParamKind::Number => {
                    let known = vocab.numerals().iter().position(|known| known == name);
                    let most = vocab.largest_count();
                    known
                        .map(|number| Self::Value(number as u8))
                        .ok_or_else(|| format!("\"{}\" is not a number from 0 to {most}", shown(name)))
                }
            },
            (_, Some(("converse", name))) if kind == ParamKind::Relation => place(name, kind).map(Self::Converse),
            (_, Some(("other", name))) => match kind {
                ParamKind::Attribute(number) if vocab.n_values(usize::from(number)) == 2 => {
                    place(name, kind).map(Self::Other)
                }
                ParamKind::Attribute(_) => place(name, kind).map(Self::Another),
                _ => Err("\"other\" is for attributes".to_owned()),
            },
            (_, Some(("coin", Value::Array(two)))) if are(two, ["answer", "foil"]) => Ok(Self::AnswerOrFoil),
            (_, Some(("coin", Value::Array(two)))) if are(two, ["foil", "answer"]) => Ok(Self::FoilOrAnswer),
            (_, Some(("coin", other))) => {
                let known = "[\"answer\", \"foil\"] or [\"foil\", \"answer\"]";
                Err(format!("a coin of {}; expected {known}", shown(&other.to_string())))
            }
            _ => {
                let name = raw.as_str().or(only_key.map(|(key, _)| key.as_str())).unwrap_or("");
                let hint = suggestion(name, NAMES);
                Err(format!("{} is not an expression{hint}", shown(&raw.to_string())))
            }
        }
    }

    /// The value for an original, and the number of its word if the word is the original's.
    pub fn value(&self, original: &Original, substitute: Option<Substitute>) -> (Option<u8>, Option<u8>) {
        let answer = answer_value(original.answer);
        let foil = substitute.map(|substitute| substitute.foil);
        let is_answer = substitute.is_some_and(|substitute| substitute.is_answer);
        let of = |param: u8| original.reading.values[usize::from(param)];
        match *self {
            Self::Unset => (None, None),
            Self::Value(value) => (Some(value), None),
            Self::Param(param) => (of(param), Some(original.reading.worded.words[usize::from(param)])),
            Self::Answer => (answer, None),
            Self::Foil | Self::Another(_) | Self::Unseen | Self::Seen | Self::Each => (foil, None),
            Self::AnswerOrFoil => (if is_answer { answer } else { foil }, None),
            Self::FoilOrAnswer => (if is_answer { foil } else { answer }, None),
            Self::Converse(param) => (of(param).map(|relation| CONVERSE[usize::from(relation)]), None),
            Self::Other(param) => (of(param).map(|value| 1 - value), None),
        }
    }

    /// Whether the value has to be searched for in each original.
    pub fn needs_foil(&self) -> bool {
        self.is_drawn() || matches!(self, Self::AnswerOrFoil | Self::FoilOrAnswer)
    }

    /// Whether the value is searched for in any case, without a coin.
    pub fn is_drawn(&self) -> bool {
        matches!(self, Self::Foil | Self::Another(_) | Self::Unseen | Self::Seen | Self::Each)
    }

    /// Whether it is or replaces the original's answer, which must be a value of the parameter's type.
    pub fn is_of_answer(&self) -> bool {
        matches!(self, Self::Answer | Self::AnswerOrFoil | Self::FoilOrAnswer | Self::Unseen | Self::Seen | Self::Each)
    }
}

/// The number of an answer that is a value of a type.
pub(super) fn answer_value(answer: Answer) -> Option<u8> {
    match answer {
        Answer::Value(_, value) => Some(value),
        Answer::Integer(number) => Some(number),
        Answer::Bool(_) | Answer::Relation(_) => None,
    }
}

fn are(values: &[Value], names: [&str; 2]) -> bool {
    values.iter().map(Value::as_str).eq(names.into_iter().map(Some))
}
