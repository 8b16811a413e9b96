//! The committed reference equals the schema's present output.

use model::config::reference::render_reference;
use model::renamed_names::render_renamed_names;

use super::support::repository;

#[test]
fn the_reference_is_fresh() {
    let path = repository("docs/reference/configuration.md");
    let text = render_reference();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/reference/configuration.md is stale: run with UPDATE_EXPECT=1"
    );
}

#[test]
fn the_page_of_renamed_names_is_fresh() {
    let path = repository("docs/reference/renamed.md");
    let text = render_renamed_names();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "docs/reference/renamed.md is stale: run with UPDATE_EXPECT=1");
}
