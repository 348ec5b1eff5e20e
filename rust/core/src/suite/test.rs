//! The tests of a suite, prepared for the families of a dataset.

use super::condition::Condition;
use super::entry::{Entry, N_CELLS, NextNode, RawRelation, Sides, Tier, WordingRule, read_entries};
use super::error::SuiteError;
use super::expression::Expression;
use super::own_family::check_own;
use crate::message::{shown, suggestion};
use crate::program::Function;
use crate::question::param::{Param, ParamKind, find_param};
use crate::question::plan::Plan;
use crate::question::template::{Family, RawNode, RawParam, RawTemplate, TemplateError, TemplateSet, read_templates};
use crate::vocab::{Answer, Vocabulary};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A paired test: originals of some families, each with a partner.
#[derive(Clone, Debug)]
pub struct PairTest {
    pub name: String,
    pub tier: Tier,
    /// The question type by which scores are grouped; may be empty.
    pub kind: String,
    pub(super) sides: Sides,
    /// The test with whose partners its own are compared.
    pub control_of: Option<String>,
    /// By source family; the first case whose condition an original meets applies.
    pub(super) cases: BTreeMap<u16, Vec<Case>>,
}

impl PairTest {
    /// Whether answers or values of its pairs are balanced.
    pub(super) fn is_balanced(&self) -> bool {
        let mut cases = self.cases.values().flatten();
        cases.any(|case| case.is_balanced() || case.relation == RelationRule::Positive)
    }
}

/// A test on the questions of one family.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Names the entry in messages.
    pub place: String,
    /// The family of the partners.
    pub target: u16,
    /// One for each of the target's parameters.
    pub values: Vec<Expression>,
    pub condition: Condition,
    pub wording: WordingRule,
    pub relation: RelationRule,
    /// The cells that its pairs may be in, by number.
    pub cells: [bool; N_CELLS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelationRule {
    Same,
    Flip,
    Positive,
    /// Whether the answer is the value of this parameter of the target.
    Is(u8),
}

/// The tests of a suite, for one set of templates.
#[derive(Clone, Debug)]
pub struct Suite {
    pub name: String,
    pub tests: Vec<PairTest>,
    /// The dataset's templates, then the suite's own templates of originals, and then the families that entries make.
    pub templates: Arc<TemplateSet>,
    /// The number of the dataset's families; `n_of_originals` also counts the suite's own families of originals.
    pub(super) n_of_dataset: usize,
    pub(super) n_of_originals: usize,
}

/// Maximum number of tests of a suite; a name is compared with those of all tests before it.
const MOST_TESTS: usize = 4_096;
/// The file in a suite that has templates of originals that no dataset has.
const ORIGINALS: &str = "originals";

impl Suite {
    /// Reads the files of a suite, which are lists of entries, for the templates of a dataset, given both as files and
    /// as a set. `subjects` maps a family, such as "one_hop 3", to noun phrases that replace `{X}` in texts.
    ///
    /// # Errors
    /// Names the file, the entry and the place in it.
    pub fn new(
        name: &str,
        files: &[(String, Vec<u8>)],
        subjects: &BTreeMap<String, Vec<String>>,
        templates: &TemplateSet,
        template_files: &[(String, Vec<u8>)],
        vocab: &Vocabulary,
    ) -> Result<Self, SuiteError> {
        let mut sources = BTreeMap::new();
        for (file, bytes) in template_files {
            for (place, template) in read_templates(&format!("{file}.json"), bytes)?.into_iter().enumerate() {
                sources.insert((file.clone(), place as u32), template);
            }
        }
        let words = templates.words().into_iter().collect();
        let functions = templates.functions();
        let n_of_dataset = templates.families().len();
        let mut own_originals = Vec::new();
        for (file, bytes) in files.iter().filter(|(file, _)| file == ORIGINALS) {
            if templates.families().iter().any(|family| family.file == ORIGINALS) {
                let problem = "the dataset's templates have a file of this name".to_owned();
                return Err(SuiteError::entry(&format!("{file}.json"), problem));
            }
            let originals = read_templates(&format!("{file}.json"), bytes)?;
            if n_of_dataset + originals.len() > usize::from(u16::MAX) {
                let problem = format!(
                    "{} families and the dataset's {n_of_dataset}; at most {} in all are read",
                    originals.len(),
                    u16::MAX
                );
                return Err(SuiteError::entry(&format!("{file}.json"), problem));
            }
            for (place, template) in originals.into_iter().enumerate() {
                sources.insert((ORIGINALS.to_owned(), place as u32), template.clone());
                let mut family = template.family(&format!("{file}.json[{place}]"))?;
                (family.file, family.index_in_file) = (format!("suites/{name}/{ORIGINALS}"), place as u32);
                own_originals.push(family);
            }
        }
        let templates = &templates.extended(own_originals);
        let n_of_originals = templates.families().len();
        let own = Vec::new();
        let mut reader =
            SuiteReader { name, templates, n_of_dataset, vocab, sources, subjects, words, functions, own, entry: 0 };
        let mut tests: Vec<PairTest> = Vec::new();
        for (file, bytes) in files.iter().filter(|(file, _)| file != ORIGINALS) {
            for (i, entry) in read_entries(&format!("{file}.json"), bytes)?.iter().enumerate() {
                let place = format!("{file}.json[{i}]");
                reader.entry = i as u32;
                reader.add(entry, &place, &mut tests)?;
            }
        }
        if tests.is_empty() {
            return Err(SuiteError::entry(name, "contains no tests".to_owned()));
        }
        check_controls(&tests, name)?;
        let templates = Arc::new(templates.extended(reader.own));
        Ok(Self { name: name.to_owned(), tests, templates, n_of_dataset, n_of_originals })
    }
}

impl Suite {
    /// The plans of the families that originals can have, by family number.
    pub fn plans(&self, vocab: &Vocabulary) -> Vec<Plan> {
        self.templates.families()[..self.n_of_originals].iter().map(|family| Plan::new(family, vocab)).collect()
    }
}

/// Checks that the suite has the test with which each control is compared.
fn check_controls(tests: &[PairTest], suite: &str) -> Result<(), SuiteError> {
    for test in tests {
        let Some(name) = &test.control_of else { continue };
        let others = || tests.iter().filter(|other| other.name != test.name).map(|other| other.name.as_str());
        if !others().any(|other| other == name) {
            let problem = format!("control_of: no other test \"{}\"{}", shown(name), suggestion(name, others()));
            return Err(SuiteError::entry(&format!("{suite}: {}", test.name), problem));
        }
    }
    Ok(())
}

fn words_of(family: &Family, templates: &TemplateSet) -> Vec<String> {
    family.phrasings.iter().flat_map(|phrasing| phrasing.words(&family.params, templates.lexicon())).collect()
}

/// Reads entries for one set of templates.
struct SuiteReader<'a> {
    name: &'a str,
    /// The dataset's templates, and then the suite's own templates of originals.
    templates: &'a TemplateSet,
    n_of_dataset: usize,
    vocab: &'a Vocabulary,
    /// The raw templates, by file and number in the file.
    sources: BTreeMap<(String, u32), RawTemplate>,
    subjects: &'a BTreeMap<String, Vec<String>>,
    words: BTreeSet<String>,
    /// The functions in the dataset's questions.
    functions: Vec<Function>,
    /// The families that entries make.
    own: Vec<Family>,
    /// The number of the entry in its file.
    entry: u32,
}

impl<'a> SuiteReader<'a> {
    fn add(&mut self, entry: &Entry, place: &str, tests: &mut Vec<PairTest>) -> Result<(), SuiteError> {
        let fault = |problem: String| SuiteError::entry(place, problem);
        let is_name_character = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if entry.test.is_empty() || !entry.test.chars().all(is_name_character) {
            let name = shown(&entry.test);
            return Err(fault(format!("test: \"{name}\" cannot be the name of a test; use letters, digits, - and _")));
        }
        let number = match tests.iter().position(|test| test.name == entry.test) {
            Some(number) => number,
            None if tests.len() == MOST_TESTS => return Err(fault(format!("more than {MOST_TESTS} tests in a suite"))),
            None => {
                tests.push(PairTest {
                    name: entry.test.clone(),
                    tier: entry.tier,
                    kind: entry.kind.clone(),
                    sides: entry.sides,
                    control_of: entry.control_of.clone(),
                    cases: BTreeMap::new(),
                });
                tests.len() - 1
            }
        };
        let test = &mut tests[number];
        let own = (test.tier, &test.kind, test.sides, &test.control_of);
        if own != (entry.tier, &entry.kind, entry.sides, &entry.control_of) {
            let name = shown(&entry.test);
            return Err(fault(format!("the entries of \"{name}\" have different tiers, types, sides or controls")));
        }
        if entry.sides == Sides::Coin && !matches!(entry.relation, RawRelation::Same | RawRelation::Flip) {
            return Err(fault("sides: a coin needs a relation that holds both ways, same or flip".to_owned()));
        }
        if entry.sides == Sides::Coin && !entry.cell.is_empty() {
            return Err(fault("cell: where a coin decides on sides, nobody knows the cell before".to_owned()));
        }
        if entry.source.is_empty() {
            return Err(fault("source: names no family".to_owned()));
        }
        for name in &entry.source {
            for family in self.families(name).map_err(|problem| fault(format!("source: {problem}")))? {
                if family.index as usize >= self.n_of_dataset {
                    self.check_words(entry, family, "source").map_err(fault)?;
                }
                let case = self.case(entry, family, place)?;
                let partner = self.family(usize::from(case.target));
                if [family, partner].into_iter().any(|each| each.asks_of_one_value(self.vocab).is_some()) {
                    continue;
                }
                test.cases.entry(family.index as u16).or_default().push(case);
            }
        }
        Ok(())
    }

    /// The families that a name stands for: "one_hop 3"; "one_hop", all of a file; "all", all of the dataset.
    fn families(&self, name: &str) -> Result<Vec<&'a Family>, String> {
        let templates = self.templates;
        let all = || templates.families().iter();
        let is_of_dataset = |family: &Family| (family.index as usize) < self.n_of_dataset;
        let is_meant = |family: &&Family| {
            name == "all" && is_of_dataset(family) || name == file_of(family) || name == name_of(family)
        };
        let found: Vec<&'a Family> = all().filter(is_meant).collect();
        if found.is_empty() {
            let file = name.rsplit_once(' ').map_or("", |(file, _)| file);
            if let Some(last) = all().filter(|family| file_of(family) == file).map(|family| family.index_in_file).max()
            {
                return Err(format!("unknown family \"{}\"; {file} has the families 0 to {last}", shown(name)));
            }
            let files = all().map(|family| file_of(family).to_owned());
            let names: Vec<String> = all().map(name_of).chain(files).collect();
            let hint = suggestion(name, names.iter().map(String::as_str));
            return Err(format!("unknown family \"{}\"{hint}", shown(name)));
        }
        Ok(found)
    }

    /// The family of this number, known or made by an entry.
    fn family(&self, number: usize) -> &Family {
        let known = self.templates.families();
        known.get(number).unwrap_or_else(|| &self.own[number - known.len()])
    }

    fn case(&mut self, entry: &Entry, source: &Family, place: &str) -> Result<Case, SuiteError> {
        let fault = |at: &str, problem: String| SuiteError::entry(&format!("{place}.{at}"), problem);
        let target = self.target(entry, source, place)?;
        let family = self.family(target);
        let change = of_each_type(&entry.change);
        for name in change.keys() {
            find_param(&family.params, name).map_err(|problem| fault("change", problem))?;
        }
        let value = |param: &Param| match change.get(&param.name) {
            None if param.fixed.is_some() => Ok(param.fixed.map_or(Expression::Unset, Expression::Value)),
            Some(raw) => Expression::read(raw, param.kind, &source.params, self.vocab)
                .map_err(|problem| fault(&format!("change.{}", param.name), problem)),
            None => match source.param(&param.name) {
                Some(place) if source.params[usize::from(place)].kind == param.kind => Ok(Expression::Param(place)),
                _ => {
                    let (name, source) = (&param.name, name_of(source));
                    Err(fault("change", format!("no value for \"{name}\", a parameter that {source} does not have")))
                }
            },
        };
        let values: Vec<Expression> = family.params.iter().map(value).collect::<Result<_, _>>()?;
        for (param, expression) in family.params.iter().zip(&values) {
            if expression.is_of_answer() && source.output() != param.kind.values() {
                let (source, output) = (name_of(source), source.output());
                let problem = format!("the answer of {source} is of the type {output}; this parameter is not");
                return Err(fault(&format!("change.{}", param.name), problem));
            }
        }
        let foils: Vec<&Expression> = values.iter().filter(|value| value.needs_foil()).collect();
        let is_fine = match foils.as_slice() {
            [] | [Expression::AnswerOrFoil] => true,
            [one] => one.is_drawn(),
            [a, b] => **a != **b && !a.is_drawn() && !b.is_drawn(),
            _ => false,
        };
        if !is_fine {
            let problem = "expected one foil, or one coin of answer and foil and one of foil and answer";
            return Err(fault("change", problem.to_owned()));
        }
        if entry.wording == WordingRule::Phrasing && family.phrasings.len() < 2 {
            return Err(fault("wording", format!("{} has only one phrasing", name_of(family))));
        }
        if entry.wording != WordingRule::Keep && target != source.index as usize {
            return Err(fault("wording", "is for partners of the original's own family".to_owned()));
        }
        let relation = match &entry.relation {
            RawRelation::Same => RelationRule::Same,
            RawRelation::Flip => RelationRule::Flip,
            RawRelation::Positive => RelationRule::Positive,
            RawRelation::Is(name) => {
                let param = find_param(&family.params, name).map_err(|problem| fault("relation", problem))?;
                if family.params[usize::from(param)].kind == ParamKind::Relation {
                    return Err(fault("relation", format!("\"{}\" is a relation, not an answer", shown(name))));
                }
                RelationRule::Is(param)
            }
        };
        let mut condition =
            Condition::read(&entry.when, source, self.vocab).map_err(|problem| fault("when", problem))?;
        // If a type has three or more values, an object that lacks one value need not have the other value drawn.
        if relation == RelationRule::Flip && values.iter().any(|value| matches!(value, Expression::Another(_))) {
            condition.answers = vec![Answer::Bool(true)];
        }
        let cells =
            std::array::from_fn(|cell| entry.cell.is_empty() || entry.cell.iter().any(|own| own.number() == cell));
        let place = place.to_owned();
        let target = target as u16;
        let case = Case { place, target, values, condition, wording: entry.wording, relation, cells };
        if !entry.cell.is_empty() && (case.is_balanced() || relation == RelationRule::Positive) {
            return Err(fault("cell", "is for tests whose answers are not balanced".to_owned()));
        }
        Ok(case)
    }

    /// The number of the family of an entry's partners, which is made if it does not exist.
    fn target(&mut self, entry: &Entry, source: &Family, place: &str) -> Result<usize, SuiteError> {
        let fault = |problem: String| SuiteError::entry(place, problem);
        if let Some(name) = &entry.family {
            let found = self.families(name).map_err(|problem| fault(format!("family: {problem}")))?;
            return match found.as_slice() {
                [family] if entry.text.is_empty() && entry.then.is_empty() => Ok(family.index as usize),
                [family] => self.own(entry, family, &name_of(source), place),
                _ => Err(fault(format!("family: \"{}\" is more than one family", shown(name)))),
            };
        }
        if entry.then.is_empty() && entry.text.is_empty() {
            if !entry.params.is_empty() {
                return Err(fault("params: nothing takes them; they go with \"then\"".to_owned()));
            }
            return Ok(source.index as usize);
        }
        self.own(entry, source, &name_of(source), place)
    }

    /// Makes a family for an entry from the nodes of a known family, and returns its number.
    fn own(&mut self, entry: &Entry, base: &Family, source: &str, place: &str) -> Result<usize, SuiteError> {
        let fault = |problem: String| SuiteError::entry(place, problem);
        let number = self.templates.families().len() + self.own.len();
        if number > usize::from(u16::MAX) {
            return Err(fault(format!("more than {} families in all", u16::MAX)));
        }
        let raw = self.sources.get(&(file_of(base).to_owned(), base.index_in_file));
        let mut raw = raw.cloned().ok_or_else(|| fault(format!("no template of {}", name_of(base))))?;
        follow(&mut raw, &entry.then).map_err(|problem| fault(format!("then: {problem}")))?;
        let n_known = [raw.nodes.len() - entry.then.len(), raw.params.len()];
        raw.params.extend(entry.params.iter().map(|param| RawParam { value: None, ..param.clone() }));
        raw.text = self.texts(entry, source).map_err(fault)?;
        let texts = raw.text.clone();
        let mut family = raw.family(place).map_err(|error| in_entry(error, place, n_known))?;
        for (number, (param, own)) in family.params[n_known[1]..].iter_mut().zip(&entry.params).enumerate() {
            param.fixed = self.fixed(param, own).map_err(|problem| fault(format!("params[{number}]: {problem}")))?;
        }
        family.index_in_file = self.entry;
        family.file = format!("suites/{}/{}", self.name, place.split_once(".json").map_or(place, |(file, _)| file));
        check_own(entry, &family, &texts, &self.functions).map_err(fault)?;
        self.check_words(entry, &family, "text").map_err(fault)?;
        self.own.push(family);
        Ok(number)
    }

    /// The value of a parameter that texts do not name.
    fn fixed(&self, param: &Param, raw: &RawParam) -> Result<Option<u8>, String> {
        match (&raw.value, param.kind) {
            (None, _) => Ok(None),
            (Some(name), ParamKind::Attribute(kind)) => {
                self.vocab.known_value(usize::from(kind), name).map(Some).map_err(|error| error.to_string())
            }
            (Some(_), _) => Err("value: only a parameter of an attribute type has one".to_owned()),
        }
    }

    /// Checks that an in-distribution test only has words of the dataset's questions; `at` names the texts in messages.
    fn check_words(&self, entry: &Entry, family: &Family, at: &str) -> Result<(), String> {
        let words = if entry.tier == Tier::In { words_of(family, self.templates) } else { Vec::new() };
        words.iter().find(|word| !self.words.contains(*word)).map_or(Ok(()), |word| {
            Err(format!(
                "{at}: \"{}\" is not a word of the dataset's questions, as a test in distribution needs",
                shown(word)
            ))
        })
    }

    /// The entry's texts, with `{X}` replaced by each of the source's noun phrases.
    fn texts(&self, entry: &Entry, source: &str) -> Result<Vec<String>, String> {
        if entry.text.is_empty() {
            return Err("text: \"then\" needs texts".to_owned());
        }
        let mut texts = Vec::new();
        for (number, text) in entry.text.iter().enumerate() {
            if text.contains("{X}") {
                let subjects = self.subjects.get(source);
                let subjects = subjects.ok_or_else(|| {
                    format!("text[{number}] has \"{{X}}\", but subjects.json has no noun phrases for {source}")
                })?;
                texts.extend(subjects.iter().map(|subject| text.replace("{X}", subject)));
            } else {
                texts.push(text.clone());
            }
        }
        Ok(texts)
    }
}

/// Changes of parameters, with `<*2>` expanded for each attribute type: `<Z2>`, `<C2>`, `<M2>` and `<S2>`.
fn of_each_type(change: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut written = BTreeMap::new();
    for (name, value) in change {
        if !name.starts_with("<*") {
            written.insert(name.clone(), value.clone());
            continue;
        }
        for letter in ["<Z", "<C", "<M", "<S"] {
            let value = match value {
                Value::String(text) => Value::from(text.replace("<*", letter)),
                value => value.clone(),
            };
            written.insert(name.replace("<*", letter), value);
        }
    }
    written
}

/// Appends nodes to a template, and removes its last node unless an appended node takes it as "last"; "asked" is the
/// input of that last node, and "previous" the node appended before.
fn follow(template: &mut RawTemplate, then: &[NextNode]) -> Result<(), String> {
    let is = |name: &str, input: &Value| input.as_str() == Some(name);
    let Some(last) = template.nodes.last() else { return Ok(()) };
    let asked = last.inputs.first().copied();
    if !then.is_empty() && !then.iter().flat_map(|node| &node.inputs).any(|input| is("last", input)) {
        template.nodes.pop();
    }
    let first = template.nodes.len();
    for (number, node) in then.iter().enumerate() {
        let input = |input: &Value| match input {
            _ if is("previous", input) && number > 0 => Ok(first + number - 1),
            _ if is("last", input) => Ok(first.saturating_sub(1)),
            _ if is("asked", input) => asked.ok_or_else(|| "the source's last node has no input".to_owned()),
            Value::Number(number) => {
                number.as_u64().map(|number| number as usize).ok_or_else(|| format!("{number} is not a node"))
            }
            other => {
                let names = "\"last\", \"asked\", \"previous\" (of a second node) or a number";
                Err(format!("{} is not a node; expected {names}", shown(&other.to_string())))
            }
        };
        let inputs = node.inputs.iter().map(input).collect::<Result<_, _>>()?;
        template.nodes.push(RawNode { kind: node.kind.clone(), inputs, side_inputs: node.side_inputs.clone() });
    }
    Ok(())
}

/// Changes the place in an error about a family that an entry makes to the place in the entry; `n_known` counts the
/// nodes and parameters that come from the known family.
fn in_entry(error: TemplateError, entry: &str, n_known: [usize; 2]) -> TemplateError {
    let TemplateError::Invalid { mut place, problem } = error else { return error };
    for ((list, own), n_known) in [(".nodes[", "then"), (".params[", "params")].into_iter().zip(n_known) {
        let number = place.strip_prefix(entry).and_then(|rest| rest.strip_prefix(list));
        if let Some((number, rest)) = number.and_then(|number| number.split_once(']'))
            && let Some(number) = number.parse::<usize>().ok().and_then(|number| number.checked_sub(n_known))
        {
            place = format!("{entry}.{own}[{number}]{rest}");
        }
    }
    TemplateError::Invalid { place, problem }
}

/// The name of a family in entries.
fn name_of(family: &Family) -> String {
    format!("{} {}", file_of(family), family.index_in_file)
}

/// The name of a family's file in entries, without the folder of a suite.
fn file_of(family: &Family) -> &str {
    family.file.rsplit('/').next().unwrap_or(&family.file)
}
