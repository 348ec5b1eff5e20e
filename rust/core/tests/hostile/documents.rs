//! Damages a valid JSON document: its structure, its text or both.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// Damage to a document: changes of its values, one after another, and then of its bytes.
#[derive(Clone, Debug)]
pub struct Damage {
    values: Vec<(Index, Change)>,
    bytes: Vec<(Index, Edit)>,
}

#[derive(Clone, Debug)]
enum Change {
    Replace(usize),
    /// Replaces the value by another part of the document.
    Copy(Index),
    Remove,
    /// Repeats a list's entry this many more times.
    Repeat(usize),
    Rename(usize),
}

#[derive(Clone, Debug)]
enum Edit {
    CutOff,
    Byte(u8),
    Insert(usize),
    /// Repeats this many bytes, which may include keys.
    Twice(usize),
}

/// Values on which readers may stumble; number 0 is long.
fn odd_values() -> Vec<Value> {
    let deep = (0..100).fold(json!(0), |inner, _| json!([inner]));
    vec![
        json!("x".repeat(100_000)),
        Value::Null,
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(255),
        json!(65_536),
        json!(4_294_967_296_u64),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.5),
        json!(1e308),
        json!(-1e308),
        json!(1e30),
        json!(5e-324),
        json!(""),
        json!(" "),
        json!("\u{0}\u{1b}[31m\n\u{202e}"),
        json!("<Z>"),
        json!("<"),
        json!("]["),
        json!("relate[left]"),
        json!("red"),
        json!([]),
        json!({}),
        json!([[]]),
        json!([0, 0, 0]),
        json!([1e308, -1e308, 1e308]),
        json!({"": {"": {}}}),
        json!(vec![0; 5_000]),
        json!(vec!["x"; 300]),
        deep,
    ]
}

const ODD_TEXTS: [&str; 12] =
    ["e999", "999999999999999999999999999999", "NaN", "-", "null", "{", "[[[[[[", "]", ",", "\"", "\\ud800", "\u{7f}"];

/// Damage to up to three values and two places of the text; the result is often still JSON.
pub fn damage() -> impl Strategy<Value = Damage> {
    let n = odd_values().len();
    let change = prop_oneof![
        6 => (0..n).prop_map(Change::Replace),
        2 => any::<Index>().prop_map(Change::Copy),
        2 => Just(Change::Remove),
        1 => (1usize..40).prop_map(Change::Repeat),
        1 => (0..n).prop_map(Change::Rename),
    ];
    let edit = prop_oneof![
        1 => Just(Edit::CutOff),
        1 => any::<u8>().prop_map(Edit::Byte),
        2 => (0..ODD_TEXTS.len()).prop_map(Edit::Insert),
        1 => (1usize..60).prop_map(Edit::Twice),
    ];
    let values = prop::collection::vec((any::<Index>(), change), 1..4);
    let bytes = prop_oneof![4 => Just(Vec::new()), 1 => prop::collection::vec((any::<Index>(), edit), 1..3)];
    (values, bytes).prop_map(|(values, bytes)| Damage { values, bytes })
}

impl Damage {
    /// The bytes of the damaged document.
    pub fn of(&self, document: &Value) -> Vec<u8> {
        let mut document = document.clone();
        for (place, change) in &self.values {
            let mut pointers = Vec::new();
            pointers_of(&document, String::new(), &mut pointers);
            let pointer = place.get(&pointers).clone();
            apply(&mut document, &pointer, change, &pointers);
        }
        let mut bytes = document.to_string().into_bytes();
        for (place, edit) in &self.bytes {
            let at = place.index(bytes.len().max(1)).min(bytes.len());
            match edit {
                Edit::CutOff => bytes.truncate(at),
                Edit::Byte(byte) => bytes.splice(at..(at + 1).min(bytes.len()), [*byte]).for_each(drop),
                Edit::Insert(text) => bytes.splice(at..at, ODD_TEXTS[*text].bytes()).for_each(drop),
                Edit::Twice(n) => {
                    let again = bytes[at..(at + n).min(bytes.len())].to_vec();
                    bytes.splice(at..at, again).for_each(drop);
                }
            }
        }
        bytes
    }
}

/// JSON pointers of all values, the document's own first.
fn pointers_of(value: &Value, here: String, pointers: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| pointers_of(item, format!("{here}/{i}"), pointers));
        }
        Value::Object(entries) => entries.iter().for_each(|(key, item)| {
            pointers_of(item, format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), pointers);
        }),
        _ => (),
    }
    pointers.push(here);
}

fn apply(document: &mut Value, pointer: &str, change: &Change, pointers: &[String]) {
    let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", ""));
    let key = last.replace("~1", "/").replace("~0", "~");
    let copied = match change {
        Change::Copy(from) => document.pointer(from.get(pointers).as_str()).cloned(),
        Change::Replace(number) => Some(odd_values().swap_remove(*number)),
        _ => None,
    };
    if let Some(value) = copied {
        if let Some(place) = document.pointer_mut(pointer) {
            *place = value;
        }
        return;
    }
    match (document.pointer_mut(parent), change) {
        (Some(Value::Array(items)), _) => {
            let Some(at) = key.parse().ok().filter(|&at: &usize| at < items.len()) else { return };
            match change {
                Change::Repeat(n) => {
                    let item = items[at].clone();
                    items.splice(at..at, std::iter::repeat_n(item, *n)).for_each(drop);
                }
                _ => drop(items.remove(at)),
            }
        }
        (Some(Value::Object(entries)), Change::Rename(number)) => {
            let name = odd_values().swap_remove(*number);
            if let Some(value) = entries.shift_remove(&key) {
                entries.insert(name.as_str().unwrap_or("unnamed").to_owned(), value);
            }
        }
        (Some(Value::Object(entries)), _) => drop(entries.shift_remove(&key)),
        _ => (),
    }
}
