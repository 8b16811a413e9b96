// Shows the chosen connection; zooms and pans its plots along time together; sorts and filters the tables; leads from
// findings to their packets.
"use strict";
const inside = 910, left = 70;

function bring(section) {
  const [from, to] = JSON.parse(section.querySelector(".span").textContent);
  let view = [from, to];
  const plots = [...section.querySelectorAll(".plot svg:first-child")];

  function nice(most, count) {
    const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= rough);
  }

  function show() {
    const width = view[1] - view[0];
    const factor = (to - from) / width, shift = ((view[0] - from) / (to - from)) * inside;
    for (const group of section.querySelectorAll(".zoom")) {
      group.setAttribute("transform", `scale(${factor} 1) translate(${-shift} 0)`);
    }
    const step = nice(width, 8), digits = Math.max(0, Math.ceil(-Math.log10(step)));
    const labels = [];
    for (let mark = Math.ceil(view[0] / step) * step; mark <= view[1]; mark += step) {
      labels.push([left + ((mark - view[0]) / width) * inside, `${mark.toFixed(digits)} s`]);
    }
    for (const group of section.querySelectorAll(".times")) {
      group.replaceChildren(...labels.map(([x, text]) => {
        const label = document.createElementNS("http://www.w3.org/2000/svg", "text");
        label.setAttribute("x", x);
        label.setAttribute("y", group.dataset.y);
        label.setAttribute("class", "small");
        label.setAttribute("text-anchor", "middle");
        label.textContent = text;
        return label;
      }));
    }
  }

  function zoom(at, factor) {
    const middle = view[0] + at * (view[1] - view[0]);
    const width = Math.min(to - from, Math.max((view[1] - view[0]) * factor, (to - from) / 1e6));
    let start = Math.max(from, middle - at * width);
    start = Math.min(start, to - width);
    view = [start, start + width];
    show();
  }

  for (const plot of plots) {
    plot.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = plot.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width * 1000 - left) / inside;
      zoom(Math.min(1, Math.max(0, at)), event.deltaY < 0 ? 0.8 : 1.25);
    }, { passive: false });
    plot.addEventListener("pointerdown", (down) => {
      plot.setPointerCapture(down.pointerId);
      const [begin, box] = [[...view], plot.getBoundingClientRect()];
      const move = (event) => {
        const moved = (event.clientX - down.clientX) / (box.width * inside / 1000) * (begin[1] - begin[0]);
        const start = Math.min(Math.max(from, begin[0] - moved), to - (begin[1] - begin[0]));
        view = [start, start + begin[1] - begin[0]];
        show();
      };
      plot.addEventListener("pointermove", move);
      plot.addEventListener("pointerup", () => plot.removeEventListener("pointermove", move), { once: true });
    });
    plot.addEventListener("dblclick", () => { view = [from, to]; show(); });
  }

  section.querySelector(".log").addEventListener("click", () => {
    for (const plot of section.querySelectorAll(".scaled")) plot.classList.toggle("hidden");
  });

  const bounce = section.querySelector(".bounce");
  let size = 1;
  for (const [name, factor] of [["larger", 1.25], ["smaller", 0.8]]) {
    section.querySelector(`.${name}`).addEventListener("click", () => {
      size = Math.min(4, Math.max(0.25, size * factor));
      const box = bounce.viewBox.baseVal;
      bounce.setAttribute("width", box.width * size);
      bounce.setAttribute("height", box.height * size);
    });
  }

  for (const finding of section.querySelectorAll(".finding")) {
    finding.addEventListener("click", () => {
      const arrow = bounce.querySelector(`.found${finding.dataset.rank}`);
      if (arrow) arrow.scrollIntoView({ behavior: "smooth", block: "center" });
      const [start, length] = [Number(finding.dataset.start), Number(finding.dataset.length)];
      if (length > 0) {
        view = [Math.max(from, start - length / 2), Math.min(to, start + length * 1.5)];
        show();
      }
    });
  }
  show();
}

const sections = [...document.querySelectorAll("section")];
sections.forEach(bring);

// A link to a connection, or to something within one, shows it.
function choose() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const chosen = target?.closest("section") ?? sections.find((one) => !one.classList.contains("hidden"));
  for (const one of sections) one.classList.toggle("hidden", one !== chosen);
  if (target) target.scrollIntoView();
}
sections.forEach((one, at) => one.classList.toggle("hidden", at > 0));
addEventListener("hashchange", choose);
choose();

for (const part of document.querySelectorAll(".bar span")) part.style.width = `${part.dataset.share}%`;

for (const input of document.querySelectorAll("input.filter")) {
  const table = input.closest("p").nextElementSibling;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.classList.toggle("hidden", !words.every((word) => text.includes(word)));
    }
  });
}

for (const table of document.querySelectorAll("table")) {
  for (const [column, head] of [...table.querySelectorAll("th")].entries()) {
    let downwards = false;
    head.addEventListener("click", () => {
      const body = table.tBodies[0];
      downwards = !downwards;
      const order = (a, b) => {
        const [one, other] = [a.cells[column], b.cells[column]];
        const numbers = one.dataset.value === undefined ? undefined : other.dataset.value - one.dataset.value;
        return numbers ?? one.textContent.localeCompare(other.textContent, undefined, { numeric: true });
      };
      body.replaceChildren(...[...body.rows].sort((a, b) => (downwards ? order(a, b) : order(b, a))));
    });
  }
}
