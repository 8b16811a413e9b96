//! Times of a converted configuration that decide how long a run waits for servers that fail.
//!
//! Pure.

use std::time::Duration;

use toml::{Table, Value};

use super::plan::tables;

/// How long health checks need until they have found a dead server, on both sides.
pub fn settle_time(converted: &str) -> Duration {
    let table: Table = toml::from_str(converted).unwrap_or_default();
    let of_pool = |pool: &Value| {
        let probe = pool.get("probe").filter(|probe| probe.as_str() != Some("off"))?;
        let every = time(probe, "interval").unwrap_or(Duration::from_secs(2));
        let timeout = time(probe, "timeout").unwrap_or(Duration::from_secs(1));
        let fall = probe.get("fall").and_then(Value::as_integer).unwrap_or(3);
        Some(every * u32::try_from(fall).unwrap_or(3) + timeout + Duration::from_millis(500))
    };
    tables(&table, "pool").values().filter_map(of_pool).max().unwrap_or_default()
}

/// The longest time for an answer with which servers are asked that never answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);

/// Whether each side soon ends a request that its server never answers.
pub fn ends_silence_soon(converted: &str) -> bool {
    longest_answer_time(converted).is_some_and(|time| time <= ANSWERS_WITHIN)
}

/// The longest of these times of the pools of a configuration, where all have it written.
fn longest_answer_time(converted: &str) -> Option<Duration> {
    let table: Table = toml::from_str(converted).unwrap_or_default();
    let pools = tables(&table, "pool");
    let times = pools.values().map(|pool| time(pool.get("timeout")?, "first-byte"));
    times.collect::<Option<Vec<_>>>()?.into_iter().max()
}

fn time(table: &Value, key: &str) -> Option<Duration> {
    let text = table.get(key)?.as_str()?;
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: u64 = text[..unit].parse().ok()?;
    Some(match &text[unit..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number * 60),
        "h" => Duration::from_secs(number * 3_600),
        _ => Duration::from_secs(number * 86_400),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVERTED: &str = "[service.web]\nlisten = \"0.0.0.0:80\"\nforward = \"http\"\npool = \"a\"\n\
         [pool.a]\nservers = [\"10.0.0.1:80\", \"10.0.0.2:80\", { name = \"b\", address = \"10.0.0.3:80\", backup = true }]\n\
         probe = { tcp = true, interval = \"500ms\", fall = 2 }\ntimeout = { first-byte = \"3s\" }\n\
         [pool.b]\nservers = [\"10.0.0.4:80\"]\ntimeout = { first-byte = \"1m\" }\nprobe = \"off\"\n";

    #[test]
    fn times_of_checks_and_answers_are_those_of_the_slowest_pool() {
        assert_eq!(settle_time(CONVERTED), Duration::from_millis(2_500));
        assert_eq!(longest_answer_time(CONVERTED), Some(Duration::from_secs(60)));
        assert_eq!(longest_answer_time("[pool.a]\nservers = []\n"), None);
        assert_eq!(settle_time("[pool.a]\nprobe = \"off\"\n"), Duration::ZERO);
    }
}
