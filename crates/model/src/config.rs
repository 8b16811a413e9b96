//! The configuration: what was written (`decode`), what is in force (`resolve`), whether it may be (`verify`), what
//! it means (`Config`, valid by construction), what changed (`diff`). It reads no file: text comes in.

pub mod address;
pub mod agent;
pub mod balance;
pub mod buffer;
pub mod capture;
pub mod checked;
pub mod compress;
pub mod diff;
pub mod edit;
pub mod explain;
pub mod finding;
pub mod forward;
pub mod forwarded;
pub mod heartbeat;
pub mod http2;
pub mod http3;
pub mod link;
pub mod load;
pub mod matching;
pub mod mptcp;
pub mod names;
pub mod network_set;
pub mod objective;
pub mod operate;
pub mod packets;
pub mod pair;
pub mod patch;
pub mod path;
pub mod pattern;
pub mod probe;
pub mod proxy;
pub mod reach;
pub mod reference;
pub mod replicate;
pub mod resilience;
pub mod rules;
pub mod secrets;
pub mod sight;
pub mod socket;
pub mod sticky;
pub mod template;
pub mod tls;
pub mod tree;
pub mod unit;
pub mod uplink;
pub mod vrrp;

mod build;
mod decode;
mod reserved;
mod resolve;
mod schema;
mod section;
mod source;
pub mod suggest;
mod tables;
mod value;
mod verify;

pub use address::{Host, ServerAddress};
pub use agent::{Agent, AgentKind};
pub use balance::{Balance, HashOn, Judge, Priority};
pub use buffer::{Beyond, Buffer};
pub use capture::Capture;
pub use checked::{
    AccessFormat, AccessLog, AccessTarget, AllDown, Config, Global, Initial, Pool, Server, Service,
};
pub use checked::{Admin, Limits, PoolLimits, PoolTimeouts, ServiceTimeouts, Weight};
pub use compress::{Coding, Compress};
pub use diff::{
    CaptureKey, Changes, Diff, GlobalKey, HeartbeatKey, LinkKey, MptcpKey, NameKey, NameServerKey,
    PacketsKey, PoolChange, PoolKey, ServerKey, ServiceKey, UplinkKey, UplinksKey, VrrpKey,
    ZoneKey, diff,
};
pub use explain::{Entry, Origins};
pub use finding::{Finding, Findings, Severity};
pub use forward::Forward;
pub use forwarded::{Fanout, Forwarded};
pub use heartbeat::{BeatPath, By as WitnessBy, Heartbeat, Place as WitnessPlace, Reach, Witness};
pub use http2::{ClientHttp2, Http2Flood, Offer, ServerHttp2, Speak};
pub use http3::ClientHttp3;
pub use link::{Bundle, LinkPolicy, LinkProbe, Member};
pub use load::{Checked, explain, load};
pub use matching::{HostPattern, Match, PathPattern, Range};
pub use mptcp::{Endpoint, Mptcp, Purpose};
pub use names::{
    NameFallback, NamePolicy, NameServer, NameSource, Named, NamedAddress, Region, Zone,
};
pub use network_set::NetworkSet;
pub use objective::Objective;
pub use operate::{
    Control, Discovery, HistoryKeep, Hook, Place, Records, Remote, SOCKET, Scheduled, WriteBack,
};
pub use packets::{
    AttachMode, Caps, FlowTimers, Guard, Hours, PacketRule, PacketService, Packets, Prefix,
    Protocols, Span, Sticky, Tunnel, TunnelKind,
};
pub use patch::plain::PatchError;
pub use path::{PathCase, PathNormalization};
pub use pattern::{Pattern, PatternError};
pub use probe::{HttpAsk, OnDown, Probe, ProbeKind, ProbeTls, ProgramProbe, Say};
pub use proxy::{AcceptProxy, Others, SendProxy};
pub use replicate::Replicate;
pub use reserved::Reserved;
pub use resilience::{
    BreakerLimits, Eject, Hedge, HedgeAfter, Precedence, Retry, ShedTerms, Statuses,
};
pub use rules::{
    Action, Condition, Counted, FixedAnswer, LimitBy, Mirror, PoolState, RateLimit, Rewrite, Rule,
    WithoutServers,
};
pub use sight::{Metrics, Telemetry};
pub use socket::{KeepAlive, PathHint, SocketOptions};
pub use sticky::{Affinity, Cookie, CookieMode, Gone, StickyBy};
pub use tls::{
    Acme, CertificateField, Challenge, ClientAuth, PoolTls, Revoked, ServiceTls, TlsPolicy,
    TlsVersion, UnknownName,
};
pub use uplink::{Translate, Uplink, UplinkProbe, Uplinks};
pub use vrrp::{Also, LinkAddress, Vrrp};
