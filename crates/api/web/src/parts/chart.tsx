// A chart over time. It draws what it is given; colours come from the style sheet.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

export interface Line {
  name: string;
  /** A variable of the style sheet: `--line-1`. */
  colour: string;
  values: (number | null)[];
  fill?: boolean;
}

/** The least time that a chart shows, seconds. */
const LEAST = 60;

/** From where to where time goes: of nothing, the last minute. */
function shown(_plot: uPlot, first: number | null, last: number | null): uPlot.Range.MinMax {
  const end = last ?? Date.now() / 1000;
  return [Math.min(first ?? end, end - LEAST), end];
}

export function Chart({ at, lines, unit, label }: { at: number[]; lines: Line[]; unit: (value: number) => string; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = document.documentElement.dataset["theme"] ?? "";
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    plot.current = new uPlot(
      {
        width: box.clientWidth || 300,
        height: 170,
        cursor: { y: false, points: { size: 6 } },
        legend: { live: true },
        scales: { x: { range: shown }, y: { range: (_plot, _min, most) => [0, Math.max(most * 1.1, 1)] } },
        axes: [
          { ...axis, space: 70 },
          { ...axis, size: 56, values: (_plot, ticks) => ticks.map(unit) },
        ],
        series: [
          { value: (_plot, seconds) => (seconds === null ? "" : new Date(seconds * 1000).toLocaleTimeString()) },
          ...lines.map((line) => ({
            label: line.name,
            stroke: colour(line.colour),
            width: 1.5,
            points: { show: false },
            value: (_plot: uPlot, value: number | null) => (value === null || value === undefined ? "–" : unit(value)),
            ...(line.fill ? { fill: colour(`${line.colour}-fill`) } : {}),
          })),
        ],
      },
      [[], ...lines.map(() => [])],
      box,
    );
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height: 170 }));
    resized.observe(box);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, lines.length]);
  useEffect(() => {
    if (at.length > 1) {
      plot.current?.setData([at, ...lines.map((line) => line.values)]);
      return;
    }
    // A single moment has no width.
    const end = at[0] ?? Date.now() / 1000;
    plot.current?.setData([[end - LEAST, end], ...lines.map((line) => [null, line.values[0] ?? null])]);
  });
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

/** A line without axes, for rows of tables; a gap is where nothing is known. */
export function Spark({ values, label }: { values: (number | null)[]; label: string }) {
  const most = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const step = values.length > 1 ? 160 / (values.length - 1) : 0;
  let path = "";
  let gap = true;
  values.forEach((value, index) => {
    if (value === null) {
      gap = true;
      return;
    }
    path += `${gap ? "M" : "L"}${(index * step).toFixed(1)} ${(26 - (value / most) * 24).toFixed(1)}`;
    gap = false;
  });
  return <svg class="spark" viewBox="0 0 160 28" role="img" aria-label={label}><path d={path} /></svg>;
}
