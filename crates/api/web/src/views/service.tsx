// One service: rates, times by phase, errors by who caused them, certificates.
import { Empty, Figure, Panel, Rows, Since, State } from "../parts/basics";
import { ErrorFigure, ErrorRows, Share } from "../parts/errors";
import { Chart } from "../parts/chart";
import { Heat } from "../parts/heat";
import { bytes, micros, millis, moment, number } from "../format";
import { phase, useKnown } from "../store";
import { common, services as labels, views } from "../strings";
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
      <span class="mono">{service.listen.slice(0, 3).join(", ")}{service.listen.length > 3 ? labels.more(service.listen.length - 3) : ""}</span>,
      <a href={`#/pool/${encodeURIComponent(service.pool)}`}>{service.pool}</a>,
      counts ? number(counts.requests.requests.rate) : "–",
      counts ? number(counts.errors?.errors.rate ?? 0) : "–",
      <Share of={counts?.errors} />,
      service.reason,
    ];
  });
  return (
    <Panel title={views.services} wide>
      <Rows label={views.services} head={labels.head} rows={rows} />
    </Panel>
  );
}

export function Service({ name }: { name: string }) {
  const { scene, lines } = useKnown();
  const service = scene?.status.services.find((one) => one.name === name);
  const counts = scene?.report.services.find((one) => one.name === name);
  if (!scene || !service) return <Empty>{labels.unknown(name)} <a href="#/services">{views.services}</a></Empty>;
  const line = lines.get(name);
  return (
    <>
      <h1>{name} <State is={service.state} /> <small>{labels.for} <Since at={service["since-unix-ms"]} /></small></h1>
      <p>{service.reason}. {labels.forwards} <strong>{service.forward}</strong> {labels.from} <span class="mono">{service.listen.join(", ")}</span> {labels.toPool} <a href={`#/pool/${encodeURIComponent(service.pool)}`}>{service.pool}</a>.</p>
      {!counts ? <Empty>{labels.packets} <a href="#/packets">{views.packets}</a>.</Empty> : (
        <>
          <div class="figures">
            <Figure name={labels.requests} value={common.per(number(counts.requests.requests.rate))} note={labels.inFlight(number(counts.requests["in-flight"]))} />
            <ErrorFigure of={counts.errors} />
            <Figure name={common.p99} value={micros(phase(counts, "total", "p99-us"))} />
            <Figure name={labels.connections} value={number(counts.connections.open)} note={labels.fresh(number(counts.connections.accepted.rate))} />
            <Figure name={labels.sent} value={common.per(bytes(counts.bytes.sent.rate))} note={common.received(bytes(counts.bytes.received.rate))} />
            <Figure name={labels.retries} value={common.per(number(counts.retried.rate))} note={labels.replayed(number(counts.replayed.rate))} />
          </div>
          <div class="columns">
            <Panel title={labels.rate}>
              {line && <Chart label={labels.rateOf(name)} at={line.at} unit={number} lines={[
                { name: common.requests, colour: "--line-1", values: line.requests, fill: true },
                { name: common.errors, colour: "--line-bad", values: line.failed },
              ]} />}
            </Panel>
            <Panel title={labels.latency}>
              {line && <Chart label={labels.latencyOf(name)} at={line.at} unit={millis} lines={[
                { name: common.p50, colour: "--line-2", values: line.p50 },
                { name: common.p99, colour: "--line-3", values: line.p99 },
              ]} />}
            </Panel>
            <Panel title={labels.distribution}>
              {line && <Heat label={labels.latencyOf(name)} at={line.at} rows={line.octaves} />}
            </Panel>
            <Panel title={labels.phases}>
              <Rows label={labels.phases} head={labels.phasesHead} rows={counts.phases.map((one) => [
                one.phase, number(one.count), micros(one["mean-us"]), micros(one["p50-us"]), micros(one["p90-us"]), micros(one["p99-us"]),
              ])} />
            </Panel>
            <Panel title={labels.errors}>
              <ErrorRows of={counts.errors} label={labels.errors} />
            </Panel>
            <Panel title={labels.causes}>
              {counts.causes.length === 0 ? <Empty>{labels.noCauses}</Empty> : (
                <Rows label={labels.causes} head={labels.causesHead} rows={counts.causes.map((one) => [
                  <span class="mono">{one.cause}</span>, one.side, number(one.rate), number(one.total),
                ])} />
              )}
            </Panel>
            <Panel title={labels.classes}>
              <Rows label={labels.classes} head={labels.classesHead} rows={(["informational", "success", "redirect", "client-error", "server-error"] as const).map((kind) => [
                kind, number(counts.statuses[kind].rate), number(counts.statuses[kind].total),
              ])} />
            </Panel>
            <Panel title={labels.refused}>
              {counts.defects.length + counts.limits.length + (counts.tls ?? []).length === 0 ? <Empty>{labels.noDefects}</Empty> : (
                <Rows label={labels.refused} head={labels.refusedHead} rows={[...counts.defects, ...counts.limits, ...(counts.tls ?? [])].map((one) => [
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
    <Panel title={labels.certificates} wide>
      <Rows label={labels.certificates} head={labels.certificatesHead} rows={certificates.map((one) => [
        one.names.join(", "), one.kind, moment(one["expires-unix-ms"]), <span class="mono">{one.file}</span>, one.problem ?? "",
      ])} />
    </Panel>
  );
}
