"""The language server: requests of the protocol, answered from an `Analysis`. Only this file knows pygls.

A text that does not parse has no analysis: then the last one that did answers what it can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path
from pygls.workspace import TextDocument

from .. import __version__
from ..error_pages import address
from ..frontend.formatting.layout import format_text
from ..ir.errors import Diagnostic, Loc, SoacError
from .analysis import Analysis, analyse, definition_at, hints_of, hover_at, path_of
from .complete import complete
from .folder import Folder, folder_at
from .rename import CannotRename, Spot, occurrences, rename

PAUSE = 0.2  # seconds without a change before diagnostics are sent

_KINDS = {
    "function": lsp.CompletionItemKind.Function,
    "value": lsp.CompletionItemKind.Variable,
    "module": lsp.CompletionItemKind.Module,
    "type": lsp.CompletionItemKind.Struct,
    "field": lsp.CompletionItemKind.Field,
    "keyword": lsp.CompletionItemKind.Keyword,
}


@dataclass(slots=True)
class Known:
    """A file as it was last looked at; `good`: when it last parsed."""

    text: str
    diagnostics: Sequence[Diagnostic]
    good: Analysis | None


@dataclass(slots=True)
class Files:
    """What is known of the open files, by URI."""

    known: dict[str, Known] = field(default_factory=dict)
    waiting: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def look(self, document: TextDocument) -> Known:
        """What is known of a file as it is now."""
        before = self.known.get(document.uri)
        if before is None or before.text != document.source:
            diagnostics, found = analyse(document.source, document.path)
            good = found or (before.good if before is not None else None)
            self.known[document.uri] = Known(document.source, diagnostics, good)
        return self.known[document.uri]


def make_server() -> LanguageServer:
    """A server with its own view of the open files."""
    server, files = LanguageServer("soac", __version__), Files()
    _diagnose(server, files)
    _answer(server, files)
    return server


# ---- diagnostics ----------------------------------------------------------------------------------------------------


def _diagnose(server: LanguageServer, files: Files) -> None:
    def publish(uri: str) -> None:
        document = server.workspace.get_text_document(uri)
        here = [_shown(document, d) for d in files.look(document).diagnostics if d.primary.loc.file == document.path]
        other = [_elsewhere(d) for d in files.look(document).diagnostics if d.primary.loc.file != document.path]
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, version=document.version, diagnostics=here + other)
        )

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        """Files that import the saved one may be right now, or wrong."""
        files.known.clear()
        for uri in list(server.workspace.text_documents):
            publish(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if uri in files.waiting:
            files.waiting[uri].cancel()

        async def later() -> None:
            await asyncio.sleep(PAUSE)
            publish(uri)

        files.waiting[uri] = asyncio.ensure_future(later())

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        files.known.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[])
        )


def _shown(document: TextDocument, diagnostic: Diagnostic) -> lsp.Diagnostic:
    notes = [*filter(None, [diagnostic.primary.text]), *diagnostic.notes]
    hint = [f"hint: {diagnostic.hint}"] if diagnostic.hint else []
    related = [
        lsp.DiagnosticRelatedInformation(_location(document, label.loc), label.text) for label in diagnostic.others
    ]
    return lsp.Diagnostic(
        range=_range(document, diagnostic.primary.loc),
        severity=lsp.DiagnosticSeverity.Warning if diagnostic.is_warning else lsp.DiagnosticSeverity.Error,
        code=diagnostic.code,
        code_description=lsp.CodeDescription(address(diagnostic.code)),
        source="soac",
        message="\n".join([diagnostic.message, *notes, *hint]),
        related_information=related or None,
    )


def _elsewhere(diagnostic: Diagnostic) -> lsp.Diagnostic:
    """An error in a file that is imported, shown at the top."""
    top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    return lsp.Diagnostic(
        range=top, code=diagnostic.code, source="soac", message=f"{diagnostic.primary.loc}: {diagnostic.message}"
    )


# ---- questions ------------------------------------------------------------------------------------------------------


def _answer(server: LanguageServer, files: Files) -> None:
    def at(params: Any) -> tuple[TextDocument, Analysis | None, int, int]:
        """The file of a request, and line and column of its position, from 1."""
        document = server.workspace.get_text_document(params.text_document.uri)
        place = document.position_codec.position_from_client_units(document.lines, params.position)
        return document, files.look(document).good, place.line + 1, place.character + 1

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        document, known, line, col = at(params)
        found = None if known is None else hover_at(known, line, col)
        if found is None:
            return None
        text = f"```soac\n{found.type}\n```" + (f"\n\n{found.text}" if found.text else "")
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), _range(document, found.loc))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        document, known, line, col = at(params)
        found = None if known is None else definition_at(known, line, col)
        return None if found is None else _location(document, found)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        document, _, line, col = at(params)
        spots = occurrences(_folder(server), Path(document.path).resolve(), line, col)
        return [lsp.Location(own.uri, place) for own, place in _places(server, spots)]

    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        document, _, line, col = at(params)
        try:
            edits = rename(_folder(server), Path(document.path).resolve(), line, col, params.new_name)
        except CannotRename as why:
            raise JsonRpcInvalidParams(str(why)) from None
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit, (own, place) in zip(edits, _places(server, [edit.spot for edit in edits])):
            changes.setdefault(own.uri, []).append(lsp.TextEdit(place, edit.text))
        return lsp.WorkspaceEdit(changes=changes)

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["."]))
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document, known, line, col = at(params)
        if known is None:
            return []
        names = complete(known, document.lines[line - 1][: col - 1] if line <= len(document.lines) else "", line)
        return [lsp.CompletionItem(label=n.text, kind=_KINDS[n.kind], detail=n.type or None) for n in names]

    _answer_for_files(server, files)


def _answer_for_files(server: LanguageServer, files: Files) -> None:
    """Requests about a whole file."""

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        document = server.workspace.get_text_document(params.text_document.uri)
        known = files.look(document).good
        if known is None or known.text != document.source:
            return []
        place: Callable[[int, int], lsp.Position] = lambda line, col: _position(document, line, col)  # noqa: E731
        return [
            lsp.InlayHint(place(hint.line, hint.col), hint.text, lsp.InlayHintKind.Type)
            for hint in hints_of(known)
            if params.range.start.line < hint.line <= params.range.end.line + 1
        ]

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        document = server.workspace.get_text_document(params.text_document.uri)
        try:
            text = format_text(document.source, document.path)
        except SoacError:
            return None
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(document.lines) + 1, 0))
        return [lsp.TextEdit(whole, text)]


# ---- the folder -----------------------------------------------------------------------------------------------------


def _folder(server: LanguageServer) -> Folder:
    """The programs of the folder that is open in the editor, or of those of the open files."""
    opened = {Path(d.path).resolve(): d.source for d in server.workspace.text_documents.values()}
    root = server.workspace.root_path
    return folder_at([Path(root)] if root else sorted({file.parent for file in opened}), opened)


def _places(server: LanguageServer, spots: Sequence[Spot]) -> Iterator[tuple[TextDocument, lsp.Range]]:
    """Each word with its file, under the name that the editor has for it, if it is open."""
    opened = {Path(d.path).resolve(): d for d in server.workspace.text_documents.values()}
    for spot in spots:
        document = opened.get(spot.file) or server.workspace.get_text_document(spot.file.as_uri())
        word = spot.word
        yield document, _range(document, Loc(document.path, word.line, word.col, word.line, word.end))


# ---- places ---------------------------------------------------------------------------------------------------------


def _position(document: TextDocument, line: int, col: int) -> lsp.Position:
    """Line and column from 1, in characters, as the client counts."""
    return document.position_codec.position_to_client_units(
        document.lines, lsp.Position(max(line, 1) - 1, max(col, 1) - 1)
    )


def _range(document: TextDocument, loc: Loc) -> lsp.Range:
    return lsp.Range(_position(document, loc.line, loc.col), _position(document, loc.end_line, loc.end_col))


def _location(document: TextDocument, loc: Loc) -> lsp.Location:
    """A place in the file itself or in another one."""
    if loc.file == document.path:
        return lsp.Location(document.uri, _range(document, loc))
    start, end = lsp.Position(loc.line - 1, loc.col - 1), lsp.Position(loc.end_line - 1, loc.end_col - 1)
    uri = from_fs_path(str(path_of(loc.file)))
    assert uri is not None
    return lsp.Location(uri, lsp.Range(start, end))
