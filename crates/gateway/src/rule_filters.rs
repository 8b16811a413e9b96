//! The filters of a rule: what is changed in requests and answers, where requests are sent or copied to.

use crate::backends::ConditionFailure;
use crate::objects::routes::{
    HeaderLine, HeaderModifier, MirrorFilter, RedirectFilter, RouteFilter, UrlRewrite,
};
use crate::toml_text::{ConfigEntry, quote, quote_all};

/// The filters of a rule or of one back end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilterPlan {
    pub request: HeaderModifier,
    pub response: HeaderModifier,
    pub redirect: Option<RedirectFilter>,
    pub rewrite: Option<UrlRewrite>,
    pub mirror: Option<MirrorFilter>,
}

/// Whose filters they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPlace {
    HttpRule,
    GrpcRule,
    Backend,
}

/// Sorts filters by kind.
///
/// # Errors
/// A filter cannot be carried out, or not there, or not beside another one.
pub fn plan_filters(
    filters: &[RouteFilter],
    place: FilterPlace,
) -> Result<FilterPlan, ConditionFailure> {
    let mut plan = FilterPlan::default();
    let mut seen: Vec<&str> = Vec::new();
    for filter in filters {
        let kind = filter.kind.as_str();
        if seen.contains(&kind) {
            let message = format!("two filters of type {kind} in one rule are not supported");
            let reason =
                if kind == "RequestMirror" { "UnsupportedValue" } else { "IncompatibleFilters" };
            return Err(ConditionFailure::new(reason, message));
        }
        seen.push(kind);
        add_filter(&mut plan, filter, place)?;
    }
    if plan.redirect.is_some() && plan.rewrite.is_some() {
        let message = "RequestRedirect and URLRewrite are in one rule";
        return Err(ConditionFailure::new("IncompatibleFilters", message));
    }
    Ok(plan)
}

fn add_filter(
    plan: &mut FilterPlan,
    filter: &RouteFilter,
    place: FilterPlace,
) -> Result<(), ConditionFailure> {
    let empty = |field: &str| {
        let message = format!("a filter of type {} has no `{field}`", filter.kind);
        ConditionFailure::new("UnsupportedValue", message)
    };
    match (filter.kind.as_str(), place) {
        ("RequestHeaderModifier", _) => {
            let found = filter.request_header_modifier.clone();
            plan.request = found.ok_or_else(|| empty("requestHeaderModifier"))?;
        }
        ("ResponseHeaderModifier", _) => {
            let found = filter.response_header_modifier.clone();
            plan.response = found.ok_or_else(|| empty("responseHeaderModifier"))?;
        }
        ("RequestMirror", FilterPlace::HttpRule | FilterPlace::GrpcRule) => {
            let found = filter.request_mirror.clone();
            plan.mirror = Some(found.ok_or_else(|| empty("requestMirror"))?);
        }
        ("RequestRedirect", FilterPlace::HttpRule) => {
            let found = filter.request_redirect.clone();
            plan.redirect = Some(found.ok_or_else(|| empty("requestRedirect"))?);
        }
        ("URLRewrite", FilterPlace::HttpRule) => {
            let found = filter.url_rewrite.clone();
            plan.rewrite = Some(found.ok_or_else(|| empty("urlRewrite"))?);
        }
        (kind, FilterPlace::Backend) => {
            let message = format!("a filter of type {kind} in a back end is not supported");
            return Err(ConditionFailure::new("UnsupportedValue", message));
        }
        (kind, _) => {
            let message = format!("a filter of type {kind} is not supported");
            return Err(ConditionFailure::new("UnsupportedValue", message));
        }
    }
    Ok(())
}

impl FilterPlan {
    pub fn is_empty(&self) -> bool {
        *self == FilterPlan::default()
    }

    /// The changes of headers, as keys of `rewrite`.
    pub fn header_entries(&self) -> Vec<ConfigEntry> {
        let mut entries = Vec::new();
        let mut push = |key: &'static str, texts: Vec<String>| {
            if !texts.is_empty() {
                entries.push(ConfigEntry::new(key, quote_all(&texts)));
            }
        };
        push("set", self.request.set.iter().map(template_line).collect());
        push("add", self.request.add.iter().map(template_line).collect());
        push("remove", self.request.remove.clone());
        push("response-set", self.response.set.iter().map(plain_line).collect());
        push("response-remove", self.response.remove.clone());
        push("response-add", self.response.add.iter().map(template_line).collect());
        entries
    }

    /// The fields of an answer of the balancer's own. Nothing can be taken out of it.
    pub fn answer_headers(&self) -> Option<ConfigEntry> {
        let lines = self.response.set.iter().chain(&self.response.add);
        let lines: Vec<String> = lines.map(plain_line).collect();
        let list = || crate::toml_text::list(lines.iter().map(|line| quote(line)));
        (!lines.is_empty()).then(|| ConfigEntry::new("headers", list()))
    }
}

/// The percentage of requests that a mirror gets; `None`: none.
///
/// # Errors
/// It is no whole number of percent.
pub fn mirror_percent(mirror: &MirrorFilter) -> Result<Option<u32>, ConditionFailure> {
    let percent = match (mirror.percent, &mirror.fraction) {
        (Some(percent), _) => Some(percent),
        (None, None) => Some(100),
        (None, Some(fraction)) => {
            let whole = fraction.denominator.unwrap_or(100);
            let parts = u64::from(fraction.numerator) * 100;
            let percent = parts.checked_div(u64::from(whole));
            let exact = percent.filter(|percent| percent * u64::from(whole) == parts);
            exact.and_then(|percent| u32::try_from(percent).ok())
        }
    };
    match percent {
        Some(0) => Ok(None),
        Some(percent @ 1..=100) => Ok(Some(percent)),
        _ => {
            let message = "a mirror of a part that is no whole percentage is not supported";
            Err(ConditionFailure::new("UnsupportedValue", message))
        }
    }
}

/// A header for a key whose values may have variables: a brace of the value is one.
fn template_line(line: &HeaderLine) -> String {
    format!("{}: {}", line.name, line.value.replace('{', "{{"))
}

fn plain_line(line: &HeaderLine) -> String {
    format!("{}: {}", line.name, line.value)
}
