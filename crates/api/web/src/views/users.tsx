// What users met, and what is left of what they were promised.
import { useEffect, useState } from "preact/hooks";
import { look } from "../api";
import type { BurnAlarm, OperationCounts, SloExplained, ObjectiveStatus, ServiceObjectives } from "../contract";
import { Bar, Empty, Panel, Rows, Since, State, Wrong, useAsking } from "../parts/basics";
import { number, span } from "../format";
import { common, users as labels, views } from "../strings";

/** Between two looks, milliseconds: budgets move slowly. */
const EVERY = 10_000;

export function Users() {
  const [told, setTold] = useState<SloExplained | null>(null);
  const asking = useAsking();
  useEffect(() => {
    const ask = () => asking.run(async () => setTold(await look<SloExplained>("/v1/explain/users")));
    ask();
    const timer = setInterval(ask, EVERY);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <h1 class="aside">{views.users}</h1>
      <Wrong why={asking.wrong} />
      {told?.services.length === 0 && <Panel title={labels.title} wide><Empty>{labels.none}</Empty></Panel>}
      {told?.services.map((service) => <One key={service.name} service={service} />)}
    </>
  );
}

function One({ service }: { service: ServiceObjectives }) {
  const fast = service["latency-ms"];
  const networks = service.networks.map((one): [string, OperationCounts] => [one.network, one]);
  const others = service.others;
  if (all(others) > 0) networks.push([labels.others(service["max-networks"]), others]);
  return (
    <Panel title={service.name} wide>
      <h3>{labels.title}</h3>
      <Rows label={labels.slosOf(service.name)} head={labels.sloHead} rows={service.objectives.map((one) => [
        labels.over(exact(one["target-percent"]), one.kind, one.kind === "latency" && fast ? labels.fast(fast) : "", span(one["window-ms"])),
        exact(one["good-percent"]), number(one.operations), number(one.bad), exact(one["budget-remaining-percent"]), <Bar share={one["budget-remaining-percent"]} kind={one["budget-remaining-percent"] <= 0 ? "server" : ""} />,
        burns(one), one.alarms.filter((alarm) => alarm["since-unix-ms"]).map((alarm) => <Raised alarm={alarm} />),
      ])} />
      <h3>{labels.hour}</h3>
      <Rows label={labels.hourOf(service.name)} head={labels.head} rows={[cells(common.all, service.hour)]} />
      <div class="columns">
        <div>
          <h3>{labels.causes}</h3>
          {service.causes.length === 0 ? <Empty>{labels.noCauses}</Empty> : <Rows label={labels.causesOf(service.name)} head={labels.causesHead} rows={service.causes.map((one) => [<span class="mono">{one.cause}</span>, number(one.count)])} />}
        </div>
        <div>
          <h3>{labels.networks}</h3>
          <Rows label={labels.networksOf(service.name)} head={labels.head} rows={networks.map(([name, counts]) => cells(name, counts))} />
        </div>
      </div>
    </Panel>
  );
}

function cells(name: string, of: OperationCounts) {
  const errors = Object.entries(of["tcp-errors"]).map(([kind, count]) => `${kind} ${number(count)}`).join(", ");
  return [
    <span class="mono">{name}</span>, number(of.fast), number(of.slow), number(of.failed), number(of.aborted), number(of.declined),
    exact(of["availability-percent"]), exact(of["fast-percent"]), errors || "–",
  ];
}

function all(of: OperationCounts): number {
  return of.fast + of.slow + of.failed + of.aborted + of.declined;
}

/** Nines are what counts here: they are not rounded away. */
function exact(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : `${Number(value.toFixed(3))} %`;
}

function burns(objective: ObjectiveStatus): string {
  const spans = objective.alarms.flatMap((alarm) => [alarm.short, alarm.long]).sort((a, b) => a["span-ms"] - b["span-ms"]);
  return spans.filter((one) => typeof one["burn-rate"] === "number").map((one) => `${span(one["span-ms"])}: ${number(one["burn-rate"] ?? 0)}`).join(", ") || "–";
}

function Raised({ alarm }: { alarm: BurnAlarm }) {
  return <p><State is="error" /> {alarm.name} {labels.raised} <Since at={alarm["since-unix-ms"] ?? 0} />: {alarm.reason}</p>;
}
