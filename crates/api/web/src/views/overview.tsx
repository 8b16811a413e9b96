// What is wrong, since when, and why: standing alarms first, then rates.
import { Empty, Figure, Panel, Since, State } from "../parts/basics";
import { Alarms, ErrorFigure, Share } from "../parts/errors";
import type { Scene, StandingAlarm } from "../contract";
import { Chart } from "../parts/chart";
import { bytes, micros, millis, moment, number } from "../format";
import { ALL, phase, useKnown } from "../store";

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
      <h1 class="aside">Overview</h1>
      <div class={`verdict ${verdict}`} role="status">
        {standing === 0
          ? <><strong>No alarms.</strong> {notices > 0 && `${count(notices, "notice")}. `}{count(status.services.length, "service")}, {count(status.pools.reduce((sum, pool) => sum + pool.servers.length, 0), "server")}.</>
          : <><strong>{count(standing, "alarm")}.</strong>{notices > 0 && ` ${count(notices, "notice")}.`}</>}
      </div>
      {standing + notices > 0 && <Troubles alarms={alarms} more={more} warnings={status.warnings} />}
      <div class="figures">
        <Figure name="Requests" value={`${number(total.requests.requests.rate)}/s`} note={`${number(total.requests["in-flight"])} in flight`} />
        <ErrorFigure of={total.errors} />
        <Figure name="p99" value={micros(phase(total, "total", "p99-us"))} note={`p50: ${micros(phase(total, "total", "p50-us"))}`} />
        <Figure name="Client connections" value={number(total.connections.open)} note={`${number(total.connections.accepted.rate)} new per second`} />
        <Figure name="Sent to clients" value={`${bytes(total.bytes.sent.rate)}/s`} note={`received ${bytes(total.bytes.received.rate)}/s`} />
        <Figure name="Descriptors" value={number(files["in-use"])} note={`of ${number(files.limit)}`} bad={files["in-use"] > 0.8 * files.limit} />
      </div>
      <div class="columns">
        <Panel title="Requests per second">
          {line && <Chart label="Requests per second over the last minutes" at={line.at} unit={number} lines={[
            { name: "requests", colour: "--line-1", values: line.requests, fill: true },
            { name: "errors", colour: "--line-bad", values: line.failed },
          ]} />}
        </Panel>
        <Panel title="Time from the request's first byte to the answer's last">
          {line && <Chart label="Times over the last minutes" at={line.at} unit={millis} lines={[
            { name: "p50", colour: "--line-2", values: line.p50 },
            { name: "p99", colour: "--line-3", values: line.p99 },
          ]} />}
        </Panel>
        <ServiceTable scene={scene} />
        <Panel title="Latest warnings and errors" aside={<a href="#/events">all events</a>}>
          {grave.length === 0 ? <Empty>None since the daemon started.</Empty> : (
            <ul class="log">{grave.map((event) => <li class={event.level}><time>{moment(event["at-unix-ms"])}</time> {event.text}</li>)}</ul>
          )}
        </Panel>
      </div>
    </>
  );
}

function ServiceTable({ scene }: { scene: Scene }) {
  const { status, report } = scene;
  return (
    <Panel title="Services">
      <table>
        <thead><tr><th scope="col">Service</th><th scope="col">State</th><th scope="col">For</th><th scope="col" class="right">Requests/s</th><th scope="col" class="right">Errors/s</th><th scope="col" class="right">Errors</th><th scope="col" class="right">p99</th></tr></thead>
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
    <Panel title="Alarms" wide>
      <ul class="troubles">
        <Alarms alarms={alarms.slice(0, SHOWN)} />
        {rest > 0 && <li>and {rest} more</li>}
        {warnings.map((text) => <li><State is="warning" /> {text}</li>)}
      </ul>
    </Panel>
  );
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
