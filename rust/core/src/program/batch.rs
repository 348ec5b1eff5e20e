//! Many programs and many scenes in, answer numbers out, on all cores.

use super::encode::{ProgramVocabulary, TokenError};
use super::execute::{Facts, answer, run};
use super::{MAX_STEPS, Program, Step};
use crate::scene::SceneView;
use crate::vocab::{N_TYPES, Vocabulary};
use rayon::prelude::*;
use thiserror::Error;

/// Stands for the answer of a program that has none on a scene: a `unique` failed, or a count is above
/// the vocabulary's largest.
pub const INVALID: u16 = u16::MAX;
/// Stands for the answer of a row of tokens that is no program.
pub const ILL_FORMED: u16 = u16::MAX - 1;

/// Pairs that a thread takes at a time: enough that taking them costs nothing.
const CHUNK: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("pairs[{pair}]: {kind} {number} of {available}")]
    OutOfRange { pair: usize, kind: &'static str, number: u32, available: usize },
    #[error("{rows} rows of tokens but {scenes} scene numbers; one is needed for each row")]
    Lengths { rows: usize, scenes: usize },
    #[error("{tokens} tokens do not make rows of {width}")]
    Width { tokens: usize, width: usize },
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// What becomes of a row of tokens that is no program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IllFormed {
    /// The call fails and names the first one: for files.
    Refuse,
    /// The row's answer is `ILL_FORMED`: for programs that a model made.
    Mark,
}

/// Scenes side by side in one block of words, each at the same distance from the one before.
#[derive(Clone, Debug)]
pub struct SceneTable {
    words: Vec<u32>,
    layout: Layout,
    n_scenes: usize,
}

/// Where a scene's words lie: all objects; the sets of each value; the sets of each relation and
/// object; each object's values, a byte each.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Where the values of each attribute type begin.
    having: [u32; N_TYPES],
    related: usize,
    attributes: usize,
    /// Places for objects: as many as the largest scene has.
    n_places: usize,
    stride: usize,
}

/// One scene of a table.
#[derive(Clone, Copy)]
struct PackedScene<'a> {
    words: &'a [u32],
    layout: &'a Layout,
}

impl SceneTable {
    /// Packs scenes of the vocabulary.
    pub fn new(vocab: &Vocabulary, scenes: &[SceneView<'_>]) -> Self {
        let n_places = scenes.iter().map(SceneView::n_objects).max().unwrap_or(0);
        let related = 1 + vocab.n_values_in_all();
        let attributes = related + vocab.n_relations() * n_places;
        let layout = Layout {
            having: std::array::from_fn(|kind| 1 + vocab.value_row(kind, 0) as u32),
            related,
            attributes,
            n_places,
            stride: attributes + n_places,
        };
        let mut words = Vec::with_capacity(scenes.len() * layout.stride);
        for scene in scenes {
            words.push(scene.everything());
            words.extend_from_slice(scene.members);
            for relation in 0..vocab.n_relations() {
                words.extend((0..scene.n_objects()).map(|object| scene.related(relation, object)));
                words.extend((scene.n_objects()..n_places).map(|_| 0));
            }
            words.extend(scene.attributes.iter().map(|values| u32::from_le_bytes(*values)));
            words.extend((scene.n_objects()..n_places).map(|_| 0));
        }
        Self { words, layout, n_scenes: scenes.len() }
    }

    /// Number of scenes.
    pub fn len(&self) -> usize {
        self.n_scenes
    }

    pub fn is_empty(&self) -> bool {
        self.n_scenes == 0
    }

    #[inline]
    fn scene(&self, number: u32) -> Option<PackedScene<'_>> {
        let start = number as usize * self.layout.stride;
        let words = self.words.get(start..start + self.layout.stride)?;
        Some(PackedScene { words, layout: &self.layout })
    }

    fn out_of_range(&self, pair: usize, number: u32) -> BatchError {
        BatchError::OutOfRange { pair, kind: "scene", number, available: self.len() }
    }
}

impl Facts for PackedScene<'_> {
    #[inline(always)]
    fn everything(self) -> u32 {
        self.words[0]
    }

    #[inline(always)]
    fn having(self, kind: u8, value: u8) -> u32 {
        self.words[self.layout.having[usize::from(kind)] as usize + usize::from(value)]
    }

    #[inline(always)]
    fn related(self, relation: u8, object: u32) -> u32 {
        self.words[self.layout.related + usize::from(relation) * self.layout.n_places + object as usize]
    }

    #[inline(always)]
    fn value(self, kind: u8, object: u32) -> u32 {
        u32::from(self.words[self.layout.attributes + object as usize].to_le_bytes()[usize::from(kind)])
    }
}

/// Programs end to end in one list of steps.
#[derive(Clone, Debug, Default)]
pub struct ProgramTable {
    steps: Vec<Step>,
    /// Where each program ends, a 0 before the first.
    ends: Vec<u32>,
}

impl ProgramTable {
    /// Packs programs that have passed `Program::check`.
    pub fn new<'a>(programs: impl IntoIterator<Item = &'a Program>) -> Self {
        let mut table = Self { steps: Vec::new(), ends: vec![0] };
        for program in programs {
            table.steps.extend_from_slice(&program.steps);
            table.ends.push(table.steps.len() as u32);
        }
        table
    }

    /// Number of programs.
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn steps(&self, number: u32) -> Option<&[Step]> {
        let (start, end) = (self.ends.get(number as usize)?, self.ends.get(number as usize + 1)?);
        self.steps.get(*start as usize..*end as usize)
    }
}

/// The answer numbers (`Vocabulary::answer_index`) of pairs (program, scene), in the pairs' order, made
/// on all threads of the current rayon pool.
///
/// `INVALID` where the program has no answer on the scene, and for a count above the vocabulary's
/// largest, which has no number.
///
/// # Errors
/// `OutOfRange` names the first pair whose program or scene is not in its table.
pub fn execute_batch(
    programs: &ProgramTable,
    scenes: &SceneTable,
    pairs: &[(u32, u32)],
    vocab: &Vocabulary,
) -> Result<Vec<u16>, BatchError> {
    let mut answers = vec![INVALID; pairs.len()];
    let chunks = answers.par_chunks_mut(CHUNK).zip(pairs.par_chunks(CHUNK)).enumerate();
    let error = chunks.find_map_first(|(chunk, (answers, pairs))| {
        execute_pairs(programs, scenes, pairs, chunk * CHUNK, vocab, answers).err()
    });
    error.map_or(Ok(answers), Err)
}

/// Fills in the answers of pairs on this thread; `first` is the number of the first pair.
fn execute_pairs(
    programs: &ProgramTable,
    scenes: &SceneTable,
    pairs: &[(u32, u32)],
    first: usize,
    vocab: &Vocabulary,
    answers: &mut [u16],
) -> Result<(), BatchError> {
    let mut words = [0; MAX_STEPS];
    for (i, (slot, &(program, scene))) in answers.iter_mut().zip(pairs).enumerate() {
        let steps = programs.steps(program).ok_or_else(|| BatchError::OutOfRange {
            pair: first + i,
            kind: "program",
            number: program,
            available: programs.len(),
        })?;
        let facts = scenes.scene(scene).ok_or_else(|| scenes.out_of_range(first + i, scene))?;
        *slot = answer_number(steps, facts, &mut words, vocab);
    }
    Ok(())
}

/// The answer number of checked steps on a scene; `words` is room to work in.
#[inline(always)]
fn answer_number(steps: &[Step], facts: PackedScene<'_>, words: &mut [u32; MAX_STEPS], vocab: &Vocabulary) -> u16 {
    if run(steps, facts, words).is_err() {
        return INVALID;
    }
    let Some(last) = steps.last() else { return INVALID };
    let answer = answer(last.function.signature().output, words[steps.len() - 1]);
    answer.and_then(|answer| vocab.answer_index(answer)).unwrap_or(INVALID)
}

/// The answer numbers of rows of prefix tokens, each on the scene of `scene_numbers`, straight from the
/// tokens: what `ProgramVocabulary::decode` and `execute_batch` give, without programs in between.
///
/// `tokens` holds rows of `width`, as an HDF5 file's `programs` does.
///
/// # Errors
/// `Token` names row and position of the first ill-formed row, unless these are to be marked.
pub fn execute_tokens(
    vocabulary: &ProgramVocabulary,
    tokens: &[i32],
    width: usize,
    scenes: &SceneTable,
    scene_numbers: &[u32],
    vocab: &Vocabulary,
    ill_formed: IllFormed,
) -> Result<Vec<u16>, BatchError> {
    if width == 0 || !tokens.len().is_multiple_of(width) {
        return Err(BatchError::Width { tokens: tokens.len(), width });
    }
    let rows = tokens.len() / width;
    if rows != scene_numbers.len() {
        return Err(BatchError::Lengths { rows, scenes: scene_numbers.len() });
    }
    let mut answers = vec![ILL_FORMED; rows];
    let inputs = tokens.par_chunks(CHUNK * width).zip(scene_numbers.par_chunks(CHUNK));
    let chunks = answers.par_chunks_mut(CHUNK).zip(inputs).enumerate();
    let error = chunks.find_map_first(|(chunk, (answers, (tokens, scene_numbers)))| {
        let rows = tokens.chunks_exact(width).zip(scene_numbers.iter().copied());
        execute_rows(vocabulary, rows, chunk * CHUNK, scenes, vocab, ill_formed, answers).err()
    });
    error.map_or(Ok(answers), Err)
}

/// Fills in the answers of rows of tokens on this thread; `first` is the number of the first row.
fn execute_rows<'a>(
    vocabulary: &ProgramVocabulary,
    rows: impl Iterator<Item = (&'a [i32], u32)>,
    first: usize,
    scenes: &SceneTable,
    vocab: &Vocabulary,
    ill_formed: IllFormed,
    answers: &mut [u16],
) -> Result<(), BatchError> {
    let mut words = [0; MAX_STEPS];
    let mut steps = Vec::with_capacity(MAX_STEPS);
    for (i, (slot, (tokens, scene))) in answers.iter_mut().zip(rows).enumerate() {
        let facts = scenes.scene(scene).ok_or_else(|| scenes.out_of_range(first + i, scene))?;
        match vocabulary.decode_backwards(tokens, &mut steps) {
            Ok(()) => *slot = answer_number(&steps, facts, &mut words, vocab),
            Err((position, fault)) if ill_formed == IllFormed::Refuse => {
                return Err(TokenError { row: first + i, position, fault }.into());
            }
            Err(_) => (),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Function, execute, samples};
    use super::*;
    use crate::scene::SceneGraph;

    type Grid = (Vocabulary, Vec<Program>, Vec<SceneGraph>, Vec<(u32, u32)>);

    /// Programs, scenes and every pair of both, the scenes of several sizes.
    fn grid() -> Grid {
        let vocab = samples::vocabulary();
        let programs: Vec<Program> = (0..300).map(|seed| samples::random_program(&vocab, seed)).collect();
        let scenes: Vec<SceneGraph> = (0..120).map(|seed| samples::random_scene(&vocab, 12, seed)).collect();
        let pairs = (0..programs.len() as u32).flat_map(|p| (0..scenes.len() as u32).map(move |s| (p, s))).collect();
        (vocab, programs, scenes, pairs)
    }

    fn table(vocab: &Vocabulary, scenes: &[SceneGraph]) -> SceneTable {
        SceneTable::new(vocab, &scenes.iter().map(SceneGraph::view).collect::<Vec<_>>())
    }

    fn one_by_one(vocab: &Vocabulary, program: &Program, scene: &SceneGraph) -> u16 {
        execute(program, scene.view(), vocab).ok().and_then(|answer| vocab.answer_index(answer)).unwrap_or(INVALID)
    }

    #[test]
    fn a_batch_gives_what_single_calls_give_on_any_number_of_threads() {
        let (vocab, programs, scenes, pairs) = grid();
        let single: Vec<u16> =
            pairs.iter().map(|&(p, s)| one_by_one(&vocab, &programs[p as usize], &scenes[s as usize])).collect();
        let valid = single.iter().filter(|&&answer| answer != INVALID).count();
        assert!(valid > pairs.len() / 10 && valid < pairs.len() * 9 / 10, "{valid} of {}", pairs.len());

        let (programs, scenes) = (ProgramTable::new(&programs), table(&vocab, &scenes));
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let answers = pool.install(|| execute_batch(&programs, &scenes, &pairs, &vocab)).unwrap();
            assert!(answers == single, "{threads} threads");
        }
    }

    #[test]
    fn tokens_give_what_their_programs_give() {
        let (vocab, programs, scenes, _) = grid();
        let vocabulary = ProgramVocabulary::of(&vocab, Function::all().iter().copied());
        let (mut tokens, mut numbers, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        const WIDTH: usize = 60;
        for (i, program) in programs.iter().enumerate() {
            let mut row = [0; WIDTH];
            if vocabulary.encode_into(program, &mut row).is_ok() {
                let tree = vocabulary.decode(&row, i).unwrap();
                let scene = i % scenes.len();
                tokens.extend(row);
                numbers.push(scene as u32);
                expected.push(one_by_one(&vocab, &tree, &scenes[scene]));
            }
        }
        assert!(expected.len() > 200);
        let scenes = table(&vocab, &scenes);
        let answers =
            execute_tokens(&vocabulary, &tokens, WIDTH, &scenes, &numbers, &vocab, IllFormed::Refuse).unwrap();
        assert_eq!(answers, expected);

        tokens[7 * WIDTH + 1] = 3;
        tokens[9 * WIDTH] = 0;
        let run = |ill_formed| execute_tokens(&vocabulary, &tokens, WIDTH, &scenes, &numbers, &vocab, ill_formed);
        let error = run(IllFormed::Refuse).unwrap_err().to_string();
        assert!(error.starts_with("programs[7][1]: token 3 stands for no function"), "{error}");
        (expected[7], expected[9]) = (ILL_FORMED, ILL_FORMED);
        assert_eq!(run(IllFormed::Mark), Ok(expected));
    }

    #[test]
    fn a_count_above_the_largest_has_no_number() {
        let vocab = samples::vocabulary();
        let count = ProgramTable::new([&samples::program("scene; count 0")]);
        let scenes = [10, 11].map(|n| SceneGraph::new(&vocab, vec![[0; 4]; n], &vec![vec![vec![]; n]; 4]));
        let answers = execute_batch(&count, &table(&vocab, &scenes), &[(0, 0), (0, 1)], &vocab);
        assert_eq!(answers, Ok(vec![12, INVALID]));
    }

    #[test]
    fn the_first_bad_pair_is_named() {
        let (vocab, programs, scenes, mut pairs) = grid();
        let (programs, scenes) = (ProgramTable::new(&programs), table(&vocab, &scenes));
        pairs[30_000] = (300, 0);
        pairs[35_000] = (0, 900);
        let error = execute_batch(&programs, &scenes, &pairs, &vocab).unwrap_err();
        assert_eq!(error.to_string(), "pairs[30000]: program 300 of 300");
        pairs[20_000] = (0, 120);
        let error = execute_batch(&programs, &scenes, &pairs, &vocab).unwrap_err();
        assert_eq!(error.to_string(), "pairs[20000]: scene 120 of 120");
    }

    #[test]
    fn rows_and_scenes_that_do_not_match_are_refused() {
        let vocab = samples::vocabulary();
        let vocabulary = ProgramVocabulary::new(&vocab);
        let scenes = table(&vocab, &[samples::three_objects()]);
        let run = |tokens: &[i32], width, numbers: &[u32]| {
            let answers = execute_tokens(&vocabulary, tokens, width, &scenes, numbers, &vocab, IllFormed::Mark);
            answers.unwrap_err().to_string()
        };
        assert_eq!(run(&[1, 2, 0], 2, &[0]), "3 tokens do not make rows of 2");
        assert_eq!(run(&[1, 2], 0, &[0]), "2 tokens do not make rows of 0");
        assert_eq!(run(&[1, 2], 2, &[]), "1 rows of tokens but 0 scene numbers; one is needed for each row");
        assert_eq!(run(&[1, 2], 2, &[1]), "pairs[0]: scene 1 of 1");
    }
}
