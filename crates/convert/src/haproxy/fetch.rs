//! Converts one ACL criterion of HAProxy (fetch, matching method, values) to a rule condition.

use crate::condition::{RuleCondition, escape_regex, whole_path};
use crate::notes::UnsupportedReason;
use crate::value::KeyValue;

use super::pools::BackendPools;

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMethod {
    Exact,
    Prefix,
    Suffix,
    Contains,
    Directory,
    Domain,
    Regex,
    Present,
}

/// The parts of a criterion.
pub struct CriterionParts<'w> {
    pub name: String,
    pub argument: String,
    pub how: MatchMethod,
    ignore_case: bool,
    /// `gt`, `ge`, … with a number.
    pub operator: Option<&'w str>,
    pub values: Vec<&'w str>,
}

/// Converts a criterion. `words`: the criterion, its flags and its values.
pub fn criterion(
    words: &[String],
    pools: &BackendPools,
) -> Result<RuleCondition, UnsupportedReason> {
    let parts = split_criterion(words)?;
    let argument = parts.argument.as_str();
    match parts.name.as_str() {
        "always_true" => Ok(RuleCondition::Is(true)),
        "always_false" => Ok(RuleCondition::Is(false)),
        name if name.starts_with("http_auth") => Err(UnsupportedReason::new(
            "requests are not authenticated",
            "authenticate at the servers or with `tls.client`",
        )),
        "ssl_fc" => Ok(match parts.values.first() {
            Some(&"0") => RuleCondition::Tls.negate(),
            _ => RuleCondition::Tls,
        }),
        "req_ssl_hello_type" | "req.ssl_hello_type" if parts.values == ["1"] => {
            Ok(RuleCondition::Is(true))
        }
        "src" => check_values(RuleCondition::texts("client", &parts.values), &parts),
        "method" => Ok(RuleCondition::texts("method", &parts.values)),
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
        "ssl_fc_sni" | "req.ssl_sni" | "req_ssl_sni" => sni_condition(&parts),
        "nbsrv" => server_count_condition(&parts, pools),
        "fe_conn" => count_condition(&parts, "active"),
        "hdr_cnt" | "req.hdr_cnt" | "req.fhdr_cnt" => field_count_condition(&parts, "header"),
        "src_port" => {
            Ok(RuleCondition::texts("client-port", &parts.values[..parts.values.len().min(1)]))
        }
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

/// Splits a criterion into its fetch, its flags and its values.
///
/// # Errors
/// It is compared in a way that is not known here.
pub fn split_criterion(words: &[String]) -> Result<CriterionParts<'_>, UnsupportedReason> {
    let first = words.first().map_or("", String::as_str);
    let (fetch, converters) = first.split_once(',').unwrap_or((first, ""));
    let (name, argument) = match fetch.split_once('(') {
        Some((name, rest)) => (name, rest.trim_end_matches(')')),
        None => (fetch, ""),
    };
    let mut ignore_case = false;
    for converter in converters.split(',').filter(|one| !one.is_empty()) {
        match converter {
            "lower" | "upper" => ignore_case = true,
            other => {
                return Err(UnsupportedReason::new(
                    format!("`{other}` changes the value before it is compared"),
                    "",
                ));
            }
        }
    }
    let NamedFetch { name, mut how } = split_suffix(name);
    let mut values = Vec::new();
    let mut operator = None;
    let mut rest = words.get(1..).unwrap_or(&[]).iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-i" if values.is_empty() => ignore_case = true,
            "-n" | "-u" | "--" if values.is_empty() => {}
            "-f" | "-M" if values.is_empty() => {
                return Err(UnsupportedReason::new(
                    "lists in files are not read",
                    "write the values into the rule",
                ));
            }
            "-m" if values.is_empty() => {
                let word = rest.next().unwrap_or_default();
                how = match_method(word).ok_or_else(|| {
                    UnsupportedReason::new(format!("`-m {word}` is not known"), "")
                })?;
            }
            "eq" | "gt" | "ge" | "lt" | "le" if values.is_empty() && operator.is_none() => {
                operator = Some(word)
            }
            value => values.push(value),
        }
    }
    let name = name.to_owned();
    if values.is_empty()
        && how != MatchMethod::Present
        && !matches!(
            name.as_str(),
            "ssl_fc" | "always_true" | "always_false" | "http_auth" | "http_auth_group"
        )
    {
        return Err(UnsupportedReason::new("it is compared with nothing", ""));
    }
    Ok(CriterionParts { name, argument: argument.to_owned(), how, ignore_case, operator, values })
}

/// The name of a fetch without the suffix that says how it is compared.
struct NamedFetch<'w> {
    name: &'w str,
    how: MatchMethod,
}

/// `path_beg` is `path -m beg`.
fn split_suffix(name: &str) -> NamedFetch<'_> {
    for (suffix, how) in [
        ("_beg", MatchMethod::Prefix),
        ("_end", MatchMethod::Suffix),
        ("_sub", MatchMethod::Contains),
        ("_dir", MatchMethod::Directory),
        ("_dom", MatchMethod::Domain),
        ("_reg", MatchMethod::Regex),
    ] {
        if let Some(name) = name.strip_suffix(suffix) {
            return NamedFetch { name, how };
        }
    }
    NamedFetch { name, how: MatchMethod::Exact }
}

fn match_method(word: &str) -> Option<MatchMethod> {
    Some(match word {
        "str" | "ip" | "int" | "bool" => MatchMethod::Exact,
        "beg" => MatchMethod::Prefix,
        "end" => MatchMethod::Suffix,
        "sub" => MatchMethod::Contains,
        "dir" => MatchMethod::Directory,
        "dom" => MatchMethod::Domain,
        "reg" => MatchMethod::Regex,
        "found" => MatchMethod::Present,
        _ => return None,
    })
}

fn check_values(
    cond: RuleCondition,
    parts: &CriterionParts<'_>,
) -> Result<RuleCondition, UnsupportedReason> {
    match parts.how {
        MatchMethod::Exact => Ok(cond),
        _ => Err(UnsupportedReason::new("it is not compared so", "")),
    }
}

/// Whether a test of the whole target says the same of its path: its values begin with `/` and stop before a query.
fn compares_paths(parts: &CriterionParts<'_>) -> bool {
    let begins = matches!(parts.how, MatchMethod::Prefix | MatchMethod::Directory);
    begins && parts.values.iter().all(|value| !value.contains('?'))
}

/// How often a field came: told apart is whether it did. A second Host or Content-Length is refused always.
/// `key`: that of conditions on such fields.
pub fn field_count_condition(
    parts: &CriterionParts<'_>,
    key: &'static str,
) -> Result<RuleCondition, UnsupportedReason> {
    let present = RuleCondition::texts(key, &[parts.argument.as_str()]);
    let number: Option<u64> = parts.values.first().and_then(|value| value.parse().ok());
    let single = ["host", "content-length"].contains(&parts.argument.to_ascii_lowercase().as_str());
    match (parts.operator.unwrap_or("eq"), number) {
        ("eq" | "le", Some(0)) | ("lt", Some(1)) => Ok(present.negate()),
        ("gt", Some(0)) | ("ge", Some(1)) => Ok(present),
        ("gt", Some(1..)) | ("ge", Some(2..)) if single => Ok(RuleCondition::Is(false)),
        ("eq", Some(1)) if single => Ok(present),
        ("le", Some(1..)) if single => Ok(RuleCondition::Is(true)),
        _ => Err(UnsupportedReason::new(
            "how often a field came is not told apart",
            "`when = { header = \"X-Name\" }`, which says whether it came",
        )),
    }
}

fn path_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let plain = |value: &str| !value.contains(['*', '?', '#']) && !parts.ignore_case;
    let mut globs = Vec::new();
    let mut expressions = Vec::new();
    let case = if parts.ignore_case { "(?i)" } else { "" };
    for value in &parts.values {
        let own = escape_regex(value);
        match parts.how {
            MatchMethod::Exact if plain(value) => globs.push((*value).to_owned()),
            MatchMethod::Exact => expressions.push(format!("{case}{own}")),
            MatchMethod::Prefix if plain(value) => globs.push(format!("{value}*")),
            MatchMethod::Prefix => expressions.push(format!("{case}{own}.*")),
            MatchMethod::Suffix if plain(value) && !value.starts_with('/') => {
                globs.push(format!("/**{value}"))
            }
            MatchMethod::Suffix => expressions.push(format!("{case}.*{own}")),
            MatchMethod::Contains => expressions.push(format!("{case}.*{own}.*")),
            MatchMethod::Directory | MatchMethod::Domain => {
                expressions.push(format!("{case}(?:.*/)?{own}(?:/.*)?"))
            }
            MatchMethod::Regex => expressions.push(whole_path(value, parts.ignore_case)),
            MatchMethod::Present => return Ok(RuleCondition::Is(true)),
        }
    }
    if parts.how == MatchMethod::Present {
        return Ok(RuleCondition::Is(true));
    }
    let mut any = Vec::new();
    if !globs.is_empty() {
        any.push(RuleCondition::texts("path", &globs));
    }
    if !expressions.is_empty() {
        any.push(RuleCondition::texts("path-regex", &expressions));
    }
    Ok(if any.len() == 1 { any.remove(0) } else { RuleCondition::Any(any) })
}

fn host_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    let bare = |value: &str| !value.contains([':', '*', '?', '/']);
    let all_bare = parts.values.iter().all(|value| bare(value));
    match parts.how {
        MatchMethod::Exact if all_bare => Ok(RuleCondition::texts("host", &parts.values)),
        MatchMethod::Suffix
            if all_bare && parts.values.iter().all(|value| value.starts_with('.')) =>
        {
            Ok(RuleCondition::texts(
                "host",
                &parts.values.iter().map(|value| format!("*{value}")).collect::<Vec<_>>(),
            ))
        }
        MatchMethod::Domain if all_bare => {
            let labels: Vec<&str> =
                parts.values.iter().map(|value| value.trim_matches('.')).collect();
            Ok(RuleCondition::texts("host-part", &labels))
        }
        MatchMethod::Regex => {
            let whole: Vec<String> =
                parts.values.iter().map(|value| whole_path(value, true)).collect();
            Ok(RuleCondition::texts("host-regex", &whole))
        }
        _ => named_field("header", ": ", parts),
    }
}

/// A condition on a field, a cookie or a parameter. `separator`: between its name and its value.
///
/// # Errors
/// It is compared in a way that cannot be expressed.
pub fn named_field(
    key: &'static str,
    separator: &str,
    parts: &CriterionParts<'_>,
) -> Result<RuleCondition, UnsupportedReason> {
    let name = parts.argument.split(',').next().unwrap_or_default();
    if name.is_empty() {
        return Err(UnsupportedReason::new("it has no name", ""));
    }
    if parts.how == MatchMethod::Present {
        return Ok(RuleCondition::texts(key, &[name]));
    }
    let mut texts = Vec::new();
    for value in &parts.values {
        let plain = value.replace('\\', "\\\\").replace('*', "\\*").replace('?', "\\?");
        let value = match parts.how {
            MatchMethod::Exact => plain,
            MatchMethod::Prefix => format!("{plain}*"),
            MatchMethod::Suffix => format!("*{plain}"),
            MatchMethod::Contains => format!("*{plain}*"),
            MatchMethod::Regex if key == "header" => whole_path(value, parts.ignore_case),
            _ => {
                return Err(UnsupportedReason::new(
                    "fields, cookies and parameters are not compared so",
                    "`*` in the value, or match at the servers",
                ));
            }
        };
        texts.push(crate::value::quote(&format!("{name}{separator}{value}")));
    }
    Ok(match (parts.how, parts.ignore_case) {
        (MatchMethod::Regex, _) => RuleCondition::Key("header-regex", texts),
        (_, true) => RuleCondition::AnyCase(key, texts),
        (_, false) => RuleCondition::Key(key, texts),
    })
}

fn sni_condition(parts: &CriterionParts<'_>) -> Result<RuleCondition, UnsupportedReason> {
    match parts.how {
        MatchMethod::Exact => Ok(RuleCondition::texts("sni", &parts.values)),
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

/// A range from an operator and its number.
fn range(parts: &CriterionParts<'_>) -> Result<String, UnsupportedReason> {
    let number: Option<u64> = parts.values.first().and_then(|value| value.parse().ok());
    let range = number.and_then(|number| {
        Some(match parts.operator.unwrap_or("eq") {
            "gt" => format!("{}-", number.checked_add(1)?),
            "ge" => format!("{number}-"),
            "lt" => format!("-{}", number.checked_sub(1)?),
            "le" => format!("-{number}"),
            _ => number.to_string(),
        })
    });
    range.ok_or_else(|| UnsupportedReason::new("not a number", ""))
}

fn count_condition(
    parts: &CriterionParts<'_>,
    key: &'static str,
) -> Result<RuleCondition, UnsupportedReason> {
    let active = RuleCondition::texts(key, &[range(parts)?]);
    Ok(active.and(RuleCondition::texts("count", &["service"])))
}

fn server_count_condition(
    parts: &CriterionParts<'_>,
    pools: &BackendPools,
) -> Result<RuleCondition, UnsupportedReason> {
    let pool = pools.written_name(&parts.argument).ok_or_else(|| {
        UnsupportedReason::new(format!("there is no backend `{}`", parts.argument), "")
    })?;
    let pairs = [
        KeyValue::new("of", crate::value::quote(pool)),
        KeyValue::new("up", crate::value::quote(&range(parts)?)),
    ];
    Ok(RuleCondition::Key("servers", vec![crate::value::table(&pairs)]))
}
