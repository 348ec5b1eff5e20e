//! The phrasings of questions over several images, and what a batch of these questions says of each.

use crate::conversion;
use crate::errors::{TemplateError, VocabularyError, raise};
use crate::questions::{QuestionRows, no_column, numbers};
use crate::vocabulary::PyVocabulary;
use clevrhope_core::covr::json::SetPlace;
use clevrhope_core::covr::properties::{Question, Terms, property_names};
use clevrhope_core::covr::{PROGRAM_WIDTH, Phrasings, SetQuestion, functions};
use clevrhope_core::program::Program;
use clevrhope_core::scene::MAX_IMAGES;
use clevrhope_core::vocab::Vocabulary;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The phrasings of questions over several images.
///
/// Args:
///     content: a JSON object of templates and their phrasings.
///     vocabulary: the vocabulary of the values that questions name.
///     file: the file's name, for messages.
///
/// Raises:
///     TemplateError: the content is not such an object; names the file, the template and the phrasing.
#[pyclass(name = "Phrasings", module = "clevrhope._core", frozen)]
pub struct PyPhrasings {
    pub phrasings: Arc<Phrasings>,
    pub vocab: Arc<Vocabulary>,
}

#[pymethods]
impl PyPhrasings {
    #[new]
    #[pyo3(signature = (content, vocabulary, *, file))]
    fn new(content: &[u8], vocabulary: &PyVocabulary, file: &str) -> PyResult<Self> {
        let vocab = vocabulary.0.clone();
        let phrasings = Phrasings::read(content, file, &vocab).map_err(raise::<TemplateError>)?;
        Ok(Self { phrasings: Arc::new(phrasings), vocab })
    }

    /// Every token that can occur in a question, without the special tokens.
    #[getter]
    fn words(&self) -> Vec<String> {
        self.phrasings.words(&self.vocab)
    }

    /// Maximum number of tokens of a question, the width of its row.
    #[getter]
    fn question_width(&self) -> usize {
        self.phrasings.width()
    }

    /// Maximum number of tokens of a program, the width of its row.
    #[getter]
    fn program_width(&self) -> usize {
        PROGRAM_WIDTH
    }

    /// The functions that the questions' programs use.
    #[getter]
    fn functions(&self) -> Vec<String> {
        functions().map(|function| function.to_string()).collect()
    }

    /// A hash of the content.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.phrasings.fingerprint()
    }

    fn __repr__(&self) -> String {
        format!("<Phrasings {}>", conversion::short(self.phrasings.fingerprint()))
    }
}

/// A question in the form from which its properties are computed.
fn described(question: &SetQuestion) -> Question<'_> {
    Question { program: &question.program, template: question.meaning.template(), answer: question.answer }
}

/// Questions about sets of scenes of one pool.
pub struct SetRows {
    pub phrasings: Arc<Phrasings>,
    pub vocab: Arc<Vocabulary>,
    pub pool: Arc<str>,
    pub questions: Vec<SetQuestion>,
}

impl QuestionRows for SetRows {
    fn columns(&self) -> &'static [&'static str] {
        &[
            "answers",
            "image_idxs",
            "question_families",
            "structures",
            "sources",
            "cut",
            "pair_places",
            "properties",
            "terms",
        ]
    }

    fn column<'py>(&self, py: Python<'py>, name: &str, rows: Range<usize>) -> PyResult<Bound<'py, PyAny>> {
        let rows = &self.questions[rows];
        Ok(match name {
            "answers" => numbers(py, rows, |row| self.vocab.answer_index(row.answer).map_or(-1, i32::from)),
            "image_idxs" => {
                let mut indices = conversion::matrix_of(-1, rows.len(), MAX_IMAGES)?;
                for (question, indices) in rows.iter().zip(indices.chunks_exact_mut(MAX_IMAGES)) {
                    let own = conversion::image_idxs(question.indices().iter().copied())?;
                    indices[..own.len()].copy_from_slice(&own);
                }
                conversion::to_matrix(py, indices, MAX_IMAGES)?.into_any()
            }
            // Indices into `covr_template_names()`.
            "question_families" => numbers(py, rows, |row| row.meaning.template() as i32),
            // 0 single, 1 edge, 2 chain, 3 V.
            "structures" => numbers(py, rows, |row| row.meaning.structure() as i8),
            // The place of the source image in the set.
            "sources" => numbers(py, rows, |row| row.source as i8),
            // What changes without the last leaf; see `AuditSetFindings.cut`.
            "cut" => numbers(py, rows, |row| row.cut as i8),
            // Where the held-out values occur: 0 nowhere, 1 in the question, 2 only in distractors.
            "pair_places" => numbers(py, rows, |row| row.place as i8),
            // (N, R) for each property of `covr_property_names`, 1 if the question has it and 0 if not.
            "properties" => {
                let of = |row: &SetQuestion| described(row).properties().map(i8::from).collect();
                let properties: Vec<Vec<i8>> = py.detach(|| rows.par_iter().map(of).collect());
                conversion::to_matrix(py, properties.concat(), property_names().len())?.into_any()
            }
            // Masks with a bit for each term of `covr_term_names` that the question names or that is its answer.
            "terms" => {
                let terms = Terms::new(&self.vocab).map_err(raise::<VocabularyError>)?;
                numbers(py, rows, |row| terms.mask(&described(row)))
            }
            _ => return Err(no_column(name, self.columns())),
        })
    }

    fn text(&self, row: usize) -> Cow<'_, str> {
        self.questions[row].text(&self.phrasings).into()
    }

    fn program(&self, row: usize) -> &Program {
        &self.questions[row].program
    }

    fn write_json(&self, row: usize, split: &str, index: u64, json: &mut Vec<u8>) {
        let place = SetPlace { split, pool: &self.pool, question_index: index };
        self.questions[row].write_json(place, &self.phrasings, &self.vocab, json);
    }
}
