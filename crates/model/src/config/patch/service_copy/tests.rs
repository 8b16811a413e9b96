//! Copies of services: what the text is afterwards, and that a copy of every example loads and shares no pool.

use super::*;
use crate::config::load;

const TEXT: &str = r#"# Our shop.
[service.shop]
listen = ["127.0.0.1:8080", "127.0.0.1:8081"] # the front
forward = "http"
pool = "web" # ours

# Programs.
[[service.shop.rule]]
when = { path = "/api/*", servers = { of = "api", up = "1-" } }
split = [{ pool = "api", weight = 1 }, { pool = "web", weight = 3 }]
mirror = "web"

[service.blog]
listen = "127.0.0.1:8082"
forward = "http"
pool = "api"

[pool.web]
servers = ["10.0.0.1:80"] # one
[pool.web.timeout]
connect = "1s"

[pool.api]
servers = ["10.0.0.2:80"]
"#;

fn copy(service: &str, new_service: &str, listen: &str) -> ServiceCopy {
    ServiceCopy {
        service: service.into(),
        new_service: new_service.into(),
        listen: vec![listen.into()],
        ..ServiceCopy::default()
    }
}

#[test]
fn the_copy_has_its_own_pools_and_the_comments() {
    let done = copy_service(TEXT, &copy("shop", "test", "127.0.0.1:9090")).unwrap();
    let appended = r#"
[pool.test]
servers = ["10.0.0.1:80"] # one
[pool.test.timeout]
connect = "1s"

[pool.test-api]
servers = ["10.0.0.2:80"]

# Our shop.
[service.test]
listen = "127.0.0.1:9090" # the front
forward = "http"
pool = "test" # ours

# Programs.
[[service.test.rule]]
when = { path = "/api/*", servers = { of = "test-api", up = "1-" } }
split = [{ pool = "test-api", weight = 1 }, { pool = "test", weight = 3 }]
mirror = "test"
"#;
    let found = done.text.strip_prefix(TEXT).expect("the original is untouched");
    assert_eq!(found.replace("# Our shop.\n", ""), appended.replace("# Our shop.\n", ""));
    let pools: Vec<(&str, &str)> =
        done.pools.iter().map(|pool| (pool.from.as_str(), pool.to.as_str())).collect();
    assert_eq!(pools, [("web", "test"), ("api", "test-api")]);
    assert_eq!(done.pools[0].also_used_by, Vec::<String>::new());
    assert_eq!(done.pools[1].also_used_by, ["blog"]);
    assert!(load(&done.text, "copy.toml").is_ok(), "{}", done.text);
}

#[test]
fn pools_can_be_shared_or_named() {
    let shared = ServiceCopy { share_pools: true, ..copy("shop", "test", "127.0.0.1:9090") };
    let done = copy_service(TEXT, &shared).unwrap();
    assert!(done.pools.is_empty() && done.text.matches("[pool.").count() == 3, "{}", done.text);
    assert!(load(&done.text, "copy.toml").is_ok());
    let named =
        ServiceCopy { new_pool: Some("second".into()), ..copy("shop", "test", "127.0.0.1:9090") };
    let done = copy_service(TEXT, &named).unwrap();
    assert_eq!(done.pools[0].to, "second");
    assert!(done.text.contains("pool = \"second\" # ours"), "{}", done.text);
}

#[test]
fn a_name_that_is_taken_or_unknown_is_an_error() {
    let error = |copy: ServiceCopy| copy_service(TEXT, &copy).unwrap_err().to_string();
    let at = "127.0.0.1:9090";
    assert_eq!(error(copy("shop", "blog", at)), "there is a service 'blog' already");
    assert_eq!(error(copy("shop", "shop", at)), "there is a service 'shop' already");
    assert_eq!(error(copy("shop", "api", at)), "there is a pool 'api' already");
    let taken = ServiceCopy { new_pool: Some("web".into()), ..copy("shop", "test", at) };
    assert_eq!(error(taken), "there is a pool 'web' already");
    let twice = ServiceCopy { new_pool: Some("test-api".into()), ..copy("shop", "test", at) };
    assert_eq!(error(twice), "there is a pool 'test-api' already");
    let unknown = error(copy("shoop", "test", at));
    assert!(unknown.starts_with("there is no service 'shoop'"), "{unknown}");
    let broken = copy_service("[service.a", &copy("a", "b", at)).unwrap_err();
    assert!(matches!(broken, PatchError::Syntax(_)), "{broken}");
}

#[test]
fn every_form_of_a_text_can_be_copied() {
    let forms = [
        "service.a = { listen = \"127.0.0.1:1\", forward = \"tcp\", pool = \"p\" }\npool.p.servers = [\"10.0.0.1:80\"]\n",
        "service = { a = { listen = \"127.0.0.1:1\", forward = \"tcp\", pool = \"p\" } }\npool = { p = { servers = [\"10.0.0.1:80\"] } }\n",
        "[service]\na.listen = \"127.0.0.1:1\"\na.forward = \"tcp\"\na.pool = \"p\"\n[pool]\np.servers = [\"10.0.0.1:80\"]\n",
        "[pool.p]\nservers = [\"10.0.0.1:80\"]\n[service.a]\nlisten = \"127.0.0.1:1\"\nforward = \"tcp\"\npool = \"p\"",
        "[service.a.timeout]\nidle = \"5s\"\n[pool.p]\nservers = [\"10.0.0.1:80\"]\n[service.a]\nlisten = \"127.0.0.1:1\"\nforward = \"tcp\"\npool = \"p\"\n[[pool.p.schedule]]\nfrom = \"01:00\"\nuntil = \"02:00\"\n",
    ];
    for text in forms {
        let done = copy_service(text, &copy("a", "b", "127.0.0.1:2")).unwrap();
        let read = |name: &str| read_object(&done.text, &ConfigObject::Service(name.into()));
        let mut expected = read("a").unwrap();
        expected["listen"] = "127.0.0.1:2".into();
        expected["pool"] = "b".into();
        assert_eq!(read("b").unwrap(), expected, "{}", done.text);
        let pool = |name: &str| read_object(&done.text, &ConfigObject::Pool(name.into())).unwrap();
        assert_eq!(pool("b"), pool("p"));
        assert_eq!(pool("p"), read_object(text, &ConfigObject::Pool("p".into())).unwrap());
    }
}

#[test]
fn a_copy_of_every_service_of_the_full_example_names_no_old_pool() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/full.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let root = read_object(&text, &ConfigObject::Root).unwrap();
    let pools: Vec<&String> = root["pool"].as_object().unwrap().keys().collect();
    for name in root["service"].as_object().unwrap().keys() {
        // Direct return keeps the port, so the copy has the port of the original at another address.
        let listen = &root["service"][name]["listen"];
        let first = listen.get(0).unwrap_or(listen).as_str().unwrap();
        let port = first.rsplit_once(':').map_or("9", |parts| parts.1);
        let host = if first.starts_with('[') { "[2001:db8::77]" } else { "192.0.2.77" };
        let listen = format!("{host}:{port}");
        let done = copy_service(&text, &copy(name, "brand-new", &listen)).unwrap();
        let made = read_object(&done.text, &ConfigObject::Service("brand-new".into())).unwrap();
        let mut strings = Vec::new();
        collect_strings(&made, &mut strings);
        let old: Vec<&String> = strings.iter().filter(|text| pools.contains(text)).collect();
        assert!(old.is_empty(), "{name}: {old:?}");
        if let Err(findings) = load(&done.text, "full.toml") {
            panic!("{name}: {findings}");
        }
    }
}

fn collect_strings(value: &serde_json::Value, strings: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => strings.push(text.clone()),
        serde_json::Value::Array(all) => all.iter().for_each(|one| collect_strings(one, strings)),
        serde_json::Value::Object(keys) => {
            keys.values().for_each(|one| collect_strings(one, strings));
        }
        _ => {}
    }
}
