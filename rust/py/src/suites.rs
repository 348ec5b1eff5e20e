//! Handles of a suite of paired tests, and of the pairs that it makes from a split's questions.

use crate::choice::Choice;
use crate::conversion::{self, Values};
use crate::errors::{SplitError, TemplateError, raise, to_python};
use crate::programs::PyProgramTokens;
use crate::questions::{Images, PyQuestionBatch};
use crate::scenes::PySceneGraphs;
use crate::templates::PyTemplates;
use clevrhope_core::message::shown;
use clevrhope_core::question::search::QuestionRule;
use clevrhope_core::rng::StreamKey;
use clevrhope_core::scene::Palette;
use clevrhope_core::suite::{
    FileQuestions, OriginalReader, OriginalRows, Pair, PairMaker, Pairs, Relation, SearchResult, Skip, Stop, Suite,
    Tier,
};
use clevrhope_core::vocab::Vocabulary;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A suite of paired tests, prepared for a set of templates.
///
/// Args:
///     name: the suite's name.
///     files: the files of its entries, as (name without folder or suffix, content).
///     subjects: the noun phrases that replace {X} in texts, by source family, such as "one_hop 3".
///     templates: the dataset's templates.
///     template_files: the files of these templates, as (name without folder or suffix, content).
///
/// Raises:
///     TemplateError: an entry does not fit the templates; names the file, the entry and the place in it.
#[pyclass(name = "Suite", module = "clevrhope._core", frozen)]
pub struct PySuite {
    suite: Arc<Suite>,
    base: PyTemplates,
}

#[pymethods]
impl PySuite {
    #[new]
    #[pyo3(signature = (name, *, files, subjects, templates, template_files))]
    fn new(
        name: &str,
        files: Vec<(String, Vec<u8>)>,
        subjects: BTreeMap<String, Vec<String>>,
        templates: &PyTemplates,
        template_files: Vec<(String, Vec<u8>)>,
    ) -> PyResult<Self> {
        let suite = Suite::new(name, &files, &subjects, &templates.templates, &template_files, &templates.vocab);
        Ok(Self { suite: Arc::new(suite.map_err(raise::<TemplateError>)?), base: templates.clone() })
    }

    /// Name, tier ("in" or "beyond" the dataset's words and functions) and type of each test.
    #[getter]
    fn tests(&self) -> Vec<(&str, &str, &str)> {
        let tier = |tier: Tier| match tier {
            Tier::In => "in",
            Tier::Beyond => "beyond",
        };
        self.suite.tests.iter().map(|test| (test.name.as_str(), tier(test.tier), test.kind.as_str())).collect()
    }

    /// For each test, the name of the test that it is a control of; "" if it is not a control.
    #[getter]
    fn controls(&self) -> Vec<&str> {
        self.suite.tests.iter().map(|test| test.control_of.as_deref().unwrap_or("")).collect()
    }

    /// The dataset's templates, followed by the families that the suite's entries make of them.
    #[getter]
    fn templates(&self) -> PyTemplates {
        PyTemplates { vocab: self.base.vocab.clone(), templates: self.suite.templates.clone() }
    }

    /// Makes the pairs of the N questions in a split's file. Uses all cores.
    ///
    /// Args:
    ///     questions: (N, Q) question tokens.
    ///     programs: (N, P) program tokens.
    ///     families: (N,) global indices of the questions' families.
    ///     answers: (N,) answers, as indices into `answer_names`.
    ///     image_idxs: (N,) indices of the questions' scenes in their pool.
    ///     scenes: the scenes that the questions are about.
    ///     scene_rows: (N,) for each question, the index of its scene in `scenes`.
    ///     words: the question tokens by number.
    ///     tokens: the program tokens by number.
    ///     answer_names: the answers by number.
    ///     seed: the dataset's seed.
    ///     hop: the sub-dataset, a part of the key of the draws.
    ///     split: the split of the questions, also a part of that key.
    ///     pool: the pool of their scenes.
    ///     held_out: the held-out values, if any.
    ///     palette: the combinations of values in the pool, as JSON; None if all can occur.
    ///     rule: whether partners may mention the held-out values: "any", "without", "unimplied" or "with".
    ///     per_cell: the number of pairs wanted in each cell of a test; originals are searched for to reach it.
    ///     search: whether originals of the dataset's families are searched for as well, not only of the suite's own.
    ///     every: for a train set, the number of questions (1 or more) after which a question of the suite follows;
    ///         tests take turns, and pairs are in the order of these blocks. None makes all pairs.
    ///
    /// Raises:
    ///     TemplateError: a question was not made from these templates, an entry's relation does not hold, or a
    ///         partner's words do not mean its program.
    ///     ValueError: arrays have different lengths.
    ///     IndexError: there is no scene with an index in `scene_rows`.
    #[allow(clippy::too_many_arguments)] // The columns of a file, their vocabularies, and what determines the draws.
    #[pyo3(signature = (questions, programs, families, answers, image_idxs, scenes, scene_rows, *, words, tokens,
        answer_names, seed, hop, split, pool, held_out, palette, rule, per_cell, search, every=None))]
    fn pairs(
        &self,
        py: Python<'_>,
        questions: PyReadonlyArray2<'_, i32>,
        programs: PyReadonlyArray2<'_, i32>,
        families: PyReadonlyArray1<'_, i32>,
        answers: PyReadonlyArray1<'_, i32>,
        image_idxs: PyReadonlyArray1<'_, i32>,
        scenes: &PySceneGraphs,
        scene_rows: PyReadonlyArray1<'_, i64>,
        words: Vec<String>,
        tokens: &PyProgramTokens,
        answer_names: Vec<String>,
        seed: u64,
        hop: &str,
        split: &str,
        pool: &str,
        held_out: Option<Values>,
        palette: Option<&[u8]>,
        rule: Choice<QuestionRule>,
        per_cell: u32,
        search: bool,
        every: Option<NonZeroUsize>,
    ) -> PyResult<PyPairs> {
        let vocab = &self.base.vocab;
        conversion::same_vocabulary(vocab, &scenes.0.vocab)?;
        let ((questions, question_width), (programs, program_width)) =
            (conversion::rows(&questions)?, conversion::rows(&programs)?);
        let (families, answers, images) = (families.as_slice()?, answers.as_slice()?, image_idxs.as_slice()?);
        let n = families.len();
        for length in [questions.len() / question_width, programs.len() / program_width, answers.len(), images.len()] {
            conversion::same_length(n, length)?;
        }
        let scene_rows = scene_rows.as_slice()?;
        conversion::same_length(n, scene_rows.len())?;
        let views = scene_rows.iter().map(|&row| scenes.get(usize::try_from(row).unwrap_or(usize::MAX)));
        let views = views.map(|graph| graph.map(|graph| graph.view())).collect::<PyResult<Vec<_>>>()?;
        let holdout = held_out.map(|values| conversion::holdout(vocab, &values)).transpose()?;
        let palette =
            palette.map(|json| Palette::from_json(vocab, pool, json, "palette")).transpose().map_err(to_python)?;
        let holdout = match (holdout, palette) {
            (Some(holdout), Some(palette)) => Some(holdout.within(vocab, &palette).map_err(raise::<SplitError>)?),
            (holdout, _) => holdout,
        };
        let rows = OriginalRows { questions, question_width, programs, program_width, families, answers };
        let reader = OriginalReader::new(&self.base.templates, vocab, &tokens.tokens, &words, &answer_names);
        let originals = py.detach(|| reader.read_rows(rows)).map_err(raise::<TemplateError>)?;
        py.check_signals()?;
        let originals: Vec<_> = originals.into_iter().zip(views).collect();
        let seed = seed.to_le_bytes();
        let key = [b"suite", self.suite.name.as_bytes(), &seed, hop.as_bytes(), split.as_bytes()];
        let maker = PairMaker::new(&self.suite, vocab, rule.0, holdout.as_ref(), StreamKey::new(&key));
        let file = FileQuestions { originals: &originals, images };
        let check = || Python::attach(|py| py.check_signals());
        let (made, questions) = py
            .detach(|| match every {
                Some(every) => maker.added_pairs(file, every.get(), check),
                None => maker.file_pairs(file, per_cell, search, check),
            })
            .map_err(|stop| match stop {
                Stop::Fault(fault) => raise::<TemplateError>(fault),
                Stop::Stopped(error) => error,
            })?;
        let (vocab, templates) = (vocab.clone(), self.suite.templates.clone());
        let batch = PyQuestionBatch::of_images(vocab.clone(), templates, Images::OfPool(pool.into()), questions);
        Ok(PyPairs { vocab, batch: Py::new(py, batch)?, made })
    }

    fn __repr__(&self) -> String {
        format!("<Suite {} of {} tests>", self.suite.name, self.suite.tests.len())
    }
}

/// K pairs of questions of one split, ordered by test and original, or in a train set by block.
#[pyclass(name = "Pairs", module = "clevrhope._core", frozen)]
pub struct PyPairs {
    vocab: Arc<Vocabulary>,
    batch: Py<PyQuestionBatch>,
    made: Pairs,
}

impl PyPairs {
    fn column<'py, T: numpy::Element>(&self, py: Python<'py>, of: impl Fn(&Pair) -> T) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.made.pairs.iter().map(of))
    }
}

#[pymethods]
impl PyPairs {
    fn __len__(&self) -> usize {
        self.made.pairs.len()
    }

    /// The 2 K questions: for each pair, its original, then its partner.
    ///
    /// For a train set, these are all its questions, with the partner of a pair after each block of `every` questions.
    #[getter]
    fn questions<'py>(&self, py: Python<'py>) -> Bound<'py, PyQuestionBatch> {
        self.batch.bind(py).clone()
    }

    /// (K,) the number of each pair's test.
    #[getter]
    fn tests<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |pair| i32::from(pair.test))
    }

    /// (K,) the row in the split's file of the question that the pair was made from; -1 if it was searched for.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        self.column(py, |pair| if pair.found.is_some() { -1 } else { pair.original as i32 })
    }

    /// (K,) 2 if the original of the pair mentions the held-out values, plus 1 if its partner does.
    #[getter]
    fn cells<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |pair| pair.cell() as i8)
    }

    /// (K,) whether the question that the pair was made from is its partner, not its original.
    #[getter]
    fn swapped<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |pair| pair.is_swapped)
    }

    /// (K,) how the partner's answer follows from the original's.
    ///
    /// 0: the same; 1: yes and no exchanged; 2: yes if and only if the original's answer is the one in `values`; 3: yes
    /// if and only if it is a number above 0.
    #[getter]
    fn relations<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        self.column(py, |pair| pair.relation.number() as i8)
    }

    /// (K,) the answer that the relation is about, as an index into `Vocabulary.answers`; -1 if there is none.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i32>> {
        let number = |answer| self.vocab.answer_index(answer).map_or(-1, i32::from);
        self.column(py, |pair| if let Relation::Is(answer) = pair.relation { number(answer) } else { -1 })
    }

    /// (K,) bits that say how each pair involves the held-out values.
    ///
    /// 1: the question that the pair was made from mentions them. 2: the other question does. 4: the image shows them.
    /// 8: the answer to the split's question, or to the original of a pair that was searched for, completes them: the
    /// description of the object that it asks about lacks only this value.
    #[getter]
    fn touches<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        self.column(py, |pair| pair.touches.bits())
    }

    /// The result of the search for originals of each test, including tests that needed no search.
    ///
    /// For each test: its number, whether it can have pairs in each of the four cells, and how many pairs each lacks.
    #[getter]
    fn searches(&self) -> Vec<(u16, [bool; 4], [u32; 4])> {
        let found = |&SearchResult { test, is_possible, lacks }: &SearchResult| (test, is_possible, lacks);
        self.made.searches.iter().map(found).collect()
    }

    /// The number of questions without a partner, as (number of the test, reason, number of questions).
    #[getter]
    fn skipped(&self) -> Vec<(u16, &'static str, u64)> {
        let reason = |skip: Skip| match skip {
            Skip::Condition => "it does not meet the test's conditions",
            Skip::Value => "a value would be set that may not be, or unset that must be",
            Skip::NoFoil => "there is no other value that its partner could ask for",
            Skip::Rule => "its partner would break the split's rule",
            Skip::NoAnswer => "its partner would have no answer on the image",
            Skip::Unchanged => "its partner would have the same words",
            Skip::Surplus => "it was left out to balance yes and no",
            Skip::Cell => "the pair would be in a cell that the test leaves out",
        };
        self.made.skipped.iter().map(|(&(test, skip), &n)| (test, reason(skip), n)).collect()
    }

    fn __repr__(&self) -> String {
        let first = self.made.pairs.first().map(|pair| format!(", the first \"{}\"", shown(&pair.text)));
        format!("<Pairs: {}{}>", self.made.pairs.len(), first.unwrap_or_default())
    }
}
