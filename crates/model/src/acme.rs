//! When an ordered certificate is renewed: at once if there is none, otherwise at two thirds of its lifetime or when
//! its authority suggests. After failures the waits grow. Pure: time and random numbers are passed in.
//!
//! Times are seconds since 1970, so that a machine that slept or whose clock was set follows the new time. The daemon
//! orders the certificates.

/// The longest wait after failures, in seconds: bounds how soon a certificate is ordered once its authority works
/// again.
/// Six hours are short against the weeks that a certificate is still good at its renewal.
const LONGEST: u64 = 6 * 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateValidity {
    pub from: u64,
    pub to: u64,
}

/// The renewal window that an authority suggests (RFC 9773 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewalWindow {
    pub from: u64,
    pub to: u64,
}

/// When one certificate was ordered, and when the next order may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenewalSchedule {
    retry: u64,
    validity: Option<CertificateValidity>,
    window: Option<RenewalWindow>,
    ordered_at: Option<u64>,
    failures: u32,
    not_before: u64,
    draw: u16,
}

impl RenewalSchedule {
    /// `life`: the present certificate, if any; `retry`: from a first failure to the next attempt; `draw`: a random
    /// number.
    pub fn new(retry: u64, life: Option<CertificateValidity>, draw: u16) -> RenewalSchedule {
        RenewalSchedule {
            retry,
            validity: life,
            window: None,
            ordered_at: None,
            failures: 0,
            not_before: 0,
            draw,
        }
    }

    /// Stores the renewal window that the authority suggests; `None`: it suggests none.
    pub fn set_suggested_window(&mut self, window: Option<RenewalWindow>) {
        self.window = window.filter(|window| window.from <= window.to);
    }

    /// A certificate was ordered and issued.
    pub fn record_success(&mut self, now: u64, life: CertificateValidity, draw: u16) {
        *self = RenewalSchedule {
            ordered_at: Some(now),
            ..RenewalSchedule::new(self.retry, Some(life), draw)
        };
    }

    /// An order failed; `wait`: the authority accepts no other order before this time.
    pub fn record_failure(&mut self, now: u64, wait: Option<u64>, draw: u16) {
        // The shift stays within the integer; `LONGEST` caps the wait long before.
        let doubled = self.retry.saturating_mul(1 << self.failures.min(31));
        let span = doubled.min(LONGEST.max(self.retry));
        self.failures = self.failures.saturating_add(1);
        self.draw = draw;
        // Up to a tenth more, so that many balancers do not retry at the same moment.
        self.not_before = (now + span + random_part(span / 10, draw)).max(wait.unwrap_or(0));
    }

    /// When to order; the time may have passed.
    pub fn due_at(&self) -> u64 {
        let wanted = match (self.validity, self.window) {
            (None, _) => 0,
            (Some(life), None) => default_renewal_time(life, self.draw),
            (Some(life), Some(window)) => draw_renewal_time(life, window, self.draw),
        };
        // At least `retry` between orders, whatever window the authority suggests: its rate limits count every order.
        let least = self.ordered_at.map_or(0, |ordered| ordered + self.retry);
        wanted.max(self.not_before).max(least)
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// Two thirds of the lifetime, or up to a twentieth of the lifetime earlier.
fn default_renewal_time(life: CertificateValidity, draw: u16) -> u64 {
    let span = life.to.saturating_sub(life.from);
    life.from + span / 3 * 2 - random_part(span / 20, draw)
}

/// A random time in the window (RFC 9773 §4.2). The window is ignored while the certificate is young or about to
/// expire. A window in the past means to renew at once.
fn draw_renewal_time(life: CertificateValidity, window: RenewalWindow, draw: u16) -> u64 {
    let span = life.to.saturating_sub(life.from);
    let young = life.from + span / 3;
    let old = life.from + span / 6 * 5;
    if window.to < young {
        return window.to;
    }
    let moment = window.from + random_part(window.to - window.from, draw);
    moment.clamp(young, old)
}

/// The part of a span that a random number selects.
fn random_part(span: u64, draw: u16) -> u64 {
    (u128::from(span) * u128::from(draw) / u128::from(u16::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 86_400;
    const NINETY: CertificateValidity = CertificateValidity { from: 1000 * DAY, to: 1090 * DAY };

    #[test]
    fn the_first_is_ordered_at_once_and_the_next_at_two_thirds() {
        let mut renewal = RenewalSchedule::new(300, None, 0);
        assert_eq!(renewal.due_at(), 0);
        renewal.record_success(NINETY.from, NINETY, 0);
        assert_eq!(renewal.due_at(), 1060 * DAY);
        renewal.record_success(NINETY.from, NINETY, u16::MAX);
        assert_eq!(renewal.due_at(), 1060 * DAY - 4 * DAY - DAY / 2);
    }

    #[test]
    fn an_authority_is_followed_within_reason() {
        let rows = [
            ((1050, 1052), 0, 1050),
            ((1050, 1052), u16::MAX, 1052),
            // Too early for a young certificate, too late for an old one.
            ((1000, 1040), 0, 1030),
            ((1080, 1089), 0, 1075),
            // The window is past, as after a revocation.
            ((900, 901), 7, 901),
            // A reversed window is no window.
            ((1052, 1050), 0, 1060),
        ];
        for ((from, to), draw, wanted) in rows {
            let mut renewal = RenewalSchedule::new(300, Some(NINETY), draw);
            renewal.set_suggested_window(Some(RenewalWindow { from: from * DAY, to: to * DAY }));
            assert_eq!(renewal.due_at(), wanted * DAY, "{from}-{to}");
        }
        let mut renewal = RenewalSchedule::new(300, None, 0);
        renewal.record_success(NINETY.from + 5, NINETY, 0);
        renewal.set_suggested_window(Some(RenewalWindow { from: 0, to: 1 }));
        assert_eq!(renewal.due_at(), NINETY.from + 305, "not again and again");
    }

    #[test]
    fn failures_wait_longer_and_longer_and_a_success_ends_that() {
        let mut renewal = RenewalSchedule::new(300, Some(NINETY), 0);
        let now = 1070 * DAY;
        let waits: Vec<u64> = (0..10)
            .map(|_| {
                renewal.record_failure(now, None, 0);
                renewal.due_at() - now
            })
            .collect();
        assert_eq!(waits, [300, 600, 1200, 2400, 4800, 9600, 19_200, 21_600, 21_600, 21_600]);
        assert_eq!(renewal.failures(), 10);
        renewal.record_failure(now, Some(now + 2 * DAY), 0);
        assert_eq!(renewal.due_at(), now + 2 * DAY, "as the authority says");
        renewal.record_success(now, CertificateValidity { from: now, to: now + 90 * DAY }, 0);
        assert_eq!((renewal.failures(), renewal.due_at()), (0, now + 60 * DAY));
        let mut early = RenewalSchedule::new(300, Some(NINETY), 0);
        early.record_failure(NINETY.from, None, 0);
        assert_eq!(early.due_at(), 1060 * DAY, "a failure brings nothing forward");
    }

    proptest! {
        #[test]
        fn a_good_certificate_is_renewed_between_a_third_and_its_end(
            from in 0..u64::from(u32::MAX),
            span in 60..400 * DAY,
            draw: u16,
            window in proptest::option::of((0..u64::from(u32::MAX), 0..30 * DAY)),
        ) {
            let life = CertificateValidity { from, to: from + span };
            let mut renewal = RenewalSchedule::new(1, Some(life), draw);
            let window = window.map(|(at, wide)| RenewalWindow { from: at, to: at + wide });
            renewal.set_suggested_window(window);
            let at_once = window.is_some_and(|window| window.to < from + span / 3);
            prop_assert!(at_once || (life.from + span / 3..life.to).contains(&renewal.due_at()));
        }

        #[test]
        fn after_a_failure_there_is_always_a_wait(failures in 1..100usize, retry in 1..DAY, draw: u16) {
            let mut renewal = RenewalSchedule::new(retry, None, draw);
            for _ in 0..failures {
                renewal.record_failure(5, None, draw);
            }
            prop_assert!(renewal.due_at() >= 5 + retry && renewal.due_at() <= 5 + 2 * retry.max(LONGEST));
        }
    }
}
