/**
 * The live panel. Python renders every fragment; this file places them, appends
 * streamed text and reports clicks. It never builds markup from data.
 *
 * Messages in:  {op: "snapshot", seq, html, answers, home?}
 *               {op: "patch", seq, changes: [{key, html, into?} | {key, text}]}
 *               {op: "refused", seq, reason}
 * Messages out: {op: "hello", page}, {op: "bye", page}, or an intent: {intent,
 *               at?, fields?, text?, and what is NAMED}
 *
 * @typedef {{key: string, html?: string, into?: string, text?: string}} Change
 * @typedef {{op: string, seq: number, html?: string, answers?: boolean,
 *            home?: string, changes?: Change[], reason?: string}} Message
 */

const FOCUSABLE = "summary, button, textarea, select, a";
/** What a button's data say besides its intent, and which names they go by. */
const NAMED = "attempt branch call digest edit note part place tool ttl".split(" ");
const HELLO_AGAIN_MS = [120, 240, 500, 1000, 2000, 4000, 8000];
const TICK_MS = 1000;
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
 * Append streamed text to the text that is there, in which something may be selected.
 * @param {HTMLElement | null} element @param {string} text
 */
function grow(element, text) {
  const last = element?.lastChild;
  if (last?.nodeType === Node.TEXT_NODE) last.appendData(text);
  else element?.append(text);
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
    /** @type {HTMLElement | undefined} what was pressed last */
    this.pressed = undefined;
    /** @type {string | undefined} the intent of the button that lost the focus */
    this.parted = undefined;
    /** @type {WeakMap<Element, number>} when each clock was first seen */
    this.since = new WeakMap();
    this.ticking = undefined;
    el.addEventListener("click", (event) => this.onClick(event));
    for (const type of ["keydown", "keypress", "keyup"]) {
      el.addEventListener(type, (event) => this.onKey(event));
    }
  }

  /** @param {string} html */
  showAll(html) {
    const root = this.el.firstElementChild;
    this.keepingPlace(() => {
      if (root) morph(root, this.prepared(html));
      else this.el.append(this.prepared(html));
    });
  }

  /**
   * @param {Change[]} changes
   * @returns {boolean} whether each change had its place
   */
  showChanges(changes) {
    this.noLongerBusy();
    if (changes.some(({ key }) => key === "waiting")) this.sent = "";
    let allPlaced = true;
    this.keepingPlace(() => {
      for (const change of changes) allPlaced = this.show(change) && allPlaced;
    });
    return allPlaced;
  }

  /** @param {Change} change @returns {boolean} whether it had its place */
  show({ key, html, into, text }) {
    const old = find(this.el, key);
    if (text !== undefined) {
      grow(old, text);
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
    for (const details of [next, ...next.querySelectorAll("details")]) {
      const { key } = details.dataset;
      if (details.tagName !== "DETAILS" || !key) continue;
      const shown = find(this.el, key);
      // Nothing closes by itself while someone is at it.
      if (shown?.open && !details.open && this.isAt(shown)) this.opened.set(key, true);
      details.open = this.opened.get(key) ?? details.open;
      // What is still to be fetched is open only while it is asked for.
      if (details.dataset.part) details.open = Boolean(shown?.dataset.part && shown.open);
    }
    return next;
  }

  /** Whether the focus, the pointer or a selection is in an element. */
  isAt(element) {
    const { ownerDocument } = this.el;
    const selection = ownerDocument.getSelection();
    return (
      element.contains(ownerDocument.activeElement) ||
      element.matches(":hover") ||
      (!selection.isCollapsed && selection.containsNode(element, true))
    );
  }

  /**
   * Change something, and leave the person where they were: the page does not move
   * under them, and where the focused element goes away the focus stays in the panel.
   */
  keepingPlace(change) {
    const { ownerDocument } = this.el;
    const before = ownerDocument.activeElement;
    const wasInside = this.el.contains(before);
    const intent = before?.closest('[data-key="bar"]') && before.dataset.intent;
    const level = before?.closest(".nbr-tree details");
    change();
    this.count();
    if (wasInside && !this.el.contains(ownerDocument.activeElement)) {
      this.parted = intent;
      const line = level?.isConnected && level.querySelector("summary");
      (line || this.nextFocus())?.focus({ preventScroll: true });
    } else this.comeBack();
  }

  /** Give the focus back to the button that went away under it, Step say. */
  comeBack() {
    if (!this.parted) return;
    const box = this.box();
    const isParked = this.el.ownerDocument.activeElement === box && !box.value;
    const button = find(this.el, "bar")?.querySelector(`[data-intent="${this.parted}"]`);
    if (isParked && !button) return;
    this.parted = undefined;
    if (isParked) button.focus({ preventScroll: true });
  }

  /** The box for a message to Claude. */
  box() {
    return find(this.el, "send")?.querySelector("textarea");
  }

  /**
   * Where the focus goes from what went away: to the next call that waits (to its
   * line, since a key that is still pressed must decide nothing), or to the box.
   */
  nextFocus() {
    const waiting = this.el.querySelector(".nbr-decide")?.closest("details");
    const summary = waiting?.querySelector("summary");
    if (summary?.offsetParent) return summary;
    const box = this.box();
    return box?.offsetParent ? box : this.el.querySelector("button, summary");
  }

  /** Show how many seconds each clock has been there; no clock, no ticking. */
  count() {
    const now = Date.now();
    const clocks = this.el.querySelectorAll("[data-clock]");
    for (const clock of clocks) {
      if (!this.since.has(clock)) this.since.set(clock, now);
      const passed = Math.floor((now - this.since.get(clock)) / TICK_MS);
      const text = passed ? `${passed} s` : "";
      if (clock.textContent !== text) clock.textContent = text;
    }
    if (clocks.length === 0) this.close();
    else this.ticking ??= setInterval(() => this.count(), TICK_MS);
  }

  close() {
    clearInterval(this.ticking);
    this.ticking = undefined;
  }

  /** @param {string} reason */
  refuse(reason) {
    const pressed = this.pressed?.isConnected ? this.pressed : undefined;
    const near = pressed?.closest("[data-form], .nbr-json");
    const place = near?.querySelector(".nbr-refused") ?? find(this.el, "refused");
    if (place) place.textContent = reason;
    if (reason && pressed?.matches("details[data-part]")) this.shut(pressed);
    const box = this.box();
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
    if (details?.dataset.part && !details.open) this.act(details);
    const button = event.target.closest("button[data-intent]");
    if (button && this.el.contains(button)) this.act(button);
  }

  /** @param {HTMLElement} button or what asks for what is in it when it is opened */
  act(button) {
    const { intent, at } = button.dataset;
    /** @type {Record<string, any>} */
    const message = { intent };
    if (at) message.at = Number(at);
    for (const name of NAMED) {
      if (button.dataset[name]) message[name] = button.dataset[name];
    }
    const fields = button.closest("[data-form]")?.querySelectorAll("[data-field]");
    if (fields?.length) {
      const filled = [...fields].map((field) => [field.dataset.field, field.value]);
      message.fields = Object.fromEntries(filled);
    }
    const box = this.box();
    if (intent === "send") {
      if (!box.value.trim()) return;
      message.text = box.value;
      box.value = "";
    }
    this.refuse("");
    this.pressed = button;
    this.refuse("");
    this.sent = message.text ?? "";
    button.setAttribute("aria-busy", "true");
    this.send(message);
  }

  /** @param {HTMLDetailsElement} details what its own line opened: back to that */
  shut(details) {
    const summary = details.querySelector("summary");
    const isInside = details.contains(this.el.ownerDocument.activeElement);
    this.opened.set(details.dataset.key, false);
    details.open = false;
    if (isInside) summary.focus();
  }

  onKey(event) {
    if (event.key === "Escape") {
      const form = event.target.closest(".nbr-way[open]");
      if (form) {
        if (event.type === "keydown") this.shut(form);
        event.stopPropagation();
        return;
      }
      // Back to Jupyter, whose own keys then work again: its cell or notebook.
      if (event.type === "keydown") this.el.parentElement?.closest("[tabindex]")?.focus();
      return;
    }
    event.stopPropagation();
    const sends = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (event.type === "keydown" && sends && event.target.matches("textarea, select")) {
      event.preventDefault();
      const form = event.target.closest("[data-form]") ?? find(this.el, "send");
      this.act(form.querySelector("button[data-intent]"));
    }
  }
}

/** One closure per model: anywidget hands initialize and render different proxies. */
export default () => {
  /** @type {Set<View>} */
  const views = new Set();
  // Who asks: a notebook that is opened anew makes its models anew, and so this.
  const page = Math.random().toString(36).slice(2);
  let snapshot = "";
  let isStranger = false;
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
      model.send({ op: "hello", page });
      if (attempt >= DEAF_AFTER_HELLOS) sayThatClicksWait();
      const wait = HELLO_AGAIN_MS[Math.min(attempt, HELLO_AGAIN_MS.length - 1)];
      setTimeout(() => again(attempt + 1), wait);
    };
    again(0);
  }

  function sayThatClicksWait() {
    for (const view of views) find(view.el, "deaf")?.removeAttribute("hidden");
  }

  /** @param {View} view */
  function showSnapshot(view) {
    view.showAll(snapshot);
    if (isStranger) find(view.el, "reloaded")?.removeAttribute("hidden");
  }

  /** @param {Message} message */
  function take(model, message) {
    if (message.op === "snapshot") {
      heard ||= message.answers;
      upToDate = true;
      seq = message.seq;
      snapshot = message.html;
      // What takes the panel's place in the end goes to the page that began the cell.
      isStranger = Boolean(message.home) && message.home !== page;
      for (const view of views) showSnapshot(view);
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
      if (snapshot) showSnapshot(view);
      // A view that came later has missed the patches since the snapshot.
      upToDate = false;
      hello(model);
      return () => {
        views.delete(view);
        view.close();
        if (views.size === 0) model.send({ op: "bye", page });
      };
    },
  };
};
