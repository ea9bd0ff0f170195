from fractions import Fraction

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
