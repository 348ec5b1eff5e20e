//! A phrasing and a choice of values in, an English question out.
//!
//! As in CLEVR: one synonym a parameter, a text in square brackets kept half of the time, and "other"
//! dropped where the two objects are told apart anyway.

use super::page::{CHUNK, Page};
use crate::message::shown;
use crate::question::param::{Param, ParamKind};
use crate::rng::StreamRng;
use crate::vocab::{N_TYPES, RELATION_NAMES, Vocabulary};
use std::collections::BTreeMap;

/// The type whose unset value has a word of its own, "thing".
const SHAPE: usize = 3;
/// The eight parameters of a question on two objects, to which the rule for "other" applies.
const TWO_OBJECTS: [[&str; 2]; N_TYPES] = [["<Z>", "<Z2>"], ["<C>", "<C2>"], ["<M>", "<M2>"], ["<S>", "<S2>"]];

/// Most words for one value or relation.
const MOST_WORDS: usize = 1_000;

/// The words for values, relations and things.
#[derive(Clone, Debug)]
pub struct Lexicon {
    /// For each type of attribute, what is said for no value and for each value; then for no relation, which is
    /// not asked for, and for each relation.
    lists: Vec<Vec<Word>>,
    /// Where each type's lists start; relations come last.
    starts: [usize; N_TYPES + 1],
}

/// A word or a few, as a question has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The text, and a chunk of spaces.
    padded: String,
    len: usize,
    starts_with_vowel: bool,
}

impl Word {
    fn new(text: &str) -> Self {
        let first = text.as_bytes().first().map(u8::to_ascii_lowercase);
        let starts_with_vowel = matches!(first, Some(b'a' | b'e' | b'i' | b'o' | b'u'));
        Self { padded: text.to_owned() + &" ".repeat(CHUNK), len: text.len(), starts_with_vowel }
    }

    pub fn as_str(&self) -> &str {
        &self.padded[..self.len]
    }

    #[inline]
    fn write(&self, page: &mut Page) {
        page.push(self.padded.as_bytes(), self.len);
    }
}

impl Lexicon {
    /// From a map of names to words; a name that it does not hold stands for itself.
    pub fn new(vocab: &Vocabulary, mut words: BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        if let Some((name, _)) =
            words.iter().find(|(_, list)| list.is_empty() || list.iter().any(|w| w.trim().is_empty()))
        {
            return Err(format!("\"{}\" has no word or an empty one", shown(name)));
        }
        if let Some((name, list)) = words.iter().find(|(_, list)| list.len() > MOST_WORDS) {
            return Err(format!("\"{}\" has {} words; at most {MOST_WORDS} are read", shown(name), list.len()));
        }
        each_word_says_one_thing(vocab, &words)?;
        let mut of = |name: &str| {
            let words = words.remove(name).unwrap_or_else(|| vec![name.to_owned()]);
            words.iter().map(|word| Word::new(word)).collect()
        };
        let (mut lists, mut starts) = (Vec::new(), [0; N_TYPES + 1]);
        for (kind, attribute) in vocab.types().iter().enumerate() {
            starts[kind] = lists.len();
            lists.push(if kind == SHAPE { of("thing") } else { Vec::new() });
            lists.extend(attribute.values.iter().map(|value| of(value)));
        }
        starts[N_TYPES] = lists.len();
        lists.push(Vec::new());
        lists.extend(RELATION_NAMES.iter().map(|relation| of(relation)));
        Ok(Self { lists, starts })
    }

    /// The words for a parameter's value; none where it is unset and nothing stands for it.
    #[inline]
    pub fn words(&self, kind: ParamKind, value: Option<u8>) -> &[Word] {
        &self.lists[self.starts[place(kind)] + value.map_or(0, |value| usize::from(value) + 1)]
    }

    /// Every word that a parameter can become, unset included.
    fn all_words(&self, kind: ParamKind) -> Vec<&str> {
        let end = self.starts.get(place(kind) + 1).copied().unwrap_or(self.lists.len());
        self.lists[self.starts[place(kind)]..end].iter().flatten().map(Word::as_str).collect()
    }
}

/// Errors with a word for two values, or for a value and "thing": a question with it could mean either.
///
/// The nouns, which are shapes and "thing", have plurals too.
fn each_word_says_one_thing(vocab: &Vocabulary, words: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    let mut said: BTreeMap<String, &str> = BTreeMap::new();
    let values = vocab.types().iter().enumerate();
    let values = values.flat_map(|(kind, attribute)| attribute.values.iter().map(move |value| (value.as_str(), kind)));
    for (name, kind) in values.chain([("thing", SHAPE)]) {
        let own = [name.to_owned()];
        for word in words.get(name).map_or(own.as_slice(), Vec::as_slice) {
            let plural = (kind == SHAPE).then(|| format!("{word}s"));
            for form in std::iter::once(word.clone()).chain(plural) {
                let before = said.insert(form.to_lowercase(), name);
                if let Some(other) = before.filter(|other| *other != name) {
                    let form = shown(&form);
                    return Err(format!(
                        "\"{form}\" would be said of both {other} and {name}; give one of them other words"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The place of a parameter's kind among a lexicon's.
#[inline]
fn place(kind: ParamKind) -> usize {
    match kind {
        ParamKind::Attribute(kind) => usize::from(kind),
        ParamKind::Relation => N_TYPES,
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece {
    /// A stretch of the phrasing's own words: where it starts, and how long it is.
    Text(u16, u16),
    Param(u8),
    /// The same and a space, which is most often all that comes between two.
    ParamAndSpace(u8),
    /// Start of an optional part; holds the place of its end.
    Open(u16),
    Close,
}

/// A phrasing cut into pieces.
#[derive(Clone, Debug)]
struct Cut {
    pieces: Vec<Piece>,
    /// The phrasing's own words one after another, white space single, and a chunk of spaces.
    words: String,
}

/// The first part in square brackets that would be joined to a word, kept or left out: "colo[u]r".
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

/// One way to say a family's question.
#[derive(Clone, Debug)]
pub struct Phrasing {
    text: String,
    cut: Cut,
    /// The same without "other", where the rule for it applies to the phrasing.
    apart: Option<Cut>,
    /// Parameters of the two objects by type, where the rule for "other" applies.
    two_objects: Option<[[u8; 2]; N_TYPES]>,
}

impl Phrasing {
    /// Cuts a template's text; an error says what is wrong with it.
    pub fn new(text: &str, params: &[Param]) -> Result<Self, String> {
        let cut = Cut::new(text, params)?;
        if let Some(word) =
            text.split(|c: char| c.is_whitespace() || matches!(c, '[' | ']')).find(|w| w.matches('<').count() > 1)
        {
            return Err(format!("two parameters in one word, \"{}\", in \"{}\"", shown(word), shown(text)));
        }
        if let Some(part) = optional_within_a_word(text) {
            return Err(format!("an optional part within a word, \"{}\", in \"{}\"", shown(part), shown(text)));
        }
        let two_objects = two_objects(params);
        let without = without_other(text);
        let apart = if two_objects.is_some() && without != text { Some(Cut::new(&without, params)?) } else { None };
        Ok(Self { text: text.to_owned(), cut, apart, two_objects })
    }

    /// The phrasing as its file has it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The question for a choice of values (None: unset), one for each parameter.
    pub fn question(
        &self,
        params: &[Param],
        values: &[Option<u8>],
        lexicon: &Lexicon,
        rng: &mut StreamRng,
        page: &mut Page,
    ) -> String {
        page.clear();
        let mut words: [Option<&Word>; crate::question::param::MAX_PARAMS] = [None; _];
        let cut = match &self.apart {
            Some(apart) if self.tells_two_objects_apart(values) => apart,
            _ => &self.cut,
        };
        let mut place = 0;
        while let Some(piece) = cut.pieces.get(place) {
            match *piece {
                Piece::Text(start, len) => {
                    let own = &cut.words.as_bytes()[usize::from(start)..];
                    // Never a space after a space or at the start, nor before a mark.
                    if is_mark(own[0]) {
                        page.drop_space();
                    }
                    let skip = usize::from(own[0] == b' ' && page.is_after_space());
                    page.push(&own[skip..], usize::from(len) - skip);
                }
                Piece::Param(p) | Piece::ParamAndSpace(p) => {
                    let p = usize::from(p);
                    let list = lexicon.words(params[p].kind, values[p]);
                    let word = match words[p] {
                        None if list.is_empty() => None,
                        None => Some(&list[rng.below(list.len() as u32) as usize]),
                        said => said,
                    };
                    words[p] = word.map(|word| push_word(page, word, list));
                    if matches!(piece, Piece::ParamAndSpace(_)) {
                        page.push_space();
                    }
                }
                Piece::Open(end) => {
                    if rng.coin() {
                        place = usize::from(end);
                    }
                }
                Piece::Close => {}
            }
            place += 1;
        }
        page.finish()
    }

    /// Every token that this phrasing can give.
    pub fn words(&self, params: &[Param], lexicon: &Lexicon) -> Vec<String> {
        let mut words = vec!["a".to_owned(), "an".to_owned()];
        if self.text.starts_with("A ") {
            words.push("An".to_owned());
        }
        for glued in self.text.replace(['[', ']'], " ").split_whitespace() {
            let mut forms = vec![glued.to_owned()];
            for param in params.iter().filter(|p| glued.contains(&p.name)) {
                let all = lexicon.all_words(param.kind);
                forms = forms.iter().flat_map(|form| all.iter().map(|w| form.replace(&param.name, w))).collect();
            }
            for form in &forms {
                words.extend(tokenize(form).into_iter().map(str::to_owned));
            }
        }
        words
    }

    /// Most tokens that this phrasing can give, when the parameters marked in `unset` never have a value.
    pub fn most_tokens(&self, params: &[Param], unset: &[bool], lexicon: &Lexicon) -> usize {
        let mut text = self.text.replace(['[', ']'], " ");
        for (param, &unset) in params.iter().zip(unset) {
            let words = if unset {
                lexicon.words(param.kind, None).iter().map(Word::as_str).collect()
            } else {
                lexicon.all_words(param.kind)
            };
            let longest = words.into_iter().max_by_key(|word| tokenize(word).len()).unwrap_or("");
            text = text.replace(&param.name, longest);
        }
        tokenize(&text).len()
    }

    /// CLEVR's rule: some attribute is given for both objects, and differently ("thing" is a shape).
    fn tells_two_objects_apart(&self, values: &[Option<u8>]) -> bool {
        self.two_objects.is_some_and(|pairs| {
            pairs.iter().enumerate().any(|(kind, [a, b])| {
                let (a, b) = (values[usize::from(*a)], values[usize::from(*b)]);
                a != b && (kind == SHAPE || (a.is_some() && b.is_some()))
            })
        })
    }
}

/// The parameters of the two objects, when a family has exactly these eight.
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
                    let name = &rest[..=end];
                    let Some(place) = params.iter().position(|p| p.name == name) else {
                        let hint = crate::message::suggestion(name, params.iter().map(|p| p.name.as_str()));
                        return Err(format!("unknown parameter \"{}\"{hint} in \"{}\"", shown(name), shown(text)));
                    };
                    flush(&mut literal, &mut pieces);
                    pieces.push(Piece::Param(place as u8));
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

/// A phrasing without the word "other", and with "a" for "another".
fn without_other(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Spaces and brackets bound words and are kept.
    for part in text.split_inclusive([' ', '[', ']']) {
        let (word, bound) = part.split_at(part.trim_end_matches([' ', '[', ']']).len());
        // A word that something else than a space or a bracket ends, a comma, is another word.
        out.push_str(match (word, bound) {
            ("other", " " | "]") => "",
            ("another", " " | "]") => "a",
            _ => word,
        });
        out.push_str(bound);
    }
    out
}

/// White space made single.
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

/// Appends a value's word, minding the article before it: "a object" is no English. Returns what was written.
#[inline]
fn push_word<'a>(page: &mut Page, mut word: &'a Word, synonyms: &'a [Word]) -> &'a Word {
    if word.starts_with_vowel && page.ends_with_article() {
        match synonyms.iter().find(|s| !s.starts_with_vowel) {
            Some(other) => word = other,
            None => page.make_article_an(),
        }
    }
    word.write(page);
    word
}

/// Marks that follow a word without a space.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'?' | b',' | b';' | b'.')
}

/// The tokens of a question as the public CLEVR models read them: split at white space, `;` and `,`
/// apart, `?` and `.` left out, case kept.
pub fn tokenize(text: &str) -> Vec<&str> {
    let mut tokens = Vec::with_capacity(24);
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find([';', ',', '?', '.']) {
            if at > 0 {
                tokens.push(&rest[..at]);
            }
            if matches!(rest.as_bytes()[at], b';' | b',') {
                tokens.push(&rest[at..=at]);
            }
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            tokens.push(rest);
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamKey;

    const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3], "orange": [1, 2, 3]},
        "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "cylinder": "y"}}"#;

    fn vocab() -> Vocabulary {
        Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap()
    }

    fn two_object_params() -> Vec<Param> {
        ["", "2"]
            .iter()
            .flat_map(|n| {
                ["Z", "C", "M", "S"].iter().enumerate().map(move |(kind, letter)| Param {
                    name: format!("<{letter}{n}>"),
                    kind: ParamKind::Attribute(kind as u8),
                })
            })
            .collect()
    }

    fn say(text: &str, values: &[Option<u8>]) -> Vec<String> {
        let synonyms = BTreeMap::from([("thing".to_owned(), vec!["thing".to_owned(), "object".to_owned()])]);
        let lexicon = Lexicon::new(&vocab(), synonyms).unwrap();
        let params = two_object_params();
        let phrasing = Phrasing::new(text, &params).unwrap();
        let mut all: Vec<String> = (0..64)
            .map(|i| {
                phrasing.question(&params, values, &lexicon, &mut StreamKey::new(&[b"say"]).at(i), &mut Page::default())
            })
            .collect();
        all.sort();
        all.dedup();
        all
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
        // A thing is a shape of its own to the rule.
        values[7] = None;
        assert_eq!(say(text, &values), ["Are there objects like a cube?", "Are there things like a cube?"]);
        // "Another" leaves an article that fits, and an optional "other" goes too.
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
        // The word that the article made it take stays a parameter's word.
        let none = [None; 8];
        let synonyms = BTreeMap::from([("thing".to_owned(), vec!["object".to_owned(), "thing".to_owned()])]);
        let lexicon = Lexicon::new(&vocab(), synonyms).unwrap();
        let params = two_object_params();
        let twice = Phrasing::new("A <Z> <C> <M> <S> is a <S>.", &params).unwrap();
        for i in 0..20 {
            let mut rng = StreamKey::new(&[b"twice"]).at(i);
            let said = twice.question(&params, &none, &lexicon, &mut rng, &mut Page::default());
            assert_eq!(said, "A thing is a thing.");
        }
        assert_eq!(say("Is there a <Z> <C> <M> <S>?", &[None; 8]), ["Is there a thing?"]);
        let mut values = [None; 8];
        (values[1], values[3]) = (Some(1), Some(0));
        assert_eq!(say("Is there a <Z> <C> <M> <S>?", &values), ["Is there an orange cube?"]);
    }

    #[test]
    fn an_article_before_a_capital_vowel_fits_too() {
        let properties = PROPERTIES.replace("orange", "Orange");
        let vocab = Vocabulary::from_properties_json(properties.as_bytes(), "p", 10).unwrap();
        let lexicon = Lexicon::new(&vocab, BTreeMap::new()).unwrap();
        let params = two_object_params();
        let phrasing = Phrasing::new("Is there a <C> <S>?", &params).unwrap();
        let mut values = [None; 8];
        (values[1], values[3]) = (Some(1), Some(0));
        let rng = &mut StreamKey::new(&[b"capital"]).at(0);
        assert_eq!(
            phrasing.question(&params, &values, &lexicon, rng, &mut Page::default()),
            "Is there an Orange cube?"
        );
    }

    #[test]
    fn tokens_are_those_of_the_public_models() {
        assert_eq!(
            tokenize("There is a cube; is it red, or not?"),
            ["There", "is", "a", "cube", ";", "is", "it", "red", ",", "or", "not"]
        );
    }

    #[test]
    fn every_word_said_is_among_the_words() {
        let lexicon = Lexicon::new(&vocab(), BTreeMap::new()).unwrap();
        let params = two_object_params();
        let phrasing = Phrasing::new("Is a <Z> <C> <M> <S>, or are <S2>s, [very] big?", &params).unwrap();
        let words = phrasing.words(&params, &lexicon);
        for i in 0..200 {
            let mut rng = StreamKey::new(&[b"words"]).at(i);
            let values: Vec<Option<u8>> = (0..8).map(|_| [None, Some(0), Some(1)][rng.below(3) as usize]).collect();
            let values: Vec<_> =
                values.into_iter().enumerate().map(|(i, v)| if i == 3 { Some(0) } else { v }).collect();
            for token in tokenize(&phrasing.question(&params, &values, &lexicon, &mut rng, &mut Page::default())) {
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

    #[test]
    fn a_word_for_two_values_is_refused() {
        let refused = |name: &str, list: &[&str]| {
            let words = BTreeMap::from([(name.to_owned(), list.iter().map(|word| (*word).to_owned()).collect())]);
            Lexicon::new(&vocab(), words).unwrap_err()
        };
        let end = "; give one of them other words";
        assert_eq!(
            refused("cylinder", &["can", "cube"]),
            format!("\"cube\" would be said of both cube and cylinder{end}")
        );
        assert_eq!(refused("thing", &["thing", "Red"]), format!("\"Red\" would be said of both red and thing{end}"));
        assert_eq!(refused("red", &["cubes"]), format!("\"cubes\" would be said of both red and cube{end}"));
        assert!(refused("red", &["x"; 1_001]).starts_with("\"red\" has 1001 words; at most 1000"));
        let twice = BTreeMap::from([("red".to_owned(), vec!["crimson".to_owned(), "crimson".to_owned()])]);
        assert!(Lexicon::new(&vocab(), twice).is_ok(), "one value may have a word twice: it is said more often");
    }
}
