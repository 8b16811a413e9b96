//! Unique names in kebab-case.

use std::collections::HashMap;

/// The most characters of a name. Short names keep the lines of reports readable; the configuration itself accepts 255
/// characters.
const LONGEST: usize = 48;

/// The names in use.
#[derive(Debug, Default)]
pub struct UniqueNames {
    taken: HashMap<String, u32>,
}

impl UniqueNames {
    /// A name for `text` that is not in use yet.
    pub fn unique_name(&mut self, text: &str) -> String {
        let base = kebab(text);
        let mut name = base.clone();
        while self.taken.contains_key(&name) {
            let count = self.taken.entry(base.clone()).or_insert(1);
            *count += 1;
            name = format!("{base}-{count}");
        }
        self.taken.insert(name.clone(), 1);
        name
    }
}

/// Converts a text to kebab case: lower-case letters, digits, and single `-` between them.
pub fn kebab(text: &str) -> String {
    let words: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' })
        .collect();
    let name = words.split_whitespace().collect::<Vec<_>>().join("-");
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kebab_and_unique() {
        let mut names = UniqueNames::default();
        for (text, name) in [
            ("Web_01", "web-01"),
            ("web.01", "web-01-2"),
            ("web-01-2", "web-01-2-2"),
            ("WEB 01", "web-01-3"),
            ("--", "unnamed"),
            ("ä", "unnamed-2"),
        ] {
            assert_eq!(names.unique_name(text), name, "{text}");
        }
    }
}
