//! Execution plans for module networks: the nodes of a batch of programs, grouped into runs of one module call each.
//!
//! - Level by level: the level of a node is 0 if it takes no input, otherwise one more than the highest level of its
//!   inputs, so all nodes of one level can run at once. Within a level, nodes are sorted by number of inputs, then
//!   token, then row.
//! - Token by token: nodes that run together have the same token, on any levels.
//!
//! Only the shape of a program matters here, not its types. A row that is not a tree is ill-formed; this is not an
//! error, since models write such rows.

use super::Function;
use super::encode::{END, NULL, SPECIAL_NAMES, START};

/// Stands for a node's number where there is no node.
pub const NO_NODE: i64 = -1;

/// Stands for the number of inputs of a token that is not a function.
pub const NO_FUNCTION: i8 = -1;

/// The nodes of a batch of programs in execution order, as parallel lists with an entry for each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePlan {
    pub tokens: Vec<i64>,
    /// The row of each node.
    pub rows: Vec<i64>,
    /// The nodes that each node takes its inputs from, all of them earlier; `NO_NODE` where there are fewer than two.
    pub operands: Vec<[i64; 2]>,
    /// The start of each group of nodes that run together, and finally the number of nodes.
    pub starts: Vec<i64>,
    /// For each row, the node that gives the answer; `NO_NODE` if the row is ill-formed.
    pub roots: Vec<i64>,
}

#[derive(Clone, Copy)]
struct Node {
    level: i64,
    token: i64,
    row: i64,
    /// Numbers in reading order, before sorting.
    operands: [i64; 2],
}

impl Node {
    fn inputs(&self) -> impl Iterator<Item = usize> {
        // `NO_NODE` is negative, so it is left out.
        self.operands.into_iter().flat_map(usize::try_from)
    }
}

/// The number of inputs of each token of a `vocab.json`, by token number.
///
/// # Errors
/// Names the first token that is neither a function nor a special token.
pub fn arities<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<i8>, String> {
    let arity = |(number, name): (usize, &str)| {
        if SPECIAL_NAMES.contains(&name) {
            return Ok(NO_FUNCTION);
        }
        let stem = name.split_once('[').map_or(name, |(stem, _)| stem);
        let function = Function::from_name(stem).map_err(|fault| format!("program token {number}: {fault}"))?;
        Ok(function.arity() as i8)
    };
    names.into_iter().enumerate().map(arity).collect()
}

/// Plans rows of `width` tokens each, laid end to end, level by level; `arities` has the number of inputs of each
/// token.
pub fn plan_levels(rows: &[i64], width: usize, arities: &[i8]) -> NodePlan {
    let (nodes, roots) = read_rows(rows, width, arities);
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&node| (nodes[node].level, nodes[node].inputs().count(), nodes[node].token));
    let mut starts = vec![0];
    for level in order.chunk_by(|&a, &b| nodes[a].level == nodes[b].level) {
        starts.push(starts[starts.len() - 1] + level.len() as i64);
    }
    in_order(&nodes, &order, starts, &roots)
}

/// Like `plan_levels`, but token by token: few, large runs that need one module each.
///
/// A node waits for others with its token. Of the tokens that have nodes with all inputs ready, the next one is a token
/// that no later node has, if there is one; then the one farthest from a program's end; then the one with the most
/// ready nodes.
pub fn plan_runs(rows: &[i64], width: usize, arities: &[i8]) -> NodePlan {
    let (nodes, roots) = read_rows(rows, width, arities);
    // The node that takes each node's output, and the distance from the end of the program. Programs are trees, so each
    // output has a single taker, which comes after the node in reading order.
    let mut takers = vec![None; nodes.len()];
    let mut distances = vec![0_usize; nodes.len()];
    for (taker, node) in nodes.iter().enumerate().rev() {
        for input in node.inputs() {
            takers[input] = Some(taker);
            distances[input] = distances[taker] + 1;
        }
    }
    let mut missing: Vec<usize> = nodes.iter().map(|node| node.inputs().count()).collect();
    let mut n_left = vec![0; arities.len()];
    let mut ready = vec![Vec::new(); arities.len()];
    for (number, node) in nodes.iter().enumerate() {
        n_left[node.token as usize] += 1;
        if missing[number] == 0 {
            ready[node.token as usize].push(number);
        }
    }
    let mut order = Vec::with_capacity(nodes.len());
    let mut run_starts = vec![0];
    let urgency = |token: usize, waiting: &[usize], left: usize| {
        let distance = waiting.iter().map(|&node| distances[node]).max();
        (waiting.len() == left, distance, waiting.len(), std::cmp::Reverse(token))
    };
    while let Some(token) = (0..ready.len())
        .filter(|&token| !ready[token].is_empty())
        .max_by_key(|&token| urgency(token, &ready[token], n_left[token]))
    {
        let mut run = std::mem::take(&mut ready[token]);
        run.sort_unstable();
        n_left[token] -= run.len();
        for taker in run.iter().filter_map(|&node| takers[node]) {
            missing[taker] -= 1;
            if missing[taker] == 0 {
                ready[nodes[taker].token as usize].push(taker);
            }
        }
        order.append(&mut run);
        run_starts.push(order.len() as i64);
    }
    in_order(&nodes, &order, run_starts, &roots)
}

/// All nodes in reading order, and the number of the last node of each row.
fn read_rows(rows: &[i64], width: usize, arities: &[i8]) -> (Vec<Node>, Vec<i64>) {
    let mut nodes = Vec::new();
    let mut open = Vec::new();
    let read = |(number, row): (usize, &[i64])| read_row(row, number as i64, arities, &mut nodes, &mut open);
    let roots = rows.chunks_exact(width.max(1)).enumerate().map(read).collect();
    (nodes, roots)
}

/// Adds a row's nodes, inputs first, and returns the number of the last one; adds none if the row is ill-formed.
fn read_row(row: &[i64], number: i64, arities: &[i8], nodes: &mut Vec<Node>, open: &mut Vec<i64>) -> i64 {
    let before = nodes.len();
    open.clear();
    let whole = body(row).is_some_and(|tokens| {
        tokens.iter().rev().all(|&token| read_token(token, number, arities, nodes, open).is_some())
    });
    match open[..] {
        [root] if whole => root,
        _ => {
            nodes.truncate(before);
            NO_NODE
        }
    }
}

/// The tokens between `<START>` and the first `<END>`, if only `<NULL>` follows.
fn body(row: &[i64]) -> Option<&[i64]> {
    let rest = row.strip_prefix(&[i64::from(START)])?;
    let end = rest.iter().position(|&token| token == i64::from(END))?;
    rest[end + 1..].iter().all(|&token| token == i64::from(NULL)).then_some(&rest[..end])
}

/// Reads one token of a row, from the end: takes its inputs off the stack of open nodes and pushes its own node.
fn read_token(token: i64, row: i64, arities: &[i8], nodes: &mut Vec<Node>, open: &mut Vec<i64>) -> Option<()> {
    let arity = *arities.get(usize::try_from(token).ok()?)?;
    let mut operands = [NO_NODE; 2];
    let mut level = 0;
    for operand in operands.iter_mut().take(usize::try_from(arity).ok()?) {
        *operand = open.pop()?;
        level = level.max(nodes[*operand as usize].level + 1);
    }
    open.push(nodes.len() as i64);
    nodes.push(Node { level, token, row, operands });
    Some(())
}

/// The nodes in another order, renumbered.
fn in_order(nodes: &[Node], order: &[usize], starts: Vec<i64>, roots: &[i64]) -> NodePlan {
    let mut places = vec![0; nodes.len()];
    for (place, &node) in order.iter().enumerate() {
        places[node] = place as i64;
    }
    // `NO_NODE` stays as it is.
    let place = |node: i64| usize::try_from(node).map_or(NO_NODE, |node| places[node]);
    let taken = || order.iter().map(|&node| nodes[node]);
    NodePlan {
        tokens: taken().map(|node| node.token).collect(),
        rows: taken().map(|node| node.row).collect(),
        operands: taken().map(|node| node.operands.map(place)).collect(),
        starts,
        roots: roots.iter().map(|&root| place(root)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ProgramVocabulary, samples};
    use super::*;
    use proptest::prelude::*;

    /// Tokens 4 to 7 take none, one, two and one input.
    const ARITIES: [i8; 8] = [-1, -1, -1, -1, 0, 1, 2, 1];

    fn plan(rows: &[[i64; 8]]) -> NodePlan {
        plan_levels(&rows.concat(), 8, &ARITIES)
    }

    #[test]
    fn nodes_are_sorted_by_level_and_token() {
        let made = plan(&[[1, 6, 5, 4, 4, 2, 0, 0], [1, 5, 4, 2, 0, 0, 0, 0]]);
        assert_eq!(made.tokens, [4, 4, 4, 5, 5, 6]);
        assert_eq!(made.rows, [0, 0, 1, 0, 1, 0]);
        // The row is read backwards, so its second `4` is the first node, and the first one goes into `5`.
        assert_eq!(made.operands, [[-1, -1], [-1, -1], [-1, -1], [1, -1], [2, -1], [3, 0]]);
        assert_eq!(made.starts, [0, 3, 5, 6]);
        assert_eq!(made.roots, [5, 4]);
    }

    #[test]
    fn nodes_that_join_two_stand_behind_those_of_one_input() {
        let made = plan(&[[1, 7, 4, 2, 0, 0, 0, 0], [1, 6, 4, 4, 2, 0, 0, 0], [1, 5, 4, 2, 0, 0, 0, 0]]);
        assert_eq!(made.tokens, [4, 4, 4, 4, 5, 7, 6]);
        assert_eq!(made.starts, [0, 4, 7]);
    }

    #[test]
    fn nodes_wait_for_others_of_their_token() {
        // 5(7(4)), 7(5(4)) and 7(4): the second row's `5` waits for the first row's.
        let rows = [[1, 5, 7, 4, 2, 0, 0, 0], [1, 7, 5, 4, 2, 0, 0, 0], [1, 7, 4, 2, 0, 0, 0, 0]];
        let made = plan_runs(&rows.concat(), 8, &ARITIES);
        assert_eq!(made.tokens, [4, 4, 4, 7, 7, 5, 5, 7]);
        assert_eq!(made.rows, [0, 1, 2, 0, 2, 0, 1, 1]);
        assert_eq!(made.starts, [0, 3, 5, 7, 8]);
        assert_eq!(made.roots, [5, 7, 4]);
        assert_eq!(plan(&rows).starts, [0, 3, 6, 8]);
    }

    #[test]
    fn a_token_that_nobody_asks_for_later_is_first() {
        // 7(4) and 5(5(4)): `7` is nearer to its end, but no other `7` follows.
        let made = plan_runs(&[[1, 7, 4, 2, 0, 0, 0, 0], [1, 5, 5, 4, 2, 0, 0, 0]].concat(), 8, &ARITIES);
        assert_eq!(made.tokens, [4, 4, 7, 5, 5]);
        assert_eq!(made.starts, [0, 2, 3, 4, 5]);
    }

    #[test]
    fn of_tokens_that_come_again_the_one_farthest_from_its_end_is_first() {
        // 7(5(7(4))) and 5(5(4)): both tokens come again; after the first row's `7` both rows' `5` are one run.
        let made = plan_runs(&[[1, 7, 5, 7, 4, 2, 0, 0], [1, 5, 5, 4, 2, 0, 0, 0]].concat(), 8, &ARITIES);
        assert_eq!(made.tokens, [4, 4, 7, 5, 5, 5, 7]);
        assert_eq!(made.starts, [0, 2, 3, 5, 6, 7]);
    }

    #[test]
    fn a_row_that_is_no_tree_leaves_no_nodes() {
        let ill_formed = [
            [1, 2, 0, 0, 0, 0, 0, 0],  // no program
            [0, 4, 2, 0, 0, 0, 0, 0],  // no <START>
            [1, 4, 4, 4, 4, 4, 4, 4],  // no <END>
            [1, 4, 2, 4, 0, 0, 0, 0],  // continues after <END>
            [1, 5, 2, 0, 0, 0, 0, 0],  // an input is missing
            [1, 6, 4, 2, 0, 0, 0, 0],  // one input of two
            [1, 4, 4, 2, 0, 0, 0, 0],  // two programs
            [1, 5, 3, 4, 2, 0, 0, 0],  // a special token among functions
            [1, 8, 4, 2, 0, 0, 0, 0],  // no such token
            [1, -4, 2, 0, 0, 0, 0, 0], // nor this
        ];
        for row in ill_formed {
            let made = plan(&[row, [1, 4, 2, 0, 0, 0, 0, 0]]);
            assert_eq!(
                (made.roots.as_slice(), made.rows.as_slice()),
                ([NO_NODE, 0].as_slice(), [1].as_slice()),
                "{row:?}"
            );
        }
        assert_eq!(plan(&[ill_formed[0]]), NodePlan { starts: vec![0], roots: vec![-1], ..NodePlan::default() });
    }

    #[test]
    fn inputs_are_those_of_the_catalogue() {
        let names = ["<NULL>", "<START>", "<END>", "<UNK>", "scene", "filter_color[mauve]", "equal_integer"];
        assert_eq!(arities(names).unwrap(), [-1, -1, -1, -1, 0, 1, 2]);
        let error = arities(["<NULL>", "cuont"]).unwrap_err();
        assert_eq!(error, "program token 1: unknown function \"cuont\" (did you mean \"count\"?)");
    }

    proptest! {
        #[test]
        fn a_plan_is_the_programs_trees(seeds in prop::collection::vec(any::<u64>(), 1..6)) {
            let vocabulary = ProgramVocabulary::of(&samples::vocabulary(), Function::all().iter().copied());
            let arities = arities(vocabulary.names().iter().map(String::as_str)).unwrap();
            let programs = seeds.iter().map(|&seed| samples::random_program(&samples::vocabulary(), seed));
            let encoded: Vec<Vec<i32>> = programs.filter_map(|program| vocabulary.encode(&program).ok()).collect();
            let width = encoded.iter().map(Vec::len).max().unwrap_or(1);
            let padded = |row: &Vec<i32>| row.iter().copied().chain(std::iter::repeat(NULL)).take(width).map(i64::from).collect::<Vec<_>>();
            let rows: Vec<i64> = encoded.iter().flat_map(padded).collect();
            for made in [plan_levels(&rows, width, &arities), plan_runs(&rows, width, &arities)] {
                prop_assert_eq!(made.tokens.len(), encoded.iter().map(|row| row.iter().take_while(|&&token| token != END).count() - 1).sum::<usize>());
                for (row, &root) in encoded.iter().zip(&made.roots) {
                    // Read from the root down, first input before second, the tree is the row.
                    let mut read = vec![i64::from(START)];
                    let mut pile = vec![root];
                    while let Some(node) = pile.pop() {
                        read.push(made.tokens[node as usize]);
                        let inputs = made.operands[node as usize];
                        prop_assert!(inputs.iter().all(|&input| input < node));
                        pile.extend(inputs.into_iter().rev().filter(|&input| input != NO_NODE));
                    }
                    let length = read.len();
                    prop_assert_eq!(read, row[..length].iter().copied().map(i64::from).collect::<Vec<_>>());
                    prop_assert_eq!(row[length], END);
                }
            }
        }
    }
}
