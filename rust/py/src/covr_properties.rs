//! Computes the properties and terms of questions over sets of images from their programs.

use crate::conversion;
use crate::errors::{VocabularyError, raise};
use crate::programs::PyPrograms;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::covr::Template;
use clevrhope_core::covr::properties::{self, Question, Terms};
use clevrhope_core::vocab::Answer;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use rayon::prelude::*;

/// (N, R) properties and (N,) terms.
type Described<'py> = (Bound<'py, PyArray2<i8>>, Bound<'py, PyArray1<i64>>);

/// The names of the properties that `covr_properties` gives, in the order of its columns.
#[pyfunction]
pub fn covr_property_names() -> Vec<String> {
    properties::property_names()
}

/// The names of the templates of questions over several images, by number.
#[pyfunction]
pub fn covr_template_names() -> Vec<&'static str> {
    Template::ALL.map(Template::name).into()
}

/// The names of the terms that questions can name, by number of their bit: values, relations, `same_size` and so on.
///
/// Raises:
///     VocabularyError: more terms than a mask of 64 bits has room for.
#[pyfunction]
pub fn covr_term_names(vocabulary: &PyVocabulary) -> PyResult<Vec<String>> {
    Ok(Terms::new(&vocabulary.0).map_err(raise::<VocabularyError>)?.names())
}

/// Which properties and terms questions over several images have, for splits that hold them out.
///
/// Args:
///     programs: (N,) of the questions.
///     templates: (N,) numbers of `covr_template_names`.
///     answers: (N,) numbers of the vocabulary's `set_answers`.
///
/// Returns:
///     (N, R) int8, 1 where a question has a property of `covr_property_names`; (N,) int64 masks, a bit for
///     each term of `covr_term_names` that a question names or has as its answer.
///
/// Raises:
///     IndexError: a number beyond the templates or answers.
///     ValueError: arrays that are not as long as there are programs.
///     VocabularyError: more terms than a mask of 64 bits has room for.
#[pyfunction]
pub fn covr_properties<'py>(
    py: Python<'py>,
    programs: &PyPrograms,
    templates: PyReadonlyArray1<'py, u32>,
    answers: PyReadonlyArray1<'py, u32>,
) -> PyResult<Described<'py>> {
    let vocab = &programs.vocab;
    let terms = Terms::new(vocab).map_err(raise::<VocabularyError>)?;
    let answer_of: Vec<Answer> = (0..).map_while(|number| vocab.answer(number)).collect();
    let templates = conversion::numbers(&templates, "templates", Template::ALL.len() as u64)?;
    let answers = conversion::numbers(&answers, "answers", answer_of.len() as u64)?;
    conversion::same_length(programs.programs.len(), templates.len())?;
    conversion::same_length(programs.programs.len(), answers.len())?;
    let (properties, terms): (Vec<Vec<i8>>, Vec<i64>) = py.detach(|| {
        let fields = programs.programs.par_iter().zip(&templates).zip(&answers);
        let questions = fields.map(|((program, &template), &answer)| Question {
            program,
            template: Template::ALL[template as usize],
            answer: answer_of[answer as usize],
        });
        questions.map(|question| (question.properties().map(i8::from).collect(), terms.mask(&question))).unzip()
    });
    let width = properties::property_names().len();
    Ok((conversion::to_matrix(py, properties.concat(), width)?, PyArray1::from_vec(py, terms)))
}
