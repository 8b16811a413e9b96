//! Whether data arrived along a line: at a link's rate, from which a varying delay moves each packet but never the next
//! ones for good. What acknowledgements clock drifts away from any line while round trips vary.

use model::limit::Limit;

use super::sender::SentSegment;
use super::shares::LimitShares;

/// What the arrivals of a transfer show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalShape {
    /// A link's rate.
    Line,
    /// No constant rate.
    Drift,
    Unclear,
}

/// Fewer packets show no line.
const FEW: usize = 64;

/// `sent`: the packets of a transfer, by their arrival.
pub fn judge_arrivals(sent: &[SentSegment]) -> ArrivalShape {
    // It begins with growth.
    let sent = &sent[sent.len() / 4..];
    let Some(first) = sent.first().filter(|_| sent.len() >= FEW) else {
        return ArrivalShape::Unclear;
    };
    let mut bytes = 0.0;
    let points: Vec<[f64; 2]> = sent
        .iter()
        .map(|one| {
            bytes += (one.to - one.from) as f64;
            [bytes, (one.time_ns - first.time_ns) as f64]
        })
        .collect();
    let count = points.len() as f64;
    let mean = |axis: usize| points.iter().map(|point| point[axis]).sum::<f64>() / count;
    let [bytes, time] = [mean(0), mean(1)];
    let slope = |weight: fn([f64; 2]) -> f64| {
        points.iter().map(|point| weight([point[0] - bytes, point[1] - time])).sum::<f64>()
    };
    let ns_per_byte = slope(|[x, y]| x * y) / slope(|[x, _]| x * x).max(1.0);
    let rests = points.iter().map(|point| point[1] - time - ns_per_byte * (point[0] - bytes));
    let [least, most] =
        rests.fold([f64::MAX, f64::MIN], |[least, most], rest| [least.min(rest), most.max(rest)]);
    let mut gaps: Vec<f64> = points.windows(2).map(|pair| pair[1][1] - pair[0][1]).collect();
    // What the delay moves arrivals by, without what happens once.
    let at = gaps.len() * 49 / 50;
    let moved = *gaps.select_nth_unstable_by(at, f64::total_cmp).1;
    match (most - least) / moved.max(1.0) {
        ratio if ratio <= 1.7 => ArrivalShape::Line,
        ratio if ratio >= 2.0 => ArrivalShape::Drift,
        _ => ArrivalShape::Unclear,
    }
}

/// Whether a transfer seems to be limited by its sender's buffer.
pub fn is_buffered(shares: &LimitShares) -> bool {
    shares.ns(Limit::SendBuffer) * 2 > shares.total_ns()
}

/// At the receiver a full link and a sender's buffer show as much in flight all the time: the link's queue is not seen.
pub fn settle_buffer(shares: &mut LimitShares, shape: ArrivalShape) {
    let limit = match shape {
        ArrivalShape::Line => Limit::LinkRate,
        ArrivalShape::Unclear => Limit::Unknown,
        ArrivalShape::Drift => return,
    };
    shares.reassign(Limit::SendBuffer, limit);
    shares.reassign(Limit::AppSender, limit);
}
