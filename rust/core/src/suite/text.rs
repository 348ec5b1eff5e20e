//! Checks that the texts of partners can be read back as their programs.

use super::error::SuiteError;
use super::pairs::Pair;
use super::test::Suite;
use crate::message::shown;
use crate::question::reading::QuestionReader;
use crate::question::text_buffer::TextBuffer;
use crate::question::tokens::tokenize;
use rayon::prelude::*;

impl Suite {
    /// Checks that the text of each partner, read back, has the program that gave its answer; uses all cores.
    ///
    /// # Errors
    /// Names the entry and the first text that does not.
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
