//! Faulty templates are refused with one sentence that names the file, template, node and remedy.

use crate::world::clevr;
use clevrhope_core::question::TemplateSet;

const GOOD: &str = r#"[
  {"text": ["How many things are <R> the <Z> <C> <M> <S>?"],
   "nodes": [
     {"type": "scene", "inputs": []},
     {"type": "filter_unique", "inputs": [0], "side_inputs": ["<Z>", "<C>", "<M>", "<S>"]},
     {"type": "relate", "inputs": [1], "side_inputs": ["<R>"]},
     {"type": "count", "inputs": [2]}],
   "params": [
     {"type": "Size", "name": "<Z>"}, {"type": "Color", "name": "<C>"}, {"type": "Material", "name": "<M>"},
     {"type": "Shape", "name": "<S>"}, {"type": "Relation", "name": "<R>"}],
   "constraints": [{"type": "NULL", "params": ["<M>"]}, {"type": "OUT_NEQ", "params": [1, 3]}]}
]"#;

fn load(text: &str) -> Result<TemplateSet, String> {
    let files = [("one_hop".to_owned(), text.as_bytes().to_vec())];
    TemplateSet::from_files(&clevr(), &files, &[], ("synonyms.json", b"{}")).map_err(|e| e.to_string())
}

/// The message for the file with one piece replaced.
fn message(piece: &str, by: &str) -> String {
    assert_eq!(GOOD.matches(piece).count(), 1, "{piece}");
    load(&GOOD.replace(piece, by)).map(|_| ()).unwrap_err()
}

#[test]
fn the_unchanged_template_loads() {
    assert_eq!(load(GOOD).unwrap().families().len(), 1);
}

#[test]
fn an_unknown_function_is_named_with_a_near_one() {
    assert_eq!(
        message(r#""type": "count", "inputs": [2]"#, r#""type": "cuont", "inputs": [2]"#),
        r#"one_hop.json[0].nodes[3]: unknown function "cuont" (did you mean "count"?)"#
    );
    assert_eq!(
        message(r#""type": "count", "inputs": [2]"#, r#""type": "unique_images", "inputs": [2]"#),
        r#"one_hop.json[0].nodes[3]: "unique_images" is a function of questions about several images, which have no templates here"#
    );
    let error = message(r#""type": "filter_unique""#, r#""type": "filter_uniqe""#);
    assert_eq!(error, r#"one_hop.json[0].nodes[1]: unknown function "filter_uniqe" (did you mean "filter_unique"?)"#);
}

#[test]
fn broken_json_is_placed_by_line_and_column() {
    let error = message(r#""inputs": [1], "side_inputs": ["<R>"]},"#, r#""inputs": [1], "side_inputs": ["<R>"]"#);
    assert!(error.starts_with("one_hop.json:7:6: "), "{error}");
    let error = message(r#""inputs": [2]"#, r#""inputs": "2""#);
    assert!(error.starts_with("one_hop.json:7:"), "{error}");
    let error = load("").unwrap_err();
    assert!(error.starts_with("one_hop.json:1:0: "), "{error}");
}

#[test]
fn keys_that_nothing_reads_are_refused_by_name() {
    let message = |key: &str, by: &str| message(key, by).replace("one_hop.json:", "");
    assert_eq!(
        message(r#""constraints": ["#, r#""constraint": ["#),
        r#"11:15: unknown key "constraint" (did you mean "constraints"?); known: text, nodes, params, constraints"#
    );
    assert_eq!(
        message(r#""side_inputs": ["<R>"]"#, r#""side_input": ["<R>"]"#),
        r#"6:51: unknown key "side_input" (did you mean "side_inputs"?); known: type, inputs, side_inputs"#
    );
    assert_eq!(
        message(r#""name": "<R>""#, r#""name": "<R>", "wrods": "name""#),
        r#"10:82: unknown key "wrods" (did you mean "words"?); known: type, name, words, value"#
    );
    assert_eq!(
        message(r#""params": ["<M>"]"#, r#""param": ["<M>"]"#),
        r#"11:43: unknown key "param" (did you mean "params"?); known: type, params"#
    );
}

#[test]
fn wrong_inputs_are_named() {
    assert_eq!(
        message(r#""type": "count", "inputs": [2]"#, r#""type": "count", "inputs": [2, 0]"#),
        "one_hop.json[0].nodes[3]: count takes 1 inputs, got 2"
    );
    assert_eq!(
        message(r#""type": "count", "inputs": [2]"#, r#""type": "count", "inputs": [3]"#),
        "one_hop.json[0].nodes[3]: input 3 is not an earlier node"
    );
    assert_eq!(
        message(r#""type": "count", "inputs": [2]"#, r#""type": "count", "inputs": [1]"#),
        "one_hop.json[0].nodes[3]: count takes ObjectSet, but node 1 gives Object"
    );
}

#[test]
fn wrong_parameters_are_named() {
    assert_eq!(
        message(r#""side_inputs": ["<R>"]"#, r#""side_inputs": ["<R2>"]"#),
        r#"one_hop.json[0].nodes[2]: unknown parameter "<R2>" (did you mean "<R>"?)"#
    );
    let error = message(r#"["<Z>", "<C>", "<M>", "<S>"]"#, r#"["<Z>", "<C>", "<S>", "<M>"]"#);
    assert!(error.starts_with("one_hop.json[0].nodes[1]: filter_unique takes the parameters"), "{error}");
    let error = message(r#"["<Z>", "<C>", "<M>", "<S>"]"#, r#"["<Z>", "<C>", "<M>"]"#);
    assert!(error.starts_with("one_hop.json[0].nodes[1]: filter_unique takes the parameters"), "{error}");
    assert_eq!(
        message(r#""type": "Material""#, r#""type": "Materiel""#),
        r#"one_hop.json[0].params[2]: unknown parameter type "Materiel" (did you mean "Material"?)"#
    );
    assert_eq!(
        message(r#""type": "relate", "inputs": [1]"#, r#""type": "verify_color", "inputs": [1]"#),
        "one_hop.json[0].nodes[2]: verify_color takes the parameters [Attribute(1)], got [Relation]"
    );
    assert_eq!(
        message(r#""type": "relate", "inputs": [1]"#, r#""type": "verify_relation", "inputs": [1]"#),
        "one_hop.json[0].nodes[2]: verify_relation takes 2 inputs, got 1"
    );
}

#[test]
fn texts_are_checked() {
    assert!(message("How many", "How [many").starts_with("one_hop.json[0].text[0]: \"[\" without \"]\""));
    assert!(message("How many", "How ]many").starts_with("one_hop.json[0].text[0]: \"]\" without \"[\""));
    assert!(message("How many", "How [ma[ny]]").starts_with("one_hop.json[0].text[0]: \"[\" inside \"[\""));
    assert!(message("the <Z>", "the <Y>").starts_with("one_hop.json[0].text[0]: unknown parameter \"<Y>\""));
    assert!(message("the <Z>", "the <Z").starts_with("one_hop.json[0].text[0]: "));
    assert_eq!(
        message(r#"["How many things are <R> the <Z> <C> <M> <S>?"]"#, "[]"),
        "one_hop.json[0].text: expected 1 to 256 phrasings, got 0"
    );
}

#[test]
fn text_beside_a_parameter_that_may_have_no_word_is_refused() {
    let place = "one_hop.json[0].text[0]: ";
    for (text, token, param, apart) in [
        ("of:<Z>", "of:<Z>", "<Z>", "of: <Z>"),
        ("[the] 几个<Z>", "几个<Z>", "<Z>", "几个 <Z>"),
        ("the <Z>-sized", "<Z>-sized", "<Z>", "<Z> -sized"),
        ("the (<Z>)?", "(<Z>)", "<Z>", "( <Z> )"),
    ] {
        let error = message("the <Z>", text);
        let end = "which some questions have no word for; put a space between them";
        assert_eq!(error, format!("{place}\"{token}\" joins other text to {param}, {end}: \"{apart}\""));
    }
    // The material is never said here, but its text would be.
    assert!(message("<C> <M>", "<C> very<M>").starts_with(&format!("{place}\"very<M>\" joins other text to <M>")));
    let error = message("<C> <M>", "<C><M>");
    assert!(error.starts_with(&format!("{place}two parameters in one word, \"<C><M>\", in ")), "{error}");
    assert!(error.ends_with("; put a space between them"), "{error}");
}

#[test]
fn text_beside_a_parameter_that_has_a_word_and_marks_are_fine() {
    for (piece, by) in [
        ("<S>?", "<S>s?"),
        ("<S>?", "很<S>吗?"),
        ("<S>?", "(<S>)"),
        ("<Z> <C>", "<Z>, <C>"),
        ("<Z> <C>", ",<Z>; <C>."),
        ("<R>", "~<R>~"),
        ("the <Z>", "[the] <Z>[, so]"),
    ] {
        assert_eq!(load(&GOOD.replacen(piece, by, 1)).unwrap().families().len(), 1, "{by}");
    }
    let verify = GOOD.replace(
        r#""type": "relate", "inputs": [1], "side_inputs": ["<R>"]"#,
        r#""type": "verify_color", "inputs": [1], "side_inputs": ["<R>"]"#,
    );
    let verify = verify.replace(r#""type": "count", "inputs": [2]"#, r#""type": "not", "inputs": [2]"#);
    let verify = verify.replace(r#"{"type": "Relation", "name": "<R>"}"#, r#"{"type": "Color", "name": "<R>"}"#);
    assert_eq!(load(&verify.replace("things are <R> the", "-<R>-")).unwrap().families().len(), 1);
}

#[test]
fn constraints_are_checked() {
    assert_eq!(
        message(r#"["<M>"]}"#, r#"["<R>"]}"#),
        r#"one_hop.json[0].constraints[0]: "<R>" always has a value, so it cannot be NULL"#
    );
    assert_eq!(
        message(r#""NULL""#, r#""NUL""#),
        r#"one_hop.json[0].constraints[0]: unknown constraint "NUL" (did you mean "NULL"?)"#
    );
    assert!(
        message("[1, 3]", "[1, 4]").starts_with("one_hop.json[0].constraints[1]: OUT_NEQ names a parameter or node")
    );
    assert!(message("[1, 3]", "[1]").starts_with("one_hop.json[0].constraints[1]: OUT_NEQ with 1 parameters"));
}

#[test]
fn a_template_gives_an_answer_and_a_folder_a_template() {
    let error = message(",\n     {\"type\": \"count\", \"inputs\": [2]}", "");
    assert!(error.starts_with("one_hop.json[0].nodes: the last node gives no answer"), "{error}");
    assert!(load("[]").unwrap_err().contains("no templates"));
}

#[test]
fn synonyms_are_checked() {
    let files = [("one_hop".to_owned(), GOOD.as_bytes().to_vec())];
    let error = |synonyms: &str| {
        TemplateSet::from_files(&clevr(), &files, &[], ("synonyms.json", synonyms.as_bytes())).unwrap_err().to_string()
    };
    assert!(error("{\"cube\": [}").starts_with("synonyms.json:1:11: "), "{}", error("{\"cube\": [}"));
    assert_eq!(error(r#"{"cube": []}"#), "synonyms.json: \"cube\" has no words, or an empty one");
}
