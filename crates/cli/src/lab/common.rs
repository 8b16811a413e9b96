//! What orders about networks have in common: where records lie, which network is meant, and its file.

use std::path::{Path, PathBuf};

use lab::topology::file::read;
use lab::topology::plan::Plan;
use lab::topology::record::{DIR, Record, RecordError, Records};

use crate::end::Failure;

/// Where records of networks lie.
#[derive(Clone, Debug, clap::Args)]
pub struct Kept {
    /// Where records of networks lie.
    #[arg(long, value_name = "DIR", default_value = DIR, env = "STEELYARD_LAB")]
    pub records: PathBuf,
}

impl Kept {
    /// Those there.
    pub fn records(&self) -> Records {
        Records::new(&self.records)
    }
}

/// The network of a file, under its own or another name.
pub fn plan(file: &Path, name: Option<&str>) -> Result<Plan, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Failure::Unusable(format!("cannot read {}: {why}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut plan = read(&text, &stem).map_err(|error| {
        Failure::Unusable(format!("{} is no network:\n{error}", file.display()))
    })?;
    if let Some(name) = name {
        plan.name = name.to_owned();
    }
    Ok(plan)
}

/// As the program ends with it.
pub fn known(error: &RecordError) -> Failure {
    Failure::Unusable(error.to_string())
}

/// The network that is meant: of this name, or the only one.
pub fn meant(records: &Records, name: Option<&str>) -> Result<Record, Failure> {
    let mut all = records.all().map_err(|error| known(&error))?;
    let names = all.iter().map(|record| record.name.clone()).collect::<Vec<_>>().join(", ");
    let at = match name {
        Some(name) => all.iter().position(|record| record.name == name).ok_or_else(|| {
            let there =
                if names.is_empty() { "none is up".to_owned() } else { format!("up are: {names}") };
            Failure::Absent(format!("no network is called `{name}`; {there}"))
        })?,
        None if all.len() == 1 => 0,
        None if all.is_empty() => {
            return Err(Failure::Absent("no network is up: steelyard lab up FILE".to_owned()));
        }
        None => {
            return Err(Failure::Unusable(format!("several networks are up, say which: {names}")));
        }
    };
    Ok(all.swap_remove(at))
}
