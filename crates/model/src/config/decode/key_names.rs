//! Names of keys that a table does not have: those of before, which still count, and unknown ones.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::finding::FindingDetails;
use super::super::key_lookup::FoundKey;
use super::super::schema::{TableSchema, ValueKind};
use super::super::source_text::SourceSpan;
use super::{ConfigDecoder, truncate_for_message};

impl ConfigDecoder<'_, '_, '_> {
    /// The key that had this name before, with a warning; `node`: the table. Both names at once are a mistake.
    pub(super) fn find_renamed_key(
        &mut self,
        table: &'static TableSchema,
        node: &DeTable<'_>,
        name: &Spanned<std::borrow::Cow<'_, str>>,
    ) -> Option<FoundKey> {
        let found = table.find_former(name.get_ref())?;
        let now = found.key.name;
        let place = self.place(name.span());
        let former = truncate_for_message(name.get_ref());
        if node.contains_key(now) {
            let message = format!("`{former}` is an earlier name of `{now}`, which is here too");
            self.report_error(place, FindingDetails::new(message));
        } else {
            let message = format!("`{former}` is called `{now}` now");
            let renamed = FindingDetails::new(message)
                .with_expected(format!("`{now}`: the next minor version does not read `{former}`"));
            self.sink.warning(place, &self.path.text, renamed);
        }
        Some(found)
    }

    /// Warns of words of a closed list that have another name now.
    pub(super) fn warn_of_former_words(&mut self, kind: &ValueKind, node: &Spanned<DeValue<'_>>) {
        let (ValueKind::Keyword(words) | ValueKind::KeywordList(words)) = kind else { return };
        let written: Vec<&Spanned<DeValue<'_>>> = match node.get_ref() {
            DeValue::Array(list) => list.iter().collect(),
            _ => vec![node],
        };
        for node in written {
            let Some(text) = node.get_ref().as_str() else { continue };
            let Some(word) = words.iter().find(|word| word.former_names.contains(&text)) else {
                continue;
            };
            let now = word.name;
            let renamed = FindingDetails::new(format!("`{text}` is called `{now}` now"))
                .with_expected(format!("`{now}`: the next minor version does not read `{text}`"));
            self.sink.warning(self.place(node.span()), &self.path.text, renamed);
        }
    }

    pub(super) fn report_unknown_key(
        &mut self,
        table: &'static TableSchema,
        name: &str,
        place: SourceSpan,
    ) {
        let listed = table
            .keys
            .iter()
            .filter(|key| !matches!(key.kind, ValueKind::Refused(_)))
            .map(|key| key.name);
        let near = if self.sink.wants_suggestions() { table.nearest_key(name) } else { None };
        let trouble = FindingDetails::new(format!(
            "`{}` is not a key of {}",
            truncate_for_message(name),
            table.description
        ))
        .with_found(truncate_for_message(name))
        .with_expected(format!("one of {}", listed.collect::<Vec<_>>().join(", ")))
        .with_suggestion(near.map(str::to_owned));
        self.report_error(place, trouble);
    }
}
