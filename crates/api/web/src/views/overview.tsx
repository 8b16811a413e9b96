// What is wrong, since when, and why: standing alarms first, then rates.
import { Empty, Figure, Panel, Since, State } from "../parts/basics";
import { Alarms, ErrorFigure, Share } from "../parts/errors";
import type { StateUpdate, StandingAlarm } from "../contract";
import { Chart } from "../parts/chart";
import { bytes, micros, millis, moment, number } from "../format";
import { ALL, phase, useKnown } from "../store";
import { common, overview as labels, views } from "../strings";

/** Alarms that are drawn; the rest are counted. */
const SHOWN = 50;

export function Overview() {
  const { scene, events, lines } = useKnown();
  if (!scene) return null;
  const { status, report } = scene;
  const alarms = status.alarms ?? [];
  const more = status["more-alarms"] ?? 0;
  const total = report.total;
  const line = lines.get(ALL);
  const files = report.process.descriptors;
  const grave = events.filter((event) => event.level !== "info").slice(-8).reverse();
  const grave_alarms = alarms.filter((alarm) => alarm.severity !== "notice");
  const notices = alarms.length - grave_alarms.length;
  const standing = grave_alarms.length + more + status.warnings.length;
  const verdict = standing === 0 ? "well" : grave_alarms.some((alarm) => alarm.severity === "error") ? "bad" : "ill";
  return (
    <>
      <h1 class="aside">{views.overview}</h1>
      <div class={`verdict ${verdict}`} role="status">
        {standing === 0
          ? <><strong>{labels.quiet}</strong>{notices > 0 && labels.notices(notices)}{labels.size(status.services.length, status.pools.reduce((sum, pool) => sum + pool.servers.length, 0))}</>
          : <><strong>{labels.alarms(standing)}</strong>{notices > 0 && labels.notices(notices)}</>}
      </div>
      {standing + notices > 0 && <Troubles alarms={alarms} more={more} warnings={status.warnings} />}
      <div class="figures">
        <Figure name={labels.requests} value={common.per(number(total.requests.requests.rate))} note={labels.inFlight(number(total.requests["in-flight"]))} />
        <ErrorFigure of={total.errors} />
        <Figure name={common.p99} value={micros(phase(total, "total", "p99-us"))} note={labels.p50(micros(phase(total, "total", "p50-us")))} />
        <Figure name={labels.connections} value={number(total.connections.open)} note={labels.fresh(number(total.connections.accepted.rate))} />
        <Figure name={labels.sent} value={common.per(bytes(total.bytes.sent.rate))} note={common.received(bytes(total.bytes.received.rate))} />
        <Figure name={labels.descriptors} value={number(files["in-use"])} note={labels.limit(number(files.limit))} bad={files["in-use"] > 0.8 * files.limit} />
      </div>
      <div class="columns">
        <Panel title={labels.rate}>
          {line && <Chart label={labels.rateChart} at={line.at} unit={number} lines={[
            { name: common.requests, colour: "--line-1", values: line.requests, fill: true },
            { name: common.errors, colour: "--line-bad", values: line.failed },
          ]} />}
        </Panel>
        <Panel title={labels.latency}>
          {line && <Chart label={labels.latencyChart} at={line.at} unit={millis} lines={[
            { name: common.p50, colour: "--line-2", values: line.p50 },
            { name: common.p99, colour: "--line-3", values: line.p99 },
          ]} />}
        </Panel>
        <ServiceTable scene={scene} />
        <Panel title={labels.bad} aside={<a href="#/events">{labels.allEvents}</a>}>
          {grave.length === 0 ? <Empty>{labels.none}</Empty> : (
            <ul class="log">{grave.map((event) => <li class={event.level}><time>{moment(event["at-unix-ms"])}</time> {event.text}</li>)}</ul>
          )}
        </Panel>
      </div>
    </>
  );
}

function ServiceTable({ scene }: { scene: StateUpdate }) {
  const { status, report } = scene;
  return (
    <Panel title={views.services}>
      <table>
        <thead><tr>{labels.head.map((name) => <th scope="col" class={name.startsWith("#") ? "right" : ""}>{name.replace("#", "")}</th>)}</tr></thead>
        <tbody>
          {status.services.map((service) => {
            const counts = report.services.find((one) => one.name === service.name);
            return (
              <tr>
                <td><a href={`#/service/${encodeURIComponent(service.name)}`}>{service.name}</a></td>
                <td><State is={service.state} /></td>
                <td><Since at={service["since-unix-ms"]} /></td>
                <td class="right">{counts ? number(counts.requests.requests.rate) : "–"}</td>
                <td class="right">{counts ? number(counts.errors?.errors.rate ?? 0) : "–"}</td>
                <td class="right"><Share of={counts?.errors} /></td>
                <td class="right">{counts ? micros(phase(counts, "total", "p99-us")) : "–"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Panel>
  );
}

function Troubles({ alarms, more, warnings }: { alarms: StandingAlarm[]; more: number; warnings: string[] }) {
  const rest = Math.max(0, alarms.length - SHOWN) + more;
  return (
    <Panel title={labels.alarmsTitle} wide>
      <ul class="troubles">
        <Alarms alarms={alarms.slice(0, SHOWN)} />
        {rest > 0 && <li>{labels.more(rest)}</li>}
        {warnings.map((text) => <li><State is="warning" /> {text}</li>)}
      </ul>
    </Panel>
  );
}
