//! Sticky cookies: those of services become that of the entry point's service.

use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::names::kebab;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value;

use super::option_tree::OptionNode;

/// A cookie that keeps a client on its server.
#[derive(Clone, Debug)]
pub struct StickyCookie<'t> {
    node: &'t OptionNode,
    /// The name of the service that has it.
    service: String,
}

impl<'t> StickyCookie<'t> {
    /// `sticky.cookie` of a load balancer.
    pub fn find(balancer: &'t OptionNode, service: &str) -> Option<StickyCookie<'t>> {
        let sticky = balancer.get("sticky")?;
        let node = sticky.get("cookie").unwrap_or(sticky);
        Some(StickyCookie { node, service: service.to_owned() })
    }

    /// Whether two pools have the cookie of one service.
    pub fn is_same(&self, other: &StickyCookie<'_>) -> bool {
        std::ptr::eq(self.node, other.node)
    }

    /// The name of the cookie. Traefik makes one of a hash where none is written.
    fn name(&self) -> String {
        match self.node.text_of("name").filter(|name| !name.is_empty()) {
            Some(name) => name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "-"),
            None => format!("server-of-{}", kebab(&self.service)),
        }
    }

    /// Reports a cookie beside that of another service.
    pub fn leave_out(&self, notes: &mut ConversionNotes) {
        let reason = "a service has one cookie: clients are kept by that of the first service";
        self.node.left_out(notes, reason, "a listener of its own");
    }

    /// Writes `sticky` of a service.
    pub fn write(&self, service: &str, tls: bool, notes: &mut ConversionNotes) -> TomlTable {
        let node = self.node;
        let source = node.place();
        let mut table = TomlTable::new(format!("{service}.sticky"), source, "sticky");
        let mut set = |key: &'static str, text: String| table.set(key, text, SourcePlace::NONE);
        set("by", value::quote("cookie"));
        set("name", value::quote(&self.name()));
        set("cookie", value::quote("insert"));
        set("secure", (node.is_on("secure") && tls).to_string());
        set("http-only", node.is_on("httpOnly").to_string());
        let site = node.text_of("sameSite").unwrap_or_default().to_ascii_lowercase();
        let site = match site.as_str() {
            "none" | "lax" | "strict" => site.as_str(),
            _ => "omit",
        };
        set("same-site", value::quote(site));
        if let Some(domain) = node.text_of("domain") {
            set("domain", value::quote(domain.trim_start_matches('.')));
        }
        if let Some(age) = node.number_of("maxAge").filter(|age| *age > 0) {
            let ms = u64::try_from(age).unwrap_or(0).saturating_mul(1_000).min(30 * 86_400_000);
            set("expire", format_duration(ms));
        }
        for key in ["secure", "httpOnly", "sameSite", "domain", "maxAge", "name"] {
            node.convert_key(key, notes);
        }
        if let Some(path) = node.get("path") {
            path.changed(notes, "the cookie holds for all paths", "");
        }
        let named = node.text_of("name").is_some_and(|name| name == self.name());
        let reason = match !named || node.entries().is_empty() {
            true => "the cookie has another name and new values: clients are shared out anew once",
            false => {
                "the values of the cookie are new, so that clients are shared out anew once; all services of the entry point have it"
            }
        };
        node.changed(notes, reason, "");
        table
    }
}
