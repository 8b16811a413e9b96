// What the API says, written from its types by a test; not by hand.
// It holds types alone: nothing of it is in the built page.

export type Admin = "enabled" | "drain" | "disabled";

export type AffinityReport = { "evicted": number; "found": number; "held": number; "most": number; "put": number };

export type AlarmSeverity = "error" | "warning" | "notice";

export type Applied = { "changed": boolean; "confirmed": boolean; "effects": Array<string>; "generation": number; "needs-restart": Array<string>; "repeats"?: (number | null); "saved"?: (string | null); "unkept"?: Array<string>; "warnings": Array<Finding> };

export type Audit = { "failures": number; "records": Array<AuditRecord>; "unreadable": number };

export type AuditRecord = { "action": string; "after": string; "at-unix-ms": number; "before": string; "id": number; "part-of"?: (number | null); "reversible"?: boolean; "saved"?: (string | null); "target": string; "undoes"?: (number | null); "way": string; "who": string };

export type BeatPathStatus = { "loss": number; "name": string; "not-sent": number; "reason": string; "received": number; "refused": Record<string, number>; "round-trip-us"?: (number | null); "sent": number; "since-unix-ms": number; "state": string };

export type Bound = "connections" | "pending" | "requests" | "retries";

export type BreakerStatus = { "bound": Bound; "in-use": number; "limit": number; "open": boolean; "refused": number; "since-unix-ms": number };

export type BundleStatus = { "counts": Record<string, number>; "dropped": Record<string, number>; "gap-us"?: (number | null); "links": Array<LinkStatus>; "mtu": number; "name": string; "policy": string; "reason": string; "skew-us": number; "state": string };

export type BurnAlarm = { "factor": number; "long": BurnSpan; "name": string; "reason"?: (string | null); "short": BurnSpan; "since-unix-ms"?: (number | null) };

export type BurnSpan = { "bad": number; "burn"?: (number | null); "operations": number; "span-ms": number };

export type Bytes = { "received": Counter; "sent": Counter; "spliced": Counter };

export type Candidate = { "address"?: (string | null); "because": string; "may": boolean; "name": string; "pool": string; "state": ServerState };

export type Capacity = { "interval-ms": number; "machine": CapacityMachine; "now-unix-ms": number; "services": Array<CapacityService> };

export type CapacityDemand = { "connections-per-second": number; "life-ms": number; "measured": boolean; "per-connection": number; "per-server-connection": number; "request-bytes": number; "requests-per-second": number; "response-bytes": number };

export type CapacityLimit = { "because": string; "change": string; "connections-per-second": number; "kind": string; "requests-per-second": number; "used-percent": number };

export type CapacityMachine = { "descriptors": number; "ports": number; "processors": number; "request-us"?: (number | null) };

export type CapacityService = { "carries": CapacityDemand; "forward": string; "limits": Array<CapacityLimit>; "name": string };

export type Capture = { "about": string; "at-unix-ms": number; "bytes": number; "file": string; "name": string; "rule": string };

export type CaptureAction = "start" | "stop";

export type CaptureRule = { "name": string; "taking": boolean; "waits-ms": number };

export type Captures = { "captures": Array<Capture>; "failed": number; "made": number; "packets-dropped": number; "packets-evicted": number; "packets-kept": number; "rules": Array<CaptureRule>; "trouble"?: (string | null) };

export type CauseCount = { "cause": string; "rate": number; "side": Side; "total": number };

export type CertificateStatus = { "expires-unix-ms": number; "file": string; "kind": string; "names": Array<string>; "since-unix-ms": number; "stapled": boolean; "trouble"?: (string | null) };

export type Changed = { "keys": Array<KeyChange>; "name": string };

export type Changes = { "added": Array<string>; "changed": Array<Changed>; "removed": Array<string> };

export type ConfigKeys = { "tables": Array<KeyTable> };

export type Connections = { "accepted": Counter; "closed": Counter; "open": number; "refused": Counter; "unaccounted": number };

export type Counter = { "rate": number; "total": number };

export type Descriptors = { "in-use": number; "limit": number };

export type Draining = { "connections": number; "in-flight": number; "reason": string; "since-unix-ms": number; "until-unix-ms"?: (number | null); "what": string };

export type Drift = { "edited"?: boolean; "file"?: string; "kept"?: boolean; "keys"?: Array<string>; "trouble"?: (string | null); "unlisted"?: number };

export type EjectionExplained = { "at-unix-ms": number; "cut-rate-percent": number; "failures": number; "interval-ms": number; "rate-percent": number; "share-percent": number; "sum": Sum; "text": string; "until-unix-ms"?: (number | null); "volume": number };

export type EndpointStatus = { "address": string; "backup": boolean; "id": number; "ours": boolean; "signal": boolean; "subflow": boolean };

export type ErrorCounts = { "balancer": Counter; "client": Counter; "ended": Counter; "errors": Counter; "network": Counter; "percent"?: (number | null); "server": Counter; "server-5xx": Counter };

export type Event = { "about"?: Record<string, string>; "at-unix-ms": number; "level": Level; "text": string; "what": string };

export type Events = { "events": Array<Event> };

export type Evidence = { "at-unix-ms": number; "seen"?: (Seen | null); "source": Source; "text": string };

export type FailureTarget = { "count": number; "name": string };

export type Finding = { "column": number; "excerpt": string; "expected"?: (string | null); "file": string; "found"?: (string | null); "key": string; "line": number; "message": string; "severity": Severity; "suggestion"?: (string | null); "width": number };

export type FloodClient = { "address": string; "syns": number };

export type Generation = { "current": boolean; "digest": string; "from": string; "generation": number; "when-unix-ms": number; "who": string };

export type Generations = { "generations": Array<Generation> };

export type Ground = "failures" | "rate" | "cuts";

export type HandshakeTimes = { "count": number; "longest-ms": number; "median-ms": number; "p95-ms": number };

export type Handshakes = { "client-part"?: (HandshakeTimes | null); "done": number; "refused": number; "server-part"?: (HandshakeTimes | null); "unacknowledged": number; "unanswered": number; "unfinished": number; "whole"?: (HandshakeTimes | null) };

export type HeaderRemoval = { "count": Counter; "field": string };

export type HeadroomReport = { "exhausted-in-ms"?: (number | null); "limit": number; "of": string; "resource": string; "used": number };

export type HeartbeatStatus = { "behind": boolean; "counts": Record<string, number>; "drift"?: (string | null); "generation": number; "groups": Array<PeerGroup>; "keys": Array<number>; "name": string; "paths": Array<BeatPathStatus>; "peer": string; "peer-generation"?: (number | null); "peer-protocol"?: (number | null); "peer-reached"?: (number | null); "peer-version"?: (string | null); "reached"?: (number | null); "reason": string; "replication"?: (ReplicationStatus | null); "since-unix-ms": number; "state": string; "targets": Array<TargetStatus>; "witness"?: (WitnessStatus | null) };

export type History = { "covered-ms": number; "failures": number; "records": number; "rows": Array<HistoryRow>; "since-unix-ms": number; "unreadable-bytes": number; "until-unix-ms": number };

export type HistoryRow = { "line": Array<(number | null)>; "line-of": string; "name": string; "numbers": Record<string, number>; "rates": Record<string, number>; "worst": Array<Worst> };

export type JudgeExplained = { "at-unix-ms": number; "change-percent": number; "proportions": Array<number>; "row": Row; "sensitivity-percent": number };

export type Keeps = { "clients"?: (number | null); "uncounted": boolean; "until-unix-ms": number };

export type KeyChange = { "from"?: (string | null); "key": string; "to"?: (string | null) };

export type KeyTable = { "keys": Array<KeyText>; "list": boolean; "path": string };

export type KeyText = { "default": string; "doc": string; "name": string; "value": string };

export type Lease = { "lease-ms": number };

export type LeaseOrder = { "holder": string; "holds"?: boolean; "lease-ms": number; "ticket": number };

export type Level = "info" | "warning" | "error";

export type LinkStatus = { "bytes": number; "capacity"?: (number | null); "held-us": number; "interface": string; "loss": number; "packets": number; "reason": string; "round-trip-us"?: (number | null); "state": string; "via": Array<string> };

export type LogCount = { "bytes-to-client": number; "errors": number; "lines": number; "name": string };

export type LogEntry = { "attempts"?: number; "by"?: (string | null); "bytes-to-client"?: number; "cause"?: (string | null); "client"?: string; "defect"?: (string | null); "id"?: (string | null); "method"?: (string | null); "protocol"?: (string | null); "request-id"?: (string | null); "server"?: (string | null); "service"?: string; "status"?: number; "target"?: (string | null); "time"?: string; "total-ms"?: (number | null) };

export type LogGroup = "client" | "service" | "server" | "status" | "cause" | "target";

export type LogPage = { "entries": Array<LogEntry>; "examined": number; "lost": number; "next": number; "now-unix-ms": number; "scope": LogScope; "top": Array<LogCount> };

export type LogScope = "off" | "errors" | "sample" | "all";

export type Lost = { "events": number; "updates": number };

export type Me = { "certificate"?: boolean; "role": Role; "token": boolean; "who": string };

export type MemberChange = { "at-unix-ms": number; "reason": string; "state": string };

export type MemberReport = { "changes": Array<MemberChange>; "counts": Record<string, number>; "dropped": Record<string, number>; "group": string };

export type MemberStatus = { "addresses": Array<string>; "changes": Array<MemberChange>; "counts": Record<string, number>; "dropped": Record<string, number>; "heard"?: (string | null); "heard-priority"?: (number | null); "id": number; "interface": string; "name": string; "priority": number; "reason": string; "since-unix-ms": number; "state": string };

export type MptcpConnection = { "local": string; "received": number; "remote": string; "sent": number; "subflows": Array<Subflow> };

export type MptcpStatus = { "connections": Array<MptcpConnection>; "count": number; "endpoints": Array<EndpointStatus>; "trouble"?: (string | null) };

export type NameCandidate = { "addresses": Array<string>; "name": string; "share-percent": number; "up": boolean; "weight": number; "why": string };

export type NameExplained = { "candidates": Array<NameCandidate>; "from": string; "kind": string; "name": string; "scope-bits": number; "steps": Array<string>; "target"?: (string | null); "zone"?: (string | null) };

export type NameListener = { "address": string; "trouble"?: (string | null) };

export type NameStatus = { "answers": number; "candidates": number; "fallen": boolean; "given": Record<string, number>; "name": string; "policy": string; "ttl-seconds": number; "up": number; "zone": string };

export type NamedCount = { "name": string; "rate": number; "total": number };

export type NamesReport = { "fates": Record<string, number>; "received": number; "transport": string; "unaccounted": number };

export type NamesStatus = { "listen": Array<NameListener>; "names": Array<NameStatus>; "zones": Array<string> };

export type Neighbour = { "address": string; "reason"?: (string | null); "servers": Array<string>; "state": string };

export type OperatorWeight = { "at-unix-ms": number; "by": string; "weight": number };

export type PacketEnd = "forwarded" | "host" | "answered" | "dropped";

export type PacketExample = { "client": string; "from-client": PacketSide; "from-server"?: (PacketSide | null); "notes": Array<string>; "parts-ms": Record<string, number>; "seen-unix-ms": number; "server"?: (string | null); "total-ms": number };

export type PacketInsight = { "begun": number; "evicted": number; "full": number; "sample"?: (number | null); "unread": number; "watched": number };

export type PacketInterface = { "mode"?: (string | null); "name": string; "problem"?: (string | null) };

export type PacketOutcome = { "count": Counter; "end"?: PacketEnd; "meaning"?: string; "name": string; "other": number; "v4": number; "v6": number };

export type PacketServer = { "adopted": Counter; "bytes-in": Counter; "bytes-out": Counter; "connections": Counter; "flows": number; "name": string; "outcomes": Array<PacketOutcome> };

export type PacketService = { "alarm": boolean; "flood-clients"?: Array<FloodClient>; "flood-networks"?: Array<FloodClient>; "flows": number; "forward": string; "half-open": number; "name": string; "outcomes": Array<PacketOutcome>; "removals"?: Array<HeaderRemoval>; "sampled-syns"?: number; "servers": Array<PacketServer> };

export type PacketSide = { "lost-before": number; "lost-behind": number; "packets": number; "reordered": number; "repair-ms": number; "resets": number; "silly-window-ms": number; "silly-windows": number; "zero-window-ms": number; "zero-windows": number };

export type PacketsReport = { "accounted": Counter; "earlier"?: number; "events-lost": Counter; "evicted": Counter; "outcomes": Array<PacketOutcome>; "received": Counter; "services": Array<PacketService>; "unaccounted": number };

export type PacketsStatus = { "adopted": boolean; "broken"?: (string | null); "generation"?: number; "insight"?: PacketInsight; "interfaces": Array<PacketInterface>; "memory-bytes": number; "neighbours": Array<Neighbour> };

export type PeerGroup = { "family": number; "id": number; "priority": number; "state": string };

export type PeerReport = { "beats": Record<string, number>; "peer": string; "refused": Record<string, number>; "replication"?: (ReplicationStatus | null) };

export type PhaseTimes = { "count": number; "mean-us"?: (number | null); "octaves"?: Array<number>; "p50-us"?: (number | null); "p90-us"?: (number | null); "p99-us"?: (number | null); "phase": string };

export type PlanChange = { "changed": boolean; "effects": Array<string>; "generation": number; "global": Array<KeyChange>; "needs-restart": Array<string>; "objects"?: Record<string, Changes>; "parts"?: Array<Changed>; "pools": PoolChanges; "services": Changes; "warnings": Array<Finding> };

export type PlannedMaintenance = { "from-unix-ms": number; "reason": string; "until-unix-ms"?: (number | null); "who": string };

export type PoolChanged = { "keys": Array<KeyChange>; "name": string; "servers": Changes };

export type PoolChanges = { "added": Array<string>; "changed": Array<PoolChanged>; "removed": Array<string> };

export type PoolReport = { "counts"?: Array<NamedCount>; "errors"?: ErrorCounts; "name": string; "servers": Array<ServerReport> };

export type PoolShare = { "balance": string; "name": string; "percent": number };

export type PoolStatus = { "balance": string; "breakers"?: Array<BreakerStatus>; "errors"?: ErrorCounts; "name": string; "servers": Array<ServerStatus>; "shedding-since-unix-ms"?: (number | null); "waiting"?: number };

export type PortReport = { "destination": string; "in-use": number; "left": number; "resting"?: number; "source"?: (string | null) };

export type Problem = { "advice"?: (string | null); "detail"?: string; "findings"?: Array<Finding>; "status"?: number; "title"?: string; "type"?: string; "unlisted"?: number };

export type Process = { "descriptors": Descriptors; "held-bytes"?: number; "kernel-tcp-bytes"?: number; "log-lines-dropped": Counter; "piped-bytes"?: number; "resident-bytes": number };

export type Reading = { "active": number; "configured": number; "latency_ms"?: (number | null); "load"?: (number | null); "new": number };

export type RefusedRequest = { "at"?: (number | null); "cause": string; "client": string; "defect"?: (string | null); "field"?: (string | null); "found"?: (string | null); "host"?: (string | null); "id": string; "method"?: (string | null); "protocol": string; "service": string; "status": number; "target"?: (string | null); "unix-ms": number };

export type RefusedRequests = { "beyond-share": number; "now-unix-ms": number; "pushed-out": number; "requests": Array<RefusedRequest>; "room": number; "share": number };

export type ReplicationStatus = { "counts": Record<string, number>; "refused": Record<string, number>; "rejected": Record<string, number>; "state": string; "untold": Record<string, number> };

export type Report = { "generation": number; "headroom"?: Array<HeadroomReport>; "interval-ms": number; "members"?: Array<MemberReport>; "names"?: Array<NamesReport>; "now-unix-ms": number; "packets"?: (PacketsReport | null); "peers"?: Array<PeerReport>; "pools": Array<PoolReport>; "ports": Array<PortReport>; "process": Process; "services": Array<ServiceReport>; "total": ServiceCounts; "uptime-ms": number };

export type RequestAsked = { "from"?: (string | null); "headers"?: Array<string>; "method"?: string; "service"?: (string | null); "sni"?: (string | null); "url"?: string };

export type RequestExplained = { "because": string; "client"?: (string | null); "edits"?: Array<string>; "ends"?: (string | null); "generation": number; "kept"?: (string | null); "passed": Array<RulePassed>; "passed-unlisted": number; "path": string; "pools": Array<PoolShare>; "readings"?: Array<string>; "rule"?: (RuleTaken | null); "servers": Array<Candidate>; "service": string };

export type Requests = { "aborted": Counter; "answered": Counter; "answered-by-us": Counter; "in-flight": number; "requests": Counter; "unaccounted": number; "upgraded": Counter };

export type Role = "lease" | "view" | "operate" | "configure";

export type Row = { "base": number; "before": number; "factor": number; "kept": WeighLevel; "ratios": Array<number>; "reading": Reading; "target": number; "wanted": number };

export type RulePassed = { "because": string; "name": string; "place": number };

export type RuleReport = { "bytes": number; "does": string; "hits": number; "in-flight": number; "last-unix-ms"?: (number | null); "limit-evicted": number; "limit-held": number; "limited": number; "mirror-dropped": number; "mirrored": number; "name": string; "passed-over": number; "place": number; "when": string };

export type RuleTaken = { "does": string; "mirror"?: (string | null); "name": string; "place": number; "target"?: (string | null); "when": string };

export type Scene = { "next-ms": number; "report": Report; "sequence": number; "status": Status };

export type Seen = { "good": boolean; "in-a-row": number; "probe"?: (string | null); "saw": string; "took-us"?: (number | null) };

export type ServerAction = ({ "action": "drain" } | { "action": "enable" } | { "action": "disable" } | { "action": "cut" } | { "action": "quiesce"; "limit-ms": number } | { "action": "maintain"; "from-unix-ms"?: (number | null); "reason": string; "until-unix-ms"?: (number | null) } | { "action": "weight"; "weight"?: (number | null) } | { "action": "add"; "address": string; "weight"?: (number | null) } | { "action": "remove" });

export type ServerChange = { "admin": Admin; "changed": boolean; "in-flight": number; "pool": string; "removed"?: boolean; "server": string; "state": ServerState; "weight": number };

export type ServerChanged = { "record"?: (number | null); "saved"?: (string | null); "servers": Array<ServerChange>; "unkept"?: Array<string> };

export type ServerExplained = { "answer-ms"?: (number | null); "ejection"?: (EjectionExplained | null); "load"?: (number | null); "load-source"?: (string | null); "probe-ms"?: (number | null); "rank": string; "server": ServerStatus; "share-percent": number; "takes-work": boolean; "weight": WeightExplained };

export type ServerOrder = (ServerAction & { "part-of"?: (number | null); "save"?: (boolean | null) });

export type ServerReport = { "answered": Counter; "bytes": Bytes; "causes": Array<CauseCount>; "connect-failed": Counter; "connections": number; "connects": Counter; "errors"?: ErrorCounts; "in-flight": number; "name": string; "phases": Array<PhaseTimes>; "requests": Counter; "retired": Counter; "reused": Counter; "stale": Counter; "state": ServerState; "statuses": Statuses };

export type ServerState = "up" | "down" | "unknown" | "drain" | "disabled";

export type ServerStatus = { "address": string; "admin": Admin; "assumed"?: boolean; "cap"?: (number | null); "configured-weight": number; "connections": number; "errors"?: ErrorCounts; "in-flight": number; "keeps"?: (Keeps | null); "maintenance"?: (PlannedMaintenance | null); "name": string; "reason": Evidence; "resolved"?: (string | null); "since-unix-ms": number; "state": ServerState; "weight": number };

export type ServersExplained = { "balance": string; "now-unix-ms": number; "pool": string; "servers": Array<ServerExplained>; "turn": string };

export type ServiceCounts = { "bodies"?: Array<NamedCount>; "bytes": Bytes; "causes": Array<CauseCount>; "connections": Connections; "defects": Array<NamedCount>; "errors"?: ErrorCounts; "limits": Array<NamedCount>; "phases": Array<PhaseTimes>; "replayed": Counter; "requests": Requests; "retried": Counter; "statuses": Statuses; "tls"?: Array<NamedCount> };

export type ServiceReport = { "affinity"?: (AffinityReport | null); "bodies"?: Array<NamedCount>; "bytes": Bytes; "causes": Array<CauseCount>; "connections": Connections; "defects": Array<NamedCount>; "errors"?: ErrorCounts; "forward": string; "limits": Array<NamedCount>; "name": string; "phases": Array<PhaseTimes>; "replayed": Counter; "requests": Requests; "retried": Counter; "rules"?: Array<RuleReport>; "statuses": Statuses; "tls"?: Array<NamedCount>; "users"?: (UsersReport | null) };

export type ServiceState = "up" | "degraded" | "down" | "draining";

export type ServiceStatus = { "certificates"?: Array<CertificateStatus>; "errors"?: ErrorCounts; "forward": string; "in-flight": number; "listen": Array<string>; "name": string; "open": number; "pool": string; "promises"?: Array<UsersPromise>; "reason": string; "since-unix-ms": number; "state": ServiceState };

export type Severity = "error" | "warning";

export type Side = "client" | "balancer" | "server" | "network";

export type SlowExample = { "attempts": number; "cause"?: (string | null); "client": string; "client-tcp"?: (TcpChange | null); "ended-unix-ms": number; "id": string; "notes": Array<string>; "parts-ms": Record<string, number>; "phases-ms": Record<string, number>; "server"?: (string | null); "server-tcp"?: (TcpChange | null); "status": number; "total-ms": number };

export type SlowExplained = { "dropped": number; "now-unix-ms": number; "packets"?: Array<SlowPackets>; "sample"?: (number | null); "services": Array<SlowService>; "share-percent": number; "since-unix-ms": number };

export type SlowFailure = { "cause": string; "check": string; "code"?: (string | null); "count": number; "example"?: (string | null); "first-unix-ms": number; "last-unix-ms": number; "networks": Array<FailureTarget>; "owner": string; "servers": Array<FailureTarget>; "share-percent": number; "title": string };

export type SlowGroup = { "exchanges": number; "limit": string; "name": string; "owner": string; "seconds": number };

export type SlowOwner = { "owner": string; "seconds": number; "share-percent": number };

export type SlowPackets = { "balancer-resets": number; "begun": number; "both-directions": boolean; "client": PacketSide; "examples": Array<PacketExample>; "forward": string; "handshakes": Handshakes; "late": number; "name": string; "networks": Array<SlowGroup>; "owners": Array<SlowOwner>; "pools": Array<SlowGroup>; "reasons": Array<SlowReason>; "sample"?: (number | null); "seconds": number; "server"?: (PacketSide | null); "servers": Array<SlowGroup>; "unscaled": number; "unseen": Array<string>; "watched": number };

export type SlowReason = { "advice": string; "limit": string; "owner": string; "seconds": number; "share-percent": number; "title": string };

export type SlowService = { "bound-ms": number; "connections"?: number; "examples": Array<SlowExample>; "exchanges": number; "failures"?: Array<SlowFailure>; "largest-client"?: (string | null); "largest-client-connections"?: number; "measured": number; "name": string; "networks": Array<SlowGroup>; "owners": Array<SlowOwner>; "pools": Array<SlowGroup>; "quickest-ms": number; "reasons": Array<SlowReason>; "sampled"?: number; "seconds": number; "servers": Array<SlowGroup>; "slowest": number };

export type Source = "probe" | "agent" | "traffic" | "operator" | "configuration" | "resolver";

export type StandingAlarm = { "name": string; "reason": string; "severity": AlarmSeverity; "since-unix-ms"?: (number | null); "subject": string };

export type Status = { "alarms"?: Array<StandingAlarm>; "draining": Array<Draining>; "drift"?: (Drift | null); "error-interval-ms"?: number; "generation": number; "heartbeats"?: Array<HeartbeatStatus>; "links"?: Array<BundleStatus>; "more-alarms"?: number; "mptcp"?: (MptcpStatus | null); "names"?: (NamesStatus | null); "now-unix-ms": number; "packets"?: (PacketsStatus | null); "pid": number; "pins"?: Array<string>; "pools": Array<PoolStatus>; "services": Array<ServiceStatus>; "since-unix-ms": number; "uplinks"?: (UplinksStatus | null); "uptime-ms": number; "version": string; "vrrp"?: Array<MemberStatus>; "warnings": Array<string>; "workers": number };

export type Statuses = { "client-error": Counter; "informational": Counter; "redirect": Counter; "server-error": Counter; "success": Counter };

export type Stopping = { "connections": number; "in-flight": number; "limit-ms": number };

export type Subflow = { "local": string; "received": number; "remote": string; "round-trip-us": number; "sent": number };

export type Sum = { "allowed": number; "in-a-row": number; "of": number; "others": Tally; "others-failing": number; "out": number; "own": Tally; "times": number; "verdict": SumVerdict };

export type SumVerdict = ("good" | "not-judged" | { "ejected": Ground } | { "all-fail": Ground } | { "too-many-out": Ground });

export type Taken = { "groups": Array<string> };

export type TakeoverOrder = "take" | "give" | "release";

export type Tally = { "bad": number; "cut": number; "good": number };

export type TargetStatus = { "answered": number; "name": string; "state": string; "unanswered": number };

export type TcpChange = { "busy-us": number; "bytes-acked": number; "bytes-received": number; "cwnd": number; "delivery-rate": number; "min-rtt-us": number; "mss": number; "not-sent": number; "out-of-order": number; "own": boolean; "receive-rtt-us"?: number; "retransmits": number; "rtt-us": number; "rwnd-limited-us": number; "send-buffer"?: number; "sndbuf-limited-us": number; "ssthresh": number; "window": number };

export type UndoResult = { "failed"?: (string | null); "records": Array<AuditRecord> };

export type UplinkStatus = { "family": string; "forwarded": number; "gateway": string; "interface": string; "loss": number; "mark": number; "moved": number; "name": string; "own": number; "priority": number; "reason": string; "round-trip-us"?: (number | null); "share": number; "source"?: (string | null); "state": string; "table": number; "weight": number };

export type UplinksStatus = { "rule": number; "troubles": Array<string>; "uplinks": Array<UplinkStatus> };

export type UsersCause = { "cause": string; "count": number };

export type UsersCounts = { "available-percent"?: (number | null); "declined": number; "failed": number; "fast": number; "fast-percent"?: (number | null); "left": number; "left-late": number; "slow": number; "tcp-errors": Record<string, number> };

export type UsersExplained = { "now-unix-ms": number; "services": Array<UsersService> };

export type UsersNetwork = { "available-percent"?: (number | null); "declined": number; "failed": number; "fast": number; "fast-percent"?: (number | null); "left": number; "left-late": number; "network": string; "slow": number; "tcp-errors": Record<string, number> };

export type UsersPromise = { "alarms": Array<BurnAlarm>; "bad": number; "budget-left-percent": number; "operations": number; "percent"?: (number | null); "since-unix-ms"?: (number | null); "target-percent": number; "what": string; "window-ms": number };

export type UsersReport = { "declined": Counter; "failed": Counter; "fast": Counter; "left": Counter; "slow": Counter; "tcp-errors": Record<string, Counter> };

export type UsersService = { "causes": Array<UsersCause>; "fast-ms"?: (number | null); "hour": UsersCounts; "name": string; "networks": Array<UsersNetwork>; "networks-most": number; "others": UsersCounts; "promises": Array<UsersPromise> };

export type WeighLevel = { "gain": number; "last"?: ([number, number] | null); "level": number; "published": number; "step": number };

export type WeightExplained = { "configured": number; "in-force": number; "judge"?: (JudgeExplained | null); "judged"?: (number | null); "operator"?: (OperatorWeight | null); "slow-start-percent": number };

export type WitnessStatus = { "at": string; "counts": Record<string, number>; "held": number; "lent": number; "reason": string; "since-unix-ms": number; "state": string };

export type Worst = { "at-unix-ms": number; "count": number; "span-ms": number; "what": string };
