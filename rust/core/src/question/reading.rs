//! Reads a question back to its phrasing, the values of its parameters, and its wording.
//!
//! The family is known, so only its own phrasings are tried. A reading counts only if it reproduces the question's
//! words, and nothing is guessed: if two readings differ in their values, both are returned.

use super::lexicon::Lexicon;
use super::param::{MAX_PARAMS, Param, ParamKind};
use super::template::{Family, TemplateSet};
use super::text_buffer::TextBuffer;
use super::tokens::tokenize;
use super::wording::Worded;
use rustc_hash::FxHashMap;

/// What a question says, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The number of the phrasing within its family.
    pub phrasing: u8,
    /// For each parameter, its value; None if it is unset.
    pub values: [Option<u8>; MAX_PARAMS],
    pub worded: Worded,
}

/// A phrasing in which each optional part is either kept or left out.
struct Variant {
    phrasing: u8,
    kept: u32,
    parts: Vec<Part>,
}

enum Part {
    Word(String),
    /// A parameter, and its slot.
    Param(u8, usize),
}

/// The forms that a parameter can take within a word, as in "<S>s".
#[derive(Default)]
struct Slot {
    by_first_token: FxHashMap<String, Vec<Form>>,
    may_be_empty: bool,
}

struct Form {
    tokens: Vec<String>,
    value: Option<u8>,
    word: u8,
}

/// Maximum number of parts that are followed for one phrasing of a question.
const MOST_VISITS: u32 = 1 << 16;

/// How far a question was followed along a phrasing.
struct Walk {
    /// The parameters that were read.
    is_read: [bool; MAX_PARAMS],
    visits_left: u32,
}

/// Reads questions of one set of templates.
pub struct QuestionReader<'a> {
    templates: &'a TemplateSet,
    /// The variants of each family's phrasings.
    variants: Vec<Vec<Variant>>,
    slots: Vec<Slot>,
}

/// A parameter's kind, and the letters before and after it in its word.
type SlotKey = ((u8, bool), String, String);

impl<'a> QuestionReader<'a> {
    pub fn new(templates: &'a TemplateSet) -> Self {
        let mut numbers: FxHashMap<SlotKey, usize> = FxHashMap::default();
        let mut slots = Vec::new();
        let mut variants = Vec::new();
        for family in templates.families() {
            let mut part = |token: &str| match token.find('<').zip(token.find('>')) {
                Some((begin, end)) => {
                    let (before, name, after) = (&token[..begin], &token[begin..=end], &token[end + 1..]);
                    let place = family.params.iter().position(|param| param.name == name);
                    place.map(|place| {
                        let param = &family.params[place];
                        let key = (key_of(param), before.to_owned(), after.to_owned());
                        let slot = *numbers.entry(key).or_insert_with(|| {
                            slots.push(Slot::new(param, before, after, templates.lexicon()));
                            slots.len() - 1
                        });
                        Part::Param(place as u8, slot)
                    })
                }
                None => Some(Part::Word(token.to_owned())),
            };
            let mut of_family = Vec::new();
            for (number, phrasing) in family.phrasings.iter().enumerate() {
                for (text, kept) in phrasing.variants() {
                    // A phrasing names only parameters of its family, so none is lost here.
                    let parts = tokenize(&text).into_iter().filter_map(&mut part).collect();
                    of_family.push(Variant { phrasing: number as u8, kept, parts });
                }
            }
            variants.push(of_family);
        }
        Self { templates, variants, slots }
    }

    /// The readings of a question of a family, given by its tokens; of readings with the same values, only the first.
    /// None if a phrasing can be followed in too many ways to try, as with dozens of parameters that may be left out.
    pub fn read(&self, family: usize, tokens: &[&str], buffer: &mut TextBuffer) -> Vec<Reading> {
        let Some(variants) = self.variants.get(family) else { return Vec::new() };
        let source = &self.templates.families()[family];
        let mut readings: Vec<Reading> = Vec::new();
        for variant in variants {
            let worded = Worded { words: [0; MAX_PARAMS], kept: variant.kept };
            let mut reading = Reading { phrasing: variant.phrasing, values: [None; MAX_PARAMS], worded };
            for (value, param) in reading.values.iter_mut().zip(&source.params) {
                *value = param.fixed;
            }
            let mut at_end = |reading: Reading| {
                let is_new = !readings.iter().any(|known| known.values == reading.values);
                if is_new && self.says(source, &reading, tokens, buffer) {
                    readings.push(reading);
                }
            };
            let mut walk = Walk { is_read: [false; MAX_PARAMS], visits_left: MOST_VISITS };
            self.follow(&variant.parts, tokens, &mut walk, reading, &mut at_end);
            if walk.visits_left == 0 {
                return Vec::new();
            }
        }
        readings
    }

    /// Whether a reading reproduces these tokens.
    fn says(&self, family: &Family, reading: &Reading, tokens: &[&str], buffer: &mut TextBuffer) -> bool {
        let text = family.say(reading, self.templates.lexicon(), buffer);
        let said = tokenize(&text);
        // Earlier versions chose articles by the next word's first letter, and the original generator only knows "a".
        let is_same =
            |(said, token): (&&str, &&str)| said == token || is_article_of(said, token) || is_article_of(token, said);
        said.len() == tokens.len() && said.iter().zip(tokens).all(is_same)
    }

    /// Follows the parts of a variant along the tokens, while it has visits left.
    fn follow(
        &self,
        parts: &[Part],
        tokens: &[&str],
        walk: &mut Walk,
        reading: Reading,
        at_end: &mut impl FnMut(Reading),
    ) {
        walk.visits_left = walk.visits_left.saturating_sub(1);
        if walk.visits_left == 0 {
            return;
        }
        let Some((part, parts)) = parts.split_first() else {
            if tokens.is_empty() {
                at_end(reading);
            }
            return;
        };
        match part {
            Part::Word(word) => match tokens.split_first() {
                Some((token, tokens)) if token == word || is_article_of(word, token) => {
                    self.follow(parts, tokens, walk, reading, at_end);
                }
                _ => {}
            },
            Part::Param(param, slot) => {
                let (place, slot) = (usize::from(*param), &self.slots[*slot]);
                let was_read = walk.is_read[place];
                // A parameter that occurs again has the same value, but its word may differ to agree with the article.
                let fits = |value: Option<u8>| !was_read || reading.values[place] == value;
                walk.is_read[place] = true;
                let forms = tokens.first().and_then(|token| slot.by_first_token.get(*token));
                for form in forms.into_iter().flatten().filter(|form| fits(form.value)) {
                    if form.tokens.len() <= tokens.len() && form.tokens.iter().zip(tokens).all(|(a, b)| a == b) {
                        let mut reading = reading;
                        if !was_read {
                            reading.values[place] = form.value;
                            reading.worded.words[place] = form.word;
                        }
                        self.follow(parts, &tokens[form.tokens.len()..], walk, reading, at_end);
                    }
                }
                if slot.may_be_empty && fits(None) {
                    self.follow(parts, tokens, walk, reading, at_end);
                }
                walk.is_read[place] = was_read;
            }
        }
    }
}

impl Family {
    /// The text of the question that a reading describes.
    pub fn say(&self, reading: &Reading, lexicon: &Lexicon, buffer: &mut TextBuffer) -> String {
        let values = &reading.values[..self.params.len()];
        let phrasing = &self.phrasings[usize::from(reading.phrasing)];
        phrasing.question(&self.params, values, lexicon, &mut reading.worded.follow(), buffer)
    }

    /// The index of the parameter with this name.
    pub fn param(&self, name: &str) -> Option<u8> {
        self.params.iter().position(|param: &Param| param.name == name).map(|place| place as u8)
    }
}

impl Slot {
    fn new(param: &Param, before: &str, after: &str, lexicon: &Lexicon) -> Self {
        let mut slot = Self::default();
        let mut add = |value: Option<u8>, word: usize, said: &str| {
            let text = format!("{before}{said}{after}");
            let tokens: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            match tokens.first() {
                Some(first) => {
                    let forms = slot.by_first_token.entry(first.clone()).or_default();
                    forms.push(Form { value, word: word as u8, tokens });
                }
                None => slot.may_be_empty = true,
            }
        };
        for value in std::iter::once(None).chain(lexicon.values(param.kind).map(Some)) {
            let words = lexicon.words(param, value);
            for (number, word) in words.iter().enumerate() {
                add(value, number, word.as_str());
            }
            if words.is_empty() && matches!(param.kind, ParamKind::Attribute(_)) {
                add(value, 0, "");
            }
        }
        slot
    }
}

/// A number for each kind of parameter, and whether its values are worded by name.
fn key_of(param: &Param) -> (u8, bool) {
    let kind = match param.kind {
        ParamKind::Attribute(kind) => kind,
        ParamKind::Relation => u8::MAX,
        ParamKind::Number => u8::MAX - 1,
    };
    (kind, param.by_name)
}

/// Whether `token` is the form that the article `word` takes before a vowel.
fn is_article_of(word: &str, token: &str) -> bool {
    matches!((word, token), ("a", "an") | ("A", "An"))
}
