//! Execution of many programs on many scenes, on all cores.
//!
//! A thread takes thousands of pairs at a time, sorts them by shape, and runs each instruction on a whole tile of pairs
//! before the next one. So the function is looked up once per tile instead of once per step, and the many independent
//! reads of a tile hide each other's latency.

use super::encode::{ProgramVocabulary, TokenError, check_ending};
use super::execute::{answer, run_to_answer};
use super::facts::{Apply, Invalid};
use super::table::{Instruction, Operation, PackedScene, ProgramTable, SceneTable, Shape};
use super::{MAX_STEPS, Program};
use crate::scene::set::MAX_IMAGES;
use crate::scene::{SceneGraph, SceneSet, SceneSetError};
use crate::vocab::Vocabulary;
use rayon::prelude::*;
use thiserror::Error;

/// Stands for the answer of a program that has none on a scene: a `unique` failed, or a count exceeds the vocabulary's
/// largest.
pub const INVALID: u16 = u16::MAX;
/// Stands for the answer of an ill-formed row of tokens.
pub const ILL_FORMED: u16 = u16::MAX - 1;

/// Pairs that a thread takes at a time: enough to fill tiles of most shapes, few enough that their scenes stay
/// in its cache when the pairs are ordered by scene.
const CHUNK: usize = 16_384;
/// Pairs of a program and a set of scenes that a thread takes at a time.
const SET_CHUNK: usize = 1024;
/// Pairs of one shape that are run together; their scenes fit in the level-1 cache.
const LANES: usize = 64;
/// Groups that a chunk is sorted into. If there are more shapes, some share a group, which only costs time.
const GROUPS: usize = 1024;

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
    #[error("sets[{set}]: {error}")]
    Set { set: u32, error: SceneSetError },
}

/// How ill-formed rows of tokens are handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IllFormed {
    /// The call fails and names the first ill-formed row; meant for files.
    Refuse,
    /// The row's answer is `ILL_FORMED`; meant for programs that a model wrote.
    Mark,
}

/// The answer numbers (`Vocabulary::answer_index`) of (program, scene) pairs in order, computed on all threads of the
/// current rayon pool; `INVALID` where a program has no answer, or its answer is a count without a number.
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
    let error = chunks
        .map_init(Workbench::default, |workbench, (chunk, (answers, pairs))| {
            workbench.sort(programs, scenes, pairs, chunk * CHUNK)?;
            workbench.execute(programs, scenes, vocab, answers);
            Ok(())
        })
        .find_map_first(Result::err);
    error.map_or(Ok(answers), Err)
}

/// The same for pairs of a program and a set of scenes; a set is a row of scene numbers, padded with -1.
///
/// A set holds only views of its scenes, so it is built for each pair. Each set has few programs of one shape, so
/// programs are executed one by one.
///
/// # Errors
/// `OutOfRange` names the first pair whose program or set does not exist, `Set` a row that is not a set.
pub fn execute_sets(
    programs: &[Program],
    scenes: &[SceneGraph],
    sets: &[[i32; MAX_IMAGES]],
    pairs: &[(u32, u32)],
    vocab: &Vocabulary,
) -> Result<Vec<u16>, BatchError> {
    let mut answers = vec![INVALID; pairs.len()];
    let chunks = answers.par_chunks_mut(SET_CHUNK).zip(pairs.par_chunks(SET_CHUNK)).enumerate();
    let error = chunks.find_map_first(|(chunk, (answers, pairs))| {
        let mut words = [0; MAX_STEPS];
        let mut answer = |place: usize, (program, number): (u32, u32)| {
            let out_of_range = |kind, number, available| BatchError::OutOfRange {
                pair: chunk * SET_CHUNK + place,
                kind,
                number,
                available,
            };
            let program =
                programs.get(program as usize).ok_or_else(|| out_of_range("program", program, programs.len()))?;
            let row = sets.get(number as usize).ok_or_else(|| out_of_range("set", number, sets.len()))?;
            let set = SceneSet::of_row(scenes, row).map_err(|error| BatchError::Set { set: number, error })?;
            let answer = run_to_answer(&program.steps, (&set, vocab), &mut words).ok();
            Ok(answer.and_then(|answer| vocab.answer_index(answer)).unwrap_or(INVALID))
        };
        let mut pairs = answers.iter_mut().zip(pairs).enumerate();
        pairs.try_for_each(|(place, (slot, &pair))| answer(place, pair).map(|answer| *slot = answer)).err()
    });
    error.map_or(Ok(answers), Err)
}

/// A pair with its program looked up.
#[derive(Clone, Copy, Default)]
struct Pair {
    shape: u32,
    arguments: u32,
    scene: u32,
    /// Position in the chunk.
    place: u32,
}

/// Buffers of one thread.
#[derive(Default)]
struct Workbench {
    unsorted: Vec<Pair>,
    pairs: Vec<Pair>,
    tile: Tile,
}

impl Workbench {
    /// Looks up the pairs of a chunk and sorts them by shape; `first` is the number of the first pair.
    fn sort(
        &mut self,
        programs: &ProgramTable,
        scenes: &SceneTable,
        pairs: &[(u32, u32)],
        first: usize,
    ) -> Result<(), BatchError> {
        self.unsorted.clear();
        let mut ends = [0u32; GROUPS];
        for (place, &(program, scene)) in pairs.iter().enumerate() {
            let out_of_range =
                |kind, number, available| BatchError::OutOfRange { pair: first + place, kind, number, available };
            let entry = programs.entries.get(program as usize);
            let entry = entry.ok_or_else(|| out_of_range("program", program, programs.n_programs()))?;
            if scene as usize >= scenes.n_scenes() {
                return Err(out_of_range("scene", scene, scenes.n_scenes()));
            }
            ends[entry.shape as usize % GROUPS] += 1;
            let place = place as u32;
            self.unsorted.push(Pair { shape: entry.shape, arguments: entry.arguments, scene, place });
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        self.pairs.resize(pairs.len(), Pair::default());
        for pair in self.unsorted.iter().rev() {
            let end = &mut ends[pair.shape as usize % GROUPS];
            *end -= 1;
            self.pairs[*end as usize] = *pair;
        }
        Ok(())
    }

    /// Executes the sorted pairs and writes their answers.
    fn execute(&mut self, programs: &ProgramTable, scenes: &SceneTable, vocab: &Vocabulary, answers: &mut [u16]) {
        for group in self.pairs.chunk_by(|a, b| a.shape == b.shape) {
            let shape = &programs.shapes[group[0].shape as usize];
            for pairs in group.chunks(LANES) {
                self.tile.run(shape, &programs.arguments, scenes, pairs);
                self.tile.answer(shape, pairs, vocab, answers);
            }
        }
    }
}

/// The state of up to `LANES` programs of one shape.
#[derive(Default)]
struct Tile {
    /// Each instruction's outputs.
    words: Vec<[u32; LANES]>,
    /// For each program, whether it has no answer.
    failed: Vec<bool>,
}

impl Tile {
    /// Runs the instructions of a shape, each on all pairs before the next one.
    fn run(&mut self, shape: &Shape, arguments: &[u8], scenes: &SceneTable, pairs: &[Pair]) {
        self.failed.clear();
        self.failed.resize(pairs.len(), false);
        if self.words.len() < shape.instructions.len() {
            self.words.resize(shape.instructions.len(), [0; LANES]);
        }
        for (i, instruction) in shape.instructions.iter().enumerate() {
            let (earlier, later) = self.words.split_at_mut(i);
            // The first instruction has no input, so the word that stands in for it is not read.
            let input = |number: usize| earlier.get(usize::from(instruction.inputs[number])).unwrap_or(&[0; LANES]);
            let inputs = [input(0), input(1)];
            let outputs = &mut later[0];
            match instruction.operation {
                Operation::Filters => {
                    for ((output, &set), pair) in outputs.iter_mut().zip(inputs[0]).zip(pairs) {
                        let start = pair.arguments as usize + usize::from(instruction.argument);
                        if let Some(rows) = arguments[start..].first_chunk() {
                            *output = scenes.scene(pair.scene).filtered(set, *rows);
                        }
                    }
                }
                Operation::Function(function) => {
                    let failed = &mut self.failed;
                    function.apply(Row { instruction, arguments, scenes, pairs, inputs, outputs, failed });
                }
            }
        }
    }

    /// Writes the answers of the tile's pairs to their positions.
    fn answer(&self, shape: &Shape, pairs: &[Pair], vocab: &Vocabulary, answers: &mut [u16]) {
        let Some(words) = shape.instructions.len().checked_sub(1).map(|last| &self.words[last]) else { return };
        for ((pair, &word), &failed) in pairs.iter().zip(words).zip(&self.failed) {
            let number = answer(shape.output, word).and_then(|answer| vocab.answer_index(answer));
            answers[pair.place as usize] = if failed { INVALID } else { number.unwrap_or(INVALID) };
        }
    }
}

/// Applies one instruction's function to each pair of a tile.
struct Row<'a> {
    instruction: &'a Instruction,
    arguments: &'a [u8],
    scenes: &'a SceneTable,
    pairs: &'a [Pair],
    inputs: [&'a [u32; LANES]; 2],
    outputs: &'a mut [u32; LANES],
    failed: &'a mut [bool],
}

impl<'a> Apply for Row<'a> {
    type Facts = PackedScene<'a>;
    type Done = ();

    #[inline(always)]
    fn apply(self, meaning: impl Fn(PackedScene<'a>, u8, u32, u32) -> Result<u32, Invalid>) {
        let lanes = self.outputs.iter_mut().zip(self.failed).zip(self.inputs[0].iter().zip(self.inputs[1]));
        for (((output, failed), (&a, &b)), pair) in lanes.zip(self.pairs) {
            let place = pair.arguments as usize + usize::from(self.instruction.argument);
            // A function without an argument ignores this byte, which may lie past the last argument.
            let argument = self.arguments.get(place).copied().unwrap_or(0);
            let result = meaning(self.scenes.scene(pair.scene), argument, a, b);
            *failed |= result.is_err();
            // A failed program continues with object 0, which always exists: cheaper than stopping it.
            *output = result.unwrap_or(0);
        }
    }
}

/// The answer numbers of rows of prefix tokens, each on its scene in `scene_numbers`: the same as from
/// `ProgramVocabulary::decode` and `execute_batch`, without building the programs.
///
/// `tokens` holds rows of `width` end to end, as the `programs` of an HDF5 file do.
///
/// # Errors
/// `Token` names row and position of the first ill-formed row, unless `ill_formed` is `Mark`.
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

/// Writes the answers of rows of tokens, on this thread; `first` is the number of the first row.
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
        if scene as usize >= scenes.n_scenes() {
            let (kind, available) = ("scene", scenes.n_scenes());
            return Err(BatchError::OutOfRange { pair: first + i, kind, number: scene, available });
        }
        let decoded = vocabulary.decode_backwards(tokens, &mut steps);
        match decoded.and_then(|()| check_ending(&steps)) {
            Ok(()) => {
                let answer = run_to_answer(&steps, scenes.scene(scene), &mut words).ok();
                *slot = answer.and_then(|answer| vocab.answer_index(answer)).unwrap_or(INVALID);
            }
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
    use super::super::{Function, Program, execute, execute_on_set, samples};
    use super::*;
    use crate::scene::SceneGraph;

    type Grid = (Vocabulary, Vec<Program>, Vec<SceneGraph>, Vec<(u32, u32)>);

    /// Programs, scenes and every pair of both; the scenes have several sizes.
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

        let (programs, scenes) = (ProgramTable::new(&vocab, &programs), table(&vocab, &scenes));
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let answers = pool.install(|| execute_batch(&programs, &scenes, &pairs, &vocab)).unwrap();
            assert!(answers == single, "{threads} threads");
        }
    }

    #[test]
    fn a_batch_on_sets_gives_what_single_calls_give() {
        let (vocab, programs, scenes, _) = grid();
        let sets: Vec<[i32; MAX_IMAGES]> = (0..20).map(|i| [i, i + 30, i + 60, -1, -1]).collect();
        let pairs: Vec<(u32, u32)> =
            (0..programs.len() as u32).flat_map(|p| (0..sets.len() as u32).map(move |s| (p, s))).collect();
        let single = |&(program, set): &(u32, u32)| {
            let set = SceneSet::of_row(&scenes, &sets[set as usize]).unwrap();
            let answer = execute_on_set(&programs[program as usize], &set, &vocab).ok();
            answer.and_then(|answer| vocab.answer_index(answer)).unwrap_or(INVALID)
        };
        let expected: Vec<u16> = pairs.iter().map(single).collect();
        assert!(expected.iter().filter(|&&answer| answer != INVALID).count() > pairs.len() / 10);
        let run =
            |sets: &[[i32; MAX_IMAGES]], pairs: &[(u32, u32)]| execute_sets(&programs, &scenes, sets, pairs, &vocab);
        assert_eq!(run(&sets, &pairs), Ok(expected));

        let message = |sets, pairs| run(sets, pairs).unwrap_err().to_string();
        assert_eq!(message(&sets, &[(0, 0), (300, 0)]), "pairs[1]: program 300 of 300");
        assert_eq!(message(&sets, &[(0, 20)]), "pairs[0]: set 20 of 20");
        let twice = [[0, 1, -1, -1, -1], [2, 2, -1, -1, -1]];
        assert_eq!(message(&twice, &[(0, 0), (0, 1)]), "sets[1]: scene 2 twice; the images of a set are distinct");
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
        assert!(error.starts_with("programs[7][1]: token 3 is not a function"), "{error}");
        (expected[7], expected[9]) = (ILL_FORMED, ILL_FORMED);
        assert_eq!(run(IllFormed::Mark), Ok(expected));
    }

    #[test]
    fn a_count_above_the_largest_has_no_number() {
        let vocab = samples::vocabulary();
        let count = ProgramTable::new(&vocab, [&samples::program("scene; count 0")]);
        let scenes = [10, 11].map(|n| SceneGraph::new(&vocab, vec![[0; 4]; n], &vec![vec![vec![]; n]; 4]));
        let answers = execute_batch(&count, &table(&vocab, &scenes), &[(0, 0), (0, 1)], &vocab);
        assert_eq!(answers, Ok(vec![12, INVALID]));
    }

    #[test]
    fn the_first_bad_pair_is_named() {
        let (vocab, programs, scenes, mut pairs) = grid();
        let (programs, scenes) = (ProgramTable::new(&vocab, &programs), table(&vocab, &scenes));
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
