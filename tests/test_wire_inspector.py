"""The messages of the inspector's WebSocket and the workflow transport, against the bytes that were captured."""

from __future__ import annotations

import dataclasses
import typing
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rivetpy.errors import EncodeError, RivetError
from rivetpy.wire import bare, inspected, inspecting, transport
from rivetpy.wire.forms import Flag, Messages, form_of
from rivetpy.wire.inspected import TO_INSPECTOR
from rivetpy.wire.inspecting import LATEST, TO_ACTOR

VERSIONS = range(1, LATEST + 1)
SCHEDULE = inspected.Schedule("s", None, "at", "ring", b"\x80", 300)
JOB = inspected.Schedule("j", "j", "cron", "ring", b"\x80", 1, 2, "* * * * *", "UTC", None, 100)


def raw(data: str) -> bytes:
    return bytes.fromhex(data)


CAPTURED_REQUESTS = [
    (inspecting.StateRequest(1), "0101"),
    (inspecting.RpcsListRequest(3), "0403"),
]
CAPTURED_ANSWERS = [
    (
        inspected.StateResponse(1, raw("b90001636c6f67816170"), True),
        "0001 010a b90001636c6f67816170 01",
    ),
    (inspected.RpcsListResponse(3, ["ping"]), "0803 01 0470696e67"),
    (
        inspected.Error("action_not_found: Action `nope` was not found."),
        "10 2e" + b"action_not_found: Action `nope` was not found.".hex(),
    ),
]


@pytest.mark.parametrize(("message", "data"), CAPTURED_REQUESTS)
def test_requests_as_captured(message: Any, data: str) -> None:
    assert TO_ACTOR.write(message, 6) == raw(data)
    assert TO_ACTOR.read(raw(data), 6) == message


@pytest.mark.parametrize(("message", "data"), CAPTURED_ANSWERS)
def test_answers_as_captured(message: Any, data: str) -> None:
    assert TO_INSPECTOR.write(message, 6) == raw(data)
    assert TO_INSPECTOR.read(raw(data), 6) == message


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (inspecting.PatchState(b"\x05"), "00 0105"),
        (inspecting.ConnectionsRequest(300), "02 ac02"),
        (inspecting.ActionRequest(1, "ping", b"\x80"), "03 01 0470696e67 0180"),
        (inspecting.TraceQueryRequest(1, 2, 3, 4), "05 01020304"),
        (inspecting.QueueRequest(1, 100), "06 0164"),
        (inspecting.WorkflowHistoryRequest(1), "07 01"),
        (inspecting.WorkflowReplayRequest(1, None), "08 0100"),
        (inspecting.WorkflowReplayRequest(1, "e"), "08 01 010165"),
        (inspecting.DatabaseSchemaRequest(1), "09 01"),
        (inspecting.DatabaseTableRowsRequest(1, "t", 50, 0), "0a 01 0174 32 00"),
        (inspecting.SchedulesRequest(1), "0b 01"),
        (inspecting.ScheduleHistoryRequest(1, "s", 9), "0c 01 0173 09"),
        (inspecting.ScheduleDeleteRequest(1, "s", "at"), "0d 01 0173 026174"),
    ],
)
def test_requests_of_the_table(message: Any, data: str) -> None:
    assert TO_ACTOR.write(message, 6) == raw(data)
    assert TO_ACTOR.read(raw(data), 6) == message


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (inspected.ConnectionsResponse(1, [inspected.Connection("c", b"\xa0")]), "01 01 01 0163 01a0"),
        (inspected.ActionResponse(1, b"\x05"), "02 01 0105"),
        (inspected.ConnectionsUpdated([]), "03 00"),
        (inspected.QueueUpdated(7), "04 07"),
        (inspected.StateUpdated(b"\x05"), "05 0105"),
        (inspected.WorkflowHistoryUpdated(b"\x00"), "06 0100"),
        (inspected.SchedulesUpdated([SCHEDULE]), "07 01 0173 00 026174 0472696e67 0180 ac02 0000000000"),
        (inspected.TraceQueryResponse(1, b""), "09 01 00"),
        (
            inspected.QueueResponse(
                1, inspected.QueueStatus(2, 1000, [inspected.QueueMessage(3, "q", 9)], True)
            ),
            "0a 01 02 e807 01 03 0171 09 01",
        ),
        (inspected.WorkflowHistoryResponse(1, None, False), "0b 01 00 00"),
        (inspected.WorkflowReplayResponse(1, b"\x00", True), "0c 01 010100 01"),
        (
            inspected.SchedulesResponse(1, [JOB]),
            "0d 01 01 016a 01016a 0463726f6e 0472696e67 0180 01 0102 01092a202a202a202a202a 0103555443 00 0164",
        ),
        (
            inspected.ScheduleHistoryResponse(
                1,
                "j",
                [
                    inspected.ScheduleFire("ring", 1, 2, 3, "ok"),
                    inspected.ScheduleFire(
                        "ring", 1, 2, None, "error", inspected.ScheduleError("g", "c", "m")
                    ),
                ],
            ),
            "0e 01 016a 02 0472696e67 01 02 0103 026f6b 00 0472696e67 01 02 00 056572726f72 01 0167 0163 016d 00",
        ),
        (inspected.ScheduleDeleteResponse(1, "s", True), "0f 01 0173 01"),
        (inspected.DatabaseSchemaResponse(1, b"\xa0"), "12 01 01a0"),
        (inspected.DatabaseTableRowsResponse(1, b"\x80"), "13 01 0180"),
    ],
)
def test_answers_of_the_table(message: Any, data: str) -> None:
    assert TO_INSPECTOR.write(message, 6) == raw(data)
    assert TO_INSPECTOR.read(raw(data), 6) == message


FULL = inspected.Init(
    connections=[inspected.Connection("c", b"\xa0")],
    state=b"\x05",
    is_state_enabled=True,
    rpcs=["ping"],
    is_database_enabled=False,
    queue_size=2,
    workflow_history=b"\x00",
    is_workflow_enabled=True,
    tab_config=[inspected.Tab("t", "Tab", None, False)],
    schedules=[SCHEDULE],
)
COMMON = "01 0163 01a0 010105 01 01 0470696e67 00"


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (1, "09 01 0163 01a0 00 010105 01 01 0470696e67 00"),
        (2, f"0c {COMMON} 02 010100 01"),
        (3, f"0c {COMMON} 02 010100 01"),
        (4, f"0d {COMMON} 02 010100 01"),
        (5, f"0d {COMMON} 02 010100 01 01 0174 0103546162 00 00"),
        (
            6,
            f"11 {COMMON} 02 010100 01 01 0174 0103546162 00 00 01 0173 00 026174 0472696e67 0180 ac02 0000000000",
        ),
    ],
)
def test_init_in_every_version(version: int, data: str) -> None:
    assert TO_INSPECTOR.write(FULL, version) == raw(data)
    known = TO_INSPECTOR.read(raw(data), version)
    assert isinstance(known, inspected.Init)
    assert known.connections == FULL.connections
    assert known.schedules == (FULL.schedules if version == 6 else [])


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        (inspecting.RpcsListRequest(1), [6, 4, 4, 4, 4, 4]),
        (inspecting.WorkflowReplayRequest(1, None), [None, None, None, 8, 8, 8]),
        (inspecting.DatabaseSchemaRequest(1), [None, None, 8, 9, 9, 9]),
        (inspecting.SchedulesRequest(1), [None] * 5 + [11]),
        (inspecting.EventsRequest(1), [4] + [None] * 5),
    ],
)
def test_numbers_of_requests_in_every_version(message: Any, numbers: list[int | None]) -> None:
    for version, number in zip(VERSIONS, numbers, strict=True):
        assert TO_ACTOR.has(type(message), version) == (number is not None)
        if number is None:
            with pytest.raises(TypeError, match="none of"):
                TO_ACTOR.write(message, version)
        else:
            assert TO_ACTOR.write(message, version)[0] == number


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        (inspected.ActionResponse(1, b""), [3, 2, 2, 2, 2, 2]),
        (inspected.StateUpdated(b""), [7, 5, 5, 5, 5, 5]),
        (inspected.QueueUpdated(1), [None, 4, 4, 4, 4, 4]),
        (inspected.Error("x"), [8, 11, 11, 12, 12, 16]),
        (inspected.DatabaseSchemaResponse(1, b""), [None, None, 13, 14, 14, 18]),
        (inspected.SchedulesUpdated([]), [None] * 5 + [7]),
    ],
)
def test_numbers_of_answers_in_every_version(message: Any, numbers: list[int | None]) -> None:
    assert [
        TO_INSPECTOR.write(message, version)[0] if TO_INSPECTOR.has(type(message), version) else None
        for version in VERSIONS
    ] == numbers


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("", "1 bytes expected"),
        ("0e", "below 14"),
        ("01", "1 bytes expected"),
        ("0101 00", "too many"),
        ("03 01 02c328 00", "not UTF-8"),
        ("08 01 02", "a flag is 0 or 1"),
        ("00 ffffffffffffffffff01", "bytes expected"),
        ("01 8000", "no uint"),
    ],
)
def test_what_is_no_request(data: str, says: str) -> None:
    with pytest.raises(RivetError, match=says) as refused:
        TO_ACTOR.read(raw(data), 6)
    assert (refused.value.code, refused.value.status) == ("invalid_request", 400)


def test_text_that_is_none_is_refused() -> None:
    with pytest.raises(EncodeError):
        TO_INSPECTOR.write(inspected.Error("\ud800"), 6)


def test_an_annotation_that_says_nothing() -> None:
    with pytest.raises(TypeError, match="says nothing"):
        form_of(int)
    assert form_of(Annotated[Flag, "a note"]) is form_of(Flag)


HISTORY = transport.History(
    ["first", "main"],
    [
        transport.Entry("a", [0], transport.Step(b"\x05", None)),
        transport.Entry("b", [1], transport.Loop(b"\xf6", 3, None)),
        transport.Entry("c", [1, transport.Iteration(1, 2), 0], transport.Sleep(1_000, 2)),
        transport.Entry("d", [0], transport.Message("q", b"\x05")),
        transport.Entry("e", [0], transport.Checkpoint("p")),
        transport.Entry("f", [0], transport.Join({"x": transport.Branch(3, None, "no")})),
        transport.Entry("g", [0], transport.Race("x", {"x": transport.Branch(2, b"\x05", None)})),
        transport.Entry("h", [0], transport.Removed("step", None)),
        transport.Entry("i", [0], transport.VersionCheck(1, 2)),
    ],
    {"a": transport.Metadata(2, None, 1, 7, 8, 9, None, "no")},
)
WRITTEN = (
    "02 056669727374 046d61696e 09"
    "0161 01 00 00000000 00 010105 00"
    "0162 01 00 01000000 01 01f6 03000000 00"
    "0163 03 00 01000000 01 01000000 02000000 00 00000000 02 e803000000000000 02"
    "0164 01 00 00000000 03 0171 0105"
    "0165 01 00 00000000 04 0170"
    "0166 01 00 00000000 05 01 0178 03 00 01026e6f"
    "0167 01 00 00000000 06 010178 01 0178 02 010105 00"
    "0168 01 00 00000000 07 0473746570 00"
    "0169 01 00 00000000 08 01000000 02000000"
    "01 0161 02 00 01000000 0700000000000000 0800000000000000 01 0900000000000000 00 01026e6f"
)


def test_the_workflow_transport() -> None:
    assert transport.read_history(raw(WRITTEN)) == HISTORY
    one = HISTORY.entries[0]
    writer = transport.HistoryWriter()
    writer.add(one, HISTORY.metadata["a"])
    assert transport.read_history(writer.written(["first"])) == transport.History(
        ["first"], [one], HISTORY.metadata
    )
    out = bare.Writer()
    form_of(transport.History).write(out, HISTORY, 1)
    assert bytes(out.data) == raw(WRITTEN)


SCALARS = {
    int: st.integers(0, 2**64 - 1),
    str: st.text(st.characters(exclude_categories=["Cs"])),
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
}


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Values that an annotation allows."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        size = getattr(args[1], "size", None)
        return st.integers(0, (1 << 8 * size) - 1) if size else strategy(args[0])
    if hint in SCALARS:
        return SCALARS[hint]
    if hint is type(None):
        return st.none()
    if origin is list:
        return st.lists(strategy(args[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(SCALARS[str], strategy(args[1]), max_size=3)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        parts = {field.name: strategy(hints[field.name]) for field in dataclasses.fields(hint)}
        return st.builds(hint, **parts)  # type: ignore[arg-type]
    return st.one_of([strategy(each) for each in args])


DIRECTIONS = [(TO_ACTOR, inspecting.ToActor), (TO_INSPECTOR, inspected.ToInspector)]


@pytest.mark.parametrize("direction", range(2), ids=["to-actor", "to-inspector"])
@given(st.data())
def test_every_message_comes_back(direction: int, data: st.DataObject) -> None:
    table, union = DIRECTIONS[direction]
    messages: Messages[Any] = table  # type: ignore[assignment]
    kinds = [kind for kind in typing.get_args(union) if messages.has(kind, 6)]
    message = data.draw(strategy(data.draw(st.sampled_from(kinds))))
    if isinstance(message, inspected.Init):
        message = dataclasses.replace(message, events=[])
    assert messages.read(messages.write(message, 6), 6) == message


@given(strategy(transport.History))
def test_every_history_comes_back(history: transport.History) -> None:
    out = bare.Writer()
    form_of(transport.History).write(out, history, 1)
    assert transport.read_history(bytes(out.data)) == history


@given(st.binary(max_size=60), st.sampled_from(VERSIONS))
def test_any_bytes_are_a_message_or_a_clean_error(data: bytes, version: int) -> None:
    for read in (
        lambda: TO_ACTOR.read(data, version),
        lambda: TO_INSPECTOR.read(data, version),
        lambda: transport.read_history(data),
    ):
        try:
            read()
        except RivetError as error:
            assert (error.code, error.status) == ("invalid_request", 400)
