"""`soac new NAME`: a project to start from."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click

PROGRAM = r"""-- The root mean square of each row of a matrix.
-- ==
-- entry: main
-- input { [[3f32, 4f32], [0f32, 0f32]] } output { [3.535534f32, 0f32] }
-- random input { [100][20]f32 } auto output
-- "many rows" notest random input { [100000][20]f32 }
-- "long rows" notest random input { [20][100000]f32 }

def norm [n] (xs: [n]f32): f32 =
  f32.sqrt (f32.sum (map (\x -> x * x) xs) / f32.i64 n)

entry main [n][m] (xss: [n][m]f32): [n]f32 = map norm xss
"""

PYTHON = """\"\"\"Calls the program from Python: NumPy arrays in, NumPy arrays out.\"\"\"

from pathlib import Path

import numpy as np
import soac

program = soac.load(str(Path(__file__).with_name("{name}.soac")))
print(program.main(np.array([[3, 4], [0, 0]], np.float32)))
"""

README = """# {name}

    soac test {name}.soac             run the tests
    soac run {name}.soac "[[3, 4]]"   run it on values
    soac bench {name}.soac            time it on the data sets of its test block
    soac autotune {name}.soac         choose the fastest versions for this machine
    soac fmt {name}.soac              give it the common layout
    python example.py                 call it from Python
"""

IGNORED = ".soac/\n__pycache__/\n"


@click.command("new")
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
def command(folder: Path) -> None:
    """Make the folder NAME with a program of that name, its tests, a Python script that calls it and a README."""
    name = folder.name
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or keyword.iskeyword(name):
        raise click.BadParameter(f"'{name}' is no name of a program: letters, digits and `_`.", param_hint="'NAME'")
    if folder.exists():
        raise click.BadParameter(f"'{folder}' is already there.", param_hint="'NAME'")
    files = {f"{name}.soac": PROGRAM, "example.py": PYTHON, "README.md": README, ".gitignore": IGNORED}
    try:
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text.replace("{name}", name), encoding="utf-8")
    except OSError as fault:
        raise click.BadParameter(f"Cannot write '{folder}': {fault.strerror}.", param_hint="'NAME'") from None
    click.echo(f"made {folder}: {', '.join(files)}")
    click.echo(f"try: cd {folder} && soac test {name}.soac")
