//! How many questions of an object are under way on each worker.

use std::sync::Arc;

use model::stats::SharedGauge;

/// Gauges. More workers than that share them.
const PARTS: usize = 64;

#[derive(Clone, Debug)]
pub struct QuestionSlots {
    under_way: Arc<[SharedGauge]>,
    most: u32,
}

/// A place among the questions under way, given back when it is dropped.
#[derive(Debug)]
pub struct QuestionSlot {
    slots: QuestionSlots,
    worker: usize,
}

impl QuestionSlots {
    pub fn new(most: u32) -> QuestionSlots {
        QuestionSlots { under_way: (0..PARTS).map(|_| SharedGauge::default()).collect(), most }
    }

    /// A place; `None`: as many questions of the worker are under way as may be.
    pub fn take(&self, worker: usize) -> Option<QuestionSlot> {
        let gauge = self.gauge(worker)?;
        gauge.try_increment(self.most).then(|| QuestionSlot { slots: self.clone(), worker })
    }

    fn gauge(&self, worker: usize) -> Option<&SharedGauge> {
        self.under_way.get(worker % PARTS)
    }
}

impl Drop for QuestionSlot {
    fn drop(&mut self) {
        if let Some(gauge) = self.slots.gauge(self.worker) {
            gauge.decrement();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_its_places_and_gets_them_back() {
        let slots = QuestionSlots::new(2);
        let held = [slots.take(0), slots.take(0)];
        assert!(held.iter().all(Option::is_some) && slots.take(0).is_none());
        assert!(slots.take(1).is_some());
        drop(held);
        assert!(slots.take(0).is_some());
    }
}
