// What this machine will carry, which limit comes first, and how much of each is used.
import { useEffect, useState } from "preact/hooks";
import { look } from "../api";
import type { Capacity as Told, CapacityService } from "../contract";
import { Bar, Empty, Figure, Panel, Rows, Wrong, useAsking } from "../parts/basics";
import { bytes, millis, number } from "../format";
import { useKnown } from "../store";
import { capacity as labels, overview, views } from "../strings";

/** Between two looks, milliseconds. */
const STEP = 5_000;

export function Capacity() {
  const { scene } = useKnown();
  const [told, setTold] = useState<Told | null>(null);
  const asking = useAsking();
  useEffect(() => {
    const ask = () => asking.run(async () => setTold(await look<Told>("/v1/capacity")));
    ask();
    const timer = setInterval(ask, STEP);
    return () => clearInterval(timer);
  }, []);
  const files = scene?.report.process.descriptors;
  const ports = scene?.report.ports ?? [];
  const fewest = ports.reduce<(typeof ports)[number] | null>((least, one) => (least && least.free <= one.free ? least : one), null);
  return (
    <>
      <h1 class="aside">{views.capacity}</h1>
      <Wrong why={asking.wrong} />
      {told && (
        <div class="figures">
          <Figure name={labels.processors} value={number(told.machine.processors)} note={told.machine["request-us"] ? labels.perRequest(told.machine["request-us"].toFixed(1)) : labels.tooFew} />
          {files && <Figure name={labels.descriptors} value={number(files.limit - files["in-use"])} note={overview.limit(number(files.limit))} bad={files["in-use"] > 0.8 * files.limit} />}
          <Figure name={labels.ports} value={fewest ? number(fewest.free) : number(told.machine.ports)} note={fewest ? labels.portsTo(fewest.destination) : labels.portsIdle} bad={fewest !== null && fewest["in-use"] > 4 * fewest.free} />
        </div>
      )}
      {told?.services.length === 0 && <Empty>{labels.noServices}</Empty>}
      {told?.services.map((service) => <One service={service} />)}
      <p class="dim">{labels.method}</p>
    </>
  );
}

function One({ service }: { service: CapacityService }) {
  const now = service.demand;
  const [first] = service.limits;
  return (
    <Panel title={labels.title(service.name, service.forward)} wide>
      <p>
        {labels.now(number(now["requests-per-second"]), number(now["connections-per-second"]))}
        {now.measured
          ? labels.measured(bytes(now["request-bytes"]), bytes(now["response-bytes"]), number(now["requests-per-connection"]), millis(now["connection-duration-ms"]), number(now["requests-per-server-connection"]))
          : labels.unmeasured}
      </p>
      {first && <p><strong>{labels.first(first.kind)}</strong>{labels.firstAt(number(first["requests-per-second"]), first.advice)}</p>}
      <Rows label={labels.limitsOf(service.name)} head={labels.head} rows={service.limits.map((one) => [
        one.kind, `${one["used-percent"].toFixed(1)} %`, <Bar share={one["used-percent"]} kind={one["used-percent"] >= 80 ? "full" : ""} />,
        number(one["requests-per-second"]), number(one["connections-per-second"]), one.reason,
      ])} />
    </Panel>
  );
}
