//! Attribute values in, a sentence and a program that ask of the whole scene for them and nothing else out.
//!
//! What CLEVR-HOPE's minimal and preliminary sets ask: zero_hop's existence ("Are there any cyan matte
//! things?") and its count ("What number of cyan objects are there?"), in all their phrasings.

use super::select::SplitError;
use crate::program::{Function, Program, Step};
use crate::question::param::ParamKind;
use crate::question::template::{Family, NodeKind, Tail, TemplateSet};
use crate::question::text_buffer::TextBuffer;
use crate::rng::StreamRng;
use crate::vocab::N_TYPES;

/// What is asked of the objects that have the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Exist,
    Count,
}

impl Ask {
    fn tail(self) -> (Tail, Function) {
        match self {
            Self::Exist => (Tail::Exist, Function::Exist),
            Self::Count => (Tail::Count, Function::Count),
        }
    }

    /// The first family that asks this of the whole scene, without constraints; `split` is for messages.
    pub fn family(self, templates: &TemplateSet, split: impl FnOnce() -> String) -> Result<&Family, SplitError> {
        let wanted = [NodeKind::Plain(Function::Scene), NodeKind::Filter(self.tail().0)];
        let asks_this_alone =
            |family: &&Family| family.nodes.iter().map(|node| node.kind).eq(wanted) && family.constraints.is_empty();
        templates.families().iter().find(asks_this_alone).ok_or_else(|| {
            let (what, node) = match self {
                Self::Exist => ("existence", "filter_exist"),
                Self::Count => ("a count", "filter_count"),
            };
            let problem = format!("no template asks for {what} alone (scene, then {node}, without constraints)");
            SplitError::Minimal { split: split(), problem }
        })
    }

    /// The sentence and program of a family of this kind for the values given by type.
    pub fn question(
        self,
        templates: &TemplateSet,
        family: &Family,
        values: &[Option<u8>; N_TYPES],
        rng: &mut StreamRng,
    ) -> (String, Program) {
        let mut steps = vec![Step { function: Function::Scene, argument: 0, inputs: [0, 0] }];
        let mut add = |function, argument| {
            let last = (steps.len() - 1) as u8;
            steps.push(Step { function, argument, inputs: [last, 0] });
        };
        for (kind, value) in (0..).zip(values) {
            if let Some(value) = *value {
                add(Function::Filter(kind), value);
            }
        }
        add(self.tail().1, 0);
        let chosen: Vec<Option<u8>> = family
            .params
            .iter()
            .map(|param| match param.kind {
                ParamKind::Attribute(kind) => values[usize::from(kind)],
                _ => None,
            })
            .collect();
        let phrasing = &family.phrasings[rng.below(family.phrasings.len() as u32) as usize];
        let text = phrasing.question(&family.params, &chosen, templates.lexicon(), rng, &mut TextBuffer::default());
        (text, Program { steps })
    }
}
