// Holds the stream open: reads it, notices silence, comes again by itself. What is in it goes to the store.
import { Explained, Refused, explanation, look, send } from "./api";
import type { Event, Events, LostUpdates, Me, StateUpdate } from "./contract";
import { merged } from "./merge";
import { addEvents, known, take, tell } from "./store";
import { failures } from "./strings";

/** Between two attempts, milliseconds: at first and at most. */
const FIRST = 500;
const MOST = 5_000;
/** Silence of so many steps, and at least of so long, means that what is shown is old. */
const STEPS = 3;
const SILENCE = 4_000;

let run = 0;
let stop = new AbortController();
let pause = FIRST;
let timer = 0;

/** Opens the stream, anew if there is one. */
export function follow(): void {
  run += 1;
  stop.abort();
  stop = new AbortController();
  clearTimeout(timer);
  void attempt(run);
}

setInterval(() => {
  const step = known.scene?.["next-ms"] ?? 1_000;
  if (known.link.is === "live" && Date.now() - known.heard > Math.max(SILENCE, STEPS * step)) {
    broken(failures.silent);
    follow();
  } else if (known.link.is === "broken") {
    tell();
  }
}, 500);

async function attempt(mine: number): Promise<void> {
  try {
    known.me = await look<Me>("/v1/me");
    const answer = await send("/v1/stream", { signal: stop.signal });
    const kept = await look<Events>("/v1/events");
    if (mine !== run) return;
    known.events = [];
    addEvents(kept.events);
    pause = FIRST;
    await read(answer, mine);
    throw new Explained(failures.ended);
  } catch (error) {
    if (mine !== run) return;
    if (error instanceof Refused && (error.problem.status === 401 || error.problem.status === 403)) {
      known.link = { is: "refused", why: error.message };
      known.me = null;
      tell();
      return;
    }
    broken(explanation(error, failures.lost));
    pause = Math.min(pause * 2, MOST);
    timer = window.setTimeout(follow, pause);
  }
}

function broken(why: string): void {
  const since = known.link.is === "broken" ? known.link.since : Date.now();
  known.link = { is: "broken", why, since, again: Date.now() + pause };
  tell();
}

async function read(answer: Response, mine: number): Promise<void> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let held: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done || mine !== run) return;
    // A frame ends with an empty line; one of megabytes comes in many parts.
    let rest = value;
    if (held.length && held[held.length - 1]!.endsWith("\n") && rest.startsWith("\n")) {
      frame(held.join(""));
      held = [];
      rest = rest.slice(1);
    }
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      held.push(rest.slice(0, end));
      frame(held.join(""));
      held = [];
      rest = rest.slice(end + 2);
    }
    if (rest) held.push(rest);
  }
}

function frame(text: string): void {
  let kind = "";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (kind === "state") take(JSON.parse(data) as StateUpdate);
  else if (kind === "change" && known.scene) take(merged(known.scene, JSON.parse(data) as StateUpdate));
  else if (kind === "event") addEvents([JSON.parse(data) as Event]);
  else if (kind === "lost") known.lost += (JSON.parse(data) as LostUpdates).updates;
}
