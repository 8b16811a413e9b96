// Every text that the page shows, by view, so that its language can be reviewed as a whole: docs/glossary.md has the
// terms. A column's name that begins with "#" is drawn to the right. Texts of the daemon (reasons, errors) are not here.

const plural = (count: number, one: string) => `${count} ${one}${count === 1 ? "" : "s"}`;

export const common = {
  all: "all", close: "Close", errors: "errors", filter: "Filter",
  filterOf: (what: string) => `Filter ${what}`,
  needs: (role: string) => `This needs a token with the role ${role}.`,
  no: "no", none: "none", p50: "p50", p99: "p99",
  per: (rate: string) => `${rate}/s`,
  received: (rate: string) => `received ${rate}/s`,
  refresh: "Refresh", requests: "requests", service: "Service",
  share: (part: string, whole: string) => `${part} of ${whole}`,
  unknown: "unknown", yes: "yes",
};

export const failures = {
  broken: "The page met an error of its own. Reload it; details are in the browser's console",
  ended: "the daemon ended the stream", lost: "the connection to the daemon was lost",
  silent: "nothing was received for a while",
  unexplained: (status: number) => `the daemon answered with status ${status} and no reason: see the daemon's log`,
  unreachable: "the daemon does not answer: check that it runs and that this address is reachable",
};

export const frame = {
  colours: "Colours", connecting: "connecting…", content: "Skip to content", live: "live",
  noConnection: "No connection.", noSuchView: "There is no such view.", product: "Steelyard",
  refused: "Access denied.", retrying: "; reconnecting.",
  running: (time: string) => `up for ${time}`,
  stale: (age: string) => `Stale: last update ${age} ago.`,
  tab: (name: string) => `${name} – Steelyard`,
  themes: { system: "system", light: "light", dark: "dark" },
  version: (version: string, generation: number) => `${version}, generation ${generation}`,
  views: "Views", waiting: "Waiting for the daemon…", withoutToken: "Nothing is shown without a valid token.",
};

export const token = {
  absent: "no token", command: "steelyard token operate NAME", forget: "Forget it",
  hint: "Without a token this machine may view. To create one:",
  kept: "The browser keeps it until this tab is closed.", title: "Token", use: "Use it",
};

/** Names of the views: in the menu and as their headings. */
export const views = {
  overview: "Overview", services: "Services", pools: "Pools", events: "Events and history", rules: "Rules",
  slow: "Slow requests", refused: "Refused requests", users: "SLOs", captures: "Captures", capacity: "Capacity",
  configuration: "Configuration", pair: "Virtual addresses", packets: "Packets", network: "Links and DNS",
  lab: "Benchmarks",
};

export const heat = {
  label: (label: string, requests: number, times: number) => `${label}: ${requests} requests at ${times} points in time`,
  longer: "longer",
};

export const editor = {
  hint: "Ctrl+Space shows the possible completions; arrow keys and Enter choose.", label: "Configuration",
  offers: "Completions",
  standard: (doc: string, standard: string) => `${doc} Default: ${standard}.`,
};

export const errors = {
  for: "for", head: ["Caused by", "#Per second", "#Since start"], figure: "Errors",
  note: (share: string, total: string) => `error rate ${share}; ${total} since start`,
  origins: {
    status: "5xx responses of servers",
    server: "failed servers",
    network: "unreachable servers",
    balancer: "balancer",
    all: "all errors",
    clients: "clients that disconnected (not errors)",
  },
};

export const overview = {
  alarms: (count: number) => `${plural(count, "alarm")}.`,
  alarmsTitle: "Alarms", allEvents: "all events", bad: "Latest warnings and errors",
  connections: "Client connections", descriptors: "File descriptors",
  fresh: (rate: string) => `${rate} new per second`,
  head: ["Service", "State", "For", "#Requests/s", "#Errors/s", "#Error rate", "#p99"],
  inFlight: (count: string) => `${count} in flight`,
  latency: "Latency", latencyChart: "Latency, last 15 minutes",
  limit: (count: string) => `limit ${count}`,
  more: (count: number) => `and ${count} more`,
  none: "None since the daemon started.",
  notices: (count: number) => ` ${plural(count, "notice")}.`,
  p50: (time: string) => `p50: ${time}`,
  quiet: "No alarms.", rate: "Requests per second", rateChart: "Requests per second, last 15 minutes",
  requests: "Requests", sent: "Sent to clients",
  size: (services: number, servers: number) => ` ${plural(services, "service")}, ${plural(servers, "server")}.`,
};

export const services = {
  causes: "Errors and aborts by cause", causesHead: ["Cause", "Origin", "#Per second", "#Since start"],
  certificates: "Certificates", certificatesHead: ["Names", "Kind", "Valid until", "File", "Problem"],
  classes: "Responses of servers", classesHead: ["Class", "#Per second", "#Since start"],
  connections: "Connections", distribution: "Latency distribution", errors: "Errors by origin",
  fresh: (rate: string) => `${rate} new per second`,
  for: "for", forwards: "Forwards", from: "from",
  head: ["Service", "State", "For", "Forwards", "Listens on", "Pool", "#Requests/s", "#Errors/s", "#Error rate", "Reason"],
  inFlight: (count: string) => `${count} in flight`,
  latency: "Latency",
  latencyOf: (name: string) => `Latency of ${name}`,
  more: (count: number) => ` and ${count} more`,
  noCauses: "None since the daemon started.", noDefects: "None since the daemon started.",
  packets: "Packets of this service are counted in the view", phases: "Latency by phase",
  phasesHead: ["Phase", "#Count", "#Mean", "#p50", "#p90", "#p99"], rate: "Requests per second",
  rateOf: (name: string) => `Requests per second of ${name}`,
  refused: "Refused and limited", refusedHead: ["Reason", "#Per second", "#Since start"],
  replayed: (rate: string) => `replayed ${rate}/s`,
  requests: "Requests", retries: "Retries", sent: "Sent", toPool: "to pool",
  unknown: (name: string) => `There is no service ${name}.`,
};

export const pools = {
  columns: {
    server: "Server", state: "State", since: "For", check: "Last check", weight: "Weight", inFlight: "Active requests",
    rate: "Requests/s", errors: "Error rate", p99: "p99", commands: "Commands",
  },
  command: (command: string, server: string) => `${command} ${server}`,
  counts: "Retries and hedging", countsHead: ["Counter", "#Per second", "#Since start"],
  disable: "Disable", disableHint: "Gets no requests", drain: "Drain",
  drainHint: "Finishes active requests, gets no new ones", enable: "Enable",
  head: ["Pool", "Policy", "Healthy", "Other servers", "#Requests/s", "#Errors/s", "#Error rate", "Services"],
  servers: "Servers",
  summary: (up: number, all: number, policy: string) => `${up} of ${all} healthy, policy ${policy}`,
  unknown: (name: string) => `There is no pool ${name}.`,
  viewOnly: " You can view.",
  weightOf: (server: string) => `Weight of ${server}`,
  why: "Why?",
  whyLabel: (server: string) => `Why ${server}`,
};

export const weight = {
  by: (weight: number, who: string) => `${weight} by ${who}`,
  head: ["What", "Value"], label: "Weight",
  rows: {
    rank: "rank", available: "available", share: "share of the pool's weights", configured: "configured weight", operator: "operator's weight",
    adaptive: "adaptive weight", slowStart: "slow start", active: "effective weight", ejected: "ejected",
  },
  title: (server: string) => `Weight of ${server}, explained`,
};

export const events = {
  auditHead: ["#Record", "When", "Command", "Who", "Before", "After", ""], audit: "Audit log",
  by: (who: string, way: string) => `${who} by ${way}`,
  chart: (what: string, name: string) => `${what} of ${name}`,
  covered: (from: string, to: string, known: string, records: number) => `From ${from} to ${to}: ${known} of it is recorded, in ${records} records.`,
  draw: "Show as chart", earlier: "Earlier", goThere: "Go to that time", historyFilter: "Filter history",
  historyHead: ["Name", "Over time", "", "Per second", "Worst"],
  historyTitle: "History", later: "Later", level: "Lowest level",
  levels: { info: "info and above", warning: "warnings and above", error: "errors" },
  lost: (count: number) => `${count} updates were skipped because the page was too slow for them.`,
  noAudit: "No commands were recorded in that time.", noEvents: "No matching events.",
  noHistory: "Nothing was recorded in that time. The history gets a record each history.step (default: one minute).",
  now: "Now", past: "Events of that time", position: "How far back",
  spans: { quarter: "15 minutes", hour: "1 hour", six: "6 hours", day: "1 day", week: "7 days" },
  title: "Events", time: "Time span", undo: "Undo",
  worst: (count: number, what: string, when: string) => `${count} ${what} at ${when}`,
};

export const rules = {
  client: "Client", decide: "Which rule matches?",
  empty: "No service has rules: every request goes to its service's pool.", headers: "Header fields, one per line",
  head: ["#", "Rule", "When", "Action", "#Matches", "Last match", "#In flight", "#Rate limited", "#Skipped", "#Bytes"],
  matches: "matches:", method: "Method",
  more: (count: number) => `and ${count} more that do not match`,
  never: "never", noRule: "No rule matches, so the request goes to the service's pool.",
  of: (name: string) => `Rules of ${name}`,
  pool: "Pool",
  poolShare: (share: string, policy: string) => ` gets ${share}, policy ${policy}.`,
  rule: (place: number) => `Rule ${place}`,
  sends: (target: string) => `; the server gets ${target}`,
  servers: "Servers", serversHead: ["Server", "State", "Eligible", "Reason"],
  tryTitle: "Try a request", url: "URL or path",
  urlExample: "http://shop.example/cart", headerExample: "cookie: group=b", clientExample: "192.0.2.1", withUrl: "from the URL",
};

export const slow = {
  clients: "By client network", duration: "In the last",
  durations: { minute: "minute", five: "5 minutes", quarter: "15 minutes" },
  empty: "No requests in that time.", examples: "Slowest requests",
  examplesHead: ["Ended", "Client", "Server", "#Status", "#Total", "Largest parts"],
  examplesOf: (name: string) => `Slowest requests of ${name}`,
  failed: "Failed requests",
  failedHead: ["Error", "Origin", "#Count", "#Share", "First", "Last", "Servers", "Clients", "What to check"],
  failedOf: (name: string) => `Failed requests of ${name}`,
  groupHead: ["Name", "#Requests", "#Seconds", "Main reason"], off: "Nothing is measured: global.sample is off.",
  reasonHead: ["Caused by", "Reason", "#Share", "", "What to change"],
  reasonsOf: (name: string) => `Reasons of ${name}`,
  seconds: (owner: string, seconds: string) => `${owner}: ${seconds} s`,
  servers: "By server", share: "Slowest",
  summary: (slowest: string, all: string, quickest: string, seconds: string, measured: string) =>
    `${slowest} of ${all} requests, each at least ${quickest}, ${seconds} s in total. ${measured} of ${all} were measured.`,
  title: "Which requests",
};

export const watched = {
  done: (done: string, refused: string, unanswered: string, unacknowledged: string, unfinished: string) =>
    `${done} complete, ${refused} refused, ${unanswered} unanswered, ${unacknowledged} not acknowledged, ${unfinished} incomplete for any reason.`,
  handshakeHead: ["Part", "#Count", "#p50", "#p95", "#Max"], handshakes: "Handshakes",
  handshakesOf: (name: string) => `Handshakes of ${name}`,
  parts: { server: "round trip to the server", client: "round trip to the client", whole: "total" },
  sideHead: ["From", "#Packets", "#Lost after us", "#Lost before us", "#Reordered", "#Zero windows", "#Silly windows", "#Resets"],
  sides: { clients: "clients", servers: "servers" },
  sidesOf: (name: string) => `Packets of ${name} by sender`,
  sidesTitle: "Packets by sender",
  summary: (watched: string, sample: string, seconds: string) => `${watched} connections were sampled (${sample}): they stalled for ${seconds} s in total.`,
  title: (name: string, forward: string) => `${name} (${forward})`,
  sample: (each: number) => `1 in ${each}`,
  sampleOff: "sampling is off now",
};

export const refused = {
  at: (byte: number) => ` at byte ${byte}`,
  empty: "No requests were refused.",
  head: ["When", "Service", "Client", "Reason", "Found", "#Status", "Host", "Request"],
  kept: (room: number, share: number, older: string, beyond: string) =>
    `The last ${room} are kept, at most ${share} per client. No longer kept: ${older} older ones, ${beyond} of clients above their share.`,
};

export const users = {
  available: "available", causes: "Failed requests by cause", causesHead: ["Cause", "#Requests"],
  causesOf: (name: string) => `Failed requests of ${name}`,
  fast: (ms: number) => ` within ${ms} ms`,
  head: ["Client network", "#Fast", "#Slow", "#Failed", "#Aborted", "#Denied", "#Availability", "#Fast share", "TCP errors"],
  hour: "Last hour", networks: "By client network",
  networksOf: (name: string) => `Client networks of ${name}`,
  noCauses: "None.", none: "No service has an SLO: set objective in [service.NAME].",
  others: (most: number) => `all beyond ${most} networks`,
  over: (target: string, what: string, within: string, span: string) => `${target} ${what}${within} over ${span}`,
  raised: "for",
  sloHead: ["Objective", "#Actual", "#Requests", "#Bad", "#Error budget left", "", "Burn rate", "Alarm"],
  slosOf: (name: string) => `SLOs of ${name}`,
  title: "SLOs",
  hourOf: (name: string) => `Requests of ${name}`,
};

export const captures = {
  badGzip: (name: string) => `${name}: the gzip data is damaged or truncated: record or copy the capture again`,
  drop: "Drop a capture here",
  dropHint: "pcap or pcapng, optionally gzip, up to 64 MiB: which side took the time, and why",
  empty: "No captures are stored.", emptyWithoutRules: "No captures are stored: there is no table [capture.NAME].",
  explain: "Explain",
  explainOf: (name: string) => `Explain ${name}`,
  explanation: (name: string) => `Explanation of ${name}`,
  head: ["When", "Rule", "Reason", "#Size", "File", ""],
  rules: (rules: string, made: number, failed: number) => `Rules: ${rules}. ${plural(made, "capture")} written, ${failed} failed.`,
  stored: "Stored captures", taking: " (recording)", title: "Explain a capture", working: "Working…",
};

export const capacity = {
  first: (kind: string) => `First limit: ${kind}`,
  firstAt: (rate: string, change: string) => `, at ${rate} requests per second. To raise it: ${change}.`,
  head: ["Limit", "#Used", "", "#Requests/s", "#Connections/s", "Reason"],
  limitsOf: (name: string) => `Limits of ${name}`,
  measured: (request: string, response: string, perConnection: string, life: string, reuse: string) =>
    `Measured: requests of ${request}, responses of ${response}, ${perConnection} requests per connection of ${life}, ${reuse} per connection to a server.`,
  method: "Limits are computed from measured traffic, for each service as if it ran alone. Usage is from current rates.",
  noServices: "No service is configured.",
  now: (requests: string, connections: string) => `${requests} requests and ${connections} connections per second now. `,
  perRequest: (time: string) => `${time} µs of CPU time per request`,
  ports: "Fewest source ports left", portsIdle: "per address; none is in use",
  portsTo: (destination: string) => `towards ${destination}`,
  processors: "CPUs", tooFew: "too few requests to measure CPU time per request",
  descriptors: "File descriptors left",
  title: (name: string, forward: string) => `${name} (${forward})`,
  unmeasured: "No traffic yet: the forecast uses typical values.",
};

export const configuration = {
  active: "active", apply: "Apply",
  applied: (generation: number) => `Generation ${generation} is active`,
  applying: ", workers are switching to it", discard: "Discard",
  editing: "Text and changes need it; generations are shown below.",
  expected: (expected: string) => `; expected ${expected}`,
  findings: (count: number) => plural(count, "finding"),
  generations: "Generations",
  global: (key: string) => `global: ${key}`,
  head: ["#Generation", "When", "Who", "From", ""],
  line: (line: number) => `line ${line}`,
  moved: (generation: number) => `Generation ${generation} is active now. Refresh first: changes to an older generation are rejected.`,
  next: (key: string) => `${key}: takes effect after a restart`,
  noGenerations: "No generations are stored.", nothing: "Valid; nothing would change.",
  object: (kind: string, name: string, keys: string) => `${kind} ${name}: ${keys}`,
  pool: "pool",
  removed: (what: string, name: string) => `− ${what} ${name}`,
  restore: "Restore", same: "Same as the active configuration.", service: "service",
  suggestion: (word: string) => `; did you mean ${word}?`,
  title: (generation: number) => `Text of generation ${generation}`,
  would: "Valid; this would change:",
  added: (what: string, name: string) => `+ ${what} ${name}`,
  working: "Checking…",
};

export const pair = {
  backup: (peer: string, priority: string) => `Last active member seen: ${peer}, priority ${priority}.`,
  changesHead: ["When", "State", "Reason"],
  changesOf: (name: string) => `Changes of ${name}`,
  countsHead: ["Counter", "#Count"],
  countsOf: (name: string) => `Counters of ${name}`,
  dropped: (reason: string) => `dropped: ${reason}`,
  empty: "No address is shared with another machine: there is no table [vrrp.NAME].", for: "for",
  heartbeat: (peer: string) => `Heartbeat with ${peer}`,
  notApplied: (reason: string) => `not applied: ${reason}`,
  notSent: (reason: string) => `not sent: ${reason}`,
  nobody: "No other member was seen.", on: "on",
  numbers: (id: number, priority: number) => `, router id ${id}, priority ${priority}. `,
  pathHead: ["Path", "State", "Reason", "#Round trip", "#Loss", "Rejected"],
  pathsTo: (peer: string) => `Paths to ${peer}`,
  peer: (version: string, generation: string, own: number) => `Peer: version ${version}, generation ${generation}. This machine: generation ${own}. `,
  reaches: (all: number, peer: string, own: string) => `Of ${all} targets the peer reaches ${peer}, this machine ${own}.`,
  rejected: (reason: string) => `rejected: ${reason}`,
  replication: (peer: string, state: string) => `Flow replication with ${peer}: ${state}`,
  takeOver: "Take over", targetHead: ["Target", "State", "#Answered", "#Unanswered"],
  targets: "Targets that must be reachable", unknownCount: "an unknown number",
};

export const packets = {
  restored: "kept from the previous process",
  broken: (reason: string) => `Nothing is forwarded: ${reason}`,
  connections: (flows: string, halfOpen: string) => `${flows} connections, ${halfOpen} of them half-open.`,
  created: "created by this process", empty: "No service forwards packets.",
  evicted: (count: string) => `${count} evicted for new ones`,
  flows: "Flows", fromAny: "chosen by the kernel", halfOpen: "✕ half-open", hops: "Next hops",
  hopsHead: ["Address", "State", "Servers", ""],
  inAll: (count: string) => `${count} in total`,
  interfaces: "Interfaces", interfacesHead: ["Interface", "Attached", "Problem"],
  memory: "Table memory", nothing: "No packets arrived.", outcomes: "Packets by outcome",
  outcomesHead: ["Outcome", "#Per second", "#Total", "Meaning"],
  ports: "Source ports towards servers", portsEmpty: "No connections to servers are open.",
  portsHead: ["From", "To", "#In use", "#Left", ""], received: "Received",
  serversHead: ["Server", "#Connections", "#New/s", "#In/s", "#Out/s"],
  serversOf: (name: string) => `Servers of ${name}`,
  title: (name: string, forward: string) => `${name} (${forward})`,
  transient: "briefly above 0 while packets arrive", unaccounted: "Unaccounted",
};

export const network = {
  answer: "Show the answer",
  bundle: (name: string) => `Bundle ${name}`,
  bundleNote: (policy: string, mtu: string, skew: string, counts: string, dropped: string) =>
    `. Policy ${policy}, MTU ${mtu} bytes, delay difference of links ${skew}. Counters: ${counts}; dropped: ${dropped}.`,
  candidates: "Candidates", candidatesHead: ["Server", "Addresses", "#Share", "Reason"], connections: "Connections",
  connectionsHead: ["Local", "Remote", "#Sent", "#Received", "Subflows"],
  empty: "There is no [link.NAME], [uplink.NAME], [mptcp] or [names.ZONE].",
  endpoints: (count: string, addresses: string) => `${count} connections. Endpoints: ${addresses}.`,
  fallback: " ✕ fallback", from: "Client address",
  linksHead: ["Link", "State", "Reason", "Via", "#Packets", "#Bytes", "#Round trip", "#Loss", "#Reorder delay"],
  linksOf: (name: string) => `Links of ${name}`,
  mptcp: "Multipath TCP", name: "Name", names: "DNS names",
  namesHead: ["Name", "Policy", "Healthy", "#Addresses given", "#TTL, s", "Responses"], nothing: "nothing",
  subflow: (local: string, sent: string, time: string) => `${local}: ${sent}, ${time}`,
  tryTitle: "Try a query", uplinks: "Uplinks",
  uplinksHead: ["Uplink", "State", "Reason", "Gateway", "#Share", "", "#Round trip", "#Loss", "#Connections"],
  zones: (zones: string, listen: string) => `Zones: ${zones}. Listening on ${listen}.`,
};

export const lab = {
  clear: "Clear",
  compared: (name: string) => `Compared: ${name}`,
  comparison: "Comparison", comparisonHead: ["Test", "Metric", "#Before", "#After", "#Difference", "Result"],
  drop: "Drop results here",
  dropHint: "files written by steelyard bench -o or steelyard compare --json; they stay in this browser",
  empty: "No results yet.", head: ["Test", "Metric"], incomplete: ", incomplete",
  madeBy: (version: string, kind: string, complete: string) => `steelyard ${version}, ${kind}${complete}`,
  notJson: (name: string) => `${name}: the file is not JSON: drop a file written by steelyard bench -o or steelyard compare --json`,
  notResult: (name: string) => `${name}: the file is neither a result of steelyard bench -o nor of steelyard compare --json`,
  range: (least: string, most: string, runs: number) => `${least}–${most}, ${plural(runs, "run")}`,
  results: "Results", rows: { when: "date", version: "version", host: "host" }, title: "Results side by side",
};
