//! Suggests the known word that an unknown one probably means. It never changes the text.

/// Other products' words for our keys.
const ALIASES: [(&str, &str); 23] = [
    ("algorithm", "balance"),
    ("backend", "pool"),
    ("backends", "servers"),
    ("backlog-size", "backlog"),
    ("bind", "listen"),
    ("check", "probe"),
    ("cookie", "sticky"),
    ("frontend", "service"),
    ("grace", "drain"),
    ("health", "probe"),
    ("health-check", "probe"),
    ("healthcheck", "probe"),
    ("host", "address"),
    ("keepalive", "keep-alive"),
    ("lb", "balance"),
    ("max-connections", "connections"),
    ("maxconn", "connections"),
    ("method", "balance"),
    ("mode", "forward"),
    ("nbthread", "workers"),
    ("path", "http"),
    ("threads", "workers"),
    ("upstream", "pool"),
];

/// Limit for compared candidates, so that a large file with many mistakes is checked quickly.
const MAX_COMPARISONS: usize = 10_000;

/// The known word nearest to `word`, if it is similar enough.
pub fn nearest_match<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Longer than every key. The cost of a comparison grows with the square of the length.
    let word: String = word.chars().take(64).collect::<String>().to_lowercase().replace('_', "-");
    let alias = ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, ours)| *ours);
    let length = word.chars().count();
    let allowed = (length / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known.into_iter().take(MAX_COMPARISONS) {
        if alias == Some(candidate) {
            return Some(candidate);
        }
        if candidate.len().abs_diff(length) > allowed {
            continue;
        }
        let distance = strsim::osa_distance(&word, candidate);
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_and_foreign_words_are_understood() {
        let keys = ["listen", "forward", "pool", "timeout", "first-byte", "workers"];
        assert_eq!(nearest_match("lisen", keys), Some("listen"));
        assert_eq!(nearest_match("first_byte", keys), Some("first-byte"));
        assert_eq!(nearest_match("FirstByte", keys), Some("first-byte"));
        assert_eq!(nearest_match("bind", keys), Some("listen"));
        assert_eq!(nearest_match("threads", keys), Some("workers"));
        assert_eq!(nearest_match("threads", ["listen"]), None);
        assert_eq!(nearest_match("entirely-else", keys), None);
        assert_eq!(nearest_match("", keys), None);
    }
}
