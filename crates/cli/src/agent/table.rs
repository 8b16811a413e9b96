//! What is told, in its three forms. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::sample::Metric;

/// What is known of this machine's load, as shares; absent: not known yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Table {
    /// The one value: the highest of those that count; absent while none is known.
    pub load: Option<f64>,
    /// Processor time in use.
    pub cpu: Option<f64>,
    /// Memory that is not available.
    pub memory: Option<f64>,
    /// Tasks that want to run, for each processor, 1 at most.
    pub run_queue: Option<f64>,
    /// What scripts said; none: it failed or has not ended yet.
    pub scripts: BTreeMap<String, Option<f64>>,
}

impl Table {
    /// Settles the one value.
    pub fn settle(&mut self, counted: &[Metric]) {
        let of = |metric: &Metric| match metric {
            Metric::Cpu => self.cpu,
            Metric::Memory => self.memory,
            Metric::RunQueue => self.run_queue,
        };
        let all = counted.iter().map(of).chain(self.scripts.values().copied());
        self.load = all.flatten().reduce(f64::max);
    }

    /// The line of HAProxy's agent-check protocol: what can still be taken; `up` alone while nothing is known.
    pub fn line(&self) -> String {
        match self.load {
            // At least 1 %: 0 % would take the last server out.
            Some(load) => format!("{:.0}% up\n", ((1.0 - load) * 100.0).max(1.0)),
            None => "up\n".to_owned(),
        }
    }

    /// An ORCA report as JSON.
    pub fn orca(&self) -> String {
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
    fn the_highest_that_counts_is_told_and_understood_again() {
        let mut table = Table { cpu: Some(0.3), memory: Some(0.9), ..Table::default() };
        table.settle(&[]);
        assert_eq!((table.load, table.line().as_str()), (None, "up\n"));
        table.settle(&[Metric::Cpu, Metric::RunQueue]);
        assert_eq!((table.load, table.line().as_str()), (Some(0.3), "70% up\n"));
        table.scripts.insert("queue".into(), Some(1.0));
        table.scripts.insert("broken".into(), None);
        table.settle(&[Metric::Cpu]);
        assert_eq!((table.load, table.line().as_str()), (Some(1.0), "1% up\n"));
        let orca = model::load::orca::parse(table.orca().as_bytes()).unwrap();
        assert_eq!(orca.utilization(), Some(1.0));
    }
}
