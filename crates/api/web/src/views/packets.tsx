// The packet plane: where packets ended, flows by service, next hops; and source ports with what is left of them.
import type { PacketOutcome } from "../contract";
import { Bar, Empty, Figure, Panel, Rows, State } from "../parts/basics";
import { bytes, number } from "../format";
import { useKnown } from "../store";

export function Packets() {
  const { scene } = useKnown();
  if (!scene) return null;
  const { packets: status } = scene.status;
  const { packets: report, ports } = scene.report;
  return (
    <>
      <h1 class="aside">Packets</h1>
      {!status && <Empty>No service forwards packets.</Empty>}
      {status?.broken && <p class="wrong" role="alert">Nothing is forwarded: {status.broken}</p>}
      {status && report && (
        <>
          <div class="figures">
            <Figure name="Received" value={`${number(report.received.rate)}/s`} note={`${number(report.received.total)} in all`} />
            <Figure name="Unaccounted" value={number(report.unaccounted)} note="a few while packets arrive" />
            <Figure name="Flows" value={number(report.services.reduce((sum, one) => sum + one.flows, 0))} note={`${number(report.evicted.total)} given up for new ones`} bad={report.evicted.rate > 0} />
            <Figure name="Memory of the tables" value={bytes(status["memory-bytes"])} note={status.adopted ? "adopted from the process before" : "made by this process"} />
          </div>
          <div class="columns">
            <Panel title="Where packets ended"><Outcomes of={report.outcomes} /></Panel>
            <Panel title="Interfaces">
              <Rows label="Interfaces" head={["Interface", "Attached", "Trouble"]} rows={status.interfaces.map((one) => [one.name, one.mode ?? "no", one.problem ?? ""])} />
              <h3>Next hops</h3>
              <Rows label="Next hops" head={["Address", "State", "Servers", ""]} rows={status.neighbours.slice(0, 200).map((one) => [<span class="mono">{one.address}</span>, <State is={one.state} />, one.servers.join(", "), one.reason ?? ""])} />
            </Panel>
          </div>
          {report.services.map((service) => (
            <Panel title={`${service.name} (${service.forward})`} wide aside={service.alarm ? <span class="state is-down">✕ half-open</span> : undefined}>
              <p>{number(service.flows)} connections, {number(service["half-open"])} of them without a complete handshake.</p>
              <Rows label={`Servers of ${service.name}`} head={["Server", "#Connections now", "#New/s", "#In/s", "#Out/s"]} rows={service.servers.slice(0, 500).map((one) => [
                one.name, number(one.flows), number(one.connections.rate), bytes(one["bytes-in"].rate), bytes(one["bytes-out"].rate),
              ])} />
            </Panel>
          ))}
        </>
      )}
      <Panel title="Source ports towards servers" wide>
        {ports.length === 0 ? <Empty>No connection to a server is open.</Empty> : (
          <Rows label="Source ports" head={["From", "To", "#In use", "#Left", ""]} rows={ports.slice(0, 200).map((one) => [
            <span class="mono">{one.source ?? "as the kernel chooses"}</span>, <span class="mono">{one.destination}</span>, number(one["in-use"]), number(one.left),
            <Bar share={(100 * one["in-use"]) / Math.max(1, one["in-use"] + one.left)} />,
          ])} />
        )}
      </Panel>
    </>
  );
}

function Outcomes({ of }: { of: PacketOutcome[] }) {
  if (of.length === 0) return <Empty>None arrived.</Empty>;
  return (
    <Rows label="Outcomes" head={["Outcome", "#A second", "#In all", "Meaning"]} rows={of.map((one) => [
      <span class={one.end === "dropped" ? "mono bad" : "mono"}>{one.name}</span>, number(one.count.rate), number(one.count.total), one.meaning ?? "",
    ])} />
  );
}
