//! The steps of an answer as English sentences, each made from the outputs of an executed program.
//!
//! "There is one red cube, at the lower left. There are 2 small objects left of it: the gray sphere and the cyan
//! cylinder." A sentence stands for one step: the members of a set, a value, or whether something is so. Filters
//! are said together with the step that they lead to. `names` names objects, `phrases` describes sets, and `sentences`
//! has the sentence of each function.

mod names;
mod phrases;
mod sentences;

use super::execute::outputs_on_set;
use super::facts::Word;
use super::{Invalid, Program};
use crate::vocab::Answer;
use sentences::Writer;
use serde::Serialize;

pub use names::Asked;
pub use sentences::Sentence;

/// A sentence in JSON.
#[derive(Serialize)]
struct Row<'a> {
    text: &'a str,
    function: String,
    node: usize,
    objects: Vec<Place>,
    value: Option<Value>,
}

/// An object's number, or in a set of several images the numbers of its image and of the object in it.
#[derive(Serialize)]
#[serde(untagged)]
enum Place {
    OfScene(usize),
    OfSet(usize, usize),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Bool(bool),
    Integer(u8),
    Name(String),
}

/// The sentences of a checked program, which lead to its answer.
///
/// # Errors
/// `Invalid`: the program has no answer on these images.
///
/// # Panics
/// When the steps would not pass `Program::check`.
pub fn sentences(program: &Program, asked: &Asked<'_>) -> Result<Vec<Sentence>, Invalid> {
    let words = outputs_on_set(program, asked.set, asked.vocab)?;
    Ok(Writer::new(asked, program, &words).write())
}

/// Sentences as a JSON list: text, function, number of the node, objects and value of each.
pub fn to_json(program: &Program, asked: &Asked<'_>, sentences: &[Sentence]) -> Vec<u8> {
    let place = |object: u64| match asked.set.place(object as usize) {
        (image, number) if asked.set.n_images() > 1 => Place::OfSet(image, number),
        (_, number) => Place::OfScene(number),
    };
    let value = |answer: Answer| match answer {
        Answer::Bool(truth) => Value::Bool(truth),
        Answer::Integer(number) => Value::Integer(number),
        Answer::Value(..) | Answer::Relation(_) => Value::Name(asked.vocab.answer_text(answer)),
    };
    let rows: Vec<Row<'_>> = sentences
        .iter()
        .map(|sentence| {
            let step = &program.steps[sentence.node];
            let argument = step.argument_name(asked.vocab).map(|name| format!("[{name}]"));
            Row {
                text: &sentence.text,
                function: format!("{}{}", step.function, argument.unwrap_or_default()),
                node: sentence.node,
                objects: sentence.objects.members().map(place).collect(),
                value: sentence.value.map(value),
            }
        })
        .collect();
    // Writing texts and numbers to memory cannot fail.
    serde_json::to_vec(&rows).unwrap_or_default()
}
