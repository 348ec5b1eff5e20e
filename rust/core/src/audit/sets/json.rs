//! Reads the rows of a question file about sets of images, and computes the tokens that the arrays must have for them.

use super::program_json::{Node, tokens};
use crate::audit::error::FileError;
use crate::audit::parse::Names;
use crate::audit::program::MOST_IMAGES;
use crate::audit::token::split_text;
use crate::message::json_cause;
use serde::Deserialize;

const START: i32 = 1;
const END: i32 = 2;

/// A row as numbers; -1 for entries that have no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRow {
    /// `<START>`, tokens, `<END>`.
    pub question: Vec<i32>,
    pub program: Vec<i32>,
    pub answer: i32,
    /// Padded with -1; images beyond the maximum are cut off, but `n_images` counts them.
    pub images: [i64; MOST_IMAGES],
    pub n_images: usize,
    pub filenames: Vec<String>,
    pub source: i64,
    /// The numbers of its template and form in the lists of their names.
    pub template: i64,
    pub structure: i64,
    pub phrasing: i64,
    /// 0 if the row names its own split, otherwise -1.
    pub split: i64,
    pub index: i64,
}

/// The names for which the numbers of a row stand.
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
    /// Reads one row, a JSON object; `row` is its number in messages.
    ///
    /// # Errors
    /// The row is not a question; names the row.
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
