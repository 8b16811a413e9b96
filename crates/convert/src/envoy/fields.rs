//! What becomes of the fields of Envoy's messages that no entry is written for.

use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;

use super::field_group::FieldGroup;
use super::reader::note_changed;
use super::{cluster_fields, listener_fields, route_fields};

fn all_groups() -> impl Iterator<Item = &'static FieldGroup> {
    [listener_fields::GROUPS, route_fields::GROUPS, cluster_fields::GROUPS].into_iter().flatten()
}

/// Settles the fields of a message that nobody has read, as its table says. Fields that the table does not have stay
/// unread, and are reported at the end.
pub fn settle_rest(message: &str, node: &ConfigNode, notes: &mut ConversionNotes) {
    for field in node.unread_entries() {
        let has =
            |group: &&FieldGroup| group.message == message && group.fields.contains(&field.key());
        let Some(group) = all_groups().find(has) else { continue };
        let source = field.source.whole();
        field.mark_read();
        match group.kind {
            NoteKind::NotNeeded => notes.not_needed(source, field.describe(), group.reason),
            NoteKind::Changed => note_changed(field, group.reason, group.instead, notes),
            NoteKind::LeftOut | NoteKind::Converted => {
                notes.left_out(source, field.describe(), group.reason, group.instead);
            }
        }
    }
}
