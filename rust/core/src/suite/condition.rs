//! The conditions that an original must meet for a test's relation to hold.

use super::entry::{SetOfNode, When};
use super::expression::answer_value;
use super::original::Original;
use crate::message::{listed, shown, suggestion};
use crate::program::execute::outputs;
use crate::question::Family;
use crate::question::param::{ParamKind, find_param};
use crate::question::template::NodeKind;
use crate::scene::SceneView;
use crate::vocab::{Answer, Vocabulary};

/// The conditions of a test on originals of one family; all of them must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    pub answers: Vec<Answer>,
    single: Vec<Described>,
    plausible: Vec<u8>,
    apart: Vec<u8>,
    offered: Vec<u8>,
    pub set: Vec<u8>,
    among: Vec<(u8, Vec<u8>)>,
    any_set: Vec<u8>,
    pub unset: Vec<u8>,
    /// Whether an original whose partner has another answer than the relation says is left out.
    pub holds: bool,
}

/// The objects that have the values of a node.
#[derive(Clone, Debug)]
struct Described {
    node: u8,
    /// Parameters whose values are left out.
    without: Vec<u8>,
    /// Whether they are searched for in the whole image instead of the node's input.
    in_image: bool,
}

impl Condition {
    pub fn read(raw: &When, source: &Family, vocab: &Vocabulary) -> Result<Self, String> {
        let params = |names: &[String]| {
            names.iter().map(|name| find_param(&source.params, name)).collect::<Result<Vec<u8>, _>>()
        };
        let filter = |node: usize| match source.nodes.get(node).map(|node| node.kind) {
            Some(NodeKind::Filter(_) | NodeKind::RelateFilter(_)) => Ok(node as u8),
            Some(_) => Err(format!("node {node} is not a filter")),
            None => Err(format!("node {node} of a family with {} nodes", source.nodes.len())),
        };
        let filters = |nodes: &[usize]| nodes.iter().map(|&node| filter(node)).collect::<Result<Vec<u8>, _>>();
        let described = |set: &SetOfNode, in_image: bool| {
            let (node, without) = match set {
                SetOfNode::Node(node) => (*node, Vec::new()),
                SetOfNode::Without { node, without } => (*node, params(without)?),
            };
            filter(node).map(|node| Described { node, without, in_image })
        };
        let offered = params(&raw.offered)?;
        let is_value = |&param: &u8| source.output() == source.params[usize::from(param)].kind.values();
        if let Some(&param) = offered.iter().find(|param| !is_value(param)) {
            let (name, output) = (&source.params[usize::from(param)].name, source.output());
            return Err(format!("offered: \"{}\" is not of the answers' type, {output}", shown(name)));
        }
        let known = vocab.answer_texts();
        let answer = |name: &String| {
            let number = known.iter().position(|known| known == name);
            number.and_then(|number| vocab.answer(number as u16)).ok_or_else(|| {
                let hint = suggestion(name, known.iter().map(String::as_str));
                format!("unknown answer \"{}\"{hint}; known: {}", shown(name), listed(&known))
            })
        };
        let among = raw.among.iter().map(|(name, values)| {
            let place = find_param(&source.params, name)?;
            let ParamKind::Attribute(kind) = source.params[usize::from(place)].kind else {
                return Err(format!("among: \"{}\" is not of an attribute type", shown(name)));
            };
            let known = values.iter().map(|value| vocab.known_value(usize::from(kind), value));
            let known: Result<Vec<u8>, _> = known.collect();
            Ok((place, known.map_err(|error| error.to_string())?))
        });
        let single = raw.single.iter().map(|set| described(set, false));
        let single = single.chain(raw.alone.iter().map(|set| described(set, true)));
        Ok(Self {
            answers: raw.answer.iter().map(answer).collect::<Result<_, _>>()?,
            single: single.collect::<Result<_, String>>()?,
            plausible: filters(&raw.plausible)?,
            apart: filters(&raw.apart)?,
            offered,
            set: params(&raw.set)?,
            among: among.collect::<Result<_, String>>()?,
            any_set: params(&raw.any_set)?,
            unset: params(&raw.unset)?,
            holds: raw.holds,
        })
    }

    /// Whether an original meets the conditions; `holds` is left to whoever makes its partner.
    pub fn is_met(&self, original: &Original, source: &Family, scene: SceneView<'_>, vocab: &Vocabulary) -> bool {
        let has_value = |&param: &u8| original.reading.values[usize::from(param)].is_some();
        (self.answers.is_empty() || self.answers.contains(&original.answer))
            && self.set.iter().all(has_value)
            && self.among.iter().all(|(param, values)| {
                original.reading.values[usize::from(*param)].is_some_and(|value| values.contains(&value))
            })
            && (self.any_set.is_empty() || self.any_set.iter().any(has_value))
            && !self.unset.iter().any(has_value)
            && self.is_offered(original)
            && self.are_apart(original, source)
            && self.are_plausible(original, source, scene, vocab)
            && (self.single.is_empty() || self.are_single(original, source, scene, vocab))
    }

    fn is_offered(&self, original: &Original) -> bool {
        let value = |&param: &u8| original.reading.values[usize::from(param)];
        let all_differ = (1..self.offered.len())
            .all(|at| self.offered[..at].iter().all(|other| value(other) != value(&self.offered[at])));
        let is_one = self.offered.iter().any(|param| value(param) == answer_value(original.answer));
        self.offered.is_empty() || all_differ && is_one
    }

    fn are_apart(&self, original: &Original, source: &Family) -> bool {
        let values = |node: u8| values_of(node, original, source);
        let is_among = |a: u8, b: u8| values(a).all(|value| values(b).any(|other| other == value));
        let others = |place: usize| self.apart.iter().enumerate().filter(move |(other, _)| *other != place);
        !self.apart.iter().enumerate().any(|(place, &a)| others(place).any(|(_, &b)| is_among(a, b)))
    }

    fn are_plausible(&self, original: &Original, source: &Family, scene: SceneView<'_>, vocab: &Vocabulary) -> bool {
        let is_shown =
            |(kind, value): (u8, u8)| scene.members[vocab.value_row(usize::from(kind), usize::from(value))] != 0;
        self.plausible.iter().all(|&node| values_of(node, original, source).all(is_shown))
    }

    fn are_single(&self, original: &Original, source: &Family, scene: SceneView<'_>, vocab: &Vocabulary) -> bool {
        let Ok(words) = outputs(&original.program, scene, vocab) else { return false };
        let is_single = |described: &Described| {
            let node = &source.nodes[usize::from(described.node)];
            let values = original.reading.values;
            let input = words[usize::from(original.outputs[usize::from(node.inputs[0])])];
            let mut objects = match node.kind {
                _ if described.in_image => scene.everything(),
                NodeKind::RelateFilter(_) => {
                    let relation = values[usize::from(node.params[0])].unwrap_or(0);
                    scene.related(usize::from(relation), input as usize)
                }
                _ => input,
            };
            for &param in node.params.iter().filter(|param| !described.without.contains(param)) {
                if let (ParamKind::Attribute(kind), Some(value)) =
                    (source.params[usize::from(param)].kind, values[usize::from(param)])
                {
                    objects &= scene.members[vocab.value_row(usize::from(kind), usize::from(value))];
                }
            }
            objects.count_ones() == 1
        };
        self.single.iter().all(is_single)
    }
}

/// The type and value of each attribute that a filter of an original names.
fn values_of<'a>(node: u8, original: &'a Original, source: &'a Family) -> impl Iterator<Item = (u8, u8)> + 'a {
    source.nodes[usize::from(node)].params.iter().filter_map(|&param| {
        let value = original.reading.values[usize::from(param)]?;
        if let ParamKind::Attribute(kind) = source.params[usize::from(param)].kind { Some((kind, value)) } else { None }
    })
}
