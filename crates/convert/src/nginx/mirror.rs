//! `mirror`: copies of requests to the servers of another location.

use crate::notes::UnsupportedReason;
use crate::value::{self, KeyValue};

use super::content::ContentWriter;
use super::expressions::pass_target;
use super::location_content::find_pass;
use super::new_path::NewPath;
use super::pools::PoolUse;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// Directives of a location that copies go to, which change nothing that matters of an answer that nobody reads.
const KNOWN: [&str; 6] = [
    "internal",
    "proxy_pass",
    "proxy_set_header",
    "proxy_pass_request_body",
    "proxy_connect_timeout",
    "proxy_read_timeout",
];

impl ContentWriter<'_, '_> {
    /// `mirror` of a rule.
    pub(super) fn mirror(&mut self, scope: &DirectiveScope<'_>) -> Option<KeyValue> {
        let mut written = None;
        for mirror in scope.all("mirror") {
            if mirror.word(0) == "off" {
                mirror.mark_converted();
                continue;
            }
            let found = match written {
                None => self.mirror_pool(mirror),
                Some(_) => {
                    Err(UnsupportedReason::new("a rule has one mirror", "`mirror` in a rule"))
                }
            };
            match found {
                Ok(pool) => {
                    let reason = "copies have the Host and the fields of the request, and only those of requests whose body came with their head are sent";
                    self.notes.changed(mirror.source, &mirror.text(), reason, "`mirror` in a rule");
                    written = Some(KeyValue::new("mirror", value::quote(&pool)));
                }
                Err(why) => self.notes.left_out_because(mirror.source, &mirror.text(), &why),
            }
        }
        if let Some(switch) = scope.get("mirror_request_body") {
            let reason = "copies have the request's body";
            match switch.word(0) {
                "off" if written.is_some() => {
                    self.notes.changed(switch.source, &switch.text(), reason, "");
                }
                _ => switch.mark_converted(),
            }
        }
        written
    }

    /// The pool of the location that a `mirror` names.
    fn mirror_pool(&mut self, mirror: &Directive) -> Result<String, UnsupportedReason> {
        let unclear = |reason: &str| UnsupportedReason::new(reason, "`mirror` in a rule");
        let path = NewPath::read(mirror.word(0), self.tls, self.name);
        let path = path.ok_or_else(|| unclear("its path has variables"))?;
        let location = path.look_up(self.server_level).map_err(unclear)?;
        let level = location.inner();
        let pass = find_pass(level).ok_or_else(|| unclear("its location names no server"))?;
        if let Some(other) = level.iter().find(|one| !KNOWN.contains(&one.name.as_str())) {
            return Err(unclear(&format!("copies do not go through `{}`", other.name)));
        }
        // Without it nginx sends the path of the location.
        if !pass.peek(0).ends_with("$request_uri") {
            return Err(unclear("copies have the path of the request"));
        }
        let filled = self.variable_place().fill_constants(&self.fill(pass.word(0)));
        let target = pass_target(&filled)?;
        if target.uri.is_some() {
            return Err(unclear("copies have the path of the request"));
        }
        let scope = self.server_scope.nested(level);
        let used = PoolUse { scheme: target.scheme, target: target.host, source: pass.source };
        Ok(self.pools.reference(used, self.upstreams, &scope, self.notes).name)
    }
}
