//! Round numbers along an axis, and how they are written.

/// Steps of 1, 2 or 5 times a power of ten, about `count` of them from 0 to `most`.
pub fn ticks(most: f64, count: f64) -> Vec<f64> {
    if !(most > 0.0 && most.is_finite()) {
        return vec![0.0];
    }
    let rough = most / count;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
    // A hundred steps bound the page when rounding leaves a tiny step.
    (0..=((most / step) as usize).min(100)).map(|at| at as f64 * step).collect()
}

/// Bytes for people: `32 k`, `1.5 M`.
pub fn format_bytes(value: f64) -> String {
    match value.abs() {
        v if v >= 1e9 => format!("{} G", trimmed(value / 1e9)),
        v if v >= 1e6 => format!("{} M", trimmed(value / 1e6)),
        v if v >= 1e3 => format!("{} k", trimmed(value / 1e3)),
        _ => trimmed(value),
    }
}

pub fn format_seconds(value: f64) -> String {
    match value.abs() {
        v if v >= 1.0 || v == 0.0 => format!("{} s", trimmed(value)),
        v if v >= 1e-3 => format!("{} ms", trimmed(value * 1e3)),
        _ => format!("{} µs", trimmed(value * 1e6)),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
