// What the API says, written from its types by a test; not by hand.
// It holds types alone: nothing of it is in the built page.

export type AdminState = "enabled" | "drain" | "disabled";

export type AffinityReport = { "assignments": number; "entries": number; "evicted": number; "hits": number; "max-entries": number };

export type AlarmSeverity = "error" | "warning" | "notice";

export type Applied = { "changed": boolean; "confirmed": boolean; "effects": Array<string>; "generation": number; "needs-restart": Array<string>; "restored-generation"?: (number | null); "saved"?: (string | null); "unsaved"?: Array<string>; "warnings": Array<ConfigFinding> };

export type Audit = { "failures": number; "records": Array<AuditRecord>; "unreadable": number };

export type AuditRecord = { "action": string; "after": string; "at-unix-ms": number; "before": string; "id": number; "part-of"?: (number | null); "reversible"?: boolean; "saved"?: (string | null); "target": string; "undoes"?: (number | null); "way": string; "who": string };

export type BreakerResource = "connections" | "pending" | "requests" | "retries";

export type BreakerStatus = { "in-use": number; "limit": number; "open": boolean; "refused": number; "resource": BreakerResource; "since-unix-ms": number };

export type BundleStatus = { "counts": Record<string, number>; "dropped": Record<string, number>; "gap-us"?: (number | null); "links": Array<LinkStatus>; "mtu": number; "name": string; "policy": string; "reason": string; "skew-us": number; "state": string };

export type BurnAlarm = { "factor": number; "long": BurnSpan; "name": string; "reason"?: (string | null); "short": BurnSpan; "since-unix-ms"?: (number | null) };

export type BurnSpan = { "bad": number; "burn-rate"?: (number | null); "operations": number; "span-ms": number };

export type Bytes = { "received": Counter; "sent": Counter; "spliced": Counter };

export type Capacity = { "interval-ms": number; "machine": CapacityMachine; "now-unix-ms": number; "services": Array<CapacityService> };

export type CapacityDemand = { "connection-duration-ms": number; "connections-per-second": number; "measured": boolean; "request-bytes": number; "requests-per-connection": number; "requests-per-second": number; "requests-per-server-connection": number; "response-bytes": number };

export type CapacityLimit = { "advice": string; "connections-per-second": number; "kind": string; "reason": string; "requests-per-second": number; "used-percent": number };

export type CapacityMachine = { "descriptors": number; "ports": number; "processors": number; "request-us"?: (number | null) };

export type CapacityService = { "demand": CapacityDemand; "forward": string; "limits": Array<CapacityLimit>; "name": string };

export type Capture = { "at-unix-ms": number; "bytes": number; "file": string; "name": string; "reason": string; "rule": string };

export type CaptureAction = "start" | "stop";

export type CaptureRule = { "name": string; "pause-remaining-ms": number; "recording": boolean };

export type Captures = { "captures": Array<Capture>; "failed": number; "packets-dropped": number; "packets-evicted": number; "packets-recorded": number; "problem"?: (string | null); "rules": Array<CaptureRule>; "written": number };

export type CauseCount = { "cause": string; "rate": number; "side": Side; "total": number };

export type CertificateStatus = { "expires-unix-ms": number; "file": string; "kind": string; "names": Array<string>; "problem"?: (string | null); "since-unix-ms": number; "stapled": boolean };

export type Changed = { "keys": Array<KeyChange>; "name": string };

export type Changes = { "added": Array<string>; "changed": Array<Changed>; "removed": Array<string> };

export type CheckEvidence = { "consecutive": number; "duration-us"?: (number | null); "passed": boolean; "probe"?: (string | null); "result": string };

export type ConfigFinding = { "column": number; "excerpt": string; "expected"?: (string | null); "file": string; "found"?: (string | null); "key": string; "line": number; "message": string; "severity": Severity; "suggestion"?: (string | null); "width": number };

export type ConfigKeys = { "tables": Array<ReferenceTable> };

export type Connections = { "accepted": Counter; "closed": Counter; "open": number; "refused": Counter; "unaccounted": number };

export type ControllerExplained = { "at-unix-ms": number; "calculation": WeightCalculation; "change-percent": number; "proportions": Array<number>; "sensitivity-percent": number };

export type Counter = { "rate": number; "total": number };

export type Descriptors = { "in-use": number; "limit": number };

export type Draining = { "connections": number; "in-flight": number; "reason": string; "since-unix-ms": number; "subject": string; "until-unix-ms"?: (number | null) };

export type Drift = { "edited"?: boolean; "file"?: string; "keys"?: Array<string>; "problem"?: (string | null); "saved"?: boolean; "unlisted"?: number };

export type EjectionExplained = { "at-unix-ms": number; "evaluation": OutlierEvaluation; "failures": number; "interval-ms": number; "max-percent": number; "min-requests": number; "rate-percent": number; "text": string; "truncation-rate-percent": number; "until-unix-ms"?: (number | null) };

export type EjectionReason = "failures" | "rate" | "truncations";

export type EndpointStatus = { "address": string; "backup": boolean; "id": number; "managed": boolean; "signal": boolean; "subflow": boolean };

export type ErrorCounts = { "balancer": Counter; "client": Counter; "ended": Counter; "errors": Counter; "network": Counter; "percent"?: (number | null); "server": Counter; "server-5xx": Counter };

export type Event = { "about"?: Record<string, string>; "at-unix-ms": number; "kind": string; "level": Level; "text": string };

export type Events = { "events": Array<Event> };

export type Evidence = { "at-unix-ms": number; "check"?: (CheckEvidence | null); "source": Source; "text": string };

export type FailedOperations = { "cause": string; "count": number };

export type FailureTarget = { "count": number; "name": string };

export type FloodClient = { "address": string; "syns": number };

export type FlowSampleStatus = { "evicted": number; "full": number; "one-in"?: (number | null); "started": number; "unread": number; "watched": number };

export type Generation = { "at-unix-ms": number; "current": boolean; "digest": string; "from": string; "generation": number; "who": string };

export type Generations = { "generations": Array<Generation> };

export type HandshakeTimes = { "count": number; "max-ms": number; "median-ms": number; "p95-ms": number };

export type Handshakes = { "client-part"?: (HandshakeTimes | null); "done": number; "refused": number; "server-part"?: (HandshakeTimes | null); "total"?: (HandshakeTimes | null); "unacknowledged": number; "unanswered": number; "unfinished": number };

export type HeaderRemoval = { "count": Counter; "field": string };

export type HeadroomReport = { "exhausted-in-ms"?: (number | null); "limit": number; "resource": string; "subject": string; "used": number };

export type HeartbeatPathStatus = { "loss": number; "name": string; "not-sent": number; "reason": string; "received": number; "refused": Record<string, number>; "round-trip-us"?: (number | null); "sent": number; "since-unix-ms": number; "state": string };

export type HeartbeatStatus = { "behind": boolean; "counts": Record<string, number>; "drift"?: (string | null); "generation": number; "groups": Array<PeerGroup>; "keys": Array<number>; "name": string; "paths": Array<HeartbeatPathStatus>; "peer": string; "peer-generation"?: (number | null); "peer-protocol"?: (number | null); "peer-reached"?: (number | null); "peer-version"?: (string | null); "reached"?: (number | null); "reason": string; "replication"?: (ReplicationStatus | null); "since-unix-ms": number; "state": string; "targets": Array<TargetStatus>; "witness"?: (WitnessStatus | null) };

export type History = { "covered-ms": number; "failures": number; "records": number; "rows": Array<HistoryRow>; "since-unix-ms": number; "unreadable-bytes": number; "until-unix-ms": number };

export type HistoryRow = { "name": string; "points": Array<(number | null)>; "points-unit": string; "rates": Record<string, number>; "values": Record<string, number>; "worst": Array<WorstRecord> };

export type KeyChange = { "from"?: (string | null); "key": string; "to"?: (string | null) };

export type Lease = { "lease-ms": number };

export type LeaseRenewal = { "holder": string; "holds"?: boolean; "lease-ms": number; "ticket": number };

export type Level = "info" | "warning" | "error";

export type LinkStatus = { "added-delay-us": number; "bytes": number; "capacity"?: (number | null); "interface": string; "loss": number; "packets": number; "reason": string; "round-trip-us"?: (number | null); "state": string; "via": Array<string> };

export type LogCount = { "bytes-to-client": number; "errors": number; "lines": number; "name": string };

export type LogEntry = { "attempts"?: number; "by"?: (string | null); "bytes-to-client"?: number; "cause"?: (string | null); "client"?: string; "defect"?: (string | null); "id"?: (string | null); "method"?: (string | null); "protocol"?: (string | null); "request-id"?: (string | null); "server"?: (string | null); "service"?: string; "status"?: number; "target"?: (string | null); "time"?: string; "total-ms"?: (number | null) };

export type LogGroup = "client" | "service" | "server" | "status" | "cause" | "target";

export type LogPage = { "entries": Array<LogEntry>; "examined": number; "lost": number; "next": number; "now-unix-ms": number; "scope": LogScope; "top": Array<LogCount> };

export type LogScope = "off" | "errors" | "sample" | "all";

export type LostUpdates = { "events": number; "updates": number };

export type MatchingRule = { "action": string; "mirror"?: (string | null); "name": string; "position": number; "target"?: (string | null); "when": string };

export type Me = { "certificate"?: boolean; "role": Role; "token": boolean; "who": string };

export type MemberChange = { "at-unix-ms": number; "reason": string; "state": string };

export type MemberReport = { "changes": Array<MemberChange>; "counts": Record<string, number>; "dropped": Record<string, number>; "group": string };

export type MemberStatus = { "active-peer"?: (string | null); "active-peer-priority"?: (number | null); "addresses": Array<string>; "changes": Array<MemberChange>; "counts": Record<string, number>; "dropped": Record<string, number>; "id": number; "interface": string; "name": string; "priority": number; "reason": string; "since-unix-ms": number; "state": string };

export type MptcpConnection = { "local": string; "received": number; "remote": string; "sent": number; "subflows": Array<Subflow> };

export type MptcpStatus = { "connections": Array<MptcpConnection>; "count": number; "endpoints": Array<EndpointStatus>; "problem"?: (string | null) };

export type NameCandidate = { "addresses": Array<string>; "name": string; "reason": string; "share-percent": number; "up": boolean; "weight": number };

export type NameExplained = { "candidates": Array<NameCandidate>; "from": string; "kind": string; "name": string; "scope-bits": number; "steps": Array<string>; "target"?: (string | null); "zone"?: (string | null) };

export type NameListener = { "address": string; "problem"?: (string | null) };

export type NameStatus = { "candidates": number; "fallback": boolean; "first-choices": Record<string, number>; "name": string; "policy": string; "responses": number; "ttl-seconds": number; "up": number; "zone": string };

export type NamedCount = { "name": string; "rate": number; "total": number };

export type NamesReport = { "outcomes": Record<string, number>; "received": number; "transport": string; "unaccounted": number };

export type NamesStatus = { "listen": Array<NameListener>; "names": Array<NameStatus>; "zones": Array<string> };

export type Neighbour = { "address": string; "reason"?: (string | null); "servers": Array<string>; "state": string };

export type NetworkOperations = { "aborted": number; "aborted-late": number; "availability-percent"?: (number | null); "declined": number; "failed": number; "fast": number; "fast-percent"?: (number | null); "network": string; "slow": number; "tcp-errors": Record<string, number> };

export type ObjectiveStatus = { "alarms": Array<BurnAlarm>; "bad": number; "budget-remaining-percent": number; "good-percent"?: (number | null); "kind": string; "operations": number; "since-unix-ms"?: (number | null); "target-percent": number; "window-ms": number };

export type OperationCounts = { "aborted": number; "aborted-late": number; "availability-percent"?: (number | null); "declined": number; "failed": number; "fast": number; "fast-percent"?: (number | null); "slow": number; "tcp-errors": Record<string, number> };

export type OperatorWeight = { "at-unix-ms": number; "by": string; "weight": number };

export type OutlierCounts = { "failures": number; "successes": number; "truncations": number };

export type OutlierDecision = ("good" | "not-evaluated" | { "ejected": EjectionReason } | { "all-fail": EjectionReason } | { "limit-reached": EjectionReason });

export type OutlierEvaluation = { "consecutive-failures": number; "decision": OutlierDecision; "ejections": number; "max-unavailable": number; "others": OutlierCounts; "others-failing": number; "own": OutlierCounts; "servers": number; "unavailable": number };

export type PacketDisposition = "forwarded" | "host" | "answered" | "dropped";

export type PacketExample = { "client": string; "from-client": PacketSide; "from-server"?: (PacketSide | null); "notes": Array<string>; "parts-ms": Record<string, number>; "seen-unix-ms": number; "server"?: (string | null); "total-ms": number };

export type PacketInterface = { "mode"?: (string | null); "name": string; "problem"?: (string | null) };

export type PacketOutcome = { "count": Counter; "disposition"?: PacketDisposition; "meaning"?: string; "name": string; "other": number; "v4": number; "v6": number };

export type PacketServer = { "bytes-in": Counter; "bytes-out": Counter; "connections": Counter; "flows": number; "name": string; "outcomes": Array<PacketOutcome>; "without-syn": Counter };

export type PacketService = { "alarm": boolean; "flood-clients"?: Array<FloodClient>; "flood-networks"?: Array<FloodClient>; "flows": number; "forward": string; "half-open": number; "name": string; "outcomes": Array<PacketOutcome>; "removals"?: Array<HeaderRemoval>; "sampled-syns"?: number; "servers": Array<PacketServer> };

export type PacketSide = { "lost-before": number; "lost-behind": number; "packets": number; "reordered": number; "repair-ms": number; "resets": number; "silly-window-ms": number; "silly-windows": number; "zero-window-ms": number; "zero-windows": number };

export type PacketsReport = { "accounted": Counter; "earlier"?: number; "events-lost": Counter; "evicted": Counter; "outcomes": Array<PacketOutcome>; "received": Counter; "services": Array<PacketService>; "unaccounted": number };

export type PacketsStatus = { "flow-samples"?: FlowSampleStatus; "generation"?: number; "interfaces": Array<PacketInterface>; "memory-bytes": number; "neighbours": Array<Neighbour>; "problem"?: (string | null); "restored": boolean };

export type PeerGroup = { "family": number; "id": number; "priority": number; "state": string };

export type PeerReport = { "heartbeats": Record<string, number>; "peer": string; "refused": Record<string, number>; "replication"?: (ReplicationStatus | null) };

export type PhaseTimes = { "count": number; "histogram"?: Array<number>; "mean-us"?: (number | null); "p50-us"?: (number | null); "p90-us"?: (number | null); "p99-us"?: (number | null); "phase": string };

export type PlanChange = { "changed": boolean; "effects": Array<string>; "generation": number; "global": Array<KeyChange>; "needs-restart": Array<string>; "objects"?: Record<string, Changes>; "parts"?: Array<Changed>; "pools": PoolChanges; "services": Changes; "warnings": Array<ConfigFinding> };

export type PlannedMaintenance = { "from-unix-ms": number; "reason": string; "until-unix-ms"?: (number | null); "who": string };

export type PoolChanged = { "keys": Array<KeyChange>; "name": string; "servers": Changes };

export type PoolChanges = { "added": Array<string>; "changed": Array<PoolChanged>; "removed": Array<string> };

export type PoolReport = { "counts"?: Array<NamedCount>; "errors"?: ErrorCounts; "name": string; "servers": Array<ServerReport> };

export type PoolShare = { "balance": string; "name": string; "percent": number };

export type PoolStatus = { "balance": string; "circuit-breakers"?: Array<BreakerStatus>; "errors"?: ErrorCounts; "name": string; "servers": Array<ServerStatus>; "shedding-since-unix-ms"?: (number | null); "waiting"?: number };

export type PortReport = { "destination": string; "free": number; "in-use": number; "source"?: (string | null); "time-wait"?: number };

export type Problem = { "advice"?: (string | null); "detail"?: string; "findings"?: Array<ConfigFinding>; "status"?: number; "title"?: string; "type"?: string; "unlisted"?: number };

export type Process = { "buffered-bytes"?: number; "descriptors": Descriptors; "kernel-tcp-bytes"?: number; "log-lines-dropped": Counter; "piped-bytes"?: number; "resident-bytes": number };

export type ReferenceKey = { "default": string; "doc": string; "name": string; "value": string };

export type ReferenceTable = { "keys": Array<ReferenceKey>; "list": boolean; "path": string };

export type RefusedRequest = { "at"?: (number | null); "cause": string; "client": string; "defect"?: (string | null); "field"?: (string | null); "found"?: (string | null); "host"?: (string | null); "id": string; "method"?: (string | null); "protocol": string; "service": string; "status": number; "target"?: (string | null); "unix-ms": number };

export type RefusedRequests = { "evicted": number; "max-per-client": number; "max-requests": number; "now-unix-ms": number; "over-client-limit": number; "requests": Array<RefusedRequest> };

export type ReplicationStatus = { "counts": Record<string, number>; "refused": Record<string, number>; "rejected": Record<string, number>; "state": string; "unsent": Record<string, number> };

export type Report = { "generation": number; "headroom"?: Array<HeadroomReport>; "interval-ms": number; "members"?: Array<MemberReport>; "names"?: Array<NamesReport>; "now-unix-ms": number; "packets"?: (PacketsReport | null); "peers"?: Array<PeerReport>; "pools": Array<PoolReport>; "ports": Array<PortReport>; "process": Process; "services": Array<ServiceReport>; "total": ServiceCounts; "uptime-ms": number };

export type RequestDescription = { "from"?: (string | null); "headers"?: Array<string>; "method"?: string; "service"?: (string | null); "sni"?: (string | null); "url"?: string };

export type RequestExplained = { "client"?: (string | null); "edits"?: Array<string>; "generation": number; "local-reply"?: (string | null); "path": string; "pools": Array<PoolShare>; "readings"?: Array<string>; "reason": string; "rule"?: (MatchingRule | null); "servers": Array<ServerCandidate>; "service": string; "sticky-server"?: (string | null); "unmatched-rules": Array<RuleMismatch>; "unmatched-unlisted": number };

export type Requests = { "aborted": Counter; "answered": Counter; "in-flight": number; "local-replies": Counter; "requests": Counter; "unaccounted": number; "upgraded": Counter };

export type Role = "lease" | "view" | "operate" | "configure";

export type RuleMismatch = { "name": string; "position": number; "reason": string };

export type RuleReport = { "action": string; "bytes": number; "hits": number; "in-flight": number; "last-unix-ms"?: (number | null); "mirror-dropped": number; "mirrored": number; "name": string; "position": number; "rate-limit-entries": number; "rate-limit-evictions": number; "rate-limited": number; "skipped": number; "when": string };

export type ServerAction = ({ "action": "drain" } | { "action": "enable" } | { "action": "disable" } | { "action": "cut" } | { "action": "quiesce"; "limit-ms": number } | { "action": "maintain"; "from-unix-ms"?: (number | null); "reason": string; "until-unix-ms"?: (number | null) } | { "action": "weight"; "weight"?: (number | null) } | { "action": "add"; "address": string; "weight"?: (number | null) } | { "action": "remove" });

export type ServerActionRequest = (ServerAction & { "part-of"?: (number | null); "save"?: (boolean | null) });

export type ServerCandidate = { "address"?: (string | null); "available": boolean; "name": string; "pool": string; "reason": string; "state": ServerState };

export type ServerChange = { "admin": AdminState; "changed": boolean; "in-flight": number; "pool": string; "removed"?: boolean; "server": string; "state": ServerState; "weight": number };

export type ServerChanged = { "record"?: (number | null); "saved"?: (string | null); "servers": Array<ServerChange>; "unsaved"?: Array<string> };

export type ServerExplained = { "available": boolean; "ejection"?: (EjectionExplained | null); "first-byte-ms"?: (number | null); "load"?: (number | null); "load-source"?: (string | null); "probe-ms"?: (number | null); "rank": string; "server": ServerStatus; "share-percent": number; "weight": WeightExplained };

export type ServerReport = { "answered": Counter; "bytes": Bytes; "causes": Array<CauseCount>; "connect-failed": Counter; "connections": number; "connects": Counter; "errors"?: ErrorCounts; "in-flight": number; "name": string; "phases": Array<PhaseTimes>; "requests": Counter; "retired": Counter; "reused": Counter; "stale": Counter; "state": ServerState; "statuses": Statuses };

export type ServerState = "up" | "down" | "unknown" | "drain" | "disabled";

export type ServerStatus = { "address": string; "admin": AdminState; "assumed"?: boolean; "configured-weight": number; "connections": number; "errors"?: ErrorCounts; "in-flight": number; "maintenance"?: (PlannedMaintenance | null); "max-connections"?: (number | null); "name": string; "reason": Evidence; "resolved"?: (string | null); "since-unix-ms": number; "state": ServerState; "sticky-clients"?: (StickyClients | null); "weight": number };

export type ServersExplained = { "balance": string; "now-unix-ms": number; "pool": string; "selection": string; "servers": Array<ServerExplained> };

export type ServiceCounts = { "bodies"?: Array<NamedCount>; "bytes": Bytes; "causes": Array<CauseCount>; "connections": Connections; "defects": Array<NamedCount>; "errors"?: ErrorCounts; "limits": Array<NamedCount>; "phases": Array<PhaseTimes>; "replayed": Counter; "requests": Requests; "retried": Counter; "statuses": Statuses; "tls"?: Array<NamedCount> };

export type ServiceObjectives = { "causes": Array<FailedOperations>; "hour": OperationCounts; "latency-ms"?: (number | null); "max-networks": number; "name": string; "networks": Array<NetworkOperations>; "objectives": Array<ObjectiveStatus>; "others": OperationCounts };

export type ServiceReport = { "affinity"?: (AffinityReport | null); "bodies"?: Array<NamedCount>; "bytes": Bytes; "causes": Array<CauseCount>; "connections": Connections; "defects": Array<NamedCount>; "errors"?: ErrorCounts; "forward": string; "limits": Array<NamedCount>; "name": string; "phases": Array<PhaseTimes>; "replayed": Counter; "requests": Requests; "retried": Counter; "rules"?: Array<RuleReport>; "slo"?: (SloReport | null); "statuses": Statuses; "tls"?: Array<NamedCount> };

export type ServiceState = "up" | "degraded" | "down" | "draining";

export type ServiceStatus = { "certificates"?: Array<CertificateStatus>; "errors"?: ErrorCounts; "forward": string; "in-flight": number; "listen": Array<string>; "name": string; "objectives"?: Array<ObjectiveStatus>; "open": number; "pool": string; "reason": string; "since-unix-ms": number; "state": ServiceState };

export type Severity = "error" | "warning";

export type Side = "client" | "balancer" | "server" | "network";

export type SloExplained = { "now-unix-ms": number; "services": Array<ServiceObjectives> };

export type SloReport = { "aborted": Counter; "declined": Counter; "failed": Counter; "fast": Counter; "slow": Counter; "tcp-errors": Record<string, Counter> };

export type SlowExample = { "attempts": number; "cause"?: (string | null); "client": string; "client-tcp"?: (TcpInfoDelta | null); "ended-unix-ms": number; "id": string; "notes": Array<string>; "parts-ms": Record<string, number>; "phases-ms": Record<string, number>; "server"?: (string | null); "server-tcp"?: (TcpInfoDelta | null); "status": number; "total-ms": number };

export type SlowExplained = { "dropped": number; "now-unix-ms": number; "packets"?: Array<SlowPackets>; "sample"?: (number | null); "services": Array<SlowService>; "share-percent": number; "since-unix-ms": number };

export type SlowFailure = { "cause": string; "check": string; "code"?: (string | null); "count": number; "example"?: (string | null); "first-unix-ms": number; "last-unix-ms": number; "networks": Array<FailureTarget>; "owner": string; "servers": Array<FailureTarget>; "share-percent": number; "title": string };

export type SlowGroup = { "exchanges": number; "limit": string; "name": string; "owner": string; "seconds": number };

export type SlowOwner = { "owner": string; "seconds": number; "share-percent": number };

export type SlowPackets = { "balancer-resets": number; "both-directions": boolean; "client": PacketSide; "examples": Array<PacketExample>; "forward": string; "handshakes": Handshakes; "late": number; "limitations": Array<string>; "name": string; "networks": Array<SlowGroup>; "owners": Array<SlowOwner>; "pools": Array<SlowGroup>; "reasons": Array<SlowReason>; "sample"?: (number | null); "seconds": number; "server"?: (PacketSide | null); "servers": Array<SlowGroup>; "started": number; "unscaled": number; "watched": number };

export type SlowReason = { "advice": string; "limit": string; "owner": string; "seconds": number; "share-percent": number; "title": string };

export type SlowService = { "connections"?: number; "examples": Array<SlowExample>; "exchanges": number; "failures"?: Array<SlowFailure>; "largest-client"?: (string | null); "largest-client-connections"?: number; "measured": number; "min-ms": number; "name": string; "networks": Array<SlowGroup>; "owners": Array<SlowOwner>; "pools": Array<SlowGroup>; "reasons": Array<SlowReason>; "sampled"?: number; "seconds": number; "servers": Array<SlowGroup>; "slowest": number; "threshold-ms": number };

export type Source = "probe" | "agent" | "traffic" | "operator" | "configuration" | "resolver";

export type StandingAlarm = { "name": string; "reason": string; "severity": AlarmSeverity; "since-unix-ms"?: (number | null); "subject": string };

export type StateUpdate = { "next-ms": number; "report": Report; "sequence": number; "status": Status };

export type Status = { "alarms"?: Array<StandingAlarm>; "draining": Array<Draining>; "drift"?: (Drift | null); "error-interval-ms"?: number; "generation": number; "heartbeats"?: Array<HeartbeatStatus>; "links"?: Array<BundleStatus>; "more-alarms"?: number; "mptcp"?: (MptcpStatus | null); "names"?: (NamesStatus | null); "now-unix-ms": number; "packets"?: (PacketsStatus | null); "pid": number; "pins"?: Array<string>; "pools": Array<PoolStatus>; "services": Array<ServiceStatus>; "since-unix-ms": number; "uplinks"?: (UplinksStatus | null); "uptime-ms": number; "version": string; "vrrp"?: Array<MemberStatus>; "warnings": Array<string>; "workers": number };

export type Statuses = { "client-error": Counter; "informational": Counter; "redirect": Counter; "server-error": Counter; "success": Counter };

export type StickyClients = { "clients"?: (number | null); "uncounted": boolean; "until-unix-ms": number };

export type Stopping = { "connections": number; "in-flight": number; "limit-ms": number };

export type Subflow = { "local": string; "received": number; "remote": string; "round-trip-us": number; "sent": number };

export type TakeoverResult = { "groups": Array<string> };

export type TakeoverVerb = "take" | "give" | "release";

export type TargetStatus = { "answered": number; "name": string; "state": string; "unanswered": number };

export type TcpInfoDelta = { "busy-us": number; "bytes-acked": number; "bytes-received": number; "cwnd": number; "delivery-rate": number; "min-rtt-us": number; "mss": number; "not-sent": number; "out-of-order": number; "own": boolean; "receive-rtt-us"?: number; "retransmits": number; "rtt-us": number; "rwnd-limited-us": number; "send-buffer"?: number; "sndbuf-limited-us": number; "ssthresh": number; "window": number };

export type UndoResult = { "failed"?: (string | null); "records": Array<AuditRecord> };

export type UplinkStatus = { "family": string; "forwarded": number; "gateway": string; "interface": string; "loss": number; "mark": number; "moved": number; "name": string; "originated": number; "priority": number; "reason": string; "round-trip-us"?: (number | null); "share": number; "source"?: (string | null); "state": string; "table": number; "weight": number };

export type UplinksStatus = { "problems": Array<string>; "rule-priority": number; "uplinks": Array<UplinkStatus> };

export type WeightCalculation = { "base": number; "factor": number; "input": WeightInput; "previous": number; "ratios": Array<number>; "rounded": number; "state": WeightState; "target": number };

export type WeightExplained = { "active": number; "configured": number; "controller"?: (ControllerExplained | null); "controller-weight"?: (number | null); "operator"?: (OperatorWeight | null); "slow-start-percent": number };

export type WeightInput = { "active": number; "configured": number; "latency-ms"?: (number | null); "load"?: (number | null); "new": number };

export type WeightState = { "gain": number; "last"?: ([number, number] | null); "level": number; "published": number; "step": number };

export type WitnessStatus = { "address": string; "counts": Record<string, number>; "leases-held": number; "reason": string; "since-unix-ms": number; "state": string; "votes-lent": number };

export type WorstRecord = { "at-unix-ms": number; "count": number; "kind": string; "span-ms": number };
