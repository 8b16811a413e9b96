//! Rows of the readers: what is read, with its lines, and what is refused.

use super::builder::{DEPTH, NODES};
use super::node::{ConfigNode, NodeValue, note_unread};
use super::toml::read_toml;
use super::yaml::read_yaml;
use crate::notes::ConversionNotes;

fn same(key: &str) -> String {
    key.to_owned()
}

/// A tree on one line, with the line numbers of its entries.
fn show(node: &ConfigNode) -> String {
    let key = if node.key().is_empty() {
        String::new()
    } else {
        format!("{}@{}=", node.key(), node.source.line())
    };
    let inner = |nodes: &[ConfigNode]| nodes.iter().map(show).collect::<Vec<_>>().join(" ");
    match node.value() {
        NodeValue::Null => format!("{key}null"),
        NodeValue::Scalar(scalar) => format!("{key}{}", scalar.text),
        NodeValue::List(items) => format!("{key}[{}]", inner(items)),
        NodeValue::Map(entries) => format!("{key}{{{}}}", inner(entries)),
    }
}

fn yaml(text: &str) -> String {
    let mut notes = ConversionNotes::new("x");
    let tree = read_yaml(text, same, &mut notes);
    assert_eq!(tree.is_none(), notes.is_unreadable() || text.is_empty(), "{text}");
    let shown = tree.as_ref().map(show);
    let finished = notes.finish().list;
    shown.unwrap_or_else(|| {
        finished.iter().map(|note| format!("{}: {}", note.line, note.reason)).collect()
    })
}

#[test]
fn yaml_and_json_are_read_with_their_lines() {
    for (text, tree) in [
        ("a: 1\nb:\n  - x\n  - c: d\n", "{a@1=1 b@2=[x {c@4=d}]}"),
        ("{\"a\": [1,\n {\"b\": null}]}", "{a@1=[1 {b@2=null}]}"),
        ("a: ~\nb: ''\nc:\n", "{a@1=null b@2= c@3=null}"),
        ("a: |\n  x\n  y\n", "{a@1=x\ny\n}"),
        ("a: &x {c: 1}\nb: *x\n", "{a@1={c@1=1} b@2={c@1=1}}"),
        ("a: &x {c: 1, d: 2}\nb:\n  <<: *x\n  d: 3\n", "{a@1={c@1=1 d@1=2} b@2={d@4=3 c@1=1}}"),
        ("a: !!str 1\n", "{a@1=1}"),
        ("", ""),
    ] {
        assert_eq!(yaml(text), tree, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    for (text, reason) in [
        ("a: 1\na: 2\n", "2: the key is here twice"),
        ("a: [1\n", "not YAML"),
        ("a: 1\n b: 2\n", "2: it is not YAML"),
        ("a: !env X\n", "1: only the tool"),
        ("a: &x [*x]\n", "1: an alias"),
        ("[a]: 1\n", "1: a list or a map stands"),
        ("a: 1\n<<: 5\n", "no map stands behind it"),
    ] {
        let notes = yaml(text);
        assert!(notes.contains(reason), "{text}: {notes}");
    }
    let deep = format!("{}{}", "[".repeat(DEPTH + 1), "]".repeat(DEPTH + 1));
    assert!(yaml(&deep).contains("blocks nest too deep"));
    assert!(yaml(&"- ".repeat(100_000)).contains("blocks nest too deep"));
}

/// Ten levels of ten copies each would be ten thousand million nodes.
#[test]
fn copies_of_copies_are_bounded() {
    let mut text = "a0: &a0 [x]\n".to_owned();
    for level in 1..=10 {
        let copies = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{copies}]\n"));
    }
    assert!(yaml(&text).contains(&NODES.to_string()));
}

#[test]
fn a_second_document_is_reported() {
    let mut notes = ConversionNotes::new("x");
    let tree = read_yaml("a: 1\n---\nb: 2\n", same, &mut notes).unwrap();
    assert_eq!(show(&tree), "{a@1=1}");
    assert_eq!(notes.finish().left_out, 1);
}

#[test]
fn toml_is_read_with_its_lines() {
    let mut notes = ConversionNotes::new("x");
    let text = "a = 1\n[b.c]\nd = ['x', { e = true }]\n[[f]]\ng = \"\"\"\nh\"\"\"\n[[f]]\ni.j = 1979-05-27\n";
    let tree = read_toml(text, same, &mut notes).unwrap();
    assert_eq!(
        show(&tree),
        "{a@1=1 b@2={c@2={d@3=[x {e@3=true}]}} f@4=[{g@5=h} {i@8={j@8=1979-05-27}}]}"
    );
    let mut notes = ConversionNotes::new("x");
    assert!(read_toml("a = 1\nb = \n", same, &mut notes).is_none());
    assert_eq!(notes.finish().list[0].line, 2);
}

#[test]
fn what_nobody_reads_is_reported_once() {
    let mut notes = ConversionNotes::new("x");
    let text = "a: 1\nb:\n  c: 2\n  d: {e: 3}\nf:\n  - g: 4\n    h: 5\n  - i: 6\nj: 7\nk: {l: 8}\n";
    let tree = read_yaml(text, same, &mut notes).unwrap();
    assert_eq!(tree.text_of("a"), Some("1"));
    notes.converted(tree.get("a").unwrap().source);
    assert_eq!(tree.get("b").unwrap().text_of("c"), Some("2"));
    notes.converted(tree.get("b").unwrap().get("c").unwrap().source);
    let items = tree.get("f").unwrap().items();
    assert_eq!(items[0].text_of("g"), Some("4"));
    notes.converted(items[0].get("g").unwrap().source);
    // The key alone is read.
    assert!(tree.get("j").is_some());
    let block = tree.get("k").unwrap();
    notes.not_needed(block.source.whole(), block.describe(), "a test");
    note_unread(&tree, &mut notes);
    assert_eq!(notes.close_account(&crate::document::Document::default()), 0);
    let left: Vec<String> = notes
        .finish()
        .list
        .iter()
        .filter(|note| note.kind == crate::note_kind::NoteKind::LeftOut)
        .map(|note| format!("{}: {}", note.line, note.directive))
        .collect();
    assert_eq!(left, ["4: d:", "7: h: 5", "8: - i: 6", "9: j: 7"]);
}
