// Is everything well? If not: what, since when, and why.
import { Empty, Figure, Panel, Since, State } from "../parts/basics";
import { Chart } from "../parts/chart";
import { bytes, micros, millis, moment, number } from "../format";
import { ALL, failures, phase, useKnown } from "../store";

interface Trouble { what: string; to: string; state: string; since: number; why: string }

export function Overview() {
  const { scene, events, lines } = useKnown();
  if (!scene) return null;
  const { status, report } = scene;
  const troubles = found(status);
  const total = report.total;
  const line = lines.get(ALL);
  const files = report.process.descriptors;
  const grave = events.filter((event) => event.level !== "info").slice(-8).reverse();
  const well = troubles.length === 0 && status.warnings.length === 0;
  return (
    <>
      <h1 class="aside">Overview</h1>
      <div class={well ? "verdict well" : "verdict ill"} role="status">
        {well
          ? <><strong>Everything is well.</strong> {count(status.services.length, "service")}, {count(status.pools.reduce((sum, pool) => sum + pool.servers.length, 0), "server")}.</>
          : <strong>{count(troubles.length + status.warnings.length, "thing")} to look at.</strong>}
      </div>
      {!well && <Troubles troubles={troubles} warnings={status.warnings} />}
      <div class="figures">
        <Figure name="Requests" value={`${number(total.requests.requests.rate)}/s`} note={`${number(total.requests["in-flight"])} under way`} />
        <Figure name="Not answered well" value={`${number(failures(total))}/s`} note={`${number(total.requests.aborted.total + total.requests["answered-by-us"].total)} since the start`} bad={failures(total) > 0} />
        <Figure name="99 of 100 take at most" value={micros(phase(total, "total", "p99-us"))} note={`half: ${micros(phase(total, "total", "p50-us"))}`} />
        <Figure name="Client connections" value={number(total.connections.open)} note={`${number(total.connections.accepted.rate)} new a second`} />
        <Figure name="Sent to clients" value={`${bytes(total.bytes.sent.rate)}/s`} note={`received ${bytes(total.bytes.received.rate)}/s`} />
        <Figure name="Descriptors" value={number(files["in-use"])} note={`of ${number(files.limit)}`} bad={files["in-use"] > 0.8 * files.limit} />
      </div>
      <div class="columns">
        <Panel title="Requests a second">
          {line && <Chart label="Requests a second over the last minutes" at={line.at} unit={number} lines={[
            { name: "requests", colour: "--line-1", values: line.requests, fill: true },
            { name: "not answered well", colour: "--line-bad", values: line.failed },
          ]} />}
        </Panel>
        <Panel title="Time from the request's first byte to the answer's last">
          {line && <Chart label="Times over the last minutes" at={line.at} unit={millis} lines={[
            { name: "half take at most", colour: "--line-2", values: line.p50 },
            { name: "99 of 100", colour: "--line-3", values: line.p99 },
          ]} />}
        </Panel>
        <Panel title="Services">
          <table>
            <thead><tr><th scope="col">Service</th><th scope="col">State</th><th scope="col">For</th><th scope="col" class="right">Requests/s</th><th scope="col" class="right">p99</th></tr></thead>
            <tbody>
              {status.services.map((service) => {
                const counts = report.services.find((one) => one.name === service.name);
                return (
                  <tr>
                    <td><a href={`#/service/${encodeURIComponent(service.name)}`}>{service.name}</a></td>
                    <td><State is={service.state} /></td>
                    <td><Since at={service["since-unix-ms"]} /></td>
                    <td class="right">{counts ? number(counts.requests.requests.rate) : "–"}</td>
                    <td class="right">{counts ? micros(phase(counts, "total", "p99-us")) : "–"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Panel>
        <Panel title="Latest warnings and errors" aside={<a href="#/events">all events</a>}>
          {grave.length === 0 ? <Empty>None since the daemon started.</Empty> : (
            <ul class="log">{grave.map((event) => <li class={event.level}><time>{moment(event["at-unix-ms"])}</time> {event.text}</li>)}</ul>
          )}
        </Panel>
      </div>
    </>
  );
}

function Troubles({ troubles, warnings }: { troubles: Trouble[]; warnings: string[] }) {
  return (
    <Panel title="What is not well" wide>
      <ul class="troubles">
        {troubles.slice(0, 50).map((one) => (
          <li><State is={one.state} /> <a href={one.to}>{one.what}</a> for <Since at={one.since} />: {one.why}</li>
        ))}
        {troubles.length > 50 && <li>and {troubles.length - 50} more</li>}
        {warnings.map((text) => <li><span class="state is-degraded">◐ note</span> {text}</li>)}
      </ul>
    </Panel>
  );
}

type Scene = NonNullable<ReturnType<typeof useKnown>["scene"]>;

function found(status: Scene["status"]): Trouble[] {
  const troubles: Trouble[] = [];
  for (const service of status.services) {
    if (service.state === "up") continue;
    const to = `#/service/${encodeURIComponent(service.name)}`;
    troubles.push({ what: `service ${service.name}`, to, state: service.state, since: service["since-unix-ms"], why: service.reason });
  }
  for (const pool of status.pools) {
    for (const server of pool.servers) {
      if (server.state === "up") continue;
      const to = `#/pool/${encodeURIComponent(pool.name)}`;
      troubles.push({ what: `${pool.name}/${server.name}`, to, state: server.state, since: server["since-unix-ms"], why: server.reason.text });
    }
  }
  if (status.packets?.broken) {
    troubles.push({ what: "packets", to: "#/packets", state: "down", since: status["since-unix-ms"], why: status.packets.broken });
  }
  const beside = (what: string, to: string, state: string, why: string, since = status["since-unix-ms"]) =>
    troubles.push({ what, to, state, since, why });
  for (const bundle of status.links ?? []) {
    for (const link of bundle.links) if (link.state !== "alive") beside(`link ${link.interface}`, "#/network", link.state, link.reason);
  }
  for (const one of status.uplinks?.uplinks ?? []) if (one.state !== "up") beside(`uplink ${one.name}`, "#/network", one.state, one.reason);
  for (const one of status.heartbeats ?? []) if (one.state !== "up") beside(`heartbeat with ${one.peer}`, "#/pair", one.state, one.reason, one["since-unix-ms"]);
  for (const pool of status.pools) {
    for (const one of pool.breakers ?? []) {
      if (one.open) beside(`circuit breaker of ${pool.name}`, `#/pool/${encodeURIComponent(pool.name)}`, "down", `${one["in-use"]} of ${one.limit} in use`, one["since-unix-ms"]);
    }
  }
  return troubles;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
