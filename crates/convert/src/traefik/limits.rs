//! Middlewares that limit, repeat or compress: rate limits, retries, compression, and those without counterpart.

use crate::draft_check::{DraftChecker, RouterLayer};
use crate::notes::ConversionNotes;
use crate::size::format_size;
use crate::value::{self, KeyValue};

use super::chain_effect::ChainEffect;
use super::option_tree::OptionNode;

/// `rateLimit` as the `limit` of a rule.
pub fn rate_limit(
    node: &OptionNode,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let average = node.number_of("average").unwrap_or(0);
    if average == 0 {
        return node.changed(notes, "without an average nothing is limited", "");
    }
    let Some(limit) = limit_value(node, average) else {
        let reason = "a limit counts whole requests a second, by address or by a field: \
                      nothing is limited here";
        return node.left_out(notes, reason, "`limit = { rate = …, by = \"address\" }` in a rule");
    };
    if effect.limit.is_some() {
        let reason = "a rule has one limit, that of the first middleware";
        return node.left_out(notes, reason, "a rule of its own before it");
    }
    if let Some(why) = checker.rejection(RouterLayer::Http, &[KeyValue::new("limit", &*limit)]) {
        return node.left_out(
            notes,
            &format!("{why}: nothing is limited here"),
            "`limit` in a rule",
        );
    }
    effect.limit = Some(limit);
    node.changed(notes, "what comes above is refused at once with 429, and never delayed", "");
}

/// `None` if the limit has no counterpart.
fn limit_value(node: &OptionNode, average: i64) -> Option<String> {
    let period = match node.get("period") {
        Some(_) => node.duration_of("period")?,
        None => 1_000,
    };
    let average = u64::try_from(average).ok()?;
    let per_period = average.checked_mul(1_000)?;
    let rate = per_period.checked_div(period).filter(|rate| *rate > 0)?;
    if rate.checked_mul(period) != Some(per_period) || node.get("redis").is_some() {
        return None;
    }
    let burst = node.number_of("burst").unwrap_or(1).max(1);
    let mut pairs =
        vec![KeyValue::new("rate", rate.to_string()), KeyValue::new("burst", burst.to_string())];
    let criterion = node.get("sourceCriterion").filter(|one| !one.entries().is_empty());
    match criterion {
        None => {
            pairs.push(KeyValue::new("by", value::quote("address")));
            // Traefik counts each address of its own.
            pairs.push(KeyValue::new("mask6", "128"));
        }
        Some(criterion) => {
            let name = criterion.text_of("requestHeaderName")?;
            if criterion.entries().len() > 1 {
                return None;
            }
            pairs.push(KeyValue::new("by", value::quote("header")));
            pairs.push(KeyValue::new("header", value::quote(name)));
        }
    }
    Some(value::table(&pairs))
}

/// `retry`: further attempts of a pool of its own.
pub fn retry(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    /// The most further attempts that a pool may have.
    const MOST: i64 = 10;
    /// The longest first wait that a pool may have, in milliseconds.
    const LONGEST: u64 = 60_000;
    let attempts = node.number_of("attempts").unwrap_or(1).max(1);
    let retries = (attempts - 1).min(MOST);
    effect.retry.retries = u32::try_from(retries).unwrap_or(0);
    effect.retry.back_off_ms = node.duration_of("initialInterval").unwrap_or(0).min(LONGEST);
    for entry in node.entries() {
        match entry.key.to_ascii_lowercase().as_str() {
            "attempts" if attempts - 1 > MOST => {
                entry.changed(notes, &format!("a pool makes at most {MOST} further attempts"), "");
            }
            "attempts" | "initialinterval" => entry.converted(notes),
            _ => entry.left_out(
                notes,
                "further attempts are made where a server did not take the request",
                "`retry` of the pool",
            ),
        }
    }
}

/// `compress` as the service's own.
pub fn compress(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    let codings: Vec<String> = node
        .texts_of("encodings")
        .into_iter()
        .map(|coding| coding.text.to_ascii_lowercase())
        .filter(|coding| matches!(coding.as_str(), "gzip" | "br" | "zstd"))
        .collect();
    let codings = match codings.is_empty() {
        true => ["gzip", "br", "zstd"].map(str::to_owned).to_vec(),
        false => codings,
    };
    let least = node.number_of("minResponseBodyBytes").unwrap_or(1_024).max(1);
    let mut pairs = vec![
        KeyValue::new("codings", value::quote_all(&codings)),
        KeyValue::new("min", value::quote(&format!("{least}B"))),
    ];
    let types: Vec<String> =
        node.texts_of("includedContentTypes").into_iter().map(|one| one.text).collect();
    if !types.is_empty() {
        pairs.push(KeyValue::new("types", value::quote_all(&types)));
    }
    for entry in node.entries() {
        match entry.key.to_ascii_lowercase().as_str() {
            "excludedcontenttypes" => entry.left_out(
                notes,
                "what is compressed is said by the types that are",
                "`compress.types` of the service",
            ),
            "defaultencoding" => {
                entry.changed(notes, "clients that name no coding get none", "");
            }
            _ => entry.converted(notes),
        }
    }
    let reason = "it holds for all answers of the entry point, and without a list for texts";
    node.changed(notes, reason, "`compress` of the service");
    effect.compress = Some(value::table(&pairs));
}

/// `buffering`: bodies up to the limit are read ahead, and longer ones are refused.
pub fn buffering(
    node: &OptionNode,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let most = node.number_of("maxRequestBodyBytes").filter(|most| *most > 0);
    effect.body_bytes = most.and_then(|most| u64::try_from(most).ok()).map(format_size);
    /// The largest body that is read ahead.
    const READ_AHEAD: i64 = 1 << 30;
    if let Some((limit, most)) = node.get("maxRequestBodyBytes").zip(most)
        && most > READ_AHEAD
    {
        let reason = "bodies are passed on while they come, and ended where they are longer";
        limit.changed(notes, reason, "`body-bytes` in a rule");
    }
    let value = most.filter(|most| *most <= READ_AHEAD).map(|most| {
        let request = KeyValue::new("request", value::quote(&format!("{most}B")));
        value::table(&[request, KeyValue::new("when-larger", value::quote("refuse"))])
    });
    for entry in node.entries() {
        match entry.key.to_ascii_lowercase().as_str() {
            "maxrequestbodybytes" => {}
            "retryexpression" => entry.left_out(
                notes,
                "answers ask for further attempts by their status",
                "`retry.on` in a rule",
            ),
            "maxresponsebodybytes" => {
                entry.left_out(notes, "answers of any length are passed on", "");
            }
            "memrequestbodybytes" | "memresponsebodybytes" => entry.changed(
                notes,
                "bodies that are read ahead stay in memory",
                "`buffer.memory` of the service",
            ),
            _ => {}
        }
    }
    let reason = "an answer is passed on while it comes, and not once it is whole";
    notes.changed(node.place().whole(), &node.text, reason, "");
    let Some((limit, value)) = node.get("maxRequestBodyBytes").zip(value) else { return };
    match checker.rejection(RouterLayer::Http, &[KeyValue::new("buffer", &*value)]) {
        Some(why) => {
            let reason = format!("{why}: bodies are not limited here");
            limit.left_out(notes, &reason, "`buffer` in a rule");
        }
        None => {
            effect.buffer = Some(value);
            limit.converted(notes);
        }
    }
}

/// Limits that a rule does not have.
pub fn note_limit(node: &OptionNode, notes: &mut ConversionNotes) {
    let (reason, instead) = match node.key.to_ascii_lowercase().as_str() {
        "circuitbreaker" => (
            "servers are judged one by one, not a router by an expression: nothing is cut off here",
            "`eject` of the pool",
        ),
        _ => (
            "requests under way are not counted by client here: nothing is limited",
            "`limit.connections-per-client` of the service, `circuit-breaker` of the pool",
        ),
    };
    node.left_out(notes, reason, instead);
}
