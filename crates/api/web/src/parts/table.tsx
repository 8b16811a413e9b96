// A table of very many rows: only those that are seen are drawn. It sorts and filters by what its columns say.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { common } from "../strings";

/** Height of each row, pixels; the style sheet has the same. */
const ROW = 36;
/** Rows drawn beyond those that are seen. */
const BEYOND = 8;

export interface Column<T> {
  name: string;
  right?: boolean;
  width?: string;
  /** What is sorted by; absent: this column cannot be sorted by. */
  by?: (row: T) => string | number;
  show: (row: T) => ComponentChildren;
}

interface Props<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  /** What the filter looks into. */
  text: (row: T) => string;
  aside?: ComponentChildren;
}

export function Table<T>({ label, rows, columns, id, text, aside }: Props<T>) {
  const [filter, setFilter] = useState("");
  const [sort, setSort] = useState<{ at: number; down: boolean } | null>(null);
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    let list = wanted ? rows.filter((row) => text(row).toLowerCase().includes(wanted)) : rows;
    const by = sort ? columns[sort.at]?.by : undefined;
    if (sort && by) {
      const sign = sort.down ? -1 : 1;
      list = [...list].sort((a, b) => {
        const [x, y] = [by(a), by(b)];
        return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
      });
    }
    return list;
  }, [rows, filter, sort, columns, text]);
  const seen = Math.ceil((box.current?.clientHeight ?? 600) / ROW);
  const first = Math.max(0, Math.min(Math.floor(top / ROW) - BEYOND, shown.length - 1));
  const last = Math.min(shown.length, first + seen + 2 * BEYOND);
  const press = (at: number) =>
    setSort((old) => (old?.at !== at ? { at, down: false } : old.down ? null : { at, down: true }));
  return (
    <div class="many">
      <div class="tools">
        <input type="search" placeholder={common.filter} aria-label={common.filterOf(label)} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        <span class="dim">{shown.length === rows.length ? `${rows.length}` : common.share(String(shown.length), String(rows.length))}</span>
        {aside}
      </div>
      <div class="scroll tall" ref={box} tabIndex={0} role="region" aria-label={label} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table aria-rowcount={shown.length}>
          <thead>
            <tr>
              {columns.map((column, at) => {
                const is = sort?.at === at ? (sort.down ? "descending" : "ascending") : "none";
                return (
                  <th scope="col" class={column.right ? "right" : ""} style={{ width: column.width }} aria-sort={is}>
                    {column.by
                      ? <button type="button" onClick={() => press(at)}>{column.name}<span aria-hidden="true">{is === "none" ? "" : is === "ascending" ? " ▲" : " ▼"}</span></button>
                      : column.name}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {first > 0 && <tr class="space" style={{ height: `${first * ROW}px` }}><td colSpan={columns.length} /></tr>}
            {shown.slice(first, last).map((row, at) => (
              <tr key={id(row)} aria-rowindex={first + at + 1}>
                {columns.map((column) => <td class={column.right ? "right" : ""}>{column.show(row)}</td>)}
              </tr>
            ))}
            {last < shown.length && <tr class="space" style={{ height: `${(shown.length - last) * ROW}px` }}><td colSpan={columns.length} /></tr>}
          </tbody>
        </table>
      </div>
    </div>
  );
}
