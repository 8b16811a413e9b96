// Puts a change into what is known: objects of a list are replaced by name, everything else is taken as it comes.
import type { StateUpdate } from "./contract";

type Named = { name: string };

export function merged(known: StateUpdate, change: StateUpdate): StateUpdate {
  return {
    ...change,
    status: {
      ...change.status,
      services: replaced(known.status.services, change.status.services),
      pools: pools(known.status.pools, change.status.pools),
    },
    report: {
      ...change.report,
      services: replaced(known.report.services, change.report.services),
      pools: pools(known.report.pools, change.report.pools),
    },
  };
}

function replaced<T extends Named>(known: T[], news: T[]): T[] {
  if (news.length === 0) return known;
  const by = new Map(news.map((one) => [one.name, one]));
  return known.map((one) => by.get(one.name) ?? one);
}

function pools<S extends Named, T extends Named & { servers: S[] }>(known: T[], news: T[]): T[] {
  if (news.length === 0) return known;
  const by = new Map(news.map((one) => [one.name, one]));
  return known.map((pool) => {
    const now = by.get(pool.name);
    return now ? { ...now, servers: replaced(pool.servers, now.servers) } : pool;
  });
}
