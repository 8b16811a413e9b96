//! One metric family: its description, then its rows. It chooses no names.

use std::fmt::Error;
use std::time::Duration;

use model::stats::HistogramSum;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// A family of counters without a label, by the field that it shows.
pub(super) struct CounterFamily<F> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) counter: F,
}

impl<F: Copy> CounterFamily<F> {
    pub(super) const fn new(name: &'static str, help: &'static str, counter: F) -> Self {
        CounterFamily { name, help, counter }
    }
}

/// A counter with the value of its family's label.
pub(super) struct LabelledCounter<F> {
    pub(super) value: &'static str,
    pub(super) counter: F,
}

impl<F: Copy> LabelledCounter<F> {
    pub(super) const fn new(value: &'static str, counter: F) -> Self {
        LabelledCounter { value, counter }
    }
}

/// Writes a family of counters.
pub(super) fn counters<L: EncodeLabelSet>(
    to: &mut DescriptorEncoder,
    name: &str,
    unit: Option<Unit>,
    help: &str,
    rows: impl IntoIterator<Item = (L, u64)>,
) -> Result<(), Error> {
    let mut family = to.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
    for (labels, value) in rows {
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, f64>(&value, None)?;
    }
    Ok(())
}

/// Writes a counter without labels.
pub(super) fn counter(
    to: &mut DescriptorEncoder,
    name: &str,
    unit: Option<Unit>,
    help: &str,
    value: u64,
) -> Result<(), Error> {
    let mut family = to.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
    family.encode_counter::<NoLabelSet, u64, f64>(&value, None)
}

/// Writes a family of counters that have fractions.
pub(super) fn seconds<L: EncodeLabelSet>(
    to: &mut DescriptorEncoder,
    name: &str,
    unit: Option<Unit>,
    help: &str,
    rows: impl IntoIterator<Item = (L, f64)>,
) -> Result<(), Error> {
    let mut family = to.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
    for (labels, value) in rows {
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, f64, f64>(&value, None)?;
    }
    Ok(())
}

/// Writes a gauge without labels.
pub(super) fn gauge(
    to: &mut DescriptorEncoder,
    name: &str,
    unit: Option<Unit>,
    help: &str,
    value: f64,
) -> Result<(), Error> {
    number(&mut to.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?, value)
}

/// Writes a family of gauges.
pub(super) fn gauges<L: EncodeLabelSet>(
    to: &mut DescriptorEncoder,
    name: &str,
    unit: Option<Unit>,
    help: &str,
    rows: impl IntoIterator<Item = (L, f64)>,
) -> Result<(), Error> {
    let mut family = to.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
    for (labels, value) in rows {
        number(&mut family.encode_family(&labels)?, value)?;
    }
    Ok(())
}

/// Whole numbers are written without a fraction, which is shorter and usual for counts.
fn number(row: &mut MetricEncoder, value: f64) -> Result<(), Error> {
    if value.fract() == 0.0 && (0.0..9e15).contains(&value) {
        row.encode_gauge(&(value as u64))
    } else {
        row.encode_gauge(&value)
    }
}

/// Writes a family of histograms of seconds; `edges` are microseconds that are edges of `live::Histogram`, so that
/// no bucket is split.
pub(super) fn histograms<L: EncodeLabelSet>(
    to: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    edges: &[u64],
    rows: impl IntoIterator<Item = (L, HistogramSum)>,
) -> Result<(), Error> {
    let mut family =
        to.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for (labels, sum) in rows {
        let count = sum.count();
        let mut below = 0;
        let mut buckets = Vec::with_capacity(edges.len() + 1);
        for edge in edges {
            let at_most = sum.count_at_most(Duration::from_micros(*edge));
            buckets.push((*edge as f64 / 1e6, at_most - below));
            below = at_most;
        }
        buckets.push((f64::INFINITY, count - below));
        let seconds = sum.sum_nanos as f64 / 1e9;
        family
            .encode_family(&labels)?
            .encode_histogram::<NoLabelSet>(seconds, count, &buckets, None)?;
    }
    Ok(())
}
