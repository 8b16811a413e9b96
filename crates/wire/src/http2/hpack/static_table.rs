//! The static table of HPACK (RFC 7541 Appendix A), and the hash by which names are found.

/// Names and values by index; the first has index 1.
pub(super) static ENTRIES: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// A field that a table has, or at least its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableMatch {
    pub(super) index: usize,
    /// The entry has the field's value too.
    pub(super) has_value: bool,
}

/// Slots of the hash table: a power of two, so full that few names share one.
const SLOTS: usize = 256;

/// The index of the first entry with each name, by hash; 0: none.
static NAMES: [u8; SLOTS] = names();

const fn names() -> [u8; SLOTS] {
    let mut slots = [0; SLOTS];
    let mut at = 0;
    while at < ENTRIES.len() {
        let name = ENTRIES[at].0.as_bytes();
        let repeated = at > 0 && same(ENTRIES[at - 1].0.as_bytes(), name);
        if !repeated {
            let mut slot = hash_name(name) as usize % SLOTS;
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            slots[slot] = at as u8 + 1;
        }
        at += 1;
    }
    slots
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The hash of a name (FNV-1a with its upper bits mixed in, since slots are taken from the lower ones).
pub(super) const fn hash_name(name: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5u32;
    let mut at = 0;
    while at < name.len() {
        hash = (hash ^ name[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash ^ hash >> 15
}

/// Finds a field, or at least its name.
pub(super) fn find(name: &[u8], hash: u32, value: &[u8]) -> Option<TableMatch> {
    let mut slot = hash as usize % SLOTS;
    // A quarter of the slots is used, so an empty one always follows.
    let first = loop {
        let index = usize::from(NAMES[slot]);
        if ENTRIES.get(index.checked_sub(1)?)?.0.as_bytes() == name {
            break index;
        }
        slot = (slot + 1) % SLOTS;
    };
    let mut named = ENTRIES[first - 1..].iter().take_while(|entry| entry.0.as_bytes() == name);
    let at = named.position(|entry| entry.1.as_bytes() == value);
    Some(TableMatch { index: first + at.unwrap_or_default(), has_value: at.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found() {
        for (at, (name, value)) in ENTRIES.iter().enumerate() {
            let hash = hash_name(name.as_bytes());
            let found = find(name.as_bytes(), hash, value.as_bytes());
            assert_eq!(found, Some(TableMatch { index: at + 1, has_value: true }), "{name}");
            let other = find(name.as_bytes(), hash, b"\0").unwrap();
            let first = ENTRIES.iter().position(|(own, _)| own == name).unwrap();
            assert_eq!(other, TableMatch { index: first + 1, has_value: false });
        }
        for name in ["", "x-own", ":protocol", "accep"] {
            assert_eq!(find(name.as_bytes(), hash_name(name.as_bytes()), b""), None);
        }
    }
}
