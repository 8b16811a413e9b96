//! Common parts of the lab's commands: the folder of records, the network that is meant, and its file.

use std::path::{Path, PathBuf};

use lab::topology::file::parse_topology;
use lab::topology::plan::TopologyPlan;
use lab::topology::record::{DIR, TopologyRecord, TopologyRecordError, TopologyRecords};

use crate::outcome::CommandError;

/// Directory with records of networks.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordsDirArgs {
    /// Directory with records of networks.
    #[arg(long = "state-dir", value_name = "DIR", default_value = DIR, env = "STEELYARD_LAB")]
    pub records: PathBuf,
}

impl RecordsDirArgs {
    pub fn open_records(&self) -> TopologyRecords {
        TopologyRecords::new(&self.records)
    }
}

/// The network of a file, under its own or another name.
pub fn read_plan(file: &Path, name: Option<&str>) -> Result<TopologyPlan, CommandError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        CommandError::Unusable(format!("cannot read {}: {why}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut plan = parse_topology(&text, &stem).map_err(|error| {
        CommandError::Unusable(format!("{} is no network:\n{error}", file.display()))
    })?;
    if let Some(name) = name {
        plan.name = name.to_owned();
    }
    Ok(plan)
}

/// As the program ends with it.
pub fn record_failure(error: &TopologyRecordError) -> CommandError {
    CommandError::Unusable(error.to_string())
}

/// The network that is meant: of this name, or the only one.
pub fn find_record(
    records: &TopologyRecords,
    name: Option<&str>,
) -> Result<TopologyRecord, CommandError> {
    let mut all = records.all().map_err(|error| record_failure(&error))?;
    let names = all.iter().map(|record| record.name.clone()).collect::<Vec<_>>().join(", ");
    let at = match name {
        Some(name) => all.iter().position(|record| record.name == name).ok_or_else(|| {
            let there =
                if names.is_empty() { "none is up".to_owned() } else { format!("up are: {names}") };
            CommandError::Absent(format!("no network is called `{name}`; {there}"))
        })?,
        None if all.len() == 1 => 0,
        None if all.is_empty() => {
            return Err(CommandError::Absent("no network is up: steelyard lab up FILE".to_owned()));
        }
        None => {
            return Err(CommandError::Unusable(format!(
                "several networks are up, say which: {names}"
            )));
        }
    };
    Ok(all.swap_remove(at))
}
