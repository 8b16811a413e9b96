// What happened, who ordered what, and what was: events, the record of orders, the history on disk.
import { useEffect, useState } from "preact/hooks";
import { look, order } from "../api";
import type { Audit, History, HistoryRow } from "../contract";
import { Empty, Panel, Rows, Wrong, may, needs, useAsking } from "../parts/basics";
import { Chart, Spark } from "../parts/chart";
import { moment, number, span } from "../format";
import { useKnown } from "../store";

const SPANS: [string, number][] = [["15 minutes", 900e3], ["1 hour", 3600e3], ["6 hours", 6 * 3600e3], ["1 day", 86400e3], ["7 days", 7 * 86400e3]];
/** Stretches that the slider reaches back. */
const REACH = 48;
/** Shown around a worst moment, milliseconds. */
const AROUND = 900e3;
/** Rows of the history that are drawn. */
const MOST = 100;

export function Events() {
  const { events, lost } = useKnown();
  const [level, setLevel] = useState("info");
  const [filter, setFilter] = useState("");
  const [stretch, setStretch] = useState<Stretch>({ length: SPANS[1]![1], until: null });
  const levels = ["info", "warning", "error"];
  const [since, until] = stretch.until === null ? [0, Infinity] : [stretch.until - stretch.length, stretch.until];
  const then = (at: number) => at >= since && at <= until;
  const shown = events.filter((event) => then(event["at-unix-ms"]) &&
    levels.indexOf(event.level) >= levels.indexOf(level) && `${event.what} ${event.text}`.toLowerCase().includes(filter.toLowerCase())).slice(-200).reverse();
  return (
    <>
      <h1 class="aside">Events and history</h1>
      <Was stretch={stretch} change={setStretch} />
      <Panel title={stretch.until === null ? "Events" : "Events of that time"} wide aside={
        <span class="tools">
          <select aria-label="Least level" value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {levels.map((one) => <option value={one}>{one === "error" ? "errors" : `${one}s and above`}</option>)}
          </select>
          <input type="search" placeholder="Filter" aria-label="Filter events" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </span>
      }>
        {lost > 0 && <p class="hint">{lost} updates came too fast for this page.</p>}
        {shown.length === 0 ? <Empty>No such event.</Empty> : (
          <ul class="log tall">{shown.map((event) => <li class={event.level}><time>{moment(event["at-unix-ms"])}</time> <span class="mono dim">{event.what}</span> {event.text}</li>)}</ul>
        )}
      </Panel>
      <Orders then={then} />
    </>
  );
}

/** A stretch of time: how long, and when it ended; `null`: now. */
interface Stretch { length: number; until: number | null }

function Was({ stretch, change }: { stretch: Stretch; change: (stretch: Stretch) => void }) {
  const [history, setHistory] = useState<History | null>(null);
  const [chosen, setChosen] = useState("");
  const [filter, setFilter] = useState("");
  const asking = useAsking();
  const { length, until } = stretch;
  useEffect(() => {
    asking.run(async () => {
      const end = until ?? Date.now();
      setHistory(await look<History>("/v1/history", { "since-unix-ms": Math.round(end - length), "until-unix-ms": until === null ? undefined : Math.round(until) }));
    });
  }, [length, until]);
  const row = history?.rows.find((one) => one.name === chosen) ?? history?.rows[0];
  return (
    <Panel title="What was" wide aside={<Moments stretch={stretch} change={change} />}>
      <Wrong why={asking.wrong} />
      {history && (history.rows.length === 0 || !row ? <Empty>Nothing is kept of that time: a record is made each history.step (a minute unless set).</Empty> : (
        <>
          <p class="dim">From {moment(history["since-unix-ms"])} to {moment(history["until-unix-ms"])}: {span(history["covered-ms"])} of it are known, from {history.records} records.</p>
          <h3>{row.name}: {row["line-of"]}</h3>
          <Chart label={`${row["line-of"]} of ${row.name}`} at={moments(history, row.line.length)} unit={number} lines={[{ name: row["line-of"], colour: "--line-1", values: row.line, fill: true }]} />
          <input type="search" placeholder="Filter" aria-label="Filter the history" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
          <Rows label="History" head={["What", "Over the time", "", "Rates a second", "Worst"]} rows={listed(history, filter).map((row) => [
            <button type="button" class="pick" onClick={() => setChosen(row.name)} title="Draw it large"><strong>{row.name}</strong></button>,
            <Spark values={row.line} label={`${row["line-of"]} of ${row.name}`} />,
            <span class="dim">{row["line-of"]}</span>,
            Object.entries(row.rates).filter(([, rate]) => rate > 0).slice(0, 4).map(([name, rate]) => `${name} ${number(rate)}`).join(", "),
            row.worst[0] ? (
              <button type="button" class="pick" title="Go there" onClick={() => { const worst = row.worst[0]!; change({ length: AROUND, until: Math.min(Date.now(), worst["at-unix-ms"] + AROUND / 2) }); }}>
                {row.worst[0].count} {row.worst[0].what} at {moment(row.worst[0]["at-unix-ms"])}
              </button>
            ) : "",
          ])} />
        </>
      ))}
    </Panel>
  );
}

/** What is asked for by its name; servers, which may be thousands, come last. */
function listed(history: History, filter: string): HistoryRow[] {
  const wanted = history.rows.filter((row) => row.name.toLowerCase().includes(filter.toLowerCase()));
  const isServer = (row: HistoryRow) => Number(row.name.startsWith("server/"));
  return wanted.sort((a, b) => isServer(a) - isServer(b)).slice(0, MOST);
}

/** When each value of a line was, seconds. */
function moments(history: History, count: number): number[] {
  const [first, last] = [history["since-unix-ms"] / 1000, history["until-unix-ms"] / 1000];
  return Array.from({ length: count }, (_, at) => first + ((at + 0.5) / count) * (last - first));
}

/** Goes through time: how long a stretch, and back and forth by half of it. */
function Moments({ stretch, change }: { stretch: Stretch; change: (stretch: Stretch) => void }) {
  const { length, until } = stretch;
  const go = (by: number) => {
    const end = (until ?? Date.now()) + by;
    change({ length, until: end >= Date.now() ? null : end });
  };
  const back = (Date.now() - (until ?? Date.now())) / length;
  return (
    <span class="moments">
      <button type="button" onClick={() => go(-length / 2)} aria-label="Earlier">◀</button>
      <input type="range" min={-REACH} max={0} step={0.25} value={-Math.min(REACH, back)} aria-label="How far back" onChange={(event) => {
        const at = Number(event.currentTarget.value);
        change({ length, until: at >= 0 ? null : Date.now() + at * length });
      }} />
      <button type="button" disabled={until === null} onClick={() => go(length / 2)} aria-label="Later">▶</button>
      <button type="button" disabled={until === null} onClick={() => change({ length, until: null })}>Now</button>
      <select aria-label="Time" value={String(length)} onChange={(event) => change({ length: Number(event.currentTarget.value), until })}>
        {SPANS.map(([name, ms]) => <option value={String(ms)}>{name}</option>)}
      </select>
    </span>
  );
}

function Orders({ then }: { then: (at: number) => boolean }) {
  const [audit, setAudit] = useState<Audit | null>(null);
  const asking = useAsking();
  const read = async () => setAudit(await look<Audit>("/v1/audit"));
  useEffect(() => asking.run(read), []);
  const able = may("configure");
  const undo = (id: number) => asking.run(async () => { await order(`/v1/undo?id=${id}`); await read(); });
  const records = (audit?.records ?? []).filter((record) => then(record["at-unix-ms"])).slice(-100).reverse();
  return (
    <Panel title="Who ordered what" wide aside={<button type="button" class="quiet" onClick={() => asking.run(read)}>Read again</button>}>
      <Wrong why={asking.wrong} />
      {audit && (records.length === 0 ? <Empty>Nobody ordered anything then.</Empty> : (
        <Rows label="Orders" head={["#Record", "When", "What", "Who", "Before", "After", ""]} rows={records.map((record) => [
          String(record.id), moment(record["at-unix-ms"]), `${record.action} ${record.target}`, `${record.who} by ${record.way}`, record.before, record.after,
          record.reversible ? <button type="button" disabled={!able || asking.busy} title={able ? "" : needs("configure")} onClick={() => undo(record.id)}>Undo</button> : "",
        ])} />
      ))}
    </Panel>
  );
}
