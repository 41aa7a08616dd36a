// The client of `soac lsp`: starts it, hands it what is typed, and asks it what VS Code asks. No packages are needed.
"use strict";

const vscode = require("vscode");
const { spawn } = require("child_process");

let client;

class Client {
  constructor(context, diagnostics, log) {
    this.diagnostics = diagnostics;
    this.log = log;
    this.waiting = new Map();
    this.next = 1;
    this.buffer = Buffer.alloc(0);
    const [command, ...args] = vscode.workspace.getConfiguration("soac").get("command");
    this.process = spawn(command, args);
    this.process.on("error", (fault) => {
      vscode.window.showWarningMessage(`cannot start \`${command}\`: ${fault.message}. pip install 'soac[lsp]' brings it.`);
      this.end();
    });
    this.process.on("exit", () => this.end());
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (data) => this.receive(data));
    this.process.stderr.on("data", (data) => log.append(data.toString()));
    this.ready = this.start();
  }

  async start() {
    const folders = vscode.workspace.workspaceFolders || [];
    const root = folders.length ? folders[0].uri.toString() : null;
    await this.send("initialize", { processId: process.pid, rootUri: root, capabilities: {} });
    this.write({ method: "initialized", params: {} });
    vscode.workspace.textDocuments.forEach((document) => this.opened(document));
  }

  write(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    if (this.process.stdin.writable) this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    if (this.process.stdin.writable) this.process.stdin.write(body);
  }

  send(method, params) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.write({ id, method, params });
    });
  }

  receive(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(this.buffer.subarray(0, head).toString())[1]);
      if (this.buffer.length < head + 4 + length) return;
      const body = this.buffer.subarray(head + 4, head + 4 + length).toString();
      this.buffer = this.buffer.subarray(head + 4 + length);
      this.handle(JSON.parse(body));
    }
  }

  handle(message) {
    if (message.method === "textDocument/publishDiagnostics") {
      this.diagnostics.set(vscode.Uri.parse(message.params.uri), message.params.diagnostics.map(diagnostic));
    } else if (message.method && message.id !== undefined) {
      this.write({ id: message.id, result: null });
    } else if (this.waiting.has(message.id)) {
      const { resolve, reject } = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    }
  }

  end() {
    for (const { reject } of this.waiting.values()) reject(new Error("the language server has ended"));
    this.waiting.clear();
  }

  stop() {
    this.send("shutdown", null).then(() => this.write({ method: "exit" }), () => {});
    setTimeout(() => this.process.kill(), 2000).unref();
  }

  // ---- documents

  opened(document) {
    if (document.languageId !== "soac") return;
    const item = { uri: document.uri.toString(), languageId: "soac", version: document.version, text: document.getText() };
    this.write({ method: "textDocument/didOpen", params: { textDocument: item } });
  }

  changed(document) {
    if (document.languageId !== "soac") return;
    const textDocument = { uri: document.uri.toString(), version: document.version };
    const contentChanges = [{ text: document.getText() }];
    this.write({ method: "textDocument/didChange", params: { textDocument, contentChanges } });
  }

  saved(document) {
    if (document.languageId === "soac") this.note("textDocument/didSave", document);
  }

  closed(document) {
    if (document.languageId === "soac") this.note("textDocument/didClose", document);
  }

  note(method, document) {
    this.write({ method, params: { textDocument: { uri: document.uri.toString() } } });
  }

  async ask(what, document, position, more) {
    await this.ready;
    const place = position && { line: position.line, character: position.character };
    return this.send(`textDocument/${what}`, { textDocument: { uri: document.uri.toString() }, position: place, ...more });
  }
}

// ---- from the protocol to VS Code

const range = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));

function diagnostic(d) {
  const found = new vscode.Diagnostic(range(d.range), d.message, (d.severity || 1) - 1);
  found.code = d.code;
  found.source = d.source;
  found.relatedInformation = (d.relatedInformation || []).map(
    (r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message)
  );
  return found;
}

function completion(item) {
  const found = new vscode.CompletionItem(item.label, item.kind - 1);
  found.detail = item.detail;
  return found;
}

function workspaceEdit(edit) {
  const found = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes)) {
    for (const one of edits) found.replace(vscode.Uri.parse(uri), range(one.range), one.newText);
  }
  return found;
}

function inlay(hint) {
  return new vscode.InlayHint(new vscode.Position(hint.position.line, hint.position.character), hint.label, hint.kind);
}

const providers = {
  Hover: {
    provideHover: async (document, position) => {
      const found = await client.ask("hover", document, position);
      return found && new vscode.Hover(new vscode.MarkdownString(found.contents.value), range(found.range));
    },
  },
  Definition: {
    provideDefinition: async (document, position) => {
      const found = await client.ask("definition", document, position);
      return found && location(found);
    },
  },
  Reference: {
    provideReferences: async (document, position, context) =>
      ((await client.ask("references", document, position, { context })) || []).map(location),
  },
  Rename: {
    provideRenameEdits: async (document, position, newName) =>
      workspaceEdit(await client.ask("rename", document, position, { newName })),
  },
  InlayHints: {
    provideInlayHints: async (document, part) => {
      const { start, end } = part;
      const asked = { start: { line: start.line, character: 0 }, end: { line: end.line + 1, character: 0 } };
      return ((await client.ask("inlayHint", document, undefined, { range: asked })) || []).map(inlay);
    },
  },
  DocumentFormattingEdit: {
    provideDocumentFormattingEdits: async (document, options) =>
      ((await client.ask("formatting", document, undefined, { options })) || []).map((e) =>
        vscode.TextEdit.replace(document.validateRange(range(e.range)), e.newText)
      ),
  },
};

const completions = {
  provideCompletionItems: async (document, position) =>
    ((await client.ask("completion", document, position)) || []).map(completion),
};

function activate(context) {
  const diagnostics = vscode.languages.createDiagnosticCollection("soac");
  const log = vscode.window.createOutputChannel("soac");
  client = new Client(context, diagnostics, log);
  client.ready.catch((fault) => log.appendLine(String(fault)));
  context.subscriptions.push(
    diagnostics,
    log,
    vscode.workspace.onDidOpenTextDocument((document) => client.opened(document)),
    vscode.workspace.onDidChangeTextDocument((event) => client.changed(event.document)),
    vscode.workspace.onDidSaveTextDocument((document) => client.saved(document)),
    vscode.workspace.onDidCloseTextDocument((document) => client.closed(document)),
    vscode.commands.registerCommand("soac.restart", () => {
      client.stop();
      client = new Client(context, diagnostics, log);
      client.ready.catch((fault) => log.appendLine(String(fault)));
    }),
    vscode.languages.registerCompletionItemProvider("soac", completions, "."),
    ...Object.entries(providers).map(([name, provider]) => vscode.languages[`register${name}Provider`]("soac", provider))
  );
}

function deactivate() {
  if (client) client.stop();
}

module.exports = { activate, deactivate };
