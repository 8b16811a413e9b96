// One pool: its servers with state, evidence and weight, and commands about them by hand.
import { useEffect, useMemo, useState } from "preact/hooks";
import { look, order } from "../api";
import type { ServerChanged, ServerReport, ServersExplained, ServerStatus } from "../contract";
import { Empty, Panel, Rows, Since, State, Wrong, may, needs, useAsking } from "../parts/basics";
import { Share } from "../parts/errors";
import { Table, type Column } from "../parts/table";
import { micros, number, percent } from "../format";
import { phase, useKnown } from "../store";
import { common, pools as labels, views, weight as weightLabels } from "../strings";

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
      common.share(String(of("up")), String(pool.servers.length)),
      ["down", "unknown", "drain", "disabled"].filter((state) => of(state) > 0).map((state) => <><State is={state} /> {of(state)} </>),
      number(rate),
      number(counts?.errors?.errors.rate ?? 0),
      <Share of={counts?.errors} />,
      users.map((service) => service.name).join(", "),
    ];
  });
  return (
    <Panel title={views.pools} wide>
      <Rows label={views.pools} head={labels.head} rows={rows} />
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
  if (!scene || !pool) return <Empty>{labels.unknown(name)} <a href="#/pools">{views.pools}</a></Empty>;
  const up = pool.servers.filter((server) => server.state === "up").length;
  return (
    <>
      <h1>{name} <small>{labels.summary(up, pool.servers.length, pool.balance)}</small></h1>
      {!able && <p class="hint">{needs("operate")}{labels.viewOnly}</p>}
      <Wrong why={asking.wrong} />
      <Panel title={labels.servers} wide>
        <Table label={labels.servers} rows={rows} id={key} text={searched} columns={table} />
      </Panel>
      {(counts?.counts ?? []).length > 0 && (
        <Panel title={labels.counts} wide>
          <Rows label={labels.counts} head={labels.countsHead} rows={(counts?.counts ?? []).map((one) => [one.name, number(one.rate), number(one.total)])} />
        </Panel>
      )}
      {asked && <Why pool={name} server={asked} close={() => setAsked("")} />}
    </>
  );
}

const key = (row: Row) => row.server.name;
const searched = (row: Row) => `${row.server.name} ${row.server.address} ${row.server.state} ${row.server.reason.text}`;

function columns(able: boolean, busy: boolean, send: (server: string, body: object) => void, ask: (server: string) => void): Column<Row>[] {
  const names = labels.columns;
  return [
    { name: names.server, by: (row) => row.server.name, width: "13rem", show: ({ server }) => <span class="two"><strong>{server.name}</strong><span class="mono dim">{server.resolved ?? server.address}</span></span> },
    { name: names.state, width: "7rem", by: (row) => row.server.state, show: ({ server }) => <State is={server.state} /> },
    { name: names.since, width: "5.5rem", by: (row) => -row.server["since-unix-ms"], show: ({ server }) => <Since at={server["since-unix-ms"]} /> },
    { name: names.check, show: ({ server }) => <span class="evidence" title={server.reason.text}>{server.reason.text} <span class="dim">({server.reason.source})</span></span> },
    { name: names.weight, right: true, width: "6rem", by: (row) => row.server.weight, show: ({ server }) => <Weight server={server} able={able && !busy} send={send} /> },
    { name: names.inFlight, right: true, width: "5.5rem", by: (row) => row.server["in-flight"], show: ({ server }) => number(server["in-flight"]) },
    { name: names.rate, right: true, width: "5.7rem", by: (row) => row.counts?.requests.rate ?? 0, show: ({ counts }) => number(counts?.requests.rate ?? 0) },
    { name: names.errors, right: true, width: "4.6rem", by: (row) => row.counts?.errors?.percent ?? -1, show: ({ counts }) => <Share of={counts?.errors} /> },
    { name: names.p99, right: true, width: "5rem", by: (row) => (row.counts ? phase(row.counts, "total", "p99-us") ?? 0 : 0), show: ({ counts }) => micros(counts ? phase(counts, "total", "p99-us") : null) },
    {
      name: names.commands, width: "13.5rem", show: ({ server }) => (
        <span class="orders">
          {server.admin === "enabled"
            ? <>
                <button type="button" disabled={!able || busy} title={able ? labels.drainHint : needs("operate")} onClick={() => send(server.name, { action: "drain" })} aria-label={labels.command(labels.drain, server.name)}>{labels.drain}</button>
                <button type="button" disabled={!able || busy} title={able ? labels.disableHint : needs("operate")} onClick={() => send(server.name, { action: "disable" })} aria-label={labels.command(labels.disable, server.name)}>{labels.disable}</button>
              </>
            : <button type="button" class="main" disabled={!able || busy} onClick={() => send(server.name, { action: "enable" })} aria-label={labels.command(labels.enable, server.name)}>{labels.enable}</button>}
          <button type="button" class="quiet" onClick={() => ask(server.name)} aria-label={labels.whyLabel(server.name)}>{labels.why}</button>
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
      class="weight" type="number" min={0} max={256} aria-label={labels.weightOf(server.name)} key={server.weight} defaultValue={String(server.weight)}
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
  const rowNames = weightLabels.rows;
  return (
    <Panel title={weightLabels.title(server)} wide aside={<button type="button" class="quiet" onClick={close}>{common.close}</button>}>
      <Wrong why={asking.wrong} />
      {told && one && (
        <>
          <p>{told.selection}</p>
          <Rows label={weightLabels.label} head={weightLabels.head} rows={[
            [rowNames.rank, one.rank],
            [rowNames.available, one.available ? common.yes : common.no],
            [rowNames.share, percent(one["share-percent"])],
            [rowNames.configured, String(one.weight.configured)],
            [rowNames.operator, one.weight.operator ? weightLabels.by(one.weight.operator.weight, one.weight.operator.by) : "–"],
            [rowNames.adaptive, one.weight["controller-weight"] === null || one.weight["controller-weight"] === undefined ? "–" : String(one.weight["controller-weight"])],
            [rowNames.slowStart, percent(one.weight["slow-start-percent"])],
            [rowNames.active, String(one.weight.active)],
            [rowNames.ejected, one.ejection ? one.ejection.text : "–"],
          ]} />
        </>
      )}
    </Panel>
  );
}
