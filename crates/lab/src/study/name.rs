//! Which studies there are, what each asks, and who carries it out.

use super::parameter::{Parameters, Spec};
use super::report::Report;
use super::stage::{Stage, StudyError};
use super::{farm, four_nics, nat_capacity, two_balancers, two_links};

/// A study.
#[derive(Clone, Copy)]
pub struct Study {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub asks: &'static str,
    /// Its parameters.
    pub specs: &'static [Spec],
    /// Carries it out.
    pub run: fn(&Stage<'_>, &Parameters) -> Result<Report, StudyError>,
}

/// All of them, in the order in which they were made.
pub const STUDIES: &[Study] = &[
    Study {
        name: "nat-capacity",
        asks: nat_capacity::ASKS,
        specs: nat_capacity::SPECS,
        run: nat_capacity::run,
    },
    Study {
        name: "two-balancers",
        asks: two_balancers::ASKS,
        specs: two_balancers::SPECS,
        run: two_balancers::run,
    },
    Study {
        name: "two-links",
        asks: two_links::ASKS,
        specs: two_links::SPECS,
        run: two_links::run,
    },
    Study { name: "farm", asks: farm::ASKS, specs: farm::SPECS, run: farm::run },
    Study {
        name: "four-nics",
        asks: four_nics::ASKS,
        specs: four_nics::SPECS,
        run: four_nics::run,
    },
];

/// One by its name.
pub fn find(name: &str) -> Option<&'static Study> {
    STUDIES.iter().find(|study| study.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parameters_have_names_of_their_own_and_values_of_their_kind() {
        for study in STUDIES {
            assert!(find(study.name).is_some());
            let names: BTreeSet<&str> = study.specs.iter().map(|spec| spec.name).collect();
            assert_eq!(names.len(), study.specs.len(), "{}", study.name);
            for spec in study.specs {
                for value in [spec.full, spec.quick, spec.source].iter().filter(|v| !v.is_empty()) {
                    let mut parameters = Parameters::new(study.specs, true);
                    let setting = format!("{}={value}", spec.name);
                    assert_eq!(parameters.set(&setting), Ok(()), "{}", study.name);
                }
            }
        }
    }
}
