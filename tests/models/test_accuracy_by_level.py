"""Programs as models run them: plans of levels and of runs against slow and obvious claims, and answers."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clevrhope import _core
from clevrhope.errors import ProgramError
from wording import check_refused

torch = pytest.importorskip("torch")


ARITIES = np.array([-1, -1, -1, -1, 0, 1, 2, 1, 2], dtype=np.int8)
NULL, START, END = 0, 1, 2

Tree = tuple  # (token, *inputs)


def read_tree(tokens: list[int]) -> Tree | None:
    """The tree that prefix tokens spell, by recursion; None where they spell none."""

    def read(at: int) -> tuple[Tree, int]:
        token, at = tokens[at], at + 1
        if not 4 <= token < len(ARITIES):
            raise IndexError
        inputs = []
        for _ in range(ARITIES[token]):
            one, at = read(at)
            inputs.append(one)
        return (token, *inputs), at

    try:
        tree, end = read(0)
    except IndexError:
        return None
    return tree if end == len(tokens) else None


def slow_tree(row: list[int]) -> Tree | None:
    if row[0] != START or END not in row:
        return None
    end = row.index(END)
    return None if any(row[end + 1 :]) else read_tree(row[1:end])


def height(tree: Tree) -> int:
    return 1 + max(height(one) for one in tree[1:]) if len(tree) > 1 else 0


def n_nodes(tree: Tree) -> int:
    return 1 + sum(n_nodes(one) for one in tree[1:])


Plan = tuple[Any, ...]


def check(rows: list[list[int]]) -> None:
    """Every claim of the plans, read off the trees."""
    trees = [slow_tree(row) for row in rows]
    in_arrays = np.array(rows, dtype=np.int64)
    check_levels(_core.plan_levels(in_arrays, ARITIES), trees)
    check_runs(_core.plan_runs(in_arrays, ARITIES), trees)


def check_trees(plan: Plan, trees: list[Tree | None]) -> list[Tree]:
    """What holds in whatever order nodes are; gives the tree below each node."""
    tokens, row_of, operands, starts, roots = plan

    def tree_of(node: int) -> Tree:
        return (int(tokens[node]), *(tree_of(one) for one in operands[node] if one >= 0))

    for number, tree in enumerate(trees):
        assert (roots[number] >= 0) == (tree is not None)
        if tree is not None:
            assert tree_of(roots[number]) == tree
            assert (row_of == number).sum() == n_nodes(tree)
    assert len(tokens) == sum(n_nodes(tree) for tree in trees if tree)
    assert starts[0] == 0
    assert starts[-1] == len(tokens)
    assert (np.diff(starts) > 0).all()
    for begin, end in pairwise(starts):
        # A set's inputs were run before it.
        assert (operands[begin:end] < begin).all()
    for node in range(len(tokens)):
        assert all(row_of[one] == row_of[node] for one in operands[node] if one >= 0)
        assert (operands[node] >= 0).sum() == ARITIES[tokens[node]]
    return [tree_of(node) for node in range(len(tokens))]


def check_levels(plan: Plan, trees: list[Tree | None]) -> None:
    below = check_trees(plan, trees)
    tokens, row_of, _, starts, _ = plan
    keys = [(height(tree), ARITIES[tokens[n]], tokens[n], row_of[n]) for n, tree in enumerate(below)]
    assert keys == sorted(keys)
    levels = [n for n in range(len(keys)) if n == 0 or keys[n][0] != keys[n - 1][0]]
    assert starts.tolist() == [*levels, len(keys)]


def check_runs(plan: Plan, trees: list[Tree | None]) -> None:
    below = check_trees(plan, trees)
    tokens, row_of, operands, starts, _ = plan
    done: set[int] = set()
    for begin, end in pairwise(starts):
        assert len(set(tokens[begin:end])) == 1
        assert (np.diff(row_of[begin:end]) >= 0).all()
        # No node of the run's token that could have been run stays behind.
        could = {
            node
            for node in range(len(below))
            if tokens[node] == tokens[begin] and {one for one in operands[node] if one >= 0} <= done
        }
        assert could - done == set(range(begin, end))
        done |= set(range(begin, end))


def prefix(tree: Tree) -> list[int]:
    return [tree[0], *(token for one in tree[1:] for token in prefix(one))]


def padded(rows: list[list[int]]) -> list[list[int]]:
    width = max(map(len, rows))
    return [[*row, *[NULL] * (width - len(row))] for row in rows]


TREES = st.recursive(
    st.just((4,)),
    lambda inputs: st.one_of(
        st.tuples(st.sampled_from([5, 7]), inputs), st.tuples(st.sampled_from([6, 8]), inputs, inputs)
    ),
    max_leaves=8,
)


@given(st.lists(TREES, min_size=1, max_size=6))
def test_trees_are_planned_as_they_are(trees: list[Tree]) -> None:
    check(padded([[START, *prefix(tree), END] for tree in trees]))


@given(st.lists(st.tuples(TREES, st.integers(0, 40), st.integers(-2, 9)), min_size=1, max_size=6))
def test_rows_with_a_wrong_token_are_planned_or_have_no_node(spoiled: list[tuple[Tree, int, int]]) -> None:
    rows = padded([[START, *prefix(tree), END] for tree, _, _ in spoiled])
    for row, (_, place, token) in zip(rows, spoiled, strict=True):
        row[place % len(row)] = token
    check(rows)


def test_runs_are_fewer_than_the_tokens_of_levels() -> None:
    # 5(7(4)), 7(5(4)) and 7(4): by levels and tokens there are 5 sets, but the second `5` can wait.
    trees = [(5, (7, (4,))), (7, (5, (4,))), (7, (4,))]
    rows = np.array(padded([[START, *prefix(tree), END] for tree in trees]), dtype=np.int64)
    tokens, _, _, starts, _ = _core.plan_runs(rows, ARITIES)
    assert [tokens[begin] for begin in starts[:-1]] == [4, 7, 5, 7]
    assert np.diff(starts).tolist() == [3, 2, 2, 1]


def test_arities_are_read_off_names() -> None:
    names = ["<NULL>", "<START>", "<END>", "<UNK>", "scene", "filter_color[red]", "union", "exist"]
    assert _core.program_arities(names).tolist() == [-1, -1, -1, -1, 0, 1, 2, 1]
    names = ["offer_shape[cube]", "verify_color[red]", "count_is[3]", "not", "and", "verify_relation[left]"]
    assert _core.program_arities(names).tolist() == [1, 1, 1, 1, 2, 2]
    check_refused(ProgramError, _core.program_arities, [*names[:4], "uniqe"])
