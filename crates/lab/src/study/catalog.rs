//! The studies, their questions, and their functions.

use super::context::{StudyContext, StudyError};
use super::parameter::{ParameterSpec, Parameters};
use super::report::StudyReport;
use super::{farm, four_nics, nat_capacity, two_balancers, two_links};

#[derive(Clone, Copy)]
pub struct Study {
    pub name: &'static str,
    pub question: &'static str,
    pub specs: &'static [ParameterSpec],
    pub run: fn(&StudyContext<'_>, &Parameters) -> Result<StudyReport, StudyError>,
}

/// In the order in which they were added.
pub const STUDIES: &[Study] = &[
    Study {
        name: "nat-capacity",
        question: nat_capacity::QUESTION,
        specs: nat_capacity::SPECS,
        run: nat_capacity::run,
    },
    Study {
        name: "two-balancers",
        question: two_balancers::QUESTION,
        specs: two_balancers::SPECS,
        run: two_balancers::run,
    },
    Study {
        name: "two-links",
        question: two_links::QUESTION,
        specs: two_links::SPECS,
        run: two_links::run,
    },
    Study { name: "farm", question: farm::QUESTION, specs: farm::SPECS, run: farm::run },
    Study {
        name: "four-nics",
        question: four_nics::QUESTION,
        specs: four_nics::SPECS,
        run: four_nics::run,
    },
];

pub fn find_study(name: &str) -> Option<&'static Study> {
    STUDIES.iter().find(|study| study.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn parameters_have_names_of_their_own_and_values_of_their_kind() {
        for study in STUDIES {
            assert!(find_study(study.name).is_some());
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
