//! Questions of a dataset, read back from their files.

use crate::message::shown;
use crate::program::Program;
use crate::program::encode::{ProgramVocabulary, START};
use crate::question::TemplateSet;
use crate::question::reading::{QuestionReader, Reading};
use crate::question::template::MAX_NODES;
use crate::question::text_buffer::TextBuffer;
use crate::vocab::{Answer, Vocabulary};
use rayon::prelude::*;
use thiserror::Error;

/// A question of a dataset, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its row in the split's file.
    pub row: usize,
    pub family: u16,
    pub answer: Answer,
    pub reading: Reading,
    pub program: Program,
    /// The program step that computes the output of each of the family's nodes.
    pub(super) outputs: [u8; MAX_NODES],
}

/// Why a row is not a question made from the templates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OriginalError {
    #[error("question {row}, \"{}\", is not worded by family {family} of these templates", shown(text))]
    Unread { row: usize, text: String, family: i32 },
    #[error("question {row}, \"{}\", has another program than its words mean", shown(text))]
    OtherProgram { row: usize, text: String },
    #[error("question {row} has the answer {answer}, which this vocabulary does not have")]
    Answer { row: usize, answer: i32 },
}

/// The columns of a split's file, one entry or row for each question.
#[derive(Clone, Copy, Debug)]
pub struct OriginalRows<'a> {
    /// Rows of `question_width` tokens, end to end.
    pub questions: &'a [i32],
    pub question_width: usize,
    /// Rows of `program_width` tokens, end to end.
    pub programs: &'a [i32],
    pub program_width: usize,
    pub families: &'a [i32],
    pub answers: &'a [i32],
}

/// Reads the rows of a split's file.
pub struct OriginalReader<'a> {
    templates: &'a TemplateSet,
    vocab: &'a Vocabulary,
    reader: QuestionReader<'a>,
    programs: &'a ProgramVocabulary,
    /// The words in vocab.json, by number.
    words: &'a [String],
    answers: Vec<Option<Answer>>,
}

impl<'a> OriginalReader<'a> {
    pub fn new(
        templates: &'a TemplateSet,
        vocab: &'a Vocabulary,
        programs: &'a ProgramVocabulary,
        words: &'a [String],
        answers: &[String],
    ) -> Self {
        let known: Vec<String> = vocab.answer_texts();
        let of = |name: &String| vocab.answer(known.iter().position(|known| known == name)? as u16);
        let answers = answers.iter().map(of).collect();
        Self { templates, vocab, reader: QuestionReader::new(templates), programs, words, answers }
    }

    /// The questions of all rows; uses all cores.
    ///
    /// # Errors
    /// Names the first row that was not made from these templates.
    pub fn read_rows(&self, rows: OriginalRows<'_>) -> Result<Vec<Original>, OriginalError> {
        let questions = rows.questions.par_chunks_exact(rows.question_width.max(1));
        let programs = rows.programs.par_chunks_exact(rows.program_width.max(1));
        let columns = rows.families.par_iter().zip(rows.answers);
        let read = |buffer: &mut TextBuffer, (row, ((question, program), (&family, &answer)))| {
            self.read(row, question, program, family, answer, buffer)
        };
        questions.zip(programs).zip(columns).enumerate().map_init(TextBuffer::default, read).collect()
    }

    /// The question of a row, given the numbers of its tokens, program tokens, family and answer.
    ///
    /// # Errors
    /// The row was not made from these templates.
    pub fn read(
        &self,
        row: usize,
        question: &[i32],
        program: &[i32],
        family: i32,
        answer: i32,
        buffer: &mut TextBuffer,
    ) -> Result<Original, OriginalError> {
        let name = |&token: &i32| usize::try_from(token).ok().and_then(|token| self.words.get(token)).map_or("", |w| w);
        let tokens: Vec<&str> = question.iter().skip(1).map(name).take_while(|name| *name != "<END>").collect();
        let unread = || OriginalError::Unread { row, text: tokens.join(" "), family };
        let number = usize::try_from(family).map_err(|_| unread())?;
        let readings = self.reader.read(number, &tokens, buffer);
        let source = self.templates.families().get(number).ok_or_else(unread)?;
        if readings.is_empty() {
            return Err(unread());
        }
        let known = |answer: i32| usize::try_from(answer).ok().and_then(|place| *self.answers.get(place)?);
        let answer = known(answer).ok_or(OriginalError::Answer { row, answer })?;
        let end = program.iter().rposition(|&token| token > START).map_or(0, |last| last + 1);
        for reading in readings {
            let (made, outputs) = source.program(&reading.values);
            let is_stored = made.check(self.vocab, "").is_ok()
                && self.programs.encode(&made).is_ok_and(|tokens| tokens == program[..end]);
            if is_stored {
                return Ok(Original { row, family: number as u16, answer, reading, program: made, outputs });
            }
        }
        Err(OriginalError::OtherProgram { row, text: tokens.join(" ") })
    }
}
