// What the page knows: the latest scene, events, who asks, and the last minutes of rates. Views read it and redraw.
import { useEffect, useState } from "preact/hooks";
import type { Event, Me, StateUpdate, ServiceReport, Report } from "./contract";

/** Points of each line that are kept: a quarter of an hour at one a second. */
const POINTS = 900;
/** Events that are kept. */
const EVENTS = 500;

export type Link =
  | { is: "connecting" }
  | { is: "live" }
  | { is: "broken"; why: string; since: number; again: number }
  | { is: "refused"; why: string };

/** Rates of the last minutes, one array a line. */
export interface Lines {
  at: number[];
  requests: number[];
  failed: number[];
  p50: (number | null)[];
  p99: (number | null)[];
  open: number[];
  /** How times of each moment lie, by doublings. */
  octaves: number[][];
}

export interface Known {
  scene: StateUpdate | null;
  /** When the latest update came, by the browser's clock. */
  heard: number;
  link: Link;
  events: Event[];
  lost: number;
  me: Me | null;
  lines: Map<string, Lines>;
}

/** The line of all services together. */
export const ALL = "";

export const known: Known = {
  scene: null,
  heard: 0,
  link: { is: "connecting" },
  events: [],
  lost: 0,
  me: null,
  lines: new Map(),
};

const readers = new Set<() => void>();
let drawing = false;

/** Has every view that reads the store draw itself, at most once a frame. */
export function tell(): void {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    readers.forEach((reader) => reader());
  });
}

export function useKnown(): Known {
  const [, again] = useState(0);
  useEffect(() => {
    const reader = () => again((n) => n + 1);
    readers.add(reader);
    return () => void readers.delete(reader);
  }, []);
  return known;
}

/** Takes a new scene, and its rates into the lines. */
export function take(scene: StateUpdate): void {
  known.scene = scene;
  known.heard = Date.now();
  known.link = { is: "live" };
  const report = scene.report;
  point(ALL, report["now-unix-ms"], report.total);
  for (const service of report.services) point(service.name, report["now-unix-ms"], service);
  for (const name of known.lines.keys()) {
    if (name !== ALL && !report.services.some((service) => service.name === name)) known.lines.delete(name);
  }
  tell();
}

export function addEvents(events: Event[]): void {
  known.events = [...known.events, ...events].slice(-EVENTS);
  tell();
}

export function phase(counts: { phases: Array<{ phase: string } & Record<string, unknown>> }, name: string, key: string): number | null {
  const found = counts.phases.find((one) => one.phase === name);
  const value = found?.[key];
  return typeof value === "number" ? value : null;
}

function point(name: string, at: number, counts: Report["total"] | ServiceReport): void {
  let lines = known.lines.get(name);
  if (!lines) {
    lines = { at: [], requests: [], failed: [], p50: [], p99: [], open: [], octaves: [] };
    known.lines.set(name, lines);
  }
  const p50 = phase(counts, "total", "p50-us");
  const p99 = phase(counts, "total", "p99-us");
  lines.at.push(at / 1000);
  lines.requests.push(counts.requests.requests.rate);
  lines.failed.push(counts.errors?.errors.rate ?? 0);
  lines.p50.push(p50 === null ? null : p50 / 1000);
  lines.p99.push(p99 === null ? null : p99 / 1000);
  lines.open.push(counts.connections.open);
  lines.octaves.push(counts.phases.find((one) => one.phase === "total")?.histogram ?? []);
  if (lines.at.length > POINTS) for (const line of Object.values(lines)) (line as unknown[]).shift();
}
