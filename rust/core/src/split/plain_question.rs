//! Questions about the whole scene: whether, or how many, objects have some attribute values.
//!
//! CLEVR-HOPE's minimal and preliminary sets ask these questions: zero_hop's existence ("Are there any cyan matte
//! things?") and its count ("What number of cyan objects are there?"), in all their phrasings.

use super::error::SplitError;
use crate::program::{Function, Program, Step};
use crate::question::instantiate::Question;
use crate::question::param::ParamKind;
use crate::question::template::{Family, NodeKind, Tail, TemplateSet};
use crate::question::text_buffer::TextBuffer;
use crate::rng::StreamKey;
use crate::vocab::{Answer, N_TYPES};

/// What is asked about the objects that have the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainQuestion {
    Exist,
    Count,
}

/// Words these questions in the phrasings of a family.
pub struct PlainQuestions<'t> {
    function: Function,
    templates: &'t TemplateSet,
    family: &'t Family,
    key: StreamKey,
}

impl PlainQuestion {
    /// Uses the first family that asks only this about the whole scene, without constraints, for a pool with a seed.
    ///
    /// # Errors
    /// `Impossible` when there is no such family.
    pub fn of_pool(self, templates: &TemplateSet, pool: String, seed: u64) -> Result<PlainQuestions<'_>, SplitError> {
        let (stream, what, node, tail, function): (&[u8], _, _, _, _) = match self {
            Self::Exist => (b"minimal question", "existence", "filter_exist", Tail::Exist, Function::Exist),
            Self::Count => (b"counting question", "a count", "filter_count", Tail::Count, Function::Count),
        };
        let wanted = [NodeKind::Plain(Function::Scene), NodeKind::Filter(tail)];
        let asks_this_alone =
            |family: &&Family| family.nodes.iter().map(|node| node.kind).eq(wanted) && family.constraints.is_empty();
        let Some(family) = templates.families().iter().find(asks_this_alone) else {
            let problem = format!("no template asks for {what} alone (scene, then {node}, without constraints)");
            return Err(SplitError::Impossible { split: pool, problem });
        };
        let parts = [stream, templates.fingerprint().as_bytes(), pool.as_bytes(), &seed.to_le_bytes()];
        Ok(PlainQuestions { function, templates, family, key: StreamKey::new(&parts) })
    }
}

impl PlainQuestions<'_> {
    /// The question about values given by type, as a function of a scene and its answer; `index` determines the
    /// wording.
    pub fn question(&self, values: &[Option<u8>; N_TYPES], index: u64) -> impl Fn(u64, Answer) -> Question {
        let (family, mut rng) = (self.family, self.key.at(index));
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
        add(self.function, 0);
        let chosen: Vec<Option<u8>> = family
            .params
            .iter()
            .map(|param| match param.kind {
                ParamKind::Attribute(kind) => values[usize::from(kind)],
                ParamKind::Relation | ParamKind::Number => None,
            })
            .collect();
        let phrasing = &family.phrasings[rng.below(family.phrasings.len() as u32) as usize];
        let text =
            phrasing.question(&family.params, &chosen, self.templates.lexicon(), &mut rng, &mut TextBuffer::default());
        let (family, program) = (family.index as u16, Program { steps });
        move |scene, answer| Question {
            scene,
            family,
            answer,
            text: text.clone(),
            program: program.clone(),
            relation_needed: 0,
            n_relations: 0,
        }
    }
}
