//! Checks the texts and functions that an entry adds.

use super::entry::{Entry, Tier};
use crate::message::shown;
use crate::program::Function;
use crate::question::param::Param;
use crate::question::template::Family;
use serde_json::Value;

/// The placeholder for a source's noun phrases in a text.
const SUBJECT: &str = "{X}";

/// Checks the family that an entry makes: `functions` are the dataset's, and `texts` are the entry's, with noun phrases
/// filled in.
pub(super) fn check_own(
    entry: &Entry,
    family: &Family,
    texts: &[String],
    functions: &[Function],
) -> Result<(), String> {
    for (number, text) in entry.text.iter().enumerate() {
        let rest = text.replace(SUBJECT, "");
        if let Some(begin) = rest.find(['{', '}']) {
            let end = rest[begin..].find('}').map_or(rest.len(), |end| begin + end + 1);
            let name = shown(&rest[begin..end]);
            return Err(format!(
                "text[{number}]: unknown \"{name}\"; \"{SUBJECT}\" stands for the source's noun phrases"
            ));
        }
    }
    for text in texts {
        let is_unset = |param: &Param| entry.change.get(&param.name).is_some_and(Value::is_null);
        let is_named = |param: &Param| text.contains(&param.name) || param.fixed.is_some() || is_unset(param);
        if let Some(param) = family.params.iter().find(|param| !is_named(param)) {
            let (text, name) = (shown(text), &param.name);
            return Err(format!("text: \"{text}\" does not name {name}, so it does not say what its program asks"));
        }
    }
    let own = family.nodes.iter().flat_map(|node| node.kind.functions());
    match own.into_iter().find(|function| entry.tier == Tier::In && !functions.contains(function)) {
        Some(function) => Err(format!(
            "then: \"{function}\" is not a function of the dataset's questions, as a test in distribution needs"
        )),
        None => Ok(()),
    }
}
