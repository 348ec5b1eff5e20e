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

/// The names of the properties that `covr_properties` returns, in the order of its columns.
#[pyfunction]
pub fn covr_property_names() -> Vec<String> {
    properties::property_names()
}

/// The names of the templates of questions over several images, by number.
#[pyfunction]
pub fn covr_template_names() -> Vec<&'static str> {
    Template::ALL.map(Template::name).into()
}

/// The names of the terms of questions, by the number of their bit: values, relations, `same_size` and so on.
///
/// Raises:
///     VocabularyError: there are more terms than a mask of 64 bits has room for.
#[pyfunction]
pub fn covr_term_names(vocabulary: &PyVocabulary) -> PyResult<Vec<String>> {
    Ok(Terms::new(&vocabulary.0).map_err(raise::<VocabularyError>)?.names())
}

/// The properties and terms of questions over several images, for splits that hold them out.
///
/// Args:
///     programs: the programs of the N questions.
///     templates: (N,) indices into `covr_template_names()`.
///     answers: (N,) indices into the vocabulary's `set_answers`.
///
/// Returns:
///     (N, R) int8, 1 if a question has a property of `covr_property_names`; and (N,) int64 masks, with a bit for
///     each term of `covr_term_names` that a question names or that is its answer.
///
/// Raises:
///     IndexError: there is no template or answer with an index.
///     ValueError: the arrays are not as long as the list of programs.
///     VocabularyError: there are more terms than a mask of 64 bits has room for.
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
