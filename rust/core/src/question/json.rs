//! Writes questions as rows of a question file: CLEVR's published keys, and a few more.
//!
//! The additional keys are `template_filename` and `template_index` (the file of the question's family and the family's
//! position in it) and `relation_needed` (for each `relate` of the program, in order, whether the answer would differ
//! or be missing without it).

use super::instantiate::Question;
use super::template::TemplateSet;
use crate::json::quoted;
use crate::vocab::Vocabulary;
use std::io::Write;

/// The entries of a row that are not part of the question itself.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub split: &'a str,
    /// The question's number in its file.
    pub question_index: u64,
    pub image_filename: &'a str,
}

/// Appends a question as one JSON object in one line.
pub fn write_question(
    question: &Question,
    place: Place<'_>,
    templates: &TemplateSet,
    vocab: &Vocabulary,
    out: &mut Vec<u8>,
) {
    let family = &templates.families()[usize::from(question.family)];
    let needed: Vec<bool> = (0..question.n_relations).map(|i| question.relation_needed >> i & 1 == 1).collect();
    // Writing to a vector cannot fail.
    let _ = write!(
        out,
        "{{\"split\": {}, \"question_index\": {}, \"question\": {}, \"image_index\": {}, \"image_filename\": {}, \
         \"answer\": {}, \"question_family_index\": {}, \"template_filename\": {}, \"template_index\": {}, \
         \"relation_needed\": {needed:?}, \"program\": ",
        quoted(place.split),
        place.question_index,
        quoted(&question.text),
        question.scene,
        quoted(place.image_filename),
        quoted(&vocab.answer_text(question.answer)),
        family.index,
        quoted(&format!("{}.json", family.file)),
        family.index_in_file,
    );
    question.program.write_json(vocab, out);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Program;
    use crate::program::samples::vocabulary;
    use crate::vocab::Answer;
    use serde_json::{Value, json};

    const PROGRAM: &str = r#"[{"inputs": [], "function": "scene", "value_inputs": []},
        {"inputs": [0], "function": "filter_color", "value_inputs": ["red"]},
        {"inputs": [1], "function": "count", "value_inputs": []}]"#;
    const TEMPLATE: &str = r#"[{"text": ["How many <C> things are there?"], "nodes": [{"type": "scene", "inputs": []},
        {"type": "filter_color", "inputs": [0], "side_inputs": ["<C>"]}, {"type": "count", "inputs": [1]}],
        "params": [{"type": "Color", "name": "<C>"}]}]"#;

    #[test]
    fn a_row_reads_back_as_it_was() {
        let vocab = vocabulary();
        let files = ["a", "b"].map(|name| (name.to_owned(), TEMPLATE.as_bytes().to_vec()));
        let templates = TemplateSet::from_files(&vocab, &files, &[], ("s", b"{}")).unwrap();
        let question = Question {
            scene: 12,
            family: 1,
            answer: Answer::Integer(3),
            text: "How many \"red\" things are there?".to_owned(),
            program: Program::from_json(PROGRAM.as_bytes(), &vocab, "program").unwrap(),
            relation_needed: 0b01,
            n_relations: 2,
        };
        let place = Place { split: "train", question_index: 7, image_filename: "HOPE_train_000012.png" };
        let mut row = Vec::new();
        write_question(&question, place, &templates, &vocab, &mut row);
        let expected = json!({
            "split": "train", "question_index": 7, "question": question.text, "image_index": 12,
            "image_filename": "HOPE_train_000012.png", "answer": "3", "question_family_index": 1,
            "template_filename": "b.json", "template_index": 0, "relation_needed": [true, false],
            "program": serde_json::from_str::<Value>(PROGRAM).unwrap(),
        });
        assert_eq!(serde_json::from_slice::<Value>(&row).unwrap(), expected);
        assert!(!row.contains(&b'\n'));
    }
}
