//! Scenes and programs packed for execution in large numbers.
//!
//! A program is stored as its shape (functions and wiring, shared by all programs that differ only in values)
//! and its arguments. A run of filters is one instruction of the shape, whatever its length, so that a
//! dataset has about as many shapes as question families.

use super::facts::Facts;
use super::{Argument, Function, Program, Step, Type};
use crate::scene::SceneView;
use crate::vocab::{N_TYPES, Vocabulary};
use rustc_hash::FxHashMap;

/// Scenes in one block of words, at equal distances.
#[derive(Clone, Debug)]
pub struct SceneTable {
    words: Vec<u32>,
    layout: Layout,
    n_scenes: usize,
}

/// The layout of a scene's words: the set of all objects; the set of each value; the set of each relation and object;
/// each object's values, one byte each.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Start of the sets of each attribute type's values.
    having: [u32; N_TYPES],
    related: usize,
    attributes: usize,
    /// Number of objects of the largest scene, but at least one, since object 0 is used after a failed `unique`.
    n_places: usize,
    stride: usize,
}

/// One scene of a table.
#[derive(Clone, Copy)]
pub(super) struct PackedScene<'a> {
    words: &'a [u32],
    layout: &'a Layout,
}

impl SceneTable {
    /// Packs scenes of the vocabulary.
    pub fn new(vocab: &Vocabulary, scenes: &[SceneView<'_>]) -> Self {
        let n_places = scenes.iter().map(SceneView::n_objects).fold(1, usize::max);
        let related = 1 + vocab.n_values_in_all();
        let attributes = related + vocab.n_relations() * n_places;
        let layout = Layout {
            having: std::array::from_fn(|kind| u32::from(set_row(vocab, kind as u8, 0))),
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

    pub fn n_scenes(&self) -> usize {
        self.n_scenes
    }

    /// A scene, by a number below `n_scenes`.
    #[inline(always)]
    pub(super) fn scene(&self, number: u32) -> PackedScene<'_> {
        let start = number as usize * self.layout.stride;
        PackedScene { words: &self.words[start..start + self.layout.stride], layout: &self.layout }
    }
}

/// Number of the word that holds the objects with a value; word 0 holds all objects.
fn set_row(vocab: &Vocabulary, kind: u8, value: u8) -> u8 {
    // This fits in a byte, since there are at most `MAX_VALUES` values.
    1 + vocab.value_row(usize::from(kind), usize::from(value)) as u8
}

impl PackedScene<'_> {
    /// The intersection of a set with four sets of the scene, given by their words' numbers.
    #[inline(always)]
    pub(super) fn filtered(self, set: u32, rows: [u8; 4]) -> u32 {
        rows.into_iter().fold(set, |set, row| set & self.words[usize::from(row)])
    }
}

impl Facts for PackedScene<'_> {
    type Word = u32;

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
    fn value(self, kind: u8, object: u32) -> u8 {
        self.words[self.layout.attributes + object as usize].to_le_bytes()[usize::from(kind)]
    }
}

/// Programs, as shapes and arguments.
#[derive(Clone, Debug, Default)]
pub struct ProgramTable {
    pub(super) shapes: Vec<Shape>,
    numbers: FxHashMap<Vec<Instruction>, u32>,
    pub(super) entries: Vec<Entry>,
    pub(super) arguments: Vec<u8>,
}

/// A program in a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub shape: u32,
    /// Start of its arguments.
    pub arguments: u32,
}

/// What programs that differ only in their arguments have in common.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub instructions: Vec<Instruction>,
    /// The type of the last instruction's output.
    pub output: Type,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Instruction {
    pub operation: Operation,
    /// Numbers of earlier instructions, as in `Step`.
    pub inputs: [u8; 2],
    /// Position of its first argument among those of the program.
    pub argument: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Operation {
    Function(Function),
    /// Up to four consecutive filters; their arguments are numbers of the scene's words, 0 where there are fewer.
    Filters,
}

/// Maximum number of filters of one instruction.
const MAX_FILTERS: usize = 4;

impl ProgramTable {
    /// Packs programs that have passed `Program::check` with this vocabulary.
    pub fn new<'a>(vocab: &Vocabulary, programs: impl IntoIterator<Item = &'a Program>) -> Self {
        let mut table = Self::default();
        for Program { steps } in programs {
            let arguments = table.arguments.len() as u32;
            let instructions = lower(vocab, steps, &mut table.arguments);
            let shape = *table.numbers.entry(instructions).or_insert_with_key(|instructions| {
                let output = steps.last().map_or(Type::Set, |step| step.function.signature().output);
                table.shapes.push(Shape { instructions: instructions.clone(), output });
                table.shapes.len() as u32 - 1
            });
            table.entries.push(Entry { shape, arguments });
        }
        table
    }

    pub fn n_programs(&self) -> usize {
        self.entries.len()
    }
}

/// The instructions for these steps; their arguments are appended to `arguments`.
fn lower(vocab: &Vocabulary, steps: &[Step], arguments: &mut Vec<u8>) -> Vec<Instruction> {
    let mut uses = vec![0; steps.len()];
    for source in steps.iter().flat_map(Step::sources) {
        uses[usize::from(*source)] += 1;
    }
    let start = arguments.len();
    let mut instructions: Vec<Instruction> = Vec::with_capacity(steps.len());
    // For each step, the instruction that gives its output, and the number of filters in that instruction.
    let mut places: Vec<(u8, usize)> = Vec::with_capacity(steps.len());
    for step in steps {
        let [a, b] = step.inputs.map(usize::from);
        if let Function::Filter(kind) = step.function {
            let row = set_row(vocab, kind, step.argument);
            let (place, length) = places[a];
            if (1..MAX_FILTERS).contains(&length) && uses[a] == 1 {
                arguments[start + usize::from(instructions[usize::from(place)].argument) + length] = row;
                places.push((place, length + 1));
                continue;
            }
            places.push((instructions.len() as u8, 1));
            let argument = (arguments.len() - start) as u16;
            instructions.push(Instruction { operation: Operation::Filters, inputs: [place, 0], argument });
            arguments.extend([row, 0, 0, 0]);
            continue;
        }
        let arity = step.function.arity();
        let place = |input: usize, taken: bool| if taken { places[input].0 } else { 0 };
        let inputs = [place(a, arity > 0), place(b, arity > 1)];
        let argument = match step.function.signature().argument {
            Argument::Nothing => 0,
            Argument::Value(_) | Argument::Relation | Argument::Number => {
                arguments.push(step.argument);
                (arguments.len() - 1 - start) as u16
            }
        };
        places.push((instructions.len() as u8, 0));
        instructions.push(Instruction { operation: Operation::Function(step.function), inputs, argument });
    }
    instructions
}
