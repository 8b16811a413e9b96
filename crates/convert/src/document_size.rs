//! How large a document gets, and the limits that end a conversion early. Checking a text takes the configuration's parser up
//! to twenty times its bytes, so what is too large for it is not written first.

/// The most bytes of a document.
pub const WRITTEN_MAX: usize = 3 * 1_024 * 1_024;
/// The most items of a list. The parser takes about 3 KiB for a server.
pub const ITEMS: usize = 25_000;
/// The most bytes of a value on one line.
const VALUE_BYTES: usize = 896 * 1_024;
/// The most services and the most expressions that the configuration's parser accepts in one file.
const SERVICES: usize = 10_000;
const EXPRESSIONS: usize = 1_000;

/// The size of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSize {
    /// The least number of bytes that it takes when it is written.
    pub bytes: usize,
    /// The items of its longest list.
    pub items: usize,
    /// The bytes of its longest value.
    pub value_bytes: usize,
    /// The keys with expressions in its condition.
    pub expressions: usize,
}

/// The size of a document so far.
#[derive(Debug, Default)]
pub struct DocumentSize {
    bytes: usize,
    services: usize,
    expressions: usize,
    /// Why it takes no more tables.
    refusal: Option<String>,
}

impl DocumentSize {
    /// Adds a table with this path. Returns whether the document has room for it.
    pub fn add(&mut self, path: &str, table: TableSize) -> bool {
        self.bytes += table.bytes;
        self.services += usize::from(is_service(path));
        self.expressions += table.expressions;
        let too_many =
            |what: &str, most: usize| Some(format!("it would have more than {most} {what}"));
        let refusal = if table.items > ITEMS {
            Some(format!("`{path}` would have more than {ITEMS} entries in a list"))
        } else if table.value_bytes > VALUE_BYTES {
            Some(format!("`{path}` would have a value of more than {VALUE_BYTES} bytes"))
        } else if self.services > SERVICES {
            too_many("services", SERVICES)
        } else if self.expressions > EXPRESSIONS {
            too_many("expressions in its rules", EXPRESSIONS)
        } else if self.bytes > WRITTEN_MAX {
            Some(format!("what would be written of it has more than {WRITTEN_MAX} bytes"))
        } else {
            None
        };
        self.refusal = self.refusal.take().or(refusal);
        self.refusal.is_none()
    }

    /// Takes no further table for this reason, unless there is one already.
    pub fn refuse(&mut self, reason: String) {
        self.refusal.get_or_insert(reason);
    }

    /// Whether no further table is taken.
    pub fn is_full(&self) -> bool {
        self.refusal.is_some()
    }

    /// Why no further table is taken.
    pub fn refusal(&self) -> Option<String> {
        self.refusal.clone()
    }
}

fn is_service(path: &str) -> bool {
    path.strip_prefix("service.").is_some_and(|name| !name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_limit_that_is_passed_is_the_reason() {
        let mut size = DocumentSize::default();
        assert!(size.add("pool.a", TableSize { items: ITEMS, ..TableSize::default() }));
        assert!(!size.add("pool.b", TableSize { items: ITEMS + 1, ..TableSize::default() }));
        let table = TableSize { bytes: WRITTEN_MAX + 1, ..TableSize::default() };
        assert!(!size.add("pool.c", table));
        assert!(size.refusal().is_some_and(|reason| reason.contains("`pool.b`")));
        let mut size = DocumentSize::default();
        assert!((0..SERVICES).all(|_| size.add("service.a", TableSize::default())));
        assert!(size.add("service.a.timeout", TableSize::default()));
        assert!(!size.add("service.b", TableSize::default()));
    }
}
