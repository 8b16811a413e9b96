//! The parts of an ACL criterion of HAProxy: what is fetched, how it is compared, and with what.

use crate::notes::UnsupportedReason;

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMethod {
    /// As the fetch is compared where nothing is said.
    Exact,
    /// As texts (`-m str`).
    Text,
    /// As numbers (`-m int`).
    Integer,
    /// As addresses (`-m ip`).
    Address,
    /// As truth values (`-m bool`).
    Boolean,
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
    /// Numbers have comparisons (`gt`, `ge`, …) before them.
    pub values: Vec<&'w str>,
    /// What is fetched is changed so that it never is one of the values.
    pub is_never: bool,
}

/// What a converter leaves of the letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LetterCase {
    Lower,
    Upper,
}

/// What is fetched: the name of a fetch, its argument, and what changes the value.
struct FetchWords<'w> {
    name: &'w str,
    argument: &'w str,
    letters: Option<LetterCase>,
}

/// How values are compared, and the values.
#[derive(Default)]
struct ComparisonWords<'w> {
    method: Option<MatchMethod>,
    ignore_case: bool,
    values: Vec<&'w str>,
}

/// Fetches of texts, which converters of letters change.
const TEXTS: [&str; 16] = [
    "path",
    "url",
    "pathq",
    "hdr",
    "req.hdr",
    "req.fhdr",
    "res.hdr",
    "shdr",
    "res.fhdr",
    "cook",
    "req.cook",
    "urlp",
    "url_param",
    "ssl_fc_sni",
    "req.ssl_sni",
    "req_ssl_sni",
];

/// Fetches that are compared with nothing.
const ALONE: [&str; 5] = ["ssl_fc", "always_true", "always_false", "http_auth", "http_auth_group"];

/// Splits a criterion into its fetch, its flags and its values.
///
/// # Errors
/// It is compared in a way that is not known here.
pub fn split_criterion(words: &[String]) -> Result<CriterionParts<'_>, UnsupportedReason> {
    let FetchWords { name, argument, letters } =
        split_fetch(words.first().map_or("", String::as_str))?;
    let compared = split_comparison(words.get(1..).unwrap_or(&[]))?;
    let NamedFetch { name, how } = split_suffix(name);
    // HAProxy forgets the suffix of a fetch whose value is changed.
    let how = match letters {
        Some(_) => MatchMethod::Exact,
        None => how,
    };
    let mut parts = CriterionParts {
        name: name.to_owned(),
        argument: argument.to_owned(),
        how: compared.method.unwrap_or(how),
        ignore_case: compared.ignore_case,
        values: compared.values,
        is_never: false,
    };
    if parts.values.is_empty() && parts.how != MatchMethod::Present && !ALONE.contains(&name) {
        let reason = format!("nothing tells `{name}` apart, or it is compared with nothing");
        return Err(UnsupportedReason::new(reason, ""));
    }
    if let Some(letters) = letters {
        parts.change_letters(letters)?;
    }
    Ok(parts)
}

fn split_fetch(text: &str) -> Result<FetchWords<'_>, UnsupportedReason> {
    let (fetch, converters) = text.split_once(',').unwrap_or((text, ""));
    let (name, argument) = match fetch.split_once('(') {
        Some((name, rest)) => (name, rest.trim_end_matches(')')),
        None => (fetch, ""),
    };
    let mut letters = None;
    for converter in converters.split(',').filter(|one| !one.is_empty()) {
        letters = match converter {
            "lower" => Some(LetterCase::Lower),
            "upper" => Some(LetterCase::Upper),
            other => {
                return Err(UnsupportedReason::new(
                    format!("`{other}` changes the value before it is compared"),
                    "",
                ));
            }
        };
    }
    Ok(FetchWords { name, argument, letters })
}

fn split_comparison(words: &[String]) -> Result<ComparisonWords<'_>, UnsupportedReason> {
    let mut out = ComparisonWords::default();
    let mut are_flags_over = false;
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        if are_flags_over || !word.starts_with('-') {
            are_flags_over = true;
            out.values.push(word);
            continue;
        }
        match word {
            "-i" => out.ignore_case = true,
            "-n" => {}
            "-u" => {
                rest.next();
            }
            "--" => are_flags_over = true,
            "-f" | "-M" => {
                return Err(UnsupportedReason::new(
                    "lists in files are not read",
                    "write the values into the rule",
                ));
            }
            "-m" => {
                let word = rest.next().unwrap_or_default();
                out.method = Some(match_method(word).ok_or_else(|| {
                    UnsupportedReason::new(format!("`-m {word}` is not known"), "")
                })?);
            }
            value => {
                are_flags_over = true;
                out.values.push(value);
            }
        }
    }
    Ok(out)
}

impl CriterionParts<'_> {
    /// Takes out the values that a text whose letters were changed never has. Without these, the letters of what came
    /// do not count.
    fn change_letters(&mut self, letters: LetterCase) -> Result<(), UnsupportedReason> {
        let is_kept = |value: &str| {
            self.ignore_case
                || !value.chars().any(|c| match letters {
                    LetterCase::Lower => c.is_ascii_uppercase(),
                    LetterCase::Upper => c.is_ascii_lowercase(),
                })
        };
        let all_kept = self.values.iter().all(|value| is_kept(value));
        if !TEXTS.contains(&self.name.as_str()) || self.how == MatchMethod::Regex && !all_kept {
            return Err(UnsupportedReason::new(
                "it is compared after its letters were changed",
                "a value in any letter case: `-i`",
            ));
        }
        let values: Vec<&str> =
            self.values.iter().copied().filter(|value| is_kept(value)).collect();
        self.is_never = values.is_empty() && self.how != MatchMethod::Present;
        self.values = values;
        self.ignore_case = true;
        Ok(())
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
        "str" => MatchMethod::Text,
        "ip" => MatchMethod::Address,
        "int" => MatchMethod::Integer,
        "bool" => MatchMethod::Boolean,
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
