/**
 * How the panel makes what is shown look like what came, and keeps every node that can
 * stay. The widget puts this before panel.js: the two are one module.
 */

/** What an element is taken for: its name, its key, the first of its classes. */
function kind(node) {
  const { dataset, classList } = node;
  return `${node.nodeName} ${dataset?.key ?? ""} ${classList?.[0] ?? ""}`;
}

/**
 * Make `old` look like `next` and keep every node that can stay: with it stay the
 * focus, the caret, the selection, the scroll position, and what a screen reader
 * watches. What the front end fills by itself (`data-own`) is left alone.
 * @param {Node} old @param {Node} next
 */
function morph(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeType === Node.TEXT_NODE) {
    morphText(old, next.data);
  } else if (kind(old) !== kind(next)) {
    old.replaceWith(next);
  } else if (!("own" in old.dataset)) {
    const { value } = old;
    const follows = isAsGiven(old);
    morphAttributes(old, next);
    morphChildren(old, next);
    if (follows) setAsGiven(old);
    else if (old.nodeName === "SELECT") keepChosen(old, value);
  }
}

/**
 * Whether a box holds what the page gave it. One in which something was typed or chosen
 * once no longer follows the page by itself: what nobody has changed since would be
 * sent as a change back.
 */
function isAsGiven({ nodeName, value, defaultValue, options }) {
  if (nodeName === "TEXTAREA") return value === defaultValue;
  const isKept = ({ selected, defaultSelected }) => selected === defaultSelected;
  return nodeName === "SELECT" && [...options].every(isKept);
}

function setAsGiven(box) {
  for (const option of box.options ?? []) {
    if (option.defaultSelected && !option.selected) option.selected = true;
  }
  const { nodeName, value, defaultValue } = box;
  if (nodeName === "TEXTAREA" && value !== defaultValue) box.value = defaultValue;
}

/** An option that the page begins to give takes the choice from the one chosen. */
function keepChosen(select, value) {
  const chosen = [...select.options].find((option) => option.value === value);
  if (chosen) chosen.selected = true;
  else setAsGiven(select);
}

/** Change only what differs: a selection in the rest of a text stays. */
function morphText(old, data) {
  const most = Math.min(old.length, data.length);
  let start = 0;
  while (start < most && old.data[start] === data[start]) start += 1;
  let end = 0;
  while (end < most - start && old.data.at(-1 - end) === data.at(-1 - end)) end += 1;
  const middle = data.slice(start, data.length - end);
  old.replaceData(start, old.length - start - end, middle);
}

function morphAttributes(old, next) {
  for (const { name } of [...old.attributes]) {
    // A style is never ours: it is the size that a person gave the box.
    if (name !== "style" && !next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/** Their order never changes: a child is where it was, new, or gone. */
function morphChildren(old, next) {
  let place = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    let same = place;
    while (same && kind(same) !== kind(wanted)) same = same.nextSibling;
    if (!same) {
      old.insertBefore(wanted, place);
      continue;
    }
    while (place !== same) place = removed(place);
    place = same.nextSibling;
    morph(same, wanted);
  }
  while (place) place = removed(place);
}

/** @param {ChildNode} node @returns {ChildNode | null} what came after it */
function removed(node) {
  const after = node.nextSibling;
  node.remove();
  return after;
}
