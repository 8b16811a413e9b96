// The configuration's text: check it, see what it would change, activate it, go back.
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused, look, order, submit, written } from "../api";
import type { Applied, ConfigFinding, Generations, KeyChange, PlanChange } from "../contract";
import { Empty, Panel, Rows, Wrong, may, needs, useAsking } from "../parts/basics";
import { Editor } from "../parts/editor";
import { moment } from "../format";
import { useKnown } from "../store";
import { common, configuration as labels, views } from "../strings";

/** The text is looked at when nobody has typed for so long, milliseconds. */
const PAUSE = 500;

export function Configuration() {
  const { scene, me } = useKnown();
  const able = may("configure");
  const [text, setText] = useState("");
  const [base, setBase] = useState({ text: "", generation: 0 });
  const [plan, setPlan] = useState<PlanChange | null>(null);
  const [findings, setFindings] = useState<ConfigFinding[]>([]);
  const [done, setDone] = useState<Applied | null>(null);
  const asking = useAsking();
  const editor = useRef<HTMLTextAreaElement>(null);
  const generation = scene?.status.generation ?? 0;

  const load = () =>
    asking.run(async () => {
      const now = await written();
      setBase(now);
      setText(now.text);
      setDone(null);
    });
  useEffect(() => { if (able) load(); }, [able, me?.who]);
  useEffect(() => {
    setPlan(null);
    setFindings([]);
    if (!able || text === base.text) return;
    const timer = setTimeout(() => asking.run(() => planned(text, setPlan, setFindings)), PAUSE);
    return () => clearTimeout(timer);
  }, [text, base]);
  const apply = () =>
    asking.run(async () => {
      const applied = await submit<Applied>("/v1/apply", text, { "if-generation": base.generation });
      setBase({ text, generation: applied.generation });
      setDone(applied);
    });
  const show = (finding: ConfigFinding) => {
    const lines = text.split("\n").slice(0, Math.max(0, finding.line - 1));
    const at = lines.reduce((sum, line) => sum + line.length + 1, 0) + Math.max(0, finding.column - 1);
    editor.current?.focus();
    editor.current?.setSelectionRange(at, at + finding.width);
  };
  const moved = base.generation !== 0 && generation !== base.generation;
  return (
    <>
      <h1 class="aside">{views.configuration}</h1>
      {!able ? <p class="hint">{needs("configure")} {labels.editing}</p> : (
        <Panel title={labels.title(base.generation)} wide aside={<button type="button" class="quiet" onClick={load} disabled={asking.busy}>{common.refresh}</button>}>
          {moved && <p class="hint">{labels.moved(generation)}</p>}
          <Editor text={text} change={setText} editor={editor} />
          <p class="buttons">
            <button type="button" class="main" disabled={asking.busy || !plan?.changed || moved} onClick={apply}>{labels.apply}</button>
            <button type="button" disabled={text === base.text} onClick={() => setText(base.text)}>{labels.discard}</button>
            <span class="dim" role="status">{said(text === base.text, plan, findings, asking.busy)}</span>
          </p>
          <Wrong why={asking.wrong} />
          {findings.length > 0 && (
            <ul class="findings">{findings.map((finding) => (
              <li class={String(finding.severity).toLowerCase()}>
                <button type="button" class="quiet" onClick={() => show(finding)}>{labels.line(finding.line)}</button> <span class="mono">{finding.key}</span>: {finding.message}
                {finding.expected ? labels.expected(finding.expected) : ""}{finding.suggestion ? labels.suggestion(finding.suggestion) : ""}
              </li>
            ))}</ul>
          )}
          {plan && <Plan plan={plan} />}
          {done && <div class="told" role="status"><p><strong>{labels.applied(done.generation)}{done.confirmed ? "" : labels.applying}.</strong></p><Sentences of={[...done.effects, ...done["needs-restart"].map((one) => labels.next(one))]} /></div>}
        </Panel>
      )}
      <Kept able={able} generation={generation} after={load} />
    </>
  );
}

async function planned(text: string, setPlan: (plan: PlanChange) => void, setFindings: (findings: ConfigFinding[]) => void): Promise<void> {
  try {
    const plan = await submit<PlanChange>("/v1/plan", text, {});
    setPlan(plan);
    setFindings(plan.warnings);
  } catch (error) {
    if (!(error instanceof Refused) || error.problem.status !== 422) throw error;
    setFindings(error.problem.findings ?? []);
  }
}

function said(same: boolean, plan: PlanChange | null, findings: ConfigFinding[], busy: boolean): string {
  if (same) return labels.same;
  if (plan) return plan.changed ? labels.would : labels.nothing;
  if (findings.length > 0) return labels.findings(findings.length);
  return busy ? labels.working : "";
}

function Plan({ plan }: { plan: PlanChange }) {
  const keys = (keys: KeyChange[]) => keys.map((one) => one.key).join(", ");
  const lines = [
    ...plan.global.map((one) => labels.global(one.key)),
    ...named(labels.service, plan.services.added, plan.services.removed),
    ...plan.services.changed.map((one) => labels.object(labels.service, one.name, keys(one.keys))),
    ...named(labels.pool, plan.pools.added, plan.pools.removed),
    ...plan.pools.changed.flatMap((one) => [
      ...(one.keys.length ? [labels.object(labels.pool, one.name, keys(one.keys))] : []),
      ...named(`${one.name}:`, one.servers.added, one.servers.removed),
      ...one.servers.changed.map((server) => `${one.name}/${server.name}: ${keys(server.keys)}`),
    ]),
    ...(plan.parts ?? []).map((one) => `${one.name}: ${keys(one.keys)}`),
    ...Object.entries(plan.objects ?? {}).flatMap(([kind, some]) => [
      ...named(kind, some.added, some.removed), ...some.changed.map((one) => labels.object(kind, one.name, keys(one.keys))),
    ]),
    ...plan.effects,
    ...plan["needs-restart"].map((one) => labels.next(one)),
  ];
  return lines.length ? <Sentences of={lines} /> : null;
}

function named(what: string, added: string[], removed: string[]): string[] {
  return [...added.map((name) => labels.added(what, name)), ...removed.map((name) => labels.removed(what, name))];
}

function Sentences({ of }: { of: string[] }) {
  return <ul class="effects">{of.slice(0, 200).map((one) => <li>{one}</li>)}</ul>;
}

function Kept({ able, generation, after }: { able: boolean; generation: number; after: () => void }) {
  const [kept, setKept] = useState<Generations | null>(null);
  const asking = useAsking();
  useEffect(() => asking.run(async () => setKept(await look<Generations>("/v1/generations"))), [generation]);
  const back = (to: number) =>
    asking.run(async () => {
      await order(`/v1/rollback?generation=${to}`);
      after();
    });
  return (
    <Panel title={labels.generations} wide>
      <Wrong why={asking.wrong} />
      {kept && (kept.generations.length === 0 ? <Empty>{labels.noGenerations}</Empty> : (
        <Rows label={labels.generations} head={labels.head} rows={kept.generations.map((one) => [
          String(one.generation), moment(one["at-unix-ms"]), one.who, <span class="mono">{one.from}</span>,
          one.current ? labels.active : <button type="button" disabled={!able || asking.busy} title={able ? "" : needs("configure")} onClick={() => back(one.generation)}>{labels.restore}</button>,
        ])} />
      ))}
    </Panel>
  );
}
