//! A stable sort that asks for the same comparisons as Caddy's: blocks of 20 are sorted by insertion and merged in place
//! (SymMerge of Kim and Kutzner, 2004).
//!
//! Caddy compares directives in a way that is no order, so that the result depends on the algorithm.

/// Items that are sorted by insertion before blocks are merged.
const BLOCK: usize = 20;

/// Sorts items. `before`: whether an item comes before another one.
pub fn sort_stable<T>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    items.chunks_mut(BLOCK).for_each(|block| sort_by_insertion(block, before));
    let mut width = BLOCK;
    while width < items.len() {
        for pair in items.chunks_mut(width * 2).filter(|pair| pair.len() > width) {
            merge(pair, width, before);
        }
        width *= 2;
    }
}

fn sort_by_insertion<T>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        for at in (1..=end).rev() {
            if !before(&items[at], &items[at - 1]) {
                break;
            }
            items.swap(at, at - 1);
        }
    }
}

/// The first position from `low` up to `high` at which `is_behind` does not hold any more.
fn search(low: usize, high: usize, is_behind: impl Fn(usize) -> bool) -> usize {
    let mut from = low;
    let mut to = high;
    while from < to {
        let half = from.midpoint(to);
        if is_behind(half) {
            from = half + 1;
        } else {
            to = half;
        }
    }
    from
}

/// Merges two sorted parts, of which the second one begins at `middle`.
fn merge<T>(items: &mut [T], middle: usize, before: &impl Fn(&T, &T) -> bool) {
    let length = items.len();
    if middle == 0 || middle == length {
        return;
    }
    if middle == 1 {
        let to = search(middle, length, |at| before(&items[at], &items[0]));
        return items[..to].rotate_left(1);
    }
    if length - middle == 1 {
        let to = search(0, middle, |at| !before(&items[middle], &items[at]));
        return items[to..].rotate_right(1);
    }
    let half = length / 2;
    let sum = half + middle;
    let low = sum.saturating_sub(length);
    let high = if middle > half { half } else { middle };
    let start = search(low, high, |at| !before(&items[sum - 1 - at], &items[at]));
    let end = sum - start;
    if start < middle && middle < end {
        items[start..end].rotate_left(middle - start);
    }
    merge_halves(items, half, start, end, before);
}

/// Merges what is left in the halves of two parts that have changed places from `start` to `end`.
fn merge_halves<T>(
    items: &mut [T],
    half: usize,
    start: usize,
    end: usize,
    before: &impl Fn(&T, &T) -> bool,
) {
    if 0 < start && start < half {
        merge(&mut items[..half], start, before);
    }
    if half < end && end < items.len() {
        merge(&mut items[half..], end - half, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number and where it stood.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct NumberedItem {
        number: usize,
        place: usize,
    }

    #[test]
    fn equal_items_stay_in_their_order() {
        for length in [0, 1, 2, 19, 20, 21, 40, 41, 59, 100, 333] {
            let item = |place: usize| NumberedItem { number: place * 7_919 % 13, place };
            let mut items: Vec<NumberedItem> = (0..length).map(item).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|one| one.number);
            sort_stable(&mut items, &|one, other| one.number < other.number);
            assert_eq!(items, expected, "{length}");
        }
    }
}
