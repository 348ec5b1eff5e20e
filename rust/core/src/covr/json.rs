//! Writes questions over several images as entries of a question file.

use super::pairs::SetQuestion;
use super::phrasing::Phrasings;
use crate::json::quoted;
use crate::scene::image_filename;
use crate::vocab::Vocabulary;
use std::io::Write;

/// The fields of an entry other than the question itself.
#[derive(Clone, Copy, Debug)]
pub struct SetPlace<'a> {
    pub split: &'a str,
    pub pool: &'a str,
    /// The question's number in its file.
    pub question_index: u64,
}

impl SetQuestion {
    /// The scenes' indices in their pool.
    pub fn indices(&self) -> &[u64] {
        &self.scenes[..usize::from(self.n_images)]
    }

    /// The question in English.
    pub fn text(&self, phrasings: &Phrasings) -> String {
        let mut text = String::with_capacity(128);
        phrasings.write(&self.meaning, usize::from(self.phrasing), &mut text);
        text
    }

    /// Appends the question as a JSON object on one line; the program is COVR's list of nodes.
    pub fn write_json(&self, place: SetPlace<'_>, phrasings: &Phrasings, vocab: &Vocabulary, out: &mut Vec<u8>) {
        let names: Vec<String> = self.indices().iter().map(|&index| image_filename(place.pool, index)).collect();
        // Writing to a vector cannot fail, and COVR has all functions of these programs.
        let _ = write!(
            out,
            "{{\"split\": {}, \"question_index\": {}, \"question\": {}, \"image_indices\": {:?}, \
             \"image_filenames\": {:?}, \"source\": {}, \"answer\": {}, \"template\": {}, \"structure\": {}, \
             \"phrasing\": {}, \"program\": ",
            quoted(place.split),
            place.question_index,
            quoted(&self.text(phrasings)),
            self.indices(),
            names,
            self.source,
            quoted(&vocab.answer_text(self.answer)),
            quoted(self.meaning.template().name()),
            quoted(self.meaning.structure().name()),
            self.phrasing,
        );
        let _ = self.program.write_covr_json(vocab, out);
        out.push(b'}');
    }
}
