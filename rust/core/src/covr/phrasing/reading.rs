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

/// Minimum number of phrasings of a question: one for train, and the last, which train does not have.
const FEWEST: usize = 2;
/// Maximum number of phrasings of a question, which are numbered in 16 bits.
const MOST: usize = 1 << 16;

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
    /// Names the place in the file, the problem there, and what would be right.
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

/// Reads sentences; `places` has the place of each sentence so far, since no sentence may occur twice.
#[derive(Default)]
struct Reader<'a> {
    places: BTreeMap<&'a str, String>,
}

impl<'a> Reader<'a> {
    /// Reads the sentences of all variants below a place; `key` is the last key on the way there.
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
        if list.len() > MOST {
            return Err(invalid(place, format!("{} sentences; at most {MOST} are read", list.len())));
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

/// The value of a JSON object under a name, and its place.
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

#[cfg(test)]
mod tests {
    use super::super::samples::Sampler;
    use super::super::tests::{FILE, VOCABULARY};
    use super::*;
    use proptest::prelude::*;

    /// The message for the file with one string replaced.
    fn message(from: &str, to: &str) -> String {
        let file = FILE.replacen(from, to, 1);
        assert_ne!(file, FILE, "{from}");
        Phrasings::read(file.as_bytes(), "covr.json", &VOCABULARY).unwrap_err().to_string()
    }

    #[test]
    fn messages_name_templates_and_variants() {
        let error = message("\"query_attr\"", "\"query_atr\"");
        let wanted = "covr.json: unknown template \"query_atr\" (did you mean \"query_attr\"?); known: verify_attr, ";
        assert!(error.starts_with(wanted), "{error}");
        assert_eq!(
            message("\"fewer\"", "\"less\""),
            "covr.json.compare_count.objects: unknown variant \"less\"; known: more, fewer, as_many"
        );
    }

    #[test]
    fn messages_name_what_is_missing() {
        let without = |template: &str| {
            let mut content: serde_json::Value = serde_json::from_str(FILE).unwrap();
            match template.split_once('.') {
                Some((template, variant)) => content[template].as_object_mut().unwrap().remove(variant).is_some(),
                None => content.as_object_mut().unwrap().remove(template).is_some(),
            };
            Phrasings::read(content.to_string().as_bytes(), "covr.json", &VOCABULARY).unwrap_err().to_string()
        };
        assert_eq!(without("count"), "covr.json: the template \"count\" is missing; each template needs sentences");
        assert_eq!(
            without("verify_logic.or"),
            "covr.json.verify_logic: the variant \"or\" is missing; each variant needs sentences"
        );
        let with = |value: serde_json::Value| {
            let mut content: serde_json::Value = serde_json::from_str(FILE).unwrap();
            content["query_attr"] = value;
            Phrasings::read(content.to_string().as_bytes(), "covr.json", &VOCABULARY).unwrap_err().to_string()
        };
        let one = "What is the <type> of the <A>?";
        let list = "covr.json.query_attr: expected a list of 2 sentences or more, got";
        assert_eq!(with(serde_json::json!([one])), format!("{list} 1"));
        assert_eq!(with(serde_json::json!({"value": [one]})), format!("{list} {{\"value\":[\"{one}\"]}}"));
        assert_eq!(with(serde_json::json!([one, 3])), "covr.json.query_attr[1]: expected a sentence, got 3");
        let error = Phrasings::read(b"[]", "covr.json", &VOCABULARY).unwrap_err().to_string();
        assert!(error.starts_with("covr.json: expected an object with the templates verify_attr, "), "{error}");
        let error = Phrasings::read(b"{\"count\": 1, \"count\": 2}", "covr.json", &VOCABULARY).unwrap_err().to_string();
        assert_eq!(error, "covr.json:1:20: \"count\" appears twice in one object");
    }

    #[test]
    fn messages_name_what_is_wrong_with_a_sentence() {
        let first = "Is the only <A> in the images <value>?";
        let wrong = |sentence: &str| {
            let message = message(&format!("\"{first}\""), &format!("{sentence:?}"));
            message.strip_prefix("covr.json.verify_attr[0]: ").unwrap().to_owned()
        };
        let known = "sentences of this kind have <A>, <As>, <value>, <type>";
        assert_eq!(wrong(" "), "empty; expected a sentence");
        assert_eq!(wrong("Is the <A> <valu>?"), format!("unknown slot <valu> (did you mean \"<value>\"?); {known}"));
        assert_eq!(wrong("Is the <A> <colour>?"), format!("unknown slot <colour>; {known}"));
        assert_eq!(wrong("Is the <A> <value> <number>?"), format!("<number> stands for nothing here; {known}"));
        assert_eq!(wrong("Is the <A> red?"), "no <value>; every sentence of this kind needs it");
        assert_eq!(wrong("Is it <value>?"), "no <A> or <As>; every sentence of this kind needs it");
        assert_eq!(wrong("Are the <A>s <value>?"), "<A> is part of a word; slots stand between spaces");
        assert_eq!(wrong("Is it non-<A> <value>?"), "<A> is part of a word; slots stand between spaces");
        assert_eq!(wrong("Is the <A <value>?"), format!("unknown slot <A <value>; {known}"));
        let unclosed = "not every slot has its \"<\" and its \">\"";
        assert_eq!(wrong("Is the <A> value>?"), format!("\"Is the <A> value>?\": {unclosed}"));
        assert_eq!(wrong("Is the <A> <value?"), format!("\"Is the <A> <value?\": {unclosed}"));
        assert_eq!(wrong("<Is|Are> the <A> <value>?"), "<Is|Are> needs a number to agree with; there is none here");
    }

    #[test]
    fn messages_name_equal_sentences_and_words_that_do_not_agree() {
        assert_eq!(
            message("How many images contain a <A>?", "Taken together, how many <As> do the images show?"),
            "covr.json.count.images[0]: the same sentence as covr.json.count.objects[1]; each has to be another one"
        );
        for words in ["<is>", "<Is|>", "<Is|Are|Be>", "<Is it|Are they>"] {
            let error = message("<Is|Are> there <number> <A|As>", &format!("{words} there <number> <A|As>"));
            let problem = error.strip_prefix("covr.json.verify_count.objects[0]: ").unwrap();
            if words.contains('|') {
                assert_eq!(problem, format!("{words} has other than two words; expected such as <is|are>"));
            } else {
                assert!(problem.starts_with("unknown slot <is>"), "{problem}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_spoilt_file_is_refused_or_gives_texts(at in 0..FILE.len(), byte in any::<u8>(), seed in any::<u64>()) {
            let mut file = FILE.as_bytes().to_vec();
            file[at] = byte;
            match Phrasings::read(&file, "covr.json", &VOCABULARY) {
                Ok(phrasings) => {
                    let meaning = Sampler::new(&VOCABULARY, seed).meaning();
                    for phrasing in 0..phrasings.n(&meaning) {
                        let mut text = String::new();
                        phrasings.write(&meaning, phrasing, &mut text);
                        prop_assert!(!text.is_empty());
                    }
                }
                Err(error) => prop_assert!(error.to_string().starts_with("covr.json")),
            }
        }
    }
}
