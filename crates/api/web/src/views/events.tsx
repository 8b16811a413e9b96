// What happened, who ordered what, and what was: events, the audit log, the history on disk.
import { useEffect, useState } from "preact/hooks";
import { look, order } from "../api";
import type { Audit, History, HistoryRow } from "../contract";
import { Empty, Panel, Rows, Wrong, may, needs, useAsking } from "../parts/basics";
import { Chart, Spark } from "../parts/chart";
import { moment, number, span } from "../format";
import { useKnown } from "../store";
import { common, events as labels, views } from "../strings";

const SPANS: [string, number][] = [
  [labels.spans.quarter, 900e3], [labels.spans.hour, 3600e3], [labels.spans.six, 6 * 3600e3], [labels.spans.day, 86400e3], [labels.spans.week, 7 * 86400e3],
];
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
  const levels = Object.keys(labels.levels);
  const [since, until] = stretch.until === null ? [0, Infinity] : [stretch.until - stretch.length, stretch.until];
  const then = (at: number) => at >= since && at <= until;
  const shown = events.filter((event) => then(event["at-unix-ms"]) &&
    levels.indexOf(event.level) >= levels.indexOf(level) && `${event.kind} ${event.text}`.toLowerCase().includes(filter.toLowerCase())).slice(-200).reverse();
  return (
    <>
      <h1 class="aside">{views.events}</h1>
      <Was stretch={stretch} change={setStretch} />
      <Panel title={stretch.until === null ? labels.title : labels.past} wide aside={
        <span class="tools">
          <select aria-label={labels.level} value={level} onChange={(event) => setLevel(event.currentTarget.value)}>
            {Object.entries(labels.levels).map(([one, text]) => <option value={one}>{text}</option>)}
          </select>
          <input type="search" placeholder={common.filter} aria-label={common.filterOf(labels.title)} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </span>
      }>
        {lost > 0 && <p class="hint">{labels.lost(lost)}</p>}
        {shown.length === 0 ? <Empty>{labels.noEvents}</Empty> : (
          <ul class="log tall">{shown.map((event) => <li class={event.level}><time>{moment(event["at-unix-ms"])}</time> <span class="mono dim">{event.kind}</span> {event.text}</li>)}</ul>
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
    <Panel title={labels.historyTitle} wide aside={<Moments stretch={stretch} change={change} />}>
      <Wrong why={asking.wrong} />
      {history && (history.rows.length === 0 || !row ? <Empty>{labels.noHistory}</Empty> : (
        <>
          <p class="dim">{labels.covered(moment(history["since-unix-ms"]), moment(history["until-unix-ms"]), span(history["covered-ms"]), history.records)}</p>
          <h3>{row.name}: {row["points-unit"]}</h3>
          <Chart label={labels.chart(row["points-unit"], row.name)} at={moments(history, row.points.length)} unit={number} lines={[{ name: row["points-unit"], colour: "--line-1", values: row.points, fill: true }]} />
          <input type="search" placeholder={common.filter} aria-label={labels.historyFilter} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
          <Rows label={labels.historyTitle} head={labels.historyHead} rows={listed(history, filter).map((row) => [
            <button type="button" class="pick" onClick={() => setChosen(row.name)} title={labels.draw}><strong>{row.name}</strong></button>,
            <Spark values={row.points} label={labels.chart(row["points-unit"], row.name)} />,
            <span class="dim">{row["points-unit"]}</span>,
            Object.entries(row.rates).filter(([, rate]) => rate > 0).slice(0, 4).map(([name, rate]) => `${name} ${number(rate)}`).join(", "),
            row.worst[0] ? (
              <button type="button" class="pick" title={labels.goThere} onClick={() => { const worst = row.worst[0]!; change({ length: AROUND, until: Math.min(Date.now(), worst["at-unix-ms"] + AROUND / 2) }); }}>
                {labels.worst(row.worst[0].count, row.worst[0].kind, moment(row.worst[0]["at-unix-ms"]))}
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
      <button type="button" onClick={() => go(-length / 2)} aria-label={labels.earlier}>◀</button>
      <input type="range" min={-REACH} max={0} step={0.25} value={-Math.min(REACH, back)} aria-label={labels.position} onChange={(event) => {
        const at = Number(event.currentTarget.value);
        change({ length, until: at >= 0 ? null : Date.now() + at * length });
      }} />
      <button type="button" disabled={until === null} onClick={() => go(length / 2)} aria-label={labels.later}>▶</button>
      <button type="button" disabled={until === null} onClick={() => change({ length, until: null })}>{labels.now}</button>
      <select aria-label={labels.time} value={String(length)} onChange={(event) => change({ length: Number(event.currentTarget.value), until })}>
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
    <Panel title={labels.audit} wide aside={<button type="button" class="quiet" onClick={() => asking.run(read)}>{common.refresh}</button>}>
      <Wrong why={asking.wrong} />
      {audit && (records.length === 0 ? <Empty>{labels.noAudit}</Empty> : (
        <Rows label={labels.audit} head={labels.auditHead} rows={records.map((record) => [
          String(record.id), moment(record["at-unix-ms"]), `${record.action} ${record.target}`, labels.by(record.who, record.way), record.before, record.after,
          record.reversible ? <button type="button" disabled={!able || asking.busy} title={able ? "" : needs("configure")} onClick={() => undo(record.id)}>{labels.undo}</button> : "",
        ])} />
      ))}
    </Panel>
  );
}
