//! How a pool stands by its requests when servers fail or are full, as configured: further attempts and their budget, when a
//! server is put out for what it answers, and circuit breakers, and who waits and who is shed. It decides nothing: `retry`, `eject`, `breaker`, `line` and `shed` do.

use std::time::Duration;

use serde::Serialize;

/// HTTP statuses: inclusive ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StatusRanges(pub Vec<(u16, u16)>);

impl StatusRanges {
    /// Whether it is one of them.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

/// What may be under way at a time in a pool, over all workers, before more is refused; `None`: any number, the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CircuitBreakerLimits {
    /// Open connections to its servers, idle ones included.
    pub connections: Option<u32>,
    /// Requests that wait for a server below its cap.
    pub pending: Option<u32>,
    /// Requests that servers have.
    pub requests: Option<u32>,
    /// Requests whose further attempt is under way.
    pub retries: Option<u32>,
}

/// When what waits for a server is shed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LoadSheddingConfig {
    /// The longest wait of the queue that is still good; default 50 ms.
    pub target: Duration,
    /// It stands above that for so long before anything is shed; default 500 ms.
    pub interval: Duration,
}

/// When a second server is asked for what a first one has not begun to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HedgingConfig {
    /// After how long.
    pub after: HedgeDelay,
    /// Not sooner than this, whatever the percentile is; default 5 ms.
    pub at_least: Duration,
}

/// How long a first server may be silent before a second one is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HedgeDelay {
    /// So long.
    Time(Duration),
    /// As long as so many percent of the pool's answers took lately at most; default 95.
    Percentile(u8),
}

/// Which class of priority requests of a service have in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RequestPriority {
    /// That of requests of which nothing else says one; default 5.
    pub class: u8,
    /// The field of a request that says it, in lower case; `None`: none does.
    pub header: Option<String>,
}

/// Failures after which another attempt is made only where that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RetryConditions {
    /// A server took the request, or a part of it, and went silent.
    pub on_timeout: bool,
    /// An answer broke the rules of HTTP.
    pub on_malformed: bool,
}

/// What further attempts may cost, and which answers ask for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RetryConfig {
    /// Further attempts, percent of the requests of the window; `None`: no budget. Default 20.
    pub budget: Option<u8>,
    /// Further attempts a second that are allowed besides; default 10.
    pub at_least: u32,
    /// What is looked back on; default 10 s.
    pub window: Duration,
    /// Before the second further attempt a random time up to this, before each later one up to twice as much as before
    /// the last; default 25 ms.
    pub back_off: Duration,
    /// The longest of these times; default 250 ms.
    pub back_off_most: Duration,
    /// Answers that are not passed on while another attempt may be made; default none.
    pub on: StatusRanges,
    /// Failures after which another attempt is made as well; default none.
    #[serde(flatten)]
    pub wishes: RetryConditions,
}

impl Default for RetryConfig {
    fn default() -> Self {
        RetryConfig {
            budget: Some(20),
            at_least: 10,
            window: Duration::from_secs(10),
            back_off: Duration::from_millis(25),
            back_off_most: Duration::from_millis(250),
            on: StatusRanges::default(),
            wishes: RetryConditions::default(),
        }
    }
}

/// When a server is put out for what it answers, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutlierDetectionConfig {
    /// Failures in a row; default 5.
    pub failures: u32,
    /// Failures of the interval, percent of its answers and failures; default 50.
    pub rate: u8,
    /// Answers cut in the middle, percent likewise; default 5, and at least three of them.
    pub cut_rate: u8,
    /// Answers and failures below which the interval's `rate` proves nothing; default 10.
    pub volume: u32,
    /// What is looked back on; default 1 s.
    pub interval: Duration,
    /// The first time out; each further one doubles. Default 5 s.
    pub time: Duration,
    /// The longest time out; default 5 min.
    pub most: Duration,
    /// Servers that may be out, percent of the pool, those that are down counted; default 50.
    pub share: u8,
    /// Answers that count as failures; default 502–504.
    pub on: StatusRanges,
}

impl Default for OutlierDetectionConfig {
    fn default() -> Self {
        OutlierDetectionConfig {
            failures: 5,
            rate: 50,
            cut_rate: 5,
            volume: 10,
            interval: Duration::from_secs(1),
            time: Duration::from_secs(5),
            most: Duration::from_secs(300),
            share: 50,
            on: StatusRanges(vec![(502, 504)]),
        }
    }
}
