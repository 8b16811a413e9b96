// Addresses that this machine shares with others: what it is in each group, since when, and why.
import { order } from "../api";
import type { HeartbeatStatus, ReplicationStatus, Taken } from "../contract";
import { Empty, Panel, Rows, Since, State, Wrong, may, needs, useAsking } from "../parts/basics";
import { micros, moment, number, percent } from "../format";
import { useKnown } from "../store";

export function Pair() {
  const { scene } = useKnown();
  const asking = useAsking();
  if (!scene) return null;
  const members = scene.status.vrrp ?? [];
  const able = may("operate");
  return (
    <>
      <h1 class="aside">Shared addresses</h1>
      <Wrong why={asking.wrong} />
      {members.length === 0 && <Empty>No address is shared with another machine: there is no table [vrrp.NAME].</Empty>}
      {members.map((member) => (
        <Panel title={member.name} wide aside={
          <button type="button" disabled={!able || asking.busy || member.state === "active"} title={able ? "" : needs("operate")} onClick={() => asking.run(async () => { await order<Taken>(`/v1/takeover?group=${encodeURIComponent(member.name)}`); })}>Take over</button>
        }>
          <p><State is={member.state} /> for <Since at={member["since-unix-ms"]} />: {member.reason}</p>
          <p>{member.addresses.join(", ")} on <span class="mono">{member.interface}</span>, number {member.id}, priority {member.priority}.{" "}
            {member.heard ? `Last heard to be active: ${member.heard}, priority ${member["heard-priority"] ?? "unknown"}.` : "Nobody else was heard."}</p>
          <div class="columns">
            <Rows label={`Changes of ${member.name}`} head={["When", "To", "Why"]} rows={[...member.changes].reverse().map((one) => [moment(one["at-unix-ms"]), <State is={one.state} />, one.reason])} />
            <Rows label={`Counts of ${member.name}`} head={["What", "#Count"]} rows={[...Object.entries(member.counts), ...Object.entries(member.dropped).map(([why, n]) => [`dropped: ${why}`, n] as [string, number])].map(([what, n]) => [what, number(n)])} />
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
  const reaches = (count?: number | null) => count ?? "an unknown number";
  return (
    <Panel title={`Heartbeat with ${beat.peer}`} wide>
      <p><State is={beat.state} /> for <Since at={beat["since-unix-ms"]} />: {beat.reason}</p>
      <p>Version {beat["peer-version"] ?? "unknown"}, generation {beat["peer-generation"] ?? "unknown"}; here generation {beat.generation}.{" "}
        {beat.targets.length > 0 && `Of ${beat.targets.length} targets it reaches ${reaches(beat["peer-reached"])}, this machine ${reaches(beat.reached)}.`}</p>
      <Rows label={`Paths to ${beat.peer}`} head={["Path", "State", "Why", "#Round trip", "#Loss", "Refused"]} rows={beat.paths.map((path) => [path.name, <State is={path.state} />, path.reason, micros(path["round-trip-us"]), percent(path.loss * 100), refused(path)])} />
      {beat.replication && <Rows label={`Connections told with ${beat.peer}: ${beat.replication.state}`} head={["What", "#Count"]} rows={told(beat.replication).map(([what, n]) => [what, number(n)])} />}
      {beat.targets.length > 0 && <Rows label="Targets that should be reached" head={["Target", "State", "#Answered", "#Unanswered"]} rows={beat.targets.map((target) => [target.name, <State is={target.state} />, number(target.answered), number(target.unanswered)])} />}
    </Panel>
  );
}

/** Every count of replication, what was refused, not applied or not told by why. */
function told(all: ReplicationStatus): [string, number][] {
  const of = (kind: string, counts: Record<string, number>) => Object.entries(counts).map(([why, n]) => [`${kind}${why}`, n] as [string, number]);
  return [...of("", all.counts), ...of("refused: ", all.refused), ...of("not applied: ", all.rejected), ...of("not told: ", all.untold)];
}
