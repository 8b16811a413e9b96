// One service: rates, times by phase, errors by who caused them, certificates.
import { Empty, Figure, Panel, Rows, Since, State } from "../parts/basics";
import { ErrorFigure, ErrorRows, Share } from "../parts/errors";
import { Chart } from "../parts/chart";
import { Heat } from "../parts/heat";
import { bytes, micros, millis, moment, number } from "../format";
import { phase, useKnown } from "../store";
import type { CertificateStatus } from "../contract";

export function Services() {
  const { scene } = useKnown();
  if (!scene) return null;
  const rows = scene.status.services.map((service) => {
    const counts = scene.report.services.find((one) => one.name === service.name);
    return [
      <a href={`#/service/${encodeURIComponent(service.name)}`}>{service.name}</a>,
      <State is={service.state} />,
      <Since at={service["since-unix-ms"]} />,
      service.forward,
      <span class="mono">{service.listen.slice(0, 3).join(", ")}{service.listen.length > 3 ? ` and ${service.listen.length - 3} more` : ""}</span>,
      <a href={`#/pool/${encodeURIComponent(service.pool)}`}>{service.pool}</a>,
      counts ? number(counts.requests.requests.rate) : "–",
      counts ? number(counts.errors?.errors.rate ?? 0) : "–",
      <Share of={counts?.errors} />,
      service.reason,
    ];
  });
  return (
    <Panel title="Services" wide>
      <Rows label="Services" head={["Service", "State", "For", "Forwards", "Listens on", "Pool", "#Requests/s", "#Errors/s", "#Errors", "Why"]} rows={rows} />
    </Panel>
  );
}

export function Service({ name }: { name: string }) {
  const { scene, lines } = useKnown();
  const service = scene?.status.services.find((one) => one.name === name);
  const counts = scene?.report.services.find((one) => one.name === name);
  if (!scene || !service) return <Empty>There is no service {name}. <a href="#/services">Services</a></Empty>;
  const line = lines.get(name);
  return (
    <>
      <h1>{name} <State is={service.state} /> <small>for <Since at={service["since-unix-ms"]} /></small></h1>
      <p>{service.reason}. Forwards <strong>{service.forward}</strong> from <span class="mono">{service.listen.join(", ")}</span> to pool <a href={`#/pool/${encodeURIComponent(service.pool)}`}>{service.pool}</a>.</p>
      {!counts ? <Empty>Its packets are counted under <a href="#/packets">packets</a>.</Empty> : (
        <>
          <div class="figures">
            <Figure name="Requests" value={`${number(counts.requests.requests.rate)}/s`} note={`${number(counts.requests["in-flight"])} in flight`} />
            <ErrorFigure of={counts.errors} />
            <Figure name="p99" value={micros(phase(counts, "total", "p99-us"))} />
            <Figure name="Connections" value={number(counts.connections.open)} note={`${number(counts.connections.accepted.rate)} new per second`} />
            <Figure name="Sent" value={`${bytes(counts.bytes.sent.rate)}/s`} note={`received ${bytes(counts.bytes.received.rate)}/s`} />
            <Figure name="Retries" value={`${number(counts.retried.rate)}/s`} note={`replayed ${number(counts.replayed.rate)}/s`} />
          </div>
          <div class="columns">
            <Panel title="Requests per second">
              {line && <Chart label={`Requests per second of ${name}`} at={line.at} unit={number} lines={[
                { name: "requests", colour: "--line-1", values: line.requests, fill: true },
                { name: "errors", colour: "--line-bad", values: line.failed },
              ]} />}
            </Panel>
            <Panel title="Times">
              {line && <Chart label={`Times of ${name}`} at={line.at} unit={millis} lines={[
                { name: "p50", colour: "--line-2", values: line.p50 },
                { name: "p99", colour: "--line-3", values: line.p99 },
              ]} />}
            </Panel>
            <Panel title="Latency distribution">
              {line && <Heat label={`Times of ${name}`} at={line.at} rows={line.octaves} />}
            </Panel>
            <Panel title="Where the time goes">
              <Rows label="Phases" head={["Phase", "#Count", "#Mean", "#p50", "#p90", "#p99"]} rows={counts.phases.map((one) => [
                one.phase, number(one.count), micros(one["mean-us"]), micros(one["p50-us"]), micros(one["p90-us"]), micros(one["p99-us"]),
              ])} />
            </Panel>
            <Panel title="Errors by cause">
              <ErrorRows of={counts.errors} label="Errors" />
            </Panel>
            <Panel title="Why exchanges ended other than well">
              {counts.causes.length === 0 ? <Empty>None did since the daemon started.</Empty> : (
                <Rows label="Causes" head={["Cause", "Who moved first", "#A second", "#Since the start"]} rows={counts.causes.map((one) => [
                  <span class="mono">{one.cause}</span>, one.side, number(one.rate), number(one.total),
                ])} />
              )}
            </Panel>
            <Panel title="Answers of servers">
              <Rows label="Answers by class" head={["Class", "#A second", "#Since the start"]} rows={(["informational", "success", "redirect", "client-error", "server-error"] as const).map((kind) => [
                kind, number(counts.statuses[kind].rate), number(counts.statuses[kind].total),
              ])} />
            </Panel>
            <Panel title="Refused and limited">
              {counts.defects.length + counts.limits.length + (counts.tls ?? []).length === 0 ? <Empty>Nothing.</Empty> : (
                <Rows label="Limits and defects" head={["What", "#A second", "#Since the start"]} rows={[...counts.defects, ...counts.limits, ...(counts.tls ?? [])].map((one) => [
                  <span class="mono">{one.name}</span>, number(one.rate), number(one.total),
                ])} />
              )}
            </Panel>
          </div>
        </>
      )}
      <Certificates certificates={service.certificates ?? []} />
    </>
  );
}

function Certificates({ certificates }: { certificates: CertificateStatus[] }) {
  if (certificates.length === 0) return null;
  return (
    <Panel title="Certificates" wide>
      <Rows label="Certificates" head={["Names", "Kind", "Good until", "File", "Trouble"]} rows={certificates.map((one) => [
        one.names.join(", "), one.kind, moment(one["expires-unix-ms"]), <span class="mono">{one.file}</span>, one.trouble ?? "",
      ])} />
    </Panel>
  );
}
