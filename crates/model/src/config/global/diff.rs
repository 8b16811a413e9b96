//! The keys of `[global]` in a comparison.

use super::types::GlobalConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    GlobalKey of GlobalConfig besides ():
    Workers = "workers" => workers,
    Connections = "connections" => connections,
    AccessLog = "access-log" => access_log,
    Control = "control" => control,
    Metrics = "metrics" => metrics,
    Telemetry = "telemetry" => telemetry,
    Drain = "drain" => drain,
    Sample = "sample" => sample,
    StickySecretFile = "sticky-secret-file" => sticky_secret_file,
    CertificateWarning = "certificate-warning" => certificate_warning,
    EventLevel = "event-level" => event_level,
    Hook = "hook" => hooks,
    History = "history" => history,
}
