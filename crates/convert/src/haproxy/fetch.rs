//! Converts one ACL criterion of HAProxy (fetch, matching method, values) to a rule condition.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::condition::{RuleCondition, whole_path};
use crate::notes::UnsupportedReason;
use crate::value::KeyValue;

use super::criterion_parts::{CriterionParts, MatchMethod, split_criterion};
use super::field_criterion::named_field;
use super::number_criterion::{
    client_port, count_condition, number_condition, spans, truth_condition,
};
use super::path_criterion::{compares_paths, path_condition};
use super::pools::BackendPools;

/// The methods that HAProxy knows.
const METHODS: [&str; 8] = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"];

/// Converts a criterion. `words`: the criterion, its flags and its values.
pub fn criterion(
    words: &[String],
    pools: &BackendPools,
) -> Result<RuleCondition, UnsupportedReason> {
    let parts = split_criterion(words)?;
    let argument = parts.argument.as_str();
    if parts.is_never {
        return Ok(RuleCondition::Is(false));
    }
    match parts.name.as_str() {
        "always_true" => truth_condition(&parts, RuleCondition::Is(true)),
        "always_false" => truth_condition(&parts, RuleCondition::Is(false)),
        name if name.starts_with("http_auth") => Err(UnsupportedReason::new(
            "requests are not authenticated",
            "authenticate at the servers or with `tls.client`",
        )),
        "ssl_fc" => truth_condition(&parts, RuleCondition::Tls),
        "req_ssl_hello_type" | "req.ssl_hello_type" => Err(UnsupportedReason::new(
            "whether a connection begins with TLS is not told apart",
            "`sni`, the name that a TLS client asks for",
        )),
        "src" => check_values(client_condition(&parts.values), &parts),
        "method" => method_criterion(&parts),
        "path" => path_condition(&parts),
        // A target with a query, or with a scheme and a host, fits no value that is a path alone.
        "url" | "pathq" if compares_paths(&parts) => path_condition(&parts),
        "hdr" | "req.hdr" | "req.fhdr" if argument.eq_ignore_ascii_case("host") => {
            host_condition(&parts)
        }
        "hdr" | "req.hdr" => named_field("header-list", ": ", &parts),
        "req.fhdr" => named_field("header", ": ", &parts),
        "cook" | "req.cook" => named_field("cookie", "=", &parts),
        "urlp" | "url_param" => named_field("query", "=", &parts),
        "ssl_fc_sni" => Ok(RuleCondition::Tls.and(sni_condition(&parts)?)),
        // What a listener with TLS passes on begins with no greeting of TLS.
        "req.ssl_sni" | "req_ssl_sni" => {
            Ok(RuleCondition::Tls.negate().and(sni_condition(&parts)?))
        }
        "dst_port" => port_condition(&parts, pools),
        "nbsrv" => server_count_condition(&parts, pools),
        "fe_conn" => number_condition(&parts, &|range| {
            RuleCondition::texts("active", &[range])
                .and(RuleCondition::texts("scope", &["service"]))
        }),
        "hdr_cnt" | "req.hdr_cnt" | "req.fhdr_cnt" => field_count_condition(&parts, "header"),
        "src_port" => client_port(&parts),
        name if name.starts_with("sc")
            || name.starts_with("src_")
            || name.starts_with("table_") =>
        {
            Err(UnsupportedReason::new(
                "counters of clients are not tables of their own",
                "a rule with `limit = { rate = …, by = \"address\" }`",
            ))
        }
        name => Err(UnsupportedReason::new(
            format!("nothing tells `{name}` apart"),
            "one of the keys of a rule's `when`",
        )),
    }
}

/// Networks of clients. IPv4 clients are also in networks of IPv6 that hold their mapped addresses (`::ffff:0:0/96`).
fn client_condition(values: &[&str]) -> RuleCondition {
    let mapped = values.iter().filter_map(|value| mapped_network(value));
    let all: Vec<String> = values.iter().map(|value| (*value).to_owned()).chain(mapped).collect();
    RuleCondition::texts("client", &all)
}

/// The IPv4 addresses of a network of IPv6.
fn mapped_network(value: &str) -> Option<String> {
    let (address, length) = value.split_once('/').unwrap_or((value, "128"));
    let address: Ipv6Addr = address.parse().ok()?;
    let length: u32 = length.parse().ok().filter(|length| *length <= 128)?;
    if let Some(behind) = length.checked_sub(96) {
        return address.to_ipv4_mapped().map(|mapped| format!("{mapped}/{behind}"));
    }
    let first = Ipv4Addr::UNSPECIFIED.to_ipv6_mapped().to_bits();
    let differs = (first ^ address.to_bits()).checked_shr(128 - length).unwrap_or(0);
    (differs == 0).then(|| "0.0.0.0/0".to_owned())
}

fn check_values(
    cond: RuleCondition,
    parts: &CriterionParts<'_>,
) -> Result<RuleCondition, UnsupportedReason> {
    match parts.how {
        MatchMethod::Exact | MatchMethod::Address => Ok(cond),
        _ => Err(UnsupportedReason::new("it is not compared so", "")),
    }
}

/// Methods are whole words. `-i` counts for those alone that HAProxy does not know.
fn method_criterion(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let is_known = |value: &&str| METHODS.contains(value);
    let whole = match parts.how {
        MatchMethod::Present => return Ok(RuleCondition::Is(true)),
        MatchMethod::Exact => !parts.ignore_case || parts.values.iter().all(is_known),
        MatchMethod::Text => !parts.ignore_case,
        _ => false,
    };
    match whole {
        true => Ok(method_condition(&parts.values)),
        false => Err(UnsupportedReason::new(
            "methods are compared whole and with their letter case",
            "`when = { method = [\"GET\", \"HEAD\"] }`",
        )),
    }
}

fn port_condition(
    parts: &CriterionParts<'_>,
    pools: &BackendPools,
) -> Result<RuleCondition, UnsupportedReason> {
    let spans = spans(parts)?;
    let texts: Vec<String> = spans.iter().map(|span| span.first.to_string()).collect();
    let values: Vec<&str> = texts.iter().map(String::as_str).collect();
    let plain = spans.iter().all(|span| span.first == span.last);
    let condition = pools.ports.borrow().condition(&values);
    condition.filter(|_| plain && !values.is_empty()).ok_or_else(|| {
        UnsupportedReason::new(
            "listeners on several ports are not told apart",
            "a frontend of its own for each port",
        )
    })
}

/// CONNECT is refused before a rule is asked, so that no request has this method.
pub fn method_condition(methods: &[&str]) -> RuleCondition {
    let possible: Vec<&str> = methods.iter().copied().filter(|one| *one != "CONNECT").collect();
    match possible.is_empty() {
        true => RuleCondition::Is(false),
        false => RuleCondition::texts("method", &possible),
    }
}

/// How often a field came: told apart is whether it did. A second Host or Content-Length is refused always.
/// `key`: that of conditions on such fields.
pub fn field_count_condition(
    parts: &CriterionParts<'_>,
    key: &'static str,
) -> Result<RuleCondition, UnsupportedReason> {
    let present = RuleCondition::texts(key, &[parts.argument.as_str()]);
    let single = ["host", "content-length"].contains(&parts.argument.to_ascii_lowercase().as_str());
    count_condition(parts, present, single)
}

fn host_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let bare = |value: &str| !value.contains([':', '*', '?', '/']);
    let all_bare = parts.values.iter().all(|value| bare(value));
    match parts.how {
        MatchMethod::Exact | MatchMethod::Text if all_bare => {
            Ok(RuleCondition::texts("host", &parts.values))
        }
        MatchMethod::Suffix
            if all_bare && parts.values.iter().all(|value| value.starts_with('.')) =>
        {
            Ok(RuleCondition::texts(
                "host",
                &parts.values.iter().map(|value| format!("*{value}")).collect::<Vec<_>>(),
            ))
        }
        MatchMethod::Domain if all_bare && !parts.values.iter().any(|value| is_number(value)) => {
            let labels: Vec<&str> =
                parts.values.iter().map(|value| value.trim_matches('.')).collect();
            Ok(RuleCondition::texts("host-part", &labels))
        }
        MatchMethod::Regex if parts.values.iter().all(|value| is_plain_name(value)) => {
            let whole: Vec<String> =
                parts.values.iter().map(|value| whole_path(value, true)).collect();
            Ok(RuleCondition::texts("host-regex", &whole))
        }
        _ => named_field("header", ": ", parts),
    }
}

/// Whether an expression says the same of a host without its port, its letter case and its final dot: it looks at none of
/// them. Others see the whole field.
fn is_plain_name(expression: &str) -> bool {
    let bare = expression.replace("\\.", "").replace("\\-", "");
    let is_plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.^$*+?()|[]".contains(c);
    bare.chars().all(is_plain)
        && !may_see_port(expression)
        && !bare.contains("[^")
        && !bare.contains("(?")
        && !expression.contains("\\.$")
        && !expression.contains("\\.?$")
}

/// Whether an expression of plain characters may find a port, or a sign before it: it looks for digits anywhere, or for any
/// sign at the end.
fn may_see_port(expression: &str) -> bool {
    let plain = expression.replace("\\.", "").replace("\\-", "");
    let has_digit = plain.contains(|c: char| c.is_ascii_digit());
    let is_bound = plain.starts_with('^') && !plain.contains('|') && !plain.contains('.');
    let bare = plain.trim_end_matches('$');
    has_digit && !is_bound || plain.contains(".+") || bare.ends_with('.')
}

fn is_number(value: &str) -> bool {
    value.split('.').any(|label| !label.is_empty() && label.bytes().all(|c| c.is_ascii_digit()))
}

fn sni_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    match parts.how {
        MatchMethod::Exact | MatchMethod::Text => Ok(RuleCondition::texts("sni", &parts.values)),
        MatchMethod::Suffix if parts.values.iter().all(|value| value.starts_with('.')) => {
            Ok(RuleCondition::texts(
                "sni",
                &parts.values.iter().map(|value| format!("*{value}")).collect::<Vec<_>>(),
            ))
        }
        _ => Err(UnsupportedReason::new(
            "names are compared whole or below a domain",
            "`sni = \"*.shop.example\"`",
        )),
    }
}

fn server_count_condition(
    parts: &CriterionParts<'_>,
    pools: &BackendPools,
) -> Result<RuleCondition, UnsupportedReason> {
    let pool = pools.written_name(&parts.argument).ok_or_else(|| {
        UnsupportedReason::new(format!("there is no backend `{}`", parts.argument), "")
    })?;
    number_condition(parts, &|range| {
        let pairs = [
            KeyValue::new("of", crate::value::quote(pool)),
            KeyValue::new("up", crate::value::quote(&range)),
        ];
        RuleCondition::Key("servers", vec![crate::value::table(&pairs)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_ipv6_hold_the_mapped_addresses() {
        for (network, expected) in [
            ("::/0", Some("0.0.0.0/0")),
            ("::ffff:0:0/96", Some("0.0.0.0/0")),
            ("::/80", Some("0.0.0.0/0")),
            ("::/96", None),
            ("::ffff:10.0.0.0/104", Some("10.0.0.0/8")),
            ("::ffff:10.1.2.3", Some("10.1.2.3/32")),
            ("2001:db8::/32", None),
            ("::1", None),
            ("10.0.0.0/8", None),
        ] {
            assert_eq!(mapped_network(network).as_deref(), expected, "{network}");
        }
    }

    #[test]
    fn expressions_of_names_look_at_no_port_and_no_case() {
        for (expression, expected) in [
            ("^(www|api)\\.shop\\.example$", true),
            ("^[a-z0-9-]+\\.example", true),
            (":8080$", false),
            ("^[^:]+$", false),
            ("\\.$", false),
            ("^SHOP", false),
            ("^\\S+$", false),
        ] {
            assert_eq!(is_plain_name(expression), expected, "{expression}");
        }
    }
}
