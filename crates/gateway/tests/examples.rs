//! Manifests with what is written of them: the configuration and every condition stand beside the example.
//!
//! `UPDATE_EXPECT=1` overwrites the expected files. Review the changes afterwards.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::path::{Path, PathBuf};

use gateway::manifest::read_manifest;
use gateway::object_set::ObjectSet;
use gateway::settings::GatewaySettings;
use gateway::status::{ConditionState, StatusCondition};
use gateway::translation::{GatewayTranslation, translate};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn condition_line(condition: &StatusCondition) -> String {
    let sign = if condition.status == ConditionState::True { "" } else { "not " };
    format!("{sign}{} ({}): {}", condition.kind, condition.reason, condition.message)
}

fn conditions_text(translation: &GatewayTranslation) -> String {
    let mut text = String::new();
    for status in &translation.statuses {
        text.push_str(&format!("# {}\n", status.label()));
        let mut push = |part: &str, conditions: &[StatusCondition]| {
            for condition in conditions {
                text.push_str(&format!("#   {part}{}\n", condition_line(condition)));
            }
        };
        push("", &status.conditions);
        for listener in &status.listeners {
            let kinds: Vec<&str> = listener.supported_kinds.iter().map(|kind| kind.kind).collect();
            let part = format!(
                "listener {}, {} routes of {}: ",
                listener.name,
                listener.attached_routes,
                kinds.join(" and ")
            );
            push(&part, &listener.conditions);
        }
        for parent in &status.parents {
            let section = parent.parent_ref.section_name.as_deref().unwrap_or("all");
            push(&format!("parent {} {section}: ", parent.parent_ref.name), &parent.conditions);
        }
    }
    text
}

fn written_and_reported(text: &str) -> String {
    let contents = read_manifest(text, "x.yaml");
    let mut problems = contents.problems;
    let set = ObjectSet::from_manifests(contents.objects, &mut problems);
    let translation = translate(&set, &GatewaySettings::default());
    problems.extend(translation.problems.iter().cloned());
    let mut out = translation.configuration.clone().unwrap_or_default();
    out.push_str("\n# Conditions:\n");
    out.push_str(&conditions_text(&translation));
    for problem in problems {
        out.push_str(&format!("# problem: {problem}\n"));
    }
    out
}

#[test]
fn examples_come_to_what_stands_beside_them() {
    let mut seen = 0;
    for entry in std::fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|found| found != "yaml") {
            continue;
        }
        seen += 1;
        let found = written_and_reported(&std::fs::read_to_string(&path).unwrap());
        let file = path.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, found).unwrap();
            continue;
        }
        let wanted = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(found, wanted, "{}: UPDATE_EXPECT=1 writes it anew", path.display());
    }
    assert!(seen > 5, "{seen} examples");
}
