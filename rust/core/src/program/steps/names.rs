//! How objects are named: by the fewest values that single one out in its image, or else by its place there.

use crate::program::facts::{Facts, Word};
use crate::scene::world::SHAPE;
use crate::scene::{Scene, SceneSet};
use crate::vocab::{N_TYPES, Vocabulary};
use std::fmt::Write;

/// The noun for an object of any shape.
const OBJECT: &str = "object";
/// The selections of attribute types, a bit each, from the shortest; of two with as many types, first the one that
/// reads better.
const SELECTIONS: [u8; 1 << N_TYPES] = [
    0b0000, 0b1000, 0b0010, 0b0001, 0b0100, 0b1010, 0b1001, 0b1100, 0b0011, 0b0110, 0b0101, 0b1011, 0b1110, 0b1101,
    0b0111, 0b1111,
];
/// The parts of an image, a third of its width by a third of its height each, by rows.
const PLACES: [[&str; 3]; 3] = [
    ["the upper left", "the upper middle", "the upper right"],
    ["the left", "the center", "the right"],
    ["the lower left", "the lower middle", "the lower right"],
];

/// The images that a question is about.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub set: &'a SceneSet<'a>,
    /// The scenes of the set, in order.
    pub scenes: &'a [&'a Scene],
    /// Width and height of the images in pixels.
    pub size: [u32; 2],
    pub vocab: &'a Vocabulary,
}

/// Singular or plural.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    One,
    Many,
}

impl Form {
    pub fn of(number: u32) -> Self {
        if number == 1 { Self::One } else { Self::Many }
    }

    /// The first of two words if one thing is spoken of.
    pub fn choose<'a>(self, one: &'a str, many: &'a str) -> &'a str {
        if self == Self::One { one } else { many }
    }
}

/// "first", "second" and so on, for a number from 0 on.
pub(super) fn ordinal(number: usize) -> String {
    match number {
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        3 => "fourth".into(),
        4 => "fifth".into(),
        20 | 30 => format!("{}st", number + 1),
        21 | 31 => format!("{}nd", number + 1),
        22 => "23rd".into(),
        _ => format!("{}th", number + 1),
    }
}

/// Appends items separated by commas, the last one by a word.
pub(super) fn push_list<T>(items: &[T], word: &str, text: &mut String, mut push: impl FnMut(&T, &mut String)) {
    for (number, item) in items.iter().enumerate() {
        if number > 0 && number + 1 == items.len() {
            let _ = write!(text, " {word} ");
        } else if number > 0 {
            text.push_str(", ");
        }
        push(item, text);
    }
}

impl<'a> Asked<'a> {
    /// What the meanings of functions ask about the images.
    pub(super) fn facts(&self) -> (&'a SceneSet<'a>, &'a Vocabulary) {
        (self.set, self.vocab)
    }

    /// Appends the name of an object: "the red cube", "the red cube at the lower left of the second image".
    pub(super) fn push_name(&self, object: u64, text: &mut String) {
        let image = self.set.place(object as usize).0;
        let has_place = self.push_name_within(object, text);
        if self.set.n_images() > 1 {
            let _ = write!(text, " {} the {} image", if has_place { "of" } else { "in" }, ordinal(image));
        }
    }

    /// Appends the name that an object has within its image; returns whether it says the object's place.
    pub(super) fn push_name_within(&self, object: u64, text: &mut String) -> bool {
        text.push_str("the ");
        let image = self.facts().image_of(object);
        if let Some(selection) = self.shortest(object, image, object.single()) {
            self.push_values(&self.selected(object, selection), Form::One, text);
            return false;
        }
        let twins = self.alike(object, SELECTIONS[SELECTIONS.len() - 1], image);
        let selection = self.shortest(object, image, twins).unwrap_or_default();
        let here = twins.members().filter(|&other| self.place(other) == self.place(object));
        let here = here.fold(0, |set, other| set | other.single());
        if here == object.single() {
            self.push_values(&self.selected(object, selection), Form::One, text);
        } else {
            self.push_rank(object, here, text);
            let _ = write!(text, " of the {} ", here.n_members());
            self.push_values(&self.selected(object, selection), Form::Many, text);
        }
        let _ = write!(text, " at {}", self.place(object));
        true
    }

    /// The part of its image that the center of an object is in.
    pub(super) fn place(&self, object: u64) -> &'static str {
        let [u, v] = self.pixel(object);
        let third = |pixel: i32, size: u32| (3 * i64::from(pixel) / i64::from(size.max(1))).clamp(0, 2) as usize;
        PLACES[third(v, self.size[1])][third(u, self.size[0])]
    }

    /// Appends values as adjectives, and the noun: "large red metal cube", "small objects".
    pub(super) fn push_values(&self, values: &[(u8, u8)], form: Form, text: &mut String) {
        let name = |&(kind, value): &(u8, u8)| self.vocab.value_name(usize::from(kind), usize::from(value));
        let (noun, adjectives) = match values.split_last() {
            Some((last, rest)) if usize::from(last.0) == SHAPE => (name(last), rest),
            _ => (OBJECT, values),
        };
        for adjective in adjectives {
            text.push_str(name(adjective));
            text.push(' ');
        }
        text.push_str(noun);
        text.push_str(form.choose("", "s"));
    }

    fn pixel(&self, object: u64) -> [i32; 2] {
        let (image, number) = self.set.place(object as usize);
        self.scenes[image].objects[number].pixel
    }

    /// The shortest selection of types whose values, of all objects in `among`, only those in `wanted` share.
    fn shortest(&self, object: u64, among: u64, wanted: u64) -> Option<u8> {
        SELECTIONS.into_iter().find(|&selection| self.alike(object, selection, among) == wanted)
    }

    /// The objects in `among` with an object's values of the selected types.
    fn alike(&self, object: u64, selection: u8, among: u64) -> u64 {
        let values = self.selected(object, selection);
        values.into_iter().fold(among, |set, (kind, value)| set & self.facts().having(kind, value))
    }

    fn selected(&self, object: u64, selection: u8) -> Vec<(u8, u8)> {
        let types = (0..N_TYPES as u8).filter(|kind| selection >> kind & 1 == 1);
        types.map(|kind| (kind, self.facts().value(kind, object))).collect()
    }

    /// Appends where an object stands among its twins, from the left.
    fn push_rank(&self, object: u64, twins: u64, text: &mut String) {
        let key = |object: u64| (self.pixel(object), object);
        let rank = twins.members().filter(|&other| key(other) < key(object)).count();
        match rank {
            0 => text.push_str("leftmost"),
            _ if rank + 1 == twins.n_members() as usize => text.push_str("rightmost"),
            _ => {
                let _ = write!(text, "{} from the left", ordinal(rank));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists_are_spelt_as_in_prose() {
        let numbers = [0, 4, 5, 10, 20, 21, 22, 23, 30].map(ordinal);
        assert_eq!(numbers, ["first", "fifth", "6th", "11th", "21st", "22nd", "23rd", "24th", "31st"]);
        let list = |items: &[&str]| {
            let mut text = String::new();
            push_list(items, "and", &mut text, |item, text| text.push_str(item));
            text
        };
        assert_eq!(
            [list(&[]), list(&["a"]), list(&["a", "b"]), list(&["a", "b", "c"])],
            ["", "a", "a and b", "a, b and c"]
        );
    }

    #[test]
    fn every_selection_of_types_is_tried_after_the_shorter_ones() {
        let mut sorted = SELECTIONS;
        sorted.sort_unstable();
        assert_eq!(sorted, std::array::from_fn::<u8, 16, _>(|selection| selection as u8));
        assert!(SELECTIONS.is_sorted_by_key(|selection| selection.count_ones()));
    }
}
