//! The vocabulary of a properties file: attribute types and their values, relations, answers.
//!
//! Nothing in the engine knows that there are eight colours: types, values and relations are
//! numbered here, and everything else works on the numbers.

use crate::json::read_unique;
use crate::message::{listed, shown, suggestion};
use serde_json::{Map, Value};
use thiserror::Error;

/// Number of attribute types: size, colour, material, shape.
pub const N_TYPES: usize = 4;
/// Maximum number of objects in a scene, since a set of objects is a 32-bit mask.
pub const MAX_OBJECTS: usize = 32;
/// Maximum number of values over all attribute types, so that value numbers fit in a byte with room to spare.
pub const MAX_VALUES: usize = 200;

/// Type names, in the order in which questions name them ("large red metal cube").
pub const TYPE_NAMES: [&str; N_TYPES] = ["size", "color", "material", "shape"];
/// The keys of the properties file, in the same order.
const FILE_KEYS: [&str; N_TYPES] = ["sizes", "colors", "materials", "shapes"];
/// The keys of a material that is not an asset.
const MATERIAL_KEYS: [&str; 3] = ["metallic", "roughness", "base_color"];
/// Maximum number of characters of a value's name.
pub const MAX_NAME: usize = 32;
/// Names that no value may have, in lower case: files, hold-outs and questions use them for something else.
const RESERVED_NAMES: [&str; 4] = [
    // Answers.
    "yes no true false",
    // Names of datasets and of lists of them.
    "none all prelim",
    // Objects of any shape, relations and attribute types: the keys of synonyms.json and of programs.
    "thing things object objects left right behind front size color material shape sizes colors materials shapes \
     relation relations",
    // Words by which the question reader recognises questions.
    "a an the is are there that either or and not other another",
];
/// Relations, in the order in which programs number them.
pub const RELATION_NAMES: [&str; 4] = ["left", "right", "behind", "front"];
/// The opposite of each relation, by number: left and right, behind and front.
pub const CONVERSE: [u8; RELATION_NAMES.len()] = [1, 0, 3, 2];

#[derive(Debug, Error)]
pub enum VocabError {
    #[error("{0}")]
    Json(String),
    #[error("{file}: {place}: {problem}")]
    Invalid { file: String, place: String, problem: String },
    #[error("unknown {kind} \"{name}\"{suggestion}; known: {known}")]
    Unknown { kind: String, name: String, suggestion: String, known: String },
}

/// One attribute type: the names of its values, and their definitions in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeType {
    pub name: &'static str,
    /// Value names in file order; a value's number is its index here.
    pub values: Vec<String>,
    /// The file's definition of each value: a radius, an RGB triple, the name of a material or mesh.
    pub definitions: Vec<Value>,
}

/// An answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Bool(bool),
    Integer(u8),
    /// (attribute type, value number)
    Value(u8, u8),
    /// A relation's number; only questions about several images have this answer.
    Relation(u8),
}

/// The attribute types with their values, the relations and the answers of a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Vocabulary {
    types: Vec<AttributeType>,
    offsets: [u8; N_TYPES + 1],
    largest_count: u8,
    /// The integer answers as files spell them, by number.
    numerals: Vec<String>,
}

impl Vocabulary {
    /// Reads a properties file as CLEVR writes it; `file` names it in messages.
    ///
    /// `largest_count` is the largest integer answer (10 in CLEVR).
    pub fn from_properties_json(bytes: &[u8], file: &str, largest_count: u8) -> Result<Self, VocabError> {
        let root = read_unique(bytes, file).map_err(VocabError::Json)?;
        let invalid = |place: &str, problem: String| VocabError::Invalid {
            file: file.to_owned(),
            place: place.to_owned(),
            problem,
        };
        let root = root.as_object().ok_or_else(|| invalid("top level", "expected an object".into()))?;
        refuse_unknown_keys(root, &FILE_KEYS).map_err(|problem| invalid("top level", problem))?;
        let mut types = Vec::with_capacity(N_TYPES);
        for (name, key) in TYPE_NAMES.into_iter().zip(FILE_KEYS) {
            let entries =
                root.get(key).and_then(Value::as_object).filter(|entries| !entries.is_empty()).ok_or_else(|| {
                    invalid(key, format!("missing or empty; expected an object that defines each {name}"))
                })?;
            if let Some((value, problem)) = entries.keys().find_map(|value| Some((value, name_problem(value)?))) {
                return Err(invalid(key, format!("\"{}\" {problem}", shown(value))));
            }
            types.push(
                attribute_type(name, entries)
                    .map_err(|(place, problem)| invalid(&format!("{key}.{place}"), problem))?,
            );
        }
        let mut offsets = [0u8; N_TYPES + 1];
        let mut total = 0usize;
        for (i, kind) in types.iter().enumerate() {
            total += kind.values.len();
            if total > MAX_VALUES {
                return Err(invalid(FILE_KEYS[i], format!("over {MAX_VALUES} attribute values in all")));
            }
            offsets[i + 1] = total as u8;
        }
        let mut names: Vec<&str> = types.iter().flat_map(|kind| kind.values.iter().map(String::as_str)).collect();
        names.sort_by_key(|name| (name.to_ascii_lowercase(), *name));
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid("values", format!("\"{}\" is defined under two attribute types", pair[0])));
        }
        if let Some(pair) = names.windows(2).find(|pair| pair[0].eq_ignore_ascii_case(pair[1])) {
            let problem = "differ in nothing but capital letters; folders and questions could not tell them apart";
            return Err(invalid("values", format!("\"{}\" and \"{}\" {problem}", pair[0], pair[1])));
        }
        let numerals = (0..=largest_count).map(|number| number.to_string()).collect();
        Ok(Self { types, offsets, largest_count, numerals })
    }

    pub fn types(&self) -> &[AttributeType] {
        &self.types
    }

    /// Number of values of a type.
    pub fn n_values(&self, kind: usize) -> usize {
        self.types[kind].values.len()
    }

    /// Number of values over all types.
    pub fn n_values_in_all(&self) -> usize {
        usize::from(self.offsets[N_TYPES])
    }

    pub fn n_relations(&self) -> usize {
        RELATION_NAMES.len()
    }

    /// The number of a value counted over all types: its row in `SceneGraph::members`.
    #[inline]
    pub fn value_row(&self, kind: usize, value: usize) -> usize {
        usize::from(self.offsets[kind]) + value
    }

    pub fn value_name(&self, kind: usize, value: usize) -> &str {
        &self.types[kind].values[value]
    }

    /// The number of a value of a type, by name.
    pub fn value(&self, kind: usize, name: &str) -> Option<usize> {
        self.types[kind].values.iter().position(|v| v == name)
    }

    /// Like `value`, with an error that lists the type's values.
    pub fn known_value(&self, kind: usize, name: &str) -> Result<u8, VocabError> {
        let unknown = || self.unknown(TYPE_NAMES[kind], name, self.types[kind].values.iter().map(String::as_str));
        self.value(kind, name).map(|value| value as u8).ok_or_else(unknown)
    }

    /// The type and number of the value with this name; names are unique over all types.
    pub fn find_value(&self, name: &str) -> Result<(usize, usize), VocabError> {
        (0..N_TYPES)
            .find_map(|kind| self.value(kind, name).map(|value| (kind, value)))
            .ok_or_else(|| self.unknown("attribute value", name, self.all_value_names()))
    }

    pub fn type_index(&self, name: &str) -> Result<usize, VocabError> {
        TYPE_NAMES.iter().position(|t| *t == name).ok_or_else(|| self.unknown("attribute type", name, TYPE_NAMES))
    }

    /// The largest integer answer.
    pub fn largest_count(&self) -> u8 {
        self.largest_count
    }

    /// The integer answers from 0 as files spell them: "0", "1" and so on.
    pub fn numerals(&self) -> &[String] {
        &self.numerals
    }

    /// Number of answers to questions about one image: yes, no, the integers from 0, every attribute value.
    pub fn n_answers(&self) -> usize {
        2 + usize::from(self.largest_count) + 1 + self.n_values_in_all()
    }

    /// The number of an answer: yes is 0, no is 1, then come integers, then values in type order. Relations come last;
    /// they are not answers to questions about one image.
    ///
    /// None for an integer above `largest_count`.
    #[inline]
    pub fn answer_index(&self, answer: Answer) -> Option<u16> {
        match answer {
            Answer::Bool(true) => Some(0),
            Answer::Bool(false) => Some(1),
            Answer::Integer(n) => (n <= self.largest_count).then(|| 2 + u16::from(n)),
            Answer::Value(kind, value) => {
                Some(3 + u16::from(self.largest_count) + self.value_row(usize::from(kind), usize::from(value)) as u16)
            }
            Answer::Relation(relation) => Some(self.n_answers() as u16 + u16::from(relation)),
        }
    }

    /// The answer with this number; the inverse of `answer_index`.
    pub fn answer(&self, index: u16) -> Option<Answer> {
        let integers = u16::from(self.largest_count) + 1;
        match index {
            0 => Some(Answer::Bool(true)),
            1 => Some(Answer::Bool(false)),
            n if n < 2 + integers => Some(Answer::Integer((n - 2) as u8)),
            n => {
                let row = n - 2 - integers;
                let Some(kind) = (0..N_TYPES).find(|&k| row < u16::from(self.offsets[k + 1])) else {
                    let relation = row - u16::from(self.offsets[N_TYPES]);
                    return (usize::from(relation) < self.n_relations()).then_some(Answer::Relation(relation as u8));
                };
                Some(Answer::Value(kind as u8, (row - u16::from(self.offsets[kind])) as u8))
            }
        }
    }

    /// The answer as CLEVR's files spell it: "yes", "3", "cylinder".
    pub fn answer_text(&self, answer: Answer) -> String {
        match answer {
            Answer::Bool(true) => "yes".to_owned(),
            Answer::Bool(false) => "no".to_owned(),
            Answer::Integer(n) => n.to_string(),
            Answer::Value(kind, value) => self.value_name(usize::from(kind), usize::from(value)).to_owned(),
            Answer::Relation(relation) => RELATION_NAMES[usize::from(relation)].to_owned(),
        }
    }

    /// The spellings of all answers to questions about one image, by number.
    pub fn answer_texts(&self) -> Vec<String> {
        (0..self.n_answers() as u16).filter_map(|i| self.answer(i)).map(|a| self.answer_text(a)).collect()
    }

    /// The spellings of all answers to questions about several images: those about one image, then relations.
    pub fn answer_texts_of_sets(&self) -> Vec<String> {
        self.answer_texts().into_iter().chain(RELATION_NAMES.map(str::to_owned)).collect()
    }

    fn all_value_names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().flat_map(|kind| kind.values.iter().map(String::as_str))
    }

    fn unknown<'a>(&self, kind: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> VocabError {
        let known: Vec<&str> = known.into_iter().collect();
        VocabError::Unknown {
            kind: kind.to_owned(),
            name: shown(name).into_owned(),
            suggestion: suggestion(name, known.iter().copied()),
            known: listed(&known),
        }
    }
}

/// The names of attribute types, joined by "and".
pub fn type_names(kinds: &[usize]) -> String {
    kinds.iter().map(|&kind| TYPE_NAMES[kind]).collect::<Vec<_>>().join(" and ")
}

/// What is wrong with a value's name, worded to follow the name in a sentence; None for a valid name.
///
/// Names become parts of the names of folders and files (`rubber_cylinder-d8`), of tokens (`filter_color[red]`), of
/// options (`color=red,shape=cube`), and words of questions.
fn name_problem(name: &str) -> Option<String> {
    let parts = || name.split('_').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    if name.len() > MAX_NAME || !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !parts() {
        return Some(format!(
            "cannot be the name of a value, which is a letter (a-z, A-Z), then letters, digits and single \
             underscores between them, at most {MAX_NAME} characters in all"
        ));
    }
    let is_reserved = RESERVED_NAMES.iter().flat_map(|names| names.split(' ')).any(|n| n.eq_ignore_ascii_case(name));
    is_reserved.then(|| {
        "cannot be the name of a value, since questions, answers or names of datasets use it for something else; \
         take another"
            .to_owned()
    })
}

/// Refuses keys that nothing reads, and lists those that are read.
fn refuse_unknown_keys(entries: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let unknown = entries.keys().filter(|key| !known.contains(&key.as_str()));
    let unknown: Vec<String> =
        unknown.map(|key| format!("\"{}\"{}", shown(key), suggestion(key, known.iter().copied()))).collect();
    let keys = if unknown.len() == 1 { "key" } else { "keys" };
    let list = || format!("unknown {keys} {}; expected {}", listed(&unknown), known.join(", "));
    if unknown.is_empty() { Ok(()) } else { Err(list()) }
}

/// Checks one section of the file; an error is (place, problem).
fn attribute_type(name: &'static str, entries: &Map<String, Value>) -> Result<AttributeType, (String, String)> {
    let mut kind = AttributeType { name, values: Vec::new(), definitions: Vec::new() };
    for (value, definition) in entries {
        if let Some(parameters) = definition.as_object().filter(|_| name == "material") {
            refuse_unknown_keys(parameters, &MATERIAL_KEYS).map_err(|problem| (value.clone(), problem))?;
        }
        let is_radius = || definition.as_f64().is_some_and(|r| r > 0.0 && r.is_finite());
        let (is_valid, expected) = match name {
            "size" => (is_radius(), "a radius above 0 in Blender units"),
            "color" => (is_rgb(definition), "three numbers from 0 to 255"),
            "material" => (
                definition.is_string() || definition.as_object().is_some_and(is_principled),
                "the name of an asset, or \"metallic\" from 0 to 1, \"roughness\" from 0.05 to 1 and, if it has a color \
                 of its own, \"base_color\", three numbers from 0 to 255",
            ),
            _ => (definition.is_string(), "the name of an asset"),
        };
        if !is_valid {
            let problem = format!("expected {expected}, got {}", shown(&definition.to_string()));
            return Err((value.clone(), problem));
        }
        kind.values.push(value.clone());
        kind.definitions.push(definition.clone());
    }
    Ok(kind)
}

fn is_rgb(definition: &Value) -> bool {
    let is_byte = |number: &Value| number.as_f64().is_some_and(|number| (0.0..=255.0).contains(&number));
    definition.as_array().is_some_and(|rgb| rgb.len() == 3 && rgb.iter().all(is_byte))
}

/// Whether these entries are valid parameters of a material.
fn is_principled(entries: &Map<String, Value>) -> bool {
    let within = |name: &str, least: f64| {
        entries.get(name).and_then(Value::as_f64).is_some_and(|number| (least..=1.0).contains(&number))
    };
    within("metallic", 0.0) && within("roughness", 0.05) && entries.get("base_color").is_none_or(is_rgb)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROPERTIES: &str = r#"{
        "sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [173, 35, 35], "blue": [42, 75, 215]},
        "materials": {"rubber": "rubber"}, "shapes": {"cube": "cube", "sphere": "sphere"}}"#;

    fn vocabulary() -> Vocabulary {
        Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "properties.json", 10).unwrap()
    }

    #[test]
    fn answers_and_their_numbers_are_inverse() {
        let vocab = vocabulary();
        assert_eq!(vocab.n_answers(), 2 + 11 + 7);
        let texts = vocab.answer_texts_of_sets();
        for (index, text) in (0..vocab.n_answers() as u16 + 4).zip(&texts) {
            let answer = vocab.answer(index).unwrap();
            assert_eq!((vocab.answer_index(answer), &vocab.answer_text(answer)), (Some(index), text));
        }
        assert_eq!((vocab.answer(23), vocab.answer(24)), (Some(Answer::Relation(3)), None));
        assert_eq!((&texts[..20], &*texts[20]), (vocab.answer_texts().as_slice(), "left"));
        assert_eq!(vocab.answer_index(Answer::Integer(11)), None);
        assert_eq!(vocab.answer_texts()[13], "small");
    }

    #[test]
    fn faults_name_their_place() {
        let cases = [
            (
                PROPERTIES.replace("\"colors\": {", "\"colors\": {}, \"x\": {"),
                "properties.json: top level: unknown key \"x\";",
            ),
            (
                PROPERTIES.replace("\"red\": [173, 35, 35], \"blue\": [42, 75, 215]", ""),
                "properties.json: colors: missing or empty",
            ),
            (PROPERTIES.replace("0.35", "-1"), "properties.json: sizes.small: expected a radius"),
            (PROPERTIES.replace("[173, 35, 35]", "[173, 35]"), "properties.json: colors.red: expected three numbers"),
            (PROPERTIES.replace("\"blue\"", "\"large\""), "\"large\" is defined under two"),
            (PROPERTIES.replace("0.35,", "0.35"), "properties.json:2:"),
        ];
        for (text, message) in cases {
            let error =
                Vocabulary::from_properties_json(text.as_bytes(), "properties.json", 10).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn keys_that_nothing_reads_are_refused() {
        let others = r#""colours": {"orange": [255, 140, 0]}, "textures": {"dots": "dots.blend"}, "sizes""#;
        let end = "; expected sizes, colors, materials, shapes";
        assert_eq!(
            read(&PROPERTIES.replace("\"sizes\"", others)).unwrap_err(),
            format!("p.json: top level: unknown keys \"colours\" (did you mean \"colors\"?), \"textures\"{end}")
        );
        let error = read(&PROPERTIES.replace("colors", "colours")).unwrap_err();
        assert_eq!(error, format!("p.json: top level: unknown key \"colours\" (did you mean \"colors\"?){end}"));
        let glass = r#"{"metallic": 0, "roughnes": 0.1}"#;
        assert_eq!(
            read(&PROPERTIES.replace("{\"rubber\": \"rubber\"}", &format!("{{\"glass\": {glass}}}"))).unwrap_err(),
            "p.json: materials.glass: unknown key \"roughnes\" (did you mean \"roughness\"?); expected metallic, \
             roughness, base_color"
        );
    }

    fn read(text: &str) -> Result<Vocabulary, String> {
        Vocabulary::from_properties_json(text.as_bytes(), "p.json", 10).map_err(|error| error.to_string())
    }

    #[test]
    fn names_that_would_break_something_are_refused() {
        let long = "x".repeat(33);
        let names = [
            "",
            " ",
            "_",
            "red_",
            "_red",
            "dark__red",
            "dark red",
            "dark-red",
            "<Z>",
            "3",
            "3d",
            "red,blue",
            "../x",
            "a/b",
            "red[",
            "]",
            "red=",
            "red.",
            "red;",
            "\\u0000",
            "red\\n",
            "röt",
            "ｒed",
            "\\u202ered",
            &long,
        ];
        for name in names {
            let error = read(&PROPERTIES.replace("\"red\"", &format!("\"{name}\""))).unwrap_err();
            assert!(error.starts_with("p.json: colors: \""), "{error}");
            assert!(error.contains("\" cannot be the name of a value, which is a letter (a-z, A-Z)"), "{error}");
            assert!(!error.contains(['\n', '\0', '\u{202e}']), "{error}");
        }
        for name in ["yes", "No", "none", "prelim", "all", "thing", "objects", "left", "shape", "OR", "a"] {
            let error = read(&PROPERTIES.replace("\"red\"", &format!("\"{name}\""))).unwrap_err();
            assert!(error.starts_with(&format!("p.json: colors: \"{name}\" cannot be the name of a value, since")));
        }
        let error = read(&PROPERTIES.replace("\"red\"", "\"Cube\"")).unwrap_err();
        assert!(error.starts_with("p.json: values: \"Cube\" and \"cube\" differ in nothing but capital"), "{error}");
    }

    #[test]
    fn names_that_break_nothing_are_taken() {
        let longest = "x".repeat(32);
        for name in ["dark_red", "Orange", "red2", "r", "a1_b2_c3", "lefty", "no_red", "none_such", &longest] {
            let vocab = read(&PROPERTIES.replace("\"red\"", &format!("\"{name}\""))).unwrap();
            assert_eq!(vocab.value(1, name), Some(0));
        }
    }

    #[test]
    fn what_is_defined_twice_is_refused() {
        let twice = PROPERTIES.replace("\"blue\"", "\"red\"");
        assert_eq!(read(&twice).unwrap_err(), "p.json:2:86: \"red\" appears twice in one object");
        let twice = PROPERTIES.replace("\"shapes\"", "\"colors\"");
        assert!(read(&twice).unwrap_err().contains("\"colors\" appears twice in one object"));
    }

    #[test]
    fn a_long_name_or_definition_is_shown_short() {
        let long = "x".repeat(100_000);
        for text in [
            PROPERTIES.replace("\"red\"", &format!("\"{long}\"")),
            PROPERTIES.replace("0.35", &format!("\"{long}\"")),
            PROPERTIES.replace("[173, 35, 35]", &format!("[{}]", vec!["1"; 100_000].join(","))),
            PROPERTIES.replace("\"sizes\"", &format!("\"{long}\": 1, \"{long}\": 2, \"sizes\"")),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.len() < 500, "{}", error.len());
        }
        assert!(vocabulary().find_value(&long).unwrap_err().to_string().len() < 500);
    }

    #[test]
    fn unknown_names_get_a_suggestion() {
        let error = vocabulary().find_value("spere").unwrap_err().to_string();
        assert!(error.contains("did you mean \"sphere\"?"), "{error}");
    }
}
