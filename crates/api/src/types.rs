//! What the daemon and its users say to each other, one file a subject.
//!
//! Readers ignore keys that they do not know, so that an older client understands a newer daemon.

pub mod access;
pub mod alarm;
pub mod audit;
pub mod capacity;
pub mod capture;
pub mod certificate;
pub mod change;
pub mod counter;
pub mod error_counts;
pub mod event;
pub mod explain;
pub mod headroom;
pub mod heartbeat;
pub mod history;
pub mod link;
pub mod live;
pub mod log;
mod mptcp;
pub mod names;
pub mod packets;
pub mod port;
pub mod problem;
pub mod refused;
pub mod report;
pub mod request;
pub mod server;
pub mod slo;
pub mod slow;
pub mod status;
mod uplink;
pub mod vrrp;

pub use access::{Me, Role};
pub use alarm::{AlarmSeverity, StandingAlarm};
pub use audit::{Audit, AuditQuery, AuditRecord, UndoQuery, UndoResult};
pub use capacity::{Capacity, CapacityDemand, CapacityLimit, CapacityMachine, CapacityService};
pub use capture::{
    Capture, CaptureAction, CaptureActionQuery, CaptureQuery, CaptureRule, Captures, TraceQuery,
};
pub use certificate::CertificateStatus;
pub use change::{
    Applied, ApplyQuery, ChangeQuery, Changed, Changes, ConfigKeys, ConfigQuery, Drift, Generation,
    Generations, KeyChange, ObjectQuery, PairApplied, PlanChange, PoolChanged, PoolChanges,
    RollbackQuery, StopQuery, Stopping,
};
pub use counter::Counter;
pub use error_counts::ErrorCounts;
pub use event::{Event, Events, Level};
pub use explain::{
    ControllerExplained, EjectionExplained, OperatorWeight, ServerExplained, ServersExplained,
    WeightExplained,
};
pub use headroom::HeadroomReport;
pub use heartbeat::{
    HeartbeatPathStatus, HeartbeatStatus, PeerGroup, PeerReport, ReplicationStatus, TargetStatus,
    WitnessStatus,
};
pub use history::{History, HistoryQuery, HistoryRow, WorstRecord};
pub use link::{BundleStatus, LinkStatus};
pub use live::{LostUpdates, StateUpdate};
pub use log::{LogCount, LogEntry, LogGroup, LogPage, LogQuery, LogScope};
pub use mptcp::{EndpointStatus, MptcpConnection, MptcpStatus, Subflow};
pub use names::{
    NameCandidate, NameExplained, NameListener, NameQuery, NameStatus, NamesReport, NamesStatus,
};
pub use packets::{
    FloodClient, FlowSampleStatus, HeaderRemoval, Neighbour, PacketDisposition, PacketInterface,
    PacketOutcome, PacketServer, PacketService, PacketsReport, PacketsStatus,
};
pub use port::PortReport;
pub use problem::Problem;
pub use refused::{RefusedQuery, RefusedRequest, RefusedRequests};
pub use report::{
    Bytes, CauseCount, Connections, Descriptors, NamedCount, PhaseTimes, PoolReport, Process,
    Report, ReportQuery, Requests, ServerReport, ServiceCounts, ServiceReport, Statuses,
};
pub use request::{
    AffinityReport, MatchingRule, PoolShare, RequestDescription, RequestExplained, RuleMismatch,
    RuleReport, ServerCandidate,
};
pub use server::{ServerAction, ServerActionRequest, ServerChange, ServerChanged};
pub use slo::{
    BurnAlarm, BurnSpan, FailedOperations, NetworkOperations, ObjectiveStatus, OperationCounts,
    ServiceObjectives, SloExplained, SloQuery, SloReport,
};
pub use slow::{
    FailureTarget, HandshakeTimes, Handshakes, PacketExample, PacketSide, SlowExample,
    SlowExplained, SlowFailure, SlowGroup, SlowOwner, SlowPackets, SlowQuery, SlowReason,
    SlowService,
};
pub use status::{
    BreakerStatus, CheckEvidence, Draining, Evidence, PlannedMaintenance, PoolStatus, ServerStatus,
    ServiceState, ServiceStatus, Source, Status, StickyClients,
};
pub use uplink::{UplinkStatus, UplinksStatus};
pub use vrrp::{
    Lease, LeaseRenewal, MemberChange, MemberReport, MemberStatus, TakeoverQuery, TakeoverResult,
    TakeoverVerb,
};
