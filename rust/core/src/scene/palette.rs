//! Palettes: the combinations of attribute values that a pool's objects can have.
//!
//! A palette is a list of rows, each a list of combinations of values of some types. An object's values are drawn in
//! two steps, first a row and then one of its combinations, each uniform. Types that the palette does not limit are
//! uniform too, and the number of objects is drawn independently. With one row, all combinations are equally likely
//! (controlled diversity); CoGenT's files have a row for each shape, so that shapes are equally likely, as the original
//! generator draws them (Johnson et al. 2017, section 4.7).

use super::SceneError;
use crate::json::read_unique;
use crate::message::shown;
use crate::rng::StreamRng;
use crate::vocab::{N_TYPES, TYPE_NAMES, Vocabulary, type_names};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A value for each of a palette's types; 0 for the others.
type Combination = [u8; N_TYPES];

/// The combinations of values that objects can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Part of the names of its pools.
    name: String,
    /// The types whose values it limits, ascending.
    kinds: Vec<usize>,
    /// Sorted, so that files with the same content give the same scenes.
    rows: Vec<Vec<Combination>>,
}

impl Palette {
    /// A palette of combinations of values of `kinds`, all equally likely; `name` is for pools and messages.
    ///
    /// # Errors
    /// `Invalid` if there are no combinations.
    pub fn of_combinations(name: &str, kinds: &[usize], combinations: Vec<Combination>) -> Result<Self, SceneError> {
        Self::checked(name, name, kinds.to_vec(), vec![combinations])
    }

    /// Reads a palette; `file` names it in messages.
    ///
    /// The file is either an object that maps a value to the values of another type that go with it, as in CoGenT's
    /// files (`{"cube": ["gray", "blue"], ...}`), with a row for each entry; or `{"types": [...], "rows": [[[value,
    /// ...], ...], ...]}`.
    ///
    /// # Errors
    /// `Invalid` for unknown names, combinations of different types, or nothing allowed, with the place in the file.
    pub fn from_json(vocab: &Vocabulary, name: &str, bytes: &[u8], file: &str) -> Result<Self, SceneError> {
        let root = read_unique(bytes, file).map_err(SceneError::Json)?;
        let fault = |place: &str, problem: String| fault(file, place, problem);
        let entries = root.as_object().ok_or_else(|| {
            fault(
                "top level",
                "expected an object, such as {\"cube\": [\"red\"]}: value -> values that go with it".into(),
            )
        })?;
        let rows = match (entries.get("types"), entries.get("rows")) {
            (Some(_), Some(rows)) => rows_of(vocab, file, rows)?,
            _ => entries
                .iter()
                .map(|(value, partners)| {
                    Ok((format!("\"{}\"", shown(value)), partners_of(vocab, file, value, partners)?))
                })
                .collect::<Result<Vec<_>, SceneError>>()?,
        };
        let mut kinds: Vec<usize> = Vec::new();
        let mut numbered: Vec<Vec<Combination>> = Vec::new();
        let mut before: BTreeSet<Combination> = BTreeSet::new();
        for (place, row) in rows {
            let fault = |problem: String| Err(fault(&place, problem));
            if row.is_empty() {
                return fault("nothing goes with it; leave it out, or list values of another type".into());
            }
            let mut combinations = Vec::with_capacity(row.len());
            for values in row {
                if values.is_empty() {
                    return fault("a combination of no values; expected a value of each type".into());
                }
                let names: Vec<&str> = values.iter().map(|(k, v)| vocab.value_name(*k, *v)).collect();
                let mut these: Vec<usize> = values.iter().map(|(kind, _)| *kind).collect();
                these.sort_unstable();
                if let Some(pair) = these.windows(2).find(|pair| pair[0] == pair[1]) {
                    return fault(format!("{} are of one type, {}", shown(&names.join(" and ")), TYPE_NAMES[pair[0]]));
                }
                if kinds.is_empty() {
                    kinds.clone_from(&these);
                } else if kinds != these {
                    let (here, others) = (type_names(&these), type_names(&kinds));
                    return fault(format!("combinations of {here}, but others are of {others}"));
                }
                let mut combination = [0; N_TYPES];
                values.iter().for_each(|&(kind, value)| combination[kind] = value as u8);
                if !before.insert(combination) {
                    return fault(format!("{} appears twice", names.join(" ")));
                }
                combinations.push(combination);
            }
            numbered.push(combinations);
        }
        if let Some(types) = entries.get("types") {
            let mut kind_names: Vec<Option<&str>> = kinds.iter().map(|&kind| Some(TYPE_NAMES[kind])).collect();
            let mut entry_names: Vec<Option<&str>> =
                types.as_array().into_iter().flatten().map(Value::as_str).collect();
            kind_names.sort_unstable();
            entry_names.sort_unstable();
            if kind_names != entry_names {
                let problem =
                    format!("{}, but the combinations are of {}", shown(&types.to_string()), type_names(&kinds));
                return Err(fault("types", problem));
            }
        }
        Self::checked(name, file, kinds, numbered)
    }

    fn checked(name: &str, file: &str, kinds: Vec<usize>, mut rows: Vec<Vec<Combination>>) -> Result<Self, SceneError> {
        if rows.iter().all(Vec::is_empty) {
            return Err(fault(file, "palette", "allows no combination of values, so no object could be drawn".into()));
        }
        rows.iter_mut().for_each(|row| row.sort_unstable());
        rows.sort_unstable();
        Ok(Self { name: name.to_owned(), kinds, rows })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The types whose values it limits, ascending.
    pub fn kinds(&self) -> &[usize] {
        &self.kinds
    }

    /// All combinations allowed: values of `kinds`, 0 for the other types.
    pub fn combinations(&self) -> impl Iterator<Item = Combination> {
        self.rows.iter().flatten().copied()
    }

    /// Whether an object may have these values.
    pub fn allows(&self, values: [u8; N_TYPES]) -> bool {
        let own = self.own(values);
        self.rows.iter().any(|row| row.contains(&own))
    }

    /// Draws an object's values.
    pub fn draw(&self, vocab: &Vocabulary, rng: &mut StreamRng) -> [u8; N_TYPES] {
        let row = &self.rows[rng.below(self.rows.len() as u32) as usize];
        let combination = row[rng.below(row.len() as u32) as usize];
        std::array::from_fn(|kind| {
            let is_limited = self.kinds.contains(&kind);
            if is_limited { combination[kind] } else { rng.below(vocab.n_values(kind) as u32) as u8 }
        })
    }

    /// The palette by names, in the form with types and rows: fingerprints are made of it, and `from_json` reads it.
    pub fn to_json(&self, vocab: &Vocabulary) -> Value {
        let types: Vec<&str> = self.kinds.iter().map(|&kind| TYPE_NAMES[kind]).collect();
        let named = |combination: &Combination| -> Vec<&str> {
            self.kinds.iter().map(|&kind| vocab.value_name(kind, usize::from(combination[kind]))).collect()
        };
        let rows: Vec<Vec<Vec<&str>>> = self.rows.iter().map(|row| row.iter().map(named).collect()).collect();
        json!({"types": types, "rows": rows})
    }

    /// The values of the palette's own types; 0 for the others.
    fn own(&self, values: [u8; N_TYPES]) -> Combination {
        std::array::from_fn(|kind| if self.kinds.contains(&kind) { values[kind] } else { 0 })
    }
}

/// Values of some types, by number.
type Values = Vec<(usize, usize)>;

/// The combinations of a value with each of its partners, as CoGenT's files list them.
fn partners_of(vocab: &Vocabulary, file: &str, value: &str, partners: &Value) -> Result<Vec<Values>, SceneError> {
    let place = format!("\"{}\"", shown(value));
    let expected = || {
        fault(file, &place, format!("expected a list of values that go with it, got {}", shown(&partners.to_string())))
    };
    let number = |name: &str| vocab.find_value(name).map_err(|error| fault(file, &place, error.to_string()));
    let first = number(value)?;
    let list = partners.as_array().ok_or_else(expected)?;
    list.iter().map(|partner| Ok(vec![first, number(partner.as_str().ok_or_else(expected)?)?])).collect()
}

/// The rows of the form with types and rows, each with its place in the file.
fn rows_of(vocab: &Vocabulary, file: &str, rows: &Value) -> Result<Vec<(String, Vec<Values>)>, SceneError> {
    let expected = |place: &str| fault(file, place, "expected a list of lists of values".into());
    let mut found = Vec::new();
    for (i, row) in rows.as_array().ok_or_else(|| expected("rows"))?.iter().enumerate() {
        let place = format!("rows[{i}]");
        let mut combinations = Vec::new();
        for names in row.as_array().ok_or_else(|| expected(&place))? {
            let names = names.as_array().ok_or_else(|| expected(&place))?;
            let value = |name: &Value| {
                let name = name.as_str().ok_or_else(|| expected(&place))?;
                vocab.find_value(name).map_err(|error| fault(file, &place, error.to_string()))
            };
            combinations.push(names.iter().map(value).collect::<Result<Values, _>>()?);
        }
        found.push((place, combinations));
    }
    Ok(found)
}

fn fault(file: &str, place: &str, problem: String) -> SceneError {
    SceneError::Invalid { file: file.to_owned(), place: place.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamKey;

    const PROPERTIES: &str = r#"{"sizes": {"small": 0.35, "large": 0.7},
        "colors": {"red": [1, 2, 3], "blue": [1, 2, 4], "cyan": [1, 2, 5]},
        "materials": {"rubber": "r", "metal": "m"}, "shapes": {"cube": "c", "sphere": "s", "cylinder": "y"}}"#;
    const COGENT: &str = r#"{"cylinder": ["cyan"], "cube": ["red", "blue"], "sphere": ["red", "blue", "cyan"]}"#;

    fn vocab() -> Vocabulary {
        Vocabulary::from_properties_json(PROPERTIES.as_bytes(), "p", 10).unwrap()
    }

    fn read(text: &str) -> Result<Palette, SceneError> {
        Palette::from_json(&vocab(), "A", text.as_bytes(), "A.json")
    }

    #[test]
    fn both_forms_say_the_same_in_any_order() {
        let palette = read(COGENT).unwrap();
        assert_eq!((palette.kinds(), palette.combinations().count()), ([1, 3].as_slice(), 6));
        assert_eq!(read(&palette.to_json(&vocab()).to_string()).unwrap(), palette);
        let turned = r#"{"sphere": ["cyan", "blue", "red"], "cube": ["blue", "red"], "cylinder": ["cyan"]}"#;
        assert_eq!(read(turned).unwrap(), palette);
        assert!(palette.allows([1, 2, 0, 2]) && !palette.allows([1, 1, 0, 2]));
    }

    #[test]
    fn rows_are_equally_likely_then_their_combinations_and_all_else() {
        let (palette, vocab) = (read(COGENT).unwrap(), vocab());
        let mut rng = StreamKey::new(&[b"palette"]).at(0);
        let n = 72_000;
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..n {
            *counts.entry(palette.draw(&vocab, &mut rng)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6 * 4, "every allowed combination with each of the others, and no other");
        let share = |[_, color, _, shape]: [u8; 4]| {
            f64::from(n) / 3.0 / [2.0, 3.0, 1.0][usize::from(shape)] / 4.0
                * f64::from(u8::from(palette.allows([0, color, 0, shape])))
        };
        let chi2: f64 = counts.iter().map(|(&v, &c)| (f64::from(c) - share(v)).powi(2) / share(v)).sum();
        assert!(chi2 < 49.7, "{chi2}"); // 0.1% point of chi-square with 23 degrees of freedom
    }

    #[test]
    fn faults_name_their_place_and_value() {
        let cases = [
            ("[]", "A.json: top level: expected an object"),
            ("{}", "A.json: palette: allows no combination of values"),
            (r#"{"cube": []}"#, "A.json: \"cube\": nothing goes with it"),
            (r#"{"cubes": ["red"]}"#, "A.json: \"cubes\": unknown attribute value \"cubes\" (did you mean \"cube\"?)"),
            (r#"{"cube": ["rde"]}"#, "A.json: \"cube\": unknown attribute value \"rde\" (did you mean \"red\"?)"),
            (r#"{"cube": "red"}"#, "A.json: \"cube\": expected a list of values that go with it, got \"red\""),
            (r#"{"cube": ["sphere"]}"#, "A.json: \"cube\": cube and sphere are of one type, shape"),
            (r#"{"cube": ["red", "red"]}"#, "A.json: \"cube\": cube red appears twice"),
            (r#"{"cube": ["red"], "large": ["red"]}"#, "A.json: \"large\": combinations of size and color"),
            (r#"{"types": ["color"], "rows": [[["red"]], 3]}"#, "A.json: rows[1]: expected a list of lists"),
            (r#"{"cube": ["red"}"#, "A.json:1:"),
        ];
        for (text, message) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
