/* What the bench notes in a page: when something is there to be seen, by its clock. */
window.bench = {
  shown: 0,
  seen: [],
  pressed: [],

  now: () => (performance.timeOrigin + performance.now()) / 1000,

  /* Note when the selector first finds something. */
  await(selector) {
    this.shown = 0;
    const look = () => {
      if (document.querySelector(selector)) this.shown = this.now();
      else setTimeout(look, 5);
    };
    look();
  },
  /* Note when each numbered piece of text is in the outputs of a cell. */
  follow(index) {
    const cell = harness.cell(index).node;
    const look = () => {
      const text = cell.querySelector(".jp-Cell-outputArea")?.textContent ?? "";
      const last = text.slice(text.lastIndexOf("«") + 1, text.lastIndexOf("»"));
      while (this.seen.length <= Number(last || -1)) this.seen.push(this.now());
    };
    const all = { subtree: true, childList: true, characterData: true };
    new MutationObserver(look).observe(cell, all);
    window.addEventListener("click", () => this.pressed.push(this.now()), true);
  },
};
