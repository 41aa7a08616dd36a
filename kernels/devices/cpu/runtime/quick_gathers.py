"""Gathers and scatters in code of little effort, where a processor has no instructions for them: functions that go
through the lanes.

LLVM writes both out with a branch for each lane, wherever they stand: a kernel with many of them takes several times as
long to compile.
"""

from __future__ import annotations

import re

from .assembly import branched, declared, unnested

GATHER = re.compile(
    r"(%\S+) = call (<(\d+) x (\w+)>) @llvm\.masked\.gather\.\S+"
    r"\((<\d+ x ptr>) (.*), i32 (\d+), (<\d+ x i1>) (.*), <\d+ x \w+> zeroinitializer\)"
)
SCATTER = re.compile(
    r"call void @llvm\.masked\.scatter\.\S+"
    r"\((<(\d+) x (\w+)>) (.*), (<\d+ x ptr>) (.*), i32 (\d+), (<\d+ x i1>) (.*)\)"
)


def with_called_gathers(text: str) -> str:
    """A module as it is before LLVM's passes, with calls of such functions."""
    made = dict[str, str]()

    def gather(found: re.Match[str]) -> str:
        value, t, lanes, element, pointers, at, align, flags, mask = found.groups()
        name = f"soac.gather.v{lanes}{element}.{align}"
        made[name] = _gather(name, element, int(lanes), align)
        on = f"%on.g{found.start()}"
        return f"""{on} = sext {flags} {mask} to <{lanes} x i8>
  {value} = call {t} @{name}({pointers} {at}, <{lanes} x i8> {on})"""

    def scatter(found: re.Match[str]) -> str:
        t, lanes, element, x, pointers, at, align, flags, mask = found.groups()
        name = f"soac.scatter.v{lanes}{element}.{align}"
        made[name] = _scatter(name, element, int(lanes), align)
        on = f"%on.s{found.start()}"
        return f"""{on} = sext {flags} {mask} to <{lanes} x i8>
  call void @{name}({t} {x}, {pointers} {at}, <{lanes} x i8> {on})"""

    text = SCATTER.sub(scatter, GATHER.sub(gather, text))
    return text + declared(unnested(branched("".join(made.values()))), text) if made else text


def _gather(name: str, element: str, lanes: int, align: str) -> str:
    t = f"<{lanes} x {element}>"
    one = f"""%x = load {element}, ptr %place, align {align}
  store {element} %x, ptr (getelementptr {element}, ptr %values, i{lanes} %lane)"""
    return f"""
define internal {t} @{name}(<{lanes} x ptr> %at, <{lanes} x i8> %on) noinline {{
  %values = alloca {t}
  store {t} zeroinitializer, ptr %values
{_through(lanes, one)}
  ret {t} (load {t}, ptr %values)
}}
"""


def _scatter(name: str, element: str, lanes: int, align: str) -> str:
    t = f"<{lanes} x {element}>"
    one = f"""%x = load {element}, ptr (getelementptr {element}, ptr %values, i{lanes} %lane)
  store {element} %x, ptr %place, align {align}"""
    return f"""
define internal void @{name}({t} %all, <{lanes} x ptr> %at, <{lanes} x i8> %on) noinline {{
  %values = alloca {t}
  store {t} %all, ptr %values
{_through(lanes, one)}
}}
"""


def _through(lanes: int, one: str) -> str:
    """`one` for each lane that is on, from the first."""
    word = f"i{lanes}"
    return f"""  %places = alloca <{lanes} x ptr>
  store <{lanes} x ptr> %at, ptr %places
  %keep = icmp slt <{lanes} x i8> %on, zeroinitializer
  %word = bitcast <{lanes} x i1> %keep to {word}
  br label %head
head:
  %left = phi {word} [ %word, %entry ], [ %others, %taken ]
  br i1 (icmp eq {word} %left, 0), label %end, label %taken
taken:
  %lane = call {word} @llvm.cttz.{word}({word} %left, i1 true)
  %place = load ptr, ptr (getelementptr ptr, ptr %places, {word} %lane)
  {one}
  %others = and {word} %left, (sub {word} %left, 1)
  br label %head
end:"""
