//! The fields of a head or of trailers, in their order: what the header compression of HTTP/2 and HTTP/3 decodes and
//! encodes. Names and values are not interpreted.

/// The size of a field in addition to its text (RFC 9113 §6.5.2, RFC 9114 §4.2.2).
pub(crate) const PER_FIELD: usize = 32;

/// Names and values in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSection {
    pub(crate) text: Vec<u8>,
    ends: Vec<FieldEnds>,
}

/// The end offsets of a name and of its value in a section's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldEnds {
    name: u32,
    value: u32,
}

impl FieldSection {
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.ends.iter().scan(0, |begin, ends| {
            let name = &self.text[*begin..ends.name as usize];
            let value = &self.text[ends.name as usize..ends.value as usize];
            *begin = ends.value as usize;
            Some((name, value))
        })
    }

    /// The value of the first field with this name.
    pub fn get(&self, wanted: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }

    /// Adds a field; `name` is in lower case.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let name = self.text.len();
        self.text.extend_from_slice(value);
        self.end_field(name);
    }

    /// Adds a field and writes its name in lower case.
    pub fn push_lowercase(&mut self, name: &[u8], value: &[u8]) {
        let begin = self.text.len();
        self.push(name, value);
        self.text[begin..begin + name.len()].make_ascii_lowercase();
    }

    /// Completes a field whose text was appended and whose name ends at this offset.
    pub(crate) fn end_field(&mut self, name: usize) {
        // Sections are limited far below 4 GiB.
        self.ends.push(FieldEnds { name: name as u32, value: self.text.len() as u32 });
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Removes all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// The memory that the section holds, in bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<FieldEnds>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order_and_are_found_by_name() {
        let mut fields = FieldSection::default();
        assert!(fields.is_empty() && fields.get(b"a").is_none());
        fields.push(b"a", b"1");
        fields.push_lowercase(b"X-Own", b"Two");
        fields.push(b"a", b"");
        let pairs: Vec<_> = fields.iter().collect();
        assert_eq!(pairs, [(&b"a"[..], &b"1"[..]), (b"x-own", b"Two"), (b"a", b"")]);
        assert_eq!((fields.len(), fields.get(b"a")), (3, Some(&b"1"[..])));
        fields.clear();
        assert!(fields.is_empty() && fields.capacity() > 0);
    }
}
