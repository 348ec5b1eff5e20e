//! Parts of error messages: shortened values, suggested names, causes of JSON errors.

use std::borrow::Cow;

/// Maximum number of characters of a value that a message shows.
pub const MAX_SHOWN: usize = 200;
/// How many characters of a longer value are shown from its start, and from its end.
const SHOWN_ENDS: [usize; 2] = [140, 55];
/// Replaces the characters in between.
const LEFT_OUT: &str = " ... ";
/// Longer names are not compared: nobody who means a name writes this many characters.
const MAX_COMPARED: usize = 256;

/// A value for a message: unprintable characters are escaped, and a value longer than `MAX_SHOWN` loses its middle.
pub fn shown(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1;
    if text.len() <= MAX_SHOWN && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    // Escapes only lengthen the text, so characters beyond these are never shown.
    let whole: String = text.chars().take(MAX_SHOWN + 1).map(escaped).collect();
    if whole.len() <= MAX_SHOWN || whole.chars().count() <= MAX_SHOWN {
        return Cow::Owned(whole);
    }
    let [first, last] = SHOWN_ENDS;
    let mut end: Vec<char> = Vec::with_capacity(last);
    for c in text.chars().rev() {
        let escape = escaped(c);
        if end.len() + escape.chars().count() > last {
            break;
        }
        end.extend(escape.chars().rev());
    }
    let begin = whole.chars().take(first);
    Cow::Owned(begin.chain(LEFT_OUT.chars()).chain(end.into_iter().rev()).collect())
}

/// Names as a list for a message, shortened like a single value.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    shown(&names.join(", ")).into_owned()
}

/// ` (did you mean "x"?)` when a candidate is close to `name`, otherwise nothing; worded to end a sentence.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let length = |text: &str| text.chars().take(MAX_COMPARED + 1).count();
    let n = length(name);
    if n > MAX_COMPARED {
        return String::new();
    }
    let farthest = |candidate: &str| 1 + candidate.len() / 4;
    candidates
        .into_iter()
        .filter(|candidate| length(candidate) <= MAX_COMPARED && length(candidate).abs_diff(n) <= farthest(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= farthest(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| format!(" (did you mean \"{}\"?)", shown(candidate)))
        .unwrap_or_default()
}

/// The message for any JSON file that does not parse: file, line, column and cause.
pub fn json_message(file: &str, error: &serde_json::Error) -> String {
    format!("{file}:{}:{}: {}", error.line(), error.column(), json_cause(error))
}

/// The cause of a JSON error, without its place.
pub fn json_cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // A quoted value may contain these words too; the parser's own come last.
    let cause = text.rsplit_once(" at line ").map_or(text.as_str(), |(cause, _)| cause);
    shown(cause).into_owned()
}

/// Rephrases the cause of a JSON error about an unknown key or value: adds those that are known, and the nearest.
pub fn unknown_name(cause: &str) -> Option<String> {
    for (begin, what) in [("unknown field `", "unknown key"), ("unknown variant `", "unknown value")] {
        if let Some((name, expected)) = cause.strip_prefix(begin).and_then(|rest| rest.split_once('`')) {
            let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
            let hint = suggestion(name, known.iter().copied());
            return Some(format!("{what} \"{}\"{hint}; known: {}", shown(name), known.join(", ")));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["rubber_cylinder", "metal_cube"];
        assert_eq!(suggestion("rubber_cilinder", names), " (did you mean \"rubber_cylinder\"?)");
        assert_eq!(suggestion("banana", names), "");
    }

    #[test]
    fn a_long_name_is_compared_with_none() {
        let long = "x".repeat(10_000_000);
        assert_eq!(suggestion(&long, ["metal_cube"]), "");
        assert_eq!(suggestion("metal_cub", [long.as_str(), "metal_cube"]), " (did you mean \"metal_cube\"?)");
        assert_eq!(suggestion(&"x".repeat(100), ["metal_cube"]), "");
    }

    #[test]
    fn values_are_shown_short_and_without_control_characters() {
        assert_eq!(shown("sky \"blue\" \\ ä"), "sky \"blue\" \\ ä");
        assert_eq!(shown("a\u{1b}[31m\n\u{202e}b"), "a\\u{1b}[31m\\n\\u{202e}b");
        assert_eq!(shown(&"x".repeat(MAX_SHOWN)), "x".repeat(MAX_SHOWN));
        for text in ["ab".repeat(50_000), "é".repeat(201), "\0".repeat(100_000), "é\n".repeat(150)] {
            let short = shown(&text);
            assert!(short.chars().count() <= MAX_SHOWN, "{short}");
            assert!(short.contains(LEFT_OUT) && !short.contains('\0'), "{short}");
        }
        assert_eq!(listed(&["red", "blue"]), "red, blue");
    }

    #[test]
    fn the_cause_of_a_json_fault_is_short() {
        let json = format!("{{\"a\": \"{} at line 3\"}}", "x".repeat(100_000));
        let error = serde_json::from_str::<std::collections::BTreeMap<String, u8>>(&json).unwrap_err();
        let message = json_message("a.json", &error);
        assert!(message.len() < 260, "{message}");
        assert!(message.starts_with("a.json:1:100018: invalid type: string \"xxx"), "{message}");
        assert!(message.ends_with("x at line 3\", expected u8"), "{message}");
    }
}
