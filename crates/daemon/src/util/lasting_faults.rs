//! Faults that last: whoever finds one says so, and whoever finds it mended ends it. `status` shows them as alarms.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::wall_clock::unix_ms;

/// The faults that there are. What they are about comes from the configuration, so their number is bounded.
#[derive(Debug, Default)]
pub struct LastingFaults {
    faults: Mutex<BTreeMap<FaultKey, FaultState>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FaultKey {
    name: &'static str,
    subject: String,
}

#[derive(Clone, Debug)]
struct FaultState {
    reason: String,
    since_unix_ms: u64,
}

/// A fault that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastingFault {
    /// Its kind, the alarm's name.
    pub name: &'static str,
    /// What it is about: `hook page`.
    pub subject: String,
    /// What is wrong, in a sentence.
    pub reason: String,
    pub since_unix_ms: u64,
}

impl LastingFaults {
    /// A fault was found. The time of one that there was already stays.
    pub fn begin(&self, name: &'static str, subject: impl Into<String>, reason: impl Into<String>) {
        let key = FaultKey { name, subject: subject.into() };
        let reason = reason.into();
        let now = unix_ms(SystemTime::now());
        let mut faults = self.lock();
        let since_unix_ms = faults.get(&key).map_or(now, |before| before.since_unix_ms);
        faults.insert(key, FaultState { reason, since_unix_ms });
    }

    /// It is over.
    pub fn end(&self, name: &'static str, subject: &str) {
        self.retain(name, |of| of != subject);
    }

    /// Those of this kind are over whose subject is not to be kept.
    pub fn retain(&self, name: &'static str, keep: impl Fn(&str) -> bool) {
        self.lock().retain(|key, _| key.name != name || keep(&key.subject));
    }

    pub fn list(&self) -> Vec<LastingFault> {
        let faults = self.lock();
        let fault = |(key, state): (&FaultKey, &FaultState)| LastingFault {
            name: key.name,
            subject: key.subject.clone(),
            reason: state.reason.clone(),
            since_unix_ms: state.since_unix_ms,
        };
        faults.iter().map(fault).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<FaultKey, FaultState>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subjects(faults: &LastingFaults) -> Vec<String> {
        faults.list().into_iter().map(|fault| format!("{} {}", fault.name, fault.subject)).collect()
    }

    #[test]
    fn a_fault_stays_since_its_beginning_until_it_is_over() {
        let faults = LastingFaults::default();
        faults.begin("hook", "hook page", "exit code 1");
        let first = faults.list().remove(0);
        faults.begin("hook", "hook page", "exit code 2");
        let second = faults.list().remove(0);
        assert_eq!(second.reason, "exit code 2");
        assert_eq!(second.since_unix_ms, first.since_unix_ms);
        faults.begin("hook", "hook mail", "killed");
        faults.begin("telemetry", "hook page", "of another kind");
        faults.end("hook", "hook page");
        assert_eq!(subjects(&faults), ["hook hook mail", "telemetry hook page"]);
        faults.retain("hook", |_| false);
        assert_eq!(subjects(&faults), ["telemetry hook page"]);
    }
}
