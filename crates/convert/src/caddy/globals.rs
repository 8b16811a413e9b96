//! The global options block.

use crate::document::{Document, SourcedValue, TomlTable};
use crate::duration::{TimeSetting, parse_duration};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::address::UsualPorts;
use super::client_view::ClientAddressView;
use super::matcher::networks;
use super::order::DirectiveOrder;

/// What the global options say for all sites.
#[derive(Clone, Debug)]
pub struct GlobalOptions {
    pub ports: UsualPorts,
    pub order: DirectiveOrder,
    /// The keys of `tls.acme` besides its names.
    pub acme: Vec<KeyValue>,
    /// Certificates are signed by Caddy itself.
    pub local_certs: bool,
    pub default_sni: Option<SourcedValue>,
    pub bind: Vec<String>,
    pub trust: Option<SourcedValue>,
    pub clients: ClientAddressView,
    pub accept_proxy: Option<SourcedValue>,
    pub http2: bool,
    pub http3: bool,
    pub timeouts: ClientTimeouts,
}

/// Times towards clients.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientTimeouts {
    pub header: Option<TimeSetting>,
    pub body: Option<TimeSetting>,
    pub idle: Option<TimeSetting>,
}

impl GlobalOptions {
    /// Reads the global options, if the file has any.
    pub fn read(block: Option<&ConfigStatement>, notes: &mut ConversionNotes) -> GlobalOptions {
        let mut out = GlobalOptions {
            ports: UsualPorts { http: 80, https: 443, automatic: true },
            order: DirectiveOrder::standard(),
            acme: Vec::new(),
            local_certs: false,
            default_sni: None,
            bind: Vec::new(),
            trust: None,
            clients: ClientAddressView::Connection,
            accept_proxy: None,
            http2: true,
            http3: true,
            timeouts: ClientTimeouts::default(),
        };
        block.into_iter().for_each(|block| block.settle_converted(notes));
        for option in block.map_or(&[][..], ConfigStatement::inner) {
            out.option(option, notes);
        }
        out
    }

    fn option(&mut self, option: &ConfigStatement, notes: &mut ConversionNotes) {
        let word = option.word(0).to_owned();
        match option.name.as_str() {
            "http_port" => self.ports.http = word.parse().unwrap_or(80),
            "https_port" => self.ports.https = word.parse().unwrap_or(443),
            "auto_https" => match word.as_str() {
                "off" => self.ports.automatic = false,
                _ => {
                    let reason = "names are redirected and get certificates as without it";
                    return option.leave_out(reason, "", notes);
                }
            },
            "email" => self.acme.push(KeyValue::new("contact", value::quote(&word))),
            "acme_ca" => self.acme.push(KeyValue::new("directory", value::quote(&word))),
            "acme_ca_root" => self.acme.push(KeyValue::new("ca", value::quote(&word))),
            "local_certs" => self.local_certs = true,
            "default_sni" => {
                self.default_sni = Some(SourcedValue { value: word, source: option.source });
            }
            "default_bind" => self.bind = option.words_from(0).to_vec(),
            "order" => return self.order.apply(option, notes),
            "servers" => return self.servers(option, notes),
            _ => return note_option(option, notes),
        }
        option.settle_converted(notes);
    }

    fn servers(&mut self, servers: &ConfigStatement, notes: &mut ConversionNotes) {
        if servers.count() > 0 {
            let reason = "what is said for one listener alone is not written";
            if servers.find("trusted_proxies").is_some() {
                self.trust_nobody();
            }
            return servers.leave_out(reason, "the same in its service", notes);
        }
        servers.settle_converted(notes);
        for option in servers.inner() {
            match option.name.as_str() {
                "protocols" => {
                    let words = option.words_from(0);
                    self.http2 = words.iter().any(|one| one == "h2");
                    self.http3 = words.iter().any(|one| one == "h3");
                    option.settle_converted(notes);
                }
                "trusted_proxies" => self.trusted_proxies(option, notes),
                "listener_wrappers" => self.wrappers(option, notes),
                "timeouts" => self.times(option, notes),
                "strict_sni_host" => {
                    let reason = "names are compared where certificates of clients are asked for";
                    option.note_changed(reason, "", notes);
                }
                "trusted_proxies_strict" => {
                    option.settle_converted(notes);
                }
                "client_ip_headers" => {
                    let reason = "clients are named by X-Forwarded-For alone: no proxy is trusted";
                    option.leave_out(reason, "`trust`", notes);
                    self.trust_nobody();
                }
                "max_header_size" | "keepalive_interval" | "keepalive_idle" | "keepalive_count"
                | "log_credentials" | "metrics" | "name" | "enable_full_duplex" | "trace" => {
                    option.note_changed("the limits of a service are its own", "`limit`", notes);
                }
                "import" => {
                    let reason = "files are not opened: no proxy is trusted";
                    option.leave_out(reason, "put the file's text in its place", notes);
                    self.trust_nobody();
                }
                _ => option.leave_out("the converter does not know this option", "", notes),
            }
        }
    }

    fn trusted_proxies(&mut self, option: &ConfigStatement, notes: &mut ConversionNotes) {
        let listed = networks(option.words_from(1)).filter(|list| !list.is_empty());
        match listed.filter(|_| option.word(0) == "static") {
            Some(_) if self.clients == ClientAddressView::Unknown => {
                let reason = "proxies name clients in another way than is written: none is trusted";
                option.leave_out(reason, "`trust`", notes);
            }
            Some(list) => {
                self.clients = ClientAddressView::Named;
                let reason =
                    "X-Forwarded-Host of trusted proxies passes, and is not written for others";
                option.note_changed(reason, "`forwarded`", notes);
                self.trust =
                    Some(SourcedValue { value: value::quote_all(&list), source: option.source });
            }
            None => {
                let reason = "only networks that are written here can be trusted: none is";
                option.leave_out(reason, "`trust`", notes);
                self.trust_nobody();
            }
        }
    }

    /// Clients that proxies name are not known.
    fn trust_nobody(&mut self) {
        self.clients = ClientAddressView::Unknown;
        self.trust = None;
    }

    fn wrappers(&mut self, option: &ConfigStatement, notes: &mut ConversionNotes) {
        option.settle_converted(notes);
        for wrapper in option.inner() {
            match wrapper.name.as_str() {
                "tls" | "http_redirect" => wrapper.settle_converted(notes),
                "proxy_protocol" => {
                    let allowed: Vec<String> = wrapper
                        .inner()
                        .iter()
                        .filter(|one| one.name == "allow")
                        .flat_map(|one| one.words_from(0).to_vec())
                        .collect();
                    let is_plain =
                        |line: &ConfigStatement| matches!(line.name.as_str(), "allow" | "timeout");
                    if allowed.is_empty() || !wrapper.inner().iter().all(is_plain) {
                        let reason = "the header is believed from networks that `allow` names, without exceptions";
                        wrapper.leave_out(reason, "`accept-proxy` of the services", notes);
                        continue;
                    }
                    wrapper.settle_converted(notes);
                    for line in wrapper.inner() {
                        match line.name.as_str() {
                            "allow" => line.settle_converted(notes),
                            _ => line.note_changed(
                                "the header has a time of its own",
                                "`accept-proxy`",
                                notes,
                            ),
                        }
                    }
                    let value = value::table(&[
                        KeyValue::new("from", value::quote_all(&allowed)),
                        KeyValue::new("others", value::quote("plain")),
                    ]);
                    self.accept_proxy = Some(SourcedValue { value, source: wrapper.source });
                }
                _ => wrapper.leave_out("the converter does not know this wrapper", "", notes),
            }
        }
    }

    fn times(&mut self, option: &ConfigStatement, notes: &mut ConversionNotes) {
        option.settle_converted(notes);
        for line in option.inner() {
            let time = parse_duration(line.word(0), 0).filter(|ms| *ms > 0);
            let time = time.map(|ms| TimeSetting { ms, source: line.source });
            match line.name.as_str() {
                "read_header" => self.timeouts.header = time,
                "read_body" | "write" => {
                    line.note_changed(
                        "the time is that between two bytes",
                        "`between-bytes`",
                        notes,
                    );
                    self.timeouts.body = time;
                }
                "idle" => self.timeouts.idle = time,
                _ => {
                    line.leave_out("there is no such time", "`timeout`", notes);
                    continue;
                }
            }
            line.settle_converted(notes);
        }
    }
}

fn note_option(option: &ConfigStatement, notes: &mut ConversionNotes) {
    let changed = |reason: &str, instead: &str, notes: &mut ConversionNotes| {
        option.note_changed(reason, instead, notes);
    };
    match option.name.as_str() {
        "log" => changed("messages go where the service manager sends them", "", notes),
        "admin" | "persist_config" | "grace_period" | "shutdown_delay" | "debug" => {
            changed("the daemon is operated in its own way", "`[global] control`", notes);
        }
        "metrics" => changed("metrics have an address of their own", "`[global] metrics`", notes),
        "storage"
        | "storage_check"
        | "storage_clean_interval"
        | "cert_lifetime"
        | "renew_interval"
        | "ocsp_interval"
        | "ocsp_stapling"
        | "key_type"
        | "skip_install_trust" => {
            changed("certificates are kept and renewed in its own way", "`tls.acme`", notes);
        }
        "filesystem" => option.leave_out("files are not served", "a web server as a pool", notes),
        "fallback_sni" => {
            option.leave_out("handshakes for unknown names are refused", "`tls.unknown-sni`", notes)
        }
        "import" => {
            let reason = "files are not opened: options in it are not known";
            option.leave_out(reason, "put the file's text in its place", notes);
        }
        _ => option.leave_out("the converter does not know this option", "", notes),
    }
}

/// Writes the access log of the first `log` directive of a site, and reports what it cannot have.
pub fn write_log(logs: &[&ConfigStatement], document: &mut Document, notes: &mut ConversionNotes) {
    let Some(first) = logs.first() else { return };
    let mut globals = TomlTable::new("global", SourcePlace::NONE, "");
    let output = first.find("output");
    let target = match output.map(|one| one.word(0)) {
        Some("file") => output.map_or("", |one| one.word(1)),
        Some("stdout") => "stdout",
        Some("discard") => "off",
        _ => "stderr",
    };
    let target =
        if target.contains('/') || matches!(target, "stdout" | "off") { target } else { "stderr" };
    let log = [KeyValue::new("all", "true"), KeyValue::new("target", value::quote(target))];
    globals.set("access-log", value::table(&log), first.source);
    document.push(globals);
    for log in logs {
        let reason = "the access log has a form of its own, and there is one for all services";
        log.note_changed(reason, "`[global] access-log`", notes);
        log.inner().iter().for_each(|line| note_log_line(line, notes));
    }
}

fn note_log_line(line: &ConfigStatement, notes: &mut ConversionNotes) {
    line.note_changed("the access log has a form of its own", "`[global] access-log`", notes);
    line.inner().iter().for_each(|inner| note_log_line(inner, notes));
}
