//! The phrasings of a question family, and the questions that they give for chosen values.
//!
//! As in CLEVR, each parameter gets one synonym, a text in square brackets is kept half of the time, and "other" is
//! dropped if the two objects differ anyway.

use super::lexicon::{Lexicon, SHAPE, Word};
use super::text_buffer::{CHUNK, TextBuffer};
use super::tokens::tokenize;
use super::wording::Wording;
use crate::message::shown;
use crate::question::param::{MAX_PARAMS, Param, find_param};
use crate::vocab::N_TYPES;

/// The eight parameters of a question about two objects, to which the rule for "other" applies.
const TWO_OBJECTS: [[&str; 2]; N_TYPES] = [["<Z>", "<Z2>"], ["<C>", "<C2>"], ["<M>", "<M2>"], ["<S>", "<S2>"]];
/// Maximum number of optional parts of a phrasing: each doubles the number of its variants, as readers list them.
const MOST_OPTIONAL_PARTS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece {
    /// Words of the phrasing itself: their start and length in `Cut::words`.
    Text(u16, u16),
    Param(u8),
    /// A parameter followed by a space, the most frequent text between two parameters.
    ParamAndSpace(u8),
    /// The start of an optional part, with the index of its end.
    Open(u16),
    Close,
}

/// A phrasing cut into pieces.
#[derive(Clone, Debug)]
struct Cut {
    pieces: Vec<Piece>,
    /// The phrasing's own words in order, separated by single spaces, then padded with a chunk of spaces.
    words: String,
}

/// The first optional part within a word, which would join letters whether kept or left out: "colo[u]r".
fn optional_within_a_word(text: &str) -> Option<&str> {
    let joins = |c: char| !(c.is_whitespace() || c.is_ascii() && is_mark(c as u8));
    let is_letter = |c: &char| !matches!(c, '[' | ']');
    let mut opened = Vec::new();
    for (place, c) in text.char_indices() {
        match c {
            '[' => opened.push(place),
            ']' => {
                let start = opened.pop()?;
                let before = text[..start].chars().rev().find(is_letter).is_some_and(joins);
                let first = text[start + 1..].chars().next().is_some_and(joins);
                let last = text[..place].chars().next_back().is_some_and(joins);
                let after = text[place + 1..].chars().find(is_letter).is_some_and(joins);
                if before && first || last && after || before && after {
                    return Some(&text[start..=place]);
                }
            }
            _ => {}
        }
    }
    None
}

/// One of the texts of a family's question.
#[derive(Clone, Debug)]
pub struct Phrasing {
    text: String,
    cut: Cut,
    /// The same without "other", if the rule for it applies to the phrasing.
    without_other: Option<Cut>,
    /// The parameters of the two objects by type, if the rule for "other" applies.
    two_objects: Option<[[u8; 2]; N_TYPES]>,
}

impl Phrasing {
    /// Parses a template's text; an error says what is wrong with it.
    pub fn new(text: &str, params: &[Param]) -> Result<Self, String> {
        let cut = Cut::new(text, params)?;
        if let Some(word) =
            text.split(|c: char| c.is_whitespace() || matches!(c, '[' | ']')).find(|w| w.matches('<').count() > 1)
        {
            let word = shown(word);
            return Err(format!(
                "two parameters in one word, \"{word}\", in \"{}\"; put a space between them",
                shown(text)
            ));
        }
        let n_parts = text.matches('[').count();
        if n_parts > MOST_OPTIONAL_PARTS {
            return Err(format!(
                "{n_parts} optional parts in \"{}\"; at most {MOST_OPTIONAL_PARTS} are read",
                shown(text)
            ));
        }
        if let Some(part) = optional_within_a_word(text) {
            return Err(format!("an optional part within a word, \"{}\", in \"{}\"", shown(part), shown(text)));
        }
        let two_objects = two_objects(params);
        let without = without_other(text);
        let without_other =
            if two_objects.is_some() && without != text { Some(Cut::new(&without, params)?) } else { None };
        Ok(Self { text: text.to_owned(), cut, without_other, two_objects })
    }

    /// Checks that nothing but spaces and punctuation marks stands beside a parameter that may be without a word: the
    /// rest of "of:<Z>" would be said alone, as a token that no other question has.
    pub(super) fn check_spaces(&self, params: &[Param], may_be_wordless: impl Fn(usize) -> bool) -> Result<(), String> {
        let text = self.text.replace(['[', ']'], " ");
        let beside = |(place, param): (usize, &Param)| {
            let is_beside = |token: &&str| token.contains(&param.name) && *token != param.name;
            let token = tokenize(&text).into_iter().find(is_beside).filter(|_| may_be_wordless(place))?;
            let apart = token.replace(&param.name, &format!(" {} ", param.name));
            Some(format!(
                "\"{}\" joins other text to {}, which some questions have no word for; put a space between them: \"{}\"",
                shown(token),
                shown(&param.name),
                shown(apart.trim())
            ))
        };
        params.iter().enumerate().find_map(beside).map_or(Ok(()), Err)
    }

    /// The question for these values of the parameters (None: unset).
    pub fn question(
        &self,
        params: &[Param],
        values: &[Option<u8>],
        lexicon: &Lexicon,
        wording: &mut impl Wording,
        buffer: &mut TextBuffer,
    ) -> String {
        buffer.clear();
        let mut words: [Option<&Word>; MAX_PARAMS] = [None; _];
        let cut = match &self.without_other {
            Some(without_other) if self.objects_differ(values) => without_other,
            _ => &self.cut,
        };
        let mut place = 0;
        while let Some(piece) = cut.pieces.get(place) {
            match *piece {
                Piece::Text(start, len) => {
                    let own = &cut.words.as_bytes()[usize::from(start)..];
                    // No double spaces, no leading space, and no space before a punctuation mark.
                    if is_mark(own[0]) {
                        buffer.drop_space();
                    }
                    let skip = usize::from(own[0] == b' ' && buffer.is_after_space());
                    buffer.push(&own[skip..], usize::from(len) - skip);
                }
                Piece::Param(p) | Piece::ParamAndSpace(p) => {
                    let p = usize::from(p);
                    let list = lexicon.words(&params[p], values[p]);
                    let word = match words[p] {
                        None if list.is_empty() => None,
                        None => Some(&list[wording.word(p, list.len() as u32) as usize]),
                        previous => previous,
                    };
                    words[p] = word.map(|word| push_word(buffer, word, list));
                    if matches!(piece, Piece::ParamAndSpace(_)) {
                        buffer.push_space();
                    }
                }
                Piece::Open(end) => {
                    if !wording.keeps_part() {
                        place = usize::from(end);
                    }
                }
                Piece::Close => {}
            }
            place += 1;
        }
        buffer.finish()
    }

    /// The texts of this phrasing for each selection of optional parts, with and without "other"; the bits say which
    /// parts are kept, in order.
    pub fn variants(&self) -> Vec<(String, u32)> {
        let without = self.two_objects.map(|_| without_other(&self.text)).filter(|without| *without != self.text);
        std::iter::once(self.text.clone()).chain(without).flat_map(|text| decided(&text)).collect()
    }

    /// All tokens of this phrasing's questions.
    pub fn words(&self, params: &[Param], lexicon: &Lexicon) -> Vec<String> {
        let mut words = vec!["a".to_owned(), "an".to_owned()];
        if self.text.starts_with("A ") {
            words.push("An".to_owned());
        }
        for glued in self.text.replace(['[', ']'], " ").split_whitespace() {
            let mut forms = vec![glued.to_owned()];
            for param in params.iter().filter(|p| glued.contains(&p.name)) {
                let all = lexicon.all_words(param);
                forms = forms.iter().flat_map(|form| all.iter().map(|w| form.replace(&param.name, w))).collect();
            }
            for form in &forms {
                words.extend(tokenize(form).into_iter().map(str::to_owned));
            }
        }
        words
    }

    /// Maximum number of tokens of this phrasing's questions if the parameters marked in `unset` never have a value.
    pub fn most_tokens(&self, params: &[Param], unset: &[bool], lexicon: &Lexicon) -> usize {
        let mut text = self.text.replace(['[', ']'], " ");
        for (param, &unset) in params.iter().zip(unset) {
            let words = if unset {
                lexicon.words(param, None).iter().map(Word::as_str).collect()
            } else {
                lexicon.all_words(param)
            };
            let longest = words.into_iter().max_by_key(|word| tokenize(word).len()).unwrap_or("");
            text = text.replace(&param.name, longest);
        }
        tokenize(&text).len()
    }

    /// CLEVR's rule: whether some attribute is given for both objects and differs ("thing" counts as a shape).
    fn objects_differ(&self, values: &[Option<u8>]) -> bool {
        self.two_objects.is_some_and(|pairs| {
            pairs.iter().enumerate().any(|(kind, [a, b])| {
                let (a, b) = (values[usize::from(*a)], values[usize::from(*b)]);
                a != b && (kind == SHAPE || (a.is_some() && b.is_some()))
            })
        })
    }
}

/// The parameters of the two objects, if the family has exactly these eight.
fn two_objects(params: &[Param]) -> Option<[[u8; 2]; N_TYPES]> {
    let place = |name: &str| params.iter().position(|p| p.name == name).map(|p| p as u8);
    let mut pairs = [[0; 2]; N_TYPES];
    for (kind, [first, second]) in TWO_OBJECTS.iter().enumerate() {
        pairs[kind] = [place(first)?, place(second)?];
    }
    (params.len() == 2 * N_TYPES).then_some(pairs)
}

impl Cut {
    /// Cuts a phrasing into pieces; an error says what is wrong with it.
    fn new(text: &str, params: &[Param]) -> Result<Self, String> {
        if text.len() > usize::from(u16::MAX) {
            return Err(format!("a phrasing of {} bytes is too long", text.len()));
        }
        let (mut pieces, mut words) = (Vec::new(), String::new());
        let mut literal = String::new();
        let mut open = None;
        let mut rest = text;
        let mut flush = |literal: &mut String, pieces: &mut Vec<Piece>| {
            let literal = squeeze(&std::mem::take(literal));
            match (literal.as_str(), pieces.last_mut()) {
                ("", _) => {}
                (" ", Some(last @ &mut Piece::Param(p))) => *last = Piece::ParamAndSpace(p),
                (text, _) => {
                    pieces.push(Piece::Text(words.len() as u16, text.len() as u16));
                    words.push_str(text);
                }
            }
        };
        while let Some(c) = rest.chars().next() {
            let mut used = c.len_utf8();
            match c {
                '<' => {
                    let end = rest.find('>').ok_or_else(|| format!("\"<\" without \">\" in \"{}\"", shown(text)))?;
                    let param = find_param(params, &rest[..=end]);
                    let param = param.map_err(|problem| format!("{problem} in \"{}\"", shown(text)))?;
                    flush(&mut literal, &mut pieces);
                    pieces.push(Piece::Param(param));
                    used = end + 1;
                }
                '[' if open.is_none() => {
                    flush(&mut literal, &mut pieces);
                    open = Some(pieces.len());
                    pieces.push(Piece::Open(0));
                }
                ']' => {
                    flush(&mut literal, &mut pieces);
                    let start = open.take().ok_or_else(|| format!("\"]\" without \"[\" in \"{}\"", shown(text)))?;
                    pieces[start] = Piece::Open(pieces.len() as u16);
                    pieces.push(Piece::Close);
                }
                '[' => return Err(format!("\"[\" inside \"[\" in \"{}\"", shown(text))),
                c => literal.push(c),
            }
            rest = &rest[used..];
        }
        if open.is_some() {
            return Err(format!("\"[\" without \"]\" in \"{}\"", shown(text)));
        }
        flush(&mut literal, &mut pieces);
        if pieces.is_empty() {
            return Err("empty phrasing".into());
        }
        words.push_str(&" ".repeat(CHUNK));
        Ok(Self { pieces, words })
    }
}

/// The texts for each selection of optional parts; the bits say which parts are kept, in order.
fn decided(text: &str) -> Vec<(String, u32)> {
    let mut texts = vec![(String::new(), 0)];
    let mut rest = text;
    let mut n_parts = 0;
    // The constructor has checked that the brackets match.
    while let Some((before, optional, after)) = rest
        .split_once('[')
        .and_then(|(before, rest)| Some((before, rest.split_once(']')?)))
        .map(|(b, (o, a))| (b, o, a))
    {
        texts = texts
            .into_iter()
            .flat_map(|(text, kept)| {
                [(format!("{text}{before}"), kept), (format!("{text}{before}{optional}"), kept | 1 << n_parts)]
            })
            .collect();
        rest = after;
        n_parts += 1;
    }
    texts.iter_mut().for_each(|(text, _)| text.push_str(rest));
    texts
}

/// A phrasing without the word "other", and with "a" for "another".
fn without_other(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Words end at spaces and brackets, which are kept.
    for part in text.split_inclusive([' ', '[', ']']) {
        let (word, bound) = part.split_at(part.trim_end_matches([' ', '[', ']']).len());
        // A word followed by anything else, such as a comma, is a different word.
        out.push_str(match (word, bound) {
            ("other", " " | "]") => "",
            ("another", " " | "]") => "a",
            _ => word,
        });
        out.push_str(bound);
    }
    out
}

/// The text, with each run of white space replaced by a single space.
fn squeeze(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for c in text.chars() {
        if !c.is_whitespace() {
            squeezed.push(c);
        } else if !squeezed.ends_with(' ') {
            squeezed.push(' ');
        }
    }
    squeezed
}

/// Appends a word for a value that agrees with the article before it: "a object" is wrong. Returns the word written.
#[inline]
fn push_word<'a>(buffer: &mut TextBuffer, mut word: &'a Word, synonyms: &'a [Word]) -> &'a Word {
    if word.takes_an && buffer.ends_with_article() {
        match synonyms.iter().find(|s| !s.takes_an) {
            Some(other) => word = other,
            None => buffer.make_article_an(),
        }
    }
    word.write(buffer);
    word
}

/// Whether this is a punctuation mark that follows a word without a space.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'?' | b',' | b';' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::param::ParamKind;
    use crate::rng::StreamKey;
    use crate::vocab::Vocabulary;
    use std::collections::{BTreeMap, BTreeSet};

    const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3], "orange": [1, 2, 3]},
        "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "cylinder": "y"}}"#;

    fn lexicon(properties: &str, words_for_thing: &[&str]) -> Lexicon {
        let vocab = Vocabulary::from_properties_json(properties.as_bytes(), "p", 10).unwrap();
        let words = words_for_thing.iter().map(|word| (*word).to_owned()).collect();
        Lexicon::new(&vocab, BTreeMap::from([("thing".to_owned(), words)])).unwrap()
    }

    fn two_object_params() -> Vec<Param> {
        ["", "2"]
            .iter()
            .flat_map(|n| {
                ["Z", "C", "M", "S"].iter().enumerate().map(move |(kind, letter)| Param {
                    name: format!("<{letter}{n}>"),
                    kind: ParamKind::Attribute(kind as u8),
                    by_name: false,
                    fixed: None,
                })
            })
            .collect()
    }

    fn say(text: &str, values: &[Option<u8>]) -> Vec<String> {
        say_with(&lexicon(PROPERTIES, &["thing", "object"]), text, values)
    }

    /// All questions from 64 draws.
    fn say_with(lexicon: &Lexicon, text: &str, values: &[Option<u8>]) -> Vec<String> {
        let params = two_object_params();
        let phrasing = Phrasing::new(text, &params).unwrap();
        let rng = |i| StreamKey::new(&[b"say"]).at(i);
        let question = |i| phrasing.question(&params, values, lexicon, &mut rng(i), &mut TextBuffer::default());
        (0..64).map(question).collect::<BTreeSet<_>>().into_iter().collect()
    }

    #[test]
    fn optional_words_synonyms_and_spaces() {
        let none = [None; 8];
        assert_eq!(
            say("Is it [also] the <Z> <C> <M> <S>?", &none),
            ["Is it also the object?", "Is it also the thing?", "Is it the object?", "Is it the thing?"]
        );
    }

    #[test]
    fn other_goes_where_the_objects_differ_anyway() {
        let text = "Are there other <Z2> <C2> <M2> <S2>s like another <Z> <C> <M> <S>?";
        let mut values = [None; 8];
        (values[3], values[7]) = (Some(0), Some(0));
        assert_eq!(say(text, &values), ["Are there other cubes like another cube?"]);
        values[7] = Some(1);
        assert_eq!(say(text, &values), ["Are there cylinders like a cube?"]);
        // For this rule, "thing" is a shape of its own.
        values[7] = None;
        assert_eq!(say(text, &values), ["Are there objects like a cube?", "Are there things like a cube?"]);
        // When "another" loses its "other", the article agrees with the next word; an optional "other" is dropped too.
        values[1] = Some(1);
        assert_eq!(say("Is it like another <Z> <C> <M> <S>?", &values), ["Is it like an orange cube?"]);
        assert_eq!(say("Are the [other] things gray?", &values), ["Are the things gray?"]);
    }

    #[test]
    fn no_optional_part_is_within_a_word() {
        for text in ["Is it colo[u]r?", "Is it [un]painted?", "[Is][it] so?", "Is it a[ very ]b?", "Is it [so]<S>?"] {
            let error = Phrasing::new(text, &two_object_params()).unwrap_err();
            assert!(error.starts_with("an optional part within a word, \"["), "{error}");
        }
        for text in [
            "[Is it] so?",
            "Is it[ also] so[, too]?",
            "Is it so[;] too?",
            "How many[ all][ visible] are there?",
            "Is it [so]?",
        ] {
            Phrasing::new(text, &two_object_params()).unwrap();
        }
    }

    #[test]
    fn no_space_comes_before_a_mark() {
        let values = [None; 8];
        assert_eq!(
            say("Is it made of what [material]?", &values),
            ["Is it made of what material?", "Is it made of what?"]
        );
        assert_eq!(say("It is <Z> <C>; is it <M>, too?", &values), ["It is; is it, too?"]);
    }

    #[test]
    fn articles_fit_their_words() {
        // A repeated parameter keeps the word that the article required.
        let lexicon = lexicon(PROPERTIES, &["object", "thing"]);
        assert_eq!(say_with(&lexicon, "A <Z> <C> <M> <S> is a <S>.", &[None; 8]), ["A thing is a thing."]);
        assert_eq!(say("Is there a <Z> <C> <M> <S>?", &[None; 8]), ["Is there a thing?"]);
        let mut values = [None; 8];
        (values[1], values[3]) = (Some(1), Some(0));
        assert_eq!(say("Is there a <Z> <C> <M> <S>?", &values), ["Is there an orange cube?"]);
    }

    #[test]
    fn an_article_before_a_capital_vowel_fits_too() {
        let lexicon = lexicon(&PROPERTIES.replace("orange", "Orange"), &["thing"]);
        let mut values = [None; 8];
        (values[1], values[3]) = (Some(1), Some(0));
        assert_eq!(say_with(&lexicon, "Is there a <C> <S>?", &values), ["Is there an Orange cube?"]);
    }

    #[test]
    fn the_sound_of_the_next_word_decides_the_article() {
        let lexicon = lexicon(&PROPERTIES.replace("orange", "honest").replace("cylinder", "unicorn"), &["thing"]);
        let mut values = [None; 8];
        values[3] = Some(1);
        assert_eq!(say_with(&lexicon, "Is there a <C> <S>?", &values), ["Is there a unicorn?"]);
        values[1] = Some(1);
        assert_eq!(say_with(&lexicon, "Is there a <C> <S>?", &values), ["Is there an honest unicorn?"]);
    }

    #[test]
    fn every_word_said_is_among_the_words() {
        let lexicon = lexicon(PROPERTIES, &["thing"]);
        let params = two_object_params();
        let phrasing = Phrasing::new("Is a <Z> <C> <M> <S>, or are <S2>s, [very] big?", &params).unwrap();
        let words = phrasing.words(&params, &lexicon);
        for i in 0..200 {
            let mut rng = StreamKey::new(&[b"words"]).at(i);
            let values: Vec<Option<u8>> = (0..8).map(|_| [None, Some(0), Some(1)][rng.below(3) as usize]).collect();
            let values: Vec<_> =
                values.into_iter().enumerate().map(|(i, v)| if i == 3 { Some(0) } else { v }).collect();
            for token in tokenize(&phrasing.question(&params, &values, &lexicon, &mut rng, &mut TextBuffer::default()))
            {
                assert!(words.iter().any(|w| w == token), "{token}");
            }
        }
    }

    #[test]
    fn faults_in_a_text_are_named() {
        let params = two_object_params();
        for (text, problem) in [
            ("a <Q>", "unknown parameter \"<Q>\""),
            ("a [b", "without \"]\""),
            ("b]", "without \"[\""),
            ("a <Z>-<C>", "two parameters in one word, \"<Z>-<C>\""),
        ] {
            assert!(Phrasing::new(text, &params).unwrap_err().contains(problem));
        }
    }
}
