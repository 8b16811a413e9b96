//! The result of a shadow run: rows of equal differences, and what became of them.
//!
//! Pure; the command line renders it.

use serde::Serialize;

/// What became of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceVerdict {
    /// Nothing explains it: a fault of the conversion, or of the table of accepted differences.
    Unexplained,
    /// A note of the conversion explains it.
    Explained,
    /// It is in the reviewed table.
    Accepted,
}

/// Equal differences of one service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DifferenceRow {
    pub verdict: DifferenceVerdict,
    /// The first request that showed it.
    pub request: String,
    /// How many requests showed it.
    pub count: u64,
    pub what: String,
    pub theirs: String,
    pub ours: String,
    /// Why it is accepted, or the directive that explains it.
    pub reason: String,
    /// The line of the explaining note; 0: none.
    pub line: u32,
}

/// The result of a shadow run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ShadowReport {
    /// The original's program.
    pub original: String,
    pub requests: u64,
    /// Requests without any difference.
    pub equal: u64,
    pub rows: Vec<DifferenceRow>,
    /// Parts that were not compared, with the reason.
    pub skipped: Vec<String>,
    /// The run was ended before all requests were sent.
    pub interrupted: bool,
}

impl ShadowReport {
    /// Adds a difference to the row of its equals.
    pub fn add(&mut self, row: DifferenceRow) {
        let accepted = row.verdict == DifferenceVerdict::Accepted;
        let same = |known: &&mut DifferenceRow| {
            let values = known.theirs == row.theirs && known.ours == row.ours;
            known.verdict == row.verdict
                && known.what == row.what
                && known.reason == row.reason
                && known.line == row.line
                // What is accepted for one reason is one row, whatever the values are.
                && (accepted || values)
        };
        match self.rows.iter_mut().find(same) {
            Some(known) => known.count += row.count,
            None => self.rows.push(row),
        }
    }

    /// Rows with this verdict.
    pub fn of(&self, verdict: DifferenceVerdict) -> impl Iterator<Item = &DifferenceRow> {
        self.rows.iter().filter(move |row| row.verdict == verdict)
    }

    pub fn has(&self, verdict: DifferenceVerdict) -> bool {
        self.of(verdict).next().is_some()
    }

    /// Puts the worst rows first.
    pub fn sort(&mut self) {
        self.rows.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(b.count.cmp(&a.count)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_differences_are_one_row_and_the_worst_come_first() {
        let row = |verdict, what: &str| DifferenceRow {
            verdict,
            request: "GET /".into(),
            count: 1,
            what: what.into(),
            theirs: "a".into(),
            ours: "b".into(),
            reason: String::new(),
            line: 0,
        };
        let mut report = ShadowReport::default();
        report.add(row(DifferenceVerdict::Accepted, "status"));
        report.add(row(DifferenceVerdict::Accepted, "status"));
        report.add(row(DifferenceVerdict::Unexplained, "pool"));
        report.sort();
        let rows: Vec<u64> = report.rows.iter().map(|row| row.count).collect();
        assert_eq!(rows, [1, 2]);
        assert!(
            report.has(DifferenceVerdict::Unexplained) && !report.has(DifferenceVerdict::Explained)
        );
    }
}
