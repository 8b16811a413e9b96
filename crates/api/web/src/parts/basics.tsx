// Small parts that every view uses: states, panels, figures, errors, buttons that ask the daemon.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { explanation } from "../api";
import { span, moment } from "../format";
import { known } from "../store";
import { common } from "../strings";

const GLYPHS: Record<string, string> = {
  up: "●", alive: "●", active: "●", ok: "●", reached: "●",
  degraded: "◐", warning: "◐", notice: "○", "one-way": "◐", drain: "◐", draining: "◐", unknown: "○", standby: "○", trying: "○",
  down: "✕", dead: "✕", error: "✕", lost: "✕", disabled: "■", idle: "■",
};

/** A state by word, glyph and colour, so that none of them is needed alone. */
export function State({ is }: { is: string }) {
  return <span class={`state is-${is}`}><span aria-hidden="true">{GLYPHS[is] ?? "○"}</span> {is}</span>;
}

/** How long something has been so, counted from the daemon's clock. */
export function Since({ at }: { at: number }) {
  const now = known.scene?.status["now-unix-ms"] ?? at;
  return <time dateTime={new Date(at).toISOString()} title={moment(at)}>{span(now - at)}</time>;
}

export function Panel({ title, children, aside, wide }: { title: string; children: ComponentChildren; aside?: ComponentChildren; wide?: boolean }) {
  return (
    <section class={wide ? "panel wide" : "panel"} aria-label={title}>
      <header><h2>{title}</h2>{aside}</header>
      {children}
    </section>
  );
}

export function Figure({ name, value, note, bad }: { name: string; value: string; note?: string; bad?: boolean }) {
  return (
    <div class={bad ? "figure bad" : "figure"}>
      <div class="name">{name}</div>
      <div class="value">{value}</div>
      <div class="note">{note ?? "\u00a0"}</div>
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Wrong({ why }: { why: string }) {
  return why ? <p class="wrong" role="alert">{why}</p> : null;
}

/** A part of a whole. */
export function Bar({ share, kind }: { share: number; kind?: string }) {
  const width = `${Math.max(0, Math.min(100, share))}%`;
  return <span class={`bar ${kind ?? ""}`} aria-hidden="true"><span style={{ width }} /></span>;
}

/** Runs something that asks the daemon: says while it runs, and what went wrong. */
export function useAsking(): { busy: boolean; wrong: string; run: (what: () => Promise<void>) => void } {
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState("");
  const run = (what: () => Promise<void>) => {
    setBusy(true);
    setWrong("");
    what()
      .catch((error: unknown) => setWrong(explanation(error)))
      .finally(() => setBusy(false));
  };
  return { busy, wrong, run };
}

const ORDER = ["view", "operate", "configure"];

export function may(role: "view" | "operate" | "configure"): boolean {
  return known.me !== null && ORDER.indexOf(known.me.role) >= ORDER.indexOf(role);
}

/** What to say where somebody may not. */
export function needs(role: string): string {
  return common.needs(role);
}

/** A plain table of a few rows. */
export function Rows({ head, rows, label }: { head: string[]; rows: ComponentChildren[][]; label: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead><tr>{head.map((name) => <th scope="col" class={name.startsWith("#") ? "right" : ""}>{name.replace("#", "")}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => <tr>{row.map((cell, at) => <td class={head[at]?.startsWith("#") ? "right" : ""}>{cell}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}
