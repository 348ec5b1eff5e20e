//! Token rows and scenes in, what the audit's parser reads in their words out, as columns.

use crate::audit::PyAuditScenes;
use crate::errors::TemplateError;
use crate::vocabulary::PyVocabulary;
use clevrhope_core::audit::{
    Agreement, AuditError, Names, ProgramReader, QuestionColumns, Rows, TextParser, WindowSearch, check_balance,
    parse_rows,
};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Flags of what was found out, and digests of the words.
type Columns<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u64>>);

/// Reads texts backwards through a folder of templates.
#[pyclass(name = "TextReader", module = "clevrhope._core", frozen)]
pub struct PyTextReader {
    parser: TextParser,
    programs: ProgramReader,
    functions: Vec<String>,
}

#[pymethods]
impl PyTextReader {
    #[new]
    #[pyo3(signature = (vocabulary, *, question_tokens, program_tokens, answers, templates, synonyms))]
    fn new(
        vocabulary: &PyVocabulary,
        question_tokens: Vec<String>,
        program_tokens: Vec<String>,
        answers: Vec<String>,
        templates: Vec<(String, Vec<u8>)>,
        synonyms: &[u8],
    ) -> PyResult<Self> {
        let names = Names::new(&question_tokens, &program_tokens, &answers);
        let parser = TextParser::new(&names, &templates, synonyms);
        let parser = parser.map_err(|error| TemplateError::new_err(error.to_string()))?;
        let programs = ProgramReader::new(&vocabulary.0, &program_tokens, &answers, &[]);
        let programs = programs.map_err(|error: AuditError| PyValueError::new_err(error.to_string()))?;
        Ok(Self { parser, programs, functions: program_tokens })
    }

    #[getter]
    fn answers_by_family(&self) -> Vec<Vec<i32>> {
        (0..self.parser.n_families()).map(|family| self.parser.answers(family).to_vec()).collect()
    }

    fn readings(&self, text: Vec<i32>) -> Vec<(u16, Vec<String>)> {
        let name = |&number: &i32| usize::try_from(number).ok().and_then(|i| self.functions.get(i)).cloned();
        let readings = self.parser.read(&text).into_iter();
        readings.map(|reading| (reading.family, reading.program.iter().filter_map(name).collect())).collect()
    }

    #[expect(clippy::too_many_arguments)]
    fn read<'py>(
        &self,
        py: Python<'py>,
        questions: PyReadonlyArray2<'py, i32>,
        programs: PyReadonlyArray2<'py, i32>,
        families: PyReadonlyArray1<'py, i32>,
        answers: PyReadonlyArray1<'py, i32>,
        scenes: &PyAuditScenes,
        scene_idxs: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Columns<'py>> {
        let lengths = [questions.shape()[0], programs.shape()[0], families.len(), answers.len()];
        if lengths.iter().any(|&n| n != lengths[0]) || scene_idxs.len() != lengths[0] {
            return Err(PyValueError::new_err(format!("columns of different lengths, {lengths:?}")));
        }
        let (families, answers) = (families.as_slice()?, answers.as_slice()?);
        let rows = Rows {
            questions: questions.as_slice()?,
            question_width: questions.shape()[1],
            programs: programs.as_slice()?,
            program_width: programs.shape()[1],
            scenes: scene_idxs.as_slice()?,
        };
        let view = |scene: usize| scenes.scenes.view(scene);
        let parsed = py.detach(|| parse_rows(&self.parser, &self.programs, rows, families, answers, view));
        Ok((
            PyArray1::from_iter(py, parsed.iter().map(|(agreement, _)| flags(*agreement))),
            PyArray1::from_iter(py, parsed.iter().map(|(_, digest)| *digest)),
        ))
    }
}

/// Whether a split's windows can have been balanced: how many there are, or the first row against the rule.
#[pyfunction]
#[pyo3(signature = (families, answers, images, answers_by_family, *, window, unseen))]
pub fn find_windows(
    py: Python<'_>,
    families: PyReadonlyArray1<'_, i32>,
    answers: PyReadonlyArray1<'_, i32>,
    images: PyReadonlyArray1<'_, i32>,
    answers_by_family: Vec<Vec<i32>>,
    window: usize,
    unseen: usize,
) -> PyResult<(Option<usize>, Option<usize>)> {
    let columns =
        QuestionColumns { families: families.as_slice()?, answers: answers.as_slice()?, images: images.as_slice()? };
    Ok(match py.detach(|| check_balance(columns, &answers_by_family, window.max(1), unseen)) {
        WindowSearch::Found(n) => (Some(n), None),
        WindowSearch::Refused(row) => (None, Some(row)),
    })
}

/// A bit for each thing found out, in the order in which `Agreement` has them.
fn flags(found: Agreement) -> u8 {
    let bits = [
        found.is_unread,
        found.is_other_program,
        found.is_other_family,
        found.is_other_answer,
        found.has_several,
        found.is_ambiguous,
    ];
    bits.into_iter().enumerate().fold(0, |all, (i, bit)| all | u8::from(bit) << i)
}
