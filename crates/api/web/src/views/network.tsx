// Bundles of links, uplinks, Multipath TCP, and names that are answered: what lives, what it carries, and why.
import { useState } from "preact/hooks";
import { look } from "../api";
import type { BundleStatus, MptcpStatus, NameExplained, NamesStatus, UplinksStatus } from "../contract";
import { Bar, Empty, Panel, Rows, State, Wrong, useAsking } from "../parts/basics";
import { bytes, micros, number, percent } from "../format";
import { useKnown } from "../store";
import { common, network as labels, views } from "../strings";

export function Network() {
  const { scene } = useKnown();
  if (!scene) return null;
  const { links, uplinks, mptcp, names } = scene.status;
  const any = (links ?? []).length > 0 || uplinks || mptcp || names;
  return (
    <>
      <h1 class="aside">{views.network}</h1>
      {!any && <Empty>{labels.empty}</Empty>}
      {(links ?? []).map((bundle) => <Bundle of={bundle} />)}
      {uplinks && <Uplinks of={uplinks} />}
      {mptcp && <Mptcp of={mptcp} />}
      {names && <Names of={names} />}
    </>
  );
}

function counts(of: Record<string, number>): string {
  return Object.entries(of).filter(([, n]) => n > 0).map(([what, n]) => `${what} ${number(n)}`).join(", ") || labels.nothing;
}

function Bundle({ of }: { of: BundleStatus }) {
  return (
    <Panel title={labels.bundle(of.name)} wide>
      <p><State is={of.state} /> {of.reason}{labels.bundleNote(of.policy, number(of.mtu), micros(of["skew-us"]), counts(of.counts), counts(of.dropped))}</p>
      <Rows label={labels.linksOf(of.name)} head={labels.linksHead} rows={of.links.map((link) => [
        <span class="mono">{link.interface}</span>, <State is={link.state} />, link.reason, link.via.join(", "), number(link.packets), bytes(link.bytes),
        micros(link["round-trip-us"] ?? null), percent(100 * link.loss), micros(link["added-delay-us"]),
      ])} />
    </Panel>
  );
}

function Uplinks({ of }: { of: UplinksStatus }) {
  return (
    <Panel title={labels.uplinks} wide>
      {of.problems.map((text) => <p class="wrong">{text}</p>)}
      <Rows label={labels.uplinks} head={labels.uplinksHead} rows={of.uplinks.map((one) => [
        <>{one.name} <span class="dim">{one.family}</span></>, <State is={one.state} />, one.reason, <span class="mono">{one.gateway} ({one.interface})</span>,
        percent(100 * one.share), <Bar share={100 * one.share} />, micros(one["round-trip-us"] ?? null), percent(100 * one.loss), number(one.originated + one.forwarded + one.moved),
      ])} />
    </Panel>
  );
}

function Mptcp({ of }: { of: MptcpStatus }) {
  return (
    <Panel title={labels.mptcp} wide>
      {of.problem && <p class="wrong">{of.problem}</p>}
      <p>{labels.endpoints(number(of.count), of.endpoints.map((one) => one.address).join(", ") || common.none)}</p>
      {of.connections.length > 0 && (
        <Rows label={labels.connections} head={labels.connectionsHead} rows={of.connections.slice(0, 200).map((one) => [
          <span class="mono">{one.local}</span>, <span class="mono">{one.remote}</span>, bytes(one.sent), bytes(one.received),
          one.subflows.map((path) => labels.subflow(path.local, bytes(path.sent), micros(path["round-trip-us"]))).join("; "),
        ])} />
      )}
    </Panel>
  );
}

function Names({ of }: { of: NamesStatus }) {
  return (
    <Panel title={labels.names} wide>
      <p>{labels.zones(of.zones.join(", ") || common.none, of.listen.map((one) => (one.problem ? `${one.address} (${one.problem})` : one.address)).join(", "))}</p>
      <Rows label={labels.names} head={labels.namesHead} rows={of.names.map((one) => [
        <>{one.name}{one.fallback && <span class="state is-down">{labels.fallback}</span>}</>, one.policy, common.share(String(one.up), String(one.candidates)), number(one.responses), number(one["ttl-seconds"]), counts(one["first-choices"]),
      ])} />
      <Asked />
    </Panel>
  );
}

/** What somebody would be answered. */
function Asked() {
  const [name, setName] = useState("");
  const [from, setFrom] = useState("");
  const [told, setTold] = useState<NameExplained | null>(null);
  const asking = useAsking();
  const ask = () => asking.run(async () => setTold(await look<NameExplained>("/v1/explain/name", { name, from })));
  return (
    <>
      <h3>{labels.tryTitle}</h3>
      <form class="fields" onSubmit={(event) => { event.preventDefault(); ask(); }}>
        <label class="grow">{labels.name} <input value={name} required onInput={(event) => setName(event.currentTarget.value)} /></label>
        <label>{labels.from} <input value={from} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
        <button type="submit" class="main" disabled={asking.busy}>{labels.answer}</button>
      </form>
      <Wrong why={asking.wrong} />
      {told && (
        <div class="told">
          <ol>{told.steps.map((step) => <li>{step}</li>)}</ol>
          <Rows label={labels.candidates} head={labels.candidatesHead} rows={told.candidates.map((one) => [one.name, <span class="mono">{one.addresses.join(", ")}</span>, percent(one["share-percent"]), one.reason])} />
        </div>
      )}
    </>
  );
}
