"""The tables of a run over futhark-benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HEAD = (
    "| program | load, s | kernels | versions | interpreted | data sets | compared | longest | untuned, ms | tuned, ms "
    "| first result, s |\n|---|---:|---:|---:|---:|---:|---|---|---:|---:|---:|"
)
REFUSED = "| program | reason |\n|---|---|"
DERIVATIVES = ("vjp", "jvp")

Found = Mapping[str, Any]


def line(name: str, one: Found) -> str:
    """What became of a program, in a line."""
    if "refused" in one:
        return f"{name}: refused: {one['refused'][0]}"
    sets: Sequence[Found] = one["sets"]
    timed = sum("untuned_ms" in s for s in sets)
    wrong = [f"{s['data']}: {fault}" for s in sets if (fault := s.get("wrong") or s.get("failed"))]
    load = f"{one['compiled']['load_s']:.1f} s" if "compiled" in one else "not compiled"
    return ", ".join(
        [f"{name}: {load}", f"{timed} of {len(sets)} data sets", *wrong, *filter(None, [one.get("ended")])]
    )


def page(found: Found) -> str:
    """All tables in Markdown."""
    return "\n\n".join(_parts(found["date"], found["device"], found["programs"]))


def _parts(date: str, device: str, programs: Mapping[str, Found]) -> Iterator[str]:
    compiled = {name: one for name, one in programs.items() if "compiled" in one}
    sets = [s for one in compiled.values() for s in one["sets"]]
    statements = sum(one["compiled"]["statements"] for one in compiled.values())
    interpreted = sum(sum(one["compiled"]["interpreted"].values()) for one in compiled.values())
    yield (
        f"{date}, {device}, one thread, processor time: {len(programs)} programs, {len(compiled)} compiled;"
        f" {sum('untuned_ms' in s for s in sets)} of {len(sets)} data sets run,"
        f" {sum(bool(s.get('compared')) for s in sets)} compared with expected results,"
        f" {sum(bool(s.get('wrong') or s.get('failed')) for s in sets)} of them wrong;"
        f" {interpreted} of {statements} host statements interpreted."
    )
    if others := {name: one for name, one in programs.items() if name not in compiled}:
        yield "\n".join([REFUSED, *(f"| {name} | {_why(one)} |" for name, one in others.items())])
    yield "\n".join([HEAD, *(_row(name, one["compiled"], one["sets"]) for name, one in compiled.items())])
    if ended := [f"{name} ({one['ended']})" for name, one in compiled.items() if "ended" in one]:
        yield "Ended before all data sets were through: " + ", ".join(ended) + "."
    if wrong := [f"{name} {s['entry']} {s['data']} ({fault})" for name, one in compiled.items() for s in one["sets"]
                 if (fault := s.get("wrong") or s.get("failed"))]:  # fmt: skip
        yield "Not as expected: " + "; ".join(wrong) + "."
    whys = sum((Counter(one["compiled"]["interpreted"]) for one in compiled.values()), Counter[str]())
    if whys:
        yield "Interpreted: " + "; ".join(f"{count} ({why})" for why, count in whys.most_common()) + "."
    skipped: Counter[str] = Counter(s["skipped"] for s in sets if "skipped" in s)
    if skipped:
        yield "Data sets left out: " + "; ".join(f"{count} ({why})" for why, count in skipped.most_common()) + "."


def _why(one: Found) -> str:
    reasons = one.get("refused") or [one.get("ended", "")]
    text = reasons[0].replace("|", "\\|")
    return f"differentiates: {text}" if any(f"`{word}`" in text for word in DERIVATIVES) else text


def _row(name: str, one: Found, sets: Sequence[Found]) -> str:
    """A program: what was compiled, how many of its data sets ran, and the one of them that takes longest."""
    versions = max(one["versions"].values(), default=1)
    ran = [s for s in sets if "untuned_ms" in s]
    compared = sum(bool(s.get("compared")) for s in ran)
    wrong = [s for s in sets if s.get("wrong") or s.get("failed")]
    state = f"{len(wrong)} wrong" if wrong else f"{compared} equal" if compared else "–"
    longest: Found = max(ran, key=lambda s: s["untuned_ms"], default={"entry": "–", "data": ""})
    times = [f"{longest[key]:.3g}" if key in longest else "–" for key in ("untuned_ms", "tuned_ms", "first_s")]
    cells = [
        name, f"{one['load_s']:.2f}", one["kernels"], versions, sum(one["interpreted"].values()),
        f"{len(ran)} of {len(sets)}", state, f"{longest['entry']} {longest['data']}".strip(), *times,
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |".replace("\n", " ")
