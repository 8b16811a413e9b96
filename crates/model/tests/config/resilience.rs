//! How a pool stands by its requests: defaults, what is off, and what cannot be meant.

use model::config::{Eject, Retry, Statuses};

use super::shared::{BASE, errors, good};

fn pool(keys: &str) -> String {
    format!("{BASE}{keys}\n")
}

#[test]
fn the_types_have_the_defaults_of_the_tables() {
    let config = good(BASE).config;
    let web = &config.pools["web"];
    assert_eq!((&web.retry, web.eject.as_ref()), (&Retry::default(), Some(&Eject::default())));
}

#[test]
fn each_can_be_off_and_statuses_are_ranges() {
    let text = pool("retry = { budget = \"off\", on = [500, \"502-504\"] }\neject = \"off\"");
    let config = good(&text).config;
    let web = &config.pools["web"];
    let on = Statuses(vec![(500, 500), (502, 504)]);
    assert_eq!((web.retry.budget, &web.retry.on, &web.eject), (None, &on, &None));
    for (status, has) in [(499, false), (500, true), (501, false), (502, true), (505, false)] {
        assert_eq!(on.has(status), has, "{status}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for (keys, key) in [
        ("retry = { back-off = \"1s\", back-off-most = \"10ms\" }", "pool.web.retry.back-off-most"),
        ("retry = { back-off = \"1s\" }", "pool.web.retry.back-off"),
        ("eject = { time = \"10s\", most = \"1s\" }", "pool.web.eject.most"),
    ] {
        let found = errors(&pool(keys));
        assert!(found.iter().any(|it| it.key == key), "{keys}: {found:#?}");
    }
}

#[test]
fn what_has_no_effect_is_warned_of() {
    for (keys, key) in [
        ("retries = 0\nretry = { on = 503 }", "pool.web.retry.on"),
        ("eject = { share = 49 }", "pool.web.eject.share"),
    ] {
        let found = good(&pool(keys)).warnings;
        assert!(found.iter().any(|it| it.key == key), "{keys}: {found:#?}");
    }
    assert_eq!(good(&pool("eject = { share = 50 }")).warnings, []);
}
