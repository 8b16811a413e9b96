//! Limits that all proxies have: of heads, by `tune.bufsize`, `tune.maxrewrite` and `tune.http.maxhdr`, and of the queue
//! for servers. They are written also where nothing says them.

use crate::document::{Document, TomlTable};
use crate::size;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;

/// HAProxy's own sizes of a buffer, and of the room in it for what rules add.
const BUFFER: u64 = 16_384;
const RESERVE: u64 = 1_024;
/// The bounds of `limit.header-bytes`.
const SHORTEST: u64 = 1_024;
const LONGEST: u64 = 61_440;
/// The bounds of `limit.header-count`.
const MOST_FIELDS: u64 = 256;

/// The most of `limit.queue`: HAProxy's queues have no limit.
const LONGEST_QUEUE: u64 = 1_000_000;

/// What the section `global` says of heads.
#[derive(Clone, Debug, Default)]
pub struct InheritedLimits {
    buffer: Option<u64>,
    reserve: Option<u64>,
    fields: Option<u64>,
    sources: Vec<SourcePlace>,
}

impl InheritedLimits {
    /// Whether the line is one of them and has a number.
    pub fn read(&mut self, line: &ConfigLine) -> bool {
        let number = size::parse_size(line.word(1)).filter(|number| *number > 0);
        let place = match line.word(0) {
            "tune.bufsize" => &mut self.buffer,
            "tune.maxrewrite" => &mut self.reserve,
            "tune.http.maxhdr" => &mut self.fields,
            _ => return false,
        };
        if number.is_none() || line.len() > 2 {
            return false;
        }
        *place = number;
        self.sources.push(line.source);
        true
    }

    /// Writes the table of the process before all others, with the limits if there are any. `http`: some of them read
    /// heads.
    pub fn write(&self, http: bool, mut globals: TomlTable, document: &mut Document) {
        if !document.tables.is_empty() {
            let mut pairs = if http { self.head_pairs() } else { Vec::new() };
            pairs.push(KeyValue::new("queue", LONGEST_QUEUE.to_string()));
            globals.set("limit", value::table(&pairs), SourcePlace::NONE);
            globals.add_sources("limit", &self.sources);
        }
        if !globals.entries.is_empty() {
            document.tables.insert(0, globals);
        }
    }

    fn head_pairs(&self) -> Vec<KeyValue> {
        let buffer = self.buffer.unwrap_or(BUFFER);
        // HAProxy keeps at most half of a buffer free.
        let reserve = self.reserve.unwrap_or(RESERVE).min(buffer / 2);
        let bytes = (buffer - reserve).clamp(SHORTEST, LONGEST);
        let mut pairs = vec![
            KeyValue::new("header-bytes", size::format_size(bytes)),
            KeyValue::new("target-bytes", size::format_size(bytes)),
        ];
        // The first line is counted with the fields.
        let fields = self.fields.map(|fields| (fields - 1).clamp(1, MOST_FIELDS));
        pairs.extend(fields.map(|fields| KeyValue::new("header-count", fields.to_string())));
        pairs
    }
}
