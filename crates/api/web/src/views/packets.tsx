// The packet plane: where packets ended, flows by service, next hops; and source ports with what is left of them.
import type { PacketOutcome } from "../contract";
import { Bar, Empty, Figure, Panel, Rows, State } from "../parts/basics";
import { bytes, number } from "../format";
import { useKnown } from "../store";
import { common, packets as labels, views } from "../strings";

export function Packets() {
  const { scene } = useKnown();
  if (!scene) return null;
  const { packets: status } = scene.status;
  const { packets: report, ports } = scene.report;
  return (
    <>
      <h1 class="aside">{views.packets}</h1>
      {!status && <Empty>{labels.empty}</Empty>}
      {status?.problem && <p class="wrong" role="alert">{labels.broken(status.problem)}</p>}
      {status && report && (
        <>
          <div class="figures">
            <Figure name={labels.received} value={common.per(number(report.received.rate))} note={labels.inAll(number(report.received.total))} />
            <Figure name={labels.unaccounted} value={number(report.unaccounted)} note={labels.transient} />
            <Figure name={labels.flows} value={number(report.services.reduce((sum, one) => sum + one.flows, 0))} note={labels.evicted(number(report.evicted.total))} bad={report.evicted.rate > 0} />
            <Figure name={labels.memory} value={bytes(status["memory-bytes"])} note={status.restored ? labels.restored : labels.created} />
          </div>
          <div class="columns">
            <Panel title={labels.outcomes}><Outcomes of={report.outcomes} /></Panel>
            <Panel title={labels.interfaces}>
              <Rows label={labels.interfaces} head={labels.interfacesHead} rows={status.interfaces.map((one) => [one.name, one.mode ?? common.no, one.problem ?? ""])} />
              <h3>{labels.hops}</h3>
              <Rows label={labels.hops} head={labels.hopsHead} rows={status.neighbours.slice(0, 200).map((one) => [<span class="mono">{one.address}</span>, <State is={one.state} />, one.servers.join(", "), one.reason ?? ""])} />
            </Panel>
          </div>
          {report.services.map((service) => (
            <Panel title={labels.title(service.name, service.forward)} wide aside={service.alarm ? <span class="state is-down">{labels.halfOpen}</span> : undefined}>
              <p>{labels.connections(number(service.flows), number(service["half-open"]))}</p>
              <Rows label={labels.serversOf(service.name)} head={labels.serversHead} rows={service.servers.slice(0, 500).map((one) => [
                one.name, number(one.flows), number(one.connections.rate), bytes(one["bytes-in"].rate), bytes(one["bytes-out"].rate),
              ])} />
            </Panel>
          ))}
        </>
      )}
      <Panel title={labels.ports} wide>
        {ports.length === 0 ? <Empty>{labels.portsEmpty}</Empty> : (
          <Rows label={labels.ports} head={labels.portsHead} rows={ports.slice(0, 200).map((one) => [
            <span class="mono">{one.source ?? labels.fromAny}</span>, <span class="mono">{one.destination}</span>, number(one["in-use"]), number(one.free),
            <Bar share={(100 * one["in-use"]) / Math.max(1, one["in-use"] + one.free)} />,
          ])} />
        )}
      </Panel>
    </>
  );
}

function Outcomes({ of }: { of: PacketOutcome[] }) {
  if (of.length === 0) return <Empty>{labels.nothing}</Empty>;
  return (
    <Rows label={labels.outcomes} head={labels.outcomesHead} rows={of.map((one) => [
      <span class={one.disposition === "dropped" ? "mono bad" : "mono"}>{one.name}</span>, number(one.count.rate), number(one.count.total), one.meaning ?? "",
    ])} />
  );
}
