for (const svg of document.querySelectorAll("svg.surface")) {
  const rows = svg.dataset.grid.split(";").map(row => row.split(",").map(z => z === "" ? NaN : Number(z)));
  const group = svg.querySelector("g"), last = [rows.length - 1, rows[0].length - 1];
  const labels = [...group.querySelectorAll("text")];
  let turn = 0.7, tilt = 0.5, from = null;
  const seen = (column, row, z) => {
    const x = column / last[1] - 0.5, y = row / last[0] - 0.5;
    const across = x * Math.cos(turn) - y * Math.sin(turn), depth = x * Math.sin(turn) + y * Math.cos(turn);
    const up = z * 0.5 * Math.cos(tilt) - depth * Math.sin(tilt);
    return [450 + across * 420, 277.2 - up * 420, depth];
  };
  const draw = () => {
    const faces = [];
    for (let r = 0; r < last[0]; r++) for (let c = 0; c < last[1]; c++) {
      const at = [[r, c], [r, c + 1], [r + 1, c + 1], [r + 1, c]];
      // Where nothing was measured there is no face, here and in what was drawn before.
      if (at.some(([r, c]) => Number.isNaN(rows[r][c]))) continue;
      const corners = at.map(([r, c]) => seen(c, r, rows[r][c]));
      faces.push([corners.reduce((sum, p) => sum + p[2], 0), at.reduce((sum, [r, c]) => sum + rows[r][c], 0) / 4, corners]);
    }
    faces.sort((a, b) => b[0] - a[0]);
    group.querySelectorAll("polygon").forEach((face, at) => {
      const [, height, corners] = faces[at], part = (pale, strong) => Math.round(pale + (strong - pale) * height);
      face.setAttribute("points", corners.map(p => p[0].toFixed(1) + "," + p[1].toFixed(1)).join(" "));
      face.setAttribute("fill", `rgb(${part(226, 28)},${part(236, 84)},${part(248, 150)})`);
    });
    labels.forEach((label, at) => {
      const [x, y] = at < rows.length ? seen(0, at, 0) : seen(at - rows.length + 1, 0, 0);
      label.setAttribute("x", x.toFixed(1));
      label.setAttribute("y", (y + 16).toFixed(1));
    });
  };
  svg.onpointerdown = event => { from = [event.clientX, event.clientY]; svg.setPointerCapture(event.pointerId); };
  svg.onpointerup = () => { from = null; };
  svg.onpointermove = event => {
    if (!from) return;
    turn += (event.clientX - from[0]) / 150;
    tilt = Math.min(1.4, Math.max(0.1, tilt + (event.clientY - from[1]) / 200));
    from = [event.clientX, event.clientY];
    draw();
  };
}
