//! The report of the agent, in its three forms. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::sample::LoadMetric;

/// The load of this machine, as shares; absent: not known yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct MachineLoad {
    /// The one value: the highest of those that count; absent while none is known.
    pub load: Option<f64>,
    /// Processor time in use.
    pub cpu: Option<f64>,
    /// Memory that is not available.
    pub memory: Option<f64>,
    /// Runnable tasks for each processor, 1 at most.
    pub run_queue: Option<f64>,
    /// Results of scripts; `None`: failed or not ended yet.
    pub scripts: BTreeMap<String, Option<f64>>,
}

impl MachineLoad {
    /// Settles the one value.
    pub fn combine_load(&mut self, counted: &[LoadMetric]) {
        let of = |metric: &LoadMetric| match metric {
            LoadMetric::Cpu => self.cpu,
            LoadMetric::Memory => self.memory,
            LoadMetric::RunQueue => self.run_queue,
        };
        let all = counted.iter().map(of).chain(self.scripts.values().copied());
        self.load = all.flatten().reduce(f64::max);
    }

    /// The line of HAProxy's agent-check protocol: the free share; `up` alone while nothing is known.
    pub fn agent_check_line(&self) -> String {
        match self.load {
            // At least 1 %: 0 % would take the last server out.
            Some(load) => format!("{:.0}% up\n", ((1.0 - load) * 100.0).max(1.0)),
            None => "up\n".to_owned(),
        }
    }

    /// An ORCA report as JSON.
    pub fn orca_report(&self) -> String {
        let fields = [
            ("cpu_utilization", self.cpu),
            ("mem_utilization", self.memory),
            ("application_utilization", self.load),
        ];
        let fields: Vec<String> = fields
            .into_iter()
            .filter_map(|(name, value)| Some(format!("\"{name}\": {:.4}", value?)))
            .collect();
        format!("{{{}}}\n", fields.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_counted_load_is_reported_and_parsed_again() {
        let mut table = MachineLoad { cpu: Some(0.3), memory: Some(0.9), ..MachineLoad::default() };
        table.combine_load(&[]);
        assert_eq!((table.load, table.agent_check_line().as_str()), (None, "up\n"));
        table.combine_load(&[LoadMetric::Cpu, LoadMetric::RunQueue]);
        assert_eq!((table.load, table.agent_check_line().as_str()), (Some(0.3), "70% up\n"));
        table.scripts.insert("queue".into(), Some(1.0));
        table.scripts.insert("broken".into(), None);
        table.combine_load(&[LoadMetric::Cpu]);
        assert_eq!((table.load, table.agent_check_line().as_str()), (Some(1.0), "1% up\n"));
        let orca = model::load_report::orca::parse(table.orca_report().as_bytes()).unwrap();
        assert_eq!(orca.utilization(), Some(1.0));
    }
}
