"""The cost of training on many processes: formulas against cases worked out by hand, and the page that applies them."""

from pathlib import Path

import pytest

from core.kvstore.scaling import KINDS, Mesh, Work, estimate, table

GIGA = 1e9


def test_memory_of_a_decoder_with_adam_in_half_precision():
    """16 bytes a parameter (Rajbhandari et al., 2020): 2 + 2 + 12, of which stages cut 12, 14 and 16 by N."""
    work, mesh = Work(7.5e9, flops=0, width=2, master=True), Mesh(64, link=1e20, rate=1)
    found = [estimate(work, mesh, kind).memory / GIGA for kind in KINDS]
    assert found == pytest.approx([120, 31.4, 16.6, 1.9], rel=0.01)  # the paper's Figure 1


def test_bytes_of_rings():
    work = Work(1e6, flops=1)
    for count in (1, 2, 4):
        mesh = Mesh(count, link=1, rate=1)
        once = 4e6 * (count - 1) / count
        sent = [estimate(work, mesh, kind).sent for kind in KINDS]
        assert sent == pytest.approx([2 * once] * 3 + [3 * once])


def test_seconds():
    work = Work(1e6, flops=3e12)
    mesh = Mesh(2, link=1e6, rate=1e12, latency=0)  # 3 s of computing, 2 s for a reduce-scatter or an all-gather
    found = [estimate(work, mesh, kind) for kind in KINDS]
    assert [e.exposed for e in found] == pytest.approx([2, 4, 2, 4])
    assert [e.seconds for e in found] == pytest.approx([5, 7, 5, 7])
    assert found[0].efficiency == pytest.approx(0.6)
    alone = estimate(work, Mesh(1, link=1, rate=1e12), 3)
    assert (alone.seconds, alone.exposed, alone.sent) == (3, 0, 0)


def test_what_is_refused():
    with pytest.raises(ValueError, match="kind is one of 'dist_sync', 1, 2, 3, got 4"):
        estimate(Work(1, 1), Mesh(1, 1, 1), 4)
    with pytest.raises(ValueError, match="1 process or more, got 0"):
        estimate(Work(1, 1), Mesh(0, 1, 1), 1)


def test_the_page_holds_the_table():
    page = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text()
    assert table() in page
    scope: dict = {}
    exec(page.split("```python\n")[1].split("```")[0], scope)
    assert scope["step"].sent == pytest.approx(2 * 4 * 25.6e6 * 7 / 8)


def test_replicas_within_machines():
    """32 processes of 8 a machine: rings of 8 on the inner link, an eighth of the gradients between 4 machines."""
    work = Work(1e6, flops=0)
    mesh = Mesh(32, link=1e6, rate=1, latency=0, shards=8, inner=1e8)
    step = estimate(work, mesh, 2)
    assert (step.sent, step.between) == pytest.approx((2 * 4e6 * 7 / 8, 2 * 4e6 / 8 * 3 / 4))
    assert step.seconds == pytest.approx(step.sent / 1e8 + step.between / 1e6)
    assert step.memory == estimate(work, Mesh(8, link=1, rate=1), 2).memory
    with pytest.raises(ValueError, match="30 processes are no replicas of 8"):
        estimate(work, Mesh(30, 1, 1, shards=8), 2)
