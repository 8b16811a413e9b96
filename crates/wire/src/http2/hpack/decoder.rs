//! Decodes header blocks (RFC 7541 §6), within a limit of the decoded size.

use super::dynamic_table::{DynamicTable, TableField};
use super::hpack_error::HpackError;
use super::integer::BlockCursor;
use super::static_table::ENTRIES;
use crate::field_section::{FieldSection, PER_FIELD};

/// Whether the decoded fields are within the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedSize {
    Allowed,
    /// The section has only the first of the fields. The table is up to date nevertheless.
    TooLarge,
}

/// The decoder of one connection's blocks.
#[derive(Debug)]
pub struct HpackDecoder {
    table: DynamicTable,
    /// The announced limit of the table's size.
    announced_size: usize,
}

/// What is done with a field after it was decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldIndexing {
    Insert,
    None,
}

impl HpackDecoder {
    /// A decoder whose peer was told `table_size` (SETTINGS_HEADER_TABLE_SIZE).
    pub fn new(table_size: usize) -> HpackDecoder {
        HpackDecoder { table: DynamicTable::new(table_size), announced_size: table_size }
    }

    /// Appends a block's fields, up to a size of `most` bytes. Each field counts 32 bytes more than its text.
    ///
    /// # Errors
    /// The block is invalid.
    pub fn decode(
        &mut self,
        block: &[u8],
        most: usize,
        fields: &mut FieldSection,
    ) -> Result<DecodedSize, HpackError> {
        let mut cursor = BlockCursor { rest: block };
        let mut size = 0usize;
        let mut started = false;
        while let Some(&first) = cursor.rest.first() {
            if first & 0xe0 == 0x20 {
                let table_size = cursor.integer(5)?;
                if started || table_size > self.announced_size {
                    return Err(HpackError::SizeUpdate);
                }
                self.table.set_max_size(table_size);
                continue;
            }
            started = true;
            let begin = fields.text.len();
            let name = if size > most && first & 0x80 != 0 {
                // Not copied: a block of indices above the limit costs no more than its own bytes.
                self.field(cursor.integer(7)?)?;
                continue;
            } else {
                self.field_text(&mut cursor, first, fields)?
            };
            size = size.saturating_add(fields.text.len() - begin + PER_FIELD);
            if size > most {
                fields.text.truncate(begin);
            } else {
                fields.end_field(name);
            }
        }
        Ok(if size > most { DecodedSize::TooLarge } else { DecodedSize::Allowed })
    }

    /// Appends the text of one field, and enters the field into the table; returns where its name ends.
    fn field_text(
        &mut self,
        cursor: &mut BlockCursor<'_>,
        first: u8,
        fields: &mut FieldSection,
    ) -> Result<usize, HpackError> {
        if first & 0x80 != 0 {
            let field = self.field(cursor.integer(7)?)?;
            fields.text.extend_from_slice(field.name);
            let name = fields.text.len();
            fields.text.extend_from_slice(field.value);
            return Ok(name);
        }
        let indexing = if first & 0x40 != 0 { FieldIndexing::Insert } else { FieldIndexing::None };
        let bits = if indexing == FieldIndexing::Insert { 6 } else { 4 };
        let begin = fields.text.len();
        match cursor.integer(bits)? {
            0 => cursor.string(&mut fields.text)?,
            index => fields.text.extend_from_slice(self.field(index)?.name),
        }
        let name = fields.text.len();
        cursor.string(&mut fields.text)?;
        if indexing == FieldIndexing::Insert {
            self.table.insert(&fields.text[begin..name], &fields.text[name..]);
        }
        Ok(name)
    }

    /// The field with this index in both tables (RFC 7541 §2.3.3).
    fn field(&self, index: usize) -> Result<TableField<'_>, HpackError> {
        let at = index.checked_sub(1).ok_or(HpackError::UnknownIndex)?;
        let fixed = ENTRIES.get(at);
        let fixed = fixed.map(|own| TableField { name: own.0.as_bytes(), value: own.1.as_bytes() });
        fixed.or_else(|| self.table.get(at - ENTRIES.len())).ok_or(HpackError::UnknownIndex)
    }
}
