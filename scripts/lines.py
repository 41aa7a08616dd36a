"""Lines of code for each package, and the change since a commit.

    python scripts/lines.py                    of the working tree
    python scripts/lines.py --since COMMIT     and how many more or fewer than at COMMIT, by folder
    python scripts/lines.py --packages         by package instead of by folder

Counted are lines that hold code: no blank lines, comments, docstrings or imports. Machine code (`.ll`), C (`.h`),
grammar and source (`.lark`, `.soac` inside of packages) count too, without blank lines and comments.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("ir", "frontend", "flatten", "kernels", "autotune", "soac")
COMMENTS = {".ll": ";", ".h": "//", ".lark": "//", ".soac": "--"}
LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(name: str, text: str) -> int:
    """Lines of code of one file, by its suffix."""
    if not name.endswith(".py"):
        comment = COMMENTS[PurePosixPath(name).suffix]
        return sum(bool(line.strip()) and not line.lstrip().startswith(comment) for line in text.splitlines())
    held = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_text(node):
            held -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(held)


def _is_text(node: ast.AST) -> bool:
    """A string that stands as a statement: a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def count(commit: str | None, by_package: bool) -> Counter[str]:
    """Lines by folder or package, of a commit or of the working tree."""
    listing = ["ls-tree", "-r", "--name-only", commit] if commit else ["ls-files"]
    found: Counter[str] = Counter()
    for name in _git(*listing).splitlines():
        path = PurePosixPath(name)
        if path.parts[0] not in FOLDERS or path.suffix not in (".py", *COMMENTS):
            continue
        if commit is None and (not (ROOT / name).is_file() or (ROOT / name).is_symlink()):
            continue
        text = _git("show", f"{commit}:{name}") if commit else (ROOT / name).read_text(encoding="utf-8")
        found[str(path.parent) if by_package else path.parts[0]] += code_lines(name, text)
    return found


def _git(*args: str) -> str:
    return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--packages", action="store_true")
    args = parser.parse_args()
    now = count(None, args.packages)
    before = count(args.since, args.packages) if args.since else None
    for name in sorted(now.keys() | (before or {}).keys()):
        change = f"{now[name] - before[name]:+8,d}" if before is not None else ""
        print(f"{name:32s}{now[name]:8,d}{change}")
    change = f"{now.total() - before.total():+8,d}" if before is not None else ""
    print(f"{'total':32s}{now.total():8,d}{change}")


if __name__ == "__main__":
    main()
