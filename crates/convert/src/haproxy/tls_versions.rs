//! The versions of TLS that a listener speaks, from the words of `bind` and of `ssl-default-bind-options`.

use crate::notes::ConversionNotes;

use super::lex::{ConfigLine, KeywordReader};

/// The versions from the oldest to the newest, as words and as values name them.
const VERSIONS: [TlsVersionNames; 5] = [
    TlsVersionNames { word: "sslv3", value: "SSLv3" },
    TlsVersionNames { word: "tlsv10", value: "TLSv1.0" },
    TlsVersionNames { word: "tlsv11", value: "TLSv1.1" },
    TlsVersionNames { word: "tlsv12", value: "TLSv1.2" },
    TlsVersionNames { word: "tlsv13", value: "TLSv1.3" },
];
/// TLS 1.2, the oldest version that is spoken here.
const OLDEST: usize = 3;
const NEWEST: usize = 4;

struct TlsVersionNames {
    word: &'static str,
    value: &'static str,
}

/// What words say of the versions, by their place in `VERSIONS`.
#[derive(Clone, Debug, Default)]
pub struct TlsVersionWords {
    oldest: Option<usize>,
    newest: Option<usize>,
    refused: [bool; 5],
}

impl TlsVersionWords {
    /// Takes a word of a line with its value. Returns false for words about something else.
    pub fn read(&mut self, word: &str, words: &mut KeywordReader<'_>) -> bool {
        let by_word = |name: &str| VERSIONS.iter().position(|one| one.word == name);
        let by_value = |value: &str| VERSIONS.iter().position(|one| one.value == value);
        if let Some(version) = word.strip_prefix("force-").and_then(by_word) {
            self.oldest = Some(version);
            self.newest = Some(version);
        } else if let Some(version) = word.strip_prefix("no-").and_then(by_word) {
            self.refused[version] = true;
        } else if word == "ssl-min-ver" {
            // Nothing is spoken where the version has no such name.
            self.oldest = Some(by_value(words.value()).unwrap_or(VERSIONS.len()));
        } else if word == "ssl-max-ver" {
            self.newest = Some(by_value(words.value()).unwrap_or_default());
        } else {
            return false;
        }
        true
    }

    /// Reads `ssl-default-bind-options`.
    pub fn read_default(&mut self, line: &ConfigLine, notes: &mut ConversionNotes) {
        notes.converted(line.source.range(0, 1));
        let mut words = line.keywords(1);
        while let Some(word) = words.keyword() {
            if self.read(word, &mut words) {
                words.mark_converted();
                continue;
            }
            let text = line.text();
            let reason = format!("`{word}` of listeners has no effect here");
            match word {
                "no-tls-tickets" => {
                    notes.changed(words.source(), &text, "tickets are given", "");
                }
                "prefer-client-ciphers" => notes.changed(words.source(), &text, &reason, ""),
                _ => notes.left_out(words.source(), &text, &reason, "the words of `bind`"),
            }
        }
    }

    /// The oldest version of a listener, where it is not the usual one. The outer `None`: it speaks no version that is
    /// spoken here, and is not opened. `tls`: it speaks TLS. `default`: what the listener does not say.
    #[allow(clippy::option_option, reason = "a listener without a version is not opened")]
    pub fn minimum(
        &self,
        tls: bool,
        default: &TlsVersionWords,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> Option<Option<&'static str>> {
        if !tls {
            if self.oldest.is_some() || self.newest.is_some() || self.refused.contains(&true) {
                let reason = "a listener without `ssl` speaks no TLS";
                notes.not_needed(line.source, &line.text(), reason);
            }
            return Some(None);
        }
        let newest = self.newest.or(default.newest).unwrap_or(NEWEST);
        let oldest = self.oldest.or(default.oldest).unwrap_or(OLDEST.min(newest));
        let is_spoken = |version: usize| {
            let is_refused = self.refused[version] || default.refused[version];
            (oldest..=newest).contains(&version) && !is_refused
        };
        match (is_spoken(OLDEST), is_spoken(NEWEST)) {
            (true, true) => Some((self.oldest == Some(OLDEST)).then_some("1.2")),
            (false, true) => Some(Some("1.3")),
            (true, false) => {
                let reason = "the newest version of TLS is not limited: 1.3 is spoken, too";
                notes.changed(line.source, &line.text(), reason, "`tls.minimum`");
                Some((self.oldest == Some(OLDEST)).then_some("1.2"))
            }
            (false, false) => {
                let reason = "it speaks only versions of TLS that are never spoken here";
                notes.left_out(line.source, &line.text(), reason, "`tls.minimum`");
                None
            }
        }
    }
}
