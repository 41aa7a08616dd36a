"use strict";
// All texts of the program are set as text: `el` never reads markup. Charts are SVG that soac has drawn and escaped.

const el = (tag, cls, ...parts) => {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  for (const part of parts.flat(9)) if (part !== null && part !== undefined) made.append(part);
  return made;
};
const on = (made, what, act) => (made.addEventListener(what, act), made);
const card = (title, ...parts) => el("div", "card", title ? el("h4", "", title) : null, parts);
const table = (head, rows, classes = []) => el("div", "wide", el("table", "",
  el("thead", "", el("tr", "", head.map((text, k) => el("th", classes[k], text)))),
  el("tbody", "", rows)));
const cell = (text, cls) => el("td", cls, text);
const chart = (svg) => {
  const read = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  return el("div", "card chart", document.importNode(read, true));
};
const seconds = (s) => {
  if (s === null || s === undefined) return "–";
  for (const [scale, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]])
    if (s >= 0.9995 * scale || unit === "µs") return `${+(s / scale).toPrecision(3)} ${unit}`;
};
const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
const cost = (x) => (x === null ? "–" : x < 1e6 ? String(+x.toPrecision(3)) : x.toExponential(2).replace("e+", "e"));
const share = (x) => `${Math.round(100 * x)} %`;
const value = (n) => (n >= 2 ** 62 ? "infinity" : count(n));

async function unpacked() {
  const packed = atob(document.getElementById("data").textContent.trim());
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// ---- source, fused, flat --------------------------------------------------------------------------------------------

const covers = ([file, line, , end], f, l) => file === f && line <= l && l <= end;
const covers_column = ([file, line, col, end, end_col], f, l, c) =>
  file === f && (line < l || (line === l && col <= c)) && (l < end || (l === end && c < end_col));
const size = ([, line, col, end, end_col]) => (end - line) * 1000 + (end_col - col);

function program(report) {
  let file = 0;
  const panes = [];
  const became = el("div", "became", el("span", "soft", "Click a line to see what became of it, or what it comes from."));
  const source = el("div", "lines code");
  const kernels = report.kernels.filter((k) => k.at);
  const places = [...report.stages.flatMap((s) => s.lines.flatMap((l) => l[1])), ...kernels.map((k) => k.at)];

  function show_source() {
    const here = places.filter((p) => p[0] === file);
    source.replaceChildren(...report.sources[file].lines.map((text, k) => {
      const cuts = new Set([0]);
      for (const [, line, col, end, end_col] of here) {
        if (line === k + 1) cuts.add(col - 1);
        if (end === k + 1) cuts.add(end_col - 1);
      }
      const chars = [...text];
      const at = [...cuts].filter((c) => c < chars.length || c === 0).sort((x, y) => x - y);
      const line = el("div", "line", el("i", "", String(k + 1)), at.map((c, n) =>
        on(Object.assign(el("span", "", chars.slice(c, at[n + 1]).join("")), { column: c + 1 }), "click", (event) => {
          event.stopPropagation();
          follow([file, k + 1, c + 1]);
        })));
      return on(line, "click", () => follow([file, k + 1, 1]));
    }));
  }

  // What came of a point of the source: statements whose place has it, the innermost marked most.
  function follow([f, l, c]) {
    clear();
    const innermost = (among) => {
      const inside = among.filter((p) => covers_column(p, f, l, c));
      const near = inside.length ? inside : among.filter((p) => covers(p, f, l));
      const least = Math.min(...near.map(size));
      return near.filter((p) => size(p) === least);
    };
    const here = innermost(places);
    const gone = innermost(report.inside.map((one) => one[0]));
    const [within] = here.length ? [] : report.inside.filter((one) => gone.includes(one[0])).map((one) => one[1].map(String));
    for (const pane of panes) {
      const own = innermost(pane.places);
      pane.mark((ps) => (ps.some((p) => own.includes(p) || (within && within.includes(String(p)))) ? 2
        : ps.some((p) => covers(p, f, l)) ? 1 : 0));
    }
    if (within) {
      mark_source(gone[0]);
      return became.replaceChildren(el("span", "soft", "fused with others: what it computes stands in the lines marked"));
    }
    if (!here.length) return became.replaceChildren(el("span", "soft", `line ${l}: nothing of its own is left of it`));
    mark_source(here[0]);
    const own = innermost(kernels.map((k) => k.at));
    list(kernels.filter((k) => own.includes(k.at)), kernels.filter((k) => covers(k.at, f, l) && !own.includes(k.at)));
  }

  // Where a line of a stage comes from.
  function trace(at) {
    clear();
    if (!at.length) return became.replaceChildren(el("span", "soft", "made by the compiler"));
    const same = (p) => p.join() === at[0].join();
    if (at[0][0] !== file) { file = at[0][0]; choose.value = file; show_source(); }
    mark_source(at[0]);
    for (const pane of panes) pane.mark((ps) => (ps.some(same) ? 2 : 0), true);
    list(kernels.filter((k) => same(k.at)), []);
  }

  function mark_source([, line, col, end, end_col]) {
    for (let l = line; l <= end; l++) {
      const row = source.children[l - 1];
      if (!row) continue;
      row.classList.add("some");
      for (const span of row.querySelectorAll("span"))
        if ((l > line || span.column >= col) && (l < end || span.column < end_col)) span.classList.add("here");
    }
    into_view(source, source.children[line - 1]);
  }
  function list(exact, others) {
    const link = (k) => on(el("button", "chip code", k.name), "click", () => open_kernel(k.name));
    became.replaceChildren(...(exact.length + others.length
      ? [el("span", "soft", exact.length ? "kernels of it: " : ""), ...exact.map(link),
         el("span", "soft", others.length ? " of the same line: " : ""), ...others.map(link)]
      : [el("span", "soft", "no kernel of its own")]));
    for (const one of document.querySelectorAll("details.kernel"))
      one.classList.toggle("marked", exact.some((k) => `k-${k.name}` === one.id));
  }
  function clear() {
    for (const one of source.querySelectorAll(".some, .here")) one.classList.remove("some", "here");
  }

  const choose = on(el("select", "", report.sources.map((s, k) => Object.assign(el("option", "", s.file), { value: k }))),
    "change", () => { file = +choose.value; show_source(); });
  show_source();
  const stage = (one) => {
    const box = el("div", "lines code", one.lines.map(([text, at], k) =>
      on(el("div", "line", el("i", "", String(k + 1)), text || " "), "click", () => trace(at))));
    panes.push({
      places: one.lines.flatMap(([, at]) => at),
      mark: (degree, stay) => {
        let first = null;
        one.lines.forEach(([, at], k) => {
          const much = degree(at), row = box.children[k];
          row.classList.toggle("all", much === 2);
          row.classList.toggle("some", much === 1);
          if (much === 2 && first === null) first = row;
        });
        if (first && !(stay && box.matches(":hover"))) into_view(box, first);
      },
    });
    return el("div", "card pane", el("h4", "", one.name), box);
  };
  const section = el("section", "", el("h2", "", "Program"), el("div", "panes",
    el("div", "card pane", el("h4", "", "source", report.sources.length > 1 ? choose : null), source),
    report.stages.map(stage)), became);
  section.id = "program";
  const first = Math.min(...places.filter((p) => p[0] === 0).map((p) => p[1]));
  setTimeout(() => into_view(source, source.children[first - 1]), 0);
  return section;
}

function into_view(box, row) {
  if (row) box.scrollTop = row.offsetTop - box.clientHeight / 3;
}

// ---- versions -------------------------------------------------------------------------------------------------------

function versions(report) {
  const section = el("section", "", el("h2", "", "Versions"));
  section.id = "versions";
  for (const entry of report.entries) {
    section.append(el("h3", "", el("span", "code", entry.signature)));
    const chips = el("div", "");
    const tree = el("div", "card tree");
    let shown = entry.data.length ? 0 : -1;
    const draw = () => {
      const data = entry.data[shown];
      chips.replaceChildren(...entry.data.map((one, k) => {
        const chip = on(el("button", `chip${k === shown ? " on" : ""}`, one.label), "click", () => { shown = k; draw(); });
        chip.title = one.args.join(" ") || one.why;
        return chip;
      }));
      tree.replaceChildren(el("h4", "", data ? ["path of ", el("code", "", data.label)] : "guards"), ...steps(entry.steps, data));
    };
    draw();
    const right = [];
    if (entry.data.length) right.push(times(entry));
    if (entry.chart) right.push(chart(entry.chart));
    section.append(chips, el("div", "two", tree, el("div", "", right)));
  }
  return section;
}

function steps(list, data) {
  return list.map((step) => {
    const under = step.under.length ? el("span", "soft", `  ${step.under.join(", ")}`) : null;
    if (step.kind === "interpret") return el("div", "launch", `interpreted: ${step.why}`, under);
    if (step.kind === "launch")
      return el("div", "launch", on(el("button", "chip code", step.kernel), "click", () => open_kernel(step.kernel)),
        el("span", "soft code", `${step.blocks} blocks`), under);
    const made = Object.fromEntries((data ? data.decisions[step.threshold] || [] : []).map((d) => [d.side, d]));
    const side = (word, is_then, inside) => {
      const taken = made[is_then];
      const par = taken && (taken.least === taken.most ? count(Math.abs(taken.least)) : `${taken.least} to ${taken.most}`);
      const why = taken ? (taken.least < 0 ? `does not fit: ${par}` : `taken ${taken.times}×, parallelism ${par}`) : null;
      return el("div", `side${taken ? " reached" : ""}`, el("span", "word", word),
        why ? el("span", "chip on", why) : null, steps(inside, data));
    };
    return el("div", "guard",
      el("div", "cond", el("code", "", `${step.threshold} ≤ ${step.parallelism}`), step.fits ? ` and ${step.fits}` : "", under),
      el("div", "soft", `threshold ${value(step.value)} (${step.set_by})${step.forced === null ? "" : ", forced"}`),
      side("yes", true, step.then), side("no", false, step.else));
  });
}

function times(entry) {
  const names = [...new Set(entry.data.flatMap((one) => Object.keys(one.times)))];
  const rows = entry.data.map((one) => {
    const taken = Object.values(one.taken).map((versions) => Object.keys(versions).join("/")).filter(Boolean).join(", ");
    const least = Math.min(...Object.values(one.times));
    const own = names.map((name) => cell(seconds(one.times[name]), one.times[name] === least ? "best" : ""));
    return el("tr", "", Object.assign(cell(one.label, "code"), { title: one.args.join(" ") }),
      cell(one.why && !taken ? one.why : taken || "–", "left"), own);
  });
  return card("data sets: version taken, least time of each version", table(["data set", "takes", ...names], rows, ["", "left"]));
}

// ---- kernels --------------------------------------------------------------------------------------------------------

function kernels(report) {
  const section = el("section", "", el("h2", "", "Kernels"));
  section.id = "kernels";
  section.append(el("p", "soft", `Traced on blocks of ${report.threads} threads, warps of ${report.warp}. Sectors are 32 bytes of `
    + "global memory, turns those of the banks of shared memory; the least is what they would be if the elements of each "
    + "request were neighbours."));
  for (const one of report.kernels) {
    const details = el("details", "card kernel", el("summary", "", el("b", "code", one.name),
      el("span", "soft code", `${one.blocks} blocks`), one.level === "warp" ? el("span", "chip", "warp") : null,
      one.traced ? el("span", "chip", `balance ${one.traced.work.balance.toFixed(2)}`) : el("span", "soft", "not traced")));
    details.id = `k-${one.name}`;
    on(details, "toggle", () => { if (details.open && details.children.length === 1) details.append(kernel(one)); });
    section.append(details);
  }
  return section;
}

function open_kernel(name) {
  const details = document.getElementById(`k-${name}`);
  if (!details) return;
  details.open = true;
  details.scrollIntoView({ behavior: "smooth", block: "start" });
}

function kernel(one) {
  const axis = (a) => {
    const row = el("div", `axis ${a.where}`, el("span", "where", a.where), el("code", "", a.name),
      el("span", "", el("code", "", a.extent), ` ${a.unit}`));
    row.style.paddingLeft = `${14 * a.depth}px`;
    return row;
  };
  const order = (where) => one.axes.filter((a) => a.where === where).map((a) => a.name).join(", ");
  return el("div", "body",
    el("div", "two",
      card("axes in space and time", one.under.length ? el("div", "soft", one.under.join(", ")) : null, one.axes.map(axis),
        el("p", "", el("code", "", `space: [${order("space")}]  time: [${order("time")}]`)),
        one.bindings.map((text) => el("div", "", el("code", "", text)))),
      one.traced ? work(one) : card("work", el("span", "soft", "not traced: no small data set launches it"))),
    accesses(one), resources(one), one.schedules.map(schedules), code(one));
}

function accesses(one) {
  const rows = one.accesses.map((a) => {
    const what = cell(`${a.writes ? "→ " : ""}${a.array}[${a.index}]`, "code");
    what.title = what.textContent;
    if (!a.requests) return el("tr", "lost", what, cell(a.space, "left"), ["", "", "", "", ""].map((t) => cell(t)));
    const each = a.units / a.requests, least = one.traced ? a.least / a.requests : 0;
    const bars = cell(null, "left");
    for (const [n, cls] of [[each, "bar"], [least, "bar least"]]) {
      const bar = el("div", cls);
      bar.style.width = `${n && Math.max(2, n * 3)}px`;
      bars.append(bar);
    }
    return el("tr", "", what, cell(a.space, "left"), cell(count(a.requests)), cell((a.lanes / a.requests).toFixed(1)),
      cell(`${count(a.units)} (${each.toFixed(2)})`), cell(one.traced ? `${count(a.least)} (${least.toFixed(2)})` : "–"), bars);
  });
  return card(one.traced ? "accesses" : "accesses, predicted for large sizes", table(["access", "memory", "requests", "lanes", "sectors or turns (each)", "least (each)", ""], rows,
    ["", "left"]));
}

function work(one) {
  const { of, launches, blocks, work: { each, total, balance }, fences, shared, hazards } = one.traced;
  const most = Math.max(1, ...each.flat()), width = Math.max(...each.map((b) => b.length));
  const scale = Math.max(1, Math.min(24, Math.floor(520 / width))), tall = Math.max(3, Math.min(24, Math.floor(220 / each.length)));
  const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: each.length * tall });
  const draw = canvas.getContext("2d");
  const heat = getComputedStyle(document.documentElement).getPropertyValue("--heat");
  each.forEach((block, b) => block.forEach((n, t) => {
    draw.fillStyle = n ? `rgba(${heat}, ${0.12 + 0.88 * n / most})` : "rgba(128, 128, 128, .12)";
    draw.fillRect(t * scale, b * tall, scale > 3 ? scale - 1 : scale, tall > 3 ? tall - 1 : tall);
  }));
  const hover = el("div", "hover soft", "a row is a block, a column a thread; idle threads are grey");
  on(canvas, "mousemove", (event) => {
    const ratio = canvas.width / canvas.clientWidth;
    const t = Math.floor(event.offsetX * ratio / scale), b = Math.floor(event.offsetY * ratio / tall);
    if (each[b] && each[b][t] !== undefined)
      hover.textContent = `block ${b}, warp ${Math.floor(t / one.warp)}, thread ${t}: ${count(each[b][t])} statements`;
  });
  const warps = each.flatMap((block) => Array.from({ length: Math.ceil(block.length / one.warp) },
    (_, k) => Math.max(...block.slice(k * one.warp, (k + 1) * one.warp))));
  const rows = [["threads", each.flat()], ["warps", warps], ["blocks", each.map((b) => Math.max(...b))]].map(([name, found]) => {
    const sum = found.reduce((x, y) => x + y, 0);
    return el("tr", "", cell(name), [found.length, found.filter((n) => !n).length, Math.min(...found),
      Math.round(sum / found.length), Math.max(...found)].map((n) => cell(count(n))));
  });
  const cut = blocks > each.length ? ` The first ${each.length} of ${blocks} blocks are shown.` : "";
  return card("work, in statements", el("div", "soft", `${of}: ${launches} launch${launches === 1 ? "" : "es"}, `
    + `${blocks} block${blocks === 1 ? "" : "s"}, ${count(total)} statements; useful share ${share(balance)}; ${fences} fences, ${shared} bytes shared`
    + `${hazards ? `, ${hazards} HAZARDS` : ""}.${cut}`), canvas, hover,
    table(["", "count", "idle", "least", "mean", "most"], rows));
}

function resources(one) {
  if (!one.resources) return null;
  const { registers, shared, stack, spills } = one.resources;
  return card("resources of a thread and its block, by the assembler", el("span", "", `${registers} registers, ${shared} bytes of shared memory, `
    + `${stack} bytes of stack, ${spills} bytes spilled`));
}

function schedules(segop) {
  const rows = segop.schedules.map((row) => {
    const name = cell(row.name, "code");
    name.style.paddingLeft = `${16 * row.nesting}px`;
    return el("tr", row.taken ? "" : "lost", name, cell(cost(row.cost)),
      cell(row.words, "wrap"));
  });
  const what = `${segop.binding}: ${segop.segop}^${segop.level} (${segop.space.join(", ")})`;
  return card(["schedules of ", el("code", "", what)],
    table(["schedule", "cost", "taken"], rows, ["", "", "left"]));
}

function code(one) {
  const shown = el("pre", "");
  const buttons = Object.entries(one.code).map(([name, text], k) => {
    const button = on(el("button", `chip${k ? "" : " on"}`, name), "click", () => {
      shown.textContent = text;
      for (const other of buttons) other.classList.toggle("on", other === button);
    });
    return button;
  });
  shown.textContent = Object.values(one.code)[0];
  return el("details", "", el("summary", "", "generated code"), buttons, shown);
}

// ---- tuning ---------------------------------------------------------------------------------------------------------

function tuning(report) {
  const section = el("section", "", el("h2", "", "Tuning"));
  section.id = "tuning";
  const entries = report.entries.filter((entry) => entry.tuning);
  if (!entries.length) section.append(el("p", "soft", "No search of `soac autotune` is stored beside the program."));
  for (const { name, tuning: { runs, more, chart: drawn } } of entries) {
    const rows = runs.map((run, k) => el("tr", "", cell(String(k + 1)), cell(run.phase, "left"), cell(run.data, "left"),
      cell(run.version, "left code"), cell(run.seconds === null ? run.status : seconds(run.seconds))));
    const list = el("div", "card", el("h4", "", `${name}: ${runs.length + more} timed runs`),
      table(["run", "why", "data set", "version", "time"], rows, ["", "left", "left", "left"]));
    list.style.maxHeight = "480px";
    list.style.overflow = "auto";
    section.append(el("div", "two", list, drawn ? chart(drawn) : null));
  }
  return section;
}

// ---- the page -------------------------------------------------------------------------------------------------------

unpacked().then((report) => {
  document.getElementById("head").append(el("h1", "code", report.program),
    el("span", "soft", `${report.device}: ${report.machine} · soac ${report.soac}`),
    el("nav", "", ["program", "versions", "kernels", "tuning"].map((name) =>
      Object.assign(el("a", "", name), { href: `#${name}` }))));
  document.getElementById("main").append(...report.notes.map((note) => el("div", "note", note)),
    program(report), versions(report), kernels(report), tuning(report));
  const first = report.kernels.find((one) => one.traced) || report.kernels[0];
  if (first) document.getElementById(`k-${first.name}`).open = true;
  document.body.dataset.ready = "yes";
});
