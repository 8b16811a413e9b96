//! Health checks and dynamic weights of a port's servers, from its advisor and the manager's settings.

use crate::document::SourcedValue;
use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::config::{
    Advisor, Cluster, ClusterPort, DispatcherConfig, PortObject, inherited_keyword, keyword_value,
};

/// A port with its cluster and the whole configuration.
pub struct PortChecks<'j> {
    pub config: &'j DispatcherConfig,
    pub cluster: &'j Cluster,
    pub port: &'j ClusterPort,
}

impl PortChecks<'_> {
    /// The settings of dynamic weights. `None` if all weights are fixed, or if the manager was not started.
    pub fn dynamic_weights(
        &self,
        servers: &[&PortObject],
        notes: &mut ConversionNotes,
    ) -> Option<SourcedValue> {
        let manager = self.config.manager.as_ref()?;
        let fixed = |server: &&&PortObject| {
            matches!(keyword_value(&server.keys, "fixedweight"), Some("yes" | "y"))
        };
        let count = servers.iter().filter(fixed).count();
        if count == servers.len() {
            return None;
        }
        if let Some(one) = servers.iter().find(fixed) {
            notes.changed(
                one.source,
                &one.text,
                "weights of a pool are judged all or none",
                "a pool of its own for fixed weights",
            );
        }
        let own = self.cluster.keys.get("proportions").or(manager.get("proportions"));
        let numbers = own.map_or("50 50 0 0", |own| own.value.as_str());
        let source = own.map_or(SourcePlace::NONE, |own| own.source);
        let parts: Vec<u32> =
            numbers.split_whitespace().filter_map(|text| text.parse().ok()).collect();
        let [mut active, new, latency, system] = parts[..] else {
            notes.left_out(
                source,
                numbers,
                "the manager's proportions are four numbers",
                "`dynamic-weights`",
            );
            return None;
        };
        if system > 0 {
            notes.changed(
                source,
                &format!("proportions {numbers}"),
                "the share of the metric server was given to active connections",
                "`agent` in the pool and `dynamic-weights.agent`",
            );
            active += system;
        }
        let mut pairs = vec![
            KeyValue::new("active", active.to_string()),
            KeyValue::new("new", new.to_string()),
            KeyValue::new("latency", latency.to_string()),
        ];
        let seconds = manager.get("interval").and_then(|own| duration::parse_seconds(&own.value));
        pairs.extend(seconds.map(|ms| KeyValue::new("interval", duration::format_duration(ms))));
        pairs
            .extend(manager.get("sensitivity").map(|own| KeyValue::new("sensitivity", &own.value)));
        let smoothing =
            manager.get("smoothing").and_then(|own| duration::parse_seconds(&own.value));
        pairs.extend(
            smoothing.map(|thousandths| KeyValue::new("smoothing", (thousandths / 10).to_string())),
        );
        pairs.extend(
            inherited_keyword(self.config, self.cluster, self.port, "weightbound")
                .map(|bound| KeyValue::new("max-weight", &bound.value)),
        );
        Some(SourcedValue { value: value::table(&pairs), source })
    }

    /// The health check that corresponds to the advisor of this port.
    pub fn health_check(&self, notes: &mut ConversionNotes) -> Option<SourcedValue> {
        let own = |one: &&Advisor| {
            one.port == self.port.number
                && one.cluster.as_ref().is_none_or(|name| *name == self.cluster.name)
        };
        let advisor = self.config.advisors.iter().find(own)?;
        let request = self
            .port
            .servers
            .iter()
            .find_map(|server| keyword_value(&server.keys, "advisorrequest"));
        let mut pairs = match advisor.kind.as_str() {
            "http" | "https" => {
                let mut words = request.unwrap_or("HEAD /").split_whitespace();
                let method = words.next().unwrap_or("HEAD");
                let path = words.next().filter(|path| path.starts_with('/')).unwrap_or("/");
                vec![
                    KeyValue::new("http", value::quote(path)),
                    KeyValue::new("method", value::quote(method)),
                ]
            }
            "connect" => vec![KeyValue::new("tcp", "true")],
            "ssl" => vec![KeyValue::new("tls", value::table(&[KeyValue::new("verify", "false")]))],
            "ftp" => vec![KeyValue::new("ftp", "true")],
            "smtp" => vec![KeyValue::new("smtp", "true")],
            "imap" => vec![KeyValue::new("imap", "true")],
            "pop3" => vec![KeyValue::new("pop3", "true")],
            "nntp" => vec![KeyValue::new("nntp", "true")],
            "telnet" => vec![KeyValue::new("telnet", "true")],
            "ldap" => vec![KeyValue::new("ldap", "true")],
            "sip" => vec![KeyValue::new("sip", "true")],
            "ping" => vec![KeyValue::new("ping", "true")],
            "dns" => vec![KeyValue::new("dns", value::quote("localhost"))],
            other => {
                let instead = "`probe = { program = … }`, or `agent`";
                notes.left_out(
                    advisor.source,
                    &format!("advisor start {other}"),
                    "there is no such probe",
                    instead,
                );
                return None;
            }
        };
        if advisor.kind == "https" {
            pairs.push(KeyValue::new("tls", value::table(&[KeyValue::new("verify", "false")])));
        }
        let response = self
            .port
            .servers
            .iter()
            .find_map(|server| keyword_value(&server.keys, "advisorresponse"));
        pairs.extend(response.filter(|_| request.is_some()).map(|text| {
            KeyValue::new("expect", value::quote(&crate::condition::escape_regex(text)))
        }));
        let every = advisor
            .keys
            .get("interval")
            .and_then(|own| duration::parse_seconds(&own.value))
            .unwrap_or(7_000);
        pairs.push(KeyValue::new("interval", duration::format_duration(every)));
        let limit = ["timeout", "receivetimeout", "connecttimeout"]
            .iter()
            .find_map(|key| duration::parse_seconds(keyword_value(&advisor.keys, key)?));
        pairs.push(KeyValue::new(
            "timeout",
            duration::format_duration(limit.unwrap_or(1_000).min(every)),
        ));
        Some(SourcedValue { value: value::table(&pairs), source: advisor.source })
    }
}
