"""Dependency trees out of scores, and sentence buckets, for the biaffine parser (Dozat and Manning, 2017)."""

from __future__ import annotations

import collections

import numpy as np

__all__ = ["arc_argmax", "rel_argmax", "reshape_fortran", "Tarjan", "KMeans"]

# The places of these relations in the parser's vocabulary.
PAD, ROOT = 0, 1


def arc_argmax(parse_probs, length, tokens_to_keep, ensure_tree=True):
    """The head of each token: NumPy array of shape (tokens,); token 0 is the root of all.

    parse_probs: the probability of each head (columns) for each token (rows); length: how many tokens
    are real; tokens_to_keep: 1 for tokens that may be heads, else 0.
    ensure_tree: repairs the most probable heads: exactly one token under the root, and no cycles.

    >>> shares = onp.array([[1, 0, 0], [0.2, 0.1, 0.7], [0.6, 0.4, 0]])  # rows: tokens, of which the first is the root
    >>> gluonnlp.data.arc_argmax(shares, 3, onp.ones(3))
    array([0, 2, 0])
    """
    probs = parse_probs * tokens_to_keep
    if not ensure_tree:
        return np.argmax(probs, axis=1)
    probs = probs * (1 - np.eye(len(tokens_to_keep)))
    heads = np.argmax(probs, axis=1)
    tokens = np.arange(1, length)
    _keep_one_root(heads, probs, tokens)
    _break_cycles(heads, probs, tokens)
    return heads


def rel_argmax(rel_probs, length, ensure_tree=True):
    """The relation of each token to its head: NumPy array of shape (tokens,).

    rel_probs: the probability of each relation for each token.
    ensure_tree: exactly one of the real tokens is the root.

    >>> shares = onp.array([[0, 0, 1.0, 0], [0.1, 0.1, 0.7, 0.1], [0.1, 0.1, 0.2, 0.6]])
    >>> gluonnlp.data.rel_argmax(shares, 3)
    array([2, 1, 3])
    """
    probs = np.array(rel_probs)
    probs[:, PAD] = 0
    relations = np.argmax(probs, axis=1)
    if not ensure_tree:
        return relations
    tokens = np.arange(1, length)
    roots = tokens[relations[tokens] == ROOT]
    if len(roots) == 0:
        relations[tokens[np.argmax(probs[tokens, ROOT])]] = ROOT
    elif len(roots) > 1:
        as_root = probs[roots, ROOT]
        probs[roots, ROOT] = 0
        relations[roots] = np.argmax(probs[roots], axis=1)
        # The root is the token that would lose most by being something else.
        relations[roots[np.argmin(probs[roots, relations[roots]] / as_root)]] = ROOT
    return relations


def reshape_fortran(tensor, shape):
    """`tensor` in another shape, its elements counted with the first index fastest.

    >>> gluonnlp.data.reshape_fortran(nd.array([[1, 2], [3, 4]]), (4,))
    [1. 3. 2. 4.]
    <NDArray 4 @cpu(0)>
    """
    return tensor.T.reshape(tuple(reversed(shape))).T


def _keep_one_root(heads, probs, tokens):
    roots = tokens[heads[tokens] == 0]
    if len(roots) == 0:
        gain = probs[tokens, 0] / probs[tokens, heads[tokens]]
        heads[tokens[np.argmax(gain)]] = 0
    elif len(roots) > 1:
        as_root = probs[roots, 0]
        probs[roots, 0] = 0
        heads[roots] = np.argmax(probs[roots][:, tokens], axis=1) + 1
        heads[roots[np.argmin(probs[roots, heads[roots]] / as_root)]] = 0


def _break_cycles(heads, probs, tokens):
    graph = Tarjan(heads, tokens)
    for component in graph.SCCs:
        if len(component) == 1:
            continue
        cycle = np.array(sorted(component))
        below, to_visit = set(), set(component)
        while to_visit:
            node = to_visit.pop()
            if node not in below:
                below.add(node)
                to_visit |= graph.edges[node]
        # No head from below the cycle: the token whose best other head costs least gets it.
        old = heads[cycle]
        old_probs = probs[cycle, old]
        probs[np.ix_(cycle, sorted(below))] = 0
        new = np.argmax(probs[cycle][:, tokens], axis=1) + 1
        best = np.argmax(probs[cycle, new] / old_probs)
        heads[cycle[best]] = new[best]
        graph.edges[new[best]].add(cycle[best])
        graph.edges[old[best]].remove(cycle[best])


class Tarjan:
    """The strongly connected components of a dependency graph (Tarjan, 1972); those of several tokens are cycles.

    prediction: the head of each token; tokens: the tokens that count.
    `edges` holds the dependents of each token, `SCCs` the components, a set each, `vertices` all tokens.

    >>> gluonnlp.data.Tarjan([0, 0, 1], [1, 2]).SCCs
    [{2}, {1}, {0}]
    """

    def __init__(self, prediction, tokens):
        self.edges = collections.defaultdict(set)
        self.vertices = {0}
        self.indices = {}
        self.SCCs = []
        for dependent, head in enumerate(np.asarray(prediction)[tokens].tolist(), 1):
            self.vertices.add(dependent)
            self.edges[head].add(dependent)
        self._lowest = {}
        self._stack = []
        for vertex in sorted(self.vertices):
            if vertex not in self.indices:
                self._visit(vertex)

    def _visit(self, vertex):
        self.indices[vertex] = self._lowest[vertex] = len(self.indices)
        self._stack.append(vertex)
        for dependent in self.edges[vertex]:
            if dependent not in self.indices:
                self._visit(dependent)
                self._lowest[vertex] = min(self._lowest[vertex], self._lowest[dependent])
            elif dependent in self._stack:
                self._lowest[vertex] = min(self._lowest[vertex], self.indices[dependent])
        if self._lowest[vertex] == self.indices[vertex]:
            place = self._stack.index(vertex)
            self.SCCs.append(set(self._stack[place:]))
            del self._stack[place:]


class KMeans:
    """Sentence lengths in k clusters with little padding: `splits`, the longest length of each.

    len_cntr: {length: number of sentences}.  ValueError when there are fewer lengths than clusters.

    >>> gluonnlp.data.KMeans(2, {1: 5, 2: 5, 10: 3}).splits
    [2, 10]
    """

    def __init__(self, k, len_cntr):
        if len(len_cntr) < k:
            raise ValueError(f"{len(len_cntr)} different lengths cannot make {k} clusters.")
        self._k = k
        self._counts = len_cntr
        self._lengths = sorted(len_cntr)
        self.splits = self._even_splits()
        self._sizes = self._count_sizes()
        before = None
        while self.splits != before:
            before = list(self.splits)
            for i in range(k - 1):
                self._move(i)

    def __len__(self):
        return self._k

    def __iter__(self):
        return iter(self.splits)

    def __getitem__(self, i):
        return self.splits[i]

    @property
    def len2split_idx(self):
        """{length: its cluster}, for all lengths up to the longest."""
        return {n: int(np.searchsorted(self.splits, n)) for n in range(self._lengths[-1] + 1)}

    def _even_splits(self):
        """Splits with equally many sentences each, moved apart where they coincide."""
        sentences = np.repeat(self._lengths, [self._counts[n] for n in self._lengths])
        splits, lengths = [int(part.max()) for part in np.array_split(sentences, self._k)], self._lengths
        for i in range(self._k - 1, 0, -1):
            while splits[i - 1] >= splits[i] and splits[i - 1] > lengths[0]:
                splits[i - 1] = lengths[lengths.index(splits[i - 1]) - 1]
        for i in range(1, self._k - 1):
            while splits[i] <= splits[i - 1] and splits[i] < lengths[-1]:
                splits[i] = lengths[lengths.index(splits[i]) + 1]
        return splits

    def _count_sizes(self):
        sizes = dict.fromkeys(self.splits, 0)
        for length, count in self._counts.items():
            sizes[self.splits[int(np.searchsorted(self.splits, length))]] += count
        return sizes

    def _move(self, i):
        """Moves a split to the next shorter, else to the next longer length when that saves padding."""
        split, longer = self.splits[i], self.splits[i + 1]
        place, at_split = self._lengths.index(split), self._counts[split]
        if place > 0 and (new := self._lengths[place - 1]) not in self._sizes:
            if at_split * (longer - new) < self._sizes[split] * (split - new):
                self._replace(i, new, -at_split)
        elif place < len(self._lengths) - 2 and (new := self._lengths[place + 1]) not in self._sizes:
            if self._sizes[split] * (new - split) <= at_split * (new - split):
                self._replace(i, new, at_split)

    def _replace(self, i, new, change):
        split, longer = self.splits[i], self.splits[i + 1]
        self._sizes[longer] -= change
        self._sizes[new] = self._sizes.pop(split) + change
        self.splits[i] = new
