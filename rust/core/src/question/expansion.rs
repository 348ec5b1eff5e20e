//! Expansion of a template's nodes into the steps of a program, given the values of its parameters.

use super::template::{Family, MAX_NODES, NodeKind, Tail};
use crate::program::catalogue::Function;
use crate::program::{Program, Step};

impl Family {
    /// The program for these values of the parameters (None: unset), and the step that gives each node's output.
    ///
    /// Every parameter that a node needs, such as a relation, must have a value.
    pub fn program(&self, values: &[Option<u8>]) -> (Program, [u8; MAX_NODES]) {
        let mut steps = Vec::with_capacity(24);
        let mut builder = ProgramBuilder::new(&mut steps);
        let mut chosen = Vec::with_capacity(8);
        for node in &self.nodes {
            let mut inputs = [0; 2];
            inputs[..node.inputs.len()].copy_from_slice(&node.inputs);
            chosen.clear();
            chosen.extend(node.params.iter().map(|&param| values[usize::from(param)]));
            builder.push(node.kind, inputs, &chosen);
        }
        let outputs = builder.outputs;
        (Program { steps }, outputs)
    }
}

/// Expands a template's nodes into steps.
pub(super) struct ProgramBuilder<'a> {
    steps: &'a mut Vec<Step>,
    /// The step that gives the output of each node so far.
    outputs: [u8; MAX_NODES],
    n_nodes: usize,
}

impl<'a> ProgramBuilder<'a> {
    /// A builder that clears `steps` and writes into them.
    pub(super) fn new(steps: &'a mut Vec<Step>) -> Self {
        steps.clear();
        Self { steps, outputs: [0; MAX_NODES], n_nodes: 0 }
    }

    pub(super) fn push(&mut self, kind: NodeKind, inputs: [u8; 2], chosen: &[Option<u8>]) {
        // An input that the node does not have becomes the first node's output: step 0, as in all steps.
        let inputs = inputs.map(|input| self.outputs[usize::from(input)]);
        let argument = || chosen.first().copied().flatten().unwrap_or(0);
        let last = match kind {
            NodeKind::Plain(function) => self.step(function, 0, inputs),
            NodeKind::Relate => self.step(Function::Relate, argument(), inputs),
            NodeKind::Apply(function) => self.step(function, argument(), inputs),
            NodeKind::Filter(tail) => self.filter(inputs[0], chosen, tail),
            NodeKind::RelateFilter(tail) => {
                let related = self.step(Function::Relate, argument(), inputs);
                self.filter(related, &chosen[1..], tail)
            }
        };
        self.outputs[self.n_nodes] = last;
        self.n_nodes += 1;
    }

    /// Appends the filters of a macro and the function after them.
    fn filter(&mut self, input: u8, values: &[Option<u8>], tail: Tail) -> u8 {
        let mut last = input;
        for (kind, value) in (0..).zip(values) {
            if let Some(value) = *value {
                last = self.step(Function::Filter(kind), value, [last, 0]);
            }
        }
        if let Some(function) = tail.function() {
            last = self.step(function, 0, [last, 0]);
        }
        last
    }

    fn step(&mut self, function: Function, argument: u8, inputs: [u8; 2]) -> u8 {
        self.steps.push(Step { function, argument, inputs });
        (self.steps.len() - 1) as u8
    }
}
