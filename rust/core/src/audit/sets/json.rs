//! Rows of a question file about sets of images, and the tokens that its arrays must hold for them.

use super::findings::MOST_IMAGES;
use super::program_json::{Node, tokens};
use crate::audit::error::FileError;
use crate::audit::parse::Names;
use crate::audit::token::split_text;
use crate::message::json_cause;
use serde::Deserialize;

const START: i32 = 1;
const END: i32 = 2;

/// A row as numbers; -1 for what has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRow {
    /// `<START>`, tokens, `<END>`.
    pub question: Vec<i32>,
    pub program: Vec<i32>,
    pub answer: i32,
    /// Padded with -1; one that does not fit is cut off, and then `n_images` says so.
    pub images: [i64; MOST_IMAGES],
    pub n_images: usize,
    pub filenames: Vec<String>,
    pub source: i64,
    /// The numbers of its template and form among their names.
    pub template: i64,
    pub structure: i64,
    pub phrasing: i64,
    /// 0 if the row names the split that it is in.
    pub split: i64,
    pub index: i64,
}

/// What the numbers of a row stand for.
#[derive(Clone, Debug)]
pub struct Labels {
    pub split: String,
    pub templates: Vec<String>,
    pub structures: Vec<String>,
}

#[derive(Deserialize)]
struct Row {
    split: String,
    question_index: i64,
    question: String,
    image_indices: Vec<i64>,
    image_filenames: Vec<String>,
    source: i64,
    answer: String,
    template: String,
    structure: String,
    phrasing: i64,
    program: Vec<Node>,
}

impl SetRow {
    /// One row, a JSON object; `row` is its number in messages.
    ///
    /// # Errors
    /// A row that is not a question; says which.
    pub fn read(json: &[u8], row: usize, names: &Names, labels: &Labels) -> Result<Self, FileError> {
        let wrong = |problem: String| FileError { place: format!("row {row}"), problem };
        let raw: Row = serde_json::from_slice(json).map_err(|error| wrong(json_cause(&error)))?;
        let words = split_text(&raw.question).map(|word| names.token(word).unwrap_or(-1));
        let steps = tokens(&raw.program, names).map_err(wrong)?;
        let mut images = [-1; MOST_IMAGES];
        images.iter_mut().zip(&raw.image_indices).for_each(|(to, &index)| *to = index);
        let number = |name: &String, all: &[String]| all.iter().position(|each| each == name).map_or(-1, |i| i as i64);
        Ok(Self {
            question: std::iter::once(START).chain(words).chain([END]).collect(),
            program: std::iter::once(START).chain(steps).chain([END]).collect(),
            answer: names.answer(&raw.answer).unwrap_or(-1),
            images,
            n_images: raw.image_indices.len(),
            filenames: raw.image_filenames,
            source: raw.source,
            template: number(&raw.template, &labels.templates),
            structure: number(&raw.structure, &labels.structures),
            phrasing: raw.phrasing,
            split: number(&raw.split, std::slice::from_ref(&labels.split)),
            index: raw.question_index,
        })
    }
}
