//! Checks of the texts and functions that an entry brings along, and of what its partners say.

use super::entry::{Entry, Tier};
use super::error::SuiteError;
use super::pairs::Pair;
use super::test::Suite;
use crate::message::shown;
use crate::program::Function;
use crate::question::reading::QuestionReader;
use crate::question::template::Family;
use crate::question::text_buffer::TextBuffer;
use crate::question::tokens::tokenize;
use rayon::prelude::*;

/// What stands for a source's noun phrases in a text.
const SUBJECT: &str = "{X}";

/// Checks the family that an entry makes: `functions` are those of the dataset, and `texts` the entry's with a noun
/// phrase each.
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
        if let Some(param) = family.params.iter().find(|param| !text.contains(&param.name)) {
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

impl Suite {
    /// Checks that the words of each partner, read again, mean the program that gave its answer; uses all cores.
    ///
    /// # Errors
    /// Names the entry and the first text that they do not.
    pub fn check_texts(&self, pairs: &[Pair]) -> Result<(), SuiteError> {
        let reader = QuestionReader::new(&self.templates);
        let check = |buffer: &mut TextBuffer, pair: &Pair| {
            let number = usize::from(pair.family);
            let Some(family) = self.templates.families().get(number) else { return Ok(()) };
            let readings = reader.read(number, &tokenize(&pair.text), buffer);
            if readings.iter().any(|reading| family.program(&reading.values).0 == pair.program) {
                return Ok(());
            }
            let file = family.file.rsplit('/').next().unwrap_or(&family.file);
            let problem = format!("text: \"{}\" cannot be read back as the question that it asks", shown(&pair.text));
            Err(SuiteError::entry(&format!("{file}.json[{}]", family.index_in_file), problem))
        };
        pairs.par_iter().map_init(TextBuffer::default, check).collect()
    }
}
