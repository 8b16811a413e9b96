//! The dashboard, the rules and the page about metrics against a running daemon and its source: each name they use
//! exists, and each exported metric is documented on the page.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use model::renamed_labels::RENAMED_LABELS;
use model::renamed_metrics::RENAMED_METRICS;
use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{origin, reserve_port};
use tests::e2e::tools::curl_text;
use tests::e2e::wait;
use tests::monitoring::known::{
    KnownMetric, KnownMetrics, find_family, metric_names_in_source, parse_page, parse_scrape, stem,
};
use tests::monitoring::promql::{ExpressionNames, MetricSelector, parse_expression};
use tests::monitoring::yaml;
use tests::tree::{SourceTree, top};

const DASHBOARD: &str = "packaging/grafana/steelyard.json";
const RULES: &str = "packaging/prometheus/steelyard.rules.yml";
const PAGE: &str = "docs/monitoring.md";
/// Metrics of planes that this test does not run, because they need privileges or links.
const ELSEWHERE: [&str; 11] = [
    "_packet",
    "_half_open",
    "_vrrp",
    "_link",
    "_bundle",
    "_heartbeat",
    "_witness",
    "_slo",
    "_flow_samples",
    "_uplink",
    "_replication",
];
/// Labels whose values only have a row after their first occurrence.
const HAPPENED: [(&str, &str); 5] = [
    ("steelyard_events_total", "kind"),
    ("steelyard_server_causes_total", "cause"),
    ("steelyard_server_errors_total", "origin"),
    ("steelyard_service_defects_total", "defect"),
    ("steelyard_service_time_seconds_total", "limit"),
];

fn read(path: &str) -> String {
    std::fs::read_to_string(top().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A scrape of a daemon with services of both kinds, a rule, sticky sessions and DNS names, after successful and failed
/// traffic.
fn scrape() -> KnownMetrics {
    let web = origin("a");
    let [tcp, names, metrics, nobody] = [(); 4].map(|()| reserve_port());
    let more = format!(
        "[[service.shop.rule]]\nname = \"old\"\nwhen = {{ path = \"/old\" }}\nanswer = {{ status = 404 }}\n\
         [service.mail]\nlisten = \"{}\"\nforward = \"tcp\"\npool = \"mail\"\n\
         [pool.mail]\nservers = [\"{}\"]\n\
         [names]\nlisten = \"{}\"\n[zone.\"gslb.example\"]\nnameservers = [\"ns.gslb.example\"]\n\
         [name.\"ns.gslb.example\"]\naddresses = \"127.0.0.1\"\n",
        tcp.address(),
        nobody.address(),
        names.address(),
    );
    let setup = BalancerConfig::http(&[web.address()])
        .global(&format!("metrics = \"{}\"", metrics.address()))
        .service("sticky = \"10m\"")
        .with_tables(&more);
    let balancer = TestBalancer::start(&setup);
    for target in ["/", "/old", "/status/503"] {
        balancer.client().get(target);
    }
    let mut twice = balancer.client();
    twice.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    assert_eq!(twice.read_answer().status(), 400);
    let _refused = HttpClient::connect(tcp.address());
    let url = format!("http://{}/metrics", metrics.address());
    let rows = [
        ("steelyard_server_phase_seconds_bucket{", "phase=\"first-byte\""),
        ("steelyard_service_defects_total{", "service=\"shop\""),
        ("steelyard_server_causes_total{", "pool=\"mail\""),
        ("steelyard_rule_hits_total{", "rule=\"old\"} 1"),
    ];
    wait::until_some("rows of what happened", || {
        let text = curl_text(&[&url]);
        let has = |(name, with): &(&str, &str)| {
            text.lines().any(|line| line.starts_with(name) && line.contains(with))
        };
        rows.iter().all(has).then(|| without_earlier_names(parse_scrape(&text)))
    })
}

/// The metrics of a scrape without the names and labels that are earlier ones of others, which the page of renamed names
/// has.
fn without_earlier_names(mut all: KnownMetrics) -> KnownMetrics {
    let before = all.len();
    for metric in &RENAMED_METRICS {
        all.remove(&format!("{}_total", metric.former_name));
        all.remove(metric.former_name);
    }
    assert!(all.len() < before, "no renamed metric is shown under its earlier name");
    for label in &RENAMED_LABELS {
        for name in [label.metric.to_owned(), format!("{}_total", label.metric)] {
            let Some(metric) = all.get_mut(&name).filter(|it| it.has_row) else { continue };
            let former = metric.labels.remove(label.former_name);
            assert!(former.is_some(), "{name} has no {}", label.former_name);
        }
    }
    all
}

#[test]
fn the_page_has_every_metric_with_its_type_unit_and_labels() {
    let shown = scrape();
    let page = parse_page(&read(PAGE));
    assert!(shown.len() > 90, "{}", shown.len());
    for (name, metric) in &shown {
        let row = page.get(name).unwrap_or_else(|| panic!("{PAGE} lacks {name}: {metric:?}"));
        assert_eq!((&row.kind, &row.unit), (&metric.kind, &metric.unit), "{name}");
        let labels = |of: &KnownMetric| of.labels.keys().cloned().collect::<BTreeSet<_>>();
        assert!(!metric.has_row || labels(row) == labels(metric), "{name}: {row:?} {metric:?}");
    }
    let tree = SourceTree::read_repository().unwrap();
    let source = metric_names_in_source(&tree);
    let stems: BTreeSet<&str> = page.iter().map(|(name, metric)| stem(name, metric)).collect();
    for (name, file) in &source {
        assert!(stems.contains(name), "{PAGE} lacks {name} of {}", file.path);
    }
    for (name, row) in page.iter().filter(|(name, _)| !shown.contains_key(*name)) {
        let plane = ELSEWHERE.iter().any(|part| name.contains(part));
        let file = source.get(stem(name, row)).filter(|_| plane);
        let file = file.unwrap_or_else(|| panic!("{PAGE} has {name}, which is not exported"));
        if !row.unit.is_empty() {
            let unit = row.unit[..1].to_uppercase() + &row.unit[1..];
            assert!(file.text.contains(&format!("Unit::{unit}")), "{name} is not in {unit}");
        }
    }
    for (name, row) in
        page.iter().filter(|(name, _)| !shown.get(*name).is_some_and(|it| it.has_row))
    {
        let file = source.get(stem(name, row)).unwrap_or_else(|| panic!("no row of {name}"));
        for label in row.labels.keys().map(|label| format!("\"{label}\"")) {
            assert!(file.text.contains(&label), "{name} has no label {label} in {}", file.path);
        }
    }
}

/// The names that an expression may use.
struct ExpressionChecker {
    shown: KnownMetrics,
    page: KnownMetrics,
    /// Metrics that rules record, with their labels.
    recorded: BTreeMap<String, BTreeSet<String>>,
    source: String,
}

impl ExpressionChecker {
    fn new() -> ExpressionChecker {
        let tree = SourceTree::read_repository().unwrap();
        let words = "crates/l4/bpf/abi/words.h";
        let of_product =
            |path: &str| path == words || (path.starts_with("crates/") && path.contains("/src/"));
        let files =
            tree.files.iter().filter(|file| of_product(&file.path) && !file.is_unit_tests());
        let source = files.map(|file| file.text.as_str()).collect();
        ExpressionChecker {
            shown: scrape(),
            page: parse_page(&read(PAGE)),
            recorded: BTreeMap::new(),
            source,
        }
    }

    /// The labels that an expression uses. Panics unless every name and value exists.
    fn labels(&self, text: &str) -> (ExpressionNames, BTreeSet<String>) {
        let found = parse_expression(text).unwrap_or_else(|error| panic!("{error}"));
        let mut labels: BTreeSet<String> = ["job", "instance"].map(String::from).into();
        for selector in &found.selectors {
            let own = self.of(selector).unwrap_or_else(|why| panic!("{why}: {text}"));
            labels.extend(own);
        }
        for label in found.by.iter().chain(&found.on) {
            assert!(labels.contains(label), "no label {label} in {text}");
        }
        let left = if found.by.is_empty() { labels } else { found.by.clone() };
        (found, left)
    }

    fn of(&self, selector: &MetricSelector) -> Result<BTreeSet<String>, String> {
        let MetricSelector { name, matchers } = selector;
        let known = find_family(&self.page, name);
        let mut labels: BTreeSet<String> = match (known, self.recorded.get(name)) {
            (Some(metric), _) => metric.labels.keys().cloned().collect(),
            (None, Some(labels)) => labels.clone(),
            (None, None) if name == "up" => BTreeSet::new(),
            (None, None) => return Err(format!("no metric {name}")),
        };
        labels.extend(["job", "instance"].map(String::from));
        if known.is_some_and(|metric| metric.kind == "histogram") && name.ends_with("_bucket") {
            labels.insert("le".to_owned());
        }
        for (label, values) in matchers {
            if !labels.contains(label) {
                return Err(format!("{name} has no label {label}"));
            }
            let named = values.iter().filter(|value| !value.starts_with('$') && *label != "job");
            for value in named {
                if !self.is_value(name, label, value) {
                    return Err(format!("{name} has no {label} {value}"));
                }
            }
        }
        Ok(labels)
    }

    /// Looks for the value in the scrape, or in the source if the scrape has no such row yet.
    fn is_value(&self, name: &str, label: &str, value: &str) -> bool {
        let shown = find_family(&self.shown, name).and_then(|metric| metric.labels.get(label));
        let closed = !HAPPENED.iter().any(|(of, on)| *of == name && *on == label);
        match shown {
            Some(values) if closed => values.contains(value),
            _ => {
                let constant = format!("\t{} = ", value.to_uppercase().replace('-', "_"));
                self.source.contains(&format!("\"{value}\""))
                    || (label == "outcome" && self.source.contains(&constant))
            }
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The words after each `mark` in a text. A word ends at the first character that is not part of a name.
fn after<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    text.split(mark).skip(1).map(|rest| rest.split(end).next().unwrap_or_default()).collect()
}

#[test]
fn rules_name_what_is_there_and_say_what_to_look_at() {
    let mut judge = ExpressionChecker::new();
    let rules = yaml::read(&read(RULES)).unwrap_or_else(|error| panic!("{RULES}: {error}"));
    let groups = rules["groups"].as_array().unwrap();
    let mut names = BTreeSet::new();
    let mut verbs = BTreeSet::new();
    for rule in groups.iter().flat_map(|group| group["rules"].as_array().unwrap()) {
        let expression = text(rule, "expr");
        let (found, mut labels) = judge.labels(expression);
        assert!(!found.selectors.is_empty(), "{expression} asks for nothing");
        if rule["record"].is_string() {
            let name = text(rule, "record");
            assert_eq!(name.split(':').count(), 3, "level:metric:operations, not {name}");
            assert!(judge.recorded.insert(name.to_owned(), labels).is_none(), "{name} twice");
            continue;
        }
        let name = text(rule, "alert");
        assert!(name.starts_with("Steelyard") && names.insert(name.to_owned()), "{name}");
        let time = text(rule, "for");
        assert!(
            time.strip_suffix(['s', 'm']).is_some_and(|n| n.parse::<u32>().is_ok()),
            "{name}: {time}"
        );
        assert!(["critical", "warning"].contains(&text(&rule["labels"], "severity")), "{name}");
        labels.insert("severity".to_owned());
        let summary = text(&rule["annotations"], "summary");
        let description = text(&rule["annotations"], "description");
        for label in [summary, description].into_iter().flat_map(|it| after(it, "$labels.")) {
            assert!(labels.contains(label), "{name}: no label {label} is left of {expression}");
        }
        let next = after(description, "`steelyard ");
        let journal = description.contains("journal") || description.contains("`systemctl");
        assert!(!next.is_empty() || journal, "{name} does not say what to look at");
        verbs.extend(next.into_iter().map(str::to_owned));
    }
    assert!(
        names.len() >= 30
            && judge.recorded.len() >= 5
            && verbs.contains("status")
            && verbs.contains("explain")
    );
    for verb in verbs {
        let help = Command::new(program()).args([&verb, "--help"]).output().unwrap();
        assert!(help.status.success(), "steelyard {verb} does not exist");
    }
}

#[test]
fn the_dashboard_names_what_is_there() {
    let judge = ExpressionChecker::new();
    let board: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    assert!(board["schemaVersion"].as_u64() >= Some(38) && board["id"].is_null());
    let variables = board["templating"]["list"].as_array().unwrap();
    let names: BTreeSet<&str> = variables.iter().map(|variable| text(variable, "name")).collect();
    assert!(
        ["datasource", "instance", "service", "pool"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    for variable in variables.iter().filter(|variable| variable["type"] == "query") {
        let query = text(variable, "definition");
        assert_eq!(variable["query"]["query"], query);
        let inner =
            query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')).unwrap();
        let (selector, label) = inner.rsplit_once(", ").unwrap();
        assert!(judge.labels(selector).1.contains(label), "{query}");
        given(selector, &names);
    }
    let annotations = board["annotations"]["list"].as_array().unwrap();
    for expression in annotations.iter().filter_map(|one| one["expr"].as_str()) {
        judge.labels(expression);
        given(expression, &names);
    }
    let panels = board["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut places = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "an id twice: {panel}");
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24, "{panel}");
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(places.insert(place), "panels overlap: {panel}");
        }
        let Some(targets) = panel["targets"].as_array() else {
            assert_eq!(panel["type"], "row", "{panel}");
            continue;
        };
        assert!(!targets.is_empty() && !text(panel, "description").is_empty(), "{panel}");
        for target in targets {
            let expression = text(target, "expr");
            assert!(
                target["datasource"]["uid"] == "${datasource}"
                    && panel["datasource"]["uid"] == "${datasource}"
            );
            let (found, labels) = judge.labels(expression);
            given(expression, &names);
            seen.extend(found.selectors.into_iter().map(|selector| selector.name));
            for label in after(text(target, "legendFormat"), "{{") {
                assert!(labels.contains(label), "no label {label} is left of {expression}");
            }
        }
    }
    assert!(seen.len() > 50, "{seen:?}");
}

/// Panics unless the dashboard defines every variable of the expression.
fn given(expression: &str, names: &BTreeSet<&str>) {
    for variable in after(expression, "$") {
        assert!(
            variable == "__rate_interval" || names.contains(variable),
            "${variable} in {expression}"
        );
    }
}

#[test]
fn what_is_not_there_is_found() {
    let page = parse_page("| `steelyard_a_total` | counter | | `b` | 1 | Things. |\n");
    let shown = parse_scrape("# TYPE steelyard_a counter\nsteelyard_a_total{b=\"c\"} 1\n# EOF\n");
    assert_eq!(shown["steelyard_a_total"].labels["b"], ["c".to_owned()].into());
    let judge =
        ExpressionChecker { shown, page, recorded: BTreeMap::new(), source: "\"d\"".to_owned() };
    let of = |text: &str| judge.of(&parse_expression(text).unwrap().selectors[0]);
    assert!(of("steelyard_a_total{b=\"c\",instance=~\"$instance\"}").is_ok());
    for wrong in [
        "steelyard_a",
        "steelyard_a_total{c=\"c\"}",
        "steelyard_a_total{b=\"d\"}",
        "steelyard_a_total_bucket",
    ] {
        assert!(of(wrong).is_err(), "{wrong}");
    }
}
