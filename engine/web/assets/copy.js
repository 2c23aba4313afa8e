// A button that copies the source beside it.
"use strict";
(() => {
  const write = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // Without TLS a browser has no clipboard but for what is selected.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) throw new Error("not copied");
  };

  for (const section of document.querySelectorAll("[data-copy]")) {
    const source = section.querySelector(".source code");
    if (!source) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    const status = document.createElement("span");
    status.setAttribute("role", "status");
    status.className = "soft";
    button.addEventListener("click", async () => {
      try {
        await write(source.textContent);
        status.textContent = "Copied.";
      } catch {
        status.textContent = "This browser does not let a page copy: select the source instead.";
      }
    });
    (section.querySelector(".facts") ?? section).append(button, " ", status);
  }
})();
