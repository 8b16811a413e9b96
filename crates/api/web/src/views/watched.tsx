// What watched connections of services that forward packets show: a part of the view that explains what is slow.
import type { PacketSide, SlowPackets } from "../contract";
import { Bar, Panel, Rows } from "../parts/basics";
import { millis, number, percent } from "../format";
import { slow as slowLabels, watched as labels } from "../strings";

export function Watched({ service }: { service: SlowPackets }) {
  const shakes = service.handshakes;
  const times = [
    [labels.parts.server, shakes["server-part"]], [labels.parts.client, shakes["client-part"]], [labels.parts.whole, shakes.total],
  ] as const;
  const sides: [string, PacketSide][] = [[labels.sides.clients, service.client]];
  if (service.server) sides.push([labels.sides.servers, service.server]);
  return (
    <Panel title={labels.title(service.name, service.forward)} wide>
      <p>{labels.summary(number(service.watched), service.sample ? labels.sample(service.sample) : labels.sampleOff, service.seconds.toFixed(2))}</p>
      {service.limitations.map((one) => <p class="hint">{one}</p>)}
      <Rows label={slowLabels.reasonsOf(service.name)} head={slowLabels.reasonHead} rows={service.reasons.map((one) => [
        one.owner, <><span class="mono">{one.limit}</span> {one.title}</>, percent(one["share-percent"]), <Bar share={one["share-percent"]} kind={one.owner} />, one.advice,
      ])} />
      <div class="columns">
        <div>
          <h3>{labels.handshakes}</h3>
          <p>{labels.done(number(shakes.done), number(shakes.refused), number(shakes.unanswered), number(shakes.unacknowledged), number(shakes.unfinished))}</p>
          <Rows label={labels.handshakesOf(service.name)} head={labels.handshakeHead} rows={times.flatMap(([name, one]) => one ? [[
            name, number(one.count), millis(one["median-ms"]), millis(one["p95-ms"]), millis(one["max-ms"]),
          ]] : [])} />
        </div>
        <div>
          <h3>{labels.sidesTitle}</h3>
          <Rows label={labels.sidesOf(service.name)} head={labels.sideHead} rows={sides.map(([name, one]) => [
            name, number(one.packets), number(one["lost-behind"]), number(one["lost-before"]), number(one.reordered), number(one["zero-windows"]), number(one["silly-windows"]), number(one.resets),
          ])} />
        </div>
      </div>
    </Panel>
  );
}
