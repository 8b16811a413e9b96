//! `redirectScheme`, `redirectRegex` and redirects of entry points, as steps of a chain.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::chain_effect::{ChainEffect, ChainStep};
use super::option_tree::OptionNode;

/// A redirect to another scheme or port.
#[derive(Clone, Debug)]
pub struct SchemeRedirect {
    pub scheme: String,
    /// The port in the new URL; empty for the usual one.
    pub port: String,
    pub permanent: bool,
}

impl SchemeRedirect {
    fn is_usual_port(&self) -> bool {
        matches!((self.scheme.as_str(), self.port.as_str()), ("https", "443") | ("http", "80"))
            || self.port.is_empty()
    }

    /// The Host has another port than the new URL.
    fn other_port(&self) -> RuleCondition {
        if self.is_usual_port() {
            return RuleCondition::texts("header-regex", &["host: .*:[0-9]+"]);
        }
        RuleCondition::texts("header", &[format!("host: *:{}", self.port)]).negate()
    }

    /// The template of the new URL.
    pub fn target(&self) -> String {
        let port = match self.is_usual_port() {
            true => String::new(),
            false => format!(":{}", self.port),
        };
        format!("{}://{{host-name}}{port}{{path}}{{query}}", self.scheme)
    }
}

/// The two steps of a redirect: GET has another status than the other methods.
pub fn redirect_steps(
    to: &str,
    permanent: bool,
    when: &RuleCondition,
    source: SourcePlace,
    text: &str,
) -> Vec<ChainStep> {
    let get = RuleCondition::texts("method", &["GET"]);
    let statuses = if permanent { ["301", "308"] } else { ["302", "307"] };
    let conditions = [get.and(when.clone()), when.clone()];
    let steps = conditions.into_iter().zip(statuses).map(|(when, status)| {
        let redirect =
            value::table(&[KeyValue::new("to", value::quote(to)), KeyValue::new("status", status)]);
        let keys = vec![KeyValue::new("redirect", redirect)];
        ChainStep { when, keys, source, text: text.to_owned() }
    });
    steps.collect()
}

/// `redirectScheme`. `trusts`: proxies in front may have taken TLS off.
pub fn apply_scheme(
    node: &OptionNode,
    tls: bool,
    trusts: bool,
    effect: &mut ChainEffect,
    notes: &mut ConversionNotes,
) {
    let scheme = node.text_of("scheme").unwrap_or("https").to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") {
        node.left_out(notes, "requests are redirected to http or https", "");
        return effect.close(503, node.place(), &node.text);
    }
    for key in ["scheme", "port", "permanent"] {
        node.convert_key(key, notes);
    }
    if node.entries().is_empty() {
        node.converted(notes);
    }
    let is_own = (scheme == "https") == tls;
    if is_own && trusts {
        return;
    }
    let redirect = SchemeRedirect {
        scheme,
        port: node.text_of("port").unwrap_or_default().to_owned(),
        permanent: node.is_on("permanent"),
    };
    let mut when = RuleCondition::Is(true);
    if is_own {
        when = redirect.other_port();
    } else if trusts {
        when = RuleCondition::texts("header", &["x-forwarded-proto: https"]).negate();
    }
    let steps =
        redirect_steps(&redirect.target(), redirect.permanent, &when, node.place(), &node.text);
    effect.steps.extend(steps);
    effect.ended = !trusts && !is_own;
}

/// A redirect by host or for everything, as an expression of the whole URL says it.
#[derive(Debug, PartialEq, Eq)]
struct UrlRedirect {
    when: RuleCondition,
    to: String,
}

/// `redirectRegex`: the shapes whose meaning a redirect by host has. `hosts`: those of the router's rule.
pub fn apply_expression(
    node: &OptionNode,
    tls: bool,
    hosts: &[String],
    effect: &mut ChainEffect,
    notes: &mut ConversionNotes,
) {
    let regex = node.text_of("regex").unwrap_or_default();
    let replacement = node.text_of("replacement").unwrap_or_default();
    let found = url_redirects(regex, replacement, tls, hosts);
    let Some(found) = found else {
        let reason =
            "a redirect looks at the host and the path: requests that it redirected are refused";
        node.left_out(notes, reason, "`redirect` in a rule with `host` and `path-regex`");
        return effect.close(503, node.place(), &node.text);
    };
    for key in ["regex", "replacement", "permanent"] {
        node.convert_key(key, notes);
    }
    let permanent = node.is_on("permanent");
    for one in found {
        effect.ended |= one.when == RuleCondition::Is(true);
        let steps = redirect_steps(&one.to, permanent, &one.when, node.place(), &node.text);
        effect.steps.extend(steps);
    }
}

/// `None` if the expression has no counterpart.
fn url_redirects(
    regex: &str,
    replacement: &str,
    tls: bool,
    hosts: &[String],
) -> Option<Vec<UrlRedirect>> {
    let body = regex.strip_prefix('^')?;
    const SCHEMES: [&str; 4] = ["https?://", "http[s]?://", "https://", "http://"];
    let scheme = SCHEMES.iter().find(|scheme| body.starts_with(**scheme))?;
    let applies = match *scheme {
        "https://" => tls,
        "http://" => !tls,
        _ => true,
    };
    let rest = &body[scheme.len()..];
    let rest = rest.strip_suffix('$').unwrap_or(rest);
    let tails = ["/(.*)", "(/.*)", "(.*)", "(.+)"];
    let tail = tails.into_iter().find(|tail| rest.ends_with(tail))?;
    let host = rest.strip_suffix(tail)?;
    let group = ["${1}", "$1"].iter().find_map(|group| replacement.strip_suffix(group))?;
    if !applies {
        return Some(Vec::new());
    }
    let (to, target) = group.split_once("://")?;
    if !matches!(to, "http" | "https") {
        return None;
    }
    // Everything is kept but the scheme.
    if host.is_empty() && target.is_empty() && tail.starts_with("(.") {
        let to = format!("{to}://{{host}}{{path}}{{query}}");
        return Some(vec![UrlRedirect { when: RuleCondition::Is(true), to }]);
    }
    // `www.` is taken off or put before the names that the router has.
    if tail.starts_with("(.") {
        let taken = host.strip_prefix("www\\.").or(host.strip_prefix("www."));
        let names = hosts.iter().filter(|name| !name.contains('*'));
        let takes_off = taken == Some("") && target.is_empty();
        let puts_before = host.is_empty() && target == "www.";
        if !takes_off && !puts_before || hosts.is_empty() {
            return None;
        }
        let each = names.filter_map(|name| {
            let new = match takes_off {
                true => name.strip_prefix("www.")?.to_owned(),
                // The expression would add `www.` again and again.
                false if name.starts_with("www.") => return None,
                false => format!("www.{name}"),
            };
            let when = RuleCondition::texts("host", &[name]);
            Some(UrlRedirect { when, to: format!("{to}://{new}{{path}}{{query}}") })
        });
        return Some(each.collect());
    }
    let name = plain_host(host)?;
    let target = if tail == "/(.*)" { target.strip_suffix('/')? } else { target };
    let good = |c: char| c.is_ascii_alphanumeric() || ".-:/_".contains(c);
    if target.is_empty() || !target.chars().all(good) {
        return None;
    }
    let when = RuleCondition::texts("host", &[name]);
    Some(vec![UrlRedirect { when, to: format!("{to}://{target}{{path}}{{query}}") }])
}

/// The host that an expression without groups and choices stands for.
fn plain_host(expression: &str) -> Option<String> {
    let name = expression.replace("\\.", ".");
    let good = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    (!name.is_empty() && name.chars().all(good)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_whole_urls_become_redirects_by_host() {
        let hosts = ["www.a.example".to_owned(), "b.example".to_owned()];
        for (regex, replacement, tls, expected) in [
            ("^http://(.*)", "https://$1", false, "https://{host}{path}{query}"),
            ("^http://(.*)", "https://$1", true, "none"),
            ("^https?://www\\.(.+)", "https://${1}", true, "https://a.example{path}{query}"),
            ("^https://(.*)", "https://www.$1", true, "https://www.b.example{path}{query}"),
            (
                "^https?://old\\.example/(.*)",
                "https://new.example/${1}",
                true,
                "https://new.example{path}{query}",
            ),
            ("^https?://(a|b)\\.example/(.*)", "https://new.example/${2}", true, "unknown"),
            ("/x", "/y", true, "unknown"),
        ] {
            let found = match url_redirects(regex, replacement, tls, &hosts) {
                None => "unknown".to_owned(),
                Some(list) if list.is_empty() => "none".to_owned(),
                Some(list) => list.iter().map(|one| one.to.as_str()).collect::<Vec<_>>().join(" "),
            };
            assert_eq!(found, expected, "{regex}");
        }
    }

    #[test]
    fn the_usual_port_is_not_written() {
        for (scheme, port, expected) in [
            ("https", "443", "https://{host-name}{path}{query}"),
            ("https", "8443", "https://{host-name}:8443{path}{query}"),
            ("http", "", "http://{host-name}{path}{query}"),
        ] {
            let redirect = SchemeRedirect {
                scheme: scheme.to_owned(),
                port: port.to_owned(),
                permanent: true,
            };
            assert_eq!(redirect.target(), expected);
        }
    }
}
