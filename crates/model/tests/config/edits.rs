//! Edits of a service: rows of mistakes, and what is read of them.

use model::config::Condition;

use super::support::{BASE, good};

fn edit(keys: &str) -> String {
    BASE.replace("pool = \"web\"\n", &format!("pool = \"web\"\nedit = [{{ {keys} }}]\n"))
}

#[test]
fn mistakes_are_reported_where_they_stand() {
    let at = |key: &str| format!("service.shop.edit[0].{key}");
    let set = "rewrite = { set = \"x: 1\" }";
    let rows = [
        (edit(&format!("when = {{ rate = 5 }}, {set}")), at("when.rate"), "counts for rules"),
        (
            edit(&format!("when = {{ any = [{{ servers = \"1\" }}, {{ path = \"/\" }}] }}, {set}")),
            at("when.any[0].servers"),
            "counts for rules",
        ),
        (edit(&format!("when = {{ path = [] }}, {set}")), at("when.path"), ""),
        (edit(&format!("pool = \"other\", {set}")), at("pool"), "there is no pool `other`"),
        (
            edit(&format!("pool = \"web\", after-rules = false, {set}")),
            at("after-rules"),
            "the rules choose the pool",
        ),
        (edit("rewrite = { set = [] }, name = \"a\""), at("rewrite"), "changes nothing"),
        (edit("rewrite = { path = \"/x\" }"), at("rewrite.path"), ""),
        (edit("rewrite = { set = \"content-length: 1\" }"), at("rewrite.set"), ""),
        (edit("rewrite = { set = \"x: {unknown}\" }"), at("rewrite.set"), ""),
        (
            edit(&format!("when-response = 500, {set}")),
            at("rewrite.set"),
            "the request is gone when the answer comes",
        ),
        (edit("name = \"a\""), at("rewrite"), ""),
    ];
    for (text, key, message) in &rows {
        let found = super::support::errors(text);
        let one = found.iter().find(|one| one.key == *key);
        let one = one.unwrap_or_else(|| panic!("{key} in {found:?}\n{text}"));
        assert!(one.message.contains(message), "{one:?}");
    }
    let twice = edit(&format!("name = \"a\", {set} }}, {{ name = \"a\", {set}"));
    assert_eq!(super::support::errors(&twice)[0].key, "service.shop.edit[1].name");
    let many = edit(&vec![set; 257].join(" }, { "));
    let found = super::support::errors(&many);
    assert!(found[0].message.contains("257 edits are more than a service may have"), "{found:?}");
}

#[test]
fn edits_belong_to_services_that_read_requests() {
    let tcp = edit("rewrite = { set = \"x: 1\" }").replace("\"http\"", "\"tcp\"");
    let key = "service.shop.edit";
    let found = super::support::errors(&tcp);
    assert!(found[0].key == key && found[0].message.contains("forwards bytes"), "{found:?}");
}

#[test]
fn an_edit_of_a_pool_is_made_after_the_rules() {
    let set = "rewrite = { set = \"x: 1\" }";
    let of = |keys: &str| good(&edit(keys)).config.services["shop"].edits[0].clone();
    let plain = of(set);
    assert!(!plain.after_rules && plain.when_response.is_always());
    assert_eq!(plain.when, Condition::All(Vec::new()));
    assert!(of(&format!("pool = \"web\", {set}")).after_rules);
    assert!(of(&format!("after-rules = true, {set}")).after_rules);
}
