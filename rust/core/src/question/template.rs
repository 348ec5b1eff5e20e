//! Question families, as CLEVR's template files define them: nodes, parameters, constraints, phrasings.
//!
//! The format is that of the CLEVR generator (Johnson et al. 2017): a file is a list of templates,
//! each with `text`, `nodes`, `params` and `constraints`.

use crate::json::read_unique;
use crate::message::{json_cause, json_message, shown, suggestion, unknown_name};
use crate::program::catalogue::{Argument, Effect, Function, Origin, Type};
use crate::question::lexicon::{Lexicon, SHAPE};
use crate::question::param::{MAX_PARAMS, Param, ParamKind, find_param};
use crate::question::phrasing::Phrasing;
use crate::vocab::{N_TYPES, TYPE_NAMES, Vocabulary};
use serde::Deserialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Maximum number of nodes of a template; the search keeps its state in arrays of this size.
pub const MAX_NODES: usize = 16;
/// Maximum number of phrasings of a family: readers number them in 8 bits.
const MOST_PHRASINGS: usize = 256;
/// Maximum number of raw `relate` nodes of a template: the degeneracy test needs a separate evaluation for each.
pub const MAX_RELATES: usize = 4;

#[derive(Debug, Error)]
pub enum TemplateError {
    #[error("{0}")]
    Json(String),
    #[error("{place}: {problem}")]
    Invalid { place: String, problem: String },
}

/// What a macro does with the set that its filters leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    Set,
    Unique,
    Count,
    Exist,
}

/// What a template's node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A function without a parameter.
    Plain(Function),
    /// `relate`, whose relation is a parameter.
    Relate,
    /// A function whose argument is a parameter, such as `filter_<type>`, `verify_<type>` or `count_is`.
    Apply(Function),
    /// `filter*`: any combination of values, then the tail.
    Filter(Tail),
    /// `relate_filter*`: a relation, any combination of values, then the tail.
    RelateFilter(Tail),
}

#[derive(Clone, Debug)]
pub struct TemplateNode {
    pub kind: NodeKind,
    pub inputs: Vec<u8>,
    /// Indices into `Family::params`, the relation first if there is one.
    pub params: Vec<u8>,
    pub output: Type,
}

impl TemplateNode {
    /// Whether it takes this parameter, which may be without a value.
    fn may_leave_unset(&self, param: usize) -> bool {
        matches!(self.kind, NodeKind::Filter(_) | NodeKind::RelateFilter(_))
            && self.params.iter().any(|&own| usize::from(own) == param)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// The parameter stays unset.
    Null(u8),
    /// The two nodes' outputs differ.
    OutputsDiffer(u8, u8),
    /// The two parameters are equal, or one has no value yet (CLEVR's "NEQ" as its code implements it).
    Equal(u8, u8),
}

/// One template: a question family.
#[derive(Clone, Debug)]
pub struct Family {
    pub file: String,
    pub index_in_file: u32,
    /// The family's number over all files, CLEVR's `question_family_index`.
    pub index: u32,
    pub params: Vec<Param>,
    pub nodes: Vec<TemplateNode>,
    pub constraints: Vec<Constraint>,
    pub phrasings: Vec<Phrasing>,
}

impl Family {
    /// The type of the answers.
    pub fn output(&self) -> Type {
        self.nodes.last().map_or(Type::Set, |node| node.output)
    }

    /// An attribute type of which the vocabulary has one value, and whose values the family asks for or compares. Its
    /// questions would have an answer that is known without an image, or a step that says nothing, so none are made.
    pub fn asks_of_one_value(&self, vocab: &Vocabulary) -> Option<u8> {
        let asked = self.nodes.iter().filter_map(|node| match node.kind {
            NodeKind::Plain(function) | NodeKind::Apply(function) => function.asked_type(),
            NodeKind::Relate | NodeKind::Filter(_) | NodeKind::RelateFilter(_) => None,
        });
        asked.into_iter().find(|&kind| vocab.n_values(usize::from(kind)) == 1)
    }
}

/// All families of a folder of templates, with the words that they use.
#[derive(Clone, Debug)]
pub struct TemplateSet {
    families: Vec<Family>,
    lexicon: Lexicon,
    fingerprint: String,
}

/// A template as it is in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawTemplate {
    pub text: Vec<String>,
    pub nodes: Vec<RawNode>,
    pub params: Vec<RawParam>,
    #[serde(default)]
    pub constraints: Vec<RawConstraint>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawNode {
    #[serde(rename = "type")]
    pub kind: String,
    pub inputs: Vec<usize>,
    #[serde(default)]
    pub side_inputs: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawParam {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    /// Which words its values take; if not given, all of the lexicon's.
    #[serde(default)]
    pub words: Option<Words>,
    /// The only value, which texts do not name; for entries of suites alone.
    #[serde(default)]
    pub value: Option<String>,
}

/// The words of a parameter's values. CLEVR's format does not have this key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Words {
    /// Only the value's name.
    Name,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawConstraint {
    #[serde(rename = "type")]
    pub kind: String,
    pub params: Vec<serde_json::Value>,
}

impl RawTemplate {
    /// The template's family, without its file and numbers; `place` names it in messages.
    ///
    /// # Errors
    /// Names what is wrong with the template, and where.
    pub(crate) fn family(self, place: &str) -> Result<Family, TemplateError> {
        Reader { place: place.to_owned() }.family(self)
    }
}

/// The templates of a file.
///
/// # Errors
/// `Json` names the file, line and column.
pub(crate) fn read_templates(file: &str, bytes: &[u8]) -> Result<Vec<RawTemplate>, TemplateError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let cause = json_cause(&error);
        let cause = unknown_name(&cause).unwrap_or(cause);
        TemplateError::Json(format!("{file}:{}:{}: {cause}", error.line(), error.column()))
    })
}

impl TemplateSet {
    /// Reads template files, given as (name without folder or suffix, bytes).
    ///
    /// Families are numbered across files in the order of `order` (CLEVR v1.0's order for its nine files); other files
    /// follow in alphabetical order. `synonyms` is a JSON object that maps a value, relation or "thing" to the words
    /// for it.
    pub fn from_files(
        vocab: &Vocabulary,
        files: &[(String, Vec<u8>)],
        order: &[String],
        synonyms: (&str, &[u8]),
    ) -> Result<Self, TemplateError> {
        let words: BTreeMap<String, Vec<String>> =
            serde_json::from_slice(synonyms.1).map_err(|e| TemplateError::Json(json_message(synonyms.0, &e)))?;
        read_unique(synonyms.1, synonyms.0).map_err(TemplateError::Json)?;
        let lexicon = Lexicon::new(vocab, words)
            .map_err(|problem| TemplateError::Invalid { place: synonyms.0.to_owned(), problem })?;
        let rank = |name: &str| order.iter().position(|o| o == name).unwrap_or(order.len());
        let mut sorted: Vec<&(String, Vec<u8>)> = files.iter().collect();
        sorted.sort_by(|a, b| (rank(&a.0), &a.0).cmp(&(rank(&b.0), &b.0)));
        let mut hasher = blake3::Hasher::new();
        let mut families = Vec::new();
        for (name, bytes) in sorted {
            let file = format!("{name}.json");
            let raw = read_templates(&file, bytes)?;
            if families.len() + raw.len() > usize::from(u16::MAX) {
                let problem = format!("over {} families in all files", u16::MAX);
                return Err(TemplateError::Invalid { place: file, problem });
            }
            for (index_in_file, template) in raw.into_iter().enumerate() {
                let mut family = template.family(&format!("{file}[{index_in_file}]"))?;
                family.file = name.clone();
                family.index_in_file = index_in_file as u32;
                family.index = families.len() as u32;
                families.push(family);
            }
            hasher.update(name.as_bytes()).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        hasher.update(synonyms.1);
        if families.is_empty() {
            let problem = "no templates in it".to_owned();
            return Err(TemplateError::Invalid { place: "templates".to_owned(), problem });
        }
        Ok(Self { families, lexicon, fingerprint: hasher.finalize().to_hex().to_string() })
    }

    /// The set with more families, numbered after its own.
    pub(crate) fn extended(&self, more: Vec<Family>) -> Self {
        let mut set = self.clone();
        for mut family in more {
            family.index = set.families.len() as u32;
            set.families.push(family);
        }
        set
    }

    pub fn families(&self) -> &[Family] {
        &self.families
    }

    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// A hash of the files: sets with the same hash give the same questions.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The functions that can occur in the programs of these templates' questions, each once, in the catalogue's order.
    pub fn functions(&self) -> Vec<Function> {
        let nodes = self.families.iter().flat_map(|family| &family.nodes);
        let mut functions: Vec<Function> = nodes.flat_map(|node| node.kind.functions()).collect();
        functions.sort_unstable_by_key(|function| function.number());
        functions.dedup();
        functions
    }

    /// All tokens of these templates' questions, sorted.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self
            .families
            .iter()
            .flat_map(|family| family.phrasings.iter().flat_map(|p| p.words(&family.params, &self.lexicon)))
            .collect();
        words.sort_unstable();
        words.dedup();
        words
    }
}

/// Reads one template; `place` names it in messages.
struct Reader {
    place: String,
}

impl Reader {
    fn fault<T>(&self, at: &str, problem: String) -> Result<T, TemplateError> {
        Err(TemplateError::Invalid { place: format!("{}{at}", self.place), problem })
    }

    fn family(&self, raw: RawTemplate) -> Result<Family, TemplateError> {
        if raw.nodes.is_empty() || raw.nodes.len() > MAX_NODES {
            return self.fault(".nodes", format!("expected 1 to {MAX_NODES} nodes, got {}", raw.nodes.len()));
        }
        if raw.params.len() > MAX_PARAMS {
            return self.fault(".params", format!("over {MAX_PARAMS} parameters"));
        }
        let mut params = Vec::with_capacity(raw.params.len());
        for (i, param) in raw.params.iter().enumerate() {
            if !is_param_name(&param.name) {
                let problem = format!("\"{}\" is not a parameter name; expected one such as <Z2>", shown(&param.name));
                return self.fault(&format!(".params[{i}]"), problem);
            }
            if param.value.is_some() {
                let problem = "\"value\" is for parameters of an entry of a suite".to_owned();
                return self.fault(&format!(".params[{i}]"), problem);
            }
            let by_name = param.words == Some(Words::Name);
            let kind = self.param_kind(i, &param.kind)?;
            params.push(Param { name: param.name.clone(), kind, by_name, fixed: None });
        }
        let mut nodes: Vec<TemplateNode> = Vec::with_capacity(raw.nodes.len());
        for (i, node) in raw.nodes.iter().enumerate() {
            let node = self.node(i, node, &nodes, &params)?;
            nodes.push(node);
        }
        if nodes.last().is_some_and(|node| !node.output.is_answer()) {
            return self.fault(
                ".nodes",
                "the last node gives no answer: it must give an integer, a truth value or an attribute value".into(),
            );
        }
        let relates = nodes.iter().filter(|node| node.kind == NodeKind::Relate).count();
        if relates > MAX_RELATES {
            return self.fault(".nodes", format!("{relates} raw relate nodes; at most {MAX_RELATES} are followed"));
        }
        self.check_each_param_is_set_once(&nodes, &params, &raw.text)?;
        let constraints = raw.constraints.iter().enumerate();
        let constraints = constraints.map(|(i, constraint)| self.constraint(i, constraint, &nodes, &params));
        let constraints = constraints.collect::<Result<_, _>>()?;
        if raw.text.is_empty() || raw.text.len() > MOST_PHRASINGS {
            return self.fault(".text", format!("expected 1 to {MOST_PHRASINGS} phrasings, got {}", raw.text.len()));
        }
        let may_be_wordless = |place: usize| match params[place].kind {
            // An object of any shape is a "thing"; the parameter of a macro may have no value.
            ParamKind::Attribute(kind) => {
                usize::from(kind) != SHAPE && nodes.iter().any(|node| node.may_leave_unset(place))
            }
            ParamKind::Relation | ParamKind::Number => false,
        };
        let phrasing = |(i, text): (usize, &String)| {
            let phrasing = Phrasing::new(text, &params).and_then(|phrasing| {
                phrasing.check_spaces(&params, may_be_wordless)?;
                Ok(phrasing)
            });
            phrasing.or_else(|problem| self.fault(&format!(".text[{i}]"), problem))
        };
        let phrasings = raw.text.iter().enumerate().map(phrasing).collect::<Result<_, _>>()?;
        Ok(Family { file: String::new(), index_in_file: 0, index: 0, params, nodes, constraints, phrasings })
    }

    fn param_kind(&self, i: usize, name: &str) -> Result<ParamKind, TemplateError> {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "relation" => return Ok(ParamKind::Relation),
            "number" => return Ok(ParamKind::Number),
            _ => {}
        }
        match TYPE_NAMES.iter().position(|t| *t == lower) {
            Some(kind) => Ok(ParamKind::Attribute(kind as u8)),
            None => {
                let hint = suggestion(name, ["Size", "Color", "Material", "Shape", "Relation", "Number"]);
                self.fault(&format!(".params[{i}]"), format!("unknown parameter type \"{}\"{hint}", shown(name)))
            }
        }
    }

    fn node(
        &self,
        i: usize,
        raw: &RawNode,
        earlier: &[TemplateNode],
        params: &[Param],
    ) -> Result<TemplateNode, TemplateError> {
        let at = format!(".nodes[{i}]");
        let kind = NodeKind::from_name(&raw.kind).or_else(|problem| self.fault(&at, problem))?;
        let takes = kind.inputs();
        if raw.inputs.len() != takes.len() {
            return self.fault(&at, format!("{} takes {} inputs, got {}", raw.kind, takes.len(), raw.inputs.len()));
        }
        for (&input, wanted) in raw.inputs.iter().zip(&takes) {
            match earlier.get(input) {
                None => return self.fault(&at, format!("input {input} is not an earlier node")),
                Some(node) if node.output != *wanted => {
                    return self
                        .fault(&at, format!("{} takes {wanted}, but node {input} gives {}", raw.kind, node.output));
                }
                Some(_) => {}
            }
        }
        let places = self.side_inputs(&at, raw, kind, params)?;
        Ok(TemplateNode {
            kind,
            inputs: raw.inputs.iter().map(|&i| i as u8).collect(),
            params: places,
            output: kind.output(),
        })
    }

    fn side_inputs(&self, at: &str, raw: &RawNode, kind: NodeKind, params: &[Param]) -> Result<Vec<u8>, TemplateError> {
        let wanted = kind.params();
        let places = raw.side_inputs.iter().map(|name| find_param(params, name)).collect::<Result<Vec<_>, _>>();
        let places = places.or_else(|problem| self.fault(at, problem))?;
        let got: Vec<ParamKind> = places.iter().map(|&p| params[usize::from(p)].kind).collect();
        if got != wanted {
            return self.fault(at, format!("{} takes the parameters {wanted:?}, got {got:?}", raw.kind));
        }
        Ok(places)
    }

    /// A parameter that is neither set nor used in a text is allowed, since some of CLOSURE's templates have one.
    fn check_each_param_is_set_once(
        &self,
        nodes: &[TemplateNode],
        params: &[Param],
        text: &[String],
    ) -> Result<(), TemplateError> {
        for (place, param) in params.iter().enumerate() {
            let uses = nodes.iter().flat_map(|n| &n.params).filter(|&&p| usize::from(p) == place).count();
            let is_said = text.iter().any(|phrasing| phrasing.contains(&param.name));
            if uses > 1 || (uses == 0 && is_said) {
                return self.fault(
                    ".params",
                    format!("\"{}\" is set by {uses} nodes; it must be set by one", shown(&param.name)),
                );
            }
        }
        Ok(())
    }

    fn constraint(
        &self,
        i: usize,
        raw: &RawConstraint,
        nodes: &[TemplateNode],
        params: &[Param],
    ) -> Result<Constraint, TemplateError> {
        let at = format!(".constraints[{i}]");
        let param = |value: &serde_json::Value| {
            value.as_str().and_then(|name| params.iter().position(|p| p.name == name)).map(|p| p as u8)
        };
        let node = |value: &serde_json::Value| value.as_u64().filter(|&n| (n as usize) < nodes.len()).map(|n| n as u8);
        let parsed = match (raw.kind.as_str(), raw.params.as_slice()) {
            ("NULL", [a]) => param(a).map(Constraint::Null),
            ("NEQ", [a, b]) => param(a).zip(param(b)).map(|(a, b)| Constraint::Equal(a, b)),
            ("OUT_NEQ", [a, b]) => node(a).zip(node(b)).map(|(a, b)| Constraint::OutputsDiffer(a.min(b), a.max(b))),
            ("NULL" | "NEQ" | "OUT_NEQ", other) => {
                return self.fault(&at, format!("{} with {} parameters", raw.kind, other.len()));
            }
            (other, _) => {
                let hint = suggestion(other, ["NULL", "NEQ", "OUT_NEQ"]);
                return self.fault(&at, format!("unknown constraint \"{}\"{hint}", shown(other)));
            }
        };
        let Some(constraint) = parsed else {
            return self.fault(
                &at,
                format!(
                    "{} names a parameter or node that does not exist: {}",
                    raw.kind,
                    shown(&serde_json::Value::from(raw.params.clone()).to_string())
                ),
            );
        };
        if let Constraint::Null(p) = constraint {
            let in_macro = nodes.iter().any(|node| node.may_leave_unset(usize::from(p)));
            if !in_macro || params[usize::from(p)].kind == ParamKind::Relation {
                return self.fault(
                    &at,
                    format!("\"{}\" always has a value, so it cannot be NULL", shown(&params[usize::from(p)].name)),
                );
            }
        }
        Ok(constraint)
    }
}

/// Whether a phrasing can contain a parameter of this name.
fn is_param_name(name: &str) -> bool {
    let inner = name.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|inner| {
        !inner.is_empty() && !inner.contains(['<', '>', '[', ']']) && !inner.contains(char::is_whitespace)
    })
}

/// The macros of templates, by name.
const MACROS: [(&str, NodeKind); 8] = [
    ("filter", NodeKind::Filter(Tail::Set)),
    ("filter_unique", NodeKind::Filter(Tail::Unique)),
    ("filter_count", NodeKind::Filter(Tail::Count)),
    ("filter_exist", NodeKind::Filter(Tail::Exist)),
    ("relate_filter", NodeKind::RelateFilter(Tail::Set)),
    ("relate_filter_unique", NodeKind::RelateFilter(Tail::Unique)),
    ("relate_filter_count", NodeKind::RelateFilter(Tail::Count)),
    ("relate_filter_exist", NodeKind::RelateFilter(Tail::Exist)),
];

impl Tail {
    /// The function after the filters, if there is one.
    pub fn function(self) -> Option<Function> {
        match self {
            Self::Set => None,
            Self::Unique => Some(Function::Unique),
            Self::Count => Some(Function::Count),
            Self::Exist => Some(Function::Exist),
        }
    }

    /// The output for the set that the filters leave; None if there is none.
    #[inline(always)]
    pub(super) fn of(self, set: u32) -> Option<u32> {
        match self {
            Self::Set => Some(set),
            Self::Unique => (set.count_ones() == 1).then(|| set.trailing_zeros()),
            Self::Count => Some(set.count_ones()),
            Self::Exist => Some(u32::from(set != 0)),
        }
    }
}

impl NodeKind {
    /// The kind of node with this name in template files; an error suggests a similar name.
    fn from_name(name: &str) -> Result<Self, String> {
        if let Some((_, kind)) = MACROS.iter().find(|(known, _)| *known == name) {
            return Ok(*kind);
        }
        match Function::from_name(name) {
            // The search drops questions whose answer does not need a relation, but it tests only raw `relate` nodes.
            Ok(Function::Relate) => Ok(Self::Relate),
            Ok(function) if function.origin() == Origin::Covr => Err(format!(
                "\"{function}\" is a function of questions about several images, which have no templates here"
            )),
            Ok(function) => Ok(match function.signature().argument {
                Argument::Nothing => Self::Plain(function),
                Argument::Value(_) | Argument::Relation | Argument::Number => Self::Apply(function),
            }),
            Err(_) => {
                let names: Vec<String> = Function::all().iter().map(ToString::to_string).collect();
                let known = MACROS.iter().map(|(name, _)| *name).chain(names.iter().map(String::as_str));
                Err(format!("unknown function \"{}\"{}", shown(name), suggestion(name, known)))
            }
        }
    }

    /// What a choice here does with the set that its relation and filters leave.
    #[inline]
    pub(super) fn tail(self) -> Tail {
        match self {
            Self::Filter(tail) | Self::RelateFilter(tail) => tail,
            Self::Plain(_) | Self::Relate | Self::Apply(_) => Tail::Set,
        }
    }

    /// The effects of its functions, before and after those that add its values.
    pub(super) fn effects(self) -> [Effect; 2] {
        let after = self.tail().function().map_or(Effect::Keeps, Function::effect);
        match self {
            Self::Apply(function) if function.added_type().is_some() => [Effect::Keeps, after],
            Self::Plain(function) | Self::Apply(function) => [function.effect(), after],
            Self::Relate | Self::RelateFilter(_) => [Function::Relate.effect(), after],
            Self::Filter(_) => [Effect::Keeps, after],
        }
    }

    /// The types of the values that it can add, one bit each.
    pub(super) fn added_types(self) -> u8 {
        match self {
            Self::Plain(_) | Self::Relate => 0,
            Self::Apply(function) => function.added_type().map_or(0, |kind| 1 << kind),
            Self::Filter(_) | Self::RelateFilter(_) => (1 << N_TYPES) - 1,
        }
    }

    /// The parameters that must have a value, in order.
    pub(crate) fn needed_params(self, params: &[u8]) -> &[u8] {
        match self {
            Self::Plain(_) | Self::Filter(_) => &[],
            Self::Relate | Self::Apply(_) => params,
            Self::RelateFilter(_) => &params[..1],
        }
    }

    /// The functions that this node can have in programs.
    pub(crate) fn functions(self) -> Vec<Function> {
        let filters = (0..N_TYPES as u8).map(Function::Filter);
        match self {
            Self::Plain(function) | Self::Apply(function) => vec![function],
            Self::Relate => vec![Function::Relate],
            Self::Filter(tail) => filters.chain(tail.function()).collect(),
            Self::RelateFilter(tail) => filters.chain([Function::Relate]).chain(tail.function()).collect(),
        }
    }

    /// The types of its inputs.
    pub fn inputs(self) -> Vec<Type> {
        match self {
            Self::Plain(function) | Self::Apply(function) => {
                function.signature().inputs.into_iter().flatten().collect()
            }
            Self::Relate | Self::RelateFilter(_) => vec![Type::Object],
            Self::Filter(_) => vec![Type::Set],
        }
    }

    /// The type of its output.
    pub fn output(self) -> Type {
        match self {
            Self::Plain(function) | Self::Apply(function) => function.signature().output,
            Self::Relate => Type::Set,
            Self::Filter(tail) | Self::RelateFilter(tail) => {
                tail.function().map_or(Type::Set, |f| f.signature().output)
            }
        }
    }

    /// The kinds of its parameters, in order.
    fn params(self) -> Vec<ParamKind> {
        let all = (0..N_TYPES as u8).map(ParamKind::Attribute);
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Relate => vec![ParamKind::Relation],
            Self::Apply(function) => ParamKind::of(function.signature().argument).into_iter().collect(),
            Self::Filter(_) => all.collect(),
            Self::RelateFilter(_) => std::iter::once(ParamKind::Relation).chain(all).collect(),
        }
    }
}
