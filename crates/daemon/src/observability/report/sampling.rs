//! When the next sample is taken: a step after the last one, and not while nothing changes.

use std::time::Duration;

use super::error_window::ErrorWindow;
use super::sample::SampleHistory;
use crate::util::activity::ActivityFollower;

/// Waits for the time of the next sample. While workers are quiet and the last sample has seen everything, it comes
/// only when they work again, and rates begin then.
pub async fn wait_next(
    follower: &mut ActivityFollower,
    samples: &SampleHistory,
    errors: &ErrorWindow,
    step: Duration,
) {
    // A raised share ends with time: it needs samples until the window has passed.
    if follower.is_settled() && errors.summary().is_empty {
        follower.wait_active().await;
        samples.renew(tokio::time::Instant::now().into_std());
        if let Some(last) = samples.last() {
            errors.begin_at(&last);
        }
    }
    follower.pause(step).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use crate::observability::report::fixture;
    use crate::observability::report::sample::{CounterSample, STEP};
    use crate::state::StateSnapshot;
    use crate::util::activity::ActivityMonitor;

    /// Longer than any window.
    const SLEEP: Duration = Duration::from_secs(600);

    /// What a sampler works with.
    struct SamplerStage {
        state: StateSnapshot,
        monitor: Arc<ActivityMonitor>,
        follower: ActivityFollower,
        samples: SampleHistory,
        errors: ErrorWindow,
    }

    impl SamplerStage {
        /// Ten requests end with errors of the server.
        fn fail(&self) {
            let service = &self.state.snapshot.services.values().next().unwrap().stats.slots[0];
            service.counters.answered.add(10);
            service.counters.complete_5xx.add(10);
            self.monitor.record();
        }

        fn is_raised(&self) -> bool {
            let service = self.state.snapshot.services.values().next().unwrap();
            self.errors.summary().service(service.id).raised.is_some()
        }

        /// Takes samples until none comes for long. Returns at which samples a share was raised.
        async fn sample_until_asleep(&mut self) -> Vec<bool> {
            let mut raised = Vec::new();
            loop {
                let at = tokio::time::Instant::now().into_std();
                let sample = Arc::new(CounterSample::read(&self.state.snapshot, 0, at, None));
                self.errors.update(&sample, SystemTime::now());
                self.samples.push(sample);
                raised.push(self.is_raised());
                assert!(raised.len() < 100, "samples do not end");
                let next = wait_next(&mut self.follower, &self.samples, &self.errors, STEP);
                if tokio::time::timeout(SLEEP, next).await.is_err() {
                    return raised;
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_raised_share_ends_before_samples_sleep_and_rates_begin_when_they_resume() {
        let monitor = ActivityMonitor::new();
        let task = tokio::spawn(Arc::clone(&monitor).run());
        let mut stage = SamplerStage {
            state: fixture::state_snapshot(fixture::SHOP, 1),
            follower: monitor.follow(),
            monitor,
            samples: SampleHistory::default(),
            errors: ErrorWindow::default(),
        };
        assert!(stage.sample_until_asleep().await.iter().all(|raised| !raised));
        for _ in 0..3 {
            stage.monitor.record();
            wait_next(&mut stage.follower, &stage.samples, &stage.errors, STEP).await;
            stage.fail();
            let raised = stage.sample_until_asleep().await;
            assert_eq!((raised.first(), raised.last()), (Some(&true), Some(&false)), "{raised:?}");
            assert!(stage.errors.summary().is_empty);
        }
        stage.monitor.record();
        wait_next(&mut stage.follower, &stage.samples, &stage.errors, STEP).await;
        let at = tokio::time::Instant::now().into_std();
        let sample = CounterSample::read(&stage.state.snapshot, 0, at, None);
        stage.errors.update(&sample, SystemTime::now());
        assert!(stage.errors.summary().interval <= 2 * STEP, "{:?}", stage.errors.summary());
        assert!(sample.at.duration_since(stage.samples.last().unwrap().at) <= 2 * STEP);
        task.abort();
    }
}
