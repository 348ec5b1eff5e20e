//! What an original has to be like, so that a test's relation follows.

use super::entry::{SetOfNode, When};
use super::original::Original;
use crate::message::{listed, shown, suggestion};
use crate::program::execute::outputs;
use crate::question::Family;
use crate::question::param::{ParamKind, find_param};
use crate::question::template::NodeKind;
use crate::scene::SceneView;
use crate::vocab::{Answer, Vocabulary};

/// The conditions of a test on originals of one family; all have to hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    answers: Vec<Answer>,
    single: Vec<Described>,
    set: Vec<u8>,
    any_set: Vec<u8>,
    unset: Vec<u8>,
}

/// The objects that the values of a node fit.
#[derive(Clone, Debug)]
struct Described {
    node: u8,
    /// Parameters whose values are left out.
    without: Vec<u8>,
    /// Whether they are looked for in the whole image, not in what the node is given.
    in_image: bool,
}

impl Condition {
    pub fn read(raw: &When, source: &Family, vocab: &Vocabulary) -> Result<Self, String> {
        let params = |names: &[String]| {
            names.iter().map(|name| find_param(&source.params, name)).collect::<Result<Vec<u8>, _>>()
        };
        let described = |set: &SetOfNode, in_image: bool| {
            let (node, without) = match set {
                SetOfNode::Node(node) => (*node, Vec::new()),
                SetOfNode::Without { node, without } => (*node, params(without)?),
            };
            let kind = source.nodes.get(node).map(|node| node.kind);
            match kind {
                Some(NodeKind::Filter(_) | NodeKind::RelateFilter(_)) => {
                    Ok(Described { node: node as u8, without, in_image })
                }
                Some(_) => Err(format!("node {node} is not a filter")),
                None => Err(format!("node {node} of a family with {} nodes", source.nodes.len())),
            }
        };
        let known = vocab.answer_texts();
        let answer = |name: &String| {
            let number = known.iter().position(|known| known == name);
            number.and_then(|number| vocab.answer(number as u16)).ok_or_else(|| {
                let hint = suggestion(name, known.iter().map(String::as_str));
                format!("unknown answer \"{}\"{hint}; known: {}", shown(name), listed(&known))
            })
        };
        let single = raw.single.iter().map(|set| described(set, false));
        let single = single.chain(raw.alone.iter().map(|set| described(set, true)));
        Ok(Self {
            answers: raw.answer.iter().map(answer).collect::<Result<_, _>>()?,
            single: single.collect::<Result<_, String>>()?,
            set: params(&raw.set)?,
            any_set: params(&raw.any_set)?,
            unset: params(&raw.unset)?,
        })
    }

    pub fn holds(&self, original: &Original, source: &Family, scene: SceneView<'_>, vocab: &Vocabulary) -> bool {
        let has_value = |&param: &u8| original.reading.values[usize::from(param)].is_some();
        (self.answers.is_empty() || self.answers.contains(&original.answer))
            && self.set.iter().all(has_value)
            && (self.any_set.is_empty() || self.any_set.iter().any(has_value))
            && !self.unset.iter().any(has_value)
            && (self.single.is_empty() || self.are_single(original, source, scene, vocab))
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
