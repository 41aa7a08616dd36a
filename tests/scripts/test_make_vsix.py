"""The extension for VS Code: its files, its grammar, and its client with a real server and a stand-in for VS Code."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "make_vsix.py"))

DRIVER = r"""
const Module = require("module"), path = require("path");
class Plain { constructor(...parts) { this.parts = parts; } }
const events = {}, providers = {}, said = [];
const uri = (text) => ({ toString: () => text });
const document = { languageId: "soac", version: 1, uri: uri("file:///tmp/a.soac"), text: process.argv[3],
                   getText() { return this.text; }, validateRange: (r) => r };
const on = (name) => (handler) => { events[name] = handler; return {}; };
const vscode = {
  workspace: {
    getConfiguration: () => ({ get: () => JSON.parse(process.argv[4]) }), workspaceFolders: [],
    textDocuments: [document], onDidOpenTextDocument: on("open"), onDidChangeTextDocument: on("change"),
    onDidSaveTextDocument: on("save"), onDidCloseTextDocument: on("close"),
  },
  window: { createOutputChannel: () => ({ append() {}, appendLine() {} }), showWarningMessage: console.error },
  commands: { registerCommand: () => ({}) },
  languages: new Proxy({}, { get: (_, name) => name === "createDiagnosticCollection"
    ? () => ({ set: (_, found) => { said.push(found); events.said && events.said(found); } })
    : (_, provider) => { Object.assign(providers, provider); return {}; } }),
  Uri: { parse: uri }, TextEdit: { replace: (range, text) => text },
  Range: Plain, Location: Plain, Position: Plain, Hover: Plain, MarkdownString: Plain, InlayHint: Plain,
  Diagnostic: class { constructor(range, message) { this.message = message; } }, CompletionItem: Plain,
  WorkspaceEdit: class { constructor() { this.edits = []; } replace(u, r, text) { this.edits.push(text); } },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require(path.resolve(process.argv[2]));
(async () => {
  const first = new Promise((resolve) => (events.said = resolve));
  extension.activate({ subscriptions: [] });
  await first;
  const shown = { first: said[0].length };
  shown.hover = (await providers.provideHover(document, { line: 0, character: 14 })).parts[0].parts[0];
  shown.rename = (await providers.provideRenameEdits(document, { line: 0, character: 14 }, "y")).edits;
  shown.formatted = (await providers.provideDocumentFormattingEdits(document, { tabSize: 2, insertSpaces: true }))[0];
  shown.names = (await providers.provideCompletionItems(document, { line: 0, character: 25 })).length;
  shown.hints = (await providers.provideInlayHints(document, { start: { line: 0 }, end: { line: 3 } })).length;
  document.text = "def main = y";
  const second = new Promise((resolve) => (events.said = resolve));
  events.change({ document });
  shown.second = (await second).map((d) => d.message);
  console.log(JSON.stringify(shown));
  extension.deactivate();
})().catch((fault) => { console.error(fault); process.exit(1); });
"""


def test_the_file(tmp_path: Path) -> None:
    SCRIPT["write_extension"](tmp_path / "a.vsix")
    with zipfile.ZipFile(tmp_path / "a.vsix") as archive:
        names = set(archive.namelist())
        package = json.loads(archive.read("extension/package.json"))
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        types = ElementTree.fromstring(archive.read("[Content_Types].xml"))
    contributed = package["contributes"]
    needed = [package["main"], contributed["grammars"][0]["path"], contributed["languages"][0]["configuration"]]
    assert {f"extension/{name.removeprefix('./')}" for name in needed} <= names
    space = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
    assert {asset.attrib["Path"] for asset in manifest.iter(f"{space}Asset")} <= names
    endings = {default.attrib["Extension"] for default in types}
    assert all(Path(name).suffix in endings for name in names if name != "[Content_Types].xml")


def test_the_grammar_is_as_written() -> None:
    text = SCRIPT["GRAMMAR"].read_text()
    assert text == SCRIPT["grammar"](), "run scripts/make_vsix.py --grammar"
    patterns = [(rule.get("name", ""), re.compile(rule["match"])) for rule in json.loads(text)["patterns"]]
    line = "def f (x: f32) = 1.5f32 + g x -- end"
    found = {name for name, pattern in patterns if pattern.search(line)}
    assert {"support.type.soac", "constant.numeric.float.soac", "comment.line.double-dash.soac", ""} <= found


@pytest.mark.slow
def test_the_client(tmp_path: Path) -> None:
    pytest.importorskip("pygls")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here")
    (tmp_path / "driver.js").write_text(DRIVER)
    server = json.dumps([sys.executable, "-m", "soac", "lsp"])
    words = [
        node,
        str(tmp_path / "driver.js"),
        str(ROOT / "editors/vscode/extension.js"),
        "def main [n] (x: [n]i32)=x",
        server,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout)
    assert shown.pop("names") > 100
    assert shown == {
        "first": 0,
        "hover": "```soac\n[n]i32\n```",
        "rename": ["y", "y"],
        "formatted": "def main [n] (x: [n]i32) = x\n",
        "hints": 0,
        "second": ["unknown name `y`\nnot found"],
    }
