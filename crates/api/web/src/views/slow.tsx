// Whose time the slowest exchanges took, why, and what to change.
import { useEffect, useState } from "preact/hooks";
import { look } from "../api";
import type { FailureTarget, SlowExplained, SlowFailure, SlowGroup, SlowService } from "../contract";
import { Bar, Empty, Panel, Rows, Wrong, useAsking } from "../parts/basics";
import { millis, moment, number, percent } from "../format";
import { useKnown } from "../store";
import { common, slow as labels, views } from "../strings";
import { Watched } from "./watched";

export function Slow() {
  const { scene } = useKnown();
  const [asked, setAsked] = useState({ service: "", share: "1", since: "300000" });
  const [told, setTold] = useState<SlowExplained | null>(null);
  const asking = useAsking();
  const ask = () =>
    asking.run(async () => setTold(await look<SlowExplained>("/v1/explain/slow", {
      service: asked.service, "share-percent": asked.share, "since-ms": asked.since,
    })));
  useEffect(ask, [asked]);
  const put = (key: keyof typeof asked) => (event: { currentTarget: { value: string } }) => setAsked({ ...asked, [key]: event.currentTarget.value });
  return (
    <>
      <h1 class="aside">{views.slow}</h1>
      <Panel title={labels.title} wide>
        <form class="fields" onSubmit={(event) => { event.preventDefault(); ask(); }}>
          <label>{common.service}
            <select value={asked.service} onChange={put("service")}>
              <option value="">{common.all}</option>
              {scene?.status.services.map((service) => <option value={service.name}>{service.name}</option>)}
            </select>
          </label>
          <label>{labels.share}
            <select value={asked.share} onChange={put("share")}>{["0.1", "1", "5", "10", "100"].map((share) => <option value={share}>{share} %</option>)}</select>
          </label>
          <label>{labels.duration}
            <select value={asked.since} onChange={put("since")}>
              <option value="60000">{labels.durations.minute}</option><option value="300000">{labels.durations.five}</option><option value="900000">{labels.durations.quarter}</option>
            </select>
          </label>
          <button type="submit" class="main" disabled={asking.busy}>{common.refresh}</button>
        </form>
        <Wrong why={asking.wrong} />
        {told && told.services.length === 0 && !told.packets?.length && <Empty>{labels.empty}</Empty>}
        {told && (told.sample === null || told.sample === undefined) && <p class="hint">{labels.off}</p>}
      </Panel>
      {told?.services.map((service) => <One service={service} />)}
      {told?.packets?.map((service) => <Watched service={service} />)}
    </>
  );
}

function One({ service }: { service: SlowService }) {
  return (
    <Panel title={service.name} wide>
      <Failures failures={service.failures ?? []} name={service.name} />
      <p>{labels.summary(number(service.slowest), number(service.exchanges), millis(service["min-ms"]), service.seconds.toFixed(2), number(service.sampled ?? service.measured))}</p>
      <div class="owners" role="img" aria-label={service.owners.map((one) => `${one.owner} ${percent(one["share-percent"])}`).join(", ")}>
        {service.owners.filter((one) => one["share-percent"] > 0).map((one) => (
          <span class={`owner ${one.owner}`} style={{ flexGrow: one["share-percent"] }} title={labels.seconds(one.owner, one.seconds.toFixed(2))}>{one["share-percent"] >= 8 ? `${one.owner} ${percent(one["share-percent"])}` : ""}</span>
        ))}
      </div>
      <Rows label={labels.reasonsOf(service.name)} head={labels.reasonHead} rows={service.reasons.map((one) => [
        one.owner, <><span class="mono">{one.limit}</span> {one.title}</>, percent(one["share-percent"]), <Bar share={one["share-percent"]} kind={one.owner} />, one.advice,
      ])} />
      <div class="columns">
        <Groups title={labels.servers} groups={service.servers} />
        <Groups title={labels.clients} groups={service.networks} />
      </div>
      <h3>{labels.examples}</h3>
      <Rows label={labels.examplesOf(service.name)} head={labels.examplesHead} rows={service.examples.slice(0, 10).map((one) => [
        moment(one["ended-unix-ms"]), <span class="mono">{one.client}</span>, one.server ?? "–", one.status ? String(one.status) : one.cause ?? "–", millis(one["total-ms"]),
        Object.entries(one["parts-ms"]).sort((a, b) => b[1] - a[1]).slice(0, 3).map(([part, ms]) => `${part} ${millis(ms)}`).join(", "),
      ])} />
    </Panel>
  );
}

// What failed stands above what was only slow.
function Failures({ failures, name }: { failures: SlowFailure[]; name: string }) {
  if (failures.length === 0) return null;
  const list = (targets: FailureTarget[]) => targets.map((one) => `${one.name} ${number(one.count)}`).join(", ") || "–";
  return (
    <>
      <h3>{labels.failed}</h3>
      <Rows label={labels.failedOf(name)} head={labels.failedHead} rows={failures.map((one) => [
        <>{one.title} <span class="mono">{one.code ?? one.cause}</span></>, one.owner, number(one.count), percent(one["share-percent"]),
        moment(one["first-unix-ms"]), moment(one["last-unix-ms"]), list(one.servers), list(one.networks), one.check,
      ])} />
    </>
  );
}

function Groups({ title, groups }: { title: string; groups: SlowGroup[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <Rows label={title} head={labels.groupHead} rows={groups.map((one) => [one.name, number(one.exchanges), one.seconds.toFixed(2), `${one.owner} ${one.limit}`])} />
    </div>
  );
}
