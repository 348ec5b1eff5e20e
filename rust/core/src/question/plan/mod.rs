//! Plans: what the search needs to know about a family before it sees a scene.
//!
//! For each node, a plan lists the types that must stay unset, the outputs that must differ from its own, the earlier
//! outputs that still matter (so that two ways to the same state count as one), and whether any later node has a
//! choice. For the family, it lists the possible answers.

mod ending;
mod likeness;
mod node;

pub use ending::Ending;
pub use node::{AnswerSet, PlanNode, Slot};

use crate::holdout::{Description, Domain, Holdout, Mentions};
use crate::program::catalogue::{Effect, Function, Type};
use crate::question::param::ParamKind;
use crate::question::template::{Constraint, Family, MAX_NODES, NodeKind, TemplateNode, TemplateSet};
use crate::vocab::Vocabulary;

/// A family prepared for the search.
#[derive(Clone, Debug)]
pub struct Plan {
    pub nodes: Vec<PlanNode>,
    pub relates: Vec<u8>,
    pub first_choice: usize,
    /// The nodes after the last choice, if they can be inverted.
    pub ending: Option<Ending>,
    pub equal_params: Vec<(u8, u8)>,
    pub params_of: Vec<Vec<u8>>,
    pub n_params: usize,
    pub n_answers: usize,
    pub possible: AnswerSet,
}

impl TemplateSet {
    /// The plans of the families, by number.
    pub fn plans(&self, vocab: &Vocabulary) -> Vec<Plan> {
        self.families().iter().map(|family| Plan::new(family, vocab)).collect()
    }
}

impl Plan {
    pub fn new(family: &Family, vocab: &Vocabulary) -> Self {
        let relates: Vec<u8> =
            (0..family.nodes.len() as u8).filter(|&i| family.nodes[usize::from(i)].kind == NodeKind::Relate).collect();
        let n_answers = match family.output() {
            Type::Bool => 2,
            Type::Integer => usize::from(vocab.largest_count()) + 1,
            Type::Value(kind) => vocab.n_values(usize::from(kind)),
            Type::Relation => vocab.n_relations(),
            Type::Set | Type::Object | Type::Groups | Type::Images => 0,
        };
        let mut nodes: Vec<PlanNode> = Vec::with_capacity(family.nodes.len());
        for (i, node) in family.nodes.iter().enumerate() {
            let planned = plan_node(family, i, node, &nodes);
            nodes.push(planned);
        }
        let last_choice = nodes.iter().rposition(|node| node.is_choice);
        if let Some(last) = last_choice {
            nodes[last].is_last_choice = true;
        }
        fill_live(&mut nodes);
        fill_narrowed(&mut nodes);
        mark_described(&mut nodes);
        Self {
            relates,
            ending: last_choice
                .filter(|_| n_answers <= AnswerSet::WORD)
                .and_then(|last| Ending::new(&nodes, last, vocab)),
            first_choice: nodes.iter().position(|n| n.is_choice).unwrap_or(nodes.len()),
            equal_params: family
                .constraints
                .iter()
                .filter_map(|c| if let Constraint::Equal(a, b) = c { Some((*a, *b)) } else { None })
                .collect(),
            params_of: family.nodes.iter().map(|n| n.params.clone()).collect(),
            n_params: family.params.len(),
            n_answers,
            possible: if family.asks_of_one_value(vocab).is_some() {
                AnswerSet::EMPTY
            } else {
                possible_answers(family, n_answers)
            },
            nodes,
        }
    }

    /// Whether a choice's outcome is a small number, and the rest depends on nothing else except raw relations.
    pub fn judges_by_outcome(&self, at: usize) -> bool {
        match self.nodes[at].output {
            Type::Set | Type::Groups | Type::Images | Type::Value(_) => false,
            Type::Object | Type::Integer | Type::Bool | Type::Relation => self.equal_params.is_empty(),
        }
    }

    /// Whether a node after `at` joins descriptions, or adds a value to one.
    pub fn joins_after(&self, at: usize) -> bool {
        self.nodes[at + 1..].iter().any(|node| match node.effects[0] {
            Effect::Adds | Effect::Joins | Effect::JoinsAndAdds | Effect::JoinsLikeness(_) => true,
            Effect::Keeps => node.added_types != 0,
            Effect::StartsAnew | Effect::TakesEither => false,
            Effect::Likens(_) | Effect::Compares(_) | Effect::Identifies => false,
        })
    }

    /// Lists where questions of the family can mention the conjunction: each choice that can name all of it, and across
    /// nodes if a node may add to what others named.
    pub fn list_slots(&self, holdout: &Holdout, slots: &mut Vec<Slot>) {
        slots.clear();
        let mut descriptions = [Description::ANYTHING; MAX_NODES];
        let mut across = false;
        for (at, node) in self.nodes.iter().enumerate() {
            let most = holdout.bits_of_types(node.added_types);
            let (before, is_mentioned_before) = node.before(&Mentions(holdout), &descriptions);
            descriptions[at] = node.describe(&Mentions(holdout), most, &descriptions).0;
            let adds = node.is_choice && most != 0 && before != Description::ANYTHING;
            across |= is_mentioned_before || adds;
            if node.is_choice && most == holdout.full() {
                slots.push(Slot::Choice(at as u8));
            }
        }
        if across {
            slots.push(Slot::Across);
        }
    }

    /// Whether any question of the family can mention the conjunction.
    pub fn can_mention(&self, holdout: &Holdout) -> bool {
        self.can_mention_from(0, &mut [Description::ANYTHING; MAX_NODES], holdout)
    }

    /// The same from node `from` on, given the descriptions of the nodes before it.
    pub fn can_mention_from(&self, from: usize, descriptions: &mut [Description], holdout: &Holdout) -> bool {
        // Usually some choice can name all of it by itself, and then the earlier descriptions do not matter.
        let names_all = |node: &PlanNode| holdout.bits_of_types(node.added_types) == holdout.full();
        self.nodes[from..].iter().any(names_all) || self.can_ask_from(from, descriptions, &Mentions(holdout), holdout)
    }

    /// Whether any choice of values from node `from` on asks for what is held out.
    ///
    /// Only the case in which each node adds all possible values is checked: more values never ask for less.
    fn can_ask_from<D: Domain<Values = u8>>(
        &self,
        from: usize,
        states: &mut [D::State],
        domain: &D,
        holdout: &Holdout,
    ) -> bool {
        self.nodes.iter().enumerate().skip(from).any(|(at, node)| {
            let (state, is_asked) = node.describe(domain, holdout.bits_of_types(node.added_types), states);
            states[at] = state;
            is_asked
        })
    }
}

fn plan_node(family: &Family, i: usize, node: &TemplateNode, earlier: &[PlanNode]) -> PlanNode {
    let mut forbidden = 0;
    let mut differs_from = Vec::new();
    for constraint in &family.constraints {
        match *constraint {
            Constraint::Null(param) if node.params.contains(&param) => {
                if let ParamKind::Attribute(kind) = family.params[usize::from(param)].kind {
                    forbidden |= 1 << kind;
                }
            }
            Constraint::OutputsDiffer(a, b) if usize::from(b) == i => differs_from.push(a),
            _ => {}
        }
    }
    let mut inputs = [0; 2];
    inputs[..node.inputs.len()].copy_from_slice(&node.inputs);
    let after_relate = node.inputs.iter().any(|&input| {
        let input = &earlier[usize::from(input)];
        input.after_relate || input.kind == NodeKind::Relate
    });
    PlanNode {
        kind: node.kind,
        inputs,
        output: node.output,
        effects: node.kind.effects(),
        added_types: node.kind.added_types() & !forbidden,
        forbidden,
        is_described: node.output == Type::Set,
        differs_from,
        live: Vec::new(),
        is_choice: !matches!(node.kind, NodeKind::Plain(_)),
        is_last_choice: false,
        narrowed_by: Vec::new(),
        after_relate,
    }
}

fn fill_live(nodes: &mut [PlanNode]) {
    for at in 0..nodes.len() {
        let used_later = |i: u8| {
            nodes[at..].iter().any(|n| n.inputs[..n.kind.inputs().len()].contains(&i) || n.differs_from.contains(&i))
        };
        // The output of `scene` is the same in every state.
        let live = (0..at as u8)
            .filter(|&i| nodes[usize::from(i)].kind != NodeKind::Plain(Function::Scene) && used_later(i))
            .collect();
        nodes[at].live = live;
    }
}

fn fill_narrowed(nodes: &mut [PlanNode]) {
    let mut uses = [0; MAX_NODES];
    let inputs = |node: &PlanNode| node.inputs[..node.kind.inputs().len()].to_vec();
    nodes.iter().flat_map(inputs).for_each(|input| uses[usize::from(input)] += 1);
    for at in 0..nodes.len() {
        if !matches!(nodes[at].kind, NodeKind::Filter(_)) {
            continue;
        }
        let mut sets = inputs(&nodes[at]);
        let mut narrowed_by = Vec::new();
        while let Some(set) = sets.pop().filter(|&set| uses[usize::from(set)] == 1) {
            match nodes[usize::from(set)].kind {
                NodeKind::Relate => narrowed_by.push(set),
                NodeKind::Plain(Function::Intersect) => sets.extend(inputs(&nodes[usize::from(set)])),
                _ => {}
            }
        }
        nodes[at].narrowed_by = narrowed_by;
    }
}

fn mark_described(nodes: &mut [PlanNode]) {
    for at in (0..nodes.len()).rev() {
        let node = &nodes[at];
        let builds_on_inputs = match node.effects[0] {
            Effect::Adds | Effect::Joins | Effect::JoinsAndAdds | Effect::JoinsLikeness(_) => true,
            Effect::Keeps | Effect::TakesEither => node.is_described || node.added_types != 0,
            Effect::StartsAnew | Effect::Likens(_) | Effect::Compares(_) | Effect::Identifies => false,
        };
        let (inputs, n_inputs) = (node.inputs, node.kind.inputs().len());
        inputs[..n_inputs].iter().for_each(|&input| nodes[usize::from(input)].is_described |= builds_on_inputs);
    }
}

/// All answers of the output's type, except those that a constraint rules out: if two outputs must differ, the
/// question whether they are equal is always answered with no.
fn possible_answers(family: &Family, n_answers: usize) -> AnswerSet {
    let mut possible = AnswerSet::first(n_answers);
    let Some(last) = family.nodes.last() else { return possible };
    let compares_equal =
        matches!(last.kind, NodeKind::Plain(Function::EqualInteger | Function::EqualObject | Function::Equal(_)));
    let held_apart = |a: u8, b: u8| family.constraints.contains(&Constraint::OutputsDiffer(a.min(b), a.max(b)));
    if compares_equal && held_apart(last.inputs[0], last.inputs[1]) {
        possible.remove(1);
    }
    possible
}
