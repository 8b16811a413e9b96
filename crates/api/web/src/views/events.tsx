// What happened, who ordered what, and what was: events, the record of orders, the history on disk.
import { useEffect, useState } from "preact/hooks";
import { look, order } from "../api";
import type { Audit, History } from "../contract";
import { Empty, Panel, Rows, Wrong, may, needs, useAsking } from "../parts/basics";
import { Spark } from "../parts/chart";
import { moment, number, span } from "../format";
import { useKnown } from "../store";

const SPANS: [string, number][] = [["15 minutes", 900e3], ["1 hour", 3600e3], ["6 hours", 6 * 3600e3], ["1 day", 86400e3], ["7 days", 7 * 86400e3]];

export function Events() {
  const { events, lost } = useKnown();
  const [level, setLevel] = useState("info");
  const [filter, setFilter] = useState("");
  const levels = ["info", "warning", "error"];
  const shown = events.filter((event) =>
    levels.indexOf(event.level) >= levels.indexOf(level) && `${event.what} ${event.text}`.toLowerCase().includes(filter.toLowerCase())).slice(-200).reverse();
  return (
    <>
      <h1 class="aside">Events and history</h1>
      <Was />
      <Panel title="Events" wide aside={
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
      <Orders />
    </>
  );
}

function Was() {
  const [length, setLength] = useState(SPANS[1]![1]);
  const [history, setHistory] = useState<History | null>(null);
  const asking = useAsking();
  useEffect(() => {
    asking.run(async () => setHistory(await look<History>("/v1/history", { "since-unix-ms": Math.round(Date.now() - length) })));
  }, [length]);
  return (
    <Panel title="What was" wide aside={
      <select aria-label="Time" value={String(length)} onChange={(event) => setLength(Number(event.currentTarget.value))}>
        {SPANS.map(([name, ms]) => <option value={String(ms)}>last {name}</option>)}
      </select>
    }>
      <Wrong why={asking.wrong} />
      {history && (history.rows.length === 0 ? <Empty>Nothing is kept of that time yet: a record is made each history.step (a minute unless set).</Empty> : (
        <>
          <p class="dim">{span(history["covered-ms"])} of it are known, from {history.records} records.</p>
          <Rows label="History" head={["What", "Over the time", "", "Rates a second", "Worst"]} rows={history.rows.map((row) => [
            <strong>{row.name}</strong>,
            <Spark values={row.line} label={`${row["line-of"]} of ${row.name}`} />,
            <span class="dim">{row["line-of"]}</span>,
            Object.entries(row.rates).filter(([, rate]) => rate > 0).slice(0, 4).map(([name, rate]) => `${name} ${number(rate)}`).join(", "),
            row.worst[0] ? `${row.worst[0].count} ${row.worst[0].what} at ${moment(row.worst[0]["at-unix-ms"])}` : "",
          ])} />
        </>
      ))}
    </Panel>
  );
}

function Orders() {
  const [audit, setAudit] = useState<Audit | null>(null);
  const asking = useAsking();
  const read = async () => setAudit(await look<Audit>("/v1/audit"));
  useEffect(() => asking.run(read), []);
  const able = may("configure");
  const undo = (id: number) => asking.run(async () => { await order(`/v1/undo?id=${id}`); await read(); });
  const records = (audit?.records ?? []).slice(-100).reverse();
  return (
    <Panel title="Who ordered what" wide aside={<button type="button" class="quiet" onClick={() => asking.run(read)}>Read again</button>}>
      <Wrong why={asking.wrong} />
      {audit && (records.length === 0 ? <Empty>Nobody has ordered anything.</Empty> : (
        <Rows label="Orders" head={["#Record", "When", "What", "Who", "Before", "After", ""]} rows={records.map((record) => [
          String(record.id), moment(record["at-unix-ms"]), `${record.action} ${record.target}`, `${record.who} by ${record.way}`, record.before, record.after,
          record.reversible ? <button type="button" disabled={!able || asking.busy} title={able ? "" : needs("configure")} onClick={() => undo(record.id)}>Undo</button> : "",
        ])} />
      ))}
    </Panel>
  );
}
