// Asks the daemon: one function a form of question. It keeps the token and decides nothing.
import type { Problem } from "./contract";
import { failures } from "./strings";

const KEPT = "steelyard-token";

/** A refusal, with the daemon's own words. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super([problem.detail ?? problem.title, problem.advice].filter(Boolean).join(": "));
  }
}

/** What a person can read and mend: no answer of the daemon, or a file that is not what it should be. */
export class Explained extends Error {}

/** What to show of an error: only texts that were written for people. Others are for the console. */
export function explanation(error: unknown, otherwise: string = failures.broken): string {
  if (error instanceof Refused || error instanceof Explained) return error.message;
  console.warn(error);
  return otherwise;
}

/** The token of this tab; it is gone when the tab is closed. */
export function token(): string {
  return sessionStorage.getItem(KEPT) ?? "";
}

export function keepToken(text: string): void {
  if (text) sessionStorage.setItem(KEPT, text);
  else sessionStorage.removeItem(KEPT);
}

/** Sends a request with the token; a refusal or no answer is thrown. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token()) headers.set("authorization", `Bearer ${token()}`);
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, headers, cache: "no-store" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Explained(failures.unreachable);
  }
  if (answer.ok) return answer;
  const kind = answer.headers.get("content-type") ?? "";
  if (!kind.startsWith("application/problem+json")) {
    throw new Explained(failures.unexplained(answer.status));
  }
  throw new Refused((await answer.json()) as Problem);
}

export async function look<T>(path: string, query: Record<string, string | number | undefined> = {}): Promise<T> {
  return (await send(path + queried(query))).json() as Promise<T>;
}

/** The configuration as it was written, and its generation. */
export async function written(): Promise<{ text: string; generation: number }> {
  const answer = await send("/v1/config?written=true");
  const tag = answer.headers.get("etag") ?? "";
  return { text: await answer.text(), generation: Number(tag.replaceAll('"', "")) };
}

export async function order<T>(path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method: "POST" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "content-type": "application/json" };
  }
  return (await send(path, init)).json() as Promise<T>;
}

export async function submit<T>(path: string, toml: string, query: Record<string, string | number>): Promise<T> {
  const init = { method: "POST", body: toml, headers: { "content-type": "application/toml" } };
  return (await send(path + queried(query), init)).json() as Promise<T>;
}

export function queried(query: Record<string, string | number | undefined>): string {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`);
  return parts.length ? `?${parts.join("&")}` : "";
}
