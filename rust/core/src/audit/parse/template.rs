//! Question families as the audit reads them from template files: all variants of their texts, with gaps for
//! parameters, and their programs in prefix order, with gaps for the functions of parameters.
//!
//! This is the audit's own reading of CLEVR's template format. It keeps only what matters for the meaning of texts: the
//! words, which parameters must or must not have a value, and the order of functions.

use super::names::{Names, RELATION};
use crate::audit::error::FileError;
use crate::audit::token::split_text;
use crate::message::{json_cause, shown};
use serde::Deserialize;

/// Maximum number of parameters of a family.
pub const MOST_PARAMS: usize = 64;
/// Maximum number of optional parts of a phrasing: each doubles the number of variants.
const MOST_OPTIONS: usize = 8;
/// Maximum number of words and gaps of a phrasing, through which texts are followed by recursion.
const MOST_PARTS: usize = 1_000;
/// Maximum number of nodes of a family.
const MOST_NODES: usize = 256;
/// Maximum number of functions of a program.
const MOST_STEPS: usize = 1_000;
/// CLEVR's names for the parameters of two objects, to which the rule for "other" applies.
const TWO_OBJECTS: [(&str, &str); 4] = [("<Z>", "<Z2>"), ("<C>", "<C2>"), ("<M>", "<M2>"), ("<S>", "<S2>")];

/// The values that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// A value, or none.
    Any,
    /// A value: it is the argument of a function.
    Value,
    /// None: a constraint forbids a value.
    Nothing,
}

impl Allowed {
    pub fn allows(self, value: Option<i32>) -> bool {
        match self {
            Self::Any => true,
            Self::Value => value.is_some(),
            Self::Nothing => value.is_none(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    /// `size`, `color` and so on, `relation` or `number`.
    pub kind: String,
    /// Whether its values are called by their names only, without synonyms.
    pub by_name: bool,
    pub allowed: Allowed,
}

/// Part of a program in prefix order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A function's number.
    Function(i32),
    /// The function that stands for a parameter's value; nothing if it has none.
    Param(u8),
    /// Another function of a parameter's value: its number for each number of the function that stands for a value.
    Applied(u8, Vec<(i32, i32)>),
}

/// A word of a phrasing, or a parameter with the text around it up to spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Word(String),
    Param { param: u8, before: String, after: String },
}

/// What a variant implies about the two objects of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Other {
    /// Anything.
    Any,
    /// "Other" is kept: the objects do not differ otherwise.
    Kept,
    /// "Other" is left out: the objects differ in some value.
    LeftOut,
}

/// One text of a family's question, with optional parts decided.
#[derive(Clone, Debug)]
pub struct Variant {
    pub parts: Vec<Part>,
    pub other: Other,
}

/// One question family.
#[derive(Clone, Debug)]
pub struct Family {
    pub params: Vec<Param>,
    pub program: Vec<Step>,
    pub variants: Vec<Variant>,
    /// The parameters of the two objects by type, if the rule for "other" applies.
    pub two_objects: Option<[(u8, u8); 4]>,
    /// The numbers of the answers that its last function can give.
    pub answers: Vec<i32>,
}

#[derive(Deserialize)]
struct RawFamily {
    text: Vec<String>,
    nodes: Vec<RawNode>,
    params: Vec<RawParam>,
    #[serde(default)]
    constraints: Vec<RawConstraint>,
}

#[derive(Deserialize)]
struct RawNode {
    #[serde(rename = "type")]
    kind: String,
    inputs: Vec<usize>,
    #[serde(default)]
    side_inputs: Vec<String>,
}

#[derive(Deserialize)]
struct RawParam {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    #[serde(default)]
    words: Option<String>,
    /// The only value, which texts do not name.
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize)]
struct RawConstraint {
    #[serde(rename = "type")]
    kind: String,
    params: Vec<serde_json::Value>,
}

/// The families of a template file, in order.
pub fn read_file(file: &str, bytes: &[u8], names: &Names) -> Result<Vec<Family>, FileError> {
    let raw: Vec<RawFamily> = serde_json::from_slice(bytes).map_err(|error| FileError {
        place: file.to_owned(),
        problem: format!("not a list of templates ({})", json_cause(&error)),
    })?;
    raw.into_iter()
        .enumerate()
        .map(|(i, family)| {
            let wrong = |problem| FileError { place: format!("{file}[{i}]"), problem };
            family.read(names).map_err(wrong)
        })
        .collect()
}

impl RawFamily {
    fn read(&self, names: &Names) -> Result<Family, String> {
        if self.params.len() > MOST_PARAMS {
            return Err(format!("{} parameters; at most {MOST_PARAMS} are read", self.params.len()));
        }
        if self.nodes.len() > MOST_NODES {
            return Err(format!("{} nodes; at most {MOST_NODES} are read", self.nodes.len()));
        }
        let params = self.params();
        let last = self.nodes.len().checked_sub(1).ok_or("no nodes")?;
        let mut program = Vec::new();
        self.write(last, names, &mut 0, &mut program)?;
        let two_objects = two_objects(&params);
        let mut variants = Vec::new();
        for text in &self.text {
            let segments = cut(text, &params)?;
            let n_parts: usize = segments.iter().map(|(parts, _)| parts.len()).sum();
            if n_parts > MOST_PARTS {
                return Err(format!("a phrasing of {n_parts} words; at most {MOST_PARTS} are read"));
            }
            let without = if two_objects.is_some() { without_other(&segments) } else { segments.clone() };
            let both: &[(&Segments, Other)] = if without == segments {
                &[(&segments, Other::Any)]
            } else {
                &[(&segments, Other::Kept), (&without, Other::LeftOut)]
            };
            for (segments, other) in both {
                variants.extend(decide(segments)?.into_iter().map(|parts| Variant { parts, other: *other }));
            }
        }
        Ok(Family {
            answers: names.answers_of(last_function(&self.nodes[last].kind)),
            params,
            program,
            variants,
            two_objects,
        })
    }

    fn params(&self) -> Vec<Param> {
        let is_null = |name: &str| {
            self.constraints.iter().any(|c| c.kind == "NULL" && c.params.iter().any(|p| p.as_str() == Some(name)))
        };
        let is_bound = |name: &str| {
            let user = self.nodes.iter().find(|node| node.side_inputs.iter().any(|side| side == name));
            user.is_some_and(|node| macro_tail(&node.kind).is_none())
        };
        let read = |raw: &RawParam| {
            let kind = raw.kind.to_lowercase();
            let allowed = match () {
                () if is_null(&raw.name) => Allowed::Nothing,
                () if kind == RELATION || is_bound(&raw.name) => Allowed::Value,
                () => Allowed::Any,
            };
            Param { name: raw.name.clone(), kind, by_name: raw.words.as_deref() == Some("name"), allowed }
        };
        self.params.iter().map(read).collect()
    }

    /// Appends the program of a node and its inputs.
    fn write(&self, at: usize, names: &Names, written: &mut usize, program: &mut Vec<Step>) -> Result<(), String> {
        let node = &self.nodes[at];
        // Nodes are counted as well: a macro without parameters adds nothing to the program.
        *written += 1;
        if *written > MOST_STEPS || program.len() > MOST_STEPS {
            return Err("a program of too many functions".into());
        }
        let mut filters = Vec::new();
        let mut relation = None;
        for side in &node.side_inputs {
            let place = self.params.iter().position(|param| param.name == *side);
            let place = place.ok_or_else(|| format!("node {at} takes {}, which is not a parameter", shown(side)))?;
            if let Some(value) = &self.params[place].value {
                let kind = self.params[place].kind.to_lowercase();
                filters.push(Step::Function(names.function(&format!("filter_{kind}[{value}]"))));
            } else if applies(&node.kind) {
                filters.push(Step::Applied(place as u8, applied(&node.kind, &self.params[place].kind, names)));
            } else if self.params[place].kind.eq_ignore_ascii_case(RELATION) {
                relation = Some(Step::Param(place as u8));
            } else {
                filters.push(Step::Param(place as u8));
            }
        }
        match macro_tail(&node.kind) {
            Some(tail) => program.extend(tail.map(|name| Step::Function(names.function(name)))),
            None if node.side_inputs.is_empty() => program.push(Step::Function(names.function(&node.kind))),
            None => {}
        }
        // In prefix order the function that is applied last comes first.
        program.extend(filters.into_iter().rev());
        program.extend(relation);
        for &input in &node.inputs {
            if input >= at {
                return Err(format!("node {at} takes node {input}, which is not an earlier node"));
            }
            self.write(input, names, written, program)?;
        }
        Ok(())
    }
}

/// The function after the filters of a macro, if it has one; None for a node that is not a macro.
fn macro_tail(kind: &str) -> Option<Option<&str>> {
    let rest = kind.strip_prefix("relate_").unwrap_or(kind).strip_prefix("filter")?;
    match rest {
        "" => Some(None),
        "_unique" | "_count" | "_exist" => Some(Some(&rest[1..])),
        _ => None,
    }
}

/// Whether a node with parameters is a function other than those that stand for values: `verify_color` of a color.
fn applies(kind: &str) -> bool {
    macro_tail(kind).is_none() && kind != "relate" && !kind.starts_with("filter_")
}

/// For each function that stands for a value of a parameter, the function `kind` of that value.
fn applied(kind: &str, param: &str, names: &Names) -> Vec<(i32, i32)> {
    let values = names.values(&param.to_lowercase()).unwrap_or(&[]);
    values.iter().map(|(value, number)| (*number, names.function(&format!("{kind}[{value}]")))).collect()
}

/// The function that gives a family's answer: that of a macro, or the node's own.
fn last_function(kind: &str) -> &str {
    macro_tail(kind).flatten().unwrap_or(kind)
}

fn two_objects(params: &[Param]) -> Option<[(u8, u8); 4]> {
    let place = |name: &str| params.iter().position(|param| param.name == name).map(|place| place as u8);
    let mut pairs = [(0, 0); 4];
    for (pair, (first, second)) in pairs.iter_mut().zip(TWO_OBJECTS) {
        *pair = (place(first)?, place(second)?);
    }
    (params.len() == 2 * TWO_OBJECTS.len()).then_some(pairs)
}

/// The segments of a phrasing, and whether each is optional.
type Segments = Vec<(Vec<Part>, bool)>;

/// Cuts a phrasing at its brackets, and the segments into parts.
fn cut(text: &str, params: &[Param]) -> Result<Segments, String> {
    let parts = |text| split_text(text).map(|word| part(word, params)).collect::<Result<Vec<_>, _>>();
    let mut segments = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').ok_or_else(|| format!("\"[\" without \"]\" in \"{}\"", shown(text)))? + open;
        segments.push((parts(&rest[..open])?, false));
        segments.push((parts(&rest[open + 1..close])?, true));
        rest = &rest[close + 1..];
    }
    segments.push((parts(rest)?, false));
    Ok(segments)
}

fn part(word: &str, params: &[Param]) -> Result<Part, String> {
    let Some(begin) = word.find('<') else { return Ok(Part::Word(word.to_owned())) };
    let end = word[begin..].find('>').ok_or_else(|| format!("\"<\" without \">\" in \"{}\"", shown(word)))? + begin + 1;
    let (before, name, after) = (&word[..begin], &word[begin..end], &word[end..]);
    if after.contains('<') {
        return Err(format!("two parameters in one word, \"{}\"", shown(word)));
    }
    let param = params.iter().position(|param| param.name == name);
    let param = param.ok_or_else(|| format!("unknown parameter \"{}\"", shown(name)))? as u8;
    Ok(Part::Param { param, before: before.to_owned(), after: after.to_owned() })
}

/// The segments without the word "other", and with "a" for "another".
fn without_other(segments: &Segments) -> Segments {
    let change = |part: &Part| match part {
        Part::Word(word) if word == "other" => None,
        Part::Word(word) if word == "another" => Some(Part::Word("a".to_owned())),
        part => Some(part.clone()),
    };
    segments.iter().map(|(parts, optional)| (parts.iter().filter_map(change).collect(), *optional)).collect()
}

/// All variants of a phrasing, with and without each optional segment.
fn decide(segments: &Segments) -> Result<Vec<Vec<Part>>, String> {
    let options = segments.iter().filter(|(_, optional)| *optional).count();
    if options > MOST_OPTIONS {
        return Err(format!("{options} optional parts in a phrasing; at most {MOST_OPTIONS} are read"));
    }
    let mut variants = vec![Vec::new()];
    for (parts, optional) in segments {
        let without = if *optional { variants.clone() } else { Vec::new() };
        variants.iter_mut().for_each(|variant| variant.extend(parts.iter().cloned()));
        variants = [without, variants].concat();
    }
    Ok(variants)
}

#[cfg(test)]
mod tests {
    use super::super::names::SHAPE;
    use super::*;

    fn params() -> Vec<Param> {
        let param =
            |name: &str| Param { name: name.to_owned(), kind: SHAPE.to_owned(), by_name: false, allowed: Allowed::Any };
        vec![param("<S>"), param("<S2>")]
    }

    fn variants_of(text: &str) -> Vec<String> {
        let params = params();
        let show = |part: &Part| match part {
            Part::Word(word) => word.clone(),
            Part::Param { param, before, after } => format!("{before}<{param}>{after}"),
        };
        let ways = decide(&cut(text, &params).unwrap()).unwrap();
        ways.iter().map(|way| way.iter().map(show).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_phrasing_is_cut_into_words_marks_and_gaps() {
        assert_eq!(
            variants_of("There is a <S>; are <S2>s, too, [either] big?"),
            ["There is a <0> ; are <1>s , too , big", "There is a <0> ; are <1>s , too , either big"]
        );
    }

    #[test]
    fn other_and_another_are_words_of_their_own() {
        let cut = |text| cut(text, &params()).unwrap();
        assert_eq!(without_other(&cut("Is another <S> like [other] others?")), cut("Is a <S> like [] others?"));
    }

    #[test]
    fn macros_end_in_what_they_do() {
        assert_eq!(macro_tail("filter"), Some(None));
        assert_eq!(macro_tail("relate_filter_exist"), Some(Some("exist")));
        assert_eq!(macro_tail("filter_size"), None);
        assert_eq!(macro_tail("relate"), None);
        assert_eq!(last_function("filter_count"), "count");
        assert_eq!(last_function("query_size"), "query_size");
        assert!(["verify_size", "offer_shape", "count_is", "verify_relation"].into_iter().all(applies));
        assert!(!["filter", "filter_size", "relate", "relate_filter_unique"].into_iter().any(applies));
    }

    #[test]
    fn faults_are_named() {
        for text in ["a [b", "a <S", "<S><S2>", "<Q>"] {
            assert!(cut(text, &params()).is_err(), "{text}");
        }
    }
}
