// Errors as every view shows them: how many, their share with the colour of its level, and who caused them.
import type { ErrorCounts, StandingAlarm } from "../contract";
import { number } from "../format";
import { common, errors as labels } from "../strings";
import { Figure, Rows, Since, State } from "./basics";

/** Percent from which a share is red or amber: the same as in the daemon. */
const RED = 5;
const AMBER = 1;

/** `bad`, `doubt` or nothing. */
export function level(errors: ErrorCounts | undefined): "" | "bad" | "doubt" {
  const percent = errors?.percent ?? 0;
  return percent >= RED ? "bad" : percent >= AMBER ? "doubt" : "";
}

/** A share as text: `12.5 %`. */
export function share(errors: ErrorCounts | undefined): string {
  const percent = errors?.percent;
  if (percent === null || percent === undefined) return "–";
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  return `${percent > 0 && percent < 99.95 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** A share in the colour of its level. */
export function Share({ of }: { of: ErrorCounts | undefined }) {
  return <span class={level(of)}>{share(of)}</span>;
}

/** All errors in one figure. */
export function ErrorFigure({ of }: { of: ErrorCounts | undefined }) {
  return (
    <Figure
      name={labels.figure} value={common.per(number(of?.errors.rate ?? 0))} bad={level(of) === "bad"}
      note={labels.note(share(of), number(of?.errors.total ?? 0))}
    />
  );
}

/** Errors by who caused them, and their sum. */
export function ErrorRows({ of, label }: { of: ErrorCounts | undefined; label: string }) {
  if (!of) return null;
  const rows = [
    [labels.origins.status, of["server-5xx"]], [labels.origins.server, of.server], [labels.origins.network, of.network],
    [labels.origins.balancer, of.balancer], [labels.origins.all, of.errors], [labels.origins.clients, of.client],
  ] as const;
  return <Rows label={label} head={labels.head} rows={rows.map(([name, one]) => [name, number(one.rate), number(one.total)])} />;
}

/** Where the alarms of an object are explained. */
function place(alarm: StandingAlarm): string {
  const [kind = "", name = ""] = alarm.subject.split(" ");
  const part = encodeURIComponent(name.split("/")[0] ?? "");
  if (alarm.name === "slo-burn") return "#/users";
  if (kind === "service") return `#/service/${part}`;
  if (kind === "server" || kind === "pool") return `#/pool/${part}`;
  if (kind === "link" || kind === "uplink") return "#/network";
  if (kind === "heartbeat") return "#/pair";
  return kind === "packets" ? "#/packets" : "#/capacity";
}

/** Standing alarms, the gravest first. */
export function Alarms({ alarms }: { alarms: StandingAlarm[] }) {
  return (
    <>
      {alarms.map((one) => (
        <li>
          <State is={one.severity} /> <a href={place(one)}>{one.subject}</a>
          {typeof one["since-unix-ms"] === "number" && <> {labels.for} <Since at={one["since-unix-ms"]} /></>}: {one.reason}
        </li>
      ))}
    </>
  );
}
