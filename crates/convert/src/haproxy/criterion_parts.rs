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
    /// No text fits one of its values.
    pub is_never_met: bool,
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
    let letters = changed_letters(converters)?;
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
    let written = values.len();
    if let Some(letters) = letters.filter(|_| !ignore_case) {
        values = reachable_values(values, letters, how)?;
        ignore_case = true;
    }
    Ok(CriterionParts {
        name,
        argument: argument.to_owned(),
        how,
        ignore_case,
        operator,
        is_never_met: written > 0 && values.is_empty(),
        values,
    })
}

/// The last converter: `lower` or `upper`.
fn changed_letters(converters: &str) -> Result<Option<&str>, UnsupportedReason> {
    let mut all = converters.split(',').filter(|one| !one.is_empty());
    match all.clone().find(|one| !["lower", "upper"].contains(one)) {
        Some(other) => Err(UnsupportedReason::new(
            format!("`{other}` changes the value before it is compared"),
            "",
        )),
        None => Ok(all.next_back()),
    }
}

/// The values that a text in small letters alone, or in capital ones, may fit. They fit it in any letter case then.
fn reachable_values<'w>(
    mut values: Vec<&'w str>,
    letters: &str,
    how: MatchMethod,
) -> Result<Vec<&'w str>, UnsupportedReason> {
    let is_other = |c: char| match letters {
        "lower" => c.is_ascii_uppercase(),
        _ => c.is_ascii_lowercase(),
    };
    if how != MatchMethod::Regex {
        values.retain(|value| !value.contains(is_other));
        return Ok(values);
    }
    let classes = ["\\d", "\\w", "\\s", "\\b", "\\.", "\\/", "\\-", "\\?", "\\+", "\\$"];
    let is_plain = |value: &&str| {
        let bare = classes.iter().fold((*value).to_owned(), |text, class| text.replace(class, ""));
        !bare.contains(is_other) && !bare.contains('\\') && !bare.contains("[:")
    };
    match values.iter().all(is_plain) {
        true => Ok(values),
        false => Err(UnsupportedReason::new(
            format!("`{letters}` changes letters that the expression looks at"),
            "an expression with `(?i)`",
        )),
    }
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
