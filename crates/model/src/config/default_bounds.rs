//! Adjusts defaults that contradict a written setting, so that an unwritten value never causes an error.

use crate::config::section::{ConfigSection, ContentView, SettingOrigin};
use crate::config::value::ConfigValue;

/// Lowers a default to a smaller written setting that it would contradict.
pub fn cap_default(section: &mut ConfigSection, key: &'static str, most: &'static str) {
    let default =
        section.setting(key).is_some_and(|setting| setting.origin == SettingOrigin::Default);
    let value = |key: &str| match section.setting(key).map(|setting| setting.content) {
        Some(ContentView::Value(
            value @ (ConfigValue::Time(_) | ConfigValue::Size(_) | ConfigValue::Count(_)),
        )) => Some(value.clone()),
        _ => None,
    };
    let smaller = match (value(key), value(most)) {
        (Some(ConfigValue::Time(own)), Some(ConfigValue::Time(most))) => own > most,
        (Some(ConfigValue::Size(own)), Some(ConfigValue::Size(most))) => own > most,
        (Some(ConfigValue::Count(own)), Some(ConfigValue::Count(most))) => own > most,
        _ => false,
    };
    if default
        && smaller
        && let Some(value) = value(most)
    {
        section.set(key, value, SettingOrigin::Derived(CAPPED));
    }
}

/// Raises a default to `times` a larger written setting that it would contradict.
pub fn raise_default(
    section: &mut ConfigSection,
    key: &'static str,
    least: &'static str,
    times: u32,
) {
    let default =
        section.setting(key).is_some_and(|setting| setting.origin == SettingOrigin::Default);
    let value = |key: &str| match section.setting(key).map(|setting| setting.content) {
        Some(ContentView::Value(value)) => Some(value.clone()),
        _ => None,
    };
    let larger = match (value(key), value(least)) {
        (Some(ConfigValue::Time(own)), Some(ConfigValue::Time(least))) if own < least => {
            Some(ConfigValue::Time(least * times))
        }
        (Some(ConfigValue::Size(own)), Some(ConfigValue::Size(least))) if own < least => {
            Some(ConfigValue::Size(least * u64::from(times)))
        }
        _ => None,
    };
    if default && let Some(value) = larger {
        section.set(key, value, SettingOrigin::Derived(RAISED));
    }
}

/// Origin text of a lowered default.
const CAPPED: &str = "not above the setting beside it";

/// Origin text of a raised default.
const RAISED: &str = "not below the setting beside it";
