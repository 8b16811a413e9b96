// What mdBook's pages lack for readers without a mouse: the switch of the sidebar and whatever scrolls sideways can be
// reached by keyboard.
"use strict";

(() => {
  const toggle = document.getElementById("mdbook-sidebar-toggle");
  if (toggle) {
    toggle.setAttribute("role", "button");
    toggle.tabIndex = 0;
    toggle.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle.click();
    });
  }

  function reachScrolled() {
    for (const part of document.querySelectorAll("main pre > code, main .table-wrapper, main pre")) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
    }
  }
  reachScrolled();
  window.addEventListener("load", reachScrolled);
  window.addEventListener("resize", reachScrolled);
})();
