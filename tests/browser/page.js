/* What the browser tests do in a page and read from it: the application's own
   commands and models, so that nothing depends on its markup. */
window.harness = {
  running: 0,     // the commands that run cells and have not ended
  answer: null,   // what the last action came to

  panel() {
    const shell = window.jupyterapp?.shell;
    const shown = shell ? [shell.currentWidget, ...shell.widgets("main")] : [];
    return shown.find((widget) => widget?.sessionContext && widget.content?.widgets);
  },
  kernel() { return this.panel()?.sessionContext.session?.kernel; },
  cell(index) { return this.panel().content.widgets[index]; },
  prompts() {
    const cells = this.panel()?.content.widgets ?? [];
    return cells.map((cell) => cell.inputArea?.promptNode?.textContent ?? "");
  },
  connected() {
    const kernel = this.kernel();
    const there = ["idle", "busy"].includes(kernel?.status);
    return there && kernel.connectionStatus === "connected";
  },
  // The status alone does not tell: a running cell's "busy" is followed by the "idle"
  // of any request on the control channel, such as those of widgets and the debugger.
  idle() {
    if (!this.connected() || this.kernel().status !== "idle") return false;
    return !this.running && !this.prompts().some((prompt) => prompt.includes("*"));
  },
  seen() {
    const kernel = this.kernel();
    return {
      kernel: kernel ? `${kernel.status}, ${kernel.connectionStatus}` : "none",
      prompts: this.prompts(),
      running: this.running,
      dialog: document.querySelector(".jp-Dialog")?.innerText ?? "none",
    };
  },

  run(command) {
    this.running += 1;
    const end = () => { this.running -= 1; };
    window.jupyterapp.commands.execute(command).then(end, end);
  },
  runCell(index) {
    this.panel().content.deselectAll();
    this.panel().content.activeCellIndex = index;
    this.run("notebook:run-cell");
  },
  // A connection of its own each time: the kernel reads what it had left unread.
  connectOften() {
    setInterval(() => {
      const again = this.kernel()?.clone({ handleComms: false });
      setTimeout(() => again?.dispose(), 2000);
    }, 5000);
  },
  start(action, argument) {
    this.answer = null;
    this.actions[action](argument).then(
      (value) => { this.answer = { value: value ?? null }; },
      (error) => { this.answer = { error: String(error) }; },
    );
  },
  actions: {
    save: () => harness.panel().context.save(),
    interrupt: () => harness.kernel().interrupt(),
    restart: () => harness.kernel().restart(),
    hide: () => jupyterapp.commands.execute("application:toggle-left-area"),
    shutdown: () => harness.panel().sessionContext.shutdown(),
    theme: (theme) => jupyterapp.commands.execute("apputils:change-theme", { theme }),
    async evaluate(code) {
      const quiet = { silent: true, store_history: false, allow_stdin: false };
      const request = harness.kernel().requestExecute({ code, ...quiet });
      let text = "";
      request.onIOPub = ({ header, content }) => {
        const printed = header.msg_type === "stream" && content.name === "stdout";
        if (printed) text += content.text;
      };
      const { content } = await request.done;
      if (content.status !== "ok") throw `${content.ename}: ${content.evalue}`;
      return text;
    },
  },
};
