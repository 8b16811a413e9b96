//! Defaults that give way to what is written beside them: nobody is refused for a value that nobody wrote.

use super::super::section::{Origin, Section, Slot};
use super::super::value::Value;

/// A default that a smaller setting beside it would contradict becomes that setting: nobody wrote it.
pub fn cap_default(section: &mut Section, key: &'static str, most: &'static str) {
    let default = section.setting(key).is_some_and(|setting| setting.origin == Origin::Default);
    let value = |key: &str| match section.setting(key).map(|setting| &setting.slot) {
        Some(Slot::Value(value @ (Value::Time(_) | Value::Size(_) | Value::Count(_)))) => {
            Some(value.clone())
        }
        _ => None,
    };
    let smaller = match (value(key), value(most)) {
        (Some(Value::Time(own)), Some(Value::Time(most))) => own > most,
        (Some(Value::Size(own)), Some(Value::Size(most))) => own > most,
        (Some(Value::Count(own)), Some(Value::Count(most))) => own > most,
        _ => false,
    };
    if default
        && smaller
        && let Some(value) = value(most)
    {
        section.set(key, value, Origin::Derived(CAPPED));
    }
}

/// Likewise a default that a larger setting beside it would contradict: it becomes `times` that setting.
pub fn raise_default(section: &mut Section, key: &'static str, least: &'static str, times: u32) {
    let default = section.setting(key).is_some_and(|setting| setting.origin == Origin::Default);
    let value = |key: &str| match section.setting(key).map(|setting| &setting.slot) {
        Some(Slot::Value(value)) => Some(value.clone()),
        _ => None,
    };
    let larger = match (value(key), value(least)) {
        (Some(Value::Time(own)), Some(Value::Time(least))) if own < least => {
            Some(Value::Time(least * times))
        }
        (Some(Value::Size(own)), Some(Value::Size(least))) if own < least => {
            Some(Value::Size(least * u64::from(times)))
        }
        _ => None,
    };
    if default && let Some(value) = larger {
        section.set(key, value, Origin::Derived(RAISED));
    }
}

/// Why a default is smaller than the reference says.
const CAPPED: &str = "not above the setting beside it";
/// Why a default is larger than the reference says.
const RAISED: &str = "not below the setting beside it";
