#!/usr/bin/env python3
"""The extension for VS Code as one file: `scripts/make_vsix.py [FILE.vsix]`; `code --install-extension` takes it.

The grammar is written from the words of `soac/pygments_lexer.py`, so that both colour alike; `--grammar` writes it to
its place in the repository, and a test holds that it is there as written.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "editors" / "vscode"
GRAMMAR = FOLDER / "syntaxes" / "soac.tmLanguage.json"
FILES = ("package.json", "language-configuration.json", "extension.js", "README.md", "syntaxes/soac.tmLanguage.json")
NAME = "[A-Za-z_][A-Za-z0-9_']*"

TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".md" ContentType="text/markdown"/>
<Default Extension=".txt" ContentType="text/plain"/>
<Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""

MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
<DisplayName>soac</DisplayName>
<Description xml:space="preserve">Programs of the soac array compiler</Description>
<Categories>Programming Languages,Formatters</Categories>
<License>extension/LICENSE.txt</License>
<Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/></Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
</Assets>
</PackageManifest>
"""


def grammar() -> str:
    """The TextMate grammar."""
    sys.path.insert(0, str(ROOT))
    from soac.pygments_lexer import DECLARATIONS, KEYWORDS, PRIMITIVES

    def of(words: tuple[str, ...]) -> str:
        return rf"\b({'|'.join(words)})\b(?!')"

    rules = [
        ("comment.block.test.soac", r"^-- ==\s*$"),
        ("comment.line.documentation.soac", r"-- \|.*$"),
        ("comment.line.double-dash.soac", r"--.*$"),
        ("entity.other.attribute-name.soac", r"#\[[^\]]*\]"),
        ("variable.other.enummember.soac", rf"#{NAME}"),
        ("storage.type.soac", of(DECLARATIONS)),
        ("keyword.control.soac", of(KEYWORDS)),
        ("constant.language.soac", of(("true", "false"))),
        ("support.type.soac", of(PRIMITIVES)),
        (
            "constant.numeric.float.soac",
            r"\b[0-9][0-9_]*(\.[0-9][0-9_]*([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)(b?f16|f32|f64)?",
        ),
        ("constant.numeric.soac", r"\b(0[xXbBrR][0-9a-zA-Z_]+|[0-9][0-9_]*)([iu](8|16|32|64)|b?f16|f32|f64)?\b"),
        ("string.quoted.single.soac", r"'([^'\\]|\\(x[0-9a-fA-F]+|[0-9]+|.))'"),
        ("string.quoted.double.soac", r'"([^"\\]|\\.)*"'),
        ("variable.parameter.type.soac", rf"'[~^]?{NAME}"),
        ("entity.name.namespace.soac", rf"\b{NAME}(?=\.[A-Za-z_(])"),
        ("keyword.operator.soac", r"\.\.[.<>]?|[-+*/%=!><|&^][-+*/%=!><|&^.]*|:>|\\"),
    ]
    definition = {
        "match": rf"\b(def|entry|let)\s+({NAME})(?=\s*(\[|\(|'|[A-Za-z_]|=))",
        "captures": {"1": {"name": "storage.type.soac"}, "2": {"name": "entity.name.function.soac"}},
    }
    comments, others = rules[:3], rules[3:]
    patterns = [
        *({"name": n, "match": m} for n, m in comments),
        definition,
        *({"name": n, "match": m} for n, m in others),
    ]
    shown = {"name": "soac", "scopeName": "source.soac", "fileTypes": ["soac", "fut"], "patterns": patterns}
    return json.dumps(shown, indent=2) + "\n"


def write_extension(path: Path) -> None:
    """The extension at `path`, with the same bytes every time."""
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    facts = {key: quoteattr(package[key]) for key in ("name", "version", "publisher")}
    contents = {
        "[Content_Types].xml": TYPES,
        "extension.vsixmanifest": MANIFEST.format(**facts, engine=quoteattr(package["engines"]["vscode"])),
        **{f"extension/{name}": (FOLDER / name).read_text(encoding="utf-8") for name in FILES},
        "extension/LICENSE.txt": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            archive.writestr(zipfile.ZipInfo(name), text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=Path("soac.vsix"))
    parser.add_argument("--grammar", action="store_true", help="write the grammar to its place, and no extension")
    args = parser.parse_args()
    if args.grammar:
        GRAMMAR.write_text(grammar(), encoding="utf-8")
        return
    write_extension(args.file)
    print(f"wrote {args.file}: code --install-extension {args.file}")


if __name__ == "__main__":
    main()
