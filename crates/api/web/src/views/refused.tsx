// The last requests that were refused: who sent them, which rule they broke, and what stood there.
import { useEffect, useState } from "preact/hooks";
import { look } from "../api";
import type { RefusedRequest, RefusedRequests } from "../contract";
import { Empty, Panel, Rows, Wrong, useAsking } from "../parts/basics";
import { moment, number } from "../format";
import { useKnown } from "../store";
import { common, refused as labels, views } from "../strings";

export function Refused() {
  const { scene } = useKnown();
  const [service, setService] = useState("");
  const [told, setTold] = useState<RefusedRequests | null>(null);
  const asking = useAsking();
  const ask = () => asking.run(async () => setTold(await look<RefusedRequests>("/v1/refused", { service })));
  useEffect(ask, [service]);
  return (
    <>
      <h1 class="aside">{views.refused}</h1>
      <Panel title={views.refused} wide>
        <form class="fields" onSubmit={(event) => { event.preventDefault(); ask(); }}>
          <label>{common.service}
            <select value={service} onChange={(event) => setService(event.currentTarget.value)}>
              <option value="">{common.all}</option>
              {scene?.status.services.map((one) => <option value={one.name}>{one.name}</option>)}
            </select>
          </label>
          <button type="submit" class="main" disabled={asking.busy}>{common.refresh}</button>
        </form>
        <Wrong why={asking.wrong} />
        {told && told.requests.length === 0 && <Empty>{labels.empty}</Empty>}
        {told && told.requests.length > 0 && (
          <Rows label={views.refused} head={labels.head} rows={told.requests.map((one) => [
            moment(one["unix-ms"]), one.service, <span class="mono">{one.client}</span>, <>{one.cause}{one.defect && <><br /><span class="mono">{one.defect}</span></>}</>,
            found(one), one.status ? String(one.status) : common.none, <span class="mono">{one.host ?? "–"}</span>, <span class="mono">{request(one)}</span>,
          ])} />
        )}
        {told && <p class="hint">{labels.kept(told["max-requests"], told["max-per-client"], number(told.evicted), number(told["over-client-limit"]))}</p>}
      </Panel>
    </>
  );
}

function found(one: RefusedRequest) {
  const at = one.at === null || one.at === undefined ? "" : labels.at(one.at);
  if (!one.field && !one.found && !at) return "–";
  return <><span class="mono">{one.field ? `${one.field}: ` : ""}{one.found ?? ""}</span>{at}</>;
}

function request(one: RefusedRequest) {
  return [one.method, one.target, one.protocol].filter(Boolean).join(" ");
}
