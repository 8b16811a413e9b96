//! One criterion of HAProxy (a fetch, how it is compared, values) as a condition of ours.

use crate::condition::{Cond, escaped, whole_path};
use crate::notes::Why;

use super::pools::Pools;

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Same,
    Begins,
    Ends,
    Contains,
    Directory,
    Domain,
    Expression,
    Found,
}

/// A criterion taken apart.
struct Parts<'w> {
    name: String,
    argument: String,
    how: How,
    ignore_case: bool,
    /// `gt`, `ge`, … with a number.
    operator: Option<&'w str>,
    values: Vec<&'w str>,
}

/// `words`: the criterion, its flags and its values.
pub fn criterion(words: &[String], pools: &Pools) -> Result<Cond, Why> {
    let parts = apart(words)?;
    let argument = parts.argument.as_str();
    match parts.name.as_str() {
        "always_true" => Ok(Cond::Is(true)),
        // Nobody is known by a password.
        "always_false" | "http_auth" | "http_auth_group" => Ok(Cond::Is(false)),
        "ssl_fc" => Ok(match parts.values.first() {
            Some(&"0") => Cond::Tls.negated(),
            _ => Cond::Tls,
        }),
        "req_ssl_hello_type" | "req.ssl_hello_type" if parts.values == ["1"] => Ok(Cond::Is(true)),
        "src" => valued(Cond::texts("client", &parts.values), &parts),
        "method" => Ok(Cond::texts("method", &parts.values)),
        "path" => path(&parts),
        "hdr" | "req.hdr" | "req.fhdr" if argument.eq_ignore_ascii_case("host") => host(&parts),
        "hdr" | "req.hdr" | "req.fhdr" => named("header", ": ", &parts),
        "cook" | "req.cook" => named("cookie", "=", &parts),
        "urlp" | "url_param" => named("query", "=", &parts),
        "ssl_fc_sni" | "req.ssl_sni" | "req_ssl_sni" => sni(&parts),
        "nbsrv" => servers(&parts, pools),
        "fe_conn" => counted(&parts, "active"),
        "src_port" => Ok(Cond::texts("client-port", &parts.values[..parts.values.len().min(1)])),
        name if name.starts_with("sc")
            || name.starts_with("src_")
            || name.starts_with("table_") =>
        {
            Err(Why::new(
                "counters of clients are not tables of their own",
                "a rule with `limit = { rate = …, by = \"address\" }`",
            ))
        }
        name => Err(Why::new(
            format!("nothing tells `{name}` apart"),
            "one of the keys of a rule's `when`",
        )),
    }
}

fn apart(words: &[String]) -> Result<Parts<'_>, Why> {
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
                return Err(Why::new(
                    format!("`{other}` changes the value before it is compared"),
                    "",
                ));
            }
        }
    }
    let (name, mut how) = suffixed(name);
    let mut values = Vec::new();
    let mut operator = None;
    let mut rest = words.get(1..).unwrap_or(&[]).iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-i" if values.is_empty() => ignore_case = true,
            "-n" | "-u" | "--" if values.is_empty() => {}
            "-f" | "-M" if values.is_empty() => {
                return Err(Why::new(
                    "lists in files are not read",
                    "write the values into the rule",
                ));
            }
            "-m" if values.is_empty() => {
                let word = rest.next().unwrap_or_default();
                how = matching(word)
                    .ok_or_else(|| Why::new(format!("`-m {word}` is not known"), ""))?;
            }
            "eq" | "gt" | "ge" | "lt" | "le" if values.is_empty() && operator.is_none() => {
                operator = Some(word)
            }
            value => values.push(value),
        }
    }
    let name = name.to_owned();
    if values.is_empty()
        && how != How::Found
        && !matches!(
            name.as_str(),
            "ssl_fc" | "always_true" | "always_false" | "http_auth" | "http_auth_group"
        )
    {
        return Err(Why::new("it is compared with nothing", ""));
    }
    Ok(Parts { name, argument: argument.to_owned(), how, ignore_case, operator, values })
}

/// `path_beg` is `path -m beg`.
fn suffixed(name: &str) -> (&str, How) {
    for (suffix, how) in [
        ("_beg", How::Begins),
        ("_end", How::Ends),
        ("_sub", How::Contains),
        ("_dir", How::Directory),
        ("_dom", How::Domain),
        ("_reg", How::Expression),
    ] {
        if let Some(name) = name.strip_suffix(suffix) {
            return (name, how);
        }
    }
    (name, How::Same)
}

fn matching(word: &str) -> Option<How> {
    Some(match word {
        "str" | "ip" | "int" | "bool" => How::Same,
        "beg" => How::Begins,
        "end" => How::Ends,
        "sub" => How::Contains,
        "dir" => How::Directory,
        "dom" => How::Domain,
        "reg" => How::Expression,
        "found" => How::Found,
        _ => return None,
    })
}

fn valued(cond: Cond, parts: &Parts<'_>) -> Result<Cond, Why> {
    match parts.how {
        How::Same => Ok(cond),
        _ => Err(Why::new("it is not compared so", "")),
    }
}

fn path(parts: &Parts<'_>) -> Result<Cond, Why> {
    let plain = |value: &str| !value.contains(['*', '?', '#']) && !parts.ignore_case;
    let (mut globs, mut expressions) = (Vec::new(), Vec::new());
    let case = if parts.ignore_case { "(?i)" } else { "" };
    for value in &parts.values {
        let own = escaped(value);
        match parts.how {
            How::Same if plain(value) => globs.push((*value).to_owned()),
            How::Same => expressions.push(format!("{case}{own}")),
            How::Begins if plain(value) => globs.push(format!("{value}*")),
            How::Begins => expressions.push(format!("{case}{own}.*")),
            How::Ends if plain(value) && !value.starts_with('/') => {
                globs.push(format!("/**{value}"))
            }
            How::Ends => expressions.push(format!("{case}.*{own}")),
            How::Contains => expressions.push(format!("{case}.*{own}.*")),
            How::Directory | How::Domain => {
                expressions.push(format!("{case}(?:.*/)?{own}(?:/.*)?"))
            }
            How::Expression => expressions.push(whole_path(value, parts.ignore_case)),
            How::Found => return Ok(Cond::Is(true)),
        }
    }
    if parts.how == How::Found {
        return Ok(Cond::Is(true));
    }
    let mut any = Vec::new();
    if !globs.is_empty() {
        any.push(Cond::texts("path", &globs));
    }
    if !expressions.is_empty() {
        any.push(Cond::texts("path-regex", &expressions));
    }
    Ok(if any.len() == 1 { any.remove(0) } else { Cond::Any(any) })
}

fn host(parts: &Parts<'_>) -> Result<Cond, Why> {
    let bare = |value: &str| !value.contains([':', '*', '?', '/']);
    let all_bare = parts.values.iter().all(|value| bare(value));
    match parts.how {
        How::Same if all_bare => Ok(Cond::texts("host", &parts.values)),
        How::Ends if all_bare && parts.values.iter().all(|value| value.starts_with('.')) => {
            Ok(Cond::texts(
                "host",
                &parts.values.iter().map(|value| format!("*{value}")).collect::<Vec<_>>(),
            ))
        }
        How::Domain if all_bare => {
            let both = |value: &&str| {
                let value = value.trim_matches('.');
                [value.to_owned(), format!("*.{value}")]
            };
            Ok(Cond::texts("host", &parts.values.iter().flat_map(both).collect::<Vec<_>>()))
        }
        _ => named("header", ": ", parts),
    }
}

fn named(key: &'static str, separator: &str, parts: &Parts<'_>) -> Result<Cond, Why> {
    let name = parts.argument.split(',').next().unwrap_or_default();
    if name.is_empty() {
        return Err(Why::new("it has no name", ""));
    }
    if parts.how == How::Found {
        return Ok(Cond::texts(key, &[name]));
    }
    let mut texts = Vec::new();
    let values = parts.values.iter().flat_map(|value| spellings(value, parts.ignore_case));
    for value in values {
        let value = value.replace('\\', "\\\\").replace('*', "\\*").replace('?', "\\?");
        let value = match parts.how {
            How::Same => value,
            How::Begins => format!("{value}*"),
            How::Ends => format!("*{value}"),
            How::Contains => format!("*{value}*"),
            _ => {
                return Err(Why::new(
                    "fields, cookies and parameters are not compared so",
                    "`*` in the value, or match at the servers",
                ));
            }
        };
        texts.push(format!("{name}{separator}{value}"));
    }
    Ok(Cond::texts(key, &texts))
}

/// Values of fields are compared with their case: the usual ways of writing one.
fn spellings(value: &str, ignore_case: bool) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    if ignore_case {
        let lower = value.to_ascii_lowercase();
        let mut first = lower.clone();
        first.get_mut(..1).map(str::make_ascii_uppercase);
        for one in [lower, first, value.to_ascii_uppercase()] {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

/// Whether a line compares a field, a cookie or a parameter without regard to case.
pub fn ignores_case(words: &[String]) -> bool {
    let kinds = ["hdr", "req.hdr", "req.fhdr", "cook", "req.cook", "urlp", "url_param"];
    let named = |word: &String| {
        let (fetch, argument) = word.split_once('(').unwrap_or((word, ""));
        let host = argument.to_ascii_lowercase().starts_with("host)");
        kinds.contains(&suffixed(fetch).0)
            && (!host || matches!(suffixed(fetch).1, How::Begins | How::Contains))
    };
    let at = words.iter().position(named);
    at.is_some_and(|at| {
        words[at].contains(",lower")
            || words[at + 1..].iter().take_while(|word| *word != "}").any(|word| word == "-i")
    })
}

fn sni(parts: &Parts<'_>) -> Result<Cond, Why> {
    match parts.how {
        How::Same => Ok(Cond::texts("sni", &parts.values)),
        How::Ends if parts.values.iter().all(|value| value.starts_with('.')) => Ok(Cond::texts(
            "sni",
            &parts.values.iter().map(|value| format!("*{value}")).collect::<Vec<_>>(),
        )),
        _ => Err(Why::new(
            "names are compared whole or below a domain",
            "`sni = \"*.shop.example\"`",
        )),
    }
}

/// A range from an operator and its number.
fn range(parts: &Parts<'_>) -> Result<String, Why> {
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
    range.ok_or_else(|| Why::new("not a number", ""))
}

fn counted(parts: &Parts<'_>, key: &'static str) -> Result<Cond, Why> {
    let active = Cond::texts(key, &[range(parts)?]);
    Ok(active.and(Cond::texts("count", &["service"])))
}

fn servers(parts: &Parts<'_>, pools: &Pools) -> Result<Cond, Why> {
    let pool = pools
        .written(&parts.argument)
        .ok_or_else(|| Why::new(format!("there is no backend `{}`", parts.argument), ""))?;
    let pairs = [("of", crate::value::text(pool)), ("up", crate::value::text(&range(parts)?))];
    Ok(Cond::Key("servers", vec![crate::value::table(&pairs)]))
}
