//! Edits: all that fit are made, each on what those before it left; which of them fit, and which their answers.

use std::fmt::Write;

use model::config::load;
use model::config::value_template::{RequestFacts, ValueBudget};
use model::request_head::ParsedHead;
use model::rules::RuleContext;
use model::rules::edits::{EditMatch, EditStage, EditTable};
use model::rules::rewrite::RewriteFault;
use proptest::prelude::*;

use super::FRIDAY_NOON;

fn table(more: &str, edits: &str) -> EditTable {
    let text = format!(
        "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\n{more}edit = [{edits}]\n\
         [pool.p]\nservers = [\"10.0.0.1:80\"]\n[pool.q]\nservers = [\"10.0.0.2:80\"]\n"
    );
    let config = load(&text, "edits.toml").unwrap_or_else(|found| panic!("{found}\n{text}")).config;
    EditTable::new(&config.services["s"]).unwrap()
}

/// A request after edits, and how each of them fits it.
#[derive(Debug, PartialEq)]
struct Edited {
    text: String,
    fits: String,
}

/// Makes the edits of a stage as a worker does. Fits: `y`, `n` or `?` for each.
fn edit(table: &EditTable, stage: EditStage<'_>, text: &str) -> Result<Edited, RewriteFault> {
    let mut words = text.split(' ');
    let method = words.next().unwrap().len();
    let target = method + 1..method + 1 + words.next().unwrap().len();
    let original = ParsedHead::new(text.as_bytes(), method, target.clone());
    let paths = table.compared_paths(&original).unwrap();
    let mut bytes = text.as_bytes().to_vec();
    let mut fits = String::new();
    let mut budget = ValueBudget::default();
    for edit in table.edits().iter().filter(|edit| edit.is_made_at(stage)) {
        let head = ParsedHead::new(&bytes, method, target.clone());
        let context = RuleContext {
            client: "192.0.2.9:40000".parse().unwrap(),
            sni: None,
            tos: None,
            head: Some(&head),
            unix_seconds: FRIDAY_NOON,
        };
        let found = edit.match_request(&context, &paths);
        fits.push(match found {
            EditMatch::No => 'n',
            EditMatch::Yes => 'y',
            EditMatch::Ambiguous => '?',
        });
        if found == EditMatch::No {
            continue;
        }
        let facts = RequestFacts {
            client: context.client,
            port: 80,
            scheme: "http",
            sni: None,
            forwarded_for: b"",
            head: &head,
        };
        let mut out = Vec::new();
        edit.fill_response(&facts, &mut budget)?;
        if edit.rewrite_request(&bytes, &facts, &mut budget, &mut out)? {
            bytes = out;
        }
    }
    Ok(Edited { text: String::from_utf8(bytes).unwrap(), fits })
}

fn request(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: shop\r\n{fields}\r\nbody")
}

#[test]
fn each_edit_sees_what_those_before_it_left() {
    let table = table(
        "",
        r#"{ when = { path = "/a/*" }, rewrite = { set = "X-A: {client}", host = "inner" } },
           { when = { header = "x-a: 192.0.2.9" }, rewrite = { add = "X-B: {header.x-a} {host}" } },
           { when = { header = "x-a: 1" }, rewrite = { add = "X-C: 1" } },
           { when = { header = "x-b", host = "inner" }, rewrite = { remove = "x-a" } },
           { rewrite = { set = "X-D: {header.x-a}" } }"#,
    );
    let edited = edit(&table, EditStage::BeforeRules, &request("/a/b", "X_A: 1\r\nX-D: 2\r\n"));
    let want = "GET /a/b HTTP/1.1\r\nHost: inner\r\nX-B: 192.0.2.9 inner\r\n\r\nbody";
    assert_eq!(edited.unwrap(), Edited { text: want.into(), fits: "yynyy".into() });
    let other = edit(&table, EditStage::BeforeRules, &request("/b", "X-A: 1\r\n")).unwrap();
    assert_eq!(other.text, request("/b", "X-A: 1\r\nX-C: 1\r\nX-D: 1\r\n"));
}

#[test]
fn edits_are_made_at_their_stage() {
    let table = table(
        "",
        r#"{ rewrite = { add = "X: before" } }, { after-rules = true, rewrite = { add = "X: after" } },
           { pool = "q", rewrite = { add = "X: q" } }"#,
    );
    for (stage, want) in [
        (EditStage::BeforeRules, "X: before\r\n"),
        (EditStage::AfterRules("p"), "X: after\r\n"),
        (EditStage::AfterRules("q"), "X: after\r\nX: q\r\n"),
    ] {
        assert_eq!(edit(&table, stage, &request("/", "")).unwrap().text, request("/", want));
    }
}

/// What an edit is to take away must not stay because a request can be read in two ways.
#[test]
fn an_edit_fits_where_one_reading_does() {
    let rows = [
        ("", "{ path = \"/admin/*\" }", "/public/..;/admin/x", "?"),
        ("", "{ not = { path = \"/public/*\" } }", "/public/..;/admin/x", "?"),
        ("", "{ path = \"/admin/*\" }", "/admin/x", "y"),
        ("", "{ path = \"/admin/*\" }", "/public/x", "n"),
        ("path-normalization = \"raw\"\n", "{ path = \"/admin/*\" }", "/public/..;/admin/x", "n"),
        ("path-case = \"ignore\"\n", "{ path = \"/admin/*\" }", "/ADMIN/x", "y"),
        ("", "{ header = \"x-a: 1\" }", "/", "?"),
        ("", "{ hours = \"12:00-13:00\", days = \"fri\" }", "/", "y"),
        ("", "{ client = \"192.0.2.0/24\" }", "/", "y"),
    ];
    for (more, when, target, want) in rows {
        let table = table(more, &format!("{{ when = {when}, rewrite = {{ remove = \"x-a\" }} }}"));
        let edited = edit(&table, EditStage::BeforeRules, &request(target, "X_A: 1\r\n")).unwrap();
        assert_eq!(edited.fits, want, "{when} {target}");
        let left = if want == "n" { "X_A: 1\r\n" } else { "" };
        assert_eq!(edited.text, request(target, left), "{when} {target}");
    }
}

#[test]
fn what_edits_add_to_a_head_is_bounded() {
    let long = "v".repeat(1_000);
    let some = vec![format!("{{ rewrite = {{ add = \"X: {long}\" }} }}"); 15].join(",");
    assert!(edit(&table("", &some), EditStage::BeforeRules, &request("/", "")).is_ok());
    let more =
        format!("{some}, {{ rewrite = {{ response-add = [\"X: {long}\", \"Y: {long}\"] }} }}");
    let refused = edit(&table("", &more), EditStage::BeforeRules, &request("/", ""));
    assert_eq!(refused, Err(RewriteFault::ValuesTooLong));
    let doubling = ["{ rewrite = { set = \"X: {header.x}{header.x}\" } }"; 12].join(",");
    let refused = edit(&table("", &doubling), EditStage::BeforeRules, &request("/", "X: 1234\r\n"));
    assert_eq!(refused, Err(RewriteFault::ValuesTooLong));
}

#[test]
fn answers_meet_the_whole_condition() {
    let table = table(
        "",
        r#"{ when-response = { statuses = ["500-599", 404], header = ["x-a: *1*", "x-b"], without = "x-c" },
             rewrite = { response-remove = "x-a" } }, { rewrite = { response-remove = "x-a" } }"#,
    );
    for (status, fields, want) in [
        (500, &[("X-A", "010")][..], true),
        (404, &[("x-b", "")], true),
        (200, &[("x-b", "")], false),
        (500, &[("x-a", "2")], false),
        (500, &[("x-b", ""), ("X-C", "1")], false),
        (500, &[], false),
    ] {
        let has = |values: &model::rules::value::NamedValues| {
            fields
                .iter()
                .any(|(name, value)| values.matches_field(name.as_bytes(), value.as_bytes()))
        };
        let fits = |at: usize| table.edits()[at].response_condition.fits(status, &has);
        assert_eq!(fits(0), want, "{status} {fields:?}");
        assert!(fits(1));
    }
}

/// A step of the reference: what one edit does to a list of fields.
#[derive(Clone, Debug)]
enum Step {
    Set(u8, u8),
    Add(u8, u8),
    Remove(u8),
}

impl Step {
    fn written(&self) -> String {
        match self {
            Step::Set(name, value) => format!("set = \"x-{name}: {value}\""),
            Step::Add(name, value) => format!("add = \"x-{name}: {value}\""),
            Step::Remove(name) => format!("remove = \"x-{name}\""),
        }
    }

    fn apply(&self, fields: &mut Vec<(u8, u8)>) {
        match *self {
            Step::Set(name, value) => {
                fields.retain(|field| field.0 != name);
                fields.push((name, value));
            }
            Step::Add(name, value) => fields.push((name, value)),
            Step::Remove(name) => fields.retain(|field| field.0 != name),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3_u8, 0..3_u8).prop_map(|(name, value)| Step::Set(name, value)),
        (0..3_u8, 0..3_u8).prop_map(|(name, value)| Step::Add(name, value)),
        (0..3_u8).prop_map(Step::Remove),
    ]
}

proptest! {
    #[test]
    fn edits_come_to_what_a_list_of_fields_comes_to(
        fields in prop::collection::vec((0..3_u8, 0..3_u8), 0..5),
        steps in prop::collection::vec((any::<bool>(), 0..3_u8, 0..3_u8, step()), 1..8),
    ) {
        let mut edits = String::new();
        let mut want = fields.clone();
        for (is_negated, name, value, step) in &steps {
            let (open, close) = if *is_negated { ("not = { ", " }") } else { ("", "") };
            let when = format!("{open}header = \"x-{name}: {value}\"{close}");
            write!(edits, "{{ when = {{ {when} }}, rewrite = {{ {} }} }},", step.written()).unwrap();
            if want.contains(&(*name, *value)) != *is_negated {
                step.apply(&mut want);
            }
        }
        let lines = |fields: &[(u8, u8)]| -> String {
            fields.iter().map(|(name, value)| format!("x-{name}: {value}\r\n")).collect()
        };
        let edited = edit(&table("", &edits), EditStage::BeforeRules, &request("/", &lines(&fields)));
        prop_assert_eq!(edited.unwrap().text, request("/", &lines(&want)));
    }
}
