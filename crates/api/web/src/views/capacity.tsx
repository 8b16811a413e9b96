// What this machine will carry, which limit comes first, and how much of each is used.
import { useEffect, useState } from "preact/hooks";
import { look } from "../api";
import type { Capacity as Told, CapacityService } from "../contract";
import { Bar, Empty, Figure, Panel, Rows, Wrong, useAsking } from "../parts/basics";
import { bytes, millis, number } from "../format";
import { useKnown } from "../store";

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
  const fewest = ports.reduce<(typeof ports)[number] | null>((least, one) => (least && least.left <= one.left ? least : one), null);
  return (
    <>
      <h1 class="aside">Capacity</h1>
      <Wrong why={asking.wrong} />
      {told && (
        <div class="figures">
          <Figure name="Processors" value={number(told.machine.processors)} note={told.machine["request-us"] ? `${told.machine["request-us"].toFixed(1)} µs of them a request` : "too few requests to tell what one costs"} />
          {files && <Figure name="Descriptors left" value={number(files.limit - files["in-use"])} note={`of ${number(files.limit)}`} bad={files["in-use"] > 0.8 * files.limit} />}
          <Figure name="Fewest source ports left" value={fewest ? number(fewest.left) : number(told.machine.ports)} note={fewest ? `towards ${fewest.destination}` : "of each address; none is in use"} bad={fewest !== null && fewest["in-use"] > 4 * fewest.left} />
        </div>
      )}
      {told?.services.length === 0 && <Empty>No service is configured.</Empty>}
      {told?.services.map((service) => <One service={service} />)}
      <p class="dim">Limits are arithmetic on what was measured of the traffic, for each service as if alone; what is used is of rates now.</p>
    </>
  );
}

function One({ service }: { service: CapacityService }) {
  const now = service.carries;
  const [first] = service.limits;
  return (
    <Panel title={`${service.name} (${service.forward})`} wide>
      <p>
        {number(now["requests-per-second"])} requests and {number(now["connections-per-second"])} connections a second now.{" "}
        {now.measured
          ? `Measured: ${bytes(now["request-bytes"])} asked, ${bytes(now["response-bytes"])} answered, ${number(now["per-connection"])} requests a connection of ${millis(now["life-ms"])}, ${number(now["per-server-connection"])} towards servers.`
          : "Nothing was carried yet: the forecast is for what is usual."}
      </p>
      {first && <p><strong>First limit: {first.kind}</strong>, at {number(first["requests-per-second"])} requests a second. To raise it: {first.change}.</p>}
      <Rows label={`Limits of ${service.name}`} head={["Limit", "#Used", "", "#Requests/s", "#Connections/s", "Because"]} rows={service.limits.map((one) => [
        one.kind, `${one["used-percent"].toFixed(1)} %`, <Bar share={one["used-percent"]} kind={one["used-percent"] >= 80 ? "full" : ""} />,
        number(one["requests-per-second"]), number(one["connections-per-second"]), one.because,
      ])} />
    </Panel>
  );
}
