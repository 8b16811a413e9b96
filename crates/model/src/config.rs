//! The configuration: what was written (`decode`), what is in force (`resolve`), whether it may be (`verify`), what
//! it means (`Config`, valid by construction), what changed (`diff`). It reads no file: text comes in.

pub mod address;
pub mod affinity;
pub mod agent;
pub mod balance;
pub mod buffer;
pub mod capture;
pub mod compression;
pub mod diff;
pub mod dns;
pub mod explain;
pub mod finding;
pub mod forwarded_headers;
pub mod forwarding_mode;
pub mod heartbeat;
pub mod http2;
pub mod http3;
pub mod link;
pub mod loader;
pub mod matching;
pub mod mptcp;
pub mod network_set;
pub mod objective;
pub mod objects;
pub mod operations;
pub mod packets;
pub mod pair_change;
pub mod patch;
pub mod path_normalization;
pub mod pattern;
pub mod privileged_settings;
pub mod probe;
pub mod proxy_protocol;
pub mod reference;
pub mod replication;
pub mod resilience;
pub mod rules;
pub mod secrets;
pub mod server_edit;
pub mod socket;
pub mod telemetry;
pub mod template;
pub mod tls;
pub mod toml_tree;
pub mod unit;
pub mod uplink;
pub mod vrrp;

mod build;
mod decode;
mod reserved_fields;
mod resolve;
mod schema;
mod section;
mod source_text;
pub mod suggestion;
mod tables;
mod value;
mod verify;

pub use address::{ServerAddress, ServerHost};
pub use affinity::{
    AffinityConfig, AffinityCookie, AffinityKey, CookieMode, UnavailableServerAction,
};
pub use agent::{AgentConfig, AgentKind};
pub use balance::{BalancePolicy, HashKey, Priority, WeightControllerConfig};
pub use buffer::{BufferConfig, BufferOverflow};
pub use capture::CaptureConfig;
pub use compression::{CompressionConfig, ContentCoding};
pub use diff::{
    CaptureKey, ConfigDiff, GlobalKey, HeartbeatKey, LinkKey, MptcpKey, NameKey, NameServerKey,
    ObjectChanges, PacketsKey, PoolChange, PoolKey, ServerKey, ServiceKey, UplinkKey, UplinksKey,
    VrrpKey, ZoneKey, diff,
};
pub use dns::{
    ClientRegion, NameConfig, NameFallback, NamePolicy, NameServerConfig, NameSource, NamedAddress,
    ZoneConfig,
};
pub use explain::{EffectiveSetting, SettingOrigins};
pub use finding::{ConfigFinding, ConfigFindings, Severity};
pub use forwarded_headers::{ForwardedHeaderAction, ForwardedHeaders};
pub use forwarding_mode::ForwardingMode;
pub use heartbeat::{
    HeartbeatConfig, HeartbeatPathConfig, ReachabilityConfig, WitnessConfig,
    WitnessProtocol as WitnessBy, WitnessUrl as WitnessPlace,
};
pub use http2::{ClientHttp2, ClientHttp2Mode, Http2FloodLimits, ServerHttp2, ServerHttp2Mode};
pub use http3::ClientHttp3;
pub use link::{BundleLink, LinkBundle, LinkPolicy, LinkProbe};
pub use loader::{CheckedConfig, explain, load};
pub use matching::{HostPattern, NameValuePattern, NumberRange, PathPattern};
pub use mptcp::{EndpointPurpose, MptcpConfig, MptcpEndpointConfig};
pub use network_set::NetworkSet;
pub use objective::ServiceObjective;
pub use objects::{
    AccessLogConfig, AccessLogFormat, AccessLogTarget, AllDownPolicy, Config, GlobalConfig,
    InitialState, PoolConfig, ServerConfig, ServiceConfig,
};
pub use objects::{
    AdminState, PoolLimits, PoolTimeouts, ServerWeight, ServiceLimits, ServiceTimeouts,
};
pub use operations::{
    ControlConfig, DEFAULT_SOCKET, DiscoveryConfig, DiscoverySource, DnsRecordType, EventHook,
    HistoryRetention, RemoteApiConfig, ScheduleRule, WriteBack,
};
pub use packets::{
    AttachMode, DailyWindow, FlowTimers, GuardConfig, GuardLimits, IpPrefix, ListenRange,
    PacketAffinityConfig, PacketPlaneConfig, PacketRule, PacketServiceConfig, TransportProtocols,
    TunnelConfig, TunnelKind,
};
pub use patch::json_to_toml::PatchError;
pub use path_normalization::{PathCase, PathNormalization};
pub use pattern::{Pattern, PatternError};
pub use probe::{
    DownAction, HttpProbe, ProbeConfig, ProbeKind, ProbeTls, ProgramProbe, SendExpectProbe,
};
pub use proxy_protocol::{AcceptProxyConfig, SendProxyVersion, UntrustedPeerPolicy};
pub use replication::ReplicationScope;
pub use reserved_fields::ReservedFields;
pub use resilience::{
    CircuitBreakerLimits, HedgeDelay, HedgingConfig, LoadSheddingConfig, OutlierDetectionConfig,
    RequestPriority, RetryConditions, RetryConfig, StatusRanges,
};
pub use rules::{
    ActiveCountScope, Condition, FixedAnswer, Mirror, NoServersAction, PoolCondition, RateLimit,
    RateLimitKey, RewriteConfig, RuleActionConfig, RuleConfig,
};
pub use socket::{KeepAlive, PathHint, SocketOptions};
pub use telemetry::{MetricsConfig, TelemetryConfig};
pub use tls::{
    AcmeChallengeType, AcmeConfig, CertificateField, ClientAuth, PoolTls, RevocationConfig,
    ServiceTls, TlsPolicy, TlsVersion, UnknownSniAction,
};
pub use uplink::{SourceNatMode, UplinkConfig, UplinkProbe, UplinksConfig};
pub use vrrp::{CompanionAddresses, LinkAddressMode, VrrpConfig};
