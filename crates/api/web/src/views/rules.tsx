// Rules with what they took, and which of them would take a request.
import { useState } from "preact/hooks";
import { order } from "../api";
import type { RequestExplained } from "../contract";
import { Empty, Panel, Rows, State, Wrong, useAsking } from "../parts/basics";
import { bytes, moment, number, percent } from "../format";
import { useKnown } from "../store";
import { common, rules as labels, views } from "../strings";

export function Rules() {
  const { scene } = useKnown();
  if (!scene) return null;
  const services = scene.report.services.filter((service) => (service.rules ?? []).length > 0);
  return (
    <>
      <h1 class="aside">{views.rules}</h1>
      <Try />
      {services.length === 0 && <Empty>{labels.empty}</Empty>}
      {services.map((service) => (
        <Panel title={labels.of(service.name)} wide>
          <Rows label={labels.of(service.name)} head={labels.head} rows={(service.rules ?? []).map((rule) => [
            String(rule.position), <strong>{rule.name}</strong>, rule.when, rule.action, number(rule.hits),
            rule["last-unix-ms"] ? moment(rule["last-unix-ms"]) : labels.never,
            number(rule["in-flight"]), number(rule["rate-limited"]), number(rule.skipped), bytes(rule.bytes),
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
    <Panel title={labels.tryTitle} wide>
      <form class="fields" onSubmit={(event) => { event.preventDefault(); send(); }}>
        <label>{labels.method} <input size={6} value={asked.method} onInput={put("method")} /></label>
        <label class="grow">{labels.url} <input required value={asked.url} onInput={put("url")} placeholder={labels.urlExample} /></label>
        <label>{labels.client} <input size={16} value={asked.from} onInput={put("from")} placeholder={labels.clientExample} /></label>
        <label>{common.service}
          <select value={asked.service} onChange={put("service")}>
            <option value="">{labels.withUrl}</option>
            {scene?.status.services.map((service) => <option value={service.name}>{service.name}</option>)}
          </select>
        </label>
        <label class="grow">{labels.headers} <textarea rows={2} value={asked.headers} onInput={put("headers")} placeholder={labels.headerExample} /></label>
        <button type="submit" class="main" disabled={asking.busy}>{labels.decide}</button>
      </form>
      <Wrong why={asking.wrong} />
      {told && <Told told={told} />}
    </Panel>
  );
}

function Told({ told }: { told: RequestExplained }) {
  return (
    <div class="told" role="status">
      <p>{common.service} <strong>{told.service}</strong>: {told.reason}</p>
      <ol class="passed">{told["unmatched-rules"].map((rule) => <li value={rule.position}><s>{rule.name}</s> {rule.reason}</li>)}</ol>
      {told["unmatched-unlisted"] > 0 && <p>{labels.more(told["unmatched-unlisted"])}</p>}
      {told.rule
        ? <p class="takes">{labels.rule(told.rule.position)} <strong>{told.rule.name}</strong> {labels.matches} {told.rule.when} → {told.rule.action}{told.rule.target ? labels.sends(told.rule.target) : ""}</p>
        : <p class="takes">{labels.noRule}</p>}
      {told["local-reply"] && <p>{told["local-reply"]}</p>}
      {told.pools.map((pool) => <p>{labels.pool} <a href={`#/pool/${encodeURIComponent(pool.name)}`}>{pool.name}</a>{labels.poolShare(percent(pool.percent), pool.balance)}</p>)}
      {told["sticky-server"] && <p>{told["sticky-server"]}</p>}
      {told.servers.length > 0 && (
        <Rows label={labels.servers} head={labels.serversHead} rows={told.servers.slice(0, 100).map((one) => [
          `${one.pool}/${one.name}`, <State is={one.state} />, one.available ? common.yes : common.no, one.reason,
        ])} />
      )}
    </div>
  );
}
