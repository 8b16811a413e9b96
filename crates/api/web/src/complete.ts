// What may be written at a place of a configuration's text: keys of the table around it, words of a key, headers.
// It knows no key itself: the daemon says which there are.
import type { ReferenceTable } from "./contract";
import { editor as labels } from "./strings";

export interface Choice { word: string; note: string }
export interface Offer { from: number; choices: Choice[] }

/** Choices that are offered at once. */
const MOST = 60;

export function offer(text: string, caret: number, tables: ReferenceTable[]): Offer {
  const before = text.slice(0, caret);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  if (/^\s*#/.test(line)) return { from: caret, choices: [] };
  const header = /^\s*(\[\[?[^\]\n]*)$/.exec(line);
  if (header) return headers(header[1]!, caret, tables);
  const place = around(before);
  const table = tables.find((one) => fits(one.path, place.path));
  const typed = /"?[A-Za-z0-9-]*$/.exec(line)?.[0] ?? "";
  const from = caret - typed.length;
  if (!place.value) {
    const keys = (table?.keys ?? []).map((key) => ({ word: key.name, note: labels.standard(key.doc, key.default) }));
    return { from, choices: matching(keys, typed) };
  }
  const key = table?.keys.find((one) => one.name === place.key);
  if (!key) return { from, choices: [] };
  const words = place.key === "pool" || place.key === "fallback" ? [...text.matchAll(/^\[pool\.([a-z0-9-]+)\]/gm)].map((found) => `"${found[1]}"`) : [];
  for (const found of key.value.matchAll(/"[a-z0-9-]+"|`[a-z0-9-]+`/g)) words.push(`"${found[0].slice(1, -1)}"`);
  if (/true/.test(key.value)) words.push("true", "false");
  return { from, choices: matching(words.map((word) => ({ word, note: key.doc })), typed) };
}

function headers(typed: string, caret: number, tables: ReferenceTable[]): Offer {
  const all = tables.map((table) => ({ word: table.list ? `[[${table.path}]]` : `[${table.path}]`, note: "" }));
  return { from: caret - typed.length, choices: matching(all, typed) };
}

function matching(choices: Choice[], typed: string): Choice[] {
  const wanted = typed.toLowerCase();
  const bare = wanted.replace(/^"/, "");
  const fit = choices.filter(({ word }) => word !== typed && (word.startsWith(wanted) || word.startsWith(`"${bare}`) || (bare.length > 1 && word.includes(bare))));
  return [...new Map(fit.map((one) => [one.word, one])).values()].slice(0, MOST);
}

/** The table around the end of a text, and whether a value is to follow there and of which key. */
function around(before: string): { path: string[]; key: string; value: boolean } {
  let path: string[] = [];
  let key = "";
  let value = false;
  let word = "";
  const held: { key: string; path: string[] }[] = [];
  let lists = 0;
  for (const part of before.matchAll(/#[^\n]*|"(?:[^"\\\n]|\\.)*"?|^[ \t]*\[\[?[^\]\n]*\]?\]?|[A-Za-z0-9-]+|[={}[\],\n]/gm)) {
    const [token] = part;
    if (token.startsWith("#")) continue;
    const header = held.length + lists === 0 ? /^\s*\[\[?([^\]\n]+)\]/.exec(token) : null;
    if (header) [path, key, value] = [header[1]!.split(".").map((one) => one.trim()), "", false];
    else if (token === "=") [key, value] = [word, true];
    else if (token === "{") {
      held.push({ key, path });
      [path, key, value] = [[...path, key], "", false];
    } else if (token === "}") {
      const outer = held.pop();
      if (outer) ({ key, path } = outer);
    } else if (token.trim() === "[") lists += 1;
    else if (token === "]") lists = Math.max(0, lists - 1);
    else if (token === ",") value = lists > 0 && held.length === 0;
    else if (token === "\n") value = value && lists > 0;
    else word = token;
  }
  return { path, key, value };
}

function fits(pattern: string, path: string[]): boolean {
  const parts = pattern.split(".");
  return parts.length === path.length && parts.every((part, at) => part === "NAME" || part === path[at]);
}
