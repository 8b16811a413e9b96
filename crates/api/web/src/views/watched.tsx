// What watched connections of services that forward packets show: a part of the view that explains what is slow.
import type { PacketSide, SlowPackets } from "../contract";
import { Bar, Panel, Rows } from "../parts/basics";
import { millis, number, percent } from "../format";

export function Watched({ service }: { service: SlowPackets }) {
  const shakes = service.handshakes;
  const times = [
    ["to the server and back", shakes["server-part"]], ["to the client and back", shakes["client-part"]], ["whole", shakes.whole],
  ] as const;
  const sides: [string, PacketSide][] = [["clients", service.client]];
  if (service.server) sides.push(["servers", service.server]);
  return (
    <Panel title={`${service.name} (${service.forward})`} wide>
      <p>{number(service.watched)} connections were watched, {service.sample ? `one in ${service.sample}` : "none any more"}: they stood still for {service.seconds.toFixed(2)} s together.</p>
      {service.unseen.map((one) => <p class="hint">{one}</p>)}
      <Rows label={`Reasons of ${service.name}`} head={["Whose time", "Why", "#Share", "", "What to change"]} rows={service.reasons.map((one) => [
        one.owner, <><span class="mono">{one.limit}</span> {one.title}</>, percent(one["share-percent"]), <Bar share={one["share-percent"]} kind={one.owner} />, one.advice,
      ])} />
      <div class="columns">
        <div>
          <h3>Handshakes</h3>
          <p>{number(shakes.done)} done, {number(shakes.refused)} refused, {number(shakes.unanswered)} not answered, {number(shakes.unacknowledged)} not acknowledged, {number(shakes.unfinished)} not done for whatever reason.</p>
          <Rows label={`Handshakes of ${service.name}`} head={["Part", "#Count", "#Half", "#19 of 20", "#Longest"]} rows={times.flatMap(([name, one]) => one ? [[
            name, number(one.count), millis(one["median-ms"]), millis(one["p95-ms"]), millis(one["longest-ms"]),
          ]] : [])} />
        </div>
        <div>
          <h3>What each side sent</h3>
          <Rows label={`Sides of ${service.name}`} head={["From", "#Packets", "#Lost behind us", "#Lost before us", "#Reordered", "#Zero windows", "#Silly windows", "#Resets"]} rows={sides.map(([name, one]) => [
            name, number(one.packets), number(one["lost-behind"]), number(one["lost-before"]), number(one.reordered), number(one["zero-windows"]), number(one["silly-windows"]), number(one.resets),
          ])} />
        </div>
      </div>
    </Panel>
  );
}
