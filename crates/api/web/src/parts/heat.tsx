// A heat map of times: each column a moment, each row a doubling; the darker, the more requests took so long.
import { useEffect, useRef } from "preact/hooks";
import { micros } from "../format";
import { heat as labels } from "../strings";

/** Upper edge of the lowest row, microseconds; each row above has twice the one below. */
const FIRST = 128;
/** Pixels: of the labels, of a row, of the times below, of the narrowest column. */
const LEFT = 58;
const ROW = 11;
const BELOW = 18;
const COLUMN = 3;

export function Heat({ at, rows, label }: { at: number[]; rows: number[][]; label: string }) {
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = place.current;
    const context = canvas?.getContext("2d");
    if (!canvas || !context) return;
    const count = Math.max(...rows.map((row) => row.length), 1);
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth || 300, count * ROW + BELOW];
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = `${height}px`;
    context.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const columns = gathered(rows, Math.max(1, Math.floor((width - LEFT) / COLUMN)));
    const step = Math.min((width - LEFT) / Math.max(1, columns.length), 12);
    const most = Math.max(1, ...columns.flat());
    context.font = "11px system-ui";
    context.fillStyle = colour("--dim");
    for (let row = 1; row < count; row += 3) context.fillText(edge(row, count), 0, (count - row) * ROW - 1);
    if (at.length > 0) {
      const time = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString();
      context.fillText(time(at[0]!), LEFT, height - 4);
      const last = time(at[at.length - 1]!);
      const end = LEFT + step * columns.length - context.measureText(last).width;
      if (end > LEFT + 80) context.fillText(last, end, height - 4);
    }
    context.fillStyle = colour("--line-1");
    columns.forEach((column, x) => {
      column.forEach((n, row) => {
        if (n === 0) return;
        context.globalAlpha = 0.12 + (0.88 * Math.log1p(n)) / Math.log1p(most);
        context.fillRect(LEFT + x * step, (count - 1 - row) * ROW, Math.max(step - 0.5, 1), ROW - 1);
      });
    });
  });
  const all = rows.flat().reduce((sum, n) => sum + n, 0);
  return <canvas class="heat" ref={place} role="img" aria-label={labels.label(label, all, at.length)} />;
}

function edge(row: number, count: number): string {
  const most = FIRST * 2 ** row;
  if (row === count - 1) return labels.longer;
  return `≤ ${most < 1e6 ? micros(most) : `${(most / 1e6).toFixed(1)} s`}`;
}

/** At most so many columns, each the sum of those that it stands for. */
function gathered(rows: number[][], most: number): number[][] {
  const each = Math.ceil(rows.length / most);
  if (each <= 1) return rows;
  const out: number[][] = [];
  for (let at = 0; at < rows.length; at += each) {
    const part = rows.slice(at, at + each);
    out.push(part[0]!.map((_, row) => part.reduce((sum, one) => sum + (one[row] ?? 0), 0)));
  }
  return out;
}
