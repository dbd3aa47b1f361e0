/**
 * The live panel. Python renders every fragment; this file places them, appends
 * streamed text and reports clicks. It never builds markup from data.
 *
 * Messages in:  {op: "snapshot", seq, html}
 *               {op: "patch", seq, changes: [{key, html, into?} | {key, text}]}
 *               {op: "refused", seq, reason}
 * Messages out: {op: "hello"}, or an intent: {intent, call?, note?, text?}
 *
 * @typedef {{key: string, html?: string, into?: string, text?: string}} Change
 * @typedef {{op: string, seq: number, html?: string, changes?: Change[], reason?: string}} Message
 */

const FOCUSABLE = "summary, button, textarea, a";
const HELLO_AGAIN_MS = [120, 240, 500, 1000, 2000];

/** @param {HTMLElement} root @param {string} key @returns {HTMLElement | null} */
function find(root, key) {
  return root.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

/**
 * Jupyter acts on keys pressed in an output (b adds a cell, x cuts it) unless both
 * the root and the focused element carry this attribute.
 * @param {HTMLElement} root
 */
function keepKeysFromJupyter(root) {
  for (const element of root.querySelectorAll(FOCUSABLE)) {
    element.dataset.lmSuppressShortcuts = "true";
  }
}

/** What identifies the focused element across a re-rendering. */
function focusOf(root) {
  const focused = root.ownerDocument.activeElement;
  if (!focused || !root.contains(focused)) return null;
  const holder = focused.closest("[data-key]");
  const { intent = "", call = "", note = "" } = focused.dataset;
  return { key: holder?.dataset.key, tag: focused.tagName, intent, call, note };
}

/** @param {HTMLElement} root @param {ReturnType<typeof focusOf>} was */
function restoreFocus(root, was) {
  if (!was || root.contains(root.ownerDocument.activeElement)) return;
  const holder = (was.key && find(root, was.key)) || root;
  const like = [holder, ...holder.querySelectorAll(FOCUSABLE)].find(
    ({ tagName, dataset }) =>
      tagName === was.tag &&
      (dataset.intent ?? "") === was.intent &&
      (dataset.call ?? "") === was.call &&
      (dataset.note ?? "") === was.note,
  );
  // Pause became Go on: stay in the same group of controls.
  (like ?? holder.querySelector("button"))?.focus({ preventScroll: true });
}

/** One view of the panel: a root element and what the person did in it. */
class View {
  constructor(el, send) {
    this.el = el;
    this.send = send;
    /** @type {Map<string, boolean>} what the person opened or closed, by key */
    this.opened = new Map();
    this.draft = "";
    el.addEventListener("click", (event) => this.onClick(event));
    el.addEventListener("input", (event) => {
      if (event.target.tagName === "TEXTAREA") this.draft = event.target.value;
    });
    for (const type of ["keydown", "keypress", "keyup"]) {
      el.addEventListener(type, (event) => this.onKey(event));
    }
  }

  /** @param {string} html */
  showAll(html) {
    const was = focusOf(this.el);
    this.el.innerHTML = html;
    this.settle(this.el);
    restoreFocus(this.el, was);
  }

  /** @param {Change[]} changes */
  showChanges(changes) {
    const was = focusOf(this.el);
    for (const change of changes) this.show(change);
    restoreFocus(this.el, was);
  }

  /** @param {Change} change */
  show({ key, html, into, text }) {
    if (text !== undefined) {
      find(this.el, key)?.append(text);
      return;
    }
    const template = this.el.ownerDocument.createElement("template");
    template.innerHTML = html;
    const next = template.content.firstElementChild;
    const old = find(this.el, key);
    if (!old) {
      (into && find(this.el, into))?.append(next);
    } else if (old.isEqualNode(next)) {
      return;
    } else if (key === "send") {
      // Replacing the box would lose the caret and an input method's state.
      old.hidden = next.hidden;
      return;
    } else {
      old.replaceWith(next);
    }
    this.settle(next);
  }

  /** Put back what the person had opened, closed or typed. */
  settle(root) {
    const keyed = [root, ...root.querySelectorAll("details[data-key]")];
    for (const element of keyed) {
      const open = this.opened.get(element.dataset.key ?? "");
      if (open !== undefined) element.open = open;
    }
    const box = root.querySelector("textarea");
    if (box) box.value = this.draft;
    keepKeysFromJupyter(this.el);
  }

  refuse(reason) {
    const place = find(this.el, "refused");
    if (place) place.textContent = reason;
    for (const busy of this.el.querySelectorAll("[aria-busy]")) {
      busy.removeAttribute("aria-busy");
    }
  }

  onClick(event) {
    const summary = event.target.closest("summary");
    const details = summary?.parentElement;
    if (details?.dataset.key) {
      // The click toggles it after this handler.
      this.opened.set(details.dataset.key, !details.open);
    }
    const button = event.target.closest("button[data-intent]");
    if (button && this.el.contains(button)) this.act(button);
  }

  act(button) {
    this.refuse("");
    const { intent, call, note } = button.dataset;
    /** @type {Record<string, string>} */
    const message = { intent };
    if (call) message.call = call;
    if (note) message.note = note;
    if (intent === "send") {
      if (!this.draft.trim()) return;
      message.text = this.draft;
      this.draft = "";
      this.el.querySelector("textarea").value = "";
    } else {
      button.setAttribute("aria-busy", "true");
    }
    this.send(message);
  }

  onKey(event) {
    if (event.key === "Escape") return;
    event.stopPropagation();
    const sends = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (event.type === "keydown" && sends && event.target.tagName === "TEXTAREA") {
      event.preventDefault();
      this.act(this.el.querySelector('button[data-intent="send"]'));
    }
  }
}

/** One closure per model: anywidget hands initialize and render different proxies. */
export default () => {
  /** @type {Set<View>} */
  const views = new Set();
  let snapshot = "";
  let seq = -1;
  let upToDate = false;

  /** Ask for a snapshot until one comes: the first messages of a comm can be lost. */
  function hello(model, attempt = 0) {
    if (upToDate) return;
    model.send({ op: "hello" });
    const wait = HELLO_AGAIN_MS[Math.min(attempt, HELLO_AGAIN_MS.length - 1)];
    setTimeout(() => hello(model, attempt + 1), wait);
  }

  /** @param {Message} message */
  function take(model, message) {
    if (message.op === "snapshot") {
      upToDate = true;
      seq = message.seq;
      snapshot = message.html;
      for (const view of views) view.showAll(snapshot);
      return;
    }
    if (!upToDate || message.seq <= seq) return;
    if (message.seq !== seq + 1) {
      upToDate = false;
      hello(model);
      return;
    }
    seq = message.seq;
    for (const view of views) {
      if (message.op === "refused") view.refuse(message.reason);
      if (message.changes) view.showChanges(message.changes);
    }
  }

  return {
    initialize({ model }) {
      model.on("msg:custom", (message) => take(model, message));
      hello(model);
    },
    render({ model, el }) {
      const view = new View(el, (message) => model.send(message));
      views.add(view);
      if (snapshot) view.showAll(snapshot);
      // A view that came later has missed the patches since the snapshot.
      upToDate = false;
      hello(model);
      return () => views.delete(view);
    },
  };
};
