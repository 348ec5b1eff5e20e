//! The handle of questions that are asked about edited images, and the function that edits scenes.

use crate::choice::Choice;
use crate::conversion::{self, Values};
use crate::errors::{TemplateError, raise};
use crate::interrupt::in_pieces;
use crate::programs::PyProgramTokens;
use crate::questions::{Images, PyQuestionBatch};
use crate::scenes::{FIRST_PIECE, PySceneBatch, PySceneGraphs};
use crate::templates::PyTemplates;
use crate::world::PyWorld;
use clevrhope_core::program::foreground;
use clevrhope_core::question::TemplateSet;
use clevrhope_core::rng::StreamKey;
use clevrhope_core::scene::{Pool, Scene};
use clevrhope_core::split::SceneRule;
use clevrhope_core::suite::{EditSearch, Original, OriginalReader, OriginalRows, Touches, ValueEdit, questions_on};
use clevrhope_core::vocab::{N_TYPES, TYPE_NAMES, Vocabulary};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;

/// The edited scenes, and for each request whether its scene could be made.
type Edited<'py> = (PySceneBatch, Bound<'py, PyArray1<bool>>);

/// N questions of a split, read back from their file.
///
/// Args:
///     templates: the dataset's templates.
///     questions: (N, Q) question tokens.
///     programs: (N, P) program tokens.
///     families: (N,) global indices of the questions' families.
///     answers: (N,) answers, as indices into `answer_names`.
///     words: the question tokens by number.
///     tokens: the program tokens by number.
///     answer_names: the answers by number.
///
/// Raises:
///     TemplateError: a question was not made from these templates.
///     ValueError: arrays have different lengths.
#[pyclass(name = "SplitQuestions", module = "clevrhope._core", frozen)]
pub struct PySplitQuestions {
    vocab: Arc<Vocabulary>,
    templates: Arc<TemplateSet>,
    originals: Vec<Original>,
}

impl PySplitQuestions {
    /// Each question with the index of its scene among `available`.
    fn with_scenes(
        &self,
        scene_rows: &PyReadonlyArray1<'_, u32>,
        available: usize,
    ) -> PyResult<Vec<(&Original, usize)>> {
        let rows = conversion::numbers(scene_rows, "scene_rows", available as u64)?;
        conversion::same_length(self.originals.len(), rows.len())?;
        Ok(self.originals.iter().zip(rows).map(|(original, row)| (original, row as usize)).collect())
    }
}

#[pymethods]
impl PySplitQuestions {
    #[new]
    #[allow(clippy::too_many_arguments)] // The columns of a file, and their vocabularies.
    #[pyo3(signature = (templates, questions, programs, families, answers, *, words, tokens, answer_names))]
    fn new(
        py: Python<'_>,
        templates: &PyTemplates,
        questions: PyReadonlyArray2<'_, i32>,
        programs: PyReadonlyArray2<'_, i32>,
        families: PyReadonlyArray1<'_, i32>,
        answers: PyReadonlyArray1<'_, i32>,
        words: Vec<String>,
        tokens: &PyProgramTokens,
        answer_names: Vec<String>,
    ) -> PyResult<Self> {
        let (vocab, templates) = (templates.vocab.clone(), templates.templates.clone());
        let ((questions, question_width), (programs, program_width)) =
            (conversion::rows(&questions)?, conversion::rows(&programs)?);
        let (families, answers) = (families.as_slice()?, answers.as_slice()?);
        for length in [questions.len() / question_width, programs.len() / program_width, answers.len()] {
            conversion::same_length(families.len(), length)?;
        }
        let rows = OriginalRows { questions, question_width, programs, program_width, families, answers };
        let reader = OriginalReader::new(&templates, &vocab, &tokens.tokens, &words, &answer_names);
        let originals = py.detach(|| reader.read_rows(rows)).map_err(raise::<TemplateError>)?;
        Ok(Self { vocab, templates, originals })
    }

    fn __len__(&self) -> usize {
        self.originals.len()
    }

    /// (N,) bits of the objects that each question is about in its scene.
    ///
    /// They are the members of the sets that enter `unique`, `count`, `exist` or another function from a set to
    /// something else.
    ///
    /// Raises:
    ///     ValueError: a question has no answer on its scene.
    ///     IndexError: there is no scene with an index in `scene_rows`.
    fn foregrounds<'py>(
        &self,
        py: Python<'py>,
        scenes: &PySceneGraphs,
        scene_rows: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        conversion::same_vocabulary(&self.vocab, &scenes.0.vocab)?;
        let asked = self.with_scenes(&scene_rows, scenes.0.graphs.len())?;
        let look = |&(original, row): &(&Original, usize)| {
            foreground(&original.program, scenes.0.graphs[row].view(), &self.vocab).map_err(|_| original.row)
        };
        let found: Result<Vec<u32>, usize> = py.detach(|| asked.par_iter().map(look).collect());
        Ok(PyArray1::from_vec(py, found.map_err(unanswered)?))
    }

    /// (N,) bits that say how each question, asked about two images, involves the held-out values.
    ///
    /// 1 and 2: the question mentions them. 4: its scene shows them. 8: its answer completes them: the description of
    /// the object that it asks about lacks only this value.
    ///
    /// Raises:
    ///     IndexError: there is no scene with an index in `scene_rows`.
    fn touches<'py>(
        &self,
        py: Python<'py>,
        scenes: &PySceneGraphs,
        scene_rows: PyReadonlyArray1<'py, u32>,
        held_out: Values,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        conversion::same_vocabulary(&self.vocab, &scenes.0.vocab)?;
        let asked = self.with_scenes(&scene_rows, scenes.0.graphs.len())?;
        let holdout = conversion::holdout(&self.vocab, &held_out)?;
        let touches = |&(original, row): &(&Original, usize)| {
            let view = scenes.0.graphs[row].view();
            Touches::of(original, &original.program, view, &holdout, &self.vocab).bits()
        };
        Ok(PyArray1::from_vec(py, py.detach(|| asked.par_iter().map(touches).collect())))
    }

    /// (N, 3) an object, attribute type and new value that exchange yes and no; -1 if there is no such change.
    ///
    /// The draws depend only on seed, hop, split and the question's row.
    ///
    /// Args:
    ///     world: the world of the scenes, with their palette if they have one.
    ///     scenes: the scenes that the questions are about.
    ///     scene_rows: (N,) for each question, the index of its scene in `scenes`.
    ///     rows: (N,) each question's row in its split.
    ///     seed: the dataset's seed.
    ///     hop: the sub-dataset.
    ///     split: the split.
    ///     held_out: the held-out values, if any.
    ///     rule: whether edited scenes may ("any"), must not ("without") or must ("with") show the held-out values.
    ///
    /// Raises:
    ///     IndexError: there is no scene with an index in `scene_rows`.
    #[allow(clippy::too_many_arguments)] // Everything that determines the draws.
    #[pyo3(signature = (world, scenes, scene_rows, *, rows, seed, hop, split, held_out, rule))]
    fn value_edits<'py>(
        &self,
        py: Python<'py>,
        world: &PyWorld,
        scenes: &PySceneBatch,
        scene_rows: PyReadonlyArray1<'py, u32>,
        rows: PyReadonlyArray1<'py, i64>,
        seed: u64,
        hop: &str,
        split: &str,
        held_out: Option<Values>,
        rule: Choice<SceneRule>,
    ) -> PyResult<Bound<'py, PyArray2<i32>>> {
        conversion::same_vocabulary(&self.vocab, &world.vocab)?;
        let asked = self.with_scenes(&scene_rows, scenes.scenes.len())?;
        let rows = rows.as_slice()?;
        conversion::same_length(asked.len(), rows.len())?;
        let holdout = held_out.map(|values| conversion::holdout(&self.vocab, &values)).transpose()?;
        let pool = Pool::new(&world.world, seed, "edited");
        let search = EditSearch { vocab: &self.vocab, pool: &pool, holdout: holdout.as_ref(), rule: rule.0 };
        let key = StreamKey::new(&[b"value edits", &seed.to_le_bytes(), hop.as_bytes(), split.as_bytes()]);
        let mut found = Vec::with_capacity(3 * asked.len());
        in_pieces(py, asked.len(), FIRST_PIECE, |piece| {
            let (asked, rows) = (&asked[piece.clone()], &rows[piece]);
            let find = |(&(original, scene), &row): (&(&Original, usize), &i64)| {
                let edit = search.find(original, &scenes.scenes[scene], &mut key.at(row as u64));
                edit.map_or([-1; 3], |edit| [edit.object as i32, edit.kind as i32, i32::from(edit.value)])
            };
            found.par_extend(asked.par_iter().zip(rows).flat_map_iter(find));
            Ok(())
        })?;
        conversion::to_matrix(py, found, 3)
    }

    /// The same questions about other scenes, with their answers on these.
    ///
    /// Args:
    ///     scenes: the scenes to ask about.
    ///     scene_rows: (N,) for each question, the index of its new scene in `scenes`.
    ///     image_idxs: (N,) the index of this scene in its pool.
    ///     pool: the pool's name, a part of the images' names.
    ///
    /// Raises:
    ///     ValueError: a question has no answer on its new scene.
    ///     IndexError: there is no scene with an index in `scene_rows`.
    #[pyo3(signature = (scenes, scene_rows, image_idxs, *, pool))]
    fn on(
        &self,
        py: Python<'_>,
        scenes: &PySceneGraphs,
        scene_rows: PyReadonlyArray1<'_, u32>,
        image_idxs: PyReadonlyArray1<'_, i64>,
        pool: &str,
    ) -> PyResult<PyQuestionBatch> {
        conversion::same_vocabulary(&self.vocab, &scenes.0.vocab)?;
        let asked = self.with_scenes(&scene_rows, scenes.0.graphs.len())?;
        let images = image_idxs.as_slice()?;
        conversion::same_length(asked.len(), images.len())?;
        let view =
            |((original, row), &image): ((_, usize), &i64)| (original, scenes.0.graphs[row].view(), image as u64);
        let asked: Vec<_> = asked.into_iter().zip(images).map(view).collect();
        let made = py.detach(|| questions_on(&self.templates, &self.vocab, &asked));
        let images = Images::OfPool(pool.into());
        Ok(PyQuestionBatch::of_images(self.vocab.clone(), self.templates.clone(), images, made.map_err(unanswered)?))
    }

    fn __repr__(&self) -> String {
        format!("<SplitQuestions: {}>", self.originals.len())
    }
}

fn unanswered(row: usize) -> PyErr {
    PyValueError::new_err(format!("questions[{row}]: it has no answer on its scene"))
}

/// Edits scenes: keeps only some of their objects, and can give one of these another value.
///
/// Visibility is computed again; everything else stays as it was. An edited scene is left out if an object would stand
/// too near to another, or too little of an object would be visible.
///
/// Args:
///     world: the world of the scenes.
///     scenes: the scenes to edit.
///     scene_rows: (N,) for each edit, the index of its scene in `scenes`.
///     kept: (N,) masks of the objects that stay, with a bit for each object.
///     changes: (N, 3) an object, the number of an attribute type and the object's new value; -1 for no change.
///     indices: (N,) the index of each edited scene in `pool`.
///     pool: the name of the pool of the edited scenes.
///
/// Returns:
///     The edited scenes, without those left out, and (N,) whether each was made.
///
/// Raises:
///     IndexError: a scene has no such index, or a change is not a value of an object.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // Each is a column.
#[pyo3(signature = (world, scenes, scene_rows, kept, changes, indices, *, pool))]
pub fn edit_scenes<'py>(
    py: Python<'py>,
    world: &PyWorld,
    scenes: &PySceneBatch,
    scene_rows: PyReadonlyArray1<'py, u32>,
    kept: PyReadonlyArray1<'py, u32>,
    changes: PyReadonlyArray2<'py, i32>,
    indices: PyReadonlyArray1<'py, u64>,
    pool: &str,
) -> PyResult<Edited<'py>> {
    conversion::same_vocabulary(&world.vocab, &scenes.vocab)?;
    let rows = conversion::numbers(&scene_rows, "scene_rows", scenes.scenes.len() as u64)?;
    let (kept, indices, (changes, width)) = (kept.as_slice()?, indices.as_slice()?, conversion::rows(&changes)?);
    for length in [kept.len(), indices.len(), changes.len() / width] {
        conversion::same_length(rows.len(), length)?;
    }
    let sources = rows.iter().zip(kept).zip(changes.chunks_exact(width));
    let objects = sources
        .map(|((&row, &kept), change)| objects_of(&scenes.scenes[row as usize], kept, change, &world.vocab))
        .collect::<PyResult<Vec<_>>>()?;
    let pool = Pool::new(&world.world, 0, pool);
    let mut made: Vec<Option<Scene>> = Vec::with_capacity(rows.len());
    in_pieces(py, rows.len(), FIRST_PIECE, |piece| {
        let edit = |place: usize| pool.edited(&scenes.scenes[rows[place] as usize], indices[place], &objects[place]);
        made.par_extend(piece.into_par_iter().map(edit));
        Ok(())
    })?;
    let is_made = PyArray1::from_iter(py, made.iter().map(Option::is_some));
    Ok((PySceneBatch::new(world.vocab.clone(), made.into_iter().flatten()), is_made))
}

/// The number and values of each object that stays.
fn objects_of(scene: &Scene, kept: u32, change: &[i32], vocab: &Vocabulary) -> PyResult<Vec<(usize, [u8; N_TYPES])>> {
    let mut objects: Vec<_> = scene.objects.iter().map(|object| object.attributes).collect();
    if let Some(edit) = value_edit(change)? {
        let is_there = edit.object < objects.len()
            && edit.kind < TYPE_NAMES.len()
            && usize::from(edit.value) < vocab.n_values(edit.kind);
        if !is_there {
            return Err(PyIndexError::new_err(format!("changes: {change:?} is not a value of an object")));
        }
        objects[edit.object][edit.kind] = edit.value;
    }
    Ok(objects.into_iter().enumerate().filter(|(object, _)| kept >> object & 1 == 1).collect())
}

/// The edit in a row of changes; None for no change.
fn value_edit(change: &[i32]) -> PyResult<Option<ValueEdit>> {
    let fault = || PyIndexError::new_err(format!("changes: {change:?} is not an object, a type and a value"));
    match change {
        [-1, -1, -1] => Ok(None),
        &[object, kind, value] => {
            let number = |each: i32| usize::try_from(each).map_err(|_| fault());
            let value = u8::try_from(value).map_err(|_| fault())?;
            Ok(Some(ValueEdit { object: number(object)?, kind: number(kind)?, value }))
        }
        _ => Err(fault()),
    }
}
