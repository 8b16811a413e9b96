//! The exam: the first cause of every planted case.

use crate::capture::{analyse, first_cause};
use crate::cases::{ROWS, all_cases};

// Rows: D09
#[test]
fn each_planted_cause_is_found_first() {
    let cases = all_cases();
    assert!(cases.len() >= 200 && cases.len() == ROWS.len() * 24, "{} cases", cases.len());
    let wrong = cases.iter().filter_map(|case| {
        let report = analyse(&case.packets);
        let found = first_cause(&report);
        let is_right = case.causes.contains(&found.as_str());
        (!is_right).then(|| format!("{}: {found}, not {:?}", case.name, case.causes))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), cases.len());
}
