//! A list that grows by a chunk at a time: elements never move, and at most one chunk of memory is unused.

/// Elements of a chunk: bounds the unused memory of a list to this many elements.
const CHUNK: usize = 128;

#[derive(Debug)]
pub(super) struct ChunkedVec<T>(Vec<Vec<T>>);

impl<T> Default for ChunkedVec<T> {
    fn default() -> Self {
        ChunkedVec(Vec::new())
    }
}

impl<T> ChunkedVec<T> {
    pub(super) fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    pub(super) fn push(&mut self, element: T) {
        match self.0.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(element),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(element);
                self.0.push(chunk);
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&T> {
        self.0.get(at as usize / CHUNK)?.get(at as usize % CHUNK)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.0.get_mut(at as usize / CHUNK)?.get_mut(at as usize % CHUNK)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_order_and_place() {
        let mut chunks = ChunkedVec::default();
        for at in 0..(3 * CHUNK as u32 + 5) {
            assert_eq!(chunks.len(), at as usize);
            chunks.push(at);
        }
        let first = chunks.get(0).map(std::ptr::from_ref);
        chunks.push(0);
        assert_eq!(chunks.get(0).map(std::ptr::from_ref), first);
        assert!(chunks.iter().take(3 * CHUNK + 5).copied().eq(0..(3 * CHUNK as u32 + 5)));
        *chunks.get_mut(CHUNK as u32).unwrap() = 7;
        assert_eq!((chunks.get(CHUNK as u32), chunks.get(3 * CHUNK as u32 + 6)), (Some(&7), None));
    }
}
