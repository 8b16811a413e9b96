//! Searches a text in bytes that arrive in pieces. It buffers fewer bytes than the text has.

use std::sync::Arc;

#[derive(Debug)]
pub struct TextSearch {
    text: Arc<[u8]>,
    /// The last bytes received, fewer than the text has.
    tail: Vec<u8>,
    found: bool,
}

impl TextSearch {
    pub fn new(text: &Arc<[u8]>) -> TextSearch {
        TextSearch { text: text.clone(), tail: Vec::new(), found: text.is_empty() }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        if self.found || bytes.is_empty() {
            return;
        }
        let keep = self.text.len() - 1;
        let bridge = bytes.len().min(keep);
        self.tail.extend_from_slice(&bytes[..bridge]);
        self.found = contains_text(&self.tail, &self.text) || contains_text(bytes, &self.text);
        if bytes.len() >= keep {
            self.tail.clear();
            self.tail.extend_from_slice(&bytes[bytes.len() - keep..]);
        } else {
            let surplus = self.tail.len().saturating_sub(keep);
            self.tail.drain(..surplus);
        }
    }

    /// Whether the received bytes contain the text.
    pub fn is_found(&self) -> bool {
        self.found
    }
}

fn contains_text(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The text is found exactly when the bytes contain it, however they are split.
        #[test]
        fn cuts_do_not_matter(
            bytes in prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 0..40),
            text in prop::collection::vec(prop::sample::select(vec![b'a', b'b']), 1..6),
            piece in 1usize..7,
        ) {
            let mut find = TextSearch::new(&Arc::from(text.as_slice()));
            bytes.chunks(piece).for_each(|piece| find.feed(piece));
            prop_assert_eq!(find.is_found(), contains_text(&bytes, &text));
        }
    }

    #[test]
    fn an_empty_text_is_everywhere() {
        assert!(TextSearch::new(&Arc::from(&b""[..])).is_found());
    }
}
