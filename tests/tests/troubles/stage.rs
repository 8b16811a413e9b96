//! One daemon with two servers and a trickle of requests, on which a row plants its trouble.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use api::types::{AlarmSeverity, Status};
use lab::load::LoadRun;
use lab::origin::{OriginFault, TestOrigin};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::load;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

/// A trouble.
pub struct TroubleRow {
    pub name: &'static str,
    /// Settings that it needs. `DIR` in texts is the test's directory.
    pub setup: fn(BalancerConfig) -> BalancerConfig,
    /// Files that have to be there before the start.
    pub prepare: fn(&TroubleStage),
    pub plant: fn(&TroubleStage),
    /// What is shown of it.
    pub shows: &'static str,
    pub heal: fn(&TroubleStage),
}

/// A row without settings and files of its own.
pub const PLAIN: TroubleRow = TroubleRow {
    name: "",
    setup: |setup| setup,
    prepare: |_| {},
    plant: |_| {},
    shows: "",
    heal: |_| {},
};

pub struct TroubleStage {
    pub place: CliEnvironment,
    pub origins: [TestOrigin; 2],
    process: RefCell<Option<ChildProcess>>,
    loads: RefCell<Vec<LoadRun>>,
}

impl TroubleStage {
    fn new(row: &TroubleRow) -> TroubleStage {
        let origins = [origin("a"), origin("b")];
        let setup = (row.setup)(BalancerConfig::http(&addresses(&origins)));
        let place = CliEnvironment::new(&setup);
        let stage =
            TroubleStage { place, origins, process: RefCell::default(), loads: RefCell::default() };
        (row.prepare)(&stage);
        stage.process.replace(Some(stage.place.start()));
        stage.send("/", Duration::from_millis(10));
        stage
    }

    /// Requests for `target` from now on, one after another with a pause in between.
    pub fn send(&self, target: &str, pause: Duration) {
        let front = self.place.setup().fronts()[0];
        let plan = load::paced(load::get_plan(front, target, 1), pause, u64::MAX);
        self.loads.borrow_mut().push(load::start(plan));
    }

    /// Ends all requests but the first trickle.
    pub fn stop_extra_requests(&self) {
        end_all(self.loads.borrow_mut().drain(1..).collect());
    }

    pub fn set_fault(&self, servers: &[usize], fault: Option<OriginFault>) {
        servers.iter().for_each(|server| self.origins[*server].set_fault(fault).unwrap());
    }

    pub fn verb(&self, arguments: &[&str]) {
        self.place.run_verb_ok(arguments);
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        self.process.borrow().as_ref().unwrap().signal(signal);
    }
}

impl Drop for TroubleStage {
    fn drop(&mut self) {
        end_all(self.loads.take());
    }
}

/// Stops all before it waits for the requests in flight of each.
fn end_all(loads: Vec<LoadRun>) {
    loads.iter().for_each(|load| load.stopper().stop());
    for load in loads {
        load.wait();
    }
}

/// Plants the trouble of a row and ends it.
///
/// # Errors
/// What was not shown, or was shown although it should not be.
pub fn prove(row: &TroubleRow) -> Result<(), String> {
    let proof = AssertUnwindSafe(|| {
        let stage = TroubleStage::new(row);
        let place = &stage.place;
        expect(place, "nothing is wrong at first", |seen| troubles(seen).is_empty())?;
        (row.plant)(&stage);
        let shown = |text: &str| text.contains(row.shows);
        expect(place, &format!("the API shows '{}'", row.shows), |seen| shown(&troubles(seen)))?;
        for verb in [&["status"][..], &["top", "--once", "--interval", "100ms"]] {
            if !wait::reached(|| shown(&place.run_verb(verb).stdout.replace('\n', " "))) {
                return Err(format!("{verb:?} does not show '{}'", row.shows));
            }
        }
        (row.heal)(&stage);
        expect(place, "nothing is wrong any more", |seen| troubles(seen).is_empty())?;
        let after = place.run_verb(&["status"]).stdout;
        if shown(&after) { Err(format!("status still shows it: {after}")) } else { Ok(()) }
    });
    catch_unwind(proof).unwrap_or_else(|_| Err("it panicked; see above".to_owned()))
}

fn expect(
    place: &CliEnvironment,
    what: &str,
    holds: impl Fn(&Status) -> bool,
) -> Result<(), String> {
    if wait::reached(|| holds(&place.status())) || wait::reached(|| holds(&place.status())) {
        return Ok(());
    }
    Err(format!("not so: {what}; there is: {}", troubles(&place.status())))
}

/// Alarms and warnings, a line each. What an operator ordered is no trouble.
fn troubles(status: &Status) -> String {
    let alarms = status.alarms.iter().filter(|alarm| alarm.severity != AlarmSeverity::Notice);
    let alarms = alarms.map(|alarm| format!("{}: {}", alarm.subject, alarm.reason));
    let all: Vec<String> = alarms.chain(status.warnings.iter().cloned()).collect();
    all.join("\n").replace('\n', " ")
}
