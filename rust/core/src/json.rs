//! A JSON reader that refuses objects with duplicate keys, of which serde_json would keep the last.

use crate::message::{json_message, shown};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// Reads JSON; `file` names it in messages.
///
/// # Errors
/// A sentence with file, line and column, for broken JSON or an object with a duplicate key.
pub fn read_unique(bytes: &[u8], file: &str) -> Result<Value, String> {
    serde_json::from_slice(bytes).map(|Unique(value)| value).map_err(|error| json_message(file, &error))
}

/// A string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A value whose objects have no duplicate keys.
struct Unique(Value);

struct UniqueVisitor;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Unique, E> {
        Ok(Unique(truth.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Unique, E> {
        Ok(Unique(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Unique, E> {
        Ok(Unique(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Unique, E> {
        Ok(Unique(number.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Unique, E> {
        Ok(Unique(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Unique(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = items.next_key::<String>()? {
            if entries.contains_key(&key) {
                return Err(de::Error::custom(format!("\"{}\" appears twice in one object", shown(&key))));
            }
            let Unique(value) = items.next_value()?;
            entries.insert(key, value);
        }
        Ok(Unique(entries.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_serde_json_reads_it() {
        let text = r#" {"b": [1, -2, 2.5, 1e3, 18446744073709551615, null, true, "\u00e4"], "a": {"b": {}, "c": []}} "#;
        assert_eq!(read_unique(text.as_bytes(), "f").unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_key_that_is_there_twice_is_named() {
        let error = read_unique(br#"{"a": {"red": 1, "blue": 2, "red": 3}}"#, "f.json").unwrap_err();
        assert_eq!(error, "f.json:1:33: \"red\" appears twice in one object");
        assert!(read_unique(br#"{"a": {"b": 1}, "c": {"b": 1}}"#, "f.json").is_ok());
    }

    #[test]
    fn nesting_without_end_is_an_error() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(read_unique(deep.as_bytes(), "f.json").unwrap_err(), "f.json:1:128: recursion limit exceeded");
    }
}
