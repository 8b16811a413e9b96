//! The target of paths with several possible readings.
//!
//! Properties besides not panicking: a plain path has one reading, the normal form is its own normal form, and the
//! number of readings is bounded.

use model::path::{
    MAX_READINGS, PathReadings, comparison_form, escapes_prefix, is_plain, normal_form,
    possible_readings, usual_form,
};

/// The path of a request.
pub fn read(bytes: &[u8]) {
    let normal = normal_form(bytes);
    assert_eq!(normal_form(&normal), normal, "the normal form changes when it is made again");
    let read = possible_readings(bytes);
    if is_plain(bytes) {
        assert_eq!(read, PathReadings::One, "a plain path");
        assert!(!escapes_prefix(bytes), "a plain path leaves its place");
    }
    if let PathReadings::Several(all) = read {
        assert!((2..=MAX_READINGS + 1).contains(&all.len()), "{} readings", all.len());
        assert_eq!(all[0], usual_form(bytes));
    }
    let _ = comparison_form(bytes);
}

/// Tokens of paths.
pub const WORDS: &[&[u8]] = &[
    b"/", b"//", b"/..", b"/../", b"/./", b"%2f", b"%2F", b"%252f", b"%5c", b"\\", b";", b";a=b",
    b"%2e", b"%", b"%00", b"%25", b"/a", b"%3b", b"\xff",
];

/// Paths of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let paths: [&[u8]; 6] =
        [b"/a/b", b"/a/%2e%2e/b", b"//h/..;x/%252f", b"/a\\..\\b;c=d/e", b"*", b"/%41%zz%"];
    paths.map(<[u8]>::to_vec).to_vec()
}
