//! The dynamic table of HPACK (RFC 7541 §2.3.2): entries in the order of their insertion, evicted from the oldest on.

use std::collections::VecDeque;

use crate::field_section::PER_FIELD;

/// Text of evicted entries that may remain in the buffer before it is moved.
const DEAD_TEXT: usize = 4_096;

#[derive(Debug)]
pub(super) struct DynamicTable {
    /// The text of all entries, after the text of evicted ones.
    text: Vec<u8>,
    /// From the oldest to the newest.
    entries: VecDeque<TableEntry>,
    size: usize,
    max_size: usize,
}

/// The place of an entry's text.
#[derive(Clone, Copy, Debug)]
struct TableEntry {
    begin: usize,
    name: usize,
    value: usize,
}

/// A field of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableField<'t> {
    pub(super) name: &'t [u8],
    pub(super) value: &'t [u8],
}

impl DynamicTable {
    pub(super) fn new(max_size: usize) -> DynamicTable {
        DynamicTable { text: Vec::new(), entries: VecDeque::new(), size: 0, max_size }
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn max_size(&self) -> usize {
        self.max_size
    }

    /// The field `age` insertions ago; 0 is the newest.
    pub(super) fn get(&self, age: usize) -> Option<TableField<'_>> {
        let entry = self.entries.get(self.entries.len().checked_sub(age + 1)?)?;
        let name = self.text.get(entry.begin..entry.begin + entry.name)?;
        let value = self.text.get(entry.begin + entry.name..)?.get(..entry.value)?;
        Some(TableField { name, value })
    }

    /// Inserts a field. One that is larger than the table only empties it (RFC 7541 §4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + PER_FIELD;
        self.evict(self.max_size.saturating_sub(size));
        if size > self.max_size {
            return;
        }
        let begin = self.text.len();
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.entries.push_back(TableEntry { begin, name: name.len(), value: value.len() });
        self.size += size;
    }

    pub(super) fn set_max_size(&mut self, max_size: usize) {
        self.max_size = max_size;
        self.evict(max_size);
    }

    /// Removes the oldest entries until the size is at most `most`.
    fn evict(&mut self, most: usize) {
        while self.size > most
            && let Some(oldest) = self.entries.pop_front()
        {
            self.size -= oldest.name + oldest.value + PER_FIELD;
        }
        let Some(oldest) = self.entries.front() else { return self.text.clear() };
        let dead = oldest.begin;
        if dead > DEAD_TEXT {
            self.text.drain(..dead);
            self.entries.iter_mut().for_each(|entry| entry.begin -= dead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_leave_and_the_others_keep_their_text() {
        let mut table = DynamicTable::new(3 * (PER_FIELD + 10));
        for number in 0..2_000u32 {
            table.insert(b"name", format!("{number:06}").as_bytes());
            let newest = table.len().min(3);
            assert_eq!(table.len(), newest);
            for age in 0..table.len() {
                let value = format!("{:06}", number - age as u32);
                let wanted = TableField { name: b"name", value: value.as_bytes() };
                assert_eq!(table.get(age), Some(wanted));
            }
            assert_eq!(table.get(table.len()), None);
        }
        table.set_max_size(PER_FIELD + 10);
        assert_eq!(table.len(), 1);
        table.insert(b"name", b"too large for it");
        assert_eq!((table.len(), table.size), (0, 0));
    }
}
