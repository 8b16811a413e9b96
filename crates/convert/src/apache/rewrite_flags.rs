//! The flags of `RewriteRule` and of its conditions, such as `[NC,R=301]`.

/// The flags of a rule or a condition.
pub struct RewriteFlags {
    list: Vec<String>,
}

impl RewriteFlags {
    pub fn read(word: &str) -> RewriteFlags {
        let inner = word.trim_start_matches('[').trim_end_matches(']');
        let list =
            inner.split(',').map(|flag| flag.trim().to_owned()).filter(|flag| !flag.is_empty());
        RewriteFlags { list: list.collect() }
    }

    pub fn has(&self, names: &[&str]) -> bool {
        self.get(names).is_some()
    }

    /// The value of a flag; empty if it has none.
    pub fn get(&self, names: &[&str]) -> Option<&str> {
        self.list.iter().find_map(|flag| {
            let pair = flag.split_once('=').unwrap_or((flag, ""));
            names.iter().any(|name| pair.0.eq_ignore_ascii_case(name)).then_some(pair.1)
        })
    }
}
