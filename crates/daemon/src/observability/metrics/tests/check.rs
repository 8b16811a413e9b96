//! A small checker of the OpenMetrics text format: families in one piece, types, names, labels, buckets, the end.

use std::collections::{BTreeMap, HashSet};

/// One sample: name, labels, value.
#[derive(Clone, Debug)]
pub struct ExpositionSample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// Every sample of a valid text, or the first line that is invalid.
pub fn check(text: &str) -> Result<Vec<ExpositionSample>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("does not end with # EOF")?;
    let mut samples = Vec::new();
    let mut series = HashSet::new();
    let mut families = HashSet::new();
    let mut family = String::new();
    let mut kind = String::new();
    let mut helped = String::new();
    for line in body.lines() {
        let bad = |why: &str| Err(format!("{why}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            helped = rest.split(' ').next().unwrap_or_default().to_owned();
            if !rest[helped.len()..].trim_start().ends_with('.') {
                return bad("help is no sentence");
            }
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of) = rest.split_once(' ').ok_or("TYPE without type")?;
            family = name.to_owned();
            kind = of.to_owned();
            if helped != family || !families.insert(family.clone()) || !word(&family) {
                return bad("a family without help, twice or badly named");
            }
            if !["counter", "gauge", "histogram", "info"].contains(&of) {
                return bad("unknown type");
            }
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').ok_or("UNIT without unit")?;
            if name != family || !name.ends_with(&format!("_{unit}")) {
                return bad("the name lacks its unit");
            }
        } else {
            let sample = parse(line).ok_or(format!("not a sample: {line}"))?;
            let suffix = sample
                .name
                .strip_prefix(&family)
                .ok_or(format!("outside of its family: {line}"))?;
            let fits = match kind.as_str() {
                "counter" => suffix == "_total",
                "gauge" => suffix.is_empty(),
                "info" => suffix == "_info",
                _ => ["_bucket", "_sum", "_count"].contains(&suffix),
            };
            if !fits
                || (kind == "counter" && sample.value < 0.0)
                || !series.insert(line.rsplit_once(' ').unwrap().0.to_owned())
            {
                return bad("wrong suffix, negative, or a series twice");
            }
            samples.push(sample);
        }
    }
    buckets(&samples)?;
    Ok(samples)
}

/// Buckets of one series rise, and the last is the count.
fn buckets(samples: &[ExpositionSample]) -> Result<(), String> {
    let mut last: BTreeMap<(String, BTreeMap<String, String>), (f64, f64)> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
        let mut labels = sample.labels.clone();
        let edge = labels.remove("le").ok_or("a bucket without le")?;
        let edge: f64 = if edge == "+Inf" {
            f64::INFINITY
        } else {
            edge.parse().map_err(|_| "le is no number")?
        };
        let name = sample.name.trim_end_matches("_bucket").to_owned();
        let before =
            last.insert((name, labels), (edge, sample.value)).unwrap_or((f64::NEG_INFINITY, 0.0));
        if edge <= before.0 || sample.value < before.1 {
            return Err(format!("buckets do not rise: {sample:?}"));
        }
    }
    for sample in samples.iter().filter(|sample| sample.name.ends_with("_count")) {
        let key = (sample.name.trim_end_matches("_count").to_owned(), sample.labels.clone());
        if last.get(&key) != Some(&(f64::INFINITY, sample.value)) {
            return Err(format!("+Inf is not the count: {sample:?}"));
        }
    }
    Ok(())
}

fn parse(line: &str) -> Option<ExpositionSample> {
    let (head, value) = line.rsplit_once(' ')?;
    let (name, labels) = match head.split_once('{') {
        Some((name, rest)) => (name, rest.strip_suffix('}')?),
        None => (head, ""),
    };
    let mut out = BTreeMap::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let end = after.char_indices().scan(false, |escaped, (at, c)| {
            let ends = c == '"' && !*escaped;
            *escaped = c == '\\' && !*escaped;
            Some((at, ends))
        });
        let end = end.filter(|(_, ends)| *ends).map(|(at, _)| at).next()?;
        if !word(key) || out.insert(key.to_owned(), after[..end].to_owned()).is_some() {
            return None;
        }
        rest = after[end + 1..].strip_prefix(',').or(after[end + 1..].is_empty().then_some(""))?;
    }
    word(name).then_some(ExpositionSample {
        name: name.to_owned(),
        labels: out,
        value: value.parse().ok()?,
    })
}

fn word(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let good = "# HELP a_x Help.\n# TYPE a_x counter\na_x_total{k=\"v\\\"w\"} 1\n# EOF\n";
    assert_eq!(check(good).unwrap()[0].labels["k"], "v\\\"w");
    for (from, to) in [
        ("# EOF\n", ""),
        ("# HELP a_x Help.\n", ""),
        ("a_x_total", "a_x"),
        ("a_x_total", "b_total"),
        ("} 1\n", "} 1\na_x_total{k=\"v\\\"w\"} 2\n"),
        ("k=\"", "k-y=\""),
        (" counter", " thing"),
    ] {
        assert!(check(&good.replace(from, to)).is_err(), "{from} -> {to}");
    }
    let histogram = "# HELP h Help.\n# TYPE h histogram\nh_sum 1.0\nh_count 2\nh_bucket{le=\"1.0\"} 1\nh_bucket{le=\"+Inf\"} 2\n# EOF\n";
    assert!(check(histogram).is_ok());
    assert!(check(&histogram.replace("h_count 2", "h_count 3")).is_err());
    assert!(check(&histogram.replace("\"1.0\"} 1", "\"1.0\"} 3")).is_err());
}
