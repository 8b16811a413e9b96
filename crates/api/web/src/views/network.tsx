// Bundles of links, uplinks, Multipath TCP, and names that are answered: what lives, what it carries, and why.
import { useState } from "preact/hooks";
import { look } from "../api";
import type { BundleStatus, MptcpStatus, NameExplained, NamesStatus, UplinksStatus } from "../contract";
import { Bar, Empty, Panel, Rows, State, Wrong, useAsking } from "../parts/basics";
import { bytes, micros, number, percent } from "../format";
import { useKnown } from "../store";

export function Network() {
  const { scene } = useKnown();
  if (!scene) return null;
  const { links, uplinks, mptcp, names } = scene.status;
  const any = (links ?? []).length > 0 || uplinks || mptcp || names;
  return (
    <>
      <h1 class="aside">Links and names</h1>
      {!any && <Empty>There is no [link.NAME], [uplink.NAME], [mptcp] or [names.ZONE].</Empty>}
      {(links ?? []).map((bundle) => <Bundle of={bundle} />)}
      {uplinks && <Uplinks of={uplinks} />}
      {mptcp && <Mptcp of={mptcp} />}
      {names && <Names of={names} />}
    </>
  );
}

function counts(of: Record<string, number>): string {
  return Object.entries(of).filter(([, n]) => n > 0).map(([what, n]) => `${what} ${number(n)}`).join(", ") || "nothing";
}

function Bundle({ of }: { of: BundleStatus }) {
  return (
    <Panel title={`Bundle ${of.name}`} wide>
      <p><State is={of.state} /> {of.reason}. Chooses by {of.policy}, packets of at most {number(of.mtu)} bytes; links differ by {micros(of["skew-us"])}. Counted: {counts(of.counts)}; dropped: {counts(of.dropped)}.</p>
      <Rows label={`Links of ${of.name}`} head={["Link", "State", "Why", "By way of", "#Packets", "#Bytes", "#Round trip", "#Loss", "#Held for"]} rows={of.links.map((link) => [
        <span class="mono">{link.interface}</span>, <State is={link.state} />, link.reason, link.via.join(", "), number(link.packets), bytes(link.bytes),
        micros(link["round-trip-us"] ?? null), percent(100 * link.loss), micros(link["held-us"]),
      ])} />
    </Panel>
  );
}

function Uplinks({ of }: { of: UplinksStatus }) {
  return (
    <Panel title="Uplinks" wide>
      {of.troubles.map((text) => <p class="wrong">{text}</p>)}
      <Rows label="Uplinks" head={["Uplink", "State", "Why", "Gateway", "#Share", "", "#Round trip", "#Loss", "#Connections"]} rows={of.uplinks.map((one) => [
        <>{one.name} <span class="dim">{one.family}</span></>, <State is={one.state} />, one.reason, <span class="mono">{one.gateway} ({one.interface})</span>,
        percent(100 * one.share), <Bar share={100 * one.share} />, micros(one["round-trip-us"] ?? null), percent(100 * one.loss), number(one.own + one.forwarded + one.moved),
      ])} />
    </Panel>
  );
}

function Mptcp({ of }: { of: MptcpStatus }) {
  return (
    <Panel title="Multipath TCP" wide>
      {of.trouble && <p class="wrong">{of.trouble}</p>}
      <p>{number(of.count)} connections. Endpoints: {of.endpoints.map((one) => one.address).join(", ") || "none"}.</p>
      {of.connections.length > 0 && (
        <Rows label="Connections" head={["From", "To", "#Sent", "#Received", "Paths"]} rows={of.connections.slice(0, 200).map((one) => [
          <span class="mono">{one.local}</span>, <span class="mono">{one.remote}</span>, bytes(one.sent), bytes(one.received),
          one.subflows.map((path) => `${path.local}: ${bytes(path.sent)}, ${micros(path["round-trip-us"])}`).join("; "),
        ])} />
      )}
    </Panel>
  );
}

function Names({ of }: { of: NamesStatus }) {
  return (
    <Panel title="Names" wide>
      <p>Zones {of.zones.join(", ") || "none"}; asked at {of.listen.map((one) => (one.trouble ? `${one.address} (${one.trouble})` : one.address)).join(", ")}.</p>
      <Rows label="Names" head={["Name", "Policy", "Up", "#Answers with", "#For seconds", "Given"]} rows={of.names.map((one) => [
        <>{one.name}{one.fallen && <span class="state is-down"> ✕ fallen back</span>}</>, one.policy, `${one.up} of ${one.candidates}`, number(one.answers), number(one["ttl-seconds"]), counts(one.given),
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
      <h3>Try a question</h3>
      <form class="fields" onSubmit={(event) => { event.preventDefault(); ask(); }}>
        <label class="grow">Name <input value={name} required onInput={(event) => setName(event.currentTarget.value)} /></label>
        <label>From address <input value={from} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
        <button type="submit" class="main" disabled={asking.busy}>What is answered?</button>
      </form>
      <Wrong why={asking.wrong} />
      {told && (
        <div class="told">
          <ol>{told.steps.map((step) => <li>{step}</li>)}</ol>
          <Rows label="Candidates" head={["Server", "Addresses", "#Share", "Why"]} rows={told.candidates.map((one) => [one.name, <span class="mono">{one.addresses.join(", ")}</span>, percent(one["share-percent"]), one.why])} />
        </div>
      )}
    </>
  );
}
