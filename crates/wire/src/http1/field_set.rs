//! A set of field positions in a head, 256 bits wide.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet([u64; 4]);

impl FieldSet {
    /// Adds `at`. Positions from 256 on are ignored; no head has that many fields.
    #[inline]
    pub(crate) fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at >> 6) {
            *word |= 1 << (at & 63);
        }
    }

    pub(crate) fn contains(&self, at: usize) -> bool {
        self.0.get(at >> 6).is_some_and(|word| word >> (at & 63) & 1 == 1)
    }

    /// The positions in ascending order.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        // The common case is an empty set, which is iterated several times for each head.
        let none = self.0.iter().fold(0, |all, word| all | word) == 0;
        let words = if none { &[][..] } else { &self.0[..] };
        words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    at * 64 + bit
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_in_order() {
        let mut marks = FieldSet::default();
        let positions = [0, 1, 63, 64, 130, 255];
        for at in positions {
            marks.insert(at);
        }
        marks.insert(256);
        assert!(marks.contains(64) && !marks.contains(65) && !marks.contains(256));
        assert_eq!(marks.iter().collect::<Vec<_>>(), positions);
    }
}
