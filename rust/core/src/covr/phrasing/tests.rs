//! Tests of texts: their wording, agreement and tokens.

use super::samples::Sampler;
use super::variant::keys;
use super::*;
use crate::covr::{
    Ask, Bound, Condition, Connective, Counted, Object, Quantifier, Relation, Structure, Subgraph, Template,
};
use crate::question::tokens::tokenize;
use crate::vocab::Vocabulary;
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

pub(super) const FILE: &str = include_str!("../../../../../question_templates/covr.json");
const GOLDEN: &str = include_str!("../../../tests/golden/covr_texts.txt");

/// A world in which some names start with a vowel.
pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let properties = r#"{"sizes": {"small": 0.35, "large": 0.7}, "colors": {"red": [1, 2, 3], "orange": [1, 2, 3]},
        "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "sphere": "s", "ellipsoid": "e"}}"#;
    Vocabulary::from_properties_json(properties.as_bytes(), "properties.json", 5).unwrap()
});

static PHRASINGS: LazyLock<Phrasings> =
    LazyLock::new(|| Phrasings::read(FILE.as_bytes(), "covr.json", &VOCABULARY).unwrap());

const LEFT: Relation = Relation::Spatial(0);
const BEHIND: Relation = Relation::Spatial(2);
const SAME_COLOR: Relation = Relation::Same(1);
const CUBE: Object = Object { shape: Some(0), attribute: None };
const ORANGE_CUBE: Object = Object { shape: Some(0), attribute: Some((1, 1)) };
const SPHERE: Object = Object { shape: Some(1), attribute: None };
const ELLIPSOID: Object = Object { shape: Some(2), attribute: None };

fn graph(structure: Structure, objects: [Object; 3], relations: [Relation; 2]) -> Subgraph {
    Subgraph { structure, objects, relations }
}

fn edge(root: Object, relation: Relation, second: Object) -> Subgraph {
    graph(Structure::Edge, [root, second, Object::default()], [relation, LEFT])
}

fn write(meaning: &Meaning, phrasing: usize) -> String {
    let mut text = String::new();
    PHRASINGS.write(meaning, phrasing, &mut text);
    text
}

/// The plural noun phrase of a subgraph, taken from the text of a question that counts its objects.
fn plural(g: Subgraph) -> String {
    let text = write(&Ask::Count { counted: Counted::Objects }.of(g), 0);
    let phrase = text.strip_prefix("How many ").unwrap().strip_suffix(" are there across the images?");
    phrase.unwrap().to_owned()
}

/// The singular noun phrase of a subgraph, with its article.
fn singular(g: Subgraph) -> String {
    let text = write(&Ask::Count { counted: Counted::Images }.of(g), 0);
    text.strip_prefix("How many images contain ").unwrap().strip_suffix('?').unwrap().to_owned()
}

/// The keys of all variants of a template, in order, joined by dots.
fn variant_names(template: Template) -> Vec<String> {
    keys(template).iter().fold(vec![template.name().to_owned()], |names, keys| {
        names.iter().flat_map(|name| keys.iter().map(move |key| format!("{name}.{key}"))).collect()
    })
}

/// Each phrasing of each variant, about subgraphs of the four structures in turn.
fn texts_to_read() -> String {
    let mut out = String::new();
    let mut sampler = Sampler::new(&VOCABULARY, 0);
    for template in Template::ALL {
        for (number, name) in variant_names(template).iter().enumerate() {
            writeln!(out, "{name}").unwrap();
            for phrasing in 0..PHRASINGS.sentences[template as usize][number].len() {
                let structure = Structure::ALL[(phrasing + number) % 4];
                let mut meanings = std::iter::repeat_with(|| sampler.meaning_of(template, structure));
                let meaning = meanings.find(|meaning| variant::number(&meaning.ask) == number).unwrap();
                writeln!(out, "  {}", write(&meaning, phrasing)).unwrap();
            }
        }
    }
    out
}

#[test]
fn texts_are_as_they_were_when_they_were_read_aloud() {
    assert_eq!(texts_to_read(), GOLDEN);
}

#[test]
fn noun_phrases_name_objects_and_their_relations() {
    assert_eq!(plural(edge(CUBE, LEFT, SPHERE)), "cubes that are left of a sphere");
    assert_eq!(singular(edge(CUBE, SAME_COLOR, SPHERE)), "a cube that has the same color as a sphere");
    assert_eq!(plural(edge(CUBE, SAME_COLOR, SPHERE)), "cubes that have the same color as a sphere");
    let objects = [Object { attribute: Some((0, 0)), ..Object::default() }, SPHERE, CUBE];
    let chain = graph(Structure::Chain, objects, [Relation::Spatial(3), Relation::Spatial(1)]);
    assert_eq!(singular(chain), "a small thing that is in front of a sphere that is right of a cube");
    assert_eq!(plural(chain), "small things that are in front of a sphere that is right of a cube");
}

#[test]
fn two_relations_of_an_object_share_a_verb_if_both_are_spatial() {
    let objects = [CUBE, SPHERE, ELLIPSOID];
    let v = |relations| graph(Structure::V, objects, relations);
    assert_eq!(singular(v([LEFT, BEHIND])), "a cube that is both left of a sphere and behind an ellipsoid");
    assert_eq!(plural(v([LEFT, BEHIND])), "cubes that are both left of a sphere and behind an ellipsoid");
    assert_eq!(
        singular(v([LEFT, SAME_COLOR])),
        "a cube that both is left of a sphere and has the same color as an ellipsoid"
    );
    assert_eq!(
        plural(v([SAME_COLOR, LEFT])),
        "cubes that both have the same color as a sphere and are left of an ellipsoid"
    );
}

#[test]
fn what_is_described_as_the_first_object_is_another() {
    assert_eq!(singular(edge(ORANGE_CUBE, LEFT, ORANGE_CUBE)), "an orange cube that is left of another orange cube");
    assert_eq!(singular(edge(ORANGE_CUBE, LEFT, CUBE)), "an orange cube that is left of a cube");
    let chain = graph(Structure::Chain, [CUBE, SPHERE, CUBE], [LEFT, LEFT]);
    assert_eq!(singular(chain), "a cube that is left of a sphere that is left of a cube");
    let chain = graph(Structure::Chain, [CUBE, SPHERE, SPHERE], [LEFT, LEFT]);
    assert_eq!(singular(chain), "a cube that is left of a sphere that is left of another sphere");
    let condition = Condition::Related(LEFT, CUBE, Some((BEHIND, CUBE)));
    let meaning = Ask::VerifyQuantifier { quantifier: Quantifier::All, condition }.of(Subgraph::single(CUBE));
    let wanted = "Is it true that all cubes in the images are left of another cube that is behind another cube?";
    assert_eq!(write(&meaning, 0), wanted);
}

#[test]
fn words_agree_with_the_number() {
    let g = Subgraph::single(CUBE);
    let count = |counted, bound, number| write(&Ask::VerifyCount { counted, bound, number }.of(g), 0);
    assert_eq!(count(Counted::Objects, Bound::Exactly, 1), "Is there exactly 1 cube across the images?");
    assert_eq!(count(Counted::Objects, Bound::AtLeast, 2), "Are there at least 2 cubes across the images?");
    assert_eq!(count(Counted::Objects, Bound::AtMost, 0), "Are there at most 0 cubes across the images?");
    assert_eq!(count(Counted::Images, Bound::AtMost, 1), "Does at most 1 image contain a cube?");
    assert_eq!(count(Counted::Images, Bound::Exactly, 3), "Do exactly 3 images contain a cube?");
}

#[test]
fn images_without_any_object_are_not_among_those_with_at_most_so_many() {
    let count = |of_image| write(&Ask::CountGroupBy { of_image }.of(edge(CUBE, LEFT, SPHERE)), 0);
    let texts = [(Bound::AtMost, 3), (Bound::AtMost, 2), (Bound::AtMost, 1), (Bound::AtLeast, 1), (Bound::Exactly, 2)]
        .map(count);
    assert_eq!(
        texts,
        [
            "How many images contain between 1 and 3 cubes that are left of a sphere?",
            "How many images contain 1 or 2 cubes that are left of a sphere?",
            "How many images contain exactly 1 cube that is left of a sphere?",
            "How many images contain at least 1 cube that is left of a sphere?",
            "How many images contain exactly 2 cubes that are left of a sphere?",
        ]
    );
}

#[test]
fn articles_and_values_fit_their_words() {
    let g = Subgraph::single(Object { shape: None, attribute: Some((1, 1)) });
    let choice = |kind, values| write(&Ask::ChooseAttr { kind, values }.of(g), 1);
    assert_eq!(choice(3, [0, 2]), "One of the images shows an orange thing; is it a cube or an ellipsoid?");
    assert_eq!(choice(0, [1, 0]), "One of the images shows an orange thing; is it large or small?");
    let (quantifier, condition) = (Quantifier::All, Condition::Value(3, 2));
    let all = Ask::VerifyQuantifier { quantifier, condition }.of(g);
    assert_eq!(write(&all, 0), "In these images, are all orange things ellipsoids?");
    assert_eq!(write(&all, 2), "Across the images, is every orange thing an ellipsoid?");
    let (g2, connective) = (Subgraph::single(CUBE), Connective::And);
    let text = write(&Ask::VerifyLogic { g2, connective }.of(g), 3);
    assert!(text.starts_with("An orange thing appears in "), "{text}");
}

#[test]
fn the_object_asked_for_has_the_converse_relation() {
    let query = |relation, phrasing| write(&Ask::QueryObject { relation }.of(Subgraph::single(CUBE)), phrasing);
    assert_eq!(query(LEFT, 1), "What shape is the only thing that is right of the cube in the images?");
    assert_eq!(
        query(BEHIND, 2),
        "One of the images shows a cube; what is the shape of the thing that is in front of it?"
    );
    assert_eq!(
        query(SAME_COLOR, 1),
        "What shape is the only other thing that has the same color as the cube in the images?"
    );
    let choice = Ask::ChooseRelation { object: SPHERE, relation: 3 }.of(Subgraph::single(CUBE));
    assert_eq!(write(&choice, 0), "Is the only cube in the images in front of the sphere in its image, or behind it?");
}

#[test]
fn each_variant_has_at_least_five_phrasings() {
    assert!(PHRASINGS.sentences.iter().flatten().all(|sentences| sentences.len() >= 5));
}

/// The tokens of random questions, by whether the phrasing is the last of its variant.
fn tokens_by_phrasing() -> [BTreeSet<String>; 2] {
    let mut sampler = Sampler::new(&VOCABULARY, 1);
    let mut tokens = [BTreeSet::new(), BTreeSet::new()];
    let mut text = String::new();
    for _ in 0..20_000 {
        let meaning = sampler.meaning();
        let n = PHRASINGS.n(&meaning);
        for phrasing in 0..n {
            text.clear();
            PHRASINGS.write(&meaning, phrasing, &mut text);
            let of_phrasing = &mut tokens[usize::from(phrasing + 1 == n)];
            for token in tokenize(&text) {
                if !of_phrasing.contains(token) {
                    of_phrasing.insert(token.to_owned());
                }
            }
        }
    }
    tokens
}

#[test]
fn words_are_those_of_texts_and_the_last_phrasings_have_none_of_their_own() {
    let [of_others, of_last] = tokens_by_phrasing();
    assert_eq!(of_others.iter().cloned().collect::<Vec<_>>(), PHRASINGS.words(&VOCABULARY));
    assert_eq!(of_last.difference(&of_others).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn a_question_has_as_many_tokens_as_the_width() {
    let object = |kind, value| Object { shape: Some(0), attribute: Some((kind, value)) };
    let objects = [object(0, 0), object(0, 1), object(1, 0)];
    let g = graph(Structure::V, objects, [Relation::Same(1), Relation::Same(2)]);
    let meaning = Ask::VerifySameAttr { g2: g, kind: 0 }.of(g);
    let lengths = (0..PHRASINGS.n(&meaning)).map(|phrasing| tokenize(&write(&meaning, phrasing)).len());
    assert_eq!(lengths.max().unwrap() + 2, PHRASINGS.width());
}

proptest! {
    #[test]
    fn tokens_are_known_and_fit_the_width(seed in any::<u64>()) {
        let words = PHRASINGS.words(&VOCABULARY);
        let meaning = Sampler::new(&VOCABULARY, seed).meaning();
        for phrasing in 0..PHRASINGS.n(&meaning) {
            let text = write(&meaning, phrasing);
            let tokens = tokenize(&text);
            prop_assert!(tokens.len() + 2 <= PHRASINGS.width(), "{}", text);
            let unknown = tokens.iter().find(|token| words.binary_search_by(|word| word.as_str().cmp(token)).is_err());
            prop_assert_eq!(unknown, None);
        }
    }
}

/// A normal form that is equal for equivalent questions: between one and at most one object is exactly one.
fn normalized(mut meaning: Meaning) -> Meaning {
    if let Ask::CountGroupBy { of_image } | Ask::VerifyCountGroupBy { of_image, .. } = &mut meaning.ask
        && *of_image == (Bound::AtMost, 1)
    {
        *of_image = (Bound::Exactly, 1);
    }
    meaning
}

#[test]
fn questions_with_the_same_text_mean_the_same() {
    let most = PHRASINGS.sentences.iter().flatten().map(Vec::len).max().unwrap();
    for phrasing in 0..most {
        let mut sampler = Sampler::new(&VOCABULARY, 2 + phrasing as u64);
        let mut meanings: FxHashMap<String, Meaning> = FxHashMap::default();
        let mut n_again = 0;
        for _ in 0..200_000 {
            let meaning = normalized(sampler.meaning());
            if phrasing >= PHRASINGS.n(&meaning) {
                continue;
            }
            let text = write(&meaning, phrasing);
            match meanings.get(&text) {
                Some(first) => {
                    assert_eq!(*first, meaning, "{text}");
                    n_again += 1;
                }
                None => {
                    meanings.insert(text, meaning);
                }
            }
        }
        assert!(n_again > 1_000, "{n_again}");
    }
}

#[test]
fn the_fingerprint_is_of_the_files_content() {
    let other = FILE.replacen("Is the only <A>", "Is the one <A>", 1);
    assert_ne!(other, FILE);
    let read = |file: &str| Phrasings::read(file.as_bytes(), "covr.json", &VOCABULARY).unwrap();
    assert_ne!(read(&other).fingerprint(), PHRASINGS.fingerprint());
    assert_eq!(read(FILE).fingerprint(), PHRASINGS.fingerprint());
}
