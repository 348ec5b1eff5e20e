//! Reads the file of phrasings.

use super::Phrasings;
use super::noun::Nouns;
use super::sentence::Sentence;
use super::variant::{Parts, keys};
use crate::covr::Template;
use crate::json::read_unique;
use crate::message::{listed, shown, suggestion};
use crate::vocab::Vocabulary;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use thiserror::Error;

/// Fewest phrasings of a question: one for train, and the last, which train has not.
const FEWEST: usize = 2;

#[derive(Debug, Error)]
pub enum PhrasingsError {
    #[error("{0}")]
    Json(String),
    #[error("{place}: {problem}")]
    Invalid { place: String, problem: String },
}

impl Phrasings {
    /// Reads a file, named `file` in messages, for questions about a world.
    ///
    /// # Errors
    /// Names the place in the file, what is wrong there, and what would be right.
    pub fn read(bytes: &[u8], file: &str, vocab: &Vocabulary) -> Result<Self, PhrasingsError> {
        let content = read_unique(bytes, file).map_err(PhrasingsError::Json)?;
        let names = Template::ALL.map(Template::name);
        let by_name = object(&content, file, "template", &names)?;
        let mut reader = Reader::default();
        let mut sentences = Vec::with_capacity(names.len());
        for template in Template::ALL {
            let mut variants = Vec::new();
            let (value, place) = member(by_name, file, "template", template.name())?;
            reader.variants(template, keys(template), None, value, &place, &mut variants)?;
            sentences.push(variants);
        }
        let fingerprint = blake3::hash(bytes).to_hex().to_string();
        Ok(Self { sentences, nouns: Nouns::new(vocab), fingerprint })
    }
}

/// The places of sentences read so far, each of which may be there once.
#[derive(Default)]
struct Reader<'a> {
    places: BTreeMap<&'a str, String>,
}

impl<'a> Reader<'a> {
    /// Reads the sentences of all variants below a place; `key` is the last on the way there.
    fn variants(
        &mut self,
        template: Template,
        keys: &[&[&str]],
        key: Option<&str>,
        value: &'a Value,
        place: &str,
        variants: &mut Vec<Vec<Sentence>>,
    ) -> Result<(), PhrasingsError> {
        let Some((own, below)) = keys.split_first() else {
            variants.push(self.sentences(&Parts::of(template, key), value, place)?);
            return Ok(());
        };
        let by_key = object(value, place, "variant", own)?;
        for key in *own {
            let (value, place) = member(by_key, place, "variant", key)?;
            self.variants(template, below, Some(key), value, &place, variants)?;
        }
        Ok(())
    }

    fn sentences(&mut self, parts: &Parts, value: &'a Value, place: &str) -> Result<Vec<Sentence>, PhrasingsError> {
        let wrong = |got: String| invalid(place, format!("expected a list of {FEWEST} sentences or more, got {got}"));
        let list = value.as_array().ok_or_else(|| wrong(shown(&value.to_string()).into_owned()))?;
        if list.len() < FEWEST {
            return Err(wrong(list.len().to_string()));
        }
        list.iter().enumerate().map(|(i, item)| self.sentence(parts, item, format!("{place}[{i}]"))).collect()
    }

    fn sentence(&mut self, parts: &Parts, value: &'a Value, place: String) -> Result<Sentence, PhrasingsError> {
        let wrong = || invalid(&place, format!("expected a sentence, got {}", shown(&value.to_string())));
        let text = value.as_str().ok_or_else(wrong)?;
        let sentence = Sentence::new(text, parts).map_err(|problem| invalid(&place, problem))?;
        if let Some(first) = self.places.get(text) {
            return Err(invalid(&place, format!("the same sentence as {first}; each has to be another one")));
        }
        self.places.insert(text, place);
        Ok(sentence)
    }
}

/// A JSON object whose keys are names of templates or variants.
fn object<'a>(
    value: &'a Value,
    place: &str,
    what: &str,
    known: &[&str],
) -> Result<&'a Map<String, Value>, PhrasingsError> {
    let wrong = || invalid(place, format!("expected an object with the {what}s {}", listed(known)));
    let by_name = value.as_object().ok_or_else(wrong)?;
    match by_name.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let near = suggestion(name, known.iter().copied());
            Err(invalid(place, format!("unknown {what} \"{}\"{near}; known: {}", shown(name), listed(known))))
        }
        None => Ok(by_name),
    }
}

/// What an object has under a name, and its place.
fn member<'a>(
    by_name: &'a Map<String, Value>,
    place: &str,
    what: &str,
    name: &str,
) -> Result<(&'a Value, String), PhrasingsError> {
    let missing = || invalid(place, format!("the {what} \"{name}\" is missing; each {what} needs sentences"));
    Ok((by_name.get(name).ok_or_else(missing)?, format!("{place}.{name}")))
}

fn invalid(place: &str, problem: String) -> PhrasingsError {
    PhrasingsError::Invalid { place: place.to_owned(), problem }
}
