//! Messages for the author of an entry whose form is wrong.

use crate::message::{json_cause, unknown_name};

/// Rephrases serde's error about a value; adds the known names and the nearest one.
pub(super) fn form_message(error: &serde_json::Error) -> String {
    let cause = json_cause(error);
    if let Some(message) = unknown_name(&cause) {
        return message;
    }
    if let Some(name) = cause.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return format!("the key \"{name}\" is missing");
    }
    if let Some((found, wanted)) = cause.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "))
    {
        let found = match found {
            "map" => "an object",
            "sequence" => "a list",
            other => other,
        };
        let wanted = match wanted {
            "a sequence" => "a list",
            "a map" | "map" => "an object",
            "a string" | "string or map" => "text",
            wanted if wanted.starts_with("struct") => "an object",
            wanted => wanted,
        };
        return format!("{found}, where {wanted} is expected");
    }
    if cause.contains("untagged enum SetOfNode") {
        return "single and alone hold numbers of nodes, or objects such as {\"node\": 2, \"without\": [\"<Z>\"]}"
            .to_owned();
    }
    cause
}
