"""The language server as an editor uses it: messages over stdin and stdout of `soac lsp`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

pytest.importorskip("pygls")

TEXT = r"""-- Twice every element.
def doubled [n] (xs: [n]i32) = map (* 2) xs

module v = import "vec"

entry main [n][m] (xss: [n][m]i32): [n]i32 =
  let _ = "ä𝄞" let x = 1
  let _ = x
  let r = {x, b = doubled xss[0]}
  let sums = map (\xs -> reduce (+) 0 xs) xss
  let sums[0] = x + r.x + v.one
  in loop sums for i < 3 do
       map (\k -> k + i) sums
"""


def span(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


class Client:
    """An editor: sends requests, and reads until the answer comes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "soac", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.watchdog = Timer(60, self.process.kill)
        self.watchdog.start()
        self.ids = count(1)
        self.uri = (folder / "main.soac").as_uri()
        self.notes: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def note(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, **params: Any) -> Any:
        number = next(self.ids)
        self.send({"id": number, "method": method, "params": params})
        while True:
            found = self.read()
            if found.get("id") == number:
                return found["result"] if "result" in found else found["error"]
            self.notes.append(found)

    def at(self, method: str, line: int, col: int, **params: Any) -> Any:
        place = {"line": line - 1, "character": col - 1}
        return self.ask(f"textDocument/{method}", textDocument={"uri": self.uri}, position=place, **params)

    def diagnostics(self) -> list[dict[str, Any]]:
        """What the server says next."""
        while True:
            found = self.notes.pop(0) if self.notes else self.read()
            if found.get("method") == "textDocument/publishDiagnostics":
                return found["params"]["diagnostics"]

    def change(self, text: str) -> None:
        self.note(
            "textDocument/didChange", textDocument={"uri": self.uri, "version": 2}, contentChanges=[{"text": text}]
        )


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "vec.soac").write_text("def one = 1i32\n")
    found = Client(folder)
    answer = found.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={})
    assert {"hoverProvider", "renameProvider", "inlayHintProvider"} <= set(answer["capabilities"])
    found.note("initialized")
    document = {"uri": found.uri, "languageId": "soac", "version": 1, "text": TEXT}
    found.note("textDocument/didOpen", textDocument=document)
    yield found
    found.ask("shutdown")
    found.note("exit")
    found.watchdog.cancel()
    assert found.process.wait(10) == 0


def test_a_session(client: Client) -> None:
    assert client.diagnostics() == []

    hover = client.at("hover", 10, 15)
    assert hover["contents"]["value"].startswith("```soac\n([m]i32 -> i32) -> [n][m]i32 -> ")
    assert "Twice every element." in client.at("hover", 9, 20)["contents"]["value"]
    versions = client.at("hover", 6, 8)["contents"]["value"]
    assert versions.startswith("```soac\n[n][m]i32 -> ")
    assert "outer, full" in versions

    found = client.at("definition", 9, 20)
    assert (found["uri"], found["range"]["start"]) == (client.uri, {"line": 1, "character": 4})
    assert client.at("definition", 10, 15)["uri"].endswith("/prelude.soac")
    assert client.at("definition", 11, 29)["uri"].endswith("/vec.soac")
    assert client.at("definition", 4, 20)["uri"].endswith("/vec.soac")

    edits = client.at("rename", 7, 21, newName="y")["changes"][client.uri]
    assert [(e["range"]["start"]["line"], e["newText"]) for e in edits] == [(6, "y"), (7, "y"), (8, "x = y"), (10, "y")]
    assert [
        w["range"]["start"]["line"] for w in client.at("references", 12, 11, context={"includeDeclaration": True})
    ] == [9, 10, 11, 12]
    assert "another `i`" in client.at("rename", 13, 14, newName="i")["message"]
    assert client.at("rename", 12, 20, newName="j")["changes"][client.uri][1]["newText"] == "j"
    assert "not a name" in client.at("rename", 8, 11, newName="1")["message"]

    document = {"uri": client.uri}
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = client.ask("textDocument/inlayHint", textDocument=document, range=everything)
    assert [(h["position"]["line"], h["label"]) for h in hints if h["position"]["line"] in (9, 10)] == [
        (9, ": [n]i32"),
        (9, ": [m]i32"),
        (10, ": [n]i32"),
    ]

    vec = client.uri.replace("main.soac", "vec.soac")
    places = client.at("references", 11, 29, context={"includeDeclaration": True})
    assert [(w["uri"], w["range"]["start"]["line"]) for w in places] == [(client.uri, 10), (vec, 0)]
    changes = client.at("rename", 11, 29, newName="unit")["changes"]
    assert changes == {
        client.uri: [{"range": span(10, 28, 31), "newText": "unit"}],
        vec: [{"range": span(0, 4, 7), "newText": "unit"}],
    }

    labels = {item["label"]: item for item in client.at("completion", 11, 17)}
    assert labels["doubled"]["detail"] == "[n]i32 -> *[n]i32"
    assert {"sums", "r", "xss", "reduce", "let"} <= set(labels)


def test_mistakes_while_writing(client: Client) -> None:
    client.change(TEXT.replace("r.x", "r."))
    (found,) = client.diagnostics()
    assert (found["code"], found["range"]["start"]["line"]) == ("E0101", 10)
    assert {item["label"] for item in client.at("completion", 11, 23)} == {"b", "x"}

    client.change(TEXT.replace("doubled xss", "double xss"))
    (found,) = client.diagnostics()
    assert (found["code"], found["source"]) == ("E0201", "soac")
    assert found["codeDescription"]["href"].endswith("/errors.md#e0201-unknown-name")
    assert "did you mean `doubled`" in found["message"]
    assert client.at("hover", 2, 42) is not None

    client.change("def   main=1i32\n")
    assert client.diagnostics() == []
    (edit,) = client.ask(
        "textDocument/formatting", textDocument={"uri": client.uri}, options={"tabSize": 2, "insertSpaces": True}
    )
    assert edit["newText"] == "def main = 1i32\n"
