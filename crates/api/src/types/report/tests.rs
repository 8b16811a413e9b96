//! Sums that do not come out, and what is said of them.

use super::remainder;

/// Reports of another product whose parts do not come to the whole: the rest is told, not hidden.
#[test]
fn remainders_are_reported() {
    assert_eq!(remainder(4_849_112, &[1_632_417, 2, 47_856, 23]), 3_168_814);
    assert_eq!(remainder(100_000, &[5_000, 95_000]), 0);
    assert_eq!((remainder(201, &[191]), remainder(90_226_373, &[89_407_725])), (10, 818_648));
}
