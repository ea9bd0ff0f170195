from collections import defaultdict
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rlx_fpga.architectures.dataflow.balance import OperandFlow, StageFlow, queue_depths


def stage(*sources, hold=Fraction(0), lead=Fraction(0)):
    return StageFlow(tuple(OperandFlow(source) for source in sources), hold, lead)


def test_a_chain_needs_no_queue():
    assert queue_depths([stage(-1, hold=Fraction(1, 2)), stage(0, hold=Fraction(1))]) == [[0], [0]]


def test_a_shortcut_holds_what_the_long_branch_holds():
    stages = [
        stage(-1, hold=Fraction(1, 8)),
        stage(0, hold=Fraction(1, 4)),
        stage(1, hold=Fraction(1, 3)),
        stage(0, 2),
    ]
    assert queue_depths(stages)[3] == [Fraction(1, 4) + Fraction(1, 3), 0]


def test_what_lies_before_the_fork_does_not_count():
    block = [stage(0, hold=Fraction(1, 4)), stage(0, 1), stage(2, hold=Fraction(1, 5)), stage(2, 3)]
    depths = queue_depths([stage(-1, hold=Fraction(1, 2)), *block])
    assert depths[2] == [Fraction(1, 4), 0]
    assert depths[4] == [Fraction(1, 5), 0]


def test_a_branch_that_runs_ahead_needs_space_for_it():
    stages = [stage(-1, hold=Fraction(1, 4)), stage(-1, lead=Fraction(1, 6)), stage(0, 1)]
    assert queue_depths(stages)[2] == [0, Fraction(1, 4) + Fraction(1, 6)]


def test_operands_that_take_turns():
    turns = StageFlow(
        (OperandFlow(-1, ahead=Fraction(1, 2)), OperandFlow(-1, behind=Fraction(1, 2)))
    )
    assert queue_depths([turns]) == [[0, 1]]


def test_registers_on_the_way_count():
    stages = [
        StageFlow((OperandFlow(-1, capacity=Fraction(1, 16)),), hold=Fraction(1, 4)),
        stage(-1, 0),
    ]
    assert queue_depths(stages)[1] == [Fraction(5, 16), 0]


def test_streams_of_different_inputs_do_not_wait_for_each_other():
    assert queue_depths([stage(-1, hold=Fraction(1, 2)), stage(0, -2)])[1] == [0, 0]


def test_inputs_that_meet_twice_advance_together():
    # -1 and -2 meet in 0; 2 needs a part of -2, which comes late, and -1 from its start.
    stages = [stage(-1, -2), stage(-2, hold=Fraction(1, 2)), stage(1, -1)]
    assert queue_depths(stages) == [[0, 0], [0], [0, Fraction(1, 2)]]


def test_inputs_that_meet_once_and_then_others_wait_for_nothing():
    assert queue_depths([stage(-1, -2), stage(0, -3)]) == [[0, 0], [0, 0]]


def test_crossing_branches_count_from_the_outer_fork_too():
    # -1 goes to 0 and 1; their sum 2 meets 0 again: 0 forks, but -1 reaches 2 without it.
    stages = [
        stage(-1, hold=Fraction(1, 8)),
        stage(-1, hold=Fraction(1, 2)),
        stage(0, 1),
        stage(0, 2),
    ]
    depths = queue_depths(stages)
    assert depths[2] == [Fraction(1, 2), Fraction(1, 8)]
    assert depths[3][0] >= Fraction(1, 2)


parts = st.integers(0, 6).map(lambda n: Fraction(n, 8))
flows = st.builds(
    lambda hold, lead, **flow: (flow, hold, lead),
    hold=parts, lead=parts, capacity=parts, ahead=parts, behind=parts,
)  # fmt: skip
operands = st.fixed_dictionaries({"capacity": parts, "ahead": parts, "behind": parts})


@given(st.lists(st.tuples(st.lists(flows, max_size=3), operands), min_size=2, max_size=3))
def test_a_queue_holds_what_the_worst_other_branch_lags_and_its_own_leads(branches):
    """Chains from one fork to one layer: the formula of the module, with sums along each chain."""
    stages, ends, lags, leads = [], [], [], []
    for chain, last in branches:
        source, lag, lead = -1, last["capacity"] + last["ahead"], last["behind"]
        for flow, hold, further in chain:
            stages.append(StageFlow((OperandFlow(source, **flow),), hold, further))
            source = len(stages) - 1
            lag += hold + flow["capacity"] + flow["ahead"]
            lead += further + flow["behind"]
        ends.append(OperandFlow(source, **last))
        lags.append(lag)
        leads.append(lead)
    found = queue_depths([*stages, StageFlow(tuple(ends))])
    assert found[:-1] == [[0]] * len(stages)
    assert found[-1] == [
        max(other for index, other in enumerate(lags) if index != place) + lead
        for place, lead in enumerate(leads)
    ]


FRAME = 12


class Network:
    """Stages, and how many elements are on the way from one to another.

    A stage gives an element when it has taken ``hold`` of a frame beyond it, and stores no more. A
    fork gives an element to all who read it, or to none. A stream holds as much as its queue, and
    a register.
    """

    def __init__(self, stages, depths):
        self.holds = [int(stage.hold * FRAME) for stage in stages]
        self.space = [[int(depth * FRAME) + 1 for depth in row] for row in depths]
        self.waiting = [[0] * len(row) for row in depths]
        self.inside, self.given = [0] * len(stages), [0] * len(stages)
        self.readers = defaultdict(list)
        for index, stage in enumerate(stages):
            for place, operand in enumerate(stage.operands):
                self.readers[operand.source].append((index, place))

    def results(self, frames):
        """Return the elements that the last stage gives, until nothing moves any more."""
        left = {source: frames * FRAME for source in self.readers if source < 0}
        moved = True
        while moved:
            moved = False
            for source in left:
                if left[source] and self.send(source):
                    left[source] -= 1
                    moved = True
            for index in range(len(self.holds)):
                moved |= self.take(index)
                moved |= self.give(index)
        return self.given[-1]

    def take(self, index):
        """Take an element of each operand; return whether there were some, and space."""
        if self.inside[index] > self.holds[index] or not all(self.waiting[index]):
            return False
        self.waiting[index] = [count - 1 for count in self.waiting[index]]
        self.inside[index] += 1
        return True

    def give(self, index):
        """Give a result; return whether that was possible."""
        if self.inside[index] <= self.holds[index] or not self.send(index):
            return False
        self.inside[index] -= 1
        self.given[index] += 1
        return True

    def send(self, source):
        """Send an element to all readers; return whether all had space."""
        readers = self.readers[source]
        if any(self.waiting[n][place] == self.space[n][place] for n, place in readers):
            return False
        for n, place in readers:
            self.waiting[n][place] += 1
        return True


@st.composite
def networks(draw):
    """Layers of one or two operands each, any of the streams before them, then a last that joins.

    Of what no layer reads, the last one reads all.
    """
    inputs = draw(st.integers(1, 2))
    stages, unread = [], {-1 - n for n in range(inputs)}
    for index in range(draw(st.integers(2, 5))):
        sources = draw(st.lists(st.integers(-inputs, index - 1), min_size=1, max_size=2))
        stages.append(stage(*sources, hold=Fraction(draw(st.integers(0, 5)), FRAME)))
        unread = (unread - set(sources)) | {index}
    return [*stages, stage(*sorted(unread))]


@given(networks())
def test_no_network_whose_layers_hold_a_part_of_a_frame_stands_still(stages):
    """Streams flow until the input ends; what layers still hold then is less than two frames."""
    depths = queue_depths(stages)
    assert all(depth * FRAME == int(depth * FRAME) for row in depths for depth in row)
    assert Network(stages, depths).results(4) > 2 * FRAME


def test_one_element_less_than_the_depth_stands_still():
    stages = [stage(-1, hold=Fraction(1, 4)), stage(0, hold=Fraction(1, 3)), stage(1, -1)]
    (*rows, (none, depth)) = queue_depths(stages)
    assert Network(stages, [*rows, [none, depth]]).results(4) > 2 * FRAME
    # Each stream has a register as well: two before the branch's layers, one before the last.
    short = Network(stages, [*rows, [none, depth - Fraction(3, FRAME)]])
    assert short.results(4) == 0


def test_a_layer_that_joins_lags_as_its_minimum_and_leads_as_its_maximum():
    stages = [
        stage(-1, hold=Fraction(1, 8)),
        stage(-1, hold=Fraction(1, 2), lead=Fraction(1, 6)),
        stage(-1, 0, 1, hold=Fraction(1, 16), lead=Fraction(1, 3)),
        stage(2, -1),
    ]
    depths = queue_depths(stages)
    assert depths[2] == [Fraction(1, 2), Fraction(1, 2), Fraction(1, 8) + Fraction(1, 6)]
    assert depths[3] == [Fraction(1, 6) + Fraction(1, 3), Fraction(1, 2) + Fraction(1, 16)]


def test_a_stream_that_meets_nothing_of_its_own_needs_no_queue():
    stages = [stage(-1, hold=Fraction(1, 2)), stage(0, -1, -2)]
    assert queue_depths(stages)[1] == [0, Fraction(1, 2), 0]


def test_pairs_of_inputs_that_meet_twice_wait_only_for_each_other():
    pairs = [
        stage(-1, -2),
        stage(-1, hold=Fraction(1, 2)),
        stage(1, -2),
        stage(-3, -4),
        stage(-3, hold=Fraction(1, 4)),
        stage(4, -4),
    ]
    depths = queue_depths([*pairs, stage(2, 5)])
    assert depths[2] == [0, Fraction(1, 2)]
    assert depths[5] == [0, Fraction(1, 4)]
    assert depths[6] == [0, 0]


def test_an_input_that_forks_and_also_meets_another_twice_gets_a_queue():
    # -1 and -2 meet in 1 and 3, and advance together; -1 alone meets its own copy in 2.
    stages = [stage(-1, hold=Fraction(1, 6)), stage(-1, -2), stage(-1, 0), stage(1, 2)]
    depths = queue_depths(stages)
    assert depths[2] == [Fraction(1, 6), 0]
    assert Network(stages, depths).results(4) > 2 * FRAME


def test_a_branch_around_the_inner_fork_counts_from_the_outer_one():
    # 0 forks, but 1 does not come from it: 3 gives nothing before 1/2 was taken from -1.
    stages = [
        stage(-1, hold=Fraction(1, 8)),
        stage(-1, hold=Fraction(1, 4)),
        stage(1, hold=Fraction(1, 4)),
        stage(0, 2),
        stage(0, 3),
    ]
    depths = queue_depths(stages)
    assert depths[3] == [Fraction(1, 2), Fraction(1, 8)]
    assert depths[4] == [Fraction(1, 2), Fraction(1, 8)]


def test_queues_of_a_recurrence_grow_with_its_steps_not_by_doubling():
    # Step t reads part t of the input, and twice what the step before gives: as a gated unit.
    steps, none = 12, Fraction(0)
    stages = [stage(-1, hold=Fraction(part, steps)) for part in range(steps)]
    state = 0
    for part in range(1, steps):
        stages += [stage(part, state), stage(len(stages), state)]
        state = len(stages) - 1
    depths = queue_depths(stages)
    largest = [max(row, default=none) for row in depths[steps:]]
    assert max(largest) <= 1
    assert all(depth <= Fraction(part // 2 + 1, steps) for part, depth in enumerate(largest))
