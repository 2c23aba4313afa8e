// Keeps a page up to date: the server says by events that something is new, and the parts of the
// page that may change are fetched again, at most once a second.
"use strict";
(() => {
  const main = document.querySelector("[data-live]");
  const status = document.getElementById("live-status");
  if (!main || !window.EventSource) return;
  const kPause = 1000, kAgain = 5000;  // [ms]
  let timer = 0, busy = false, wanted = false, ended = false;

  const say = (text) => {
    if (status && status.textContent !== text) status.textContent = text;
  };

  const nameOf = (details) => details.querySelector("summary").textContent;

  const replace = (old, fresh) => {
    const focusable = "a, button, input, select, textarea, summary, [tabindex]";
    const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
    const before = window.honeTables?.orders(old);
    const unfolded = [...old.querySelectorAll("details[open]")].map(nameOf);
    old.replaceWith(fresh);
    for (const details of fresh.querySelectorAll("details"))
      if (unfolded.includes(nameOf(details))) details.open = true;
    if (before) window.honeTables.restore(fresh, before);
    if (focused >= 0) fresh.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
  };

  const refresh = async () => {
    timer = 0;
    busy = true;
    wanted = false;
    try {
      const response = await fetch(location.href, { cache: "no-store" });
      if (response.ok) {
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        for (const old of document.querySelectorAll("[data-region]")) {
          const fresh = page.getElementById(old.id);
          if (!fresh) continue;
          replace(old, document.adoptNode(fresh));
          say(fresh.dataset.say ?? "");
        }
        main.dataset.refreshed = String(Number(main.dataset.refreshed ?? 0) + 1);
      }
    } catch {
      say("The server does not answer.");
    }
    busy = false;
    if (wanted) schedule();
  };

  const schedule = () => {
    wanted = true;
    if (timer === 0 && !busy) timer = setTimeout(refresh, kPause);
  };

  const listen = () => {
    const events = new EventSource(main.dataset.live);
    for (const type of ["points", "status", "jobs"]) events.addEventListener(type, schedule);
    events.addEventListener("end", () => {
      ended = true;
      events.close();
      schedule();
    });
    events.onerror = () => {
      if (ended || events.readyState !== EventSource.CLOSED) return;  // else it comes back itself
      say("Not live now; trying again.");
      setTimeout(listen, kAgain);
    };
  };
  listen();
})();
