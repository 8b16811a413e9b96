// Rules with what they took, and which of them would take a request.
import { useState } from "preact/hooks";
import { order } from "../api";
import type { RequestExplained } from "../contract";
import { Empty, Panel, Rows, State, Wrong, useAsking } from "../parts/basics";
import { bytes, moment, number, percent } from "../format";
import { useKnown } from "../store";

export function Rules() {
  const { scene } = useKnown();
  if (!scene) return null;
  const services = scene.report.services.filter((service) => (service.rules ?? []).length > 0);
  return (
    <>
      <h1 class="aside">Rules</h1>
      <Try />
      {services.length === 0 && <Empty>No service has rules: each request goes to its service's pool.</Empty>}
      {services.map((service) => (
        <Panel title={`Rules of ${service.name}`} wide>
          <Rows label={`Rules of ${service.name}`} head={["#", "Rule", "When", "Does", "#Hits", "Last", "#Under way", "#Limited", "#Passed over", "#Bytes"]} rows={(service.rules ?? []).map((rule) => [
            String(rule.place), <strong>{rule.name}</strong>, rule.when, rule.does, number(rule.hits),
            rule["last-unix-ms"] ? moment(rule["last-unix-ms"]) : "never",
            number(rule["in-flight"]), number(rule.limited), number(rule["passed-over"]), bytes(rule.bytes),
          ])} />
        </Panel>
      ))}
    </>
  );
}

function Try() {
  const { scene } = useKnown();
  const [asked, setAsked] = useState({ method: "GET", url: "/", from: "", service: "", headers: "" });
  const [told, setTold] = useState<RequestExplained | null>(null);
  const asking = useAsking();
  const put = (key: keyof typeof asked) => (event: { currentTarget: { value: string } }) => setAsked({ ...asked, [key]: event.currentTarget.value });
  const send = () =>
    asking.run(async () => {
      setTold(null);
      const { method, url, from, service, headers } = asked;
      setTold(await order<RequestExplained>("/v1/explain/request", {
        method, url, from: from || null, service: service || null,
        headers: headers.split("\n").map((line) => line.trim()).filter(Boolean),
      }));
    });
  return (
    <Panel title="Try a request" wide>
      <form class="fields" onSubmit={(event) => { event.preventDefault(); send(); }}>
        <label>Method <input size={6} value={asked.method} onInput={put("method")} /></label>
        <label class="grow">URL or path <input required value={asked.url} onInput={put("url")} placeholder="http://shop.example/cart" /></label>
        <label>Client <input size={16} value={asked.from} onInput={put("from")} placeholder="192.0.2.1" /></label>
        <label>Service
          <select value={asked.service} onChange={put("service")}>
            <option value="">by the URL</option>
            {scene?.status.services.map((service) => <option value={service.name}>{service.name}</option>)}
          </select>
        </label>
        <label class="grow">Fields, one a line <textarea rows={2} value={asked.headers} onInput={put("headers")} placeholder="cookie: group=b" /></label>
        <button type="submit" class="main" disabled={asking.busy}>Who takes it?</button>
      </form>
      <Wrong why={asking.wrong} />
      {told && <Told told={told} />}
    </Panel>
  );
}

function Told({ told }: { told: RequestExplained }) {
  return (
    <div class="told" role="status">
      <p>Service <strong>{told.service}</strong>: {told.because}</p>
      <ol class="passed">{told.passed.map((rule) => <li value={rule.place}><s>{rule.name}</s> {rule.because}</li>)}</ol>
      {told["passed-unlisted"] > 0 && <p>and {told["passed-unlisted"]} more that do not take it</p>}
      {told.rule
        ? <p class="takes">Rule {told.rule.place} <strong>{told.rule.name}</strong> takes it: {told.rule.when} → {told.rule.does}{told.rule.target ? `; the server gets ${told.rule.target}` : ""}</p>
        : <p class="takes">No rule takes it, so the service's pool does.</p>}
      {told.ends && <p>{told.ends}</p>}
      {told.pools.map((pool) => <p>Pool <a href={`#/pool/${encodeURIComponent(pool.name)}`}>{pool.name}</a> gets {percent(pool.percent)}, chooses by {pool.balance}.</p>)}
      {told.kept && <p>{told.kept}</p>}
      {told.servers.length > 0 && (
        <Rows label="Servers" head={["Server", "State", "May get it", "Because"]} rows={told.servers.slice(0, 100).map((one) => [
          `${one.pool}/${one.name}`, <State is={one.state} />, one.may ? "yes" : "no", one.because,
        ])} />
      )}
    </div>
  );
}
