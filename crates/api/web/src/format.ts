// Numbers, times and sizes as people read them.
const SI = ["", "k", "M", "G", "T"];

export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value)) return value.toFixed(value < 0.1 ? 2 : 1);
  let [rest, at] = [value, 0];
  while (Math.abs(rest) >= 10_000 && at < SI.length - 1) [rest, at] = [rest / 1000, at + 1];
  return (at === 0 ? Math.round(rest).toLocaleString("en") : rest.toFixed(1)) + (SI[at] ?? "");
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [rest, at] = [value, 0];
  while (rest >= 1024 && at < units.length - 1) [rest, at] = [rest / 1024, at + 1];
  return `${rest < 10 && at > 0 ? rest.toFixed(1) : Math.round(rest)} ${units[at]}`;
}

export function micros(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : millis(value / 1000);
}

export function millis(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} µs`;
  if (value < 10) return `${value.toFixed(1)} ms`;
  return value < 10_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}

export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function moment(ms: number): string {
  const at = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function percent(value: number): string {
  return `${value < 10 && value > 0 ? value.toFixed(1) : Math.round(value)} %`;
}
