//! Lines of labels and arguments: `name=value` with its place.

use crate::shorten::shorten;
use crate::source::SourcePlace;

use super::option_tree::OptionNode;

/// A label or an argument: its name, its value and its place.
pub struct LabelLine {
    pub name: String,
    pub value: String,
    pub source: SourcePlace,
    pub text: String,
}

/// Splits `name=value`.
pub fn label_line(text: &str, source: SourcePlace, shown: &str) -> LabelLine {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let name = name.trim().to_owned();
    LabelLine { name, value: value.to_owned(), source, text: shorten(shown) }
}

/// The label lines of a container, in both forms of a Compose file, and those of its deployment.
pub fn label_lines(service: &OptionNode) -> Vec<LabelLine> {
    let mut out = Vec::new();
    let deployed = service.find(&["deploy", "labels"]);
    for labels in service.get("labels").into_iter().chain(deployed) {
        out.extend(
            labels
                .items()
                .iter()
                .filter_map(|item| Some(label_line(item.as_text()?, item.source, &item.text))),
        );
        out.extend(labels.entries().iter().map(|entry| LabelLine {
            name: entry.key.clone(),
            value: entry.as_text().unwrap_or_default().to_owned(),
            source: entry.source,
            text: entry.text.clone(),
        }));
    }
    out
}
