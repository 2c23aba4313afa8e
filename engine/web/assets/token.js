// The token of those who may submit, kept for this tab: until it is closed, or the token is refused.
"use strict";
(() => {
  const kKey = "hone-token";
  for (const form of document.querySelectorAll("form[data-token]")) {
    const field = form.elements.token;
    if (form.dataset.token === "wrong") sessionStorage.removeItem(kKey);
    field.value = sessionStorage.getItem(kKey) ?? "";
    form.addEventListener("submit", () => sessionStorage.setItem(kKey, field.value));
  }
})();
