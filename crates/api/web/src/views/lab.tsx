// Results of benchmarks side by side, as their files say; what is proven to differ is `steelyard compare`'s to say.
import { useState } from "preact/hooks";
import { Empty, Panel, Rows, Wrong } from "../parts/basics";
import { Drop } from "../parts/drop";
import { moment, number } from "../format";
import { Explained, explanation } from "../api";
import { lab as labels, views } from "../strings";

interface Metric { name: string; unit: string; value: number }
interface Run { test: string; complete: boolean; metrics: Metric[] }
interface Result { kind: string; complete: boolean; provenance: { steelyard: string; "began-unix-ms"?: number; began_unix_ms?: number; host: string; kernel: string; processors: string }; runs: Run[] }
interface Row { test: string; metric: string; unit: string; baseline: number; result: number; difference_percent: number | null; status: string }
interface Comparison { rows: Row[]; warnings: string[] }
interface Loaded { name: string; result: Result }

/** Files of results at a time. */
const MOST = 8;

export function Lab() {
  const [results, setResults] = useState<Loaded[]>([]);
  const [verdict, setVerdict] = useState<{ name: string; of: Comparison } | null>(null);
  const [wrong, setWrong] = useState("");
  const take = (files: File[]) => {
    setWrong("");
    for (const file of files) {
      file.text().then((text) => {
        const read = parsed(file.name, text);
        if (isResult(read)) setResults((old) => [...old.filter((one) => one.name !== file.name), { name: file.name, result: read }].slice(-MOST));
        else if (isComparison(read)) setVerdict({ name: file.name, of: read });
        else throw new Explained(labels.notResult(file.name));
      }).catch((error: unknown) => setWrong(explanation(error)));
    }
  };
  return (
    <>
      <h1 class="aside">{views.lab}</h1>
      <Panel title={labels.title} wide aside={results.length > 0 ? <button type="button" class="quiet" onClick={() => { setResults([]); setVerdict(null); }}>{labels.clear}</button> : undefined}>
        <Drop label={labels.drop} hint={labels.dropHint} able many take={take} />
        <Wrong why={wrong} />
        {results.length === 0 ? <Empty>{labels.empty}</Empty> : <Beside of={results} />}
      </Panel>
      {verdict && <Verdict name={verdict.name} of={verdict.of} />}
    </>
  );
}

function Beside({ of }: { of: Loaded[] }) {
  const keys = new Map<string, { test: string; metric: string; unit: string }>();
  for (const { result } of of) {
    for (const run of result.runs) for (const one of run.metrics) keys.set(`${run.test}\n${one.name}`, { test: run.test, metric: one.name, unit: one.unit });
  }
  const made = (of: Result) => moment(of.provenance["began-unix-ms"] ?? of.provenance.began_unix_ms ?? 0);
  return (
    <Rows label={labels.results} head={[...labels.head, ...of.map((one) => `#${one.name}`)]} rows={[
      ["", labels.rows.when, ...of.map((one) => made(one.result))],
      ["", labels.rows.version, ...of.map((one) => labels.madeBy(one.result.provenance.steelyard, one.result.kind, one.result.complete ? "" : labels.incomplete))],
      ["", labels.rows.host, ...of.map((one) => `${one.result.provenance.host}, ${one.result.provenance.kernel}, ${one.result.provenance.processors}`)],
      ...[...keys.values()].map((key) => [key.test, `${key.metric}${key.unit ? `, ${key.unit}` : ""}`, ...of.map((one) => figure(one.result, key))]),
    ]} />
  );
}

/** The middle of all complete runs, and the least and the most. */
function figure(of: Result, key: { test: string; metric: string }) {
  const values = of.runs.filter((run) => run.complete && run.test === key.test)
    .flatMap((run) => run.metrics.filter((one) => one.name === key.metric).map((one) => one.value)).sort((a, b) => a - b);
  const [least, most] = [values[0], values[values.length - 1]];
  if (least === undefined || most === undefined) return "–";
  const half = values.length / 2;
  const middle = values.length % 2 ? values[Math.floor(half)]! : (values[half - 1]! + values[half]!) / 2;
  return <><strong>{number(middle)}</strong> {values.length > 1 && <span class="dim">{labels.range(number(least), number(most), values.length)}</span>}</>;
}

function Verdict({ name, of }: { name: string; of: Comparison }) {
  return (
    <Panel title={labels.compared(name)} wide>
      {of.warnings.map((text) => <p class="hint">{text}</p>)}
      <Rows label={labels.comparison} head={labels.comparisonHead} rows={of.rows.map((row) => [
        row.test, `${row.metric}, ${row.unit}`, number(row.baseline), number(row.result),
        row.difference_percent === null ? "–" : `${row.difference_percent.toFixed(1)} %`, <span class={row.status === "worse" ? "bad" : ""}>{row.status}</span>,
      ])} />
    </Panel>
  );
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Explained(labels.notJson(name));
  }
}

function isResult(read: unknown): read is Result {
  const one = read as Partial<Result> | null;
  return Array.isArray(one?.runs) && typeof one.provenance === "object" && one.runs.every((run) => Array.isArray(run.metrics));
}

function isComparison(read: unknown): read is Comparison {
  const one = read as Partial<Comparison> | null;
  return Array.isArray(one?.rows) && Array.isArray(one.warnings);
}
