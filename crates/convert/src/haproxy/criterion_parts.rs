//! The parts of an ACL criterion of HAProxy: what is fetched, how it is compared, and with what.

use crate::notes::UnsupportedReason;

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
    pub ignore_case: bool,
    /// `gt`, `ge`, … with a number.
    pub operator: Option<&'w str>,
    pub values: Vec<&'w str>,
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
        let reason = format!("nothing tells `{name}` apart, or it is compared with nothing");
        return Err(UnsupportedReason::new(reason, ""));
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
