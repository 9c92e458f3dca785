"""Which lines the tree of a journal has: what is quiet and old folds into one line that counts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rivetpy.cli import times
from rivetpy.cli.journal import BRANCHING, BranchLine, Line, Node
from rivetpy.cli.render_values import error_lines, failure_lines
from rivetpy.cli.terminal import unicode_out

#: Finished iterations shown in full before the one that runs; older ones fold.
SHOWN_ITERATIONS = 1
#: More neighbours than this, and the quiet ones between the first and the last few fold.
MANY, FIRST, LAST = 40, 3, 10
_FINE = frozenset({"completed", "interrupted"})


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the tree before it is laid out; ``note`` stands for folded entries or an error's text."""

    guide: str
    label: str
    line: Line | None = None
    branch: BranchLine | None = None
    note: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Guides:
    """What a tree is drawn with; what runs side by side has double lines."""

    tee: str
    last: str
    bar: str
    branch: str
    last_branch: str
    more: str

    def before(self, side_by_side: bool, last: bool) -> str:
        """What stands before a place of the tree."""
        if side_by_side:
            return self.last_branch if last else self.branch
        return self.last if last else self.tee

    def under(self, guide: str) -> str:
        """What stands before a second line of a place: what goes on below it."""
        gone = " " * len(self.bar)
        for here, below in (
            (self.tee, self.bar),
            (self.branch, self.bar),
            (self.last, gone),
            (self.last_branch, gone),
        ):
            guide = guide.replace(here, below)
        return guide


def guides() -> Guides:
    """As the output can show them."""
    if unicode_out():
        return Guides("├─ ", "└─ ", "│  ", "╞═ ", "╘═ ", "…")
    return Guides("|- ", "`- ", "|  ", "|= ", "`= ", "...")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much is shown."""

    #: What is quiet and old as one line.
    fold: bool = True
    #: All entries are there, so iterations that are missing were pruned.
    whole: bool = True


def rows(root: Node, wanted: Wanted) -> Iterator[Row]:
    """The tree's lines, top down."""
    draw = guides()
    for group in _groups(list(root.children.values()), wanted):
        if len(group) > 1:
            yield _fold(group, "", draw)
        else:
            yield from _rows(group[0], "", "", draw, wanted)


def _rows(node: Node, guide: str, indent: str, draw: Guides, wanted: Wanted) -> Iterator[Row]:
    yield Row(guide, node.part, node.line, node.branch)
    children = list(node.children.values())
    yield from _errors(node, indent + (draw.bar if children else "   "))
    gone = _pruned(node.line, children) if wanted.whole else ""
    if gone:
        yield Row(indent + draw.tee, draw.more, note=gone, style="dim")
    side_by_side = node.line is not None and node.line.kind in BRANCHING
    for group in _groups(children, wanted):
        last = group[-1] is children[-1]
        here = indent + draw.before(side_by_side, last)
        if len(group) > 1:
            yield _fold(group, here, draw)
        else:
            inner = indent + ("   " if last else draw.bar)
            yield from _rows(group[0], here, inner, draw, wanted)


def _groups(children: list[Node], wanted: Wanted) -> Iterator[list[Node]]:
    """The places one by one; those that fold together as a list of several."""
    if not wanted.fold or len(children) <= SHOWN_ITERATIONS + 2:
        return ([child] for child in children)
    if all(child.iteration is not None for child in children):
        keep = SHOWN_ITERATIONS + 1
        return iter([children[:-keep], *([child] for child in children[-keep:])])
    return _quiet_runs(children) if len(children) > MANY else ([child] for child in children)


def _quiet_runs(children: list[Node]) -> Iterator[list[Node]]:
    run: list[Node] = []
    for place, child in enumerate(children):
        if FIRST <= place < len(children) - LAST and _quiet(child):
            run.append(child)
            continue
        if run:
            yield run
            run = []
        yield [child]


def _quiet(node: Node) -> bool:
    """Whether nothing in it needs a look: it is done, and at the first attempt."""
    if node.branch is not None and node.branch.status not in _FINE:
        return False
    return all(line.status in _FINE and line.attempts <= 1 for line in node.walk())


def _pruned(line: Line | None, children: list[Node]) -> str:
    """Which iterations were deleted from the journal."""
    if line is None or line.kind != "loop" or not children:
        return ""
    first = children[0].iteration
    return f"{first} earlier iterations, pruned from the journal" if first else ""


def _fold(nodes: list[Node], guide: str, draw: Guides) -> Row:
    """How much a fold holds, how it went, how long that took, and from where to where it goes."""
    lines = [(node.part, line) for node in nodes for line in node.walk()]
    bad = {line.status: part for part, line in lines if line.status not in _FINE}
    retries = sum(max(0, line.attempts - 1) for _, line in lines)
    told = [
        f"{len(nodes)} {'iterations' if nodes[0].iteration is not None else 'entries'}",
        *_statuses(Counter(line.status for _, line in lines), bad),
        *([f"{retries} {'retry' if retries == 1 else 'retries'}"] if retries else []),
        *_took([line for _, line in lines]),
    ]
    note = f"{', '.join(told)} ({nodes[0].part} to {nodes[-1].part})"
    return Row(guide, draw.more, note=note, style="yellow" if bad else "dim")


def _statuses(counts: Counter[str], bad: dict[str, str]) -> list[str]:
    """How many came to what; for what needs a look, where it was the last time."""
    if not bad and len(counts) == 1:
        return [f"all {status}" for status in counts]
    looks = [f"{counts[status]} {status} (last in {part})" for status, part in sorted(bad.items())]
    return looks + [f"{count} {status}" for status, count in sorted(counts.items()) if status not in bad]


def _took(lines: list[Line]) -> list[str]:
    ends = [line.completed_at for line in lines if line.completed_at is not None]
    return [f"in {times.span(max(ends) - min(line.created_at for line in lines))}"] if ends else []


def _errors(node: Node, indent: str) -> Iterator[Row]:
    """Why it failed, unless what failed stands below with its own reason."""
    failure = node.branch.failure if node.branch is not None else None
    texts = [*(failure_lines(failure) if failure else ()), *(error_lines(node.line) if node.line else ())]
    if not texts or any(
        line.failure is not None for child in node.children.values() for line in child.walk()
    ):
        return
    for text in texts:
        yield Row(indent, "", note=text, style="red")
