//! The configuration. Each table of the file has a folder with its keys and defaults (`keys`) and its checked type. The
//! folder also has its inheritance (`resolve`), verification (`verify`), construction (`build`) and comparison
//! (`diff`). `file_root` combines the tables; the modules beside it implement the file's language. No module reads a
//! file: they process text.

mod access_log;
pub mod address;
pub mod affinity;
pub mod agent;
pub mod auth;
mod balance;
pub mod body_limit;
mod buffer;
pub mod capture;
pub mod client_from;
pub mod compression;
pub mod dns;
pub mod error_pages;
pub mod explain;
pub mod field_names;
pub mod finding;
pub mod forwarded_headers;
pub mod forwarding_mode;
pub mod heartbeat;
pub mod http2;
pub mod http3;
mod ldap_filter;
pub mod link;
pub mod loader;
pub mod matching;
pub mod mptcp;
pub mod network_set;
pub mod objective;
pub mod packets;
pub mod pair_change;
pub mod patch;
pub mod path_normalization;
pub mod pattern;
pub mod privileged_settings;
pub mod probe;
pub mod proxy_protocol;
pub mod reference;
pub mod renamed_keys;
pub mod replication;
pub mod rules;
pub mod secrets;
pub mod server_edit;
pub mod socket;
pub mod suggestion;
pub mod syntax_message;
pub mod telemetry;
pub mod template;
pub mod text_difference;
pub mod tls;
pub mod toml_tree;
pub mod unit;
pub mod uplink;
pub mod value_template;
pub mod vrrp;

mod admin_state;
mod changed_keys;
mod circuit_breaker;
mod control;
mod daily_window;
mod decode;
mod default_bounds;
mod discovery;
mod effective_settings;
mod event_hook;
mod event_level;
mod file_parts;
mod file_root;
mod global;
mod hedging;
mod history;
mod idle_timeout;
mod inner_table;
mod ip_prefix;
mod key_lookup;
mod listen_range;
mod load_shedding;
mod object_changes;
mod object_header;
mod outlier_detection;
mod pool;
mod pool_usage;
mod port_range;
mod request_id;
mod request_limits;
mod request_priority;
mod reserved_fields;
mod retry;
mod rule_overrides;
mod schedule;
mod schema;
mod section;
mod server;
mod service;
mod setting_layers;
mod setting_origin;
mod setting_values;
mod source_text;
mod status_range;
mod status_ranges;
mod text_block;
mod unsupported_keys;
mod value;

pub use access_log::{
    AccessLogField, LogSource, LogVariable, MAX_LOG_FIELDS, SyslogServer, SyslogTls,
    SyslogTransport,
};
pub use address::{ServerAddress, ServerEndpoint, ServerHost, UnixSocketPath};
pub use admin_state::AdminState;
pub use affinity::{
    AffinityConfig, AffinityCookie, AffinityKey, CookieMode, UnavailableServerAction,
};
pub use agent::{AgentConfig, AgentKind};
pub use auth::{
    AuthConfig, AuthFailureAction, AuthKey, AuthKind, ClaimField, KeySetUrl, KeySetUrlError,
    RuleAuth,
};
pub use balance::{BalancePolicy, HashKey, Priority, WeightControllerConfig};
pub use body_limit::BodyLimit;
pub use buffer::{BufferConfig, BufferOverflow};
pub use capture::{CaptureConfig, CaptureKey};
pub use circuit_breaker::CircuitBreakerLimits;
pub use client_from::ClientAddressField;
pub use compression::{CompressionConfig, ContentCoding};
pub use control::{
    ControlConfig, DEFAULT_SOCKET, RemoteApiConfig, StandardPaths, UserEnvironment, WriteBack,
    standard_paths,
};
pub use daily_window::DailyWindow;
pub use decode::{is_cookie_value, is_writable_field};
pub use discovery::{DiscoveryConfig, DiscoverySource, DnsRecordType};
pub use dns::{
    ClientRegion, NameConfig, NameFallback, NameKey, NamePolicy, NameServerConfig, NameServerKey,
    NameSource, NamedAddress, ZoneConfig, ZoneKey,
};
pub use error_pages::{ErrorPageConfig, ErrorPageContent};
pub use event_hook::{EventHook, hook_events, renamed_event};
pub use event_level::EventLevel;
pub use explain::{EffectiveSetting, SettingOrigins};
pub use field_names::FieldNamePolicy;
pub use file_root::{Config, ConfigDiff, diff};
pub use finding::{ConfigFinding, ConfigFindings, Severity};
pub use forwarded_headers::{
    ClientField, ClientFieldMode, ForwardedHeaderAction, ForwardedHeaders,
};
pub use forwarding_mode::ForwardingMode;
pub use global::{AccessLogConfig, AccessLogFormat, AccessLogTarget, GlobalConfig, GlobalKey};
pub use heartbeat::{
    HeartbeatConfig, HeartbeatKey, HeartbeatPathConfig, ReachabilityConfig, WitnessConfig,
    WitnessProtocol, WitnessUrl,
};
pub use hedging::{HedgeDelay, HedgingConfig};
pub use history::HistoryRetention;
pub use http2::{ClientHttp2, ClientHttp2Mode, Http2FloodLimits, ServerHttp2, ServerHttp2Mode};
pub use http3::ClientHttp3;
pub use ip_prefix::IpPrefix;
pub use ldap_filter::{
    ExtensibleMatch, FilterComparison, FilterNode, FilterSubstrings, LdapFilter, LdapFilterError,
};
pub use link::{BundleLink, LinkBundle, LinkKey, LinkPolicy, LinkProbe};
pub use listen_range::ListenRange;
pub use load_shedding::LoadSheddingConfig;
pub use loader::{CheckedConfig, check_text, explain, load};
pub use matching::{
    FieldPattern, HostPart, HostPattern, NameValuePattern, NumberRange, PathPattern,
};
pub use mptcp::{EndpointPurpose, MptcpConfig, MptcpEndpointConfig, MptcpKey};
pub use network_set::NetworkSet;
pub use object_changes::ObjectChanges;
pub use objective::ServiceObjective;
pub use outlier_detection::OutlierDetectionConfig;
pub use packets::{
    AttachMode, FlowTimers, GuardConfig, GuardLimits, HeaderAction, PacketAffinityConfig,
    PacketPlaneConfig, PacketRule, PacketServiceConfig, PacketsKey, TcpNormalization,
    TransportProtocols, TunnelConfig, TunnelKind,
};
pub use patch::json_to_toml::PatchError;
pub use path_normalization::{PathCase, PathNormalization};
pub use pattern::{Pattern, PatternError};
pub use pool::{
    AllDownPolicy, InitialState, PoolChange, PoolConfig, PoolKey, PoolLimits, PoolTimeouts,
};
pub use port_range::PortRange;
pub use probe::{
    DownAction, HttpProbe, LdapScope, LdapSearch, ProbeConfig, ProbeHeaderField, ProbeKind,
    ProbeTls, ProgramProbe, SendExpectProbe,
};
pub use proxy_protocol::{AcceptProxyConfig, SendProxyVersion, UntrustedPeerPolicy};
pub use replication::ReplicationScope;
pub use request_id::RequestIdConfig;
pub use request_priority::RequestPriority;
pub use reserved_fields::ReservedFields;
pub use retry::{RetryConditions, RetryConfig};
pub use rule_overrides::{RuleOverrides, RuleRetry, RuleTimeouts};
pub use rules::{
    ActiveCountScope, AddedField, Condition, EditConfig, FixedAnswer, Mirror, NoServersAction,
    PoolCondition, PrefixRewrite, RateLimit, RateLimitKey, ResponseCondition, RewriteConfig,
    RuleActionConfig, RuleConfig, WeightedPool,
};
pub use schedule::ScheduleRule;
pub use server::{ServerConfig, ServerKey, ServerWeight};
pub use service::{ServiceConfig, ServiceKey, ServiceLimits, ServiceTimeouts, TrustedProxies};
pub use socket::{KeepAlive, PathHint, SocketOptions};
pub use status_range::StatusRange;
pub use status_ranges::StatusRanges;
pub use telemetry::{MetricsConfig, TelemetryConfig};
pub use tls::{
    AcmeChallengeType, AcmeConfig, CertificateField, ClientAuth, ClientRefusal, PoolTls,
    RevocationConfig, ServiceTls, TlsPolicy, TlsVersion, UnknownSniAction,
};
pub use uplink::{SourceNatMode, UplinkConfig, UplinkKey, UplinkProbe, UplinksConfig, UplinksKey};
pub use vrrp::{CompanionAddresses, LinkAddressMode, VrrpConfig, VrrpKey};
