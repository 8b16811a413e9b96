// Addresses that this machine shares with others: what it is in each group, since when, and why.
import { order } from "../api";
import type { HeartbeatStatus, ReplicationStatus, TakeoverResult } from "../contract";
import { Empty, Panel, Rows, Since, State, Wrong, may, needs, useAsking } from "../parts/basics";
import { micros, moment, number, percent } from "../format";
import { useKnown } from "../store";
import { common, pair as labels, views } from "../strings";

export function Pair() {
  const { scene } = useKnown();
  const asking = useAsking();
  if (!scene) return null;
  const members = scene.status.vrrp ?? [];
  const able = may("operate");
  return (
    <>
      <h1 class="aside">{views.pair}</h1>
      <Wrong why={asking.wrong} />
      {members.length === 0 && <Empty>{labels.empty}</Empty>}
      {members.map((member) => (
        <Panel title={member.name} wide aside={
          <button type="button" disabled={!able || asking.busy || member.state === "active"} title={able ? "" : needs("operate")} onClick={() => asking.run(async () => { await order<TakeoverResult>(`/v1/takeover?group=${encodeURIComponent(member.name)}`); })}>{labels.takeOver}</button>
        }>
          <p><State is={member.state} /> {labels.for} <Since at={member["since-unix-ms"]} />: {member.reason}</p>
          <p>{member.addresses.join(", ")} {labels.on} <span class="mono">{member.interface}</span>{labels.numbers(member.id, member.priority)}
            {member["active-peer"] ? labels.backup(member["active-peer"], String(member["active-peer-priority"] ?? common.unknown)) : labels.nobody}</p>
          <div class="columns">
            <Rows label={labels.changesOf(member.name)} head={labels.changesHead} rows={[...member.changes].reverse().map((one) => [moment(one["at-unix-ms"]), <State is={one.state} />, one.reason])} />
            <Rows label={labels.countsOf(member.name)} head={labels.countsHead} rows={[...Object.entries(member.counts), ...Object.entries(member.dropped).map(([why, n]) => [labels.dropped(why), n] as [string, number])].map(([what, n]) => [what, number(n)])} />
          </div>
        </Panel>
      ))}
      {(scene.status.heartbeats ?? []).map((beat) => <Heartbeat beat={beat} />)}
    </>
  );
}

/** What this machine and another one that shares addresses tell each other. */
function Heartbeat({ beat }: { beat: HeartbeatStatus }) {
  const refused = (path: HeartbeatStatus["paths"][number]) => Object.entries(path.refused).map(([why, n]) => `${why} ${number(n)}`).join(", ");
  const reaches = (count?: number | null) => String(count ?? labels.unknownCount);
  return (
    <Panel title={labels.heartbeat(beat.peer)} wide>
      <p><State is={beat.state} /> {labels.for} <Since at={beat["since-unix-ms"]} />: {beat.reason}</p>
      <p>{labels.peer(beat["peer-version"] ?? common.unknown, String(beat["peer-generation"] ?? common.unknown), beat.generation)}
        {beat.targets.length > 0 && labels.reaches(beat.targets.length, reaches(beat["peer-reached"]), reaches(beat.reached))}</p>
      <Rows label={labels.pathsTo(beat.peer)} head={labels.pathHead} rows={beat.paths.map((path) => [path.name, <State is={path.state} />, path.reason, micros(path["round-trip-us"]), percent(path.loss * 100), refused(path)])} />
      {beat.replication && <Rows label={labels.replication(beat.peer, beat.replication.state)} head={labels.countsHead} rows={told(beat.replication).map(([what, n]) => [what, number(n)])} />}
      {beat.targets.length > 0 && <Rows label={labels.targets} head={labels.targetHead} rows={beat.targets.map((target) => [target.name, <State is={target.state} />, number(target.answered), number(target.unanswered)])} />}
    </Panel>
  );
}

/** Every counter of replication; what was rejected, not applied or not sent has its reason. */
function told(all: ReplicationStatus): [string, number][] {
  const of = (name: (why: string) => string, counts: Record<string, number>) => Object.entries(counts).map(([why, n]) => [name(why), n] as [string, number]);
  return [...Object.entries(all.counts), ...of(labels.rejected, all.refused), ...of(labels.notApplied, all.rejected), ...of(labels.notSent, all.unsent)];
}
