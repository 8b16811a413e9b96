//! Load balancing: the meaning of every policy and rank, and contradictions that are rejected.

use model::config::{BalancePolicy, HashKey, Priority, Severity};

use super::support::{BASE, errors, findings, good};

fn pool(keys: &str) -> String {
    format!("{BASE}{keys}\n")
}

#[test]
fn every_policy_is_its_word() {
    for (word, want) in [
        ("round-robin", BalancePolicy::RoundRobin),
        ("least-request", BalancePolicy::LeastRequest),
        ("least-connections", BalancePolicy::LeastConnections),
        ("least-bandwidth", BalancePolicy::LeastBandwidth),
        ("fastest", BalancePolicy::Fastest),
        ("least-loaded", BalancePolicy::LeastLoaded),
        ("peak-ewma", BalancePolicy::PeakEwma),
        ("prequal", BalancePolicy::Prequal),
        ("random", BalancePolicy::Random),
        ("maglev", BalancePolicy::Maglev { size: 16_381 }),
        ("bounded-hash", BalancePolicy::BoundedHash { size: 16_381, load_factor: 125 }),
        ("source", BalancePolicy::Source { mask4: 32, mask6: 128 }),
    ] {
        let balance = good(&pool(&format!("balance = \"{word}\""))).config.pools["web"].balance;
        assert_eq!((balance, balance.name()), (want, word));
    }
}

#[test]
fn what_is_hashed_is_one_thing() {
    for (written, want) in [
        ("\"address\"", HashKey::Address),
        ("\"address-port\"", HashKey::AddressPort),
        ("\"uri\"", HashKey::Uri),
        ("{ by = \"path\" }", HashKey::Path),
        ("{ header = \"X-User\" }", HashKey::Header("X-User".into())),
        ("{ cookie = \"JSESSIONID\" }", HashKey::Cookie("JSESSIONID".into())),
        ("{ query = \"u_1\" }", HashKey::Query("u_1".into())),
    ] {
        let text = pool(&format!("balance = \"maglev\"\nhash-on = {written}"));
        assert_eq!(good(&text).config.pools["web"].hash_on, want, "{written}");
    }
    assert_eq!(good(BASE).config.pools["web"].hash_on, HashKey::Address);
}

#[test]
fn ranks_stand_in_their_order() {
    let text = BASE.replace(
        "servers = [\"10.0.0.1:80\", \"10.0.0.2:80\"]",
        "servers = [\"a:1\", { address = \"b:1\", priority = 9 }, { address = \"c:1\", backup = true }, \
         { address = \"d:1\", last-resort = true }]",
    );
    let config = good(&text).config;
    let ranks: Vec<Priority> =
        config.pools["web"].servers.iter().map(|server| server.priority).collect();
    assert!(ranks.is_sorted() && ranks[0] == Priority::FIRST, "{ranks:?}");
    assert_eq!(ranks[2..], [Priority::BACKUP, Priority::LAST_RESORT]);
}

// Rows: I10
#[test]
fn the_weight_controller_has_the_documented_defaults() {
    let judge = good(&pool("dynamic-weights = {}")).config.pools["web"].judge.unwrap();
    assert_eq!((judge.active, judge.new, judge.latency, judge.agent), (50, 50, 0, 0));
    assert_eq!((judge.sensitivity, judge.smoothing, judge.bound), (5, 150, 20));
    assert_eq!(judge.every.as_secs(), 2);
    assert_eq!(good(&pool("dynamic-weights = \"off\"")).config.pools["web"].judge, None);
}

#[test]
fn localities_come_from_above() {
    let config = good(&format!("[global]\nlocality = \"fra\"\n{BASE}")).config;
    assert_eq!(config.pools["web"].locality.as_deref(), Some("fra"));
    let own = good(&format!("[global]\nlocality = \"fra\"\n{}", pool("locality = \"off\""))).config;
    assert_eq!(own.pools["web"].locality, None);
}

#[test]
fn contradictions_are_refused() {
    let server = |keys: &str| format!("[pool.p]\nservers = [{{ address = \"a:1\", {keys} }}]\n");
    for (added, key, says) in [
        (
            pool("dynamic-weights = { active = 50, new = 40 }"),
            "pool.web.dynamic-weights",
            "make 90, not 100",
        ),
        (
            pool("dynamic-weights = { latency = 1 }"),
            "pool.web.dynamic-weights",
            "make 101, not 100",
        ),
        (
            pool("dynamic-weights = { active = 101 }"),
            "pool.web.dynamic-weights.active",
            "too large",
        ),
        (pool("hash-on = \"uri\""), "pool.web.hash-on", "belongs to `maglev`"),
        (pool("balance = \"maglev\"\nhash-on = {}"), "pool.web.hash-on", "does not say"),
        (
            pool("balance = \"maglev\"\nhash-on = { header = \"a b\" }"),
            "pool.web.hash-on.header",
            "not a text that fits",
        ),
        (
            pool("balance = \"maglev\"\nhash-on = { header = \"a\", cookie = \"b\" }"),
            "pool.web.hash-on",
            "",
        ),
        (
            pool("balance = { by = \"maglev\", load-factor = 150 }"),
            "pool.web.balance.load-factor",
            "belongs to `by = \"bounded-hash\"`",
        ),
        (
            format!(
                "{}[service.t]\nlisten = \":9\"\nforward = \"tcp\"\npool = \"web\"\n",
                pool("balance = \"maglev\"\nhash-on = \"uri\"")
            ),
            "pool.web.hash-on",
            "no requests to hash",
        ),
        (pool("spill-over = 101"), "pool.web.spill-over", "too large"),
        (pool("slow-start = \"1ms\""), "pool.web.slow-start", "too small"),
        (BASE.to_owned() + &server("priority = 10"), "pool.p.servers[0].priority", "too large"),
        (
            BASE.to_owned() + &server("priority = 2, backup = true"),
            "pool.p.servers[0].priority",
            "exclude each other",
        ),
        (
            BASE.to_owned() + &server("backup = true, last-resort = true"),
            "pool.p.servers[0].last-resort",
            "exclude each other",
        ),
    ] {
        let found = errors(&added);
        let about = found.iter().find(|f| f.key.starts_with(key) && f.message.contains(says));
        assert!(about.is_some(), "{added}\n{found:#?}");
    }
}

#[test]
fn likely_mistakes_are_reported() {
    for (added, key, says) in [
        (pool("balance = \"least-loaded\""), "pool.web.balance.by", "drawn by their weights"),
        (
            pool("dynamic-weights = { new = 0, agent = 50 }"),
            "pool.web.dynamic-weights.agent",
            "no server is asked",
        ),
        (
            pool("dynamic-weights = { new = 0, latency = 50 }"),
            "pool.web.dynamic-weights.latency",
            "counts as average",
        ),
        (
            format!("{BASE}[pool.p]\nservers = [{{ address = \"a:1\", backup = true }}]\n"),
            "pool.p.servers",
            "every server of this pool is a backup",
        ),
        (
            format!(
                "{BASE}[pool.p]\nlocality = \"x\"\nservers = [{{ address = \"a:1\", locality = \"y\" }}]\n"
            ),
            "pool.p.locality",
            "no server of this pool is in",
        ),
    ] {
        let found = findings(&added);
        let about = found.iter().find(|f| f.key == key && f.message.contains(says));
        assert!(about.is_some_and(|f| f.severity == Severity::Warning), "{added}\n{found:#?}");
    }
}
