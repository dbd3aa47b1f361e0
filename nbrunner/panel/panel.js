/**
 * The live panel. Python renders every fragment; this file places them, appends
 * streamed text and reports clicks. It never builds markup from data.
 *
 * Messages in:  {op: "snapshot", seq, html, answers}
 *               {op: "patch", seq, changes: [{key, html, into?} | {key, text}]}
 *               {op: "refused", seq, reason}
 * Messages out: {op: "hello"}, or an intent: {intent, call?, ttl?, note?, text?}
 *
 * @typedef {{key: string, html?: string, into?: string, text?: string}} Change
 * @typedef {{op: string, seq: number, html?: string, answers?: boolean,
 *            changes?: Change[], reason?: string}} Message
 */

const FOCUSABLE = "summary, button, textarea, a";
const HELLO_AGAIN_MS = [120, 240, 500, 1000, 2000];
const DEAF_AFTER_HELLOS = 5;

/** @param {ParentNode} root @param {string} key @returns {HTMLElement | null} */
function find(root, key) {
  return root.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

/** @param {Document} document @param {string} html @returns {Element} */
function parse(document, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const element = template.content.firstElementChild;
  // Jupyter acts on keys pressed in an output (b adds a cell, x cuts it) unless both
  // the root and the focused element carry this attribute.
  for (const focusable of template.content.querySelectorAll(FOCUSABLE)) {
    focusable.dataset.lmSuppressShortcuts = "true";
  }
  return element;
}

/**
 * Make `old` look like `next` and keep every node that can stay: with it stay the
 * focus, the caret, the scroll position, and what a screen reader watches.
 * @param {Node} old @param {Node} next
 */
function morph(old, next) {
  if (old.isEqualNode(next)) return;
  const sameKind =
    old.nodeName === next.nodeName && old.dataset?.key === next.dataset?.key;
  if (!sameKind) {
    old.replaceWith(next);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const children = [...old.childNodes];
  const wanted = [...next.childNodes];
  for (const extra of children.slice(wanted.length)) extra.remove();
  wanted.forEach((child, place) => {
    if (place < children.length) morph(children[place], child);
    else old.append(child);
  });
}

/** One view of the panel: a root element and what the person did in it. */
class View {
  /** @param {HTMLElement} el @param {(message: object) => void} send */
  constructor(el, send) {
    this.el = el;
    this.send = send;
    /** @type {Map<string, boolean>} what the person opened or closed, by key */
    this.opened = new Map();
    this.sent = "";
    el.addEventListener("click", (event) => this.onClick(event));
    for (const type of ["keydown", "keypress", "keyup"]) {
      el.addEventListener(type, (event) => this.onKey(event));
    }
  }

  /** @param {string} html */
  showAll(html) {
    const next = this.prepared(html);
    const refusal = find(this.el, "refused")?.textContent ?? "";
    this.keepingFocus(() => {
      const root = this.el.firstElementChild;
      if (root) morph(root, next);
      else this.el.append(next);
    });
    find(this.el, "refused").textContent = refusal;
  }

  /**
   * @param {Change[]} changes
   * @returns {boolean} whether each change had its place
   */
  showChanges(changes) {
    this.noLongerBusy();
    if (changes.some(({ key }) => key === "waiting")) this.sent = "";
    let allPlaced = true;
    this.keepingFocus(() => {
      for (const change of changes) allPlaced = this.show(change) && allPlaced;
    });
    return allPlaced;
  }

  /** @param {Change} change @returns {boolean} whether it had its place */
  show({ key, html, into, text }) {
    const old = find(this.el, key);
    if (text !== undefined) {
      old?.append(text);
    } else if (old) {
      morph(old, this.prepared(html));
    } else {
      const parent = into && find(this.el, into);
      parent?.append(this.prepared(html));
      return Boolean(parent);
    }
    return Boolean(old);
  }

  /** A fragment with what the person opened and closed put back. */
  prepared(html) {
    const next = parse(this.el.ownerDocument, html);
    for (const details of [next, ...next.querySelectorAll("details[data-key]")]) {
      const open = this.opened.get(details.dataset.key);
      if (open !== undefined) details.open = open;
    }
    return next;
  }

  /** Change something; where that takes the focused element away, stay in the panel. */
  keepingFocus(change) {
    const { ownerDocument } = this.el;
    const wasInside = this.el.contains(ownerDocument.activeElement);
    change();
    if (wasInside && !this.el.contains(ownerDocument.activeElement)) {
      const box = this.el.querySelector("textarea");
      const next = box?.offsetParent ? box : this.el.querySelector("button, summary");
      next?.focus({ preventScroll: true });
    }
  }

  /** @param {string} reason */
  refuse(reason) {
    const place = find(this.el, "refused");
    if (place) place.textContent = reason;
    const box = this.el.querySelector("textarea");
    if (reason && this.sent && box && !box.value) box.value = this.sent;
    this.sent = "";
    this.noLongerBusy();
  }

  noLongerBusy() {
    for (const busy of this.el.querySelectorAll("[aria-busy]")) {
      busy.removeAttribute("aria-busy");
    }
  }

  onClick(event) {
    const details = event.target.closest("summary")?.parentElement;
    // The click toggles it after this handler.
    if (details?.dataset.key) this.opened.set(details.dataset.key, !details.open);
    const button = event.target.closest("button[data-intent]");
    if (button && this.el.contains(button)) this.act(button);
  }

  /** @param {HTMLButtonElement} button */
  act(button) {
    const { intent, call, note, ttl } = button.dataset;
    /** @type {Record<string, string>} */
    const message = { intent };
    if (call) message.call = call;
    if (note) message.note = note;
    if (ttl) message.ttl = ttl;
    const box = this.el.querySelector("textarea");
    if (intent === "send") {
      if (!box.value.trim()) return;
      message.text = box.value;
      box.value = "";
    }
    this.refuse("");
    this.sent = message.text ?? "";
    button.setAttribute("aria-busy", "true");
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
  let heard = false;
  let asking = 0;

  /**
   * Ask for a snapshot until one comes as an answer: the first messages of a comm can
   * be lost, and some kernels hear nothing while a cell runs. Those push one unasked,
   * so that there is something to see; the panel then says that clicks wait.
   */
  function hello(model) {
    const round = ++asking;
    const again = (attempt) => {
      if (round !== asking || views.size === 0 || (upToDate && heard)) return;
      model.send({ op: "hello" });
      if (attempt >= DEAF_AFTER_HELLOS) sayThatClicksWait();
      const wait = HELLO_AGAIN_MS[Math.min(attempt, HELLO_AGAIN_MS.length - 1)];
      setTimeout(() => again(attempt + 1), wait);
    };
    again(0);
  }

  function sayThatClicksWait() {
    for (const view of views) find(view.el, "deaf")?.removeAttribute("hidden");
  }

  /** @param {Message} message */
  function take(model, message) {
    if (message.op === "snapshot") {
      heard ||= message.answers;
      upToDate = true;
      seq = message.seq;
      snapshot = message.html;
      for (const view of views) view.showAll(snapshot);
      return;
    }
    if (message.op === "refused") {
      for (const view of views) view.refuse(message.reason);
    }
    if (!upToDate || message.seq <= seq) return;
    let whole = message.seq === seq + 1;
    seq = message.seq;
    for (const view of whole ? views : []) {
      if (message.changes) whole = view.showChanges(message.changes) && whole;
    }
    if (!whole) {
      upToDate = false;
      hello(model);
    }
  }

  return {
    initialize({ model }) {
      model.on("msg:custom", (message) => take(model, message));
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
