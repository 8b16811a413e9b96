// One pool: its servers with state, evidence and weight, and orders about them by hand.
import { useEffect, useMemo, useState } from "preact/hooks";
import { look, order } from "../api";
import type { ServerChanged, ServerReport, ServersExplained, ServerStatus } from "../contract";
import { Empty, Panel, Rows, Since, State, Wrong, may, needs, useAsking } from "../parts/basics";
import { Share } from "../parts/errors";
import { Table, type Column } from "../parts/table";
import { micros, number, percent } from "../format";
import { phase, useKnown } from "../store";

export function Pools() {
  const { scene } = useKnown();
  if (!scene) return null;
  const rows = scene.status.pools.map((pool) => {
    const of = (state: string) => pool.servers.filter((server) => server.state === state).length;
    const counts = scene.report.pools.find((one) => one.name === pool.name);
    const rate = counts?.servers.reduce((sum, server) => sum + server.requests.rate, 0) ?? 0;
    const users = scene.status.services.filter((service) => service.pool === pool.name);
    return [
      <a href={`#/pool/${encodeURIComponent(pool.name)}`}>{pool.name}</a>,
      pool.balance,
      `${of("up")} of ${pool.servers.length}`,
      ["down", "unknown", "drain", "disabled"].filter((state) => of(state) > 0).map((state) => <><State is={state} /> {of(state)} </>),
      number(rate),
      number(counts?.errors?.errors.rate ?? 0),
      <Share of={counts?.errors} />,
      users.map((service) => service.name).join(", "),
    ];
  });
  return (
    <Panel title="Pools" wide>
      <Rows label="Pools" head={["Pool", "Chooses by", "Up", "Others", "#Requests/s", "#Errors/s", "#Errors", "Services"]} rows={rows} />
    </Panel>
  );
}

interface Row { server: ServerStatus; counts: ServerReport | undefined }

export function Pool({ name }: { name: string }) {
  const { scene } = useKnown();
  const [asked, setAsked] = useState("");
  const asking = useAsking();
  const pool = scene?.status.pools.find((one) => one.name === name);
  const counts = scene?.report.pools.find((one) => one.name === name);
  const rows = useMemo<Row[]>(() => {
    const by = new Map(counts?.servers.map((server) => [server.name, server]));
    return pool?.servers.map((server) => ({ server, counts: by.get(server.name) })) ?? [];
  }, [pool, counts]);
  const send = (server: string, body: object) =>
    asking.run(async () => {
      await order<ServerChanged>(`/v1/servers/${encodeURIComponent(name)}/${encodeURIComponent(server)}`, body);
    });
  const able = may("operate");
  const table = useMemo(() => columns(able, asking.busy, send, setAsked), [able, asking.busy, name]);
  if (!scene || !pool) return <Empty>There is no pool {name}. <a href="#/pools">Pools</a></Empty>;
  const up = pool.servers.filter((server) => server.state === "up").length;
  return (
    <>
      <h1>{name} <small>{up} of {pool.servers.length} up, chooses by {pool.balance}</small></h1>
      {!able && <p class="hint">{needs("operate")} You may look.</p>}
      <Wrong why={asking.wrong} />
      <Panel title="Servers" wide>
        <Table label="Servers" rows={rows} id={key} text={searched} columns={table} />
      </Panel>
      {(counts?.counts ?? []).length > 0 && (
        <Panel title="Beyond one attempt each" wide>
          <Rows label="Counts of the pool" head={["What", "#A second", "#Since the start"]} rows={(counts?.counts ?? []).map((one) => [one.name, number(one.rate), number(one.total)])} />
        </Panel>
      )}
      {asked && <Why pool={name} server={asked} close={() => setAsked("")} />}
    </>
  );
}

const key = (row: Row) => row.server.name;
const searched = (row: Row) => `${row.server.name} ${row.server.address} ${row.server.state} ${row.server.reason.text}`;

function columns(able: boolean, busy: boolean, send: (server: string, body: object) => void, ask: (server: string) => void): Column<Row>[] {
  return [
    { name: "Server", by: (row) => row.server.name, width: "13rem", show: ({ server }) => <span class="two"><strong>{server.name}</strong><span class="mono dim">{server.resolved ?? server.address}</span></span> },
    { name: "State", width: "7rem", by: (row) => row.server.state, show: ({ server }) => <State is={server.state} /> },
    { name: "For", width: "5.5rem", by: (row) => -row.server["since-unix-ms"], show: ({ server }) => <Since at={server["since-unix-ms"]} /> },
    { name: "Evidence", show: ({ server }) => <span class="evidence" title={server.reason.text}>{server.reason.text} <span class="dim">({server.reason.source})</span></span> },
    { name: "Weight", right: true, width: "6rem", by: (row) => row.server.weight, show: ({ server }) => <Weight server={server} able={able && !busy} send={send} /> },
    { name: "In flight", right: true, width: "5.5rem", by: (row) => row.server["in-flight"], show: ({ server }) => number(server["in-flight"]) },
    { name: "Requests/s", right: true, width: "5.7rem", by: (row) => row.counts?.requests.rate ?? 0, show: ({ counts }) => number(counts?.requests.rate ?? 0) },
    { name: "Errors", right: true, width: "4.6rem", by: (row) => row.counts?.errors?.percent ?? -1, show: ({ counts }) => <Share of={counts?.errors} /> },
    { name: "p99", right: true, width: "5rem", by: (row) => (row.counts ? phase(row.counts, "total", "p99-us") ?? 0 : 0), show: ({ counts }) => micros(counts ? phase(counts, "total", "p99-us") : null) },
    {
      name: "Orders", width: "13.5rem", show: ({ server }) => (
        <span class="orders">
          {server.admin === "enabled"
            ? <>
                <button type="button" disabled={!able || busy} title={able ? "Finishes what it has, gets nothing new" : needs("operate")} onClick={() => send(server.name, { action: "drain" })} aria-label={`Drain ${server.name}`}>Drain</button>
                <button type="button" disabled={!able || busy} title={able ? "Gets nothing" : needs("operate")} onClick={() => send(server.name, { action: "disable" })} aria-label={`Disable ${server.name}`}>Disable</button>
              </>
            : <button type="button" class="main" disabled={!able || busy} onClick={() => send(server.name, { action: "enable" })} aria-label={`Enable ${server.name}`}>Enable</button>}
          <button type="button" class="quiet" onClick={() => ask(server.name)} aria-label={`Why ${server.name}`}>Why?</button>
        </span>
      ),
    },
  ];
}

function Weight({ server, able, send }: { server: ServerStatus; able: boolean; send: (server: string, body: object) => void }) {
  if (!able) return <>{server.weight}</>;
  const give = (input: HTMLInputElement) => {
    const weight = Number(input.value);
    if (input.value !== "" && Number.isInteger(weight) && weight !== server.weight) send(server.name, { action: "weight", weight });
  };
  return (
    <input
      class="weight" type="number" min={0} max={256} aria-label={`Weight of ${server.name}`} key={server.weight} defaultValue={String(server.weight)}
      onChange={(event) => give(event.currentTarget)}
    />
  );
}

/** How a weight came about. */
function Why({ pool, server, close }: { pool: string; server: string; close: () => void }) {
  const [told, setTold] = useState<ServersExplained | null>(null);
  const asking = useAsking();
  useEffect(() => {
    asking.run(async () => {
      setTold(null);
      const path = `/v1/explain/servers/${encodeURIComponent(pool)}/${encodeURIComponent(server)}`;
      setTold(await look<ServersExplained>(path));
    });
  }, [pool, server]);
  const one = told?.servers[0];
  return (
    <Panel title={`Why ${server} has its work`} wide aside={<button type="button" class="quiet" onClick={close}>Close</button>}>
      <Wrong why={asking.wrong} />
      {told && one && (
        <>
          <p>{told.turn}</p>
          <Rows label="Weight" head={["What", "Value"]} rows={[
            ["rank", one.rank],
            ["takes work", one["takes-work"] ? "yes" : "no"],
            ["share of the pool's weights", percent(one["share-percent"])],
            ["weight configured", String(one.weight.configured)],
            ["weight by an operator", one.weight.operator ? `${one.weight.operator.weight} by ${one.weight.operator.by}` : "–"],
            ["weight judged", one.weight.judged === null || one.weight.judged === undefined ? "–" : String(one.weight.judged)],
            ["slow start", percent(one.weight["slow-start-percent"])],
            ["weight in force", String(one.weight["in-force"])],
            ["put out", one.ejection ? one.ejection.text : "–"],
          ]} />
        </>
      )}
    </Panel>
  );
}
