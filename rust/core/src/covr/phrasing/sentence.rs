//! Sentences with slots, split into pieces.

use super::noun::{Form, Nouns, push_after_article};
use super::slot::{Content, Slot};
use super::variant::Parts;
use crate::message::{shown, suggestion};
use crate::question::tokens::tokenize;

/// A sentence of the file.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    Slot {
        slot: Slot,
        /// Whether "a" comes before it.
        has_article: bool,
    },
    /// The words for the number 1 and for other numbers.
    Agreement([String; 2]),
}

impl Sentence {
    /// Reads a sentence of a variant.
    ///
    /// # Errors
    /// The problem with the sentence, as the end of a message.
    pub fn new(text: &str, parts: &Parts) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("empty; expected a sentence".to_owned());
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(begin) = rest.find(['<', '>']) {
            let (before, slot) = rest.split_at(begin);
            let end = slot.find('>').filter(|&end| end > 0);
            let end = end.ok_or_else(|| format!("\"{}\": not every slot has its \"<\" and its \">\"", shown(text)))?;
            let (slot, after) = slot.split_at(end + 1);
            if !(before.is_empty() && pieces.is_empty() || before.ends_with(' ')) || !is_delimited(after) {
                return Err(format!("{} is part of a word; slots stand between spaces", shown(slot)));
            }
            let has_article = before.ends_with(" a ") || matches!(before, "a " | "A ");
            push_text(&mut pieces, before);
            pieces.push(Piece::new(slot, has_article, parts)?);
            rest = after;
        }
        push_text(&mut pieces, rest);
        let sentence = Self { pieces };
        match parts.required.iter().find(|any| !any.iter().any(|&slot| sentence.has(slot))) {
            Some(any) => Err(format!("no {}; every sentence of this kind needs it", names(any, " or "))),
            None => Ok(sentence),
        }
    }

    pub fn has(&self, wanted: Slot) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Slot { slot, .. } if *slot == wanted))
    }

    /// Appends the sentence about a question.
    pub fn write(&self, content: &Content, nouns: &Nouns, text: &mut String) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Slot { slot, has_article: false } => content.write(*slot, nouns, text),
                Piece::Slot { slot, has_article: true } => {
                    push_after_article(text, |text| content.write(*slot, nouns, text));
                }
                Piece::Agreement([one, many]) => text.push_str(if content.form() == Form::One { one } else { many }),
            }
        }
    }
}

impl Piece {
    fn new(name: &str, has_article: bool, parts: &Parts) -> Result<Self, String> {
        let known = parts.slots();
        if let Some(slot) = Slot::of_name(name) {
            if known.contains(&slot) {
                return Ok(Self::Slot { slot, has_article });
            }
            return Err(format!("{name} stands for nothing here; sentences of this kind have {}", names(&known, ", ")));
        }
        if let Some((one, many)) = name[1..name.len() - 1].split_once('|') {
            if !known.contains(&Slot::Number) {
                return Err(format!("{} needs a number to agree with; there is none here", shown(name)));
            }
            if [one, many].iter().any(|word| tokenize(word) != [*word] || word.contains('|')) {
                return Err(format!("{} has other than two words; expected such as <is|are>", shown(name)));
            }
            return Ok(Self::Agreement([one.to_owned(), many.to_owned()]));
        }
        let near = suggestion(name, known.iter().map(|slot| slot.name()));
        Err(format!("unknown slot {}{near}; sentences of this kind have {}", shown(name), names(&known, ", ")))
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

/// Whether this text begins with a word boundary.
fn is_delimited(after: &str) -> bool {
    after.is_empty() || after.starts_with([' ', ';', ',', '?', '.'])
}

fn names(slots: &[Slot], between: &str) -> String {
    slots.iter().map(|slot| slot.name()).collect::<Vec<_>>().join(between)
}
